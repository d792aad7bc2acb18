"""Tests of the services: the limiters against a real Redis, the API against a real Postgres and real sandboxes."""
