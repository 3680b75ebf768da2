"""The files the house rules look at."""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "avow"


@cache
def tracked() -> tuple[Path, ...]:
    """Return every file of the repository, tracked or about to be; all files outside a checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - the one on the path
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [ROOT / line for line in listed.stdout.splitlines()]
    else:
        names = [path for path in ROOT.rglob("*") if ".venv" not in path.parts]
    return tuple(sorted(path for path in names if path.is_file() and not path.is_symlink()))


def text_files() -> list[Path]:
    return [path for path in tracked() if path.suffix not in (".png", ".whl")]


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def history(name: str) -> list[str]:
    """Return the content of a file at the commits that changed it, newest first; none outside git."""

    def git(*arguments: str) -> str:
        ended = subprocess.run(
            ["git", *arguments],  # noqa: S607 - the one on the path
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.stdout if ended.returncode == 0 else ""

    commits = git("rev-list", "--max-count=30", "HEAD", "--", name).split()
    return [content for commit in commits if (content := git("show", f"{commit}:{name}"))]
