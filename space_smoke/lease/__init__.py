"""The fault-Lease protocol: who may hold faults up, and how they are put back whatever happened to the run.

Pure: generators that yield effects (model.effect) and are sent replies. No clock, no randomness, no I/O in here, so that
the very same code runs against a real API server and, with every crash and delay tried, in a simulation.

    acquire -> stamp targets -> repair what is recorded -> (inject ... restore)* -> release

`protocol` is the door: the engine calls nothing else.
"""
