"""`avow journal`: verify, export, receipts, the newest entries, keys and erasure.

Verifying, exporting and looking open the store for reading only and change nothing, so they also
work on a copy that cannot be written to and on a journal that the server refuses.

Clauses: IRL-6.03, ICNLI-12.4.02.
"""

import contextlib
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from rich.text import Text

from avow.channels.cli import console, entries, options, progress
from avow.channels.cli.options import EXIT_NOT_HELD, DataFolder, JsonFlag, StoreUrl, desk
from avow.core.errors import RefusedError
from avow.core.journal import Entry
from avow.core.untrusted import show
from avow.engine import receipts
from avow.engine.archive import Archive, Evidence, Progress, ReceiptChecked, Verified
from avow.engine.desk import utc
from avow.engine.keeping import Erase
from avow.engine.ports import View

app = typer.Typer(help="Verify, export and look at the journal.", no_args_is_help=True)
_SHOWN_MAX = 20
_LOOK_S = 0.5
_DIGITS_MAX = 16
_FIELDS = ("declaration", "note")
KeysFile = Annotated[
    Path | None, typer.Option(metavar="K", help="the key ring that is trusted, kept elsewhere")
]
OutFile = Annotated[Path | None, typer.Option(metavar="F", help="write it there")]


@app.command()
def verify(
    call: typer.Context,
    data: DataFolder = None,
    store: StoreUrl = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(metavar="F", help="an export instead of the store; parts in their order"),
    ] = None,
    anchor: Annotated[
        Path | None, typer.Option(metavar="A", help="checkpoints that were kept elsewhere")
    ] = None,
    keys: KeysFile = None,
    as_json: JsonFlag = False,
) -> int:
    """Verify the journal from its first entry on, against its anchor and key ring.

    Nothing is written. Exit code 1 if it is not what was written, with what and where. Without
    `--anchor` and `--keys` those of the data folder are taken; your own copies prove more.

    Example: `avow journal verify --data ./avow-data`
    """
    evidence = Evidence(
        anchors=None if anchor is None else options.read_text(anchor),
        keys=None if keys is None else options.read_text(keys),
    )
    with progress.shown("verifying", "bytes" if file else "entries") as tell:
        if file:
            lines = _lines(file, tell)
            report = desk(call).verify_export(options.placed(data, store), lines, evidence)
        else:
            report = options.archive(call, data, store).verify(evidence, tell)
    if as_json:
        console.print_json(_report_value(report))
    else:
        _print_report(report)
    return 0 if report.is_good else EXIT_NOT_HELD


@app.command()
def export(
    call: typer.Context,
    data: DataFolder = None,
    store: StoreUrl = None,
    after: Annotated[int, typer.Option(min=0, metavar="N", help="leave out the first N")] = 0,
    out: OutFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the journal as a text that `avow journal verify --file` and strangers can check.

    A part made with `--after` is verified together with what comes before it, each as `--file`.

    Example: `avow journal export --out journal.txt`
    """
    if as_json and out is None:
        raise typer.BadParameter("an export has a form of its own", param_hint="--json needs --out")
    archive = options.archive(call, data, store)
    with progress.shown("exporting", "entries") as tell:
        pages = archive.export(after=after, progress=tell)
        if out is None:
            _write(pages, sys.stdout.buffer)
            return
        count = _written(pages, out)
    if as_json:
        console.print_json({"file": str(out), "after": after, "entries": count})
    else:
        console.stdout().print(f"Wrote {count} entries to {out}.", soft_wrap=True)


@app.command()
def receipt(
    call: typer.Context,
    what: Annotated[
        str | None, typer.Argument(metavar="WHAT", help="the id of a verdict, or a position")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="check this receipt instead, offline")
    ] = None,
    keys: KeysFile = None,
    data: DataFolder = None,
    store: StoreUrl = None,
    out: OutFile = None,
    as_json: JsonFlag = False,
) -> int:
    """Hand out the receipt of an entry, or check one and say what it proves.

    Exit code 1 if a receipt that was to be checked proves nothing.

    Example: `avow journal receipt 12 --out receipt.json`
    """
    if (what is None) == (check is None):
        raise typer.BadParameter("name an entry, or a receipt to check", param_hint="WHAT")
    if check is not None:
        ring = None if keys is None else options.read_text(keys)
        text = options.read_text(check)
        found = desk(call).check_receipt(options.placed(data, store), text, ring)
        _print_checked(found, as_json=as_json)
        return 0 if found.is_good else EXIT_NOT_HELD
    with options.office(call, data, store) as office:
        position = office.read(lambda view: _position(view, what or ""))
        note = office.note()
        made = office.read(lambda view: receipts.issue(view, position, note, fields=_FIELDS))
    _hand_out(made.written(), position, out, as_json=as_json)
    return 0


@app.command()
def tail(
    call: typer.Context,
    count: Annotated[int, typer.Option("-n", min=0, max=10_000, help="how many entries")] = 10,
    follow: Annotated[
        bool, typer.Option("--follow", help="go on with what comes, until Ctrl-C")
    ] = False,
    data: DataFolder = None,
    store: StoreUrl = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the newest entries; with `--json` one line for each.

    Example: `avow journal tail -n 20 --follow`
    """
    archive = options.archive(call, data, store)

    def newest(view: View) -> list[Entry]:
        return view.entries(after=max(0, view.size() - count), most=count) if count else []

    found = archive.read(newest)
    _print_entries(found, as_json=as_json, is_first=True)
    if follow:
        last = found[-1].position if found else archive.read(lambda view: view.size())
        for fresh in _coming(archive, last):
            _print_entries(fresh, as_json=as_json, is_first=False)


@app.command()
def rotate(
    call: typer.Context,
    compromised: Annotated[
        bool, typer.Option("--compromised", help="the old key may have been stolen")
    ] = False,
    data: DataFolder = None,
    store: StoreUrl = None,
    as_json: JsonFlag = False,
) -> None:
    """Exchange the key that signs checkpoints; a running server takes the new one by itself.

    What a retired key signed stays good. What only a compromised key signed counts no more.

    Example: `avow journal rotate`
    """
    with options.office(call, data, store) as office:
        line = office.rotate(compromised=compromised)
    state = "compromised" if compromised else "retired"
    if as_json:
        console.print_json({"key": line, "before": state})
        return
    out = console.stdout()
    out.print(f"A fresh key signs from here on; the old one is {state}, and the journal says so.")
    if compromised:
        out.print("Checkpoints by the old key count no more; a fresh one covers what is here now.")
    out.print(Text("Give this line to whoever verifies with a key ring of their own:", "bold"))
    out.print(f"  {line}", soft_wrap=True)


@app.command()
def erase(
    call: typer.Context,
    position: Annotated[int, typer.Argument(min=1, metavar="POSITION", help="of the entry")],
    field: Annotated[
        str, typer.Option(metavar="NAME", help="which text: declaration, or note")
    ] = "declaration",
    data: DataFolder = None,
    store: StoreUrl = None,
    as_json: JsonFlag = False,
) -> None:
    """Erase a text beside an entry for good; the entry, its hash and the chain stay as they are.

    Backups made before still hold the text.

    Example: `avow journal erase 12 --field declaration`
    """
    with options.office(call, data, store) as office:
        office.call(Erase(by=office.who().id, position=position, field=field))
    if as_json:
        console.print_json({"position": position, "field": field, "state": "erased"})
    else:
        told = f"Erased the text `{show(field)}` of entry {position}; the journal still verifies."
        console.stdout().print(told)


def _lines(files: list[Path], tell: Progress | None) -> Iterator[bytes]:
    """Yield the lines of files, one after the other, and tell how many bytes were read."""
    done, seen, total = 0, 0, sum(map(_size, files))
    for file in files:
        try:
            with file.open("rb") as opened:
                for line in opened:
                    done += len(line)
                    yield line
                    if tell is not None and done - seen > total // 200:
                        seen = done
                        tell(done, total)
        except OSError as error:
            raise options.unreadable(file, error) from None


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError as error:
        raise options.unreadable(file, error) from None


def _write(pages: Iterable[bytes], target: BinaryIO) -> int:
    """Write an export and return how many entries it has."""
    lines = 0
    for page in pages:
        target.write(page)
        lines += page.count(b"\n")
    target.flush()
    return lines - 1


def _written(pages: Iterable[bytes], out: Path) -> int:
    """Write an export to a file, which bears its name only when it is complete."""
    partial = out.with_name(f"{out.name}.partial")
    try:
        with partial.open("wb") as opened:
            count = _write(pages, opened)
        partial.replace(out)
    except OSError as error:
        raise options.unreadable(out, error) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return count


def _position(view: View, what: str) -> int:
    """Return the position that a verdict's id or a number names, or raise."""
    if what.startswith("ver_"):
        found = view.verdicts.find(what)
        if found is None:
            raise RefusedError("verdict.unknown", f"there is no verdict `{what[:40]}`")
        return found.position
    plain = what.isascii() and what.isdigit() and len(what) <= _DIGITS_MAX
    position = int(what) if plain else 0
    if not 1 <= position <= view.size():
        raise RefusedError("journal.no_such_entry", f"there is no entry `{what[:40]}`")
    return position


def _hand_out(written: str, position: int, out: Path | None, *, as_json: bool) -> None:
    if out is None:
        console.print_json(json.loads(written))
        return
    try:
        out.write_text(f"{written}\n", encoding="utf-8")
    except OSError as error:
        raise options.unreadable(out, error) from None
    if as_json:
        console.print_json({"file": str(out), "position": position})
    else:
        told = f"Wrote the receipt of entry {position} to {out}; it holds what was declared."
        console.stdout().print(told, soft_wrap=True)


def _coming(archive: Archive, after: int) -> Iterator[list[Entry]]:
    """Yield what is appended behind a position, for ever."""
    while True:
        time.sleep(_LOOK_S)
        since = after
        found = archive.read(lambda view: view.entries(after=since, most=1000))  # noqa: B023 - called at once
        if found:
            after = found[-1].position
            yield found


def _print_entries(found: list[Entry], *, as_json: bool, is_first: bool) -> None:
    if as_json:
        for entry in found:
            console.print_line(entries.value(entry))
        return
    listed = console.table("entry", "time", "kind", "who", "what")
    listed.show_header = is_first
    for entry in found:
        listed.add_row(*entries.row(entry))
    console.stdout().print(listed)


def _report_value(report: Verified) -> dict[str, Any]:
    plain = ("origin", "entries", "head", "anchored", "unanchored", "unanchored_from", "distrusted")
    lists = ("breaks", "notices", "problems")
    return {
        "good": report.is_good,
        **{name: getattr(report, name) for name in plain},
        "anchors": report.anchors_good,
        "keys": [
            {"position": k.position, "name": k.name, "public": k.public, "state": k.state}
            for k in report.keys
        ],
        **{name: list(getattr(report, name)) for name in lists},
    }


def _print_report(report: Verified) -> None:
    out = console.stdout()
    told = "✓ nothing is wrong" if report.is_good else "✗ this journal is not what was written"
    out.print(Text(told, style="bold green" if report.is_good else "bold red"))
    listed = console.table("", "")
    listed.show_header = False
    count = f"{report.entries:,} entries fit, head {report.head}"
    listed.add_row("journal", show(f"{report.origin}: {count}"))
    anchored = f"up to {report.anchored:,}, good checkpoints: {report.anchors_good:,}"
    listed.add_row("anchored", anchored if report.anchors_good else "nothing")
    if report.unanchored:
        tail_told = f"{report.unanchored:,} entries from {report.unanchored_from:,} on"
        listed.add_row("unanchored", f"{tail_told}: only the chain fits there")
    for key in report.keys:
        listed.add_row("key", show(f"{key.state} at {key.position}: {key.public} {key.name}"))
    for name, found in (
        ("break", report.breaks),
        ("notice", report.notices),
        ("problem", report.problems),
    ):
        for text in found[:_SHOWN_MAX]:
            listed.add_row(Text(name, style="bold"), show(text))
        if len(found) > _SHOWN_MAX:
            listed.add_row(name, f"and {len(found) - _SHOWN_MAX} more; --json lists them")
    out.print(listed)


def _print_checked(found: ReceiptChecked, *, as_json: bool) -> None:
    if as_json:
        plain = ("origin", "position", "size", "entry_hash", "texts")
        lists = ("signed_by", "problems")
        value = {name: getattr(found, name) for name in plain}
        value |= {name: list(getattr(found, name)) for name in lists}
        console.print_json({"good": found.is_good, "signed": utc(found.at_ms), **value})
        return
    out = console.stdout()
    if not found.is_good:
        out.print(Text("✗ this receipt proves nothing", style="bold red"))
        for text in found.problems[:_SHOWN_MAX]:
            out.print(f"  {show(text)}")
        return
    out.print(Text("✓ this receipt is good", style="bold green"))
    by = show(", ".join(found.signed_by))
    out.print(
        f"Entry {found.position} stood in the journal {show(found.origin)} when {by} signed its"
        f" {found.size} entries, at {utc(found.at_ms)}."
    )
    out.print("It does not prove that the journal still holds it: ask for a later checkpoint.")
    for name, text in found.texts.items():
        out.print(f"The text `{show(name)}` beside it is the one that was written:")
        out.print(f"  {show(text)}", soft_wrap=True)
