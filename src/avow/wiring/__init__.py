"""Everything put together, once. Builds; decides nothing.

`evaluate` is the library's door; `desk` is what the command line works with.
"""

import json
import logging
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from avow import data
from avow import settings as settings_module
from avow.adapters import installation, policy_files, register_files
from avow.adapters.clock import SystemClock, SystemEntropy
from avow.core.errors import MalformedError, Problem
from avow.core.inventory import EMPTY, Inventory
from avow.core.masking import mask
from avow.core.policy import Policy
from avow.core.verdict import Verdict
from avow.core.words import TRUST, Trust
from avow.dialects.reading import Limits, strip_comments
from avow.engine import doctor, drill
from avow.engine.archive import Archive, Evidence, Progress, ReceiptChecked, Verified
from avow.engine.desk import Answering, Desk, Flags, Setting
from avow.engine.judgement import NOTHING_VOUCHED, Judge, Vouched
from avow.engine.office import Office, Welcome
from avow.engine.ports import PolicySource
from avow.engine.restoring import Restored
from avow.settings import Settings

_log = logging.getLogger("avow.policy")


def evaluate(
    record: bytes | str | dict[str, Any],
    *,
    policy: str | Path | Policy = "default",
    inventory: Inventory | None = None,
    trust: str | Trust | None = None,
) -> Verdict:
    """Judge one declaration in this process, without a server and without a journal.

    `record` is the declaration as bytes, text or a dictionary; `policy` a preset's name, the path
    of a policy file (read again when it changes) or a `Policy`; `trust` the level under which the
    agent is registered with you, low if you do not say; `inventory` what you know of resources,
    snapshots and facts. Raises `MalformedError` with every problem if there is nothing to judge.
    The verdict is not recorded anywhere: use a server where effects must be accounted for.
    """
    in_force = policy if isinstance(policy, Policy) else _source(str(policy)).current()
    vouched = NOTHING_VOUCHED
    if trust is not None or inventory is not None:
        vouched = Vouched(trust=_trust(trust), inventory=EMPTY if inventory is None else inventory)
    return _judge().judge(_body(record), policy=in_force, vouched=vouched)


def desk(settings: Settings | None = None) -> Desk:
    """Return what a door needs, built from the settings in force."""
    in_force = settings_module.load() if settings is None else settings
    judge = _judge_within(in_force)
    policy = in_force.text("policy.source")
    return Desk(
        judge=judge,
        size_bytes_max=in_force.whole("limits.declaration_bytes_max"),
        policies=_named,
        presets=policy_files.presets,
        default_policy=policy,
        clock=SystemClock(),
        entropy=SystemEntropy(),
        settings=lambda: _shown(in_force),
        incidents=_incidents,
        register=register_files.load,
        doctor=lambda flags=None, progress=None: _examined(
            judge, _with(in_force, flags or {}), progress
        ),
        serve=lambda flags, started: _serve(_with(in_force, flags), started),
        office=lambda flags: _office(_with(in_force, flags)),
        archive=lambda flags: _archive(_with(in_force, flags)),
        verify_export=lambda flags, lines, evidence: _verify_export(
            _with(in_force, flags), lines, evidence
        ),
        check_receipt=lambda flags, text, ring: _check_receipt(_with(in_force, flags), text, ring),
        restore=lambda flags, folder, *, lose_entries, progress: _restore(
            _with(in_force, flags), folder, lose_entries=lose_entries, progress=progress
        ),
        remote=_remote,
    )


def _with(settings: Settings, flags: Flags) -> Settings:
    return settings_module.flagged(settings, flags)


def _serve(settings: Settings, started: Callable[[Welcome], None]) -> None:
    # Imported here: the frameworks of a server take a second to load, and most commands need none.
    from avow.wiring.server import Server  # noqa: PLC0415 - see above

    Server(settings, _judge_within(settings)).run(started)


def _office(settings: Settings) -> Office:
    from avow.wiring.stores import OpenStore  # noqa: PLC0415 - the same

    return OpenStore(settings)


@contextmanager
def _remote(url: str, key: str, simulated: bool) -> Iterator[Answering]:  # noqa: FBT001 - the desk's own
    from avow.clients.http import Client  # noqa: PLC0415 - the same

    with Client(url, key) as client:
        ask = client.simulate if simulated else client.evaluate
        yield lambda body: ask(body).raw


def _archive(settings: Settings) -> Archive:
    from avow.wiring import archives  # noqa: PLC0415 - the same

    return archives.opened(settings)


def _verify_export(settings: Settings, lines: Iterable[bytes], evidence: Evidence) -> Verified:
    from avow.wiring import archives  # noqa: PLC0415 - the same

    return archives.verify_export(settings, lines, evidence)


def _check_receipt(settings: Settings, text: str, ring: str | None) -> ReceiptChecked:
    from avow.wiring import archives  # noqa: PLC0415 - the same

    return archives.check_receipt(settings, text, ring)


def _restore(
    settings: Settings, folder: str, *, lose_entries: bool, progress: Progress | None
) -> Restored:
    from avow.wiring import restoring  # noqa: PLC0415 - the same

    return restoring.restore(settings, Path(folder), lose_entries=lose_entries, progress=progress)


def _shown(settings: Settings) -> tuple[Setting, ...]:
    return tuple(
        Setting(
            key,
            mask(str(settings.values[key].value)),
            settings.values[key].origin,
            settings_module.variable(key),
            field.bounds,
            field.meaning,
        )
        for key, field in settings_module.FIELDS.items()
    )


def _incidents() -> tuple[drill.Incident, ...]:
    return drill.read(tomllib.loads(data.read("drill", "incidents.toml").decode("utf-8")))


def _examined(
    judge: Judge, settings: Settings, progress: Progress | None
) -> tuple[doctor.Check, ...]:
    from avow.wiring import examining  # noqa: PLC0415 - the same

    installed, policy = installation.look(), settings.text("policy.source")
    example = strip_comments(data.read("examples", "incident.jsonc"))
    loads = doctor.check_policy(policy, policy_files.named)
    checks = [doctor.check_python(installed), *doctor.check_packages(installed), loads]
    if loads.state is not doctor.State.BAD:
        in_force = policy_files.named(policy)
        checks.append(doctor.check_judgement(lambda: judge.judge(example, policy=in_force)))
    return (*checks, *examining.checks(settings, progress))


def _judge_within(settings: Settings) -> Judge:
    return Judge(
        Limits(
            size_bytes_max=settings.whole("limits.declaration_bytes_max"),
            depth_max=settings.whole("limits.declaration_depth_max"),
        )
    )


@cache
def _judge() -> Judge:
    # The library reads no settings: what an import finds in a folder must not change a verdict.
    return Judge()


@cache
def _source(name: str) -> PolicySource:
    source = policy_files.source(name, _shout)
    _announce(source.current())
    return source


def _named(name: str) -> Policy:
    policy = policy_files.named(name)
    _announce(policy)
    return policy


def _announce(policy: Policy) -> None:
    if policy.relaxes:
        count = len(policy.relaxes)
        _log.warning("policy %s is softer than the built-in one in %d points", policy.name, count)


def _shout(origin: str, error: MalformedError) -> None:
    _log.error("policy file %s is broken, the last good one stays in force: %s", origin, error)


def _trust(trust: str | Trust | None) -> Trust | None:
    if trust is None or isinstance(trust, Trust):
        return trust
    if str(trust) not in TRUST:
        message = f"`{trust}` is not one of {', '.join(TRUST)}"
        raise MalformedError(
            "declaration.invalid", [Problem("trust", "field.unknown_value", message)]
        )
    return TRUST[str(trust)]


def _body(record: bytes | str | dict[str, Any]) -> bytes:
    match record:
        case bytes():
            return record
        case str():
            return _encoded(record)
        case _:
            try:
                return _encoded(json.dumps(record))
            except (TypeError, ValueError, RecursionError):
                message = "the record holds something that JSON has no form for"
                code = "declaration.unreadable"
                problem = Problem("", "declaration.not_json", message)
                raise MalformedError(code, [problem]) from None


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        problem = Problem("", "declaration.bad_text", "the text holds half a surrogate pair")
        raise MalformedError("declaration.unreadable", [problem]) from None
