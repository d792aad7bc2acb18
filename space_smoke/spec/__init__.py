"""Scenario files -> frozen scenarios. Knows no cluster and no kind: the tables of kinds come in as an argument."""
