"""The peers of the benchmark: other engines doing the part of avow's job that they can.

Each peer module has `NAME`, `VERSION`, `LISTS_ALL` (whether it lists every rule that fired) and
`build()`, which does once what can be done once and returns the timed callable: raw bytes in,
`Decision` out. `json.loads` is inside that callable for every peer.

The comparison favours the peers: avow's time includes strict admission, schema validation, the
digest, the score and the reasons, and none of them does any of that.
"""

from importlib import import_module
from types import ModuleType
from typing import Final
from warnings import catch_warnings, simplefilter

MODULES: Final = ("plain", "cedar", "casbin_peer", "agt", "agt_engine", "agt_govern")


def available() -> list[ModuleType]:
    """Import the peers that are installed; print one line for each that is not."""
    found = []
    for name in MODULES:
        try:
            # AGT's packages warn at import that they are deprecated in favour of the very
            # distribution that ships them; under `-W error` that would end the run.
            with catch_warnings():
                simplefilter("ignore", DeprecationWarning)
                found.append(import_module(f"bench.peers.{name}"))
        except ImportError as error:
            print(f"peer {name} skipped: {error}")
    return found
