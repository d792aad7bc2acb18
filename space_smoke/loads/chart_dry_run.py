"""`chart-dry-run`: installs a chart of ours with given values as far as that goes without changing anything, and notes
whether the chart and the API server accept it.

One event `attempt` each: {attempt: its name, accepted, code: Helm's exit code or the API server's status, said: the refusal,
shows: {variable: {workload: value}}, the asked-for environment variables of the rendered Deployments}.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Sequence

import yaml

from space_smoke.bench import cache, helm_dry_run, tools
from space_smoke.loads import attempts, traffic
from space_smoke.model import kinds, objects

CHARTS = cache.PROJECT / "charts"

KIND = kinds.LoadKind(
    name="chart-dry-run",
    summary="installs a chart with given values, changing nothing, and notes which attempts are accepted",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["chart", "attempts"],
        "properties": {
            "chart": {"type": "string", "pattern": "^[a-z0-9-]+$", "description": "a folder of charts/"},
            "namespace": {
                "type": "string",
                "pattern": "^[a-z0-9-]+$",
                "default": "default",
                "description": "one that is there",
            },
            "variables": {
                "type": "array",
                "items": {"type": "string"},
                "default": [],
                "description": "environment variables whose rendered values are noted",
            },
            "attempts": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name", "values"],
                    "properties": {
                        "name": attempts.NAME,
                        "values": {"type": "object", "description": "over the chart's own"},
                    },
                },
            },
        },
    },
)


def _helm() -> pathlib.Path:
    return tools.obtain("helm", lambda *_a, **_k: None)


def drive(load: traffic.Traffic, program: Callable[[], pathlib.Path] = _helm) -> None:
    load.be_there()
    chart, namespace = load.argument("chart"), load.argument("namespace", "default")
    for number, one in enumerate(load.argument("attempts")):
        with cache.scratch() as folder:
            values = folder / "values.yaml"
            values.write_text(yaml.safe_dump(one["values"]))
            ended = helm_dry_run.install(load.door.cluster, program(), chart, CHARTS / chart, namespace, values)
        attempts.tell(
            load,
            number,
            one["name"],
            accepted=ended.code == 0,
            code=str(ended.code),
            said=ended.said,
            shows=shown(ended.rendered, load.argument("variables", ())),
        )


def shown(rendered: Sequence[objects.Object], variables: Iterable[str]) -> dict[str, dict[str, str]]:
    """{variable: {Deployment: value}}, of values that stand in the manifest as they are."""
    found: dict[str, dict[str, str]] = {variable: {} for variable in variables}
    for one in rendered:
        if one["kind"] == "Deployment":
            for container in one["spec"]["template"]["spec"]["containers"]:
                for entry in container.get("env") or ():
                    if entry["name"] in found:
                        found[entry["name"]][one["metadata"]["name"]] = str(entry.get("value", "(not in the manifest)"))
    return found
