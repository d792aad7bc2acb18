"""What the operator reads that others wrote: key rings, pinned keys, and other sites' providers."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid_operator import keys, offers, plans, policy, routing, taking
from swim import parameters
from swim.forms import PAYLOAD_BYTES
from tests.grid_operator.properties import quick

KEY = bytes(range(32))
OFFER = routing.Offer("b", "p", "http://p", ("m", "n"), "eu", "1", 2.5)
ENTRY = {"name": "p", "endpoint": "http://p", "models": ["m"], "cost": None}


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def secret(text: str) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "data": {"k": encoded(text.encode())}}


def test_a_ring_has_a_key_on_each_line_and_the_first_seals() -> None:
    other = bytes(32)
    text = f"{encoded(KEY)}\n\n {encoded(other)} \n"
    assert keys.ring(secret(text), "s", "k") == (KEY, other)
    assert keys.one(secret(encoded(KEY)), "s", "k") == KEY


@pytest.mark.parametrize(
    ("found", "rule"),
    [
        (None, "Secret s is not there"),
        ({"metadata": {}}, "Secret s has no entry k"),
        (secret(""), "it has 0 keys and must have 1 to 4"),
        (secret("\n".join([encoded(KEY)] * 5)), "it has 5 keys"),
        (secret(f"{encoded(KEY)}\nhunter2!"), "key 2: it must be base64"),
        (secret(encoded(KEY[:31])), "key 1: it has 31 bytes and must have 32"),
        ({"data": {"k": encoded(b"\xff\xfe")}}, "no text of base64"),
    ],
)
def test_a_ring_that_cannot_be_used_says_why_and_nothing_of_it(found: dict[str, Any] | None, rule: str) -> None:
    with pytest.raises(keys.Unreadable) as raised:
        keys.ring(found, "s", "k")
    assert rule in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_two_sites_that_give_one_name_different_keys_count_for_nothing() -> None:
    def site(name: str, key: str) -> dict[str, Any]:
        return {"spec": {"siteName": name, "publicKey": key}}

    same = [site("a", encoded(KEY)), site("a", encoded(KEY))]
    assert keys.pinned([*same, site("b", encoded(bytes(32))), site("b", encoded(KEY)), site("c", "?"), {}]) == {
        "a": KEY
    }


def test_a_plan_goes_on_under_other_keys_and_under_nothing_else() -> None:
    plan = plans.Plan("net", parameters.KIND, (KEY,), None)
    assert dataclasses.replace(plan, ring=(bytes(32), KEY)).continues(plan)
    for changed in (
        {"network": "other"},
        {"parameters": parameters.WAN},
        {"ring": ()},
        {"secret": KEY},
    ):
        assert not dataclasses.replace(plan, **changed).continues(plan)  # type: ignore[arg-type]


def test_what_a_site_tells_of_its_providers_is_what_others_read() -> None:
    told = [OFFER, OFFER._replace(name="q", cost=None, region="", zone="")]
    payload, fitting = offers.payload(told)
    assert (offers.read("b", payload), fitting) == (told, 2)


def test_providers_that_find_no_room_are_not_counted_as_told() -> None:
    many = [OFFER._replace(name=f"p{number}", endpoint="http://" + "x" * 500) for number in range(200)]
    payload, fitting = offers.payload(many)
    assert len(payload) <= PAYLOAD_BYTES
    assert 0 < fitting < 200
    assert offers.read("b", payload) == many[:fitting]


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "A B"},
        {"name": 1},
        {"endpoint": "ftp://p"},
        {"endpoint": "http://p\n"},
        {"models": []},
        {"models": ["a b"]},
        {"models": [str(number) for number in range(65)]},
        {"cost": -1},
        {"cost": float("nan")},
        {"cost": True},
        {"region": "EU"},
        {"models": None},
        {"models": "mn"},
    ],
)
def test_providers_that_no_resource_may_have_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        offers.read("b", json.dumps([{**ENTRY, **changed}]).encode())


@quick
@given(st.one_of(st.binary(max_size=64), st.recursive(st.none() | st.text(max_size=3) | st.integers(), st.lists).map(
    lambda value: json.dumps(value).encode()
)))  # fmt: skip
def test_nonsense_from_another_site_is_a_value_error_or_nothing(told: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert offers.read("b", told) == []


def test_a_resource_that_others_would_not_read_is_not_told() -> None:
    good = {"metadata": {"name": "p"}, "spec": {"endpoint": "http://p", "models": ["m"]}}
    costly = {**good, "spec": {**good["spec"], "cost": {"perMillionInputTokens": 1, "perMillionOutputTokens": 2}}}
    bad = {"metadata": {"name": "q"}, "spec": {"endpoint": "http://p"}}
    (found, priced) = offers.of_resources([good, bad, {**costly, "metadata": {"name": "r"}}], {"region": "eu"}, "a")
    assert found == routing.Offer("a", "p", "http://p", ("m",), "eu")
    assert priced.cost == 3.0


def test_a_policy_of_an_epoch_that_has_passed_is_invalid_and_says_so() -> None:
    taken = policy.Policy(2, {})
    take = taking.Taking()
    assert take.in_force(taken, 2) is taken
    passed = take.in_force(taken, 3)
    assert isinstance(passed, policy.Invalid)
    assert str(passed).startswith("budgetPolicy.epoch is 2: epoch 3 has begun")
