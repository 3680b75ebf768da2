"""What is installed here, beside what was tested."""

import sys
from importlib import metadata

from avow.engine.doctor import Installation

# The versions of requirements.in; a tidy test keeps the two alike.
TESTED = {
    "apsw": "3.54.1.0",
    "cryptography": "50.0.2",
    "fastapi": "0.162.4",
    "httptools": "0.9.0",
    "httpx": "0.28.1",
    "jiter": "0.19.0",
    "prometheus-client": "0.26.0",
    "psycopg": "3.3.8",
    "pydantic": "2.14.3",
    "pyyaml": "6.0.3",
    "rich": "15.0.0",
    "typer": "0.29.0",
    "uvicorn": "0.54.0",
    "uvloop": "0.23.0",
}


def look() -> Installation:
    """Return the versions found."""
    return Installation(
        python=sys.version_info[:3],
        found={name: _version(name) for name in TESTED},
        tested=TESTED,
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
