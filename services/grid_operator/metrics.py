"""What the operator counts, beside its answers. No label and no value is about one tenant: who may read metrics may not
read what a tenant spends."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import prometheus_client as prometheus
from prometheus_client import metrics_core, registry

from grid_operator import mutations
from grid_operator.mesh import Mesh
from swim import members

_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """`mesh` gives the present one, None while there is none."""

    def __init__(
        self,
        to: prometheus.CollectorRegistry,
        mesh: Callable[[], Mesh | None],
        active: frozenset[str] = frozenset(),
    ) -> None:
        self._reconciles = prometheus.Counter(
            "grid_reconciles", "Reconciles, by how they ended", ("outcome",), registry=to
        )
        self._writes = prometheus.Counter("grid_status_writes", "Statuses written", ("kind",), registry=to)
        self._spends = prometheus.Counter(
            "grid_spends", "Requests of spend, by what became of them", ("outcome",), registry=to
        )
        self._seconds = prometheus.Histogram(
            "grid_spend_seconds", "From a request of spend to its acknowledgement", buckets=_SECONDS, registry=to
        )
        to.register(_Gossip(mesh, mutations.SPEND_IN_METRICS in active))

    def reconciled(self, outcome: str) -> None:
        self._reconciles.labels(outcome).inc()

    def wrote(self, kind: str) -> None:
        self._writes.labels(kind).inc()

    def spent(self, outcome: str) -> None:
        """`outcome`: `accepted`, `replayed`, or a refusal's machine code."""
        self._spends.labels(outcome).inc()

    def acknowledged(self, seconds: float) -> None:
        self._seconds.observe(seconds)


class _Gossip(registry.Collector):
    """The node's own numbers; they begin again with each life of the mesh."""

    def __init__(self, mesh: Callable[[], Mesh | None], tells_spend: bool) -> None:
        self._mesh, self._tells_spend = mesh, tells_spend

    def describe(self) -> list[prometheus.Metric]:
        return []

    def collect(self) -> Iterator[prometheus.Metric]:
        mesh = self._mesh()
        yield _gauge("grid_mesh_open", "1 while this site gossips", float(mesh is not None))
        if mesh is None:
            return
        node = mesh.node
        events = metrics_core.CounterMetricFamily(
            "grid_gossip_events",
            "What the gossip sent, received, merged, refused and dropped",
            labels=["what", "which"],
        )
        for (what, which), count in sorted(node.counters.items()):
            events.add_metric([what, which], count)
        events.add_metric(["packet", "not_sent"], mesh.shell.errors)
        events.add_metric(["exchange", "refused"], mesh.shell.refused_streams)
        yield events
        states = metrics_core.GaugeMetricFamily("grid_members", "Other members, by state", labels=["state"])
        for state in members.STATES:
            states.add_metric([state], sum(1 for _ in node.members.others(state)))
        yield states
        tenants, origins = node.ledger.sizes()
        yield _gauge("grid_ledger_tenants", "Tenants with spend in the present epoch", tenants)
        yield _gauge("grid_ledger_origins", "Sites with spend in the present epoch", origins)
        yield _gauge("grid_gossip_waiting", "Items that wait to be told to others", node.waiting)
        yield _gauge("grid_gossip_health", "Local health of Lifeguard, 0 is healthy", node.health)
        yield _gauge("grid_totals_settled", "1 once totals hold more than what this site spent", float(mesh.settled))
        yield _gauge("grid_own_key_pinned", "1 while a GridSite gives this site its own key", float(mesh.recognised))
        if (lag_s := mesh.lag_s) is not None:
            yield _gauge("grid_lag_seconds", "Since all that some peer knew was known here as well", lag_s)
        if self._tells_spend:
            spend = metrics_core.GaugeMetricFamily("grid_tenant_cents", "Spend of a tenant", labels=["tenant"])
            for tenant, cents in node.ledger.totals().items():
                spend.add_metric([tenant], cents)
            yield spend
        trouble = mesh.writer.trouble
        yield _gauge("grid_spend_persisted", "0 while the database refuses spend", float(not trouble))


def _gauge(name: str, text: str, value: float) -> metrics_core.GaugeMetricFamily:
    return metrics_core.GaugeMetricFamily(name, text, value=value)
