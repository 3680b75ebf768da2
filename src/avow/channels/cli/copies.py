"""`avow backup` and `avow restore`: a copy of everything but the signing key, and its way back."""

from typing import Annotated

import typer

from avow.channels.cli import console, options, progress
from avow.channels.cli.options import DataFolder, JsonFlag, StoreUrl, desk
from avow.engine.restoring import Restored


def backup(
    call: typer.Context,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="empty, or not there yet")],
    data: DataFolder = None,
    store: StoreUrl = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a verified copy of database, anchor and public keys, also while a server runs.

    The signing key is not part of it: keep `journal.key` apart, or let restoring make another.

    Example: `avow backup /mnt/backups/avow-monday`
    """
    with (
        options.office(call, data, store) as office,
        progress.shown("copying") as tell,
    ):
        made = office.backup(folder, tell)
    if as_json:
        console.print_json(
            {
                "folder": folder,
                "entries": made.entries,
                "head": made.head,
                "anchored": made.anchored,
            }
        )
        return
    out = console.stdout()
    out.print(f"Backed up {made.entries} entries into {folder}, and verified the copy.")
    out.print(f"  head      {made.head}")
    out.print(f"  anchored  up to {made.anchored}")
    out.print("  left out  journal.key, the key that signs: keep it apart from its backups")


def restore(
    call: typer.Context,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="a backup")],
    data: DataFolder = None,
    store: StoreUrl = None,
    lose_entries: Annotated[
        bool,
        typer.Option(
            "--lose-entries", help="give up the entries that the anchor knows and the backup lacks"
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Put a backup in place where no database is yet, and prove it against the anchor.

    Refused with exit code 4 if the living anchor knows entries that the backup does not have. A
    signing key that lies in the data folder is kept; otherwise a fresh one is made and journalled.

    Example: `avow restore /mnt/backups/avow-monday --data ./avow-data`
    """
    with progress.shown("restoring") as tell:
        done = desk(call).restore(
            options.placed(data, store), folder, lose_entries=lose_entries, progress=tell
        )
    if as_json:
        names = ("entries", "head", "lost", "set_aside", "key_made")
        console.print_json({name: getattr(done, name) for name in names})
    else:
        _print_restored(done)


def _print_restored(done: Restored) -> None:
    out = console.stdout()
    out.print(f"Restored {done.entries} entries, and verified them against the anchor.")
    out.print(f"  head  {done.head}")
    if done.set_aside:
        out.print(
            f"  lost  {done.lost} entries that the old anchor knows; the journal tells of it,"
            f" and that anchor lies in {done.set_aside}",
            soft_wrap=True,
        )
    if done.key_made:
        out.print("  key   a fresh one was made and journalled: pass the new journal.keys on")
