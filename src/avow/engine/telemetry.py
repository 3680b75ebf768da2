"""What Avow tells its operators while it runs: counts, log lines and spans, all from closed tables.

Owns the port `Telemetry`, the metrics and log events there are, and which fields an event may
carry. Telemetry fails soft: no call raises or waits, and what cannot be told is counted as lost.
It is no audit log and decides nothing; the journal is written on another path, which fails closed.

No label names an agent, a resource or a text, because every label has a closed set of values and
anything else is counted as `other`. A log line carries only the fields of its event, masked.

Clauses: ICNLI-12.1.02, ICNLI-12.3.01, ICNLI-12.6.01, ICNLI-12.6.02, ICNLI-14.4.03.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Protocol

from avow.core.codes import CODES
from avow.core.masking import STARS, mask
from avow.core.words import Means, Outcome

PREFIX = "avow_"
OTHER = "other"
# What stands for "no trace" in W3C trace context: an identifier no trace may have.
NO_TRACE = "0" * 32
TEXT_MAX = 4096
NAMES_MAX = 16
FRAMES_MAX = 12

Scalar = str | int | float | bool | None


class Level(IntEnum):
    """How loud a log line is; the numbers are those of Python's own logging."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


class Kind(StrEnum):
    """What a metric does: it only rises, it moves, or it counts into ranges."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its labels in order, each with all its values, and the bounds of its ranges."""

    kind: Kind
    meaning: str
    labels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    bounds: tuple[float, ...] = ()

    def admitted(self, values: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the labels with `other` for unknown values; none if their number is wrong."""
        if len(values) != len(self.labels):
            return None
        known = self.labels.values()
        return tuple(v if v in k else OTHER for v, k in zip(values, known, strict=True))


class Telemetry(Protocol):
    """Where the engine and the channels tell what happens.

    No method raises or waits, whatever it is given and whatever the other end does. What could
    not be told is counted in `telemetry_lost_total`. Nothing promises that a line or a span
    arrives: what must not get lost belongs into the journal.
    """

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        """Add to a counter of `METRICS`; the labels stand in the order of the table."""
        ...

    def observe(self, name: str, value: float, *labels: str) -> None:
        """Add one value to a histogram of `METRICS`."""
        ...

    def gauge(self, name: str, value: float) -> None:
        """Set a gauge of `METRICS`."""
        ...

    def log(self, level: Level, event: str, /, trace_id: str = "", **fields: object) -> None:
        """Write one line about an event of `EVENTS`; values must not change afterwards."""
        ...

    def span(  # noqa: PLR0913 - a finished span is these things
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
        """Hand over a finished span; give it an id of 16 hex digits if others name it as parent."""
        ...

    def text(self) -> str:
        """Return all metrics in the exposition text of Prometheus."""
        ...

    def close(self) -> None:
        """Tell what is still waiting, within a bounded time, and stop."""
        ...


class Silent:
    """Telemetry that tells nobody."""

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        """Do nothing."""

    def observe(self, name: str, value: float, *labels: str) -> None:
        """Do nothing."""

    def gauge(self, name: str, value: float) -> None:
        """Do nothing."""

    def log(self, level: Level, event: str, /, trace_id: str = "", **fields: object) -> None:
        """Do nothing."""

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
        """Do nothing."""

    def text(self) -> str:
        """Return no metrics."""
        return ""

    def close(self) -> None:
        """Do nothing."""


_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_COMMANDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


METRICS: dict[str, Metric] = {
    "verdicts_total": Metric(
        Kind.COUNTER,
        "verdicts that were committed",
        {
            "outcome": frozenset(Outcome.__members__),
            "channel": _words("library cli http web mcp telegram voice"),
            "dialect": _words("irl klis intent_ir ilang prose"),
        },
    ),
    "refusals_total": Metric(
        Kind.COUNTER, "calls that ended in an error, by its code", {"code": frozenset(CODES)}
    ),
    "request_seconds": Metric(
        Kind.HISTOGRAM,
        "how long a call over HTTP took",
        {
            "route": _words(
                "evaluate simulate verdicts agents people journal events conformance health"
                " metrics other"
            )
        },
        _SECONDS,
    ),
    "commit_seconds": Metric(Kind.HISTOGRAM, "how long a commit took", bounds=_SECONDS),
    "commit_commands": Metric(
        Kind.HISTOGRAM, "how many commands shared one commit", bounds=_COMMANDS
    ),
    "journal_entries": Metric(Kind.GAUGE, "entries in the journal"),
    "journal_unanchored": Metric(Kind.GAUGE, "entries that no written checkpoint covers yet"),
    "checkpoints_total": Metric(
        Kind.COUNTER, "attempts to write a checkpoint", {"result": _words("written failed")}
    ),
    "breaker_trips_total": Metric(
        Kind.COUNTER, "breakers that tripped", {"means": frozenset(map(str, Means))}
    ),
    "breaker_closings_total": Metric(
        Kind.COUNTER, "breakers that closed, and what closed them", {"by": _words("time person")}
    ),
    "rate_limited_total": Metric(Kind.COUNTER, "calls refused because they came too fast"),
    "authentications_total": Metric(
        Kind.COUNTER, "keys that were looked at", {"result": _words("ok unknown revoked missing")}
    ),
    "store_retries_total": Metric(
        Kind.COUNTER,
        "attempts to commit again after the store failed, by how it ended",
        {"result": _words("committed failed")},
    ),
    "telemetry_lost_total": Metric(
        Kind.COUNTER,
        "log lines, spans and measurements that could not be told",
        {"part": _words("log span metric")},
    ),
    # The one value of its label is put in at the start, by `described`.
    "build_info": Metric(Kind.GAUGE, "the version that runs", {"version": frozenset()}),
}

EVENTS: dict[str, frozenset[str]] = {
    "server.started": _words("version address policy store"),
    "server.stopped": _words("reason uptime_s"),
    "auth.accepted": _words("agent person role channel"),
    "auth.refused": _words("reason agent person channel code"),
    "verdict": _words(
        "verdict_id agent channel dialect outcome rule score risk position duration_ms"
    ),
    "redemption": _words("verdict_id agent channel outcome rule position duration_ms"),
    "outcome": _words("verdict_id agent channel status position"),
    "agent.added": _words("agent trust by position"),
    "agent.revoked": _words("agent by position"),
    "person.added": _words("person role by position"),
    "person.revoked": _words("person by position"),
    "policy.adopted": _words("name version digest replaced relaxed position"),
    "policy.broken": _words("name code problems"),
    "breaker.tripped": _words("agent means count window_s"),
    "breaker.closed": _words("agent means by"),
    "checkpoint.written": _words("size root_hash origin"),
    "checkpoint.failed": _words("size origin kind"),
    "store.lost": _words("kind code"),
    "store.regained": _words("attempts outage_s"),
    "fault": _words("incident kind where route"),
    "request.refused": _words("code status route channel agent duration_ms"),
    "telemetry.lost": _words("part count"),
    # What a library said through Python's own logging.
    "log": _words("logger message kind where"),
}

_VERSION = re.compile(r"[0-9][0-9a-z.+-]{0,31}")
_TRACE = re.compile(r"[0-9a-f]{32}")


def described(version: str) -> dict[str, Metric]:
    """Return the metrics of a running Avow: its version is the one value of `build_info`."""
    shown = version if _VERSION.fullmatch(version) else OTHER
    info = METRICS["build_info"]
    return METRICS | {
        "build_info": Metric(info.kind, info.meaning, {"version": frozenset([shown])})
    }


def line(
    level: Level, event: str, trace_id: str, fields: Mapping[str, object]
) -> dict[str, object]:
    """Return what one log line says, apart from its time.

    1. An event that is not in the table is called `other` and carries nothing.
    2. A trace identifier is 32 hexadecimal digits, or that of no trace.
    3. A field the event may not carry, or whose value is not plain, is only named, under `dropped`.
    4. Every text is masked, then cut.
    """
    # 1
    allowed = EVENTS.get(event)
    # 2
    traced = bool(_TRACE.fullmatch(trace_id))
    said: dict[str, object] = {
        "level": level.name.lower(),
        "event": OTHER if allowed is None else event,
        "trace_id": trace_id if traced else NO_TRACE,
    }
    # 3
    dropped = [] if traced or not trace_id else ["trace_id"]
    for name, value in fields.items():
        if allowed is not None and name in allowed and is_plain(value):
            # 4
            said[name] = shown(value) if isinstance(value, str) else value
        else:
            dropped.append(shown(name)[:64])
    if dropped:
        said["dropped"] = dropped[:NAMES_MAX]
    return said


def is_plain(value: object) -> bool:
    """Return whether a value may stand in a line: text, truth, nothing, or a number of JSON."""
    if isinstance(value, int):
        return value.bit_length() <= 63  # noqa: PLR2004 - what every reader can hold
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str)


def shown(text: str) -> str:
    """Return a text as it may leave Avow: masked, and cut if it is long.

    A long text is cut first, so that one value cannot keep the machine busy; the word at the cut
    is starred as a whole, because half a secret no longer has the shape of one.
    """
    if len(text) <= TEXT_MAX:
        return mask(text)
    whole, _, _ = text[:TEXT_MAX].rpartition(" ")
    return f"{mask(whole)} {STARS}"


def where(error: BaseException) -> str:
    """Return the places an error came through, innermost first, without any of its text."""
    places: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "?")
        places.append(f"{module}:{trace.tb_lineno}")
        trace = trace.tb_next
    return " < ".join(places[: -FRAMES_MAX - 1 : -1])
