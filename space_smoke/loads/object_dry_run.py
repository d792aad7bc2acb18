"""`object-dry-run`: asks the API server to take objects, changing nothing (dryRun=All, strict about fields), and notes which are
accepted. What is written as `text` is sent as it stands: YAML has numbers that JSON has not.

One event `attempt` each: {attempt: its name, accepted, code: the status of a refusal, said: its message}.
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from space_smoke import errors
from space_smoke.bench import discovery
from space_smoke.loads import attempts, traffic
from space_smoke.model import kinds

KIND = kinds.LoadKind(
    name="object-dry-run",
    summary="asks the API server to take cluster-scoped objects, changing nothing, and notes which are accepted",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "resource", "attempts"],
        "properties": {
            "apiVersion": {"type": "string", "minLength": 1},
            "resource": {"type": "string", "minLength": 1, "description": "the objects' kind"},
            "attempts": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name"],
                    "oneOf": [{"required": ["spec"]}, {"required": ["text"]}],
                    "properties": {
                        "name": attempts.NAME,
                        "spec": {"type": "object"},
                        "text": {"type": "string", "minLength": 1, "description": "the spec as YAML text, in one line"},
                    },
                },
            },
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    load.be_there()
    version, kind = load.argument("apiVersion"), load.argument("resource")
    served = next((one for one in discovery.kinds_of(load.door.cluster, version) if one.kind == kind), None)
    if served is None:
        raise errors.BenchError(f"the API server has no kind {kind} in {version}")
    for number, one in enumerate(load.argument("attempts")):
        spec = one["text"] if "text" in one else json.dumps(one["spec"])
        text = yaml.safe_dump({"apiVersion": version, "kind": kind, "metadata": {"name": f"smoke-{number}"}})
        status, said = _post(load, served.path("") + "?dryRun=All&fieldValidation=Strict", f"{text}spec: {spec}\n")
        attempts.judged(load, number, one["name"], status, said)


def _post(load: traffic.Traffic, path: str, text: str) -> tuple[int, str]:
    """Status and message. Raises ApiError where the API server did not judge it."""
    response = load.door.cluster.open(
        "POST", path, body=text.encode(), headers={"Content-Type": "application/yaml", "Accept": "application/json"}
    )
    data = response.read()
    response.release_conn()
    try:
        parsed: Any = json.loads(data)
    except ValueError:
        parsed = {}
    said = str(parsed.get("message", "")) if isinstance(parsed, dict) else ""
    if response.status in (401, 403) or response.status >= 500:
        raise errors.ApiError(f"POST {path} was answered {response.status}: {said[:400]}", status=response.status)
    return response.status, said
