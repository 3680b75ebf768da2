"""Where the parts of an installation lie, as the settings name them. Opens nothing."""

from pathlib import Path

from avow.adapters.anchor import AnchorFile
from avow.settings import FIELDS, Settings

TENANT = "main"
ANCHOR = "anchor.notes"
_POSTGRES = ("postgresql://", "postgres://")


def data_folder(settings: Settings) -> Path:
    """Return the folder of keys, anchor and the embedded database."""
    return Path(settings.text("store.data")).expanduser()


def anchor_file(settings: Settings) -> AnchorFile:
    """Return the anchor that the settings name."""
    named = settings.text("journal.anchor")
    inside = named == FIELDS["journal.anchor"].default
    return AnchorFile(data_folder(settings) / ANCHOR if inside else Path(named).expanduser())


def postgres_address(settings: Settings) -> str | None:
    """Return the address of the PostgreSQL database, or nothing where the folder has its own."""
    url = settings.text("store.url")
    return url if url.startswith(_POSTGRES) else None
