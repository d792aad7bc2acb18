"""`service-metrics`: reads metrics of each pod of a service, in Prometheus' text format. Two of them around other loads tell what
was counted between; see the check `counted`.

Each answer bears, of the metrics that were named, `samples`: [{name, labels, value}], and `declared`: those that the service
has at all. A series that was never counted is absent, which is zero; a metric that is not declared is nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from space_smoke.loads import traffic
from space_smoke.model import kinds

# A sample: name, labels, value, and a time that may follow (Prometheus exposition format 0.0.4).
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*")
_TYPE = re.compile(r"#\s+TYPE\s+(\S+)\s.*")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_ESCAPED = {r"\n": "\n", r"\"": '"', r"\\": "\\"}

KIND = kinds.LoadKind(
    name="service-metrics",
    summary="reads metrics of each pod of a service",
    schema={
        "type": "object",
        "required": ["names"],
        "additionalProperties": False,
        "properties": {
            traffic.SERVICE: {
                "type": "string",
                "default": "space-api",
                "description": "whose pods: a Deployment, and a Service of its name",
            },
            "names": {
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": {"type": "string"},
                "description": "the metrics to keep, as they are called in the answer: ..._total of a counter",
            },
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    names = load.argument("names")
    for number, pod in enumerate(load.pods):
        load.ask(
            number,
            "metrics",
            "GET",
            "/metrics",
            pod=pod,
            timeout_s=10,
            see=lambda answer: read(answer.body.decode(errors="replace"), names),
        )


def read(text: str, names: Collection[str]) -> dict[str, Any]:
    """What an answer's event bears; lines that are no samples are left out."""
    types = (_TYPE.fullmatch(line) for line in text.splitlines())
    declared = [found[1] for found in types if found and found[1] in names]
    return {"declared": declared, "samples": samples(text, names)}


def samples(text: str, names: Collection[str]) -> list[dict[str, Any]]:
    """The samples of these metrics."""
    found = []
    for line in text.splitlines():
        sample = _SAMPLE.fullmatch(line)
        if sample and sample[1] in names:
            labels = {name: re.sub(r"\\.", _unescaped, value) for name, value in _LABEL.findall(sample[2] or "")}
            found.append({"name": sample[1], "labels": labels, "value": _value(sample[3])})
    return found


def _unescaped(escape: re.Match[str]) -> str:
    return _ESCAPED.get(escape[0], escape[0])


def _value(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
