"""The last steps of `up`: the releases, stage by stage, and the final look. Only what differs is touched. See bringup."""

from __future__ import annotations

from concurrent import futures

from space_smoke import errors
from space_smoke.bench import crds, helm, ready, register, releases, wait
from space_smoke.engine import bringup
from space_smoke.model import objects


def install(work: bringup.Work) -> str:
    """Stage by stage, and within a stage at once; only what differs from what was installed last.

    A stage begins when the one before it is installed, not when it is up: its hooks wait for what they need (the migration
    waits for its database), so pods are placed and started meanwhile. Every rollout is waited for from the moment that it
    is installed, and the first one that fails ends what still waits for it.
    """
    present = helm.releases(work.helm, register.kubeconfig(work.options.name))
    installed: list[str] = []
    stages = work.stages
    with futures.ThreadPoolExecutor(max_workers=2 * sum(map(len, stages))) as pool:
        waits: list[futures.Future[None]] = []
        for stage in stages:
            charts = [planned.chart for planned in stage]
            crds.keep(work.kube, charts, work.emit, timeout_s=work.options.timeout_s)
            done = [pool.submit(_install, work, planned, present.get(planned.release)) for planned in stage]
            installed += [name for one in done if (name := one.result())]
            waits += [pool.submit(_rolled_out, work, planned) for planned in stage]
        for one in waits:
            one.result()
    return f"installed {', '.join(installed)}" if installed else "all as wanted already"


def _install(work: bringup.Work, planned: releases.Planned, present: helm.Release | None) -> str:
    digest = planned.digest(work.services)
    as_wanted = work.entry.releases.get(planned.release) == digest
    if present is not None and present.status == "deployed" and as_wanted:
        if present.revision == work.entry.revisions.get(planned.release):
            return ""
        work.emit(
            "release-changed", release=planned.release, saying=f"{planned.release} was changed since: upgrading it"
        )
    revision = helm.upgrade_install(
        work.helm,
        planned.release,
        planned.chart,
        planned.namespace,
        kubeconfig=register.kubeconfig(work.options.name),
        emit=work.emit,
        values_files=planned.values,
        sets=planned.sets(work.services),
        timeout_s=work.options.timeout_s,
        previous=present,
    )
    work.record(
        lambda entry: {
            "releases": {**entry.releases, planned.release: digest},
            "revisions": {**entry.revisions, planned.release: revision},
        }
    )
    return planned.release


def _rolled_out(work: bringup.Work, planned: releases.Planned) -> None:
    """See _wait; a failure is told to the other steps at once, also to a Helm that waits for this release."""
    try:
        _wait(work, planned)
    except errors.BenchError as failure:
        work.marks.fail(failure)
        raise


def _wait(work: bringup.Work, planned: releases.Planned) -> None:
    """Waits for the release's workloads, found by the label that Helm's convention gives all objects of a release."""
    selector = f"app.kubernetes.io/instance={planned.release}"
    wait.until(
        work.kube,
        f"the StatefulSets of {planned.release} to be rolled out",
        lambda: ready.stateful(work.kube, planned.namespace, selector),
        watching=[("v1", "Pod", planned.namespace)],
        timeout_s=work.options.timeout_s,
        emit=work.emit,
    )
    for thing in work.kube.listed("apps/v1", "Deployment", planned.namespace, selector):
        wait.rollout(work.kube, objects.ref_of(thing), timeout_s=work.options.timeout_s, emit=work.emit)


def health(work: bringup.Work) -> str:
    """A last fresh look, after all else: nodes Ready, every release deployed, nothing pending."""
    state = ready.nodes(work.kube)
    present = helm.releases(work.helm, register.kubeconfig(work.options.name))
    bad = [f"{release.name} is {release.status}" for release in present.values() if release.status != "deployed"]
    missing = [one.release for one in work.planned if one.release not in present]
    if not state.done or bad or missing:
        told = "; ".join(
            [*([] if state.done else [state.words]), *bad, *(f"{name} is not installed" for name in missing)]
        )
        raise errors.BenchError(
            f"bench {work.options.name} is not healthy: {told}", next_step="space_smoke up, or status"
        )
    return f"{state.words}, {len(present)} releases deployed"
