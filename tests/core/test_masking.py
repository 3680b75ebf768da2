"""Masking: what has the shape of a secret is starred, quickly, and the rest is left alone."""

import re
import signal
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import agent
from avow.core.masking import SHAPES, STARS, mask

PEM = "-----BEGIN {0}PRIVATE KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0\n-----END {0}PRIVATE KEY-----"
CANARY = "hunter2Canary"
# Text, and what must be left of it.
SECRETS = {
    agent.key(b"k" * agent.KEY_BYTES): STARS,
    "key avow_person_" + "a1" * 20 + " seen": f"key {STARS} seen",
    f"Bearer {CANARY}": f"Bearer {STARS}",
    f"sent bearer: {CANARY}, twice": f"sent bearer: {STARS}, twice",
    "AKIAIOSFODNN7EXAMPLE": STARS,
    "id ASIAIOSFODNN7EXAMPLE!": f"id {STARS}!",
    PEM.format(""): STARS,
    f"a {PEM.format('RSA ')} b {PEM.format('EC ')} c": f"a {STARS} b {STARS} c",
    PEM.format("")[:60]: STARS,
    f"postgres://avow:{CANARY}@db/avow": f"postgres://{STARS}@db/avow",
    f"redis://:{CANARY}/@x:y@cache:6379/0": f"redis://{STARS}@cache:6379/0",
    f"https://{CANARY}@example.com/a": f"https://{STARS}@example.com/a",
    f"password={CANARY}": f"password={STARS}",
    f"DB_PASSWORD_MAIN = {CANARY} next": f"DB_PASSWORD_MAIN = {STARS} next",
    f'{{"password": "a {CANARY}", "n": 1}}': f'{{"password": "{STARS}", "n": 1}}',
    f'password="a\\"{CANARY}" n': f'password="{STARS}" n',
    f'{{\\"api_key\\":\\"a {CANARY}\\"}} n': f'{{\\"api_key\\":\\"{STARS}\\"}} n',
    f"secret='never closed {CANARY}": f"secret='{STARS}'",
    f"aws_secret_access_key: {CANARY},{CANARY}": f"aws_secret_access_key: {STARS}",
    f"ALTER ROLE avow PASSWORD '{CANARY}'": f"ALTER ROLE avow PASSWORD '{STARS}'",
    f"token%3D{CANARY}": f"token%3D{STARS}",
    f"psql --db-password {CANARY} -x": f"psql --db-password {STARS} -x",
    f"Authorization: Basic {CANARY}=\nnext": f"Authorization: {STARS}\nnext",
    f"Cookie: a=b; session={CANARY}": f"Cookie: {STARS}",
    "ghp_" + "a1B2" * 9: STARS,
    "github_pat_" + "a1B2_" * 9: STARS,
    "glpat-" + "a1B2" * 5: STARS,
    "xoxb-123456789012-abcdef": STARS,
    "AIza" + "a1B2-" * 7: STARS,
    "sk-proj-" + "a1B2" * 9: STARS,
    "sk_live_" + "a1B2" * 6: STARS,
    "eyJhbGciOiJIUzI1NiJ9x.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl": STARS,
    "write to o'brien+x@mail.example.com now": f"write to {STARS} now",
}
HARMLESS = [
    *("", "ALLOW", "deploy-bot", "POL-001", "ver_01HZX3ABCDEFGHJKMNPQRSTVWXYZ", "irl"),
    *("2026-01-01T00:00:00.000Z", "task-runner-of-the-long-night", "avow_verdicts_total"),
    *("https://images.local:5000/image@sha256:ab12", "file:///etc/passwd", "db/prod/orders"),
    *("the password is missing", "a @ b", "1 bearer", "did:key:z6MkhaXgBZDvotDkL5257", "ключ é"),
]
PIECES = [
    *("password", "secret", "key", "api", "authorization", "cookie", "bearer ", "=", ": ", '"'),
    *("'", "\\", '\\"', " ", "\n", "://", "@", "a.b", "user", ".", "-", "--", "%3D", ">", "_"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", STARS, "/", "8080/", "é"),
    *("eyJ" + "a" * 20, "avow_" + "f" * 40, "sk-" + "x" * 20, "ghp_" + "b" * 20, "AKIA" + "A" * 16),
]
HOSTILE = [
    *("a", "-", " ", "\n", "@", "a@", "a@a.", "\\", '"', "=", "://", "://a:", "://a:b@", ":a@"),
    *("password", "password=", 'password="', "password='\\", 'password "', "token: ", "--token "),
    *("api key", "secret\\", "authorization: ", "cookie=", "bearer ", "bearer", "eyJ", "eyJa."),
    *("sk-", "avow_", "avow_a_", "gh", "ghp_", "xoxa-", "AKIA", "-----END ", "-----BEGIN "),
    *("-----BEGIN PRIVATE KEY", "-----BEGIN PRIVATE KEY-----", "private key -----BEGIN A A A "),
]
# Before a repetition, so that the clue is there and the pattern really runs.
BEFORE = ("", "@ private key :// eyj sk- ", "password='", "://user:")


@pytest.mark.clause("ICNLI-14.4.03")
@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_starred_and_the_rest_stays(text):
    """Each shape of a secret leaves stars behind, and nothing around it is lost."""
    assert mask(text) == SECRETS[text]
    assert CANARY not in mask(f"before {text} after")


def test_every_shape_has_an_example():
    """No row of the table is without a text that only it would star."""
    for shape in SHAPES:
        assert any(shape.pattern.search(text) for text in SECRETS), shape.name


def test_a_clue_never_hides_a_secret_from_its_pattern():
    """Whatever a pattern matches holds one of its clues in lower case, and is not too short."""
    for shape in SHAPES:
        for text in SECRETS:
            if found := shape.pattern.search(text):
                around = text[max(found.start() - 3, 0) : found.end()].lower()
                assert any(clue in around for clue in shape.clues), shape.name
                assert not re.fullmatch(r"[\w.-]{0,12}", found.group()), shape.name


@pytest.mark.parametrize("text", HARMLESS)
def test_what_holds_no_secret_comes_out_unchanged(text):
    """Names, ids, times and addresses without a password are left as they are."""
    assert mask(text) == text


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_masking_twice_is_masking_once(text):
    """A masked text holds nothing that masking would still change."""
    assert mask(mask(text)) == mask(text)


@given(st.sampled_from(sorted(SECRETS)), st.text(max_size=20), st.text(max_size=20))
def test_a_secret_is_found_wherever_it_stands(secret, before, after):
    """Whatever stands before and after it on other lines, the canary does not come out."""
    assert CANARY not in mask(f"{before}\n{secret}\n{after}")


@contextmanager
def processor_time(seconds):
    """Raise if this process computes for that long: a guard against hanging, not a measurement."""

    def stop(*_):
        raise AssertionError("this takes more than linear time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_texts_take_linear_time(unit):
    """100 kB made to be walked again and again are masked at once, and hide no secret behind them."""
    with processor_time(20):
        for before in BEFORE:
            masked = mask(f"{before}{unit * (100_000 // len(unit))}\npassword={CANARY}")
            assert CANARY not in masked


def test_the_guard_would_stop_a_pattern_that_walks_twice():
    """The guard of the test above bites on a pattern that takes quadratic time."""
    with pytest.raises(AssertionError, match="linear"), processor_time(0.2):
        re.sub(r"\w+@", "", "a" * 100_000)
