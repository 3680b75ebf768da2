"""The hub: wakes whoever waits for something new in the journal, in one event loop.

It carries no news itself: who is woken reads the journal, which is the truth. A wake-up may come
without news, and several may come as one; none gets lost between looking and waiting, because a
waiter hands in how much it had heard before it looked.
"""

import asyncio


class Hub:
    """Counts wake-ups and lets waiters sleep until the next."""

    def __init__(self) -> None:
        self._count = 0
        self._event = asyncio.Event()
        self.is_stopping = False

    def stop(self) -> None:
        """Wake everybody for the last time: the server stops."""
        self.is_stopping = True
        self.wake()

    def heard(self) -> int:
        """Return how many wake-ups there were; to be asked before looking."""
        return self._count

    def wake(self) -> None:
        """Wake everybody; only in the loop's own thread."""
        self._count += 1
        self._event.set()
        self._event = asyncio.Event()

    async def next(self, heard: int, timeout_s: float) -> bool:
        """Sleep until there was a wake-up since `heard`; false if the time passed first."""
        if heard != self._count:
            return True
        try:
            await asyncio.wait_for(self._event.wait(), timeout_s)
        except TimeoutError:
            return False
        return True
