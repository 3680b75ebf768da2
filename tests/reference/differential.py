"""The product against the reference model, on random records: any difference is a bug in one.

Run as a program it takes a seed and a count: `python -m tests.reference.differential 1 100000`.
"""

import json
import random
import sys
from collections.abc import Iterable

from avow.adapters import policy_files
from avow.core.assess import assess
from avow.core.inventory import Inventory
from avow.core.resource import read
from avow.core.situation import Situation
from avow.core.words import Signature, Trust
from avow.engine.judgement import Judge
from tests.records import TRUSTS, lattice, record
from tests.reference import generator, model

INVENTORY = Inventory(
    snapshots={name: read(target) for name, target in generator.SNAPSHOTS.items()},
    facts=generator.KNOWN_FACTS,
)


def compare(seed: int, count: int) -> int:
    """Compare that many random records, three in four under the default policy."""
    source = random.Random(seed)
    return compare_all(
        (generator.draw(source), "irl-0.1" if number % 4 == 0 else "default")
        for number in range(count)
    )


def compare_lattice() -> int:
    """Compare all 6,912 combinations under both presets, for every trust that may be registered."""
    return compare_all(
        (generator.Drawn(record(**fields), registered, "valid"), name)
        for fields in lattice()
        for name, registered in [("irl-0.1", None), *(("default", t) for t in (None, *TRUSTS))]
    )


def compare_all(drawn: Iterable[tuple[generator.Drawn, str]]) -> int:
    """Compare product and model on each record; raise on the first difference."""
    judge = Judge()
    presets = {name: policy_files.preset(name) for name in ("default", "irl-0.1")}
    number = 0
    for number, (one, name) in enumerate(drawn, start=1):
        registered = None if one.registered is None else Trust[one.registered.upper()]
        situation = Situation(
            policy=presets[name],
            registered_trust=registered,
            signature=Signature(one.signature),
            inventory=INVENTORY,
        )
        verdict = assess(judge.read(json.dumps(one.record).encode()), situation)
        got = model.Judged(
            verdict.outcome.name,
            verdict.score,
            verdict.level.word,
            list(verdict.reasons),
            verdict.hazard,
            {finding.id for finding in verdict.findings},
        )
        expected = model.judge(
            one.record,
            policy=name,
            registered=one.registered,
            signature=one.signature,
            snapshots=generator.SNAPSHOTS,
            facts=generator.KNOWN_FACTS,
        )
        if got != expected:
            raise AssertionError(
                f"number {number} under {name}: avow {got}, model {expected}, {one}"
            )
    return number


if __name__ == "__main__":
    print(compare(int(sys.argv[1]), int(sys.argv[2])), "compared, no difference")  # noqa: T201
