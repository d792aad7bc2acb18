"""A budget policy is taken whole, or refused in sentences that a person can act upon."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid_operator import policy
from grid_operator.model import KINDS
from tests.grid_operator import admission
from tests.grid_operator.properties import quick

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
ENTRY = st.fixed_dictionaries({}, optional={"tenantId": JSON, "capUsd": JSON}) | JSON
DOCUMENT = st.fixed_dictionaries({}, optional={"epoch": JSON, "tenants": st.lists(ENTRY, max_size=4) | JSON}) | JSON
DUMPS = ("Invalid(", "Error", "Traceback", "object at", "{'", "['", "None", " nan", " inf:", "\n")


def of(*tenants: tuple[object, object], **more: object) -> dict[str, Any]:
    return {"tenants": [{"tenantId": tenant, "capUsd": cap} for tenant, cap in tenants], **more}


def mistakes(document: object) -> tuple[str, ...]:
    with pytest.raises(policy.Invalid) as refused:
        policy.read(document)
    return refused.value.mistakes


def test_no_policy_is_no_mistake() -> None:
    assert policy.read(None) is None


def test_a_policy_keeps_its_caps_as_they_were_written() -> None:
    read = policy.read(of(("b", 0.1), ("a", 5), ("Zürich-東京 x", 0), ("é" * 253, 1e12), epoch=3))
    assert read == policy.Policy(
        3, {"b": Decimal("0.1"), "a": Decimal(5), "Zürich-東京 x": Decimal(0), "é" * 253: Decimal(10**12)}
    )


def test_the_first_epoch_is_one_and_a_whole_float_is_whole() -> None:
    assert policy.read({"tenants": []}) == policy.Policy(1, {})
    assert policy.read({"tenants": [], "epoch": 2.0}) == policy.Policy(2, {})


@pytest.mark.parametrize(
    ("tenant", "cap", "sentence"),
    [
        ("", 1, 'tenant id "": it must hold a character that is no space (budgetPolicy.tenants[0])'),
        (" \t", 1, 'tenant id " \\t": it must hold a character that is no space (budgetPolicy.tenants[0])'),
        (
            "\u2003\xa0",
            1,
            'tenant id "\\u2003\\u00a0": it must hold a character that is no space (budgetPolicy.tenants[0])',
        ),
        ("a\0b", 1, 'tenant id "a\\u0000b": it must hold no control characters (budgetPolicy.tenants[0])'),
        ("a\ud800", 1, 'tenant id "a\\ud800": it must be valid Unicode (budgetPolicy.tenants[0])'),
        (
            "x" * 254,
            1,
            f'tenant id "{"x" * 60}...": it has 254 characters and may have 253 (budgetPolicy.tenants[0])',
        ),
        (7, 1, "tenant id 7: it must be a text (budgetPolicy.tenants[0])"),
        (None, 1, "tenant id missing: it must be a text (budgetPolicy.tenants[0])"),
        ("a", -0.01, 'tenant "a" has capUsd -0.01: it must be 0 or more (budgetPolicy.tenants[0])'),
        ("a", float("nan"), 'tenant "a" has capUsd not a number: it must be a finite number (budgetPolicy.tenants[0])'),
        ("a", float("1e999"), 'tenant "a" has capUsd infinite: it must be a finite number (budgetPolicy.tenants[0])'),
        (
            "a",
            float("-inf"),
            'tenant "a" has capUsd minus infinite: it must be a finite number (budgetPolicy.tenants[0])',
        ),
        (
            "a",
            1e13,
            'tenant "a" has capUsd 10000000000000.0: it must be at most 1000000000000 (budgetPolicy.tenants[0])',
        ),
        (
            "a",
            10**4000,
            'tenant "a" has capUsd a whole number of some 3986 digits: it must be at most 1000000000000'
            " (budgetPolicy.tenants[0])",
        ),
        ("a", True, 'tenant "a" has capUsd true: it must be a number (budgetPolicy.tenants[0])'),
        ("a", "5", 'tenant "a" has capUsd "5": it must be a number (budgetPolicy.tenants[0])'),
        ("a", None, 'tenant "a" has capUsd missing: it must be a number (budgetPolicy.tenants[0])'),
    ],
)
def test_a_wrong_tenant_is_named_with_its_value_the_rule_and_the_place(
    tenant: object, cap: object, sentence: str
) -> None:
    assert mistakes(of((tenant, cap))) == (sentence,)


def test_a_tenant_that_stands_there_twice_is_named_with_both_places() -> None:
    sentence = 'tenant id "a": it stands there already, at [0] (budgetPolicy.tenants[2])'
    assert mistakes(of(("a", 1), ("b", 1), ("a", 2))) == (sentence,)


def test_ids_are_compared_character_by_character() -> None:
    read = policy.read(of(("é", 1), ("e\u0301", 2), ("É", 3), (" a", 4), ("a", 5)))
    assert read is not None
    assert len(read.caps) == 5


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ([], "budgetPolicy is a list: it must be an object"),
        ("x", 'budgetPolicy is "x": it must be an object'),
        ({}, "budgetPolicy.tenants is missing: it must be a list"),
        ({"tenants": {}}, "budgetPolicy.tenants is an object: it must be a list"),
        (
            {"tenants": [7]},
            "a tenant is 7: it must be an object with tenantId and capUsd (budgetPolicy.tenants[0])",
        ),
        (
            of(*((f"t{number}", 1) for number in range(1025))),
            "budgetPolicy.tenants has 1025 tenants: there may be at most 1024",
        ),
        *(
            (
                {"tenants": [], "epoch": epoch},
                f"budgetPolicy.epoch is {shown}: it must be a whole number from 1 to 9007199254740991",
            )
            for epoch, shown in ((0, "0"), (True, "true"), (1.5, "1.5"), ("1", '"1"'), (2**53, str(2**53)))
        ),
    ],
)
def test_a_policy_of_the_wrong_shape_is_refused(document: object, sentence: str) -> None:
    assert mistakes(document) == (sentence,)


def test_1024_tenants_are_taken() -> None:
    read = policy.read(of(*((f"t{number}", 1) for number in range(1024))))
    assert read is not None
    assert len(read.caps) == 1024


def test_every_mistake_is_told_and_a_flood_of_them_is_counted() -> None:
    with pytest.raises(policy.Invalid) as refused:
        policy.read(of(*(("", -1) for _ in range(10)), epoch=0))
    assert len(refused.value.mistakes) == 21
    assert str(refused.value).startswith("budgetPolicy.epoch is 0: ")
    assert str(refused.value).endswith("; and 13 more")


def said_of(document: object) -> str:
    """The refusal's text, "" when the policy is taken."""
    try:
        policy.read(document)
    except policy.Invalid as refused:
        return str(refused)
    return ""


@quick
@given(DOCUMENT)
def test_whatever_is_given_is_taken_or_refused_in_words(document: object) -> None:
    text = said_of(document)
    assert text.isprintable()
    assert "budgetPolicy" in text or not text
    if '"' not in text:  # a value may hold anything
        assert not [dump for dump in DUMPS if dump in text]


def test_a_number_too_long_to_write_is_no_error_of_ours() -> None:
    assert "some 4983 digits" in said_of(of(("a", 10**5000)))


@quick
@given(
    st.lists(
        st.tuples(
            st.text(max_size=3) | st.sampled_from(["", " ", "\v", "\x85", "\u2028", "a\n", "é" * 254, "a"]),
            st.floats(allow_nan=False, allow_infinity=False) | st.integers(-1, 10**13) | st.booleans(),
        ),
        max_size=3,
    )
)
def test_admission_and_reconcile_agree(tenants: list[tuple[str, float]]) -> None:
    document = of(*tenants)
    refused = admission.refusals(KINDS[0], "spec", {"budgetPolicy": document})
    assert bool(refused) is bool(said_of(document)), refused
