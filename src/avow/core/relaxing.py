"""Is a policy softer than the built-in one? Compared part by part, each difference in words.

Owns the comparison. It is sound and not complete: where it names nothing, no record can get a
milder outcome than under the baseline (a property test holds it to that); where a rule is
rewritten in an equivalent way, it asks for the switch all the same.

Clauses: IRL-6.12.
"""

from collections.abc import Iterator
from dataclasses import fields

from avow.core.policy import Policy, TrustSource, Weights
from avow.core.words import Level, Means, Trust


def compare(policy: Policy, baseline: Policy) -> tuple[str, ...]:
    """Return what `policy` loosens against `baseline`, one phrase each.

    1. Points are at least as many, discounts at most as large.
    2. Bands start no later and lead to nothing milder.
    3. Every cell of the matrix is at least as strict.
    4. Every rule of the baseline stands, with the same condition and nothing milder.
    5. Trust is not taken from the record, and evidence is asked for no later.
    """
    return tuple(
        phrase
        for check in (_weights, _bands, _matrix, _rules, _switches)
        for phrase in check(policy, baseline)
    )


def _weights(policy: Policy, baseline: Policy) -> Iterator[str]:
    ours, base = policy.weights, baseline.weights
    for field in fields(Weights):
        if field.name in ("means", "discounts"):
            continue
        given = getattr(ours, field.name).points
        least = getattr(base, field.name).points
        if given < least:
            yield f"{field.name} scores {given} and not {least}"
    for means in Means:
        given, least = ours.means[means].points, base.means[means].points
        if given < least:
            yield f"{means} scores {given} and not {least}"
    for trust in Trust:
        if ours.discounts[trust] > base.discounts[trust]:
            yield f"{trust.word} trust is discounted by {ours.discounts[trust]}"


def _bands(policy: Policy, baseline: Policy) -> Iterator[str]:
    for level in Level:
        ours, base = policy.bands.band(level), baseline.bands.band(level)
        if ours.start > base.start:
            yield f"{level.word} risk starts at {ours.start} and not {base.start}"
        if ours.outcome < base.outcome:
            yield f"{level.word} risk leads to {ours.outcome.name}"


def _matrix(policy: Policy, baseline: Policy) -> Iterator[str]:
    if baseline.matrix is None:
        return
    if policy.matrix is None:
        yield "there is no matrix"
        return
    for cell, least in baseline.matrix.cells.items():
        if policy.matrix.cells[cell] < least:
            means, environment = cell
            yield f"{means} in {environment} is {policy.matrix.cells[cell].name}"


def _rules(policy: Policy, baseline: Policy) -> Iterator[str]:
    ours = {rule.id: rule for rule in policy.rules}
    for base in baseline.rules:
        rule = ours.get(base.id)
        if rule is None:
            yield f"{base.id} is missing"
        elif rule.when.source != base.when.source:
            yield f"{base.id} has another condition"
        elif rule.outcome < base.outcome or (base.step and not rule.step):
            yield f"{base.id} is milder"


def _switches(policy: Policy, baseline: Policy) -> Iterator[str]:
    declared = TrustSource.DECLARED
    if policy.trust_source is declared and baseline.trust_source is not declared:
        yield "trust is taken from the record"
    if policy.evidence_from_hazard > baseline.evidence_from_hazard:
        yield "verified is believed without evidence"
    if policy.backups_assumed_from_hazard > baseline.backups_assumed_from_hazard:
        yield "absent affects_backups counts as false"
    if baseline.rollback_needs_snapshot and not policy.rollback_needs_snapshot:
        yield "rollback_plan is believed without a snapshot"
