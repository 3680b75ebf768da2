"""Wake-ups: a background thread that tells when somebody committed, here or on another node.

A wake-up says "look", and nothing more: several commits may share one, and one may come without a
commit. None is lost: after every new connection the listener is told once, whatever was missed.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

# Gives a function that waits a moment and says whether somebody committed; it gets what ends early.
Listening = Callable[[], AbstractContextManager[Callable[[threading.Event], bool]]]

_PAUSE_S, _PAUSE_MAX_S = 0.1, 5.0
_JOIN_S = 5.0


class Watch:
    """Calls `tell` from a thread of its own until it is closed; `tell` should only pass it on."""

    def __init__(self, listening: Listening, tell: Callable[[], None]) -> None:
        self._listening = listening
        self._tell = tell
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="avow-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the watch; waits for its thread, but not for ever."""
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        pause_s = _PAUSE_S
        while not self._ended.is_set():
            try:
                with self._listening() as heard:
                    self._tell()
                    pause_s = _PAUSE_S
                    while not self._ended.is_set():
                        if heard(self._ended) and not self._ended.is_set():
                            self._tell()
            except Exception:  # noqa: BLE001 - the outermost frame of a thread: whatever failed, a node must not go deaf
                self._ended.wait(pause_s)
                pause_s = min(pause_s * 2, _PAUSE_MAX_S)
