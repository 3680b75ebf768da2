"""Metrics: counted here in plain numbers, written in Prometheus' exposition text when asked.

Wraps `prometheus_client` for the text only. Its own counters cost microseconds and a lock for each
label, so a call here is one look-up and one addition, and everything else waits for the scrape.
A call with an unknown name, the wrong number of labels or no number at all is counted as lost.
"""

import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from avow.engine.telemetry import PREFIX, Kind, Metric, described

Series = tuple[str, tuple[str, ...]]
LOST: Series = ("telemetry_lost_total", ("metric",))


class Ranges:
    """How many values fell into each range of a histogram, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0


class Metrics(Collector):
    """Every metric of the table, for many threads at once; no call raises."""

    def __init__(self, version: str) -> None:
        self._table = described(version)
        # Reentrant: a signal or a finaliser may count in the middle of a count.
        self._lock = threading.RLock()
        self._counts: dict[Series, int] = {}
        self._gauges: dict[str, float] = {}
        self._ranges: dict[Series, Ranges] = {}
        self._collectors = CollectorRegistry()
        self._collectors.register(self)
        for name, metric in self._table.items():
            self._prepare(name, metric)

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        """Add to a counter."""
        series = (name, labels)
        try:
            with self._lock:
                if series in self._counts and by >= 0:
                    self._counts[series] += by
                    return
                self._count_anew(series, by)
        except Exception:  # noqa: BLE001 - telemetry fails soft
            self._lose()

    def observe(self, name: str, value: float, *labels: str) -> None:
        """Add one value to a histogram."""
        series = (name, labels)
        try:
            with self._lock:
                sound = 0 <= value < math.inf
                ranges = self._ranges.get(series) or (sound and self._ranges_anew(series))
                if not sound or not ranges:
                    self._lose()
                    return
                ranges.counts[bisect_left(ranges.bounds, value)] += 1
                ranges.total += value
        except Exception:  # noqa: BLE001 - telemetry fails soft
            self._lose()

    def gauge(self, name: str, value: float) -> None:
        """Set a gauge."""
        try:
            if name in self._gauges and math.isfinite(value):
                self._gauges[name] = value
            else:
                self._lose()
        except Exception:  # noqa: BLE001 - telemetry fails soft
            self._lose()

    def text(self) -> str:
        """Return all metrics in the exposition text of Prometheus."""
        try:
            return generate_latest(self._collectors).decode("utf-8")
        except Exception:  # noqa: BLE001 - telemetry fails soft
            self._lose()
            return ""

    def collect(self) -> Iterator[Family]:
        """Give every metric with its numbers of this moment, to the exposition."""
        with self._lock:
            counts = sorted(self._counts.items())
            gauges = dict(self._gauges)
            ranges = [(key, list(kept.counts), kept.total) for key, kept in self._ranges.items()]
        for name, metric in self._table.items():
            labels = tuple(metric.labels)
            if metric.kind is Kind.COUNTER:
                counter = CounterMetricFamily(PREFIX + name, metric.meaning, labels=labels)
                for (_, values), number in filter(_of(name), counts):
                    counter.add_metric(values, number)
                yield counter
            elif metric.kind is Kind.GAUGE:
                gauge = GaugeMetricFamily(PREFIX + name, metric.meaning, labels=labels)
                # The labels of a gauge, if any, have one value each.
                gauge.add_metric([next(iter(v)) for v in metric.labels.values()], gauges[name])
                yield gauge
            else:
                histogram = HistogramMetricFamily(PREFIX + name, metric.meaning, labels=labels)
                bounds = [*map(floatToGoString, metric.bounds), "+Inf"]
                for (_, values), numbers, total in filter(_of(name), sorted(ranges)):
                    summed = list(zip(bounds, accumulate(numbers), strict=True))
                    histogram.add_metric(values, summed, total)
                yield histogram

    def _prepare(self, name: str, metric: Metric) -> None:
        """Begin at zero what has one label at most, so that a first loss is seen as a rise."""
        if metric.kind is Kind.GAUGE:
            self._gauges[name] = 1 if metric.labels else 0
        elif metric.kind is Kind.COUNTER and not metric.labels:
            self._counts[name, ()] = 0
        elif metric.kind is Kind.COUNTER and len(metric.labels) == 1:
            self._counts |= {(name, (v,)): 0 for known in metric.labels.values() for v in known}

    def _count_anew(self, series: Series, by: int) -> None:
        """Count into a series not seen before; only admitted ones are kept, so they stay few."""
        admitted = self._admitted(series, Kind.COUNTER)
        if admitted is None or not by >= 0:
            self._lose()
        else:
            self._counts[admitted] = self._counts.get(admitted, 0) + by

    def _ranges_anew(self, series: Series) -> Ranges | None:
        admitted = self._admitted(series, Kind.HISTOGRAM)
        if admitted is None:
            return None
        return self._ranges.setdefault(admitted, Ranges(self._table[admitted[0]].bounds))

    def _admitted(self, series: Series, kind: Kind) -> Series | None:
        metric = self._table.get(series[0])
        labels = metric.admitted(series[1]) if metric and metric.kind is kind else None
        return None if labels is None else (series[0], labels)

    def _lose(self) -> None:
        with self._lock:
            self._counts[LOST] += 1


def _of(name: str) -> Callable[[tuple[Any, ...]], bool]:
    """Return what tells the series of one metric."""
    return lambda kept: bool(kept[0][0] == name)
