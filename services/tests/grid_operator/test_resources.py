"""The model of the resources, and its copies: the CRDs, the schema of chart grid-site, the field reference."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from grid_operator import limits, resources
from grid_operator.model import KINDS, reference, values
from grid_operator.model.fields import Field, Group, Listing, Text
from grid_operator.model.kind import Kind
from swim import fields, ledger
from tests.grid_operator import admission

NETWORK, SITE, PROVIDER = KINDS
KEY = "A" * 43 + "="


def below(field: Field, path: str = "") -> Iterator[tuple[str, Field]]:
    yield path, field
    if isinstance(field, Group):
        for name, inner in field.fields.items():
            yield from below(inner, f"{path}.{name}")
    if isinstance(field, Listing):
        yield from below(field.items, f"{path}[]")


def schema_of(kind: Kind) -> dict[str, Any]:
    found: dict[str, Any] = kind.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def test_the_copies_are_what_the_model_says() -> None:
    assert resources.differences(resources.ROOT) == []


def test_a_copy_that_differs_is_missing_or_is_no_longer_known_is_named(tmp_path: pathlib.Path) -> None:
    assert resources.main(["write"], tmp_path) == 0
    assert resources.main(["check"], tmp_path) == 0
    chart, deploy = (tmp_path / folder for folder in resources.CRD_FOLDERS)
    stale = chart / "gridnetworks.yaml"
    stale.write_text(stale.read_text().replace("budgetPolicy:", "budget:"))
    (deploy / "gridsites.yaml").unlink()
    (deploy / "gridgone.yaml").write_text("")
    line = 1 + (deploy / "gridnetworks.yaml").read_text().split("budgetPolicy:")[0].count("\n")
    assert resources.differences(tmp_path) == [
        "deploy/crds/gridgone.yaml: the model has no such CRD",
        f"charts/grid-operator/crds/gridnetworks.yaml:{line}: differs from the model",
        "deploy/crds/gridsites.yaml: is not there",
    ]
    assert resources.main(["check"], tmp_path) == 1
    resources.write(tmp_path)
    assert resources.differences(tmp_path) == []


def test_a_call_without_a_command_says_what_to_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert resources.main(["print"]) == 64
    assert (
        capsys.readouterr().err == "print: must be write or check; call python -m grid_operator.resources write|check\n"
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_crd_is_read_back_as_it_was_written(kind: Kind) -> None:
    text = resources.crd_text(kind.crd())
    assert text.isascii()
    assert yaml.safe_load(text) == kind.crd()


def test_tenants_are_told_apart_by_their_id_and_bounded() -> None:
    policy = schema_of(NETWORK)["properties"]["spec"]["properties"]["budgetPolicy"]["properties"]
    tenants = policy["tenants"]
    assert (tenants["x-kubernetes-list-type"], tenants["x-kubernetes-list-map-keys"]) == ("map", ["tenantId"])
    assert (tenants["maxItems"], tenants["items"]["required"]) == (1024, ["tenantId", "capUsd"])
    tenant_id, cap = (tenants["items"]["properties"][name] for name in ("tenantId", "capUsd"))
    assert (tenant_id["minLength"], tenant_id["maxLength"]) == (1, 253)
    assert (cap["minimum"], cap["maximum"]) == (0, 10**12)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_list_and_text_is_bounded_so_that_the_cost_of_rules_is_too(kind: Kind) -> None:
    unbounded = [
        path
        for path, field in [*below(kind.spec), *below(kind.status)]
        if (isinstance(field, Listing) and not field.most)
        or (isinstance(field, Text) and not (field.longest or field.choices or field.form))
    ]
    assert unbounded == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_says_what_it_means(kind: Kind) -> None:
    silent = [path for path, field in [*below(kind.spec), *below(kind.status)] if not field.text.endswith((".", ":"))]
    assert silent == []


def test_the_limits_are_those_of_the_ledger() -> None:
    assert (limits.TENANTS, limits.TENANT_CHARACTERS) == (ledger.TENANT_CAP, fields.TENANT_CHARACTERS)
    assert fields.LARGEST == limits.LARGEST_EPOCH
    assert limits.LARGEST_CAP_USD * 100 < fields.LARGEST


@pytest.mark.parametrize(
    ("seed", "taken"),
    [
        ("a:1", True),
        ("grid-operator-swim.site-a.svc.cluster.local:7946", True),
        ("10.0.0.1:65535", True),
        ("a:0", False),
        ("a:65536", False),
        ("a", False),
        (":7946", False),
        ("a b:1", False),
        ("A:1", False),
        ("a:1\n", False),
    ],
)
def test_a_seed_is_a_host_and_a_port(seed: str, taken: bool) -> None:
    assert (admission.refusals(NETWORK, "spec", {"seeds": [seed]}) == []) is taken


@pytest.mark.parametrize(
    ("key", "taken"),
    [(KEY, True), ("A" * 44, False), ("A" * 42 + "B=", False), ("A" * 43, False), ("A" * 42 + "-=", False)],
)
def test_a_public_key_is_32_bytes_as_an_encoder_writes_them(key: str, taken: bool) -> None:
    site = {"gridNetworkRef": {"name": "n"}, "siteName": "a", "publicKey": key}
    assert (admission.refusals(SITE, "spec", site) == []) is taken


@pytest.mark.parametrize(
    "spec",
    [
        {"swim": {"gossip": 3}},
        {"budgetPolicy": {"tenants": [{"tenantId": "a", "capUsd": 1, "capEur": 1}]}},
        {"scoringPolicy": {"strategy": "queueDepth"}},
        {"seeds": ["a:1", "a:1"]},
        {"budgetPolicy": {"epoch": 0, "tenants": []}},
        {"budgetPolicy": {}},
    ],
)
def test_what_no_field_says_is_refused(spec: dict[str, Any]) -> None:
    assert admission.refusals(NETWORK, "spec", spec)


def test_an_empty_spec_is_a_network() -> None:
    assert admission.refusals(NETWORK, "spec", {}) == []


def chart_gaps(schema: dict[str, Any]) -> list[str]:
    """The fields of the specs that a chart with this values schema cannot say, or says with other bounds."""
    properties = schema["properties"]
    places = (properties["gridNetwork"], properties["sites"]["items"], properties["providers"]["items"])
    return [
        gap
        for kind, place in zip(KINDS, places, strict=True)
        for gap in _gaps(schema_of(kind)["properties"]["spec"], place, kind.name)
        if gap.partition(":")[0] not in {f"{one.name}.{name}" for one in KINDS for name in values.SET_BY_CHART}
    ]


def _gaps(wanted: dict[str, Any], seen: dict[str, Any], path: str) -> Iterator[str]:
    kind, kinds = wanted["type"], seen.get("type", "string")  # an enum needs no type
    if kind not in ([kinds] if isinstance(kinds, str) else kinds):
        yield f"{path}: is {kinds}, not {kind}"
    for bound in ("minimum", "maximum", "maxLength", "maxItems"):
        if wanted.get(bound) != seen.get(bound):
            yield f"{path}: {bound} is {seen.get(bound)}, not {wanted.get(bound)}"
    if set(wanted.get("enum", [])) - set(seen.get("enum", [])):
        yield f"{path}: lacks choices"
    if kind == "object" and seen.get("additionalProperties") is not False:
        yield f"{path}: is open"
    for name, inner in wanted.get("properties", {}).items():
        if name not in seen.get("properties", {}):
            yield f"{path}.{name}: cannot be said"
        else:
            yield from _gaps(inner, seen["properties"][name], f"{path}.{name}")
    if "items" in wanted:
        yield from _gaps(wanted["items"], seen["items"], f"{path}[]")


def test_the_chart_can_say_every_field_of_the_specs_within_the_same_bounds() -> None:
    assert chart_gaps(values.schema()) == []
    assert list(values.SET_BY_CHART) == ["gridNetworkRef"]


def test_a_field_that_the_chart_cannot_say_is_found() -> None:
    schema = values.schema()
    network = schema["properties"]["gridNetwork"]["properties"]
    del network["budgetPolicy"]["properties"]["epoch"], network["seeds"]
    network["swim"]["additionalProperties"] = True
    assert chart_gaps(schema) == [
        "GridNetwork.seeds: cannot be said",
        "GridNetwork.swim: is open",
        "GridNetwork.budgetPolicy.epoch: cannot be said",
    ]


def test_the_reference_names_every_field() -> None:
    page = reference.document()
    for kind in KINDS:
        for part in (kind.spec, kind.status):
            for path, field in below(part):
                if path and not path.endswith("[]"):
                    name = path.rpartition(".")[2]
                    assert f"{name}{'*' if field.required else ''}` |" in page, path
