"""The contract of `Telemetry`: it tells what happened, gives nothing away and holds nobody up."""

import json
import logging
import math
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from avow.adapters.telemetry import logs as log_module
from avow.adapters.telemetry import metrics as metrics_module
from avow.adapters.telemetry import otlp
from avow.adapters.telemetry.logs import Logs
from avow.adapters.telemetry.metrics import Metrics
from avow.adapters.telemetry.spans import open_spans
from avow.adapters.telemetry.together import open_instruments
from avow.core.errors import MalformedError
from avow.core.masking import STARS
from avow.engine import telemetry as port
from avow.engine.telemetry import EVENTS, METRICS, NO_TRACE, OTHER, Kind, Level, Silent

TRACE = "0af7651916cd43dd8448eb211c80319c"
CANARY = "hunter2Canary"
SECRETS = [
    *(f"password={CANARY}", f"Bearer {CANARY}", f"db://u:{CANARY}@h/", f"{CANARY}@example.com"),
    *(f"avow_{CANARY}{'f' * 30}", f"ghp_{CANARY}{'a' * 24}", f"sk-{CANARY}{'a' * 24}"),
    *(f"-----BEGIN PRIVATE KEY-----\n{CANARY}", f"eyJhbGciOiJIUzI1NiJ9.{CANARY}.{CANARY}"),
    *(f"xoxb-123456-{CANARY}", f"AKIA{'A' * 16} password: {CANARY}", f"{'a ' * 3000}{CANARY}"),
]
FORGERIES = ["\n", "\r\n", "\r", "\x1b[2J", "\u2028", "\u2029", "\x85", "\x0b", "\x00", "\x7f"]
FORGERIES += ["\x9b31m", "\ud800", '"}\n{"event": "verdict"}', "\u202e", "é"]
MALTREATED = [
    lambda t: t.count("unknown_total"),
    lambda t: t.count("verdicts_total", "ALLOW"),
    lambda t: t.count("checkpoints_total", ["written"]),
    lambda t: t.count("rate_limited_total", by=-1),
    lambda t: t.count("rate_limited_total", by="one"),
    lambda t: t.count("journal_entries"),
    lambda t: t.count(["rate_limited_total"]),
    lambda t: t.observe("request_seconds", math.nan, "evaluate"),
    lambda t: t.observe("request_seconds", math.inf, "evaluate"),
    lambda t: t.observe("commit_seconds", -1.0),
    lambda t: t.observe("commit_seconds", "long"),
    lambda t: t.observe("commit_seconds", 1.0, "extra"),
    lambda t: t.observe("rate_limited_total", 1.0),
    lambda t: t.gauge("journal_entries", math.nan),
    lambda t: t.gauge("journal_entries", "many"),
    lambda t: t.gauge("unknown", 1.0),
]


class Stopped:
    """A clock that stands still."""

    def now_ms(self):
        return 1_780_000_000_123


class Kept:
    """A log target that keeps what it is given, `step` bytes at a time."""

    def __init__(self, step=1 << 20):
        self.data = b""
        self.step = step

    def __call__(self, data):
        taken = bytes(data[: self.step])
        self.data += taken
        return len(taken)

    def lines(self):
        assert self.data.endswith(b"\n")
        return [json.loads(line) for line in self.data.split(b"\n")[:-1]]


def opened(write, **more):
    return open_instruments(version="0.1.0", clock=Stopped(), write=write, **more)


@contextmanager
def instruments(write=None, **more):
    """Open the real telemetry and close it at the end; closing shows what was written."""
    made = opened(write or Kept(), **more)
    try:
        yield made
    finally:
        made.close()


def lost(telemetry, part):
    families = text_string_to_metric_families(telemetry.text())
    samples = [s for f in families for s in f.samples if s.name == "avow_telemetry_lost_total"]
    return next(s.value for s in samples if s.labels == {"part": part})


def in_time(work):
    """Run some work in a thread; fail, rather than hang, if it never comes back."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "the caller is held up"


def until(condition):
    """Wait for what another thread is about to do."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


@pytest.fixture(params=["silent", "real"])
def telemetry(request):
    made = Silent() if request.param == "silent" else opened(Kept())
    yield made
    made.close()


@pytest.mark.clause("ICNLI-12.6.01")
def test_no_call_raises_or_answers(telemetry):
    """Whatever it is given, right or wrong, telemetry takes it without a word."""
    calls = [
        *MALTREATED,
        lambda t: t.count("verdicts_total", "ALLOW", "http", "irl", by=3),
        lambda t: t.observe("request_seconds", 0.01, "evaluate"),
        lambda t: t.gauge("journal_entries", 5),
        lambda t: t.log(Level.INFO, "verdict", TRACE, agent="a", outcome="ALLOW", score=1),
        lambda t: t.log(Level.INFO, "no such event", "no trace", field=object()),
        lambda t: t.log(None, None, None),
        lambda t: t.span("evaluate", TRACE, "", 1, 2, outcome="ALLOW"),
        lambda t: t.span(None, None, None, None, None),
        lambda t: t.close(),
        lambda t: t.close(),
        lambda t: t.log(Level.INFO, "server.stopped"),
    ]
    answers = []
    in_time(lambda: answers.extend(call(telemetry) for call in calls))
    assert answers == [None] * len(calls)
    assert isinstance(telemetry.text(), str)


# Metrics.


@pytest.mark.clause("ICNLI-12.6.02")
@pytest.mark.parametrize("call", MALTREATED)
def test_a_measurement_that_cannot_be_taken_is_counted(call):
    """Each call the table does not know raises the count of lost measurements by one."""
    metrics = Metrics("0.1.0")
    before = metrics.text()
    call(metrics)
    assert lost(metrics, "metric") == 1
    assert metrics.text().replace('{part="metric"} 1.0', '{part="metric"} 0.0') == before


def test_numbers_come_out_as_they_went_in():
    """Counters, gauges and histograms read by Prometheus' own parser hold what was told."""
    metrics = Metrics("0.1.0")
    metrics.count("verdicts_total", "DENY", "http", "irl", by=3)
    metrics.count("verdicts_total", "DENY", "http", "irl")
    metrics.gauge("journal_entries", 7)
    for value in (0.001, 0.002, 99.0):
        metrics.observe("request_seconds", value, "evaluate")
    families = list(text_string_to_metric_families(metrics.text()))
    found = {(s.name, *sorted(s.labels.items())): s.value for f in families for s in f.samples}
    labels = [("channel", "http"), ("dialect", "irl"), ("outcome", "DENY")]
    assert found["avow_verdicts_total", *labels] == 4
    assert found[("avow_journal_entries",)] == 7
    assert found["avow_build_info", ("version", "0.1.0")] == 1
    ranges = [
        found["avow_request_seconds_bucket", ("le", le), ("route", "evaluate")]
        for le in ("0.0005", "0.001", "0.0025", "10.0", "+Inf")
    ]
    assert ranges == [0, 1, 2, 2, 3]
    assert found["avow_request_seconds_sum", ("route", "evaluate")] == pytest.approx(99.003)
    assert {f.name: f.type for f in families} == {
        f"avow_{name.removesuffix('_total')}": str(metric.kind) for name, metric in METRICS.items()
    }
    assert {f.documentation for f in families} == {metric.meaning for metric in METRICS.values()}


@pytest.mark.clause("ICNLI-12.1.02", "ICNLI-14.4.03")
@given(st.text(max_size=40) | st.sampled_from(SECRETS))
def test_no_label_carries_what_is_not_in_its_closed_set(text):
    """A text given for every label of every metric is counted as `other` and shown nowhere."""
    metrics = Metrics("0.1.0")
    for name, metric in METRICS.items():
        labels = [f"{text}{label}" for label in metric.labels]
        if metric.kind is Kind.COUNTER:
            metrics.count(name, *labels)
        elif metric.kind is Kind.HISTOGRAM:
            metrics.observe(name, 1.0, *labels)
    for family in text_string_to_metric_families(metrics.text()):
        for sample in family.samples:
            table = port.described("0.1.0")
            metric = table.get(family.name[5:]) or table[f"{family.name[5:]}_total"]
            given_labels = {k: v for k, v in sample.labels.items() if k != "le"}
            assert given_labels.keys() == metric.labels.keys()
            for label, value in given_labels.items():
                assert value in metric.labels[label] | {OTHER}
    assert CANARY not in metrics.text()


@pytest.mark.clause("ICNLI-12.1.02")
def test_the_closed_sets_are_words():
    """Every admissible value of every label is a word of our own, and series stay few."""
    named = {"outcome", "channel", "dialect", "code", "route", "result", "means", "by", "part"}
    for metric in METRICS.values():
        assert metric.labels.keys() <= named | {"version"}
        assert all(
            re.fullmatch(r"[A-Za-z_.]+", v) for known in metric.labels.values() for v in known
        )
        assert math.prod(len(known) + 1 for known in metric.labels.values()) <= 250
    assert METRICS["verdicts_total"].admitted(("ALLOW", CANARY)) is None
    assert 'version="other"' in Metrics(f"1 {CANARY}").text()


class Yielding(int):
    """A number that lets other threads run in the middle of being added."""

    def __radd__(self, other):
        time.sleep(0)
        return int(other) + int(self)


def test_no_count_is_lost_between_threads():
    """Eight threads that count at once add up."""
    metrics = Metrics("0.1.0")

    def work():
        for _ in range(200):
            metrics.count("rate_limited_total", by=Yielding(1))
            metrics.observe("commit_commands", 3)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "avow_rate_limited_total 1600.0" in metrics.text()
    assert "avow_commit_commands_sum 4800.0" in metrics.text()


@pytest.mark.clause("ICNLI-12.6.01")
def test_a_count_in_the_middle_of_a_count_does_not_hang():
    """A signal or finaliser that counts while its own thread counts is not held up."""
    metrics = Metrics("0.1.0")

    class Inside(int):
        def __radd__(self, other):
            metrics.count("telemetry_lost_total", "log")
            return other + int(self)

    in_time(lambda: metrics.count("rate_limited_total", by=Inside(1)))
    assert lost(metrics, "log") == 1


@pytest.mark.clause("ICNLI-12.6.01", "ICNLI-12.6.02")
def test_an_exposition_that_fails_is_empty_and_counted(monkeypatch):
    """If the text cannot be made, the caller gets none, and the next one shows the loss."""
    metrics = Metrics("0.1.0")
    with monkeypatch.context() as patched:
        patched.setattr(metrics_module, "generate_latest", lambda _: 1 / 0)
        assert metrics.text() == ""
    assert lost(metrics, "metric") == 1


# Log lines.


@pytest.mark.clause("ICNLI-12.3.01")
def test_a_line_is_one_object_with_its_trace():
    """Each line is JSON with time, level, event and trace, and then the fields of its event."""
    kept = Kept(step=7)
    with instruments(kept) as telemetry:
        telemetry.log(
            Level.INFO, "verdict", TRACE, agent="bot", outcome="ALLOW", score=3, rule=None
        )
        telemetry.log(Level.WARNING, "server.stopped", uptime_s=1.5)
        telemetry.log(Level.DEBUG, "server.started")
    at = "2026-05-28T20:26:40.123Z"
    assert kept.lines() == [
        {"at": at, "level": "info", "event": "verdict", "trace_id": TRACE, "agent": "bot"}
        | {"outcome": "ALLOW", "score": 3, "rule": None},
        {"at": at, "level": "warning", "event": "server.stopped", "trace_id": NO_TRACE}
        | {"uptime_s": 1.5},
    ]


@pytest.mark.clause("ICNLI-12.3.01")
def test_what_an_event_may_not_carry_is_named_and_dropped():
    """Fields outside the table, values that are not plain and bent traces leave their name only."""
    kept = Kept()
    with instruments(kept) as telemetry:
        telemetry.log(Level.INFO, "verdict", "x" * 32, agent="a", goal=CANARY, score=1 << 70)
        telemetry.log(Level.INFO, "verdict", TRACE.upper(), score=math.nan, rule=["a"], level=1)
        telemetry.log(Level.INFO, f"event {CANARY}", TRACE, agent="a")
        telemetry.log(Level.INFO, "fault", TRACE, **{f"password={CANARY}": 1})
        telemetry.log(Level.INFO, "fault", TRACE, **{f"f{n}": n for n in range(99)})
    first, second, third, fourth, fifth = kept.lines()
    assert (first["trace_id"], first["agent"]) == (NO_TRACE, "a")
    assert first["dropped"] == ["trace_id", "goal", "score"]
    assert second["dropped"] == ["trace_id", "score", "rule", "level"]
    assert (third["event"], third["dropped"], third["trace_id"]) == (OTHER, ["agent"], TRACE)
    assert fourth["dropped"] == [f"password={STARS}"]
    assert len(fifth["dropped"]) == port.NAMES_MAX
    assert CANARY.encode() not in kept.data


def test_no_field_bears_the_name_of_what_every_line_has():
    """The fields of events are told apart from the time, level, event, trace and dropped names."""
    every = {"at", "level", "event", "trace_id", "dropped"}
    assert all(every.isdisjoint(fields) for fields in EVENTS.values())


@pytest.mark.clause("ICNLI-12.3.01")
@pytest.mark.parametrize("forged", FORGERIES)
def test_no_value_can_forge_a_line(forged):
    """Line ends, terminal sequences and half characters stay inside their value, written out."""
    kept = Kept()
    with instruments(kept) as telemetry:
        telemetry.log(Level.INFO, f"verdict{forged}", f"{TRACE}{forged}", agent="a")
        telemetry.log(Level.INFO, "verdict", TRACE, agent=f"a{forged}b", **{forged: 1})
    assert re.fullmatch(rb"([ -~]+\n){2}", kept.data)
    first, second = kept.lines()
    assert (first["event"], first["trace_id"]) == (OTHER, NO_TRACE)
    assert (second["agent"], second["dropped"]) == (f"a{forged}b", [forged])


@pytest.mark.clause("ICNLI-14.4.03")
@pytest.mark.parametrize("event", EVENTS)
def test_no_secret_comes_out_of_any_field(event):
    """Secrets of every kind through every field of every event, and fields unknown: none is shown."""
    kept = Kept()
    with instruments(kept) as telemetry:
        for secret in SECRETS:
            telemetry.log(Level.ERROR, event, secret, **dict.fromkeys(EVENTS[event], secret))
            telemetry.log(Level.ERROR, event, TRACE, unheard=secret, **{secret: secret})
    assert len(kept.lines()) == 2 * len(SECRETS)
    assert CANARY.encode() not in kept.data
    assert kept.data.count(STARS.encode()) >= len(SECRETS) * len(EVENTS[event])


@contextmanager
def pipe_nobody_reads():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        yield partial(os.write, writing), lambda: os.read(reading, 1 << 16).count(b"\n")
    finally:
        os.close(reading)
        os.close(writing)


@contextmanager
def closed_file():
    with open(os.devnull, "wb", buffering=0) as file:  # noqa: PTH123 - without a buffer
        pass
    yield file.write, int


@contextmanager
def raising():
    yield (lambda _: 1 / 0), int


@contextmanager
def taking_nothing():
    yield (lambda _: None), int


def counting(write, **more):
    metrics = Metrics("0.1.0")
    lose = partial(metrics.count, "telemetry_lost_total", "log")
    logs = Logs(write, clock=Stopped(), lost=lambda count: lose(by=count), **more)
    return metrics, logs


@pytest.mark.clause("ICNLI-12.6.01", "ICNLI-12.6.02")
@pytest.mark.parametrize("target", [pipe_nobody_reads, closed_file, raising, taking_nothing])
def test_a_failing_log_target_holds_nobody_up_and_the_loss_is_counted(target):
    """Callers go on while the target blocks or raises; the queue is bounded; losses are counted."""
    with target() as (write, arrived):
        metrics, logs = counting(write, waiting_max=300)

        def work():
            for _ in range(4000):
                logs.log(Level.INFO, "verdict", TRACE, agent="a" * 100)

        in_time(work)
        assert logs._waiting.qsize() <= 300
        in_time(logs.close)
        # Only a target that still blocks keeps the thread.
        assert logs._thread.is_alive() == (target is pipe_nobody_reads)
        assert lost(metrics, "log") <= 4000 <= lost(metrics, "log") + arrived()


@pytest.mark.clause("ICNLI-12.6.02")
def test_the_log_owns_up_to_what_it_lost():
    """After a write that broke off, the next line stands alone, and one says how many are missing."""
    kept, broken = Kept(), threading.Event()

    def write(data):
        if broken.is_set():
            kept.data += bytes(data[:10])
            raise OSError
        return kept(data)

    broken.set()
    metrics, logs = counting(write)
    logs.log(Level.INFO, "verdict", TRACE, agent="first")
    until(lambda: lost(metrics, "log") == 1)
    broken.clear()
    logs.log(Level.INFO, "verdict", TRACE, agent="second")
    logs.close()
    torn, second, owned = kept.data.splitlines()
    assert len(torn) == 10
    assert json.loads(second)["agent"] == "second"
    told = json.loads(owned)
    assert (told["event"], told["part"], told["count"]) == ("telemetry.lost", "log", 1)


@pytest.mark.clause("ICNLI-12.6.02")
def test_a_line_after_the_end_or_that_cannot_be_said_is_counted():
    """What comes after closing, and what is no line at all, is lost and counted."""
    kept = Kept()
    telemetry = opened(kept)
    telemetry.log(Level.INFO, "verdict", 7)
    telemetry.log("loud", "verdict")
    telemetry.log(Level.INFO, "verdict", TRACE)
    telemetry.close()
    assert lost(telemetry, "log") == 2
    telemetry.log(Level.INFO, "verdict", TRACE)
    telemetry.close()
    assert lost(telemetry, "log") == 3
    assert [told["event"] for told in kept.lines()] == ["verdict", "telemetry.lost"]
    # Each is counted once, also when the write they share fails.
    metrics, logs = counting(lambda _: 1 / 0)
    logs.log(Level.INFO, "verdict", 7)
    logs.log(Level.INFO, "verdict", TRACE)
    logs.close()
    assert lost(metrics, "log") == 2


def test_many_lines_share_a_write():
    """Lines that come together are written together, in order, and closing leaves none behind."""
    kept, sizes = Kept(), []

    def write(data):
        sizes.append(len(data))
        return kept(data)

    metrics, logs = counting(write)
    for number in range(2000):
        logs.log(Level.INFO, "outcome", TRACE, position=number)
    logs.close()
    assert [told["position"] for told in kept.lines()] == list(range(2000))
    assert len(sizes) <= 2000 // 20
    assert lost(metrics, "log") == 0


@pytest.mark.clause("ICNLI-12.3.01", "ICNLI-14.4.03")
def test_the_loggers_of_python_come_out_as_the_same_lines():
    """What libraries log is masked JSON; of an error its class and places, and never its text."""
    kept, logger = Kept(), logging.getLogger("avow.some.part")
    before = logging.getLogger("avow").propagate
    with instruments(kept):
        logger.warning("connecting with password=%s\nforged", CANARY)
        logging.getLogger("uvicorn.error").info("up")
        logger.debug("nobody wants to know")
        logger.warning("%d", "not a number")
        try:
            int(CANARY)
        except ValueError:
            logger.exception("failed")
    first, second, third = [told for told in kept.lines() if told["event"] == "log"]
    assert first["message"] == f"connecting with password={STARS}\nforged"
    assert (first["level"], first["logger"]) == ("warning", "avow.some.part")
    assert (second["level"], second["logger"], second["message"]) == ("info", "uvicorn.error", "up")
    assert (third["level"], third["kind"]) == ("error", "ValueError")
    assert re.fullmatch(r"[\w.]*test_telemetry:\d+", third["where"])
    assert CANARY.encode() not in kept.data
    assert kept.lines()[-1]["count"] == 1
    assert logging.getLogger("avow").propagate == before
    assert not logging.getLogger("avow").handlers


# Spans.


class Collector:
    """A real TCP collector on loopback that misbehaves, or answers and keeps what it got."""

    def __init__(self, kind):
        self.bodies, self.connected, self.release = [], threading.Event(), threading.Event()
        outer = self

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self):
                outer.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Answering, bind_and_activate=kind != "refusing")
        if kind == "refusing":
            self.server.server_bind()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        work = {"answering": self.server.serve_forever, "hanging": self.hang, "closing": self.drop}
        threading.Thread(target=work.get(kind, self.connected.set), daemon=True).start()

    def hang(self):
        """Accept, and never answer while it is not released."""
        connection, _ = self.server.socket.accept()
        with connection:
            self.connected.set()
            self.release.wait(60)

    def drop(self):
        """Accept and close at once, again and again."""
        while not self.release.is_set():
            try:
                self.server.socket.accept()[0].close()
            except OSError:
                return
            self.connected.set()

    def close(self):
        self.release.set()
        # Wakes who waits for a connection.
        with ExitStack() as stack:
            stack.callback(self.server.server_close)
            if self.bodies:
                self.server.shutdown()
            else:
                self.server.socket.close()


@pytest.fixture
def collect(monkeypatch):
    """Start collectors, past any proxy of this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as stack:

        def start(kind):
            made = Collector(kind)
            stack.callback(made.close)
            return made

        yield start


@pytest.mark.clause("ICNLI-12.6.01", "ICNLI-12.6.02")
@pytest.mark.parametrize("kind", ["hanging", "refusing", "closing"])
def test_a_failing_collector_holds_nobody_up_and_the_loss_is_counted(kind, collect, monkeypatch):
    """All calls return while the collector still holds the connection; each span counts as lost."""
    # Whoever waited for this collector would wait for an hour.
    monkeypatch.setattr(otlp, "EXPORT_S", 3600.0 if kind == "hanging" else 1.0)
    collector = collect(kind)
    with instruments(otlp_endpoint=collector.address) as telemetry:

        def work():
            for number in range(2000):
                telemetry.span("evaluate", TRACE, "", number, number + 1, outcome="ALLOW")

        in_time(work)
        assert collector.connected.wait(60)
        in_time(work)
        assert not collector.release.is_set()
        if kind == "hanging":
            # The queue is full by now, and bounded.
            assert lost(telemetry, "span") == 4000 - otlp.WAITING_MAX
        in_time(telemetry.close)
        assert lost(telemetry, "span") == 4000
        telemetry.span("evaluate", TRACE, "", 1, 2)
        assert lost(telemetry, "span") == 4001


@pytest.mark.clause("ICNLI-12.2.02", "ICNLI-14.4.03")
def test_a_span_arrives_with_the_trace_of_the_log_and_without_secrets(collect):
    """A collector gets each span once, with ids as given, its attributes, and texts masked."""
    collector, kept = collect("answering"), Kept()
    with instruments(kept, otlp_endpoint=collector.address) as telemetry:
        telemetry.log(Level.INFO, "verdict", TRACE, outcome="DENY")
        telemetry.span("request", TRACE, "", 10, 20, span_id="00f067aa0ba902b7", score=7)
        telemetry.span("commit", TRACE, "00f067aa0ba902b7", 12, 15, span_id="bent")
        for secret in SECRETS:
            telemetry.span(secret, TRACE, secret, 1, 2, text=secret, **{secret: secret})
        telemetry.span(
            "\ud800", TRACE, "", 1, 2, half="\ud800", huge=1 << 64, none=None, many=[CANARY]
        )
        # These cannot be sent at all, and take no other with them.
        for bent in (
            ("a", NO_TRACE, "", 1, 2),
            ("a", "", "", 1, 2),
            ("a", TRACE, "", 2, 1),
            (None, TRACE, "", 1, 2),
        ):
            telemetry.span(*bent)
    spans = [
        span
        for body in collector.bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert {span.trace_id.hex() for span in spans} == {TRACE} == {kept.lines()[0]["trace_id"]}
    assert len({span.span_id for span in spans}) == len(spans) == len(SECRETS) + 3
    by_name = {span.name: span for span in spans}
    outer, inner = by_name["request"], by_name["commit"]
    assert (outer.span_id.hex(), outer.parent_span_id) == ("00f067aa0ba902b7", b"")
    assert inner.parent_span_id == outer.span_id
    assert (inner.start_time_unix_nano, inner.end_time_unix_nano) == (12, 15)
    assert [(a.key, a.value.int_value) for a in outer.attributes] == [("score", 7)]
    assert [a.key for a in by_name["\\ud800"].attributes] == ["half"]
    assert CANARY.encode() not in b"".join(collector.bodies)
    assert lost(telemetry, "span") == 4


@pytest.mark.parametrize(
    "endpoint", ["", "localhost:4318", "ftp://h/x", "http://", f"http://[{CANARY}", "http://h:x"]
)
def test_an_endpoint_that_is_no_address_refuses_to_start(endpoint):
    """The setting is named, and its value, which may hold a password, is not repeated."""
    with pytest.raises(MalformedError) as raised:
        open_spans(endpoint, lost=print)
    assert raised.value.problems[0].path == "telemetry.otlp_endpoint"
    assert CANARY not in str(raised.value)


def test_an_address_without_a_path_gets_the_path_of_the_standard():
    """The collector's own path is added where none was given, and one that was given is kept."""
    for given_path, used in (("", "/v1/traces"), ("/", "/v1/traces"), ("/mine", "/mine")):
        spans = open_spans(f"http://127.0.0.1:1{given_path}", lost=print)
        assert spans._queue._exporter._endpoint == f"http://127.0.0.1:1{used}"
        spans.close()


def test_without_the_extra_spans_refuse_to_start_and_the_rest_works():
    """Where OpenTelemetry is not installed, an endpoint is refused and says what to install."""
    program = """
import sys
sys.modules["opentelemetry"] = None
from avow.adapters.clock import SystemClock
from avow.adapters.telemetry.together import open_instruments
from avow.core.errors import MalformedError
open_instruments(version="0.1.0", clock=SystemClock()).close()
try:
    open_instruments(version="0.1.0", clock=SystemClock(), otlp_endpoint="http://h")
except MalformedError as error:
    print(error.code, error.problems[0].message)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith("settings.invalid ")
    assert "install `avow[otel]`" in ended.stdout


def test_standard_error_is_the_target_of_default(capfd):
    """Without a target of one's own, lines go to the standard error of the process."""
    telemetry = open_instruments(version="0.1.0", clock=Stopped())
    telemetry.log(Level.ERROR, "fault", TRACE, incident="inc_1")
    telemetry.close()
    assert json.loads(capfd.readouterr().err)["incident"] == "inc_1"
    assert log_module.WAITING_MAX == 10_000
