"""GridSite: a site that belongs to a network, and the key that its records are believed by."""

from __future__ import annotations

from grid_operator.model import shared
from grid_operator.model.fields import Group, Rule, Text
from grid_operator.model.kind import Column, Kind

SAME_NAME_RULE = Rule(
    "self == oldSelf", "a site keeps its name, which its spend is signed under: make another GridSite"
)

KIND = Kind(
    name="GridSite",
    plural="gridsites",
    short="gs",
    text="A site of the network, and the key that its records are believed by.",
    spec=Group(
        text="Who the site is. Records of a site without a GridSite are refused.",
        required=True,
        fields={
            "gridNetworkRef": shared.network_ref(),
            "siteName": shared.site_name("Its name among the members.", required=True, rules=(SAME_NAME_RULE,)),
            "publicKey": shared.public_key(
                "The 32 bytes of its Ed25519 public key in base64: `status.publicKey` of its own GridNetwork.",
                required=True,
            ),
        },
    ),
    status=Group(
        text="The site as a member.",
        fields={
            "phase": shared.phase(
                "Pending: never seen. Active: alive. Unreachable: suspected or dead. Left: it said good-bye.",
                "Pending",
                "Active",
                "Unreachable",
                "Left",
            ),
            "observedGeneration": shared.generation("The generation of the spec whose key is in use."),
            "address": Text(text="Where it was reached last, as host:port.", longest=259),
        },
    ),
    columns=(
        Column("Network", "string", ".spec.gridNetworkRef.name"),
        Column("Site", "string", ".spec.siteName"),
        Column("Phase", "string", ".status.phase"),
        Column("Age", "date", ".metadata.creationTimestamp"),
    ),
)
