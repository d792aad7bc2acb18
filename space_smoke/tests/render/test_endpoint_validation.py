"""The scenario local.chart_endpoint_validation, tried whole without a cluster, as it stands and with what its mutations spoil.

Helm renders and refuses for real; its question to the API server, and the API server itself, are doubles.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from space_smoke import errors, suite
from space_smoke.bench import helm_dry_run, kube, proc
from space_smoke.charts import render
from space_smoke.checks import judge
from space_smoke.loads import chart_dry_run, listing
from space_smoke.model import scenario, verdict
from space_smoke.spec import load as loading
from space_smoke.tests import mutations
from space_smoke.tests.unit import api_double

ID = "local.chart_endpoint_validation"
THE = next(the for the in suite.choose() if the.id == ID)
SPOILED = [row for row in mutations.ROWS if row.scenario == ID and row.spoiling and row.spoiling.path != ("faults",)]
SERVED = {
    "v1": {"Service": "services", "ServiceAccount": "serviceaccounts", "Pod": "pods", "Event": "events"},
    "apps/v1": {"Deployment": "deployments"},
    "batch/v1": {"Job": "jobs"},
    "rbac.authorization.k8s.io/v1": {"Role": "roles", "RoleBinding": "rolebindings"},
}


class Cluster:
    """An API server that serves SERVED, lists what is `there` by plural, and refuses a pod's user that is below 0."""

    kubeconfig, context = None, None

    def __init__(self) -> None:
        self.there: dict[str, list[dict[str, Any]]] = {}
        self.tried: list[str] = []

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        parts = urlsplit(path)
        if method == "POST":
            assert parts.query == "dryRun=All&fieldValidation=Strict"
            self.tried.append(parts.path)
            user = (
                body.get("spec", {}).get("template", {}).get("spec", {}).get("securityContext", {}).get("runAsUser", 0)
            )
            return (422, {"message": f"runAsUser: Invalid value: {user}"}) if user < 0 else (201, body)
        if parts.path == "/apis":
            groups = [version for version in SERVED if "/" in version]
            return 200, {"groups": [{"preferredVersion": {"groupVersion": version}} for version in groups]}
        version = parts.path.removeprefix("/apis/").removeprefix("/api/")
        if version in SERVED:
            verbs = ["list", "create"]
            named = [
                {"name": plural, "kind": kind, "namespaced": True, "verbs": verbs}
                for kind, plural in SERVED[version].items()
            ]
            return 200, {"resources": [*named, {"name": "pods/log", "kind": "Pod", "namespaced": True, "verbs": []}]}
        return 200, {"items": self.there.get(parts.path.rpartition("/")[2], [])}


@pytest.fixture
def cluster(helm: render.Renderer, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """With a Helm that renders where it would ask the API server."""

    def run(argv: Sequence[str], *, timeout_s: float, check: bool) -> proc.Done:
        assert {"--install", "--dry-run=server"} <= set(argv)
        assert (check, argv[argv.index("--namespace") + 1]) == (False, "default")
        values = yaml.safe_load(pathlib.Path(argv[argv.index("--values") + 1]).read_text())
        try:
            rendered = helm.render(render.Case(pathlib.Path(argv[4]), argv[3], "default", overrides=values))
        except errors.CommandFailed as refused:
            return proc.Done("", f"walk.go:75: found symbolic link\n{refused.output}", 1, 0.1)
        return proc.Done(json.dumps({"manifest": rendered.text, "hooks": []}), "", 0, 0.1)

    monkeypatch.setattr(proc, "run", run)
    return Cluster()


def tried(the: scenario.Scenario, cluster: Cluster, only: str = "") -> dict[str, verdict.Verdict]:
    """Its loads driven (or one of them alone), and every check judged, by label."""
    run = api_double.Run(cluster=cluster)
    for phase in the.phases:
        for one in phase.loads:
            if only in ("", one.name):
                run.emit("load-started", load=one.name, phase=phase.name)
                flow = run.load(one.kind, one.name, **one.arguments)
                if one.kind == chart_dry_run.KIND.name:
                    chart_dry_run.drive(flow, lambda: pathlib.Path("helm"))
                else:
                    listing.drive(flow)
                run.emit("load-ended", load=one.name, phase=phase.name, requests=flow.sent)
    return {item.check: item for item in judge.judge_all(the, run.events)}


def install(cluster: Cluster, tmp_path: pathlib.Path, **values: Any) -> helm_dry_run.Rehearsal:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    chart = chart_dry_run.CHARTS / "space-cluster"
    as_kube: kube.Kube = cluster  # type: ignore[assignment]
    return helm_dry_run.install(as_kube, pathlib.Path("helm"), "space-cluster", chart, "default", file)


def test_the_installer_passes_every_check(cluster: Cluster) -> None:
    cluster.there["services"] = [{"metadata": named("kubernetes")}]
    found = tried(THE, cluster)
    wrong = {name: item.sentence for name, item in found.items() if item.judged != verdict.Judged.PASS}
    assert set(wrong) == {"nothing-left", "current-pods"}, wrong  # those ask a bench


@pytest.mark.parametrize("row", SPOILED, ids=lambda row: row.check)
def test_each_spoiling_turns_its_check_red_and_says_why(
    row: mutations.Row, cluster: Cluster, tmp_path: pathlib.Path
) -> None:
    mutations.write_spoiled(row, tmp_path)
    (the,) = loading.scenarios(tmp_path, suite.tables())
    found = tried(the, cluster, row.check.split()[1])[row.check]
    assert found.judged == verdict.Judged.FAIL, found.sentence
    assert "; saw " in found.sentence


def test_every_rendered_object_is_tried_in_the_releases_namespace(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    ended = install(cluster, tmp_path)
    assert (ended.code, len(cluster.tried)) == (0, len(ended.rendered))
    assert cluster.tried.count("/apis/apps/v1/namespaces/default/deployments") == 4
    assert "/api/v1/namespaces/default/services" in cluster.tried


def test_what_the_api_server_refuses_is_told_with_its_name(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    ended = install(cluster, tmp_path, **{"space-api": {"podSecurityContext": {"runAsUser": -1}}})
    assert ended.code == 422
    assert "space-api: runAsUser: Invalid value: -1" in ended.said


def test_a_kind_that_the_api_server_does_not_know_is_a_refusal(
    cluster: Cluster, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SERVED, "apps/v1", {})
    ended = install(cluster, tmp_path)
    assert ended.code == 404
    assert "the API server has no kind Deployment in apps/v1" in ended.said


def test_a_refusal_begins_with_what_helm_refuses(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    ended = install(cluster, tmp_path, database={"maxConnections": 1})
    assert ended.code == 1
    assert ended.said.startswith("execution error at")


def test_a_helm_that_reached_no_cluster_has_refused_nothing(
    cluster: Cluster, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "warning\nError: INSTALLATION FAILED: Kubernetes cluster unreachable: connection refused"
    monkeypatch.setattr(proc, "run", lambda *_a, **_k: proc.Done("", said, 1, 0.1))
    with pytest.raises(errors.ApiError, match="unreachable"):
        install(cluster, tmp_path)


def named(name: str, uid: str = "uid-1", version: str = "1", namespace: str = "default") -> dict[str, str]:
    return {"name": name, "uid": uid, "resourceVersion": version, "namespace": namespace}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ([named("a")], [named("a")], ""),
        ([named("a", namespace="b", version="1")], [named("a", namespace="b", version="2")], ""),
        ([named("a")], [named("a"), named("c", namespace="b")], "v1 Service b/c made"),
        ([named("a")], [named("a", uid="uid-2")], "v1 Service default/a made"),
        ([named("a")], [named("a", version="2")], "v1 Service default/a changed or removed"),
        ([named("a"), named("c")], [named("c")], "v1 Service default/a changed or removed"),
    ],
)
def test_what_was_made_between_two_listings_is_named(
    before: list[dict[str, str]], after: list[dict[str, str]], says: str
) -> None:
    cluster = Cluster()
    run = api_double.Run(cluster=cluster)
    for name, there in (("before", before), ("after", after)):
        cluster.there = {"services": [{"metadata": meta} for meta in there], "events": [{"metadata": named(name)}]}
        listing.drive(run.load("listing", name))
    found = {item.check: item for item in judge.judge_all(THE, run.events)}["nothing-new after"]
    assert found.judged == (verdict.Judged.FAIL if says else verdict.Judged.PASS), found.sentence
    assert says in found.sentence
