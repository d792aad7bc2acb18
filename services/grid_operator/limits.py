"""The bounds that resources, policy and ledger share. A test holds them equal to those of `swim`."""

from __future__ import annotations

TENANTS = 1024  # of one policy, and of one epoch of the ledger
TENANT_CHARACTERS = 253
LARGEST_EPOCH = 2**53 - 1  # a JSON number still holds it exactly
LARGEST_CAP_USD = 10**12  # in cents it is far below what the ledger can count
