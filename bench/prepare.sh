#!/bin/sh
# What the benchmarks of the server need beside Python: wrk, which makes the load, and the server of
# Cerbos as a peer, from its npm package. Run by `make bench`; does nothing where all is there. What
# cannot be had is left out: the results say so. OPA is in no registry that could be reached from here.
cerbos=0.51.0
peers="$(dirname "$0")/../.venv-bench/peers"

if ! command -v wrk >/dev/null; then
  echo "installing wrk"
  { apt-get install --yes --quiet wrk || { apt-get update && apt-get install --yes --quiet wrk; }; } \
    >/dev/null 2>&1 || echo "wrk cannot be had: as root, apt-get install wrk"
fi

held=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$peers/node_modules/cerbos/package.json" 2>/dev/null)
if [ "$held" != "$cerbos" ]; then
  echo "installing the server of Cerbos"
  mkdir -p "$peers" && npm install --silent --no-audit --no-fund --prefix "$peers" \
    "cerbos@$cerbos" >/dev/null 2>&1 || echo "Cerbos cannot be had: npm install cerbos@$cerbos"
fi
exit 0
