"""Tests of the gossip: rules and codec alone, the nodes in simulated sites, and the shell on loopback."""
