"""What tests need around a store: a memory for a writer, and a writer that is closed after."""

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
