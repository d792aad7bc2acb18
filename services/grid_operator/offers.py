"""A site's providers as the gossip carries them: JSON, signed whole, read strictly since another site wrote it."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from common import kube
from grid_operator import routing
from grid_operator.model import provider, shared
from swim.forms import PAYLOAD_BYTES

_MOST_MODELS = 64
_MOST_USD = 2e6  # of both costs together
_ENDPOINT = provider.endpoint("")
_MODEL = re.compile(r"^[^\s]{1,128}$")
_PLACE = re.compile(shared.place("").pattern)
_NAME = re.compile(shared.OBJECT_NAME_PATTERN)


def of_resources(resources: Iterable[kube.Object], spec: Mapping[str, Any], site: str) -> list[routing.Offer]:
    """The offers of InferenceProviders, sorted by name, at the place that a GridNetwork's spec says. One that another site
    would not read is left out."""
    place = {name: spec[name] for name in ("region", "zone") if name in spec}
    found = []
    for resource in resources:
        wanted = resource.get("spec") or {}
        costs = list((wanted.get("cost") or {}).values())
        told = {**place, "name": resource["metadata"]["name"], "cost": sum(costs) if costs else None}
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found.append(_offer(site, {"endpoint": wanted["endpoint"], "models": wanted["models"], **told}))
    return sorted(found, key=lambda offer: offer.name)


def payload(offers: Sequence[routing.Offer]) -> tuple[bytes, int]:
    """(what is told, how many of the offers are in it): the first ones that fit into one state of the gossip."""
    told, size = [], len("[]")
    for offer in offers:
        entry = json.dumps({**offer.entry(), "cost": offer.cost}, separators=(",", ":"))
        size += len(entry) + 1
        if size > PAYLOAD_BYTES:
            break
        told.append(entry)
    return f"[{','.join(told)}]".encode(), len(told)


def read(site: str, told: bytes) -> list[routing.Offer]:
    """The offers that `site` tells. Raises ValueError when they are not what an operator would have written."""
    try:
        return [_offer(site, entry) for entry in json.loads(told)]
    except (TypeError, KeyError, AttributeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"providers of {site}: {type(error).__name__}") from error


def _offer(site: str, entry: Mapping[str, Any]) -> routing.Offer:
    if not isinstance(entry["models"], list):
        raise ValueError("models that are no list")
    offer = routing.Offer(
        site,
        _text(entry["name"], _NAME, 253),
        _text(entry["endpoint"], re.compile(_ENDPOINT.pattern), 512),
        tuple(dict.fromkeys(_text(model, _MODEL, 128) for model in entry["models"])),
        _text(entry.get("region", ""), _PLACE, 63),
        _text(entry.get("zone", ""), _PLACE, 63),
        _cost(entry["cost"]),
    )
    if not 1 <= len(offer.models) <= _MOST_MODELS:
        raise ValueError(f"{offer.name} has {len(offer.models)} models")
    return offer


def _text(value: object, pattern: re.Pattern[str], longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest or not pattern.fullmatch(value):
        raise ValueError("a text that no resource may have")
    return value


def _cost(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_USD:
        raise ValueError("a cost that no resource may have")
    return float(value)
