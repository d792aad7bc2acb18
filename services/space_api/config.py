"""All settings of the API, read from the environment once at start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from common import database, identity, settings
from fleet import manifest
from limiters import activation, concurrency, reading


@dataclass(frozen=True, slots=True)
class Config:
    """`redis_url` is "" without a limiter store."""

    own: identity.Identity
    database: database.Settings
    redis_url: str
    activation: activation.Settings
    concurrency: concurrency.Settings
    sandbox: manifest.Settings


def read(environment: Mapping[str, str]) -> Config:
    """The configuration in `environment`; raises `settings.SettingsError` listing every mistake."""
    reader = settings.Reader(environment)
    own = identity.read(reader)
    config = Config(
        own=own,
        database=database.read(reader),
        redis_url=reader.secret("SPACE_REDIS_URL"),
        activation=reading.activation_settings(reader),
        concurrency=concurrency.Settings(
            mode=reader.choice("SPACE_API_CLIENT_CONCURRENCY_MODE", concurrency.OBSERVE, concurrency.MODES),
            limit=reader.integer("SPACE_API_CLIENT_CONCURRENCY_LIMIT", 32, 1, 100_000),
            known_clients=reader.names("SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS", (concurrency.UNSPECIFIED,)),
            lease_s=reader.number("SPACE_API_CLIENT_CONCURRENCY_LEASE_S", 30, 1, 300),
        ),
        sandbox=manifest.read(reader, own.mutations, own.otlp_endpoint),
    )
    reader.settle()
    return config
