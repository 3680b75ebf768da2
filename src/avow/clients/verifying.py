"""Verifying a journal from Python: one function in front of the stand-alone verifier.

Clauses: IRL-6.03.
"""

import io
import os
from collections.abc import Iterable
from pathlib import Path

from avow.clients import verifier


def verify_journal(
    export: str | os.PathLike[str] | bytes | Iterable[bytes], *, anchors: str = "", keys: str = ""
) -> verifier.Report:
    """Verify an export against anchors, with the text of the key ring that is trusted.

    `export` is the path of a file, its bytes, or its lines as `Client.export_journal` yields them;
    `anchors` the text of checkpoints kept elsewhere. Without anchors only the chain is checked, and
    the report calls every entry unanchored. Raises only `OSError`, if the file cannot be read.
    """
    match export:
        case bytes():
            return verifier.verify(io.BytesIO(export), anchors=anchors, keys=keys)
        case str() | os.PathLike():
            with Path(export).open("rb") as lines:
                return verifier.verify(lines, anchors=anchors, keys=keys)
        case _:
            return verifier.verify(export, anchors=anchors, keys=keys)
