"""Settings of the operator: every mistake at once, with name, value and rule."""

from __future__ import annotations

import pathlib
import re

import pytest

from common import settings
from grid_operator import config, mutations
from swim import parameters
from tests import process

GOOD = {
    "SPACE_DATABASE_URL": "postgresql://app@db/space",
    "GRID_NETWORK_NAME": "grid",
    "GRID_SWIM_SITE_NAME": "a",
    "GRID_SWIM_ADVERTISE_ADDR": "10.0.0.1:7946",
}
CHART = pathlib.Path(__file__).parents[3] / "charts" / "grid-operator"
WRONG = {
    "GRID_NETWORK_NAME": "Grid_A",
    "GRID_SWIM_SITE_NAME": "a.b",
    "GRID_SWIM_PROFILE": "moon",
    "GRID_SWIM_BIND_ADDR": "0.0.0.0",
    "GRID_SWIM_ADVERTISE_ADDR": "",
    "GRID_SWIM_SEEDS": "b:7946,c:70000",
    "GRID_REQUEST_KEEP_S": "1",
    "SPACE_DATABASE_URL": "",
    "SPACE_MUTATION": "no-such-defect",
}


def mistakes(**changed: str) -> tuple[str, ...]:
    with pytest.raises(settings.SettingsError) as raised:
        config.read({**GOOD, **changed})
    return raised.value.mistakes


class Asked(dict[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__(given)
        self.names: set[str] = set()

    def get(self, name: str, default: object = None) -> str:  # type: ignore[override]
        self.names.add(name)
        return str(super().get(name, default))


def test_the_chart_renders_each_variable_that_is_read_and_no_other() -> None:
    environment = Asked(GOOD)
    config.read(environment)
    templates = CHART.glob("templates/*.tpl")
    rendered = {name for path in templates for name in re.findall(r"- name: ((?:GRID|SPACE)_\w+)", path.read_text())}
    # GRID_OWN_IP is what the advertised address is made of; the version is in the image.
    assert rendered - {"GRID_OWN_IP"} == environment.names - {"SPACE_VERSION"}


def test_the_defaults_are_those_of_a_deployment() -> None:
    read = config.read(GOOD)
    assert (read.own.profile, read.gossip, read.bind) == ("deployment", parameters.LAN, ("0.0.0.0", 7946))
    assert (read.seeds, read.own.mutations, read.request_keep_s) == ((), frozenset(), 7 * 86400)


def test_seeds_are_names_or_addresses_and_none_counts_twice() -> None:
    assert config.read({**GOOD, "GRID_SWIM_SEEDS": " b.example:1, 10.0.0.2:2,b.example:1,"}).seeds == (
        "b.example:1",
        "10.0.0.2:2",
    )


def test_all_mistakes_come_at_once_and_end_the_start_with_64() -> None:
    found = mistakes(**WRONG)
    assert sorted(mistake.partition("=")[0] for mistake in found) == sorted(WRONG)
    done = process.run("grid_operator", **{**GOOD, **WRONG})
    assert done.returncode == settings.EXIT_CODE
    assert all(f"  {name}=" in done.stderr for name in WRONG)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("GRID_NETWORK_NAME", "", "must be set to the name of a GridNetwork"),
        ("GRID_SWIM_SITE_NAME", "x" * 64, "must be set to a DNS label"),
        ("GRID_SWIM_ADVERTISE_ADDR", "$(GRID_OWN_IP):7946", "must be host:port"),
        ("GRID_SWIM_ADVERTISE_ADDR", "a:0", "a port from 1 to 65535"),
        ("GRID_SWIM_SEEDS", ",".join(f"s{number}:1" for number in range(65)), "at most 64"),
        ("SPACE_MUTATION", "no-cap", "only for SPACE_PROFILE=kind"),
    ],
)
def test_a_wrong_value_is_named_with_its_rule(name: str, value: str, rule: str) -> None:
    (mistake,) = mistakes(**{name: value})
    assert mistake.startswith(f"{name}=")
    assert rule in mistake


def test_defects_of_operator_gossip_and_services_may_be_named_on_a_bench() -> None:
    names = frozenset({mutations.PERSIST_AFTER_ACK, "no-cap", "no-retry-after"})
    read = config.read({**GOOD, "SPACE_PROFILE": "kind", "SPACE_MUTATION": ",".join(names)})
    assert read.own.mutations == names


def test_outside_a_cluster_it_says_what_it_lacks() -> None:
    done = process.run("grid_operator", **GOOD, KUBERNETES_SERVICE_HOST="")
    assert (done.returncode, "service account" in done.stderr) == (settings.EXIT_CODE, True)
