"""GridNetwork: the network as one site sees it, and its tenants' budgets."""

from __future__ import annotations

from grid_operator import limits
from grid_operator.model import provider, shared
from grid_operator.model.fields import Group, Listing, Number, Rule, Text
from grid_operator.model.kind import Column, Kind

SWIM_PERIOD_RULE = Rule(
    "!has(self.probeInterval) || !has(self.suspicionTimeout)"
    " || duration(self.suspicionTimeout) >= duration(self.probeInterval)",
    "suspicionTimeout must not be less than probeInterval, or a member is dead before it could be asked again",
)
EPOCH_RULE = Rule(
    "self.epoch >= oldSelf.epoch",
    "epoch may not fall: the spend of an epoch that has ended is refused for good",
)
# An API server tells a pattern as it stands, which nobody can read; this it tells beside it.
BLANK_RULE = Rule("self.trim() != ''", "must have a character that is not a space")
MOST_SEEDS = 64
MOST_SHOWN_PROVIDERS = 100


def tenant_id(text: str, rules: tuple[Rule, ...] = ()) -> Text:
    return Text(
        text=text,
        required=True,
        shortest=1,
        longest=limits.TENANT_CHARACTERS,
        pattern=shared.TENANT_PATTERN,
        rules=rules,
    )


def _cap(text: str) -> Number:
    return Number(text=text, required=True, least=0, most=limits.LARGEST_CAP_USD)


SWIM = Group(
    text="How the site gossips. What is not given is as in the operator's profile.",
    rules=(SWIM_PERIOD_RULE,),
    fields={
        "gossipNodes": Number(
            text="To how many members each round of gossip goes. More of them spread news in fewer rounds.",
            whole=True,
            least=1,
            most=16,
        ),
        "probeInterval": shared.duration(
            "How often a member is asked whether it lives; an answer is awaited for two fifths of it. A dead member is"
            " found sooner with less.",
            "100ms",
            "60s",
        ),
        "suspicionTimeout": shared.duration(
            "The least time in which a suspected member may refute, before it counts as dead.", "200ms", "600s"
        ),
    },
)

TLS = Group(
    text="The site's secrets.",
    fields={
        "swimKeyRef": shared.secret_key(
            "The key ring that seals packets: one to four keys, each 32 bytes in base64 on a line of its own. The first"
            " seals, all open. Without it packets are plain. A ring that is named and cannot be read closes the mesh."
        ),
        "siteKeyRef": shared.secret_key(
            "The 32 bytes, in base64, of the Ed25519 key that signs what this site spends. Without it the operator makes"
            " one and keeps it in its database."
        ),
    },
)

BUDGET_POLICY = Group(
    text="What each tenant may spend. Only spend of its tenants is taken. Without it `status.budgetStatus` is empty.",
    rules=(EPOCH_RULE,),
    fields={
        "epoch": Number(
            text="Raising it begins at zero everywhere. Spend of a later epoch is held until this one reaches it.",
            whole=True,
            least=1,
            most=limits.LARGEST_EPOCH,
            default=1,
        ),
        "tenants": Listing(
            text="The tenants, told apart by `tenantId`. One that is removed keeps its spend, which shows again when it"
            " comes back within the epoch.",
            required=True,
            most=limits.TENANTS,
            key="tenantId",
            items=Group(
                text="One tenant's budget.",
                fields={
                    "tenantId": tenant_id(
                        "Compared character by character, never normalised. No control characters, and not only spaces.",
                        rules=(BLANK_RULE,),
                    ),
                    "capUsd": _cap("What may be spent. 0: the budget is used up by the first cent."),
                },
            ),
        ),
    },
)

SPEC = Group(
    text="What is wanted. Every field may be left out, and {} is a network of one site.",
    required=True,
    fields={
        "gridId": Text(
            text="The network's identity, part of every packet and signature: sites with another one are never heard."
            " Empty: the name of this resource.",
            longest=63,
            pattern="^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$",
        ),
        "seeds": Listing(
            text="Members to begin with, as host:port. Names are looked up again at each try; see"
            " `status.unresolvedSeeds`. Removing one disconnects nobody.",
            most=MOST_SEEDS,
            distinct=True,
            items=Text(
                text="A DNS name or an IPv4 address, and a port.",
                shortest=3,
                longest=259,
                pattern=shared.HOST_AND_PORT_PATTERN,
            ),
        ),
        "region": shared.place("Where this site is; told to all with its providers, and compared by `routingPolicy`."),
        "zone": shared.place("Where in the region."),
        "swim": SWIM,
        "tls": TLS,
        "routingPolicy": Text(
            text="The order of `status.providers`: by distance (same zone, same region, elsewhere) and then by score, or"
            " by score and then by distance. The default is geographyFirst.",
            choices=("geographyFirst", "scoreFirst"),
        ),
        "scoringPolicy": Group(
            text="How `status.providers` are scored.",
            fields={
                "strategy": Text(
                    text="noMetrics, the default: all score alike. lowestCost: by the sum of both costs, the cheapest"
                    " first and those without a cost last.",
                    choices=("noMetrics", "lowestCost"),
                )
            },
        ),
        "metricsRefreshInterval": shared.duration(
            "After this time without a change the network is reconciled all the same. The default is 300s.",
            "1s",
            "3600s",
        ),
        "budgetPolicy": BUDGET_POLICY,
    },
)

BUDGET_STATUS = Listing(
    text="One row for each tenant of the policy, sorted by its id. Absent without a policy, and while it is invalid:"
    " numbers that are here are current.",
    most=limits.TENANTS,
    items=Group(
        text="What one tenant has spent on all sites.",
        fields={
            "tenantId": tenant_id("The tenant."),
            "spendUsd": Number(
                text="Never cut off at the cap. Exact to the cent up to 2^46.", required=True, least=0, most=2**47
            ),
            "capUsd": _cap("The cap that the ratio is about."),
            "spendRatio": Number(
                text="spendUsd / capUsd, at most 1, which it is only when the cap is reached. With cap 0: 0, or 1 once"
                " anything was spent.",
                required=True,
                least=0,
                most=1,
            ),
        },
    ),
)

STATUS = Group(
    text="What is, as this site knows it. Written only when it changes.",
    fields={
        "phase": shared.phase(
            "Pending: not looked at yet. Initializing: no member was reached yet, or it is not known whether spend is"
            " persisted. Degraded: a condition is False. Active: all hold.",
            "Pending",
            "Initializing",
            "Active",
            "Degraded",
        ),
        "observedGeneration": shared.generation("The generation of the spec that all of this is about."),
        "gridId": Text(text="The identity in use.", longest=253),
        "publicKey": shared.public_key("What others pin as this site's key."),
        "connectedSites": Number(text="Living members, without this one.", whole=True, least=0, most=65536),
        "unresolvedSeeds": Listing(
            text="Seeds without an address at the last try, sorted.",
            most=MOST_SEEDS,
            items=Text(text="As in the spec.", longest=259),
        ),
        "distributedProviderCount": Number(text="Providers of all sites together.", whole=True, least=0, most=2**31),
        "providers": Listing(
            text=f"The first {MOST_SHOWN_PROVIDERS} of them, in the order of `spec.routingPolicy`.",
            most=MOST_SHOWN_PROVIDERS,
            items=Group(
                text="A provider of one of the sites.",
                fields={
                    "site": shared.site_name("Whose.", required=True),
                    "name": shared.object_name("The name of its InferenceProvider there.", required=True),
                    "endpoint": provider.endpoint("As its site tells it."),
                    "models": provider.models("As its site tells them."),
                    "region": shared.place("Its site's."),
                    "zone": shared.place("Its site's."),
                },
            ),
        ),
        "budgetEpoch": Number(
            text="The epoch that `budgetStatus` is about.", whole=True, least=1, most=limits.LARGEST_EPOCH
        ),
        "budgetStatus": BUDGET_STATUS,
        "conditions": shared.conditions(
            "BudgetPolicyValid: the policy was taken; SpendPersisted: what is acknowledged here survives a restart;"
            " MeshHealthy: every known member and seed is reached."
        ),
    },
)

KIND = Kind(
    name="GridNetwork",
    plural="gridnetworks",
    short="gn",
    text="The network as one site sees it: how the site joins, and what tenants may spend and have spent.",
    spec=SPEC,
    status=STATUS,
    columns=(
        Column("Phase", "string", ".status.phase"),
        Column("Grid ID", "string", ".status.gridId"),
        Column("Sites", "integer", ".status.connectedSites"),
        Column("Providers", "integer", ".status.distributedProviderCount"),
        Column("Policy", "string", '.status.conditions[?(@.type=="BudgetPolicyValid")].status'),
        Column("Age", "date", ".metadata.creationTimestamp"),
    ),
)
