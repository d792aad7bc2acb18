"""The named defects of the operator, and those of its gossip, that can be switched on to prove that a check would notice.

As `common.mutations`: in `SPACE_MUTATION`, refused unless `SPACE_PROFILE=kind`, each read in exactly one place.
"""

from __future__ import annotations

from common import mutations as common
from swim import mutations as gossip

PERSIST_AFTER_ACK = "persist-after-ack"
VALIDATOR_NEVER_CALLED = "validator-never-called"
DEBUG_DUMP_AS_MESSAGE = "debug-dump-as-message"

# name -> what breaks (and where it is read)
TABLE = {
    PERSIST_AFTER_ACK: "spend is acknowledged three seconds before it is written and told (grid_operator.writer)",
    VALIDATOR_NEVER_CALLED: "what can be read of a budget policy is taken, whatever it breaks (grid_operator.taking)",
    DEBUG_DUMP_AS_MESSAGE: "an invalid policy's condition shows the exception's repr (grid_operator.taking)",
}

KNOWN = (*common.TABLE, *gossip.TABLE, *TABLE)
