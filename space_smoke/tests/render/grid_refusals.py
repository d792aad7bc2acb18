"""What grid-operator and grid-site refuse: a name, the charts, the values, and the place and the rule in one line.

Rows of the table in `refusals`.
"""

from __future__ import annotations

from typing import Any

from space_smoke.tests.render.grid import OPERATOR, SITE


def _network(**values: Any) -> dict[str, Any]:
    return {"gridNetwork": values}


def _tenant(tenant: Any, cap: Any) -> dict[str, Any]:
    return _network(budgetPolicy={"tenants": [{"tenantId": tenant, "capUsd": cap}]})


_BUDGET = "at '/gridNetwork/budgetPolicy"
REFUSED: list[tuple[str, tuple[str, ...], dict[str, Any], str, str]] = [
    ("two processes of a site", (OPERATOR,), {"replicaCount": 2}, "at '/replicaCount'", "maximum: got 2, want 1"),
    ("no process of a site", (OPERATOR,), {"replicaCount": 0}, "at '/replicaCount'", "minimum: got 0, want 1"),
    (
        "the port of the service for gossip",
        (OPERATOR,),
        {"swim": {"port": 8080}},
        "at '/swim/port'",
        "'not' failed",
    ),
    (
        "a seed without a port",
        (OPERATOR,),
        {"swim": {"seeds": ["b.example"]}},
        "at '/swim/seeds/0'",
        "does not match pattern",
    ),
    (
        "an operator of no network",
        (OPERATOR,),
        {"network": {"name": ""}},
        "at '/network/name'",
        "does not match pattern",
    ),
    (
        "a port of the nodes that nothing opens",
        (OPERATOR,),
        {"swim": {"service": {"type": "LoadBalancer", "nodePort": 30000}}},
        'swim.service.nodePort=30000 with swim.service.type="LoadBalancer"',
        "only for a Service of type NodePort",
    ),
    (
        "a planted fault of the grid in a deployment",
        (OPERATOR,),
        {"mutation": "no-cap"},
        'mutation="no-cap"',
        "a planted fault is only for a bench",
    ),
    ("a blank tenant", (SITE,), _tenant("  ", 1), f"{_BUDGET}/tenants/0/tenantId'", "does not match pattern"),
    (
        "a tenant that YAML made a number",
        (SITE,),
        _tenant(7, 1),
        f"{_BUDGET}/tenants/0/tenantId'",
        "got number, want string",
    ),
    (
        "a tenant id of 254 characters",
        (SITE,),
        _tenant("é" * 254, 1),
        f"{_BUDGET}/tenants/0/tenantId'",
        "maxLength: got 254, want 253",
    ),
    ("a cap below zero", (SITE,), _tenant("a", -1), f"{_BUDGET}/tenants/0/capUsd'", "minimum: got -1, want 0"),
    ("a cap without end", (SITE,), _tenant("a", 1e13), f"{_BUDGET}/tenants/0/capUsd'", "maximum: got 1"),
    (
        "a policy without tenants",
        (SITE,),
        _network(budgetPolicy={"epoch": 2}),
        f"{_BUDGET}'",
        "missing property 'tenants'",
    ),
    (
        "a field that no CRD has",
        (SITE,),
        _network(budgetPolicy={"tenants": [], "currency": "EUR"}),
        f"{_BUDGET}'",
        "additional properties 'currency' not allowed",
    ),
    (
        "a grid without an id",
        (SITE,),
        _network(gridId=None),
        "at '/gridNetwork'",
        "missing property 'gridId'",
    ),
    (
        "a key that is no key",
        (SITE,),
        {"sites": [{"siteName": "a", "publicKey": "AAAA"}]},
        "at '/sites/0/publicKey'",
        "minLength: got 4, want 44",
    ),
    (
        "a site without a name",
        (SITE,),
        {"sites": [{"publicKey": "A" * 43 + "="}]},
        "at '/sites/0'",
        "missing property 'siteName'",
    ),
]
