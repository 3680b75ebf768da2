"""The list of mutants stays true to the product."""

from tests import mutants
from tests.tidy.sources import SOURCE

MUTANTS = mutants.load()


def test_every_mutant_still_has_its_place():
    """The line each mutant breaks occurs exactly once where it says, and the break changes it."""
    for mutant in MUTANTS:
        text = (SOURCE / mutant["file"]).read_text()
        assert text.count(mutant["old"]) == 1, mutant["property"]
        assert mutant["new"] != mutant["old"], mutant["property"]
    assert len({mutant["property"] for mutant in MUTANTS}) == len(MUTANTS)


def test_one_mutant_is_caught():
    """The machinery works: a score that clamps too early turns the tests red."""
    early = next(mutant for mutant in MUTANTS if "before the cap" in mutant["property"])
    assert mutants.is_caught(early)
