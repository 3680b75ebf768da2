"""Writes the vector files anew, with expectations from the reference model and not from the product.

Run `python -m tests.vectors.make` after a deliberate change, raise the version below, and record the
new digest in specs/frozen.toml.
"""

import json
import random
from pathlib import Path
from typing import Any

from tests.records import TYPES, record
from tests.reference import generator, model

VERSION = "1"
HERE = Path(__file__).parent
MALFORMED: list[tuple[str, Any, str]] = [
    ("not JSON", "{", "declaration.unreadable"),
    ("a key twice", '{"irl_version": "0.1", "irl_version": "0.1"}', "declaration.unreadable"),
    ("a number that is not one", '{"irl_version": NaN}', "declaration.unreadable"),
    ("no dialect", "{}", "declaration.unknown_dialect"),
    ("another version", {**record(), "irl_version": "0.2"}, "declaration.invalid"),
    ("an unknown field", {**record(), "surprise": 1}, "declaration.invalid"),
    ("text for a flag", record(verified="true"), "declaration.invalid"),
]


def cases(policy: str, seed: int) -> list[dict[str, Any]]:
    """Return neutral records of each type, random ones, and malformed ones."""
    source = random.Random(seed)
    drawn = [generator.Drawn(record(type=kind), "medium", "absent") for kind in TYPES]
    # Vectors run through doors that know neither signatures nor snapshots.
    drawn += [generator.draw(source)._replace(signature="absent") for _ in range(60)]
    made = []
    for number, one in enumerate(drawn):
        judged = model.judge(one.record, policy=policy, registered=one.registered)
        operation = one.record["operation"]
        place = f"{operation['type']} in {operation['target_environment']}"
        case: dict[str, Any] = {
            "name": f"{number:02d} {place}",
            "record": one.record,
            "expect": {
                "outcome": judged.outcome,
                "score": judged.score,
                "level": judged.level,
                "hazard": judged.hazard,
                "reasons": judged.reasons,
                "rules": sorted(judged.rules),
            },
        }
        if one.registered is not None:
            case["trust"] = one.registered
        made.append(case)
    for name, body, code in MALFORMED:
        made.append({"name": name, "record": body, "expect": {"malformed": code}})
    return [{**case, "policy": policy} for case in made]


def main() -> None:
    """Write one file for each preset."""
    for seed, policy in enumerate(("default", "irl-0.1")):
        content = {"version": VERSION, "cases": cases(policy, seed)}
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (HERE / f"{policy}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
