"""The machine's clock and random source; the only two places that touch them."""

import secrets
import time


class SystemClock:
    """The wall clock of this machine."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch, UTC."""
        return time.time_ns() // 1_000_000


class SystemEntropy:
    """The random source of the operating system."""

    def draw(self, size_bytes: int) -> bytes:
        """Return that many fresh bytes."""
        return secrets.token_bytes(size_bytes)
