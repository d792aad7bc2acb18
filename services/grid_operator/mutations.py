"""The named defects of the operator, and those of its gossip, that can be switched on to prove that a check would notice.

As `common.mutations`: in `SPACE_MUTATION`, refused unless `SPACE_PROFILE=kind`, each read in exactly one place.
"""

from __future__ import annotations

from common import mutations as common
from swim import mutations as gossip

PERSIST_AFTER_ACK = "persist-after-ack"
VALIDATOR_NEVER_CALLED = "validator-never-called"
DEBUG_DUMP_AS_MESSAGE = "debug-dump-as-message"
STALE_STATUS_KEPT = "stale-status-kept"
STATUS_COUNTS_LOOKS = "status-counts-looks"
NETWORKS_MIXED = "networks-mixed"
PACKETS_NOT_SEALED = "packets-not-sealed"
SPEND_IN_METRICS = "spend-in-metrics"

# name -> what breaks (and where it is read)
TABLE = {
    PERSIST_AFTER_ACK: "spend is acknowledged three seconds before it is written and told (grid_operator.writer)",
    VALIDATOR_NEVER_CALLED: "what can be read of a budget policy is taken, whatever it breaks (grid_operator.taking)",
    DEBUG_DUMP_AS_MESSAGE: "an invalid policy's condition shows the exception's repr (grid_operator.taking)",
    STALE_STATUS_KEPT: "what a status said before and does not say now stays in it (grid_operator.telling)",
    STATUS_COUNTS_LOOKS: "a condition's message holds a count, so that each look is a write (grid_operator.telling)",
    NETWORKS_MIXED: "all networks gossip under one id, so that they are one (grid_operator.plans)",
    PACKETS_NOT_SEALED: "packets are plain, whatever key ring the GridNetwork names (grid_operator.plans)",
    SPEND_IN_METRICS: "/metrics tells what each tenant has spent (grid_operator.metrics)",
}

KNOWN = (*common.TABLE, *gossip.TABLE, *TABLE)
