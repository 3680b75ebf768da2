"""Writes the digest of every new version into specs/frozen.toml: `python -m tests.freeze`.

It only adds: a digest that is written down is never changed, so a content that changed under its
version is told to raise the version first.
"""

import sys
import tomllib

from tests.tidy.test_frozen import FILE, current

HEAD = """\
# What others rely on, by version. Changed content under the same version fails a test (IRL-6.16):
# raise the version and run `python -m tests.freeze`. Lines are never changed or removed.
"""


def main() -> int:
    """Add what is new; return 1 if something changed under its version."""
    frozen = tomllib.loads(FILE.read_text())
    changed = 0
    for name, (version, digest) in current().items():
        if frozen.setdefault(name, {}).setdefault(version, digest) != digest:
            sys.stdout.write(f"{name} changed under version {version}: raise it first\n")
            changed = 1
    lines = [HEAD]
    for name in sorted(frozen):
        lines += [f'["{name}"]', *(f'"{v}" = "{d}"' for v, d in frozen[name].items()), ""]
    FILE.write_text("\n".join(lines).rstrip() + "\n")
    return changed


if __name__ == "__main__":
    sys.exit(main())
