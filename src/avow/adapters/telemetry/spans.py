"""Spans: where finished ones go, if anywhere; the door to OpenTelemetry, which need not be there.

Owns the setting's meaning and nothing of OpenTelemetry: that is in `otlp`, imported only here and
only when an endpoint is set, because its packages come with the extra `avow[otel]`.
"""

from collections.abc import Callable
from typing import Protocol
from urllib.parse import urlsplit

from avow.core.errors import MalformedError, Problem

SETTING = "telemetry.otlp_endpoint"
TRACES = "/v1/traces"


class Spans(Protocol):
    """Where finished spans are handed over; neither method raises, `close` waits a bounded time."""

    def span(  # noqa: PLR0913 - the port's own
        self,
        name: str,
        /,
        trace_id: str,
        parent_id: str,
        start_ns: int,
        end_ns: int,
        *,
        span_id: str = "",
        **attributes: str | int,
    ) -> None:
        """Hand over a finished span."""
        ...

    def close(self) -> None:
        """Send what waits and stop."""
        ...


def open_spans(endpoint: str, *, lost: Callable[[int], None]) -> Spans:
    """Return spans that go to a collector over OTLP, or raise if that cannot be set up.

    `lost` is told how many spans did not arrive. Whether a collector is there is not asked.
    """
    address = _address(endpoint)
    try:
        from avow.adapters.telemetry.otlp import OtlpSpans  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise _malformed(
            "sending spans needs packages that are not here: install `avow[otel]`"
        ) from None
    return OtlpSpans(address, lost=lost)


def _address(endpoint: str) -> str:
    """Return the full address of a collector; one without a path gets the path of the standard."""
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        # The endpoint is not repeated: it may hold a password.
        raise _malformed("expected the address of a collector, as in `http://localhost:4318`")
    return parts._replace(path=TRACES).geturl() if parts.path in ("", "/") else endpoint


def _malformed(message: str) -> MalformedError:
    return MalformedError("settings.invalid", [Problem(SETTING, "settings.invalid", message)])
