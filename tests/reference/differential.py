"""The product against the reference model, on random records: any difference is a bug in one.

Run as a program it takes a seed and a count: `python -m tests.reference.differential 1 100000`.
"""

import json
import random
import sys

from avow.adapters import policy_files
from avow.core.assess import assess
from avow.core.inventory import Inventory
from avow.core.resource import read
from avow.core.situation import Situation
from avow.core.words import Signature, Trust
from avow.engine.judgement import Judge
from tests.reference import generator, model

INVENTORY = Inventory(
    snapshots={name: read(target) for name, target in generator.SNAPSHOTS.items()},
    facts=generator.KNOWN_FACTS,
)


def compare(seed: int, count: int) -> int:
    """Compare that many random records under both presets; raise on the first difference."""
    source = random.Random(seed)
    judge = Judge()
    presets = {name: policy_files.preset(name) for name in ("default", "irl-0.1")}
    for number in range(count):
        drawn = generator.draw(source)
        name = "irl-0.1" if number % 4 == 0 else "default"
        registered = None if drawn.registered is None else Trust[drawn.registered.upper()]
        situation = Situation(
            policy=presets[name],
            registered_trust=registered,
            signature=Signature(drawn.signature),
            inventory=INVENTORY,
        )
        verdict = assess(judge.read(json.dumps(drawn.record).encode()), situation)
        got = model.Judged(
            verdict.outcome.name,
            verdict.score,
            verdict.level.word,
            list(verdict.reasons),
            verdict.hazard,
            {finding.id for finding in verdict.findings},
        )
        expected = model.judge(
            drawn.record,
            policy=name,
            registered=drawn.registered,
            signature=drawn.signature,
            snapshots=generator.SNAPSHOTS,
            facts=generator.KNOWN_FACTS,
        )
        if got != expected:
            raise AssertionError(
                f"seed {seed} number {number} under {name}: avow {got}, model {expected}, {drawn}"
            )
    return count


if __name__ == "__main__":
    print(compare(int(sys.argv[1]), int(sys.argv[2])), "compared, no difference")  # noqa: T201
