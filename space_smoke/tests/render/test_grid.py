"""What holds of chart grid-site beyond the table: its schema inside of lists too, and every way to leave a value out."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from space_smoke import errors
from space_smoke.charts import render
from space_smoke.tests.render import claims, grid, judges, test_schema

FOLDER = claims.CHARTS / grid.SITE
EVERYTHING = FOLDER / "ci" / "everything-values.yaml"
NETWORK = ("name", "seeds", "region", "zone", "swim", "tls", "routingPolicy", "scoringPolicy", "metricsRefreshInterval")
OPTIONAL = (*NETWORK, "budgetPolicy")
KEY = "A" * 43 + "="
SITE = {"siteName": "a", "publicKey": KEY}
PROVIDER = {"name": "p", "endpoint": "http://p", "models": ["m"]}


def empties(name: str) -> Iterator[Any]:
    """What may stand for the value when it is not given."""
    yield None
    yield {"seeds": [], "swim": {}, "tls": {}, "scoringPolicy": {}, "budgetPolicy": {}}.get(name, "")


def network(**values: Any) -> dict[str, Any]:
    return {"gridNetwork": values}


def inside(place: str) -> dict[str, Any]:
    """Values with one key too many in an item of a list."""
    odd = {"noSuchKey": 1}
    return {
        "/gridNetwork/budgetPolicy/tenants/0": network(
            budgetPolicy={"tenants": [{"tenantId": "a", "capUsd": 1, **odd}]}
        ),
        "/sites/0": {"sites": [{**SITE, **odd}]},
        "/providers/0": {"providers": [{**PROVIDER, **odd}]},
        "/providers/0/cost": {"providers": [{**PROVIDER, "cost": odd}]},
    }[place]


def strays_taken(helm: render.Renderer, folder: pathlib.Path) -> list[str]:
    """The places inside of lists at which helm takes an unknown key."""
    places = ("/gridNetwork/budgetPolicy/tenants/0", "/sites/0", "/providers/0", "/providers/0/cost")
    rule = "additional properties 'noSuchKey' not allowed"
    return [
        place for place in places if f"at '{place}': {rule}" not in test_schema.said("x", helm, folder, inside(place))
    ]


def test_an_unknown_key_inside_of_a_list_is_refused(helm: render.Renderer) -> None:
    assert strays_taken(helm, FOLDER) == []


def test_a_list_whose_items_are_open_is_found(helm: render.Renderer, tmp_path: pathlib.Path) -> None:
    schema = test_schema.schema_of(FOLDER)
    schema["properties"]["sites"]["items"]["additionalProperties"] = True
    for name in ("Chart.yaml", "values.yaml"):
        (tmp_path / name).write_text((FOLDER / name).read_text())
    (tmp_path / "values.schema.json").write_text(json.dumps(schema))
    assert strays_taken(helm, tmp_path) == ["/sites/0"]


def test_a_wrong_type_is_refused_at_every_leaf(helm: render.Renderer) -> None:
    assert test_schema.wrong_types_accepted(grid.SITE, helm, FOLDER) == []


def test_every_value_of_the_schema_shows_in_a_render(helm: render.Renderer) -> None:
    assert test_schema.values_without_effect(grid.SITE, helm, FOLDER) == []


def test_whatever_is_left_out_the_resource_stays_whole(helm: render.Renderer) -> None:
    """Each optional value by itself, and all of them at once, as null and as its own kind of nothing."""
    full = yaml.safe_load(EVERYTHING.read_text())
    groups = [{name: empty} for name in OPTIONAL for empty in empties(name)]
    groups += [{name: list(empties(name))[number] for name in OPTIONAL} for number in (0, 1)]
    # Not over the file, since Helm merges {} into what is there.
    values = [{**full, "gridNetwork": {**full["gridNetwork"], **group}} for group in groups]
    cases = [render.Case(FOLDER, "site-a", overrides=one) for one in values]
    for group, outcome in zip(groups, helm.render_all(cases), strict=True):
        assert isinstance(outcome, render.Rendered), str(outcome)
        found = [*judges.nothing_is_null(outcome), *grid.the_spec_is_never_empty(outcome)]
        assert found + list(grid.resources_are_whole_for_their_crds(outcome)) == [], str(outcome.case)
        spec = next(item.body["spec"] for item in outcome.objects if item.kind == "GridNetwork")
        assert not spec.keys() & group.keys()


@pytest.mark.parametrize("path", [("swim", "probeInterval"), ("tls", "swimKeyRef"), ("budgetPolicy", "tenants")])
def test_a_null_deeper_down_is_refused_by_its_place(path: tuple[str, str], helm: render.Renderer) -> None:
    case = render.Case(FOLDER, "site-a", overrides=network(**{path[0]: {path[1]: None}}))
    with pytest.raises(errors.CommandFailed) as refused:
        helm.render(case)
    assert f"/gridNetwork/{path[0]}/{path[1]}': got null, want " in refused.value.output


def test_a_policy_with_no_tenants_is_a_policy(helm: render.Renderer) -> None:
    case = render.Case(FOLDER, "site-a", overrides=network(budgetPolicy={"tenants": []}))
    assert helm.render(case).one("GridNetwork", "site-a")["spec"] == {"gridId": "", "budgetPolicy": {"tenants": []}}


def test_large_numbers_are_written_out(helm: render.Renderer) -> None:
    policy = {"epoch": 2**53 - 1, "tenants": [{"tenantId": "a", "capUsd": 10**12}]}
    text = helm.render(render.Case(FOLDER, "site-a", overrides=network(budgetPolicy=policy))).text
    assert "epoch: 9007199254740991\n" in text


def test_two_sites_in_one_cluster_share_no_name(helm: render.Renderer) -> None:
    overrides = {"sites": [SITE], "providers": [PROVIDER]}
    one, other = (
        {(item.kind, item.name) for item in helm.render(render.Case(FOLDER, release, overrides=overrides)).objects}
        for release in ("site-a", "site-b")
    )
    assert len(one) == 3
    assert one & other == set()
