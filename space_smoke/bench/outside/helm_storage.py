"""Helm's own store: the revisions of a release, as Helm 3 and 4 keep them in Secrets.

Secret `sh.helm.release.v1.NAME.vN`, type helm.sh/release.v1, labels owner=helm, name, version, status; `data.release` is the
release as JSON, gzipped, in base64 once by Helm and once more by Kubernetes (helm.sh/helm pkg/storage/driver). The JSON
holds the values that somebody gave (`config`), the manifest that was rendered, and the chart, without its subcharts.
"""

from __future__ import annotations

import base64
import gzip
import json
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.bench.outside import place
from space_smoke.model import objects

_GZIP = b"\x1f\x8b\x08"
# A revision that took effect as a whole, now or once.
WHOLE = ("deployed", "superseded")


@dataclass(frozen=True, slots=True)
class Revision:
    """One revision. `status` is Helm's word; `config` the values that were given, without the chart's own."""

    number: int
    status: str
    config: Mapping[str, Any]
    manifest: str
    chart: Mapping[str, Any]

    @property
    def deployed(self) -> bool:
        return self.status == "deployed"

    def rendered(self, ref: objects.Ref) -> Mapping[str, Any]:
        """What this revision made of one object; {} when it has no such object."""
        for thing in yaml.safe_load_all(self.manifest):
            named = isinstance(thing, Mapping) and (thing.get("apiVersion"), thing.get("kind")) == ref.where()[:2]
            if named and thing["metadata"]["name"] == ref.name:
                return dict(thing)
        return {}


def revisions(cluster: kube.Kube, namespace: str, release: str) -> list[Revision]:
    """All that are kept, oldest first. Raises ApiError, and BenchError when there is none."""
    found = cluster.listed("v1", "Secret", namespace, f"owner=helm,name={release}")
    read = sorted((decode(secret) for secret in found), key=lambda revision: revision.number)
    if not read:
        raise errors.BenchError(
            f"there is no Helm release {release} in namespace {namespace}", next_step="helm list --all --all-namespaces"
        )
    return read


def decode(secret: objects.Object) -> Revision:
    packed = base64.b64decode(base64.b64decode(secret["data"]["release"]))
    raw: dict[str, Any] = json.loads(gzip.decompress(packed) if packed.startswith(_GZIP) else packed)
    return Revision(
        number=int(raw["version"]),
        status=str(raw["info"]["status"]),
        config=raw.get("config") or {},
        manifest=raw.get("manifest") or "",
        chart=raw.get("chart") or {},
    )


def write_chart(revision: Revision, folder: pathlib.Path) -> pathlib.Path:
    """The chart of a revision as a folder that Helm takes: so a change of values is one of values alone, whatever chart lies
    on this disk. Raises Refusal(422) for a chart with subcharts, which Helm does not keep."""
    chart, root = revision.chart, folder / "chart"
    if chart["metadata"].get("dependencies"):
        raise place.Refusal(422, "its chart has subcharts, which Helm does not keep with the release")
    files = {one["name"]: base64.b64decode(one["data"]) for one in (*_list(chart, "templates"), *_list(chart, "files"))}
    files["Chart.yaml"] = yaml.safe_dump(chart["metadata"]).encode()
    files["values.yaml"] = yaml.safe_dump(chart.get("values") or {}).encode()
    if chart.get("schema"):
        files["values.schema.json"] = base64.b64decode(chart["schema"])
    for name, content in files.items():
        path = root / name
        if not path.resolve().is_relative_to(root.resolve()):
            raise place.Refusal(422, f"its chart has a file {name!r}, which lies outside of it")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def _list(chart: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return list(chart.get(key) or ())
