"""What tests need around a store: a memory for a writer, and a writer that is closed after."""

import threading

from avow.adapters import policy_files
from avow.adapters.store.work import Memory
from avow.adapters.store.writer import Writer
from avow.core.rate import Limit
from avow.core.words import Means
from avow.engine.pulse import Pulse

TENANT = "main"
WIDE = Limit(most=10**9, window_ms=60_000, quiet_ms=300_000)


def memory(tenant=TENANT, **limits):
    """Return a writer's memory; breakers that never trip unless told otherwise."""
    each = {means: limits.get(means.value, WIDE) for means in Means}
    return Memory(tenant=tenant, read_policy=policy_files.from_text, pulse=Pulse(each))


def writer(store, tenant=TENANT, notary=None, **limits):
    """Return a writer over a store."""
    return Writer(store, memory(tenant, **limits), notary)


def note(work):
    """Append one entry: a command that always goes well."""
    return work.journal.append({"kind": "good"}).position


def together(writer, *commands, before=lambda _futures: None):
    """Have commands share one batch, behind an entry of our own; return what holds their answers.

    The writer is held with a slow command until all of them wait; `before` is called just then.
    """
    begun, go_on = threading.Event(), threading.Event()

    def slow(work):
        begun.set()
        go_on.wait(10)
        return note(work)

    first = writer.future(slow)
    begun.wait(10)
    futures = [writer.future(command) for command in commands]
    before(futures)
    go_on.set()
    assert first.result(timeout=20) == 1
    return futures
