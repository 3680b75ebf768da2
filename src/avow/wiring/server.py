"""A server put together: a store, the service over it, and the HTTP door.

Refuses to listen beyond this machine without TLS, unless told plainly that a proxy has it.
"""

import asyncio
import gc
import ipaddress
import json
import ssl
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from avow.adapters import policy_files, register_files
from avow.adapters.clock import SystemClock, SystemEntropy
from avow.adapters.signing import signer
from avow.adapters.store.committing import Commit
from avow.adapters.telemetry.together import open_instruments
from avow.channels.http import app, serve
from avow.channels.http.routes import House
from avow.core.agent import KEY_BYTES
from avow.core.errors import AvowError, ConflictError, FaultError, MalformedError, Problem
from avow.core.masking import mask
from avow.core.policy import Policy
from avow.core.principal import Role
from avow.core.rate import Allowance
from avow.engine.conclusions import Conclusions
from avow.engine.hub import Hub
from avow.engine.judgement import Judge
from avow.engine.keeping import Adopt, CloseDueBreakers, ForgetRepetitions
from avow.engine.office import Welcome
from avow.engine.register import AddPerson, fresh_key
from avow.engine.roster import Limiter, Roster
from avow.engine.service import Service, Terms
from avow.engine.telemetry import Level, Telemetry, where
from avow.settings import Settings
from avow.wiring.places import data_folder, postgres_address
from avow.wiring.stores import OpenStore, limits

_TICK_S = 1.0
_FORGET_EVERY = 60
# Threads hand over to each other sooner than Python's 5 ms: the writer must not wait for the loop.
_SWITCH_S = 0.0005
# How many objects may be made before Python looks for circles among them; requests make none.
_GARBAGE_FROM = 20_000


class Server:
    """A server that is ready to listen."""

    def __init__(self, settings: Settings, judge: Judge) -> None:
        check_binding(settings)
        self._settings = settings
        # First of all: a start that fails must not have made keys that nobody ever sees.
        self._binding = serve.Binding(
            host=settings.text("http.host"),
            port=settings.whole("http.port"),
            certificate=settings.optional("http.tls_certificate"),
            key=settings.optional("http.tls_key"),
        )
        self._listening = serve.bound(self._binding)
        self.telemetry: Telemetry = telemetry(settings)
        self._source = policy_files.source(settings.text("policy.source"), self._broken)
        self.store = OpenStore(settings, self._attested)
        self.service = self._service(judge)
        self.admin_key = self._first_admin()
        self._adopted = self._source.current()
        self._adopt(self._adopted)
        house = House(
            service=self.service,
            telemetry=self.telemetry,
            origin=self.store.origin,
            signer=self.store.keys.signer,
            register=register_files.load,
            ring=self.store.ring,
            note=lambda: self.store.latest,
            unanchored=lambda: self.store.writer.size - self.store.notary.anchored,
            check=self._check,
        )
        self.front = app.build(
            house,
            hosts=(settings.text("http.host"), *settings.listed("http.hosts")),
            origins=settings.listed("http.origins"),
            size_bytes_max=settings.whole("limits.declaration_bytes_max"),
        )

    def run(self, started: Callable[[Welcome], None]) -> None:
        """Listen until told to stop; `started` hears the address once it is open."""
        sys.setswitchinterval(_SWITCH_S)
        # What is built by now stays for good, and need not be looked through again and again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(_GARBAGE_FROM)
        try:
            serve.serve(
                self.front,
                self._binding,
                self._listening,
                started=lambda address: started(self._welcome(address)),
                stopping=self.service.hub.stop,
                beside=self._beside,
            )
        finally:
            self.close()

    def close(self) -> None:
        """Finish what was begun, anchor it, and close everything."""
        self.store.close()
        self.telemetry.log(Level.INFO, "server.stopped")
        self.telemetry.close()

    def _service(self, judge: Judge) -> Service:
        settings, clock, writer = self._settings, SystemClock(), self.store.writer
        allowance = Allowance(
            burst=settings.whole("rate.burst"), per_minute=settings.whole("rate.per_minute")
        )
        return Service(
            judge=judge,
            writing=writer,
            reading=writer,
            roster=Roster(writer),
            limiter=Limiter(allowance, clock),
            hub=Hub(),
            clock=clock,
            entropy=SystemEntropy(),
            verifies=signer.is_valid,
            conclusions=Conclusions(),
            limits=limits(settings),
            terms=Terms(
                gate_ms=settings.whole("gate.timeout_s") * 1000,
                signature_window_ms=settings.whole("signature.window_s") * 1000,
            ),
        )

    def _welcome(self, address: str) -> Welcome:
        settings = self._settings
        self.telemetry.log(
            Level.INFO,
            "server.started",
            version=metadata.version("avow"),
            address=address,
            policy=self._adopted.name,
            store=mask(settings.text("store.url")),
        )
        return Welcome(
            address=address,
            data=str(data_folder(settings)),
            store=mask(settings.text("store.url")),
            policy=f"{self._adopted.name} {self._adopted.version}",
            entries=self.store.writer.size,
            admin_key=self.admin_key,
        )

    def _first_admin(self) -> str:
        """Make the first admin and return the key, or nothing if there is one already."""
        people = self.store.read(lambda view: view.people.listed())
        if any(Role.ADMIN in person.roles and person.revoked_ms is None for person in people):
            return ""
        key, digest = fresh_key(self.store.draw(KEY_BYTES))
        taken = {person.id for person in people}
        name = next(n for n in ("admin", *(f"admin-{i}" for i in range(2, 100))) if n not in taken)
        roles = frozenset({Role.ADMIN})
        self.store.call(AddPerson(by="console", person_id=name, roles=roles, key_digest=digest))
        return key

    def _adopt(self, policy: Policy) -> None:
        """Put the policy of this installation in force."""
        before = self.store.read(lambda view: view.policies.in_force())
        replaces = "" if before is None else before.digest
        if self.store.call(Adopt(by="console", policy=policy, replaces=replaces)):
            self._told_adopted(policy, replaces)

    async def _beside(self) -> None:
        """Do what has to be done while the server listens, until it stops."""
        loop, writer = asyncio.get_running_loop(), self.store.writer
        writer.attach(loop, inline=postgres_address(self._settings) is None)

        def woken() -> None:
            loop.call_soon_threadsafe(self.service.hub.wake)

        def committed(commit: Commit) -> None:
            self._measured(commit)
            woken()

        writer.watch(committed)
        watch = self.store.database.watch(woken)
        ticks = 0
        try:
            while True:
                await asyncio.sleep(_TICK_S)
                ticks += 1
                try:
                    await self._tick(ticks)
                except AvowError as error:
                    self.telemetry.log(Level.WARNING, "store.lost", code=error.code)
                except Exception as error:  # noqa: BLE001 - the next tick must come all the same
                    kind = type(error).__name__
                    self.telemetry.log(Level.ERROR, "fault", kind=kind, where=where(error))
        finally:
            writer.detach()
            writer.watch(lambda _: None)
            watch.close()

    async def _tick(self, ticks: int) -> None:
        current = await asyncio.to_thread(self._source.current)
        if current.digest != self._adopted.digest:
            await self._readopt(current)
        if self.store.writer.pulse.due(now_ms=self.service.clock.now_ms()):
            await self.service.do(CloseDueBreakers())
        if ticks % _FORGET_EVERY == 0:
            await self.service.do(ForgetRepetitions())

    async def _readopt(self, policy: Policy) -> None:
        """Put a changed policy in force; where that fails it is tried again at the next tick."""
        before = await self.service.look(lambda view: view.policies.in_force())
        replaces = "" if before is None else before.digest
        try:
            await self.service.do(Adopt(by="file", policy=policy, replaces=replaces))
        except ConflictError as error:
            self.telemetry.log(Level.ERROR, "policy.broken", name=policy.name, code=error.code)
            return
        self._adopted = policy
        self._told_adopted(policy, replaces)

    def _check(self) -> None:
        """Raise if declarations cannot be recorded or anchored now."""
        if not self.store.writer.is_alive:
            raise FaultError("store.unavailable")
        if self.store.notary.is_failing:
            raise FaultError("journal.unanchored")

    def _measured(self, commit: Commit) -> None:
        tell = self.telemetry
        tell.observe("commit_seconds", commit.seconds)
        tell.observe("commit_commands", commit.commands)
        if commit.attempts > 1:
            tell.count("store_retries_total", "committed", by=commit.attempts - 1)
        if commit.entries:
            tell.gauge("journal_entries", commit.entries[-1].position)
        for entry in commit.entries:
            # The one kind that is rare and that somebody should be woken for.
            if b'"kind":"breaker"' in entry.body:
                self._breaker_told(entry.body)

    def _breaker_told(self, body: bytes) -> None:
        said = json.loads(body)
        if said["state"] == "open":
            self.telemetry.count("breaker_trips_total", said["means"])
            self.telemetry.log(
                Level.WARNING, "breaker.tripped", agent=said["agent"], means=said["means"]
            )
        else:
            by = said["by"].split(" ")[0]
            self.telemetry.count("breaker_closings_total", by)
            self.telemetry.log(
                Level.WARNING, "breaker.closed", agent=said["agent"], means=said["means"], by=by
            )

    def _attested(self, size: int, note: str, good: bool) -> None:  # noqa: FBT001 - the notary's own
        del note
        self.telemetry.count("checkpoints_total", "written" if good else "failed")
        if not good:
            self.telemetry.log(Level.ERROR, "checkpoint.failed", size=size)

    def _broken(self, origin: str, error: MalformedError) -> None:
        told = "; ".join(problem.message for problem in error.problems[:5])
        self.telemetry.log(
            Level.ERROR, "policy.broken", name=origin, code=error.code, problems=told
        )

    def _told_adopted(self, policy: Policy, replaced: str) -> None:
        self.telemetry.log(
            Level.WARNING if policy.relaxes else Level.INFO,
            "policy.adopted",
            name=policy.name,
            version=policy.version,
            digest=policy.digest,
            replaced=replaced,
            relaxed=len(policy.relaxes),
        )


def telemetry(settings: Settings) -> Telemetry:
    """Return the telemetry that the settings ask for."""
    return open_instruments(
        version=metadata.version("avow"),
        clock=SystemClock(),
        least=Level[settings.text("log.level").upper()],
        otlp_endpoint=settings.optional("telemetry.otlp_endpoint") or "",
    )


def check_binding(settings: Settings) -> None:
    """Raise if the server would listen in a way that nobody may have meant."""
    host, problems = settings.text("http.host"), []
    files = [settings.optional(f"http.tls_{part}") for part in ("certificate", "key")]
    if (files[0] is None) != (files[1] is None):
        told = "certificate and key are needed, or neither"
        problems.append(Problem("http.tls_certificate", "settings.invalid", told))
    for part, file in zip(("certificate", "key"), files, strict=True):
        if file is not None and not Path(file).is_file():
            told = "there is no such file"
            problems.append(Problem(f"http.tls_{part}", "settings.invalid", told))
    if not problems and files[0] is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files[0], files[1])
        except (ssl.SSLError, OSError):
            told = "certificate and key cannot be read, or do not fit each other"
            problems.append(Problem("http.tls_certificate", "settings.invalid", told))
    plain_ok = settings.text("http.beyond_loopback") == "behind-tls-proxy"
    if files[0] is None and not is_loopback(host) and not plain_ok:
        told = (
            f"`{host}` is reachable from elsewhere and there is no TLS: set http.tls_certificate"
            " and http.tls_key, or http.beyond_loopback = behind-tls-proxy if a proxy has it"
        )
        problems.append(Problem("http.host", "settings.invalid", told))
    if problems:
        raise MalformedError("settings.invalid", problems)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
