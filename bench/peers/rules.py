"""The twenty rules of the comparison, once, in no engine's syntax.

Each engine's policy text is generated from `RULES` by that engine's module, so the rules are
one for one: one permit and nineteen forbids, and any forbid that holds overrides the permit.

The operators are the ones every peer can say: AGT's expression language has no set
membership over a list field, no negation, no literal `true` or `false` and no negative number,
so no rule needs them, although Cedar and casbin could do more.

Order matters to the peers that stop at the first deny. On `record.json` five forbids fire, and
the first of them stands fourth of nineteen: where five hits in nineteen places put the first
on average (20 / 6 = 3.3), so stopping early is neither flattered nor punished. On
`harmless.json` none fires and every peer has to try them all.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Op = Literal["eq", "ne", "in", "gt", "lt", "is"]
Value = str | tuple[str, ...] | int | bool

# Values stand inside five languages' string literals. Nothing here needs escaping in any of
# them, and a generator that met something else would silently change a rule's meaning.
_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of one field: `path` is always `section.field`."""

    path: str
    op: Op
    value: Value

    def __post_init__(self) -> None:
        texts = self.value if isinstance(self.value, tuple) else (str(self.value),)
        if not all(_SAFE.fullmatch(text) for text in texts) or self.path.count(".") != 1:
            raise ValueError(f"not expressible alike in every engine: {self}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A permit or a forbid that holds when all of its conditions do."""

    id: str
    effect: Literal["permit", "forbid"]
    when: tuple[Condition, ...]


def _rule(effect: Literal["permit", "forbid"], name: str, *when: tuple[str, Op, Value]) -> Rule:
    return Rule(name, effect, tuple(Condition(*test) for test in when))


_TYPE = "operation.type"
_ENV = "operation.target_environment"
_SCOPE = "operation.scope"
_ROWS = "operation.estimated_rows_affected"
_TRUST = "agent.trust_level"
_ASSUMED = "rationale.assumed_safe"
_VERIFIED = "rationale.verified"
_REVERSIBLE = "consequences.reversible"
_LOSS = "consequences.data_loss_risk"
_BACKUPS = "consequences.affects_backups"
_ROLLBACK = "consequences.rollback_plan"

_KNOWN = ("read", "write", "delete", "execute", "network", "auth")

# The five marked "fires" hold on record.json.
RULES: Final[tuple[Rule, ...]] = (
    # A condition every well-formed record meets, because not every engine can say "always".
    _rule("permit", "permit-known-operations", (_TYPE, "in", _KNOWN)),
    _rule("forbid", "auth-in-production", (_TYPE, "eq", "auth"), (_ENV, "eq", "production")),
    _rule(
        "forbid",
        "unverified-network-to-production",
        (_TYPE, "eq", "network"),
        (_ENV, "eq", "production"),
        (_VERIFIED, "is", False),
    ),
    _rule("forbid", "bulk-rows", (_ROWS, "gt", 10000)),
    # fires
    _rule("forbid", "delete-in-production", (_TYPE, "eq", "delete"), (_ENV, "eq", "production")),
    _rule(
        "forbid",
        "low-trust-execute-in-production",
        (_TYPE, "eq", "execute"),
        (_ENV, "eq", "production"),
        (_TRUST, "eq", "low"),
    ),
    _rule("forbid", "low-trust-delete", (_TYPE, "eq", "delete"), (_TRUST, "eq", "low")),
    # fires
    _rule(
        "forbid",
        "irreversible-in-production-below-high-trust",
        (_REVERSIBLE, "is", False),
        (_ENV, "eq", "production"),
        (_TRUST, "in", ("low", "medium")),
    ),
    _rule(
        "forbid",
        "unverified-write-in-production",
        (_TYPE, "eq", "write"),
        (_ENV, "eq", "production"),
        (_VERIFIED, "is", False),
    ),
    _rule(
        "forbid",
        "uncounted-write-in-production",
        (_TYPE, "eq", "write"),
        (_ENV, "eq", "production"),
        (_ROWS, "lt", 0),
    ),
    # fires
    _rule("forbid", "affects-backups", (_BACKUPS, "is", True)),
    _rule(
        "forbid",
        "execute-in-production-without-rollback",
        (_TYPE, "eq", "execute"),
        (_ENV, "eq", "production"),
        (_ROLLBACK, "is", False),
    ),
    _rule("forbid", "permanent-auth-change", (_TYPE, "eq", "auth"), (_SCOPE, "eq", "permanent")),
    # fires
    _rule("forbid", "delete-without-rollback", (_TYPE, "eq", "delete"), (_ROLLBACK, "is", False)),
    _rule(
        "forbid",
        "execute-on-assumption",
        (_TYPE, "eq", "execute"),
        (_ASSUMED, "is", True),
        (_VERIFIED, "is", False),
    ),
    _rule(
        "forbid",
        "low-trust-network-outside-development",
        (_TYPE, "eq", "network"),
        (_ENV, "ne", "development"),
        (_TRUST, "eq", "low"),
    ),
    # fires
    _rule(
        "forbid",
        "permanent-and-irreversible",
        (_SCOPE, "eq", "permanent"),
        (_REVERSIBLE, "is", False),
    ),
    _rule(
        "forbid",
        "lossy-unverified-change",
        (_LOSS, "in", ("partial", "total")),
        (_VERIFIED, "is", False),
        (_TYPE, "in", ("write", "execute")),
    ),
    _rule(
        "forbid",
        "bulk-delete-in-staging",
        (_TYPE, "eq", "delete"),
        (_ENV, "eq", "staging"),
        (_ROWS, "gt", 1000),
    ),
    _rule("forbid", "low-trust-total-loss", (_LOSS, "eq", "total"), (_TRUST, "eq", "low")),
)


def _field(path: str) -> tuple[str, str, str]:
    section, field = path.split(".")
    return path, section, field


# Every field a rule reads, as (path, section, field), for the peers that want a flat request.
FIELDS: Final[tuple[tuple[str, str, str], ...]] = tuple(
    map(_field, dict.fromkeys(condition.path for rule in RULES for condition in rule.when))
)

_HERE: Final = Path(__file__).parent


def record() -> bytes:
    """Return the dangerous record: five forbids fire."""
    return (_HERE / "record.json").read_bytes()


def harmless() -> bytes:
    """Return the harmless record: no forbid fires."""
    return (_HERE / "harmless.json").read_bytes()
