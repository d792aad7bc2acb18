"""Judges of grid-operator and grid-site. Used by `claims`.

A resource is judged by the CRDs that grid-operator brings: what their schema does not name, an API server would drop.
"""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import yaml

from space_smoke.charts import render
from space_smoke.tests.render import reading

OPERATOR, SITE = "grid-operator", "grid-site"
RELEASES = {
    OPERATOR: {"release": "operator-a", "namespace": "site-a", "values": "bench-values/grid-operator.yaml"},
    SITE: {"release": "site-a", "namespace": "site-a", "values": "bench-values/grid-site.yaml"},
}
CRDS = pathlib.Path(__file__).parents[3] / "charts" / OPERATOR / "crds"
_GROUP = "grid.praxis-proxy.io"
_PLURALS = ("gridnetworks", "gridsites", "inferenceproviders")
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"


@functools.cache
def crds() -> dict[str, dict[str, Any]]:
    """kind -> schema of the whole resource."""
    found = [yaml.safe_load(path.read_text())["spec"] for path in sorted(CRDS.glob("*.yaml"))]
    return {one["names"]["kind"]: one["versions"][0]["schema"]["openAPIV3Schema"] for one in found}


def leaves(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """The paths of all fields below `schema` that have none below themselves."""
    inner = schema.get("items", {})
    properties = {**schema.get("properties", {}), **inner.get("properties", {})}
    if not properties:
        yield path
    for name, field in properties.items():
        yield from leaves(field, f"{path}.{name}")


def given(value: object, path: str) -> Iterator[str]:
    """The same paths of what a resource holds."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from given(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from given(inner, path)
    else:
        yield path


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _closed(inner) for name, inner in schema.items()}
    return {**found, "additionalProperties": False} if isinstance(schema.get("properties"), dict) else found


def _resources(rendered: render.Rendered) -> Iterator[render.Object]:
    yield from (item for item in rendered.objects if item.kind in crds())


def _spec(rendered: render.Rendered) -> Mapping[str, Any]:
    (network,) = [item for item in rendered.objects if item.kind == "GridNetwork"]
    return network.body["spec"] or {}


def _operator(rendered: render.Rendered) -> Mapping[str, Any]:
    return reading.container(rendered, "StatefulSet", rendered.case.release)


def _swim_ports(rendered: render.Rendered) -> dict[str, Mapping[str, Any]]:
    return {port["protocol"]: port for port in _operator(rendered)["ports"] if port["name"].startswith("swim")}


def _swim_services(rendered: render.Rendered) -> list[render.Object]:
    return [item for item in rendered.objects if item.kind == "Service" and "-swim" in item.name]


# grid-operator


def there_is_one_process_of_a_site(rendered: render.Rendered) -> Iterator[str]:
    spec = rendered.one("StatefulSet", rendered.case.release)["spec"]
    yield from reading.unless(spec["replicas"] == 1, f"replicas is {spec['replicas']}")
    policy = spec.get("podManagementPolicy")
    yield from reading.unless(policy == "Parallel", f"podManagementPolicy is {policy}: a broken pod keeps its cure out")


def it_runs_the_operator(rendered: render.Rendered) -> Iterator[str]:
    command = _operator(rendered)["command"]
    yield from reading.unless(command == ["python3", "-m", "grid_operator"], f"the command is {command}")


def it_is_told_who_it_is(rendered: render.Rendered) -> Iterator[str]:
    told = reading.environment(_operator(rendered))
    for name in ("GRID_NETWORK_NAME", "GRID_SWIM_SITE_NAME", "GRID_SWIM_PROFILE"):
        yield from reading.unless(bool(told.get(name)), f"{name} is {told.get(name)!r}")


def peers_are_told_an_address_that_reaches_it(rendered: render.Rendered) -> Iterator[str]:
    told, port = reading.environment(_operator(rendered)), _swim_ports(rendered)["UDP"]
    if told["GRID_SWIM_ADVERTISE_ADDR"].startswith("$("):
        wanted = f"$(GRID_OWN_IP):{port['containerPort']}"
        seen = told["GRID_SWIM_ADVERTISE_ADDR"]
        yield from reading.unless(seen == wanted, f"peers are told {seen}, not {wanted}")
        path = told["GRID_OWN_IP"]["fieldRef"]["fieldPath"]
        whose = "status.hostIP" if "hostPort" in port else "status.podIP"
        yield from reading.unless(path == whose, f"peers are told {path}, and the port is open at {whose}")
        order = list(told)
        first = order.index("GRID_OWN_IP") < order.index("GRID_SWIM_ADVERTISE_ADDR")
        yield from reading.unless(first, "GRID_OWN_IP is set after what refers to it, so it is not expanded")


def swim_listens_by_both_protocols(rendered: render.Rendered) -> Iterator[str]:
    ports, bound = _swim_ports(rendered), reading.environment(_operator(rendered))["GRID_SWIM_BIND_ADDR"]
    seen = {protocol: f"0.0.0.0:{port['containerPort']}" for protocol, port in ports.items()}
    yield from reading.unless(seen == {"UDP": bound, "TCP": bound}, f"it binds {bound} and opens {seen}")


def peers_find_it_by_both_protocols(rendered: render.Rendered) -> Iterator[str]:
    (service,) = _swim_services(rendered)
    number = _swim_ports(rendered)["UDP"]["containerPort"]
    seen = {port["protocol"]: port["port"] for port in service.body["spec"]["ports"]}
    yield from reading.unless(seen == {"UDP": number, "TCP": number}, f"{service}: has {seen}, the pod {number}")
    ready = service.body["spec"].get("publishNotReadyAddresses")
    yield from reading.unless(ready is True, f"{service}: hides a site that is not ready, which gossips all the same")


def it_is_not_reached_from_outside_unless_asked(rendered: render.Rendered) -> Iterator[str]:
    yield from (f"{item} is rendered" for item in _swim_services(rendered))
    yield from reading.unless("hostPort" not in rendered.text, "a port of the node is taken")


def its_rights_are_what_it_needs(rendered: render.Rendered) -> Iterator[str]:
    network = reading.environment(_operator(rendered))["GRID_NETWORK_NAME"]
    named: dict[str, Any] = {"apiGroups": [_GROUP], "resourceNames": [network]}
    others: dict[str, Any] = {"apiGroups": [_GROUP]}
    wanted = [
        {**named, "resources": ["gridnetworks"], "verbs": ["get", "list", "watch"]},
        {**named, "resources": ["gridnetworks/status"], "verbs": ["patch"]},
        {**others, "resources": ["gridsites", "inferenceproviders"], "verbs": ["list", "watch"]},
        {**others, "resources": ["gridsites/status", "inferenceproviders/status"], "verbs": ["patch"]},
    ]
    (rules,) = [item.body["rules"] for item in rendered.objects if item.kind == "ClusterRole"]
    yield from reading.unless(rules == wanted, f"in the cluster it may {rules}")
    for rule in rendered.one("Role", rendered.case.release)["rules"]:
        narrow = rule["resources"] == ["secrets"] and rule["verbs"] == ["get", "watch"] and rule.get("resourceNames")
        yield from reading.unless(bool(narrow), f"in its namespace it may {rule}")


def nobody_else_gets_its_rights(rendered: render.Rendered) -> Iterator[str]:
    for item in rendered.objects:
        if item.kind == "ClusterRole":
            wider = [name for name in item.body["metadata"]["labels"] if name.startswith(_AGGREGATE)]
            yield from reading.unless(not wider, f"{item}: {wider} give it to whoever may view a namespace")
        if item.kind in ("ClusterRole", "ClusterRoleBinding"):
            own = item.name.startswith(f"{rendered.case.namespace}-")
            yield from reading.unless(own, f"{item}: a release of this name in another namespace would share it")
        if item.kind == "ClusterRoleBinding":
            account = {"kind": "ServiceAccount", "name": rendered.case.release, "namespace": rendered.case.namespace}
            yield from reading.unless(item.body["subjects"] == [account], f"{item}: binds {item.body['subjects']}")
            role = item.body["roleRef"]["name"]
            yield from reading.unless(role == item.name, f"{item}: refers to {role}")


def the_crds_come_with_it(rendered: render.Rendered) -> Iterator[str]:
    seen = {item.name for item in rendered.objects if item.kind == "CustomResourceDefinition"}
    yield from reading.unless(seen == {f"{plural}.{_GROUP}" for plural in _PLURALS}, f"it brings {sorted(seen)}")


# grid-site


def the_spec_is_never_empty(rendered: render.Rendered) -> Iterator[str]:
    yield from reading.unless(isinstance(_spec(rendered).get("gridId"), str), "GridNetwork.spec.gridId is not rendered")


def resources_are_whole_for_their_crds(rendered: render.Rendered) -> Iterator[str]:
    for item in _resources(rendered):
        schema = crds()[item.kind]["properties"]["spec"]
        for error in jsonschema.Draft202012Validator(_closed(schema)).iter_errors(item.body["spec"]):
            yield f"{item}: spec{error.json_path[1:]}: {error.message}"


def every_field_of_the_crds_is_rendered(rendered: render.Rendered) -> Iterator[str]:
    seen = {path for item in _resources(rendered) for path in given(item.body["spec"], f"{item.kind}.spec")}
    for kind, schema in crds().items():
        for path in leaves(schema["properties"]["spec"], f"{kind}.spec"):
            yield from reading.unless(path in seen, f"{path} is in no resource")


def all_belong_to_the_network(rendered: render.Rendered) -> Iterator[str]:
    (network,) = [item.name for item in rendered.objects if item.kind == "GridNetwork"]
    for item in _resources(rendered):
        if item.kind != "GridNetwork":
            seen = item.body["spec"]["gridNetworkRef"]["name"]
            yield from reading.unless(seen == network, f"{item}: belongs to {seen}, not to {network}")


def what_is_not_given_is_not_rendered(rendered: render.Rendered) -> Iterator[str]:
    yield from reading.unless(set(_spec(rendered)) == {"gridId"}, f"the spec has {sorted(_spec(rendered))}")
    yield from reading.unless(len(rendered.objects) == 1, f"rendered are {[str(item) for item in rendered.objects]}")


def the_policy_is_passed_through(rendered: render.Rendered) -> Iterator[str]:
    wanted = yaml.safe_load(rendered.case.values[-1].read_text())["gridNetwork"]["budgetPolicy"]
    seen = _spec(rendered).get("budgetPolicy")
    yield from reading.unless(seen == wanted, f"the policy is {seen}, not {wanted}")
