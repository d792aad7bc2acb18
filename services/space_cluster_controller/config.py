"""All settings of the controller, read from the environment once at start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from common import database, identity, leases, settings
from fleet import manifest
from limiters import activation, reading


@dataclass(frozen=True, slots=True)
class Config:
    """`lease_s` is how soon another controller may lead after this one died; `parallel` how many operations run at
    once; `operation_lease_s` how long an operation stays with a worker that says nothing; `operation_keep_s` how long it
    is kept once it is finished, and its idempotency key with it; `deployment` owns the pods made here, "" for nobody."""

    own: identity.Identity
    database: database.Settings
    redis_url: str
    activation: activation.Settings
    sandbox: manifest.Settings
    lease_name: str
    lease_s: float
    parallel: int
    operation_lease_s: float
    operation_keep_s: int
    deployment: str


def read(environment: Mapping[str, str]) -> Config:
    """The configuration in `environment`; raises `settings.SettingsError` listing every mistake."""
    reader = settings.Reader(environment)
    own = identity.read(reader)
    config = Config(
        own=own,
        database=database.read(reader),
        redis_url=reader.secret("SPACE_REDIS_URL"),
        activation=reading.activation_settings(reader),
        sandbox=manifest.read(reader, own.mutations, own.otlp_endpoint),
        lease_name=reader.text("SPACE_CONTROLLER_LEASE_NAME", "space-cluster-controller"),
        lease_s=reader.number("SPACE_CONTROLLER_LEASE_S", 15, 2, leases.DURATION_LIMIT_S),
        parallel=reader.integer("SPACE_CONTROLLER_PARALLEL", 4, 1, 100),
        operation_lease_s=reader.number("SPACE_CONTROLLER_OPERATION_LEASE_S", 30, 2, 600),
        operation_keep_s=reader.integer("SPACE_CONTROLLER_OPERATION_KEEP_S", 7 * 86400, 3600, 365 * 86400),
        deployment=reader.text("SPACE_CONTROLLER_DEPLOYMENT"),
    )
    reader.settle()
    return config
