"""Every sabotage of the core is noticed by the test it names, and that test passes on the core as it is."""

from __future__ import annotations

import sys

import pytest

from space_smoke import errors
from space_smoke.model import kinds
from space_smoke.tests.sim import mutants

_NOTICED = (AssertionError, pytest.fail.Exception, errors.SpaceSmokeError, kinds.Unfit, KeyError)
_BLUNDERS = ("NameError", "TypeError", "AttributeError", "SyntaxError", "UnboundLocalError")


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_a_sabotage_is_noticed_by_the_test_it_names(mutant: mutants.Mutant) -> None:
    with pytest.MonkeyPatch.context() as patch:
        mutants.apply(patch, mutant)
        with pytest.raises(_NOTICED) as noticed:
            mutant.caught_by(*mutant.arguments)
    assert not any(name in str(noticed.value) for name in _BLUNDERS), f"it does not even run: {noticed.value}"


def test_the_tests_that_are_named_are_tests_and_no_name_stands_twice() -> None:
    names = [mutant.name for mutant in mutants.MUTANTS]
    assert len(set(names)) == len(names)
    for mutant in mutants.MUTANTS:
        test = mutant.caught_by
        assert getattr(sys.modules[test.__module__], test.__name__) is test
        assert test.__name__.startswith("test_")


def test_without_a_sabotage_the_tests_that_are_named_pass() -> None:
    for test, arguments in {(mutant.caught_by, mutant.arguments[:3]) for mutant in mutants.MUTANTS if _quick(mutant)}:
        test(*arguments)


def _quick(mutant: mutants.Mutant) -> bool:
    """The exhaustive ones run by themselves; the others are run with the very arguments of the table."""
    return "exhaustive" not in mutant.caught_by.__module__ and all(not isinstance(a, dict) for a in mutant.arguments)
