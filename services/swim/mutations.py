"""The named defects of the grid's gossip that can be switched on to prove that a check would notice them.

Each is read in exactly one place, named here, and turns a claim in `tests/swim` red. Whoever makes a node hands the
active names in; a deployment never does.
"""

from __future__ import annotations

ACCEPT_PLAIN = "accept-plain"
FIRST_KEY_ONLY = "first-key-only"
ACCEPT_ANY_SLOT = "accept-any-slot"
NO_CAP = "no-cap"
RELAY_ONLY_OWN = "relay-only-own"
EVICTION_CLEARS_SPEND = "eviction-clears-spend"
SPEND_AS_METADATA = "spend-as-metadata"
SPEND_ONLY_WIPES_PROVIDERS = "spend-only-wipes-providers"
NO_PUSH_PULL = "no-push-pull"
MAX_MERGE_ACROSS_EPOCHS = "max-merge-across-epochs"
ONE_PACKET_OR_NOTHING = "one-packet-or-nothing"

# name -> what breaks (and where it is read)
TABLE = {
    ACCEPT_PLAIN: "a node with keys also takes packets that nobody sealed (swim.envelope)",
    FIRST_KEY_ONLY: "only the key that seals opens, so that a rotation takes the network apart (swim.envelope)",
    ACCEPT_ANY_SLOT: "whoever sends a record is believed, whatever its origin signed (swim.ledger)",
    NO_CAP: "any number of tenants and origins is kept (swim.ledger)",
    RELAY_ONLY_OWN: "a site tells others of its own spend only (swim.lanes)",
    EVICTION_CLEARS_SPEND: "the spend of a member goes with its membership (swim.lanes)",
    SPEND_AS_METADATA: "spend that comes without provider state is not merged (swim.lanes)",
    SPEND_ONLY_WIPES_PROVIDERS: "spend that comes without provider state empties its origin's providers (swim.lanes)",
    NO_PUSH_PULL: "an exchange of states carries members only (swim.lanes)",
    MAX_MERGE_ACROSS_EPOCHS: "a record of an earlier epoch is merged into the present one (swim.ledger)",
    ONE_PACKET_OR_NOTHING: "once all spend is larger than one packet, no more of it is told (swim.lanes)",
}
