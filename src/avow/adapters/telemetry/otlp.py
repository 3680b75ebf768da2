"""Spans over OTLP, through OpenTelemetry's batching queue and HTTP exporter.

Needs the extra `avow[otel]`. A caller leaves its span in a bounded queue; masking, encoding and
sending happen in OpenTelemetry's thread, with a short time for each batch. A full queue drops the
newest span. What the queue or the collector did not take is counted as lost. Headers, certificates
and proxies are taken from OpenTelemetry's own environment variables.
"""

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags

from avow.engine.telemetry import is_plain, shown

WAITING_MAX = 2048
BATCH_MAX = 256
DELAY_MS = 1000
EXPORT_S = 2.0
CLOSE_S = 1.0

_TRACE = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN = re.compile(r"(?!0{16})[0-9a-f]{16}")
_RESOURCE = Resource({"service.name": "avow"})
_SCOPE = InstrumentationScope("avow")
_NS_MAX = 1 << 63
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_IDS = RandomIdGenerator()

# Name, trace, parent, own id, start, end, attributes.
Given = tuple[str, str, str, str, int, int, dict[str, Any]]


class OtlpSpans:
    """Finished spans to one collector; `span` neither raises nor waits."""

    def __init__(self, address: str, *, lost: Callable[[int], None]) -> None:
        self._queue = _Counted(OTLPSpanExporter(endpoint=address, timeout=EXPORT_S), lost=lost)
        self._lost = lost
        self._processor = BatchSpanProcessor(
            self._queue,
            # Never reached: a full queue is noticed before, without a word to the logging module.
            max_queue_size=2 * WAITING_MAX,
            schedule_delay_millis=DELAY_MS,
            max_export_batch_size=BATCH_MAX,
            # Ignored by this version, as it says itself; the exporter's own time counts.
            export_timeout_millis=EXPORT_S * 1000,
        )

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
        """Hand over a finished span; one without a trace, or too many, are lost and counted."""
        try:
            sound = _TRACE.fullmatch(trace_id) and 0 <= start_ns <= end_ns < _NS_MAX
            given = (name, trace_id, parent_id, span_id, start_ns, end_ns, attributes)
            if sound and self._queue.enter():
                self._processor.on_end(_Handed(given))
            else:
                self._lost(1)
        except Exception:  # noqa: BLE001 - telemetry fails soft
            self._lost(1)

    def close(self) -> None:
        """Send what waits, for a second at most; what is left then is lost and counted."""
        # The processor's own shutdown may wait for half a minute.
        ending = threading.Thread(target=self._processor.shutdown, name="avow-spans", daemon=True)
        ending.start()
        ending.join(CLOSE_S)
        self._queue.give_up()


class _Counted(SpanExporter):
    """An exporter that knows how many spans are on their way and tells of those that got lost."""

    def __init__(self, exporter: SpanExporter, *, lost: Callable[[int], None]) -> None:
        self._exporter = exporter
        self._lost = lost
        # Reentrant: a signal or a finaliser may hand over a span in the middle of this.
        self._lock = threading.RLock()
        self._waiting = 0
        self._given_up = self._stopped = False

    def enter(self) -> bool:
        """Take a place in the queue; false if there is none, or not any more."""
        with self._lock:
            free = self._waiting < WAITING_MAX and not self._given_up
            self._waiting += free
            return free

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Mask and send a batch; what was given up before is not sent."""
        arrived = 0
        try:
            made = [] if self._given_up else _made_of(spans)
            if made and self._exporter.export(made) is SpanExportResult.SUCCESS:
                arrived = len(made)
        finally:
            with self._lock:
                missing = 0 if self._given_up else len(spans) - arrived
                self._waiting -= len(spans)
            if missing:
                self._lost(missing)
        return SpanExportResult.FAILURE if missing else SpanExportResult.SUCCESS

    def give_up(self) -> None:
        """Count everything that is still on its way as lost."""
        with self._lock:
            left = 0 if self._given_up else self._waiting
            self._given_up = True
        if left:
            self._lost(left)
        self.shutdown()

    def shutdown(self) -> None:
        """Stop the exporter, once: its processor asks, and whoever gave up waiting for that."""
        with self._lock:
            stopping, self._stopped = not self._stopped, True
        if stopping:
            self._exporter.shutdown()


class _Handed(ReadableSpan):
    """A span as its caller left it; made into a real one by the thread that sends it."""

    def __init__(self, given: Given) -> None:
        # The only thing the processor asks for: that this span is wanted.
        self._context = _WANTED
        self.given = given


def _named(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=_SAMPLED)


_WANTED = _named(1, 1)


def _made_of(spans: Sequence[ReadableSpan]) -> list[ReadableSpan]:
    """Return the spans as they are sent, without those that cannot be made."""
    handed = (span.given for span in spans if isinstance(span, _Handed))
    return [span for span in map(_made, handed) if span is not None]


def _made(given: Given) -> ReadableSpan | None:
    """Return a span with its texts masked and without values that are not plain.

    None if it cannot be made: one that cannot be encoded would take its whole batch with it.
    """
    try:
        name, trace_id, parent_id, span_id, start_ns, end_ns, attributes = given
        trace = int(trace_id, 16)
        own = int(span_id, 16) if _SPAN.fullmatch(span_id) else _IDS.generate_span_id()
        return ReadableSpan(
            _text(name),
            context=_named(trace, own),
            parent=_named(trace, int(parent_id, 16)) if _SPAN.fullmatch(parent_id) else None,
            resource=_RESOURCE,
            attributes={
                _text(key): _text(value) if isinstance(value, str) else value
                for key, value in attributes.items()
                if value is not None and is_plain(value)
            },
            start_time=start_ns,
            end_time=end_ns,
            instrumentation_scope=_SCOPE,
        )
    except Exception:  # noqa: BLE001 - telemetry fails soft
        return None


def _text(text: str) -> str:
    """Return a text masked, and such that UTF-8 can say it: half a pair would stop the encoder."""
    return shown(text).encode("utf-8", "backslashreplace").decode("utf-8")
