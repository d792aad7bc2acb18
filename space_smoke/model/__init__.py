"""Frozen data and pure functions. No I/O, no clock: times, identities and random values come in as arguments."""
