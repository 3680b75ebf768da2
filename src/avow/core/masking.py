"""Masking: secrets inside a text are starred before the text leaves Avow for a log or a span.

Promised: what has a known shape is starred wherever it stands in a text, the work grows with the
length of the text and never faster, a masked text comes out the same when masked again, and a
text without a secret comes out unchanged. The shapes are the rows of `SHAPES`.

Not promised: a secret without a shape (a bare password, forty letters of base64) is not seen; nor
one that is encoded, split by blanks or written in look-alike letters; of personal data only mail
addresses are known. That is why a log takes named fields only (`avow.engine.telemetry.EVENTS`):
masking is the second net, not the first. It errs towards stars: `token: missing` loses a word.

Clauses: ICNLI-14.4.03.
"""

import re
from typing import NamedTuple

STARS = "****"


class Shape(NamedTuple):
    """One kind of secret: clues, one of which must occur in lower case, and what becomes of it."""

    name: str
    clues: tuple[str, ...]
    pattern: re.Pattern[str]
    masked: str = STARS


def mask(text: str) -> str:
    """Return the text with every secret of a known shape starred."""
    if _TOO_LITTLE.fullmatch(text):
        return text
    lowered = text.lower()
    for shape in SHAPES:
        for clue in shape.clues:
            # Most texts hold no clue at all, and looking for one is far cheaper than the pattern.
            if clue in lowered:
                text = shape.pattern.sub(shape.masked, text)
                break
    return text


# No shape fits into so few letters without a sign between them; most values of a log line do.
_TOO_LITTLE = re.compile(r"[\w.-]{0,12}+")

# How the patterns stay linear: every one begins with a fixed word; what follows is bounded,
# possessive (`++`), or cannot fail once the word was seen; and no run is walked twice from two
# beginnings, either because a beginning is only looked for at the start of a run (look-behind) or
# because the run ends at the next beginning.
_KEYWORD = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credential|cookie"
    r"|(?:api|access|private|secret|signing|encryption)[ _-]?key)[\w.-]{0,32}+"
)
# `=`, `:`, `=>`, `%3D`, quotes closed before it, also with the backslashes of text inside text.
_SIGN = r"[\\\"']{0,4}+\s{0,8}+(?:[:=]{1,3}+>?|%3[ad])\s{0,8}+"
# To its closing quote, or to the end of the text if there is none; else to the next blank.
_VALUE = r"(?:(\\?[\"'])(?:(?!\2)(?:\\[\s\S]|[^\\]))*+(?:\2|\\?\Z)|\S++)"

SHAPES = (
    Shape(
        "private key",
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
        ),
    ),
    Shape(
        "header",
        ("authorization", "cookie"),
        re.compile(r"(?i)((?:authorization|cookie)" + _SIGN + r")[^\r\n]++"),
        rf"\1{STARS}",
    ),
    Shape(
        "bearer token",
        ("bearer",),
        re.compile(r"(?i)(bearer[\s:=]{1,8}+)[^\s\"',;]++"),
        rf"\1{STARS}",
    ),
    Shape(
        "password in an address",
        ("://",),
        # A port and a path are no password, also when an `@` comes later.
        re.compile(
            r"(?<=://)(?:[^\s@/?#:]*+:(?!//|\d{1,5}/)(?:[^\s@:]|:(?!//))*+|[^\s@/?#:]++)@"
            r"(?:(?:[^\s@/?#:]|:(?!//))*+@)*+"
        ),
        rf"{STARS}@",
    ),
    Shape(
        "named value",
        ("pass", "pwd", "secret", "token", "credential", "cookie", "key"),
        re.compile(rf"(?i)({_KEYWORD}(?:{_SIGN}|\s{{1,8}}+(?=\\?[\"']))){_VALUE}"),
        rf"\1\2{STARS}\2",
    ),
    Shape(
        "flag of a command",
        ("-pass", "-pwd", "-secret", "-token", "-credential", "key"),
        re.compile(rf"(?i)((?<=-){_KEYWORD}\s{{1,8}}+){_VALUE}"),
        rf"\1\2{STARS}\2",
    ),
    Shape("key of Avow", ("avow_",), re.compile(r"avow_(?:[a-z]{1,8}_)?[0-9A-Za-z]{16,}+")),
    Shape("key of AWS", ("akia", "asia"), re.compile(r"A(?:KI|SI)A[A-Z0-9]{16,}+")),
    Shape(
        "token of GitHub, GitLab, Slack or Google",
        ("gh", "github_pat_", "glpat-", "xox", "xapp-", "aiza"),
        re.compile(
            r"gh[a-z]_[0-9A-Za-z]{16,}+|github_pat_\w{16,}+|glpat-[\w-]{16,}+"
            r"|xox[a-z]-[0-9A-Za-z-]{8,}+|xapp-[0-9A-Za-z-]{8,}+|AIza[\w-]{30,}+"
        ),
    ),
    Shape(
        "key of OpenAI, Anthropic or Stripe",
        ("sk-", "sk_", "rk_"),
        # Not inside a word: `task-runner-of-the-night` is a name.
        re.compile(r"(?<![0-9A-Za-z])(?:sk-|[sr]k_(?:live|test)_)[\w-]{16,}+"),
    ),
    Shape("JSON web token", ("eyj",), re.compile(r"eyJ[\w-]{16,}+(?:\.[\w-]*+)*+")),
    Shape(
        "mail address",
        ("@",),
        re.compile(r"(?<![\w.+%&'-])[\w.+%&'-]++@[\w-]++\.[\w.-]++"),
    ),
)
