"""The grid: what sites of it show of spend, providers and policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke.tests.mutation_rows.shape import Row, Spoiling, attempt, more, only

CONVERGES = "grid.spend_converges_across_sites"
PROVIDERS = "grid.spend_only_keeps_providers"
RESTART = "grid.restart_keeps_acknowledged_spend"
PARTITION = "grid.partition_heals"
EVICTION = "grid.eviction_never_lowers_spend"
IDLE = "grid.idle_is_quiet"
CRD = "grid.crd_is_current"
EDGES = "grid.policy_edges"
READERS = "grid.tenant_cannot_read_others_spend"
REMOVED = "grid.policy_removed_by_upgrade"
JOINER = "grid.late_joiner_learns_dead_origins_spend"
NETWORKS = "grid.two_networks_do_not_mix"
KEYS = "grid.encryption"
CEILING = "grid.packet_ceiling"

OPERATOR = "grid-operator"  # the chart of each site's release
# One alone heals: what gossip does not bring the next exchange does, and the other way round.
_UNTOLD = "no-push-pull,spend-as-metadata"
_NO_POLICY: Mapping[str, Any] = {"kind": "grid-values", "values": {"gridNetwork": {"budgetPolicy": None}}}


def _switch(scenario: str, check: str, breaks: str, switch: str) -> Row:
    return Row(scenario, check, breaks, switch, release=OPERATOR)


def _spoiled(scenario: str, check: str, breaks: str, *path: str | int, value: Any) -> Row:
    return Row(scenario, check, breaks, spoiling=Spoiling(path, value))


ROWS: Sequence[Row] = (
    _switch(CONVERGES, "spend-converges seen", "spend that comes alone is not merged, and none is exchanged", _UNTOLD),
    _switch(
        CONVERGES, "spend-monotone seen", "spend counts three seconds after it is acknowledged", "persist-after-ack"
    ),
    _switch(
        PROVIDERS,
        "providers-unchanged seen",
        "spend that comes alone empties its origin's providers",
        "spend-only-wipes-providers",
    ),
    _switch(PROVIDERS, "spend-converges seen", "spend that comes alone is not merged, and none is exchanged", _UNTOLD),
    _switch(RESTART, "spend-converges seen", "spend is acknowledged before it is written", "persist-after-ack"),
    *(
        _switch(RESTART, check, "spend is acknowledged before it is written", "persist-after-ack")
        for check in ("spend-replayed again", "spend-replayed again-more")
    ),
    _switch(RESTART, "spend-monotone seen", "an exchange of states carries no spend", "no-push-pull"),
    _switch(PARTITION, "spend-converges seen", "an exchange of states carries no spend", "no-push-pull"),
    _switch(
        PARTITION, "spend-monotone seen", "spend counts three seconds after it is acknowledged", "persist-after-ack"
    ),
    _spoiled(PARTITION, "condition seen", "another port than the gossip's is cut off", "faults", 0, "port", value=7947),
    _spoiled(PARTITION, "condition seen #2", "the cut is never healed", "faults", 0, "phases", value=["cut", "healed"]),
    _switch(EVICTION, "spend-monotone seen", "a member's spend goes with its membership", "eviction-clears-spend"),
    _switch(EVICTION, "spend-converges seen", "an exchange of states carries no spend", "no-push-pull"),
    Row(
        IDLE,
        "status-quiet idle",
        "a site has just come back",
        spoiling=only(
            name="away",
            kind="delete-pod",
            target="statefulset/grid-b",
            namespace="grid-b",
            grace="1s",
            phases=["idle"],
        ),
    ),
    *(
        _spoiled(IDLE, f"condition idle{more}", "the mesh is whole", "checks", number, "status", value="False")
        for number, more in ((1, ""), (2, " #2"), (3, " #3"))
    ),
    Row(
        CRD,
        "crd-current read",
        "a definition is that of an older release",
        spoiling=only(
            name="old",
            kind="crd-prune",
            target="crd/gridnetworks.grid.praxis-proxy.io",
            field="spec.metricsRefreshInterval",
            phases=["standing"],
        ),
    ),
    Row(
        EDGES,
        "attempts tried",
        "the tenant has a name",
        spoiling=attempt(0, 0, 5, "spec", {"budgetPolicy": {"tenants": [{"tenantId": "acme", "capUsd": 1}]}}),
    ),
    Row(
        READERS,
        "attempts tenant",
        "whoever reads has the harness's rights",
        spoiling=attempt(0, 0, 0, "as", "harness"),
    ),
    Row(
        READERS,
        "attempts neighbour",
        "whoever reads has the harness's rights",
        spoiling=attempt(0, 1, 0, "as", "harness"),
    ),
    _switch(REMOVED, "budget-rows without", "what a status said before stays in it", "stale-status-kept"),
    Row(
        REMOVED,
        "budget-rows without #2",
        "the policy of another site is taken away as well",
        spoiling=more(name="too-many", target="gridnetwork/grid-a", phases=["removed"], **_NO_POLICY),
    ),
    _spoiled(
        REMOVED,
        "condition without",
        "a policy without tenants is left",
        *("faults", 0, "values", "gridNetwork", "budgetPolicy"),
        value={"tenants": []},
    ),
    _spoiled(
        REMOVED, "budget-rows after", "the policy is not put back", "faults", 0, "phases", value=["removed", "back"]
    ),
    _switch(JOINER, "spend-converges seen", "a site tells others of its own spend only", "relay-only-own"),
    _switch(JOINER, "spend-monotone seen", "spend counts three seconds after it is acknowledged", "persist-after-ack"),
    *(
        _switch(NETWORKS, f"spend-apart {watch}", "all networks gossip under one id", "networks-mixed")
        for watch in ("apart", "seen")
    ),
    Row(
        NETWORKS,
        "budget-rows after",
        "a site has no policy when it is back",
        spoiling=more(name="no-policy", target="gridnetwork/grid-b", phases=["again"], **_NO_POLICY),
    ),
    _spoiled(NETWORKS, "condition after", "a site stays away", "faults", 0, "phases", value=["two", "again"]),
    *(
        _switch(KEYS, check, "packets are plain, whatever keys are named", "packets-not-sealed")
        for check in ("condition silent", "spend-apart apart", "condition apart", "condition apart #2")
    ),
    _switch(
        CEILING,
        "spend-converges seen",
        "once all spend is larger than a packet none is told, and none is exchanged",
        "one-packet-or-nothing,no-push-pull",
    ),
    _switch(KEYS, "spend-converges seen", "an exchange of states carries no spend", "no-push-pull"),
    _switch(KEYS, "spend-monotone seen", "spend counts three seconds after it is acknowledged", "persist-after-ack"),
)
