"""A step of `up`: what releases find when they are installed and do not make themselves. See bringup."""

from __future__ import annotations

from space_smoke import errors
from space_smoke.bench import certificates, grid_keys, kube, register, volumes, wait
from space_smoke.engine import bringup
from space_smoke.lease import view


def namespaces(work: bringup.Work) -> str:
    """Their namespaces and that of the Leases, certificates, keys and volumes."""
    work.kube = bringup.UntilFailure(register.kubeconfig(work.options.name), work.marks)
    names = dict.fromkeys((view.NAMESPACE, *(planned.namespace for planned in work.planned)))
    for name in names:
        wait.until(work.kube, f"namespace {name}", lambda name=name: _made(work.kube, name), watching=(), timeout_s=30)  # type: ignore[misc]
    certified = [
        f"a certificate for {planned.certificate}"
        for planned in work.planned
        if planned.certificate and certificates.keep(work.kube, planned.certificate, planned.namespace)
    ]
    for planned in work.planned:
        if planned.keys:
            grid_keys.keep(work.kube, planned.keys, planned.namespace)
    # A release that was installed here has its claims bound, or the provisioner will see to them.
    fresh = [planned for planned in work.planned if planned.release not in work.entry.releases]
    wanted = [volume for planned in fresh for volume in planned.volumes]
    volumes.folders(work.options.name, wanted)
    made = volumes.create(work.kube, wanted)
    return ", ".join((*names, *certified, *made))


def _made(access: kube.Kube, name: str) -> wait.State:
    """One attempt to create; the API server of a new cluster may answer 500 until its own start is over."""
    try:
        access.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    except errors.ApiError as error:
        if error.status != 409:
            raise
    return wait.State(True, "made")
