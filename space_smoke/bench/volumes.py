"""Volumes made before their claims: a folder on a node and a PersistentVolume that only its claim may bind.

The provisioner of a Kind cluster starts a pod on the node to make one folder, five seconds on the way to a ready database.
A volume that is there binds at once; when its claim was removed and made again, it is Released, and the provisioner does
what it does anywhere. Called by engine.bringup.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from space_smoke import errors
from space_smoke.bench import engine, kind, kube, releases

_FOLDER = "/var/local-path/ready"  # below the folder in which the provisioner makes its own


def folders(bench: str, volumes: Iterable[releases.Volume]) -> None:
    """Makes each volume's folder on every worker: which one it will be used on is the group's label, known later.

    Mode 0777 as the provisioner makes its own: the server in the pod is no root.
    """
    paths = [_path(volume) for volume in volumes]
    for worker in engine.node_containers(bench, "worker") if paths else ():
        engine.docker("exec", worker, "mkdir", "-p", "-m", "0777", *paths)


def create(access: kube.Kube, volumes: Iterable[releases.Volume]) -> list[str]:
    """Creates the PersistentVolumes that are not there; returns the names of those it made. Raises ApiError."""
    made = []
    for volume in volumes:
        try:
            access.create(manifest(volume))
        except errors.ApiError as error:
            if error.status != 409:
                raise
        else:
            made.append(_name(volume))
    return made


def manifest(volume: releases.Volume) -> dict[str, Any]:
    """A `local` volume and not a hostPath one: only the former is given to the pod's group (fsGroup)."""
    at_group = {"matchExpressions": [{"key": kind.GROUP, "operator": "In", "values": [volume.group]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": _name(volume)},
        "spec": {
            "storageClassName": "standard",
            "capacity": {"storage": volume.size},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": volume.namespace, "name": volume.claim},
            "local": {"path": _path(volume)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [at_group]}},
        },
    }


def _name(volume: releases.Volume) -> str:
    return f"{volume.namespace}-{volume.claim}"


def _path(volume: releases.Volume) -> str:
    return f"{_FOLDER}/{_name(volume)}"
