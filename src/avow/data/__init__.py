"""The data files that ship inside the package: presets, clauses, incidents, examples."""

from importlib.resources import files


def read(*path: str) -> bytes:
    """Return the bytes of one file below `avow/data`."""
    return files("avow").joinpath("data", *path).read_bytes()


def names(folder: str) -> tuple[str, ...]:
    """Return the names of the files in one folder below `avow/data`, sorted."""
    return tuple(sorted(item.name for item in files("avow").joinpath("data", folder).iterdir()))
