"""Sites in virtual time: the real nodes on a network that loses, delays, doubles, reorders, cuts and forges.

    python -m swim.simulator --seeds 1000 --minutes 10

Every run is determined by its seed alone.
"""
