"""Everything together: the port `Telemetry` over logs, metrics and, if asked for, spans."""

from functools import partial

from avow.adapters.telemetry.logs import Bridge, Logs, Write, standard_error
from avow.adapters.telemetry.metrics import Metrics
from avow.adapters.telemetry.spans import Spans, open_spans
from avow.engine.ports import Clock
from avow.engine.telemetry import Level, Silent, Telemetry


class Instruments:
    """The port, made of its parts; a call goes straight to the part that carries it."""

    def __init__(self, *, metrics: Metrics, logs: Logs, spans: Spans, bridge: Bridge) -> None:
        self.count = metrics.count
        self.observe = metrics.observe
        self.gauge = metrics.gauge
        self.text = metrics.text
        self.log = logs.log
        self.span = spans.span
        self._logs = logs
        self._spans = spans
        self._bridge = bridge

    def close(self) -> None:
        """Tell what is still waiting, for two seconds at most, and stop; metrics stay readable."""
        self._spans.close()
        # Last, so that the log may still say what became of the spans.
        self._bridge.detach()
        self._logs.close()


def open_instruments(
    *,
    version: str,
    clock: Clock,
    write: Write = standard_error,
    least: Level = Level.INFO,
    otlp_endpoint: str = "",
) -> Telemetry:
    """Return running telemetry; without an endpoint spans go nowhere. Raises on a bad setting."""
    metrics = Metrics(version)
    lost = partial(_lose, metrics)
    # First, because it is the part that may refuse to start.
    spans = open_spans(otlp_endpoint, lost=partial(lost, "span")) if otlp_endpoint else Silent()
    logs = Logs(write, clock=clock, lost=partial(lost, "log"), least=least)
    bridge = Bridge(logs)
    bridge.attach()
    return Instruments(metrics=metrics, logs=logs, spans=spans, bridge=bridge)


def _lose(metrics: Metrics, part: str, count: int) -> None:
    metrics.count("telemetry_lost_total", part, by=count)
