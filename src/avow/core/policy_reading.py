"""From the parsed text of a policy file to a `Policy`, or every problem with it.

Owns the layout of policy files and `extends`. It reads no file and compares with no other policy:
an adapter brings the parsed text, `relaxing` compares.

Clauses: IRL-6.12.
"""

import re
from typing import Any

from avow.core import canonical, condition
from avow.core.errors import MalformedError, Problem
from avow.core.finding import Finding, Source
from avow.core.policy import (
    NEVER,
    OPEN_FIELDS,
    Band,
    Bands,
    Matrix,
    Point,
    Policy,
    Rule,
    TrustSource,
    Weights,
)
from avow.core.policy_table import Table
from avow.core.words import Environment, Level, Means, Outcome, Trust

DIGEST_DOMAIN = "avow-policy-1"
_ID = re.compile(r"POL-[0-9]{3,4}")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# How a score's points are called; the six reasons of the specification are its own words.
_REASONS = {
    "production": "production environment",
    "irreversible": "irreversible operation",
    "unverified": "assumption not verified",
    "no_alternatives": "no alternatives considered",
    "affects_backups": "affects backup systems",
    "delete_without_rollback": "delete without rollback plan",
    "total_data_loss": "total data loss risk",
}


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return `base` with what `over` adds: tables are joined, rules replace by id or are added."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if key == "rules" and isinstance(value, list) and isinstance(below, list):
            merged[key] = _merged_rules(below, value)
        elif isinstance(value, dict) and isinstance(below, dict):
            merged[key] = merge(below, value)
        else:
            merged[key] = value
    return merged


def read(source: dict[str, Any]) -> Policy:
    """Return the policy that a complete source describes, or raise with every problem."""
    problems: list[Problem] = []
    text = _text(source, problems)
    top = Table(source, "", problems)
    rules = _rules(top, problems)
    evidence = top.table("evidence")
    trust = top.table("trust")
    policy = Policy(
        name=top.text("name"),
        version=top.text("version"),
        digest=canonical.digest(DIGEST_DOMAIN, text.encode("utf-8")),
        source=text,
        summary=top.text("summary", default="no summary"),
        allow_relaxing=top.flag("allow_relaxing", default=False),
        trust_source=trust.choice("source", TrustSource),
        evidence_from_hazard=evidence.whole("verified_from_hazard", most=NEVER),
        backups_assumed_from_hazard=evidence.whole("backups_assumed_from_hazard", most=NEVER),
        rollback_needs_snapshot=evidence.flag("rollback_needs_snapshot"),
        weights=_weights(top.table("points"), top.table("discounts")),
        bands=_bands(top.table("bands")),
        matrix=_matrix(top.table("matrix")) if top.has("matrix") else None,
        rules=rules,
        asks_open_fields=any(not OPEN_FIELDS.isdisjoint(_fields(rule)) for rule in rules),
    )
    for table in (evidence, trust, top):
        table.close()
    if problems:
        raise MalformedError("policy.invalid", problems)
    return policy


def _text(source: dict[str, Any], problems: list[Problem]) -> str:
    try:
        return canonical.encode(source).decode("utf-8")
    except ValueError:
        # TOML has dates and infinities; no policy needs them, and they have no canonical form.
        problems.append(Problem("", "policy.invalid", "holds a date or a number without a form"))
        return ""


def _merged_rules(base: list[Any], over: list[Any]) -> list[Any]:
    def name(rule: Any) -> str | None:
        given = rule.get("id") if isinstance(rule, dict) else None
        return given if isinstance(given, str) else None

    # Of two rules with one id the later would win in silence, and it may be the milder one.
    problems: list[Problem] = []
    _distinct([found for rule in over if (found := name(rule)) is not None], problems)
    if problems:
        raise MalformedError("policy.invalid", problems)
    replaced = {name(rule): rule for rule in over if name(rule) is not None}
    kept = [replaced.pop(name(rule), rule) for rule in base]
    return kept + [rule for rule in over if name(rule) is None or name(rule) in replaced]


def _weights(points: Table, discounts: Table) -> Weights:
    means = points.table("means")
    weights = Weights(
        means={
            kind: Point(f"{kind} operation", means.whole(kind.value), is_reason=False)
            for kind in Means
        },
        **{name: Point(reason, points.whole(name)) for name, reason in _REASONS.items()},
        discounts={
            Trust.LOW: 0,
            Trust.MEDIUM: 0,
            Trust.HIGH: discounts.whole("high"),
            Trust.VERIFIED: discounts.whole("verified"),
        },
    )
    if weights.discounts[Trust.VERIFIED] < weights.discounts[Trust.HIGH]:
        discounts.problem("verified", "is below the discount of high: more trust would harden")
    for table in (means, points, discounts):
        table.close()
    return weights


def _bands(table: Table) -> Bands:
    bands: list[Band] = []
    for level in Level:
        inner = table.table(level.word)
        identity, slug = _identity(inner)
        start, outcome = inner.whole("from"), inner.choice("outcome", Outcome)
        if bands and (start <= bands[-1].start or outcome < bands[-1].outcome):
            inner.problem("from", "must start above the band before it and not be milder")
        if not bands and start != 0:
            inner.problem("from", "the lowest band starts at 0")
        bands.append(Band(level, start, outcome, identity, slug, _hint(inner, outcome)))
        inner.close()
    table.close()
    low, medium, high, critical = bands
    return Bands((low, medium, high, critical))


def _matrix(table: Table) -> Matrix:
    identity, slug = _identity(table)
    least = table.table("least")
    cells: dict[tuple[Means, Environment], Outcome] = {}
    for means in Means:
        row = least.table(means.value)
        for environment in Environment:
            cells[means, environment] = row.choice(environment.value, Outcome)
        row.close()
    hint = _hint(table, max(cells.values()))
    least.close()
    table.close()
    findings = {
        (means, environment): Finding(
            identity,
            slug,
            Source.MATRIX,
            outcome,
            f"{means} in {environment}",
            hint if outcome >= Outcome.GATE else "",
        )
        for (means, environment), outcome in cells.items()
    }
    return Matrix(identity, slug, cells, findings)


def _rules(top: Table, problems: list[Problem]) -> tuple[Rule, ...]:
    rules = tuple(
        _rule(Table(entry, f"rules[{n}]", problems), problems, f"rules[{n}]")
        for n, entry in enumerate(top.entries("rules"))
    )
    _distinct([rule.id for rule in rules], problems)
    return rules


def _distinct(ids: list[Any], problems: list[Problem]) -> None:
    problems.extend(
        Problem("rules", "policy.invalid", f"`{repeated}` names two rules")
        for repeated in sorted({name for name in ids if ids.count(name) > 1})
    )


def _fields(rule: Rule) -> frozenset[str]:
    return rule.when.asks().union(*(when.asks() for when, _ in rule.because))


def _rule(table: Table, problems: list[Problem], path: str) -> Rule:
    identity, slug = _identity(table)
    step = table.flag("step", default=False)
    # A rule that only asks for a step has no floor of its own.
    outcome = table.choice("outcome", Outcome, default=Outcome.ALLOW if step else None)
    says, hint = table.text("says"), _hint(table, outcome)
    when = condition.read(table.raw("when"), f"{path}.when", problems)
    because = tuple(
        _phrase(Table(entry, f"{path}.because[{n}]", problems), f"{path}.because[{n}]", problems)
        for n, entry in enumerate(table.entries("because"))
    )
    table.close()
    finding = Finding(identity, slug, Source.RULE, outcome, says, hint, step)
    return Rule(
        id=identity,
        slug=slug,
        outcome=outcome,
        step=step,
        says=says,
        hint=hint,
        when=when,
        because=because,
        finding=finding,
    )


def _phrase(table: Table, path: str, problems: list[Problem]) -> tuple[condition.Condition, str]:
    when = condition.read(table.raw("when"), f"{path}.when", problems)
    phrase = table.text("says")
    table.close()
    return when, phrase


def _hint(table: Table, outcome: Outcome) -> str:
    """Return what would be accepted; whoever denies must say."""
    if table.has("hint") or outcome is Outcome.DENY:
        return table.text("hint")
    return ""


def _identity(table: Table) -> tuple[str, str]:
    identity, slug = table.text("id"), table.text("slug")
    if identity != "?" and not _ID.fullmatch(identity):
        table.problem("id", f"`{identity}` does not look like POL-003")
    if slug != "?" and not _SLUG.fullmatch(slug):
        table.problem("slug", f"`{slug}` is not words-joined-by-hyphens")
    return identity, slug
