"""InferenceProvider: what one site offers to all."""

from __future__ import annotations

from grid_operator.model import shared
from grid_operator.model.fields import Group, Listing, Number, Text
from grid_operator.model.kind import Column, Kind


def endpoint(text: str, *, required: bool = False) -> Text:
    pattern = "^https?://[^\\s/?#]+(/[^\\s]*)?$"
    return Text(text=text, required=required, shortest=8, longest=512, pattern=pattern)


def models(text: str, *, required: bool = False) -> Listing:
    name = Text(text="A model's name.", shortest=1, longest=128, pattern="^[^\\s]+$")
    return Listing(text=text, required=required, items=name, least=1, most=64, distinct=True)


def _usd(text: str) -> Number:
    return Number(text=text, least=0, most=10**6)


KIND = Kind(
    name="InferenceProvider",
    plural="inferenceproviders",
    short="iprov",
    text="A provider of this site, told to every site of the network.",
    spec=Group(
        text="What is offered. It stands in `status.providers` of every site's GridNetwork.",
        required=True,
        fields={
            "gridNetworkRef": shared.network_ref(),
            "endpoint": endpoint("Where it is reached, an http or https URL.", required=True),
            "models": models("What it serves.", required=True),
            "cost": Group(
                text="What it costs; the strategy lowestCost goes by the sum.",
                fields={
                    "perMillionInputTokens": _usd("USD."),
                    "perMillionOutputTokens": _usd("USD."),
                },
            ),
        },
    ),
    status=Group(
        text="Whether it is told to the others.",
        fields={
            "phase": shared.phase("Available: it is part of what this site tells.", "Pending", "Available"),
            "observedGeneration": shared.generation("The generation of the spec that is told."),
        },
    ),
    columns=(
        Column("Network", "string", ".spec.gridNetworkRef.name"),
        Column("Endpoint", "string", ".spec.endpoint"),
        Column("Phase", "string", ".status.phase"),
        Column("Age", "date", ".metadata.creationTimestamp"),
    ),
)
