"""All settings of the API, read from the environment once at start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from common import mutations, settings
from limiters import activation, concurrency

_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_VERSION_FILE = Path(__file__).parents[1] / "VERSION"  # written when the image is built


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How sandbox pods are made. `start_timeout_s` bounds the time from creation to the first answer;
    `parallel_starts` is how many pods one API starts at once, the others wait in order."""

    namespace: str
    image: str
    node_selector: Mapping[str, str]
    start_timeout_s: float
    parallel_starts: int = 2


@dataclass(frozen=True, slots=True)
class Config:
    """`drain_s` is how long a stopping pod goes on serving after it has reported itself unready."""

    profile: str
    pod: str
    version: str
    redis_url: str
    database_url: str
    database_pool: int
    drain_s: float
    activation: activation.Settings
    concurrency: concurrency.Settings
    sandbox: Sandbox
    mutations: frozenset[str]


def read(environment: Mapping[str, str]) -> Config:
    """The configuration in `environment`; raises `settings.SettingsError` listing every mistake."""
    reader = settings.Reader(environment)
    profile = reader.choice("SPACE_PROFILE", "deployment", ("kind", "deployment"))
    config = Config(
        profile=profile,
        pod=reader.text("SPACE_POD_NAME", os.uname().nodename),
        version=reader.text("SPACE_VERSION", _first_line(_VERSION_FILE, "dev")),
        redis_url=reader.secret("SPACE_REDIS_URL"),
        database_url=_database_url(reader),
        database_pool=reader.integer("SPACE_DATABASE_POOL", 8, 1, 100),
        drain_s=reader.number("SPACE_DRAIN_S", 2, 0, 60),
        activation=activation.Settings(
            enabled=reader.boolean("SPACE_CLUSTER_ACTIVATION_ADMISSION_ENABLED", True),
            burst=reader.integer("SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST", 60, 1, 100_000),
            refill_per_second=reader.number("SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND", 60, 0.001, 100_000),
        ),
        concurrency=concurrency.Settings(
            mode=reader.choice("SPACE_API_CLIENT_CONCURRENCY_MODE", concurrency.OBSERVE, concurrency.MODES),
            limit=reader.integer("SPACE_API_CLIENT_CONCURRENCY_LIMIT", 32, 1, 100_000),
            known_clients=reader.names("SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS", (concurrency.UNSPECIFIED,)),
            lease_s=reader.number("SPACE_API_CLIENT_CONCURRENCY_LEASE_S", 30, 1, 300),
        ),
        sandbox=Sandbox(
            namespace=reader.text("SPACE_NAMESPACE", _first_line(_NAMESPACE_FILE, "default")),
            image=reader.text("SPACE_SANDBOX_IMAGE", required=True),
            node_selector=reader.labels("SPACE_SANDBOX_NODE_SELECTOR"),
            start_timeout_s=reader.number("SPACE_SANDBOX_START_TIMEOUT_S", 30, 1, 600),
            parallel_starts=reader.integer("SPACE_SANDBOX_PARALLEL_STARTS", 2, 1, 1000),
        ),
        mutations=mutations.read(reader, profile),
    )
    reader.settle()
    return config


def _database_url(reader: settings.Reader) -> str:
    url = reader.secret("SPACE_DATABASE_URL")
    if not url.startswith(("postgresql://", "postgres://")):
        # The value may hold a password, so it is not repeated.
        reader.mistake("SPACE_DATABASE_URL", "..." if url else "", "must be set to a postgresql:// URL")
    return url


def _first_line(path: Path, default: str) -> str:
    try:
        return path.read_text().strip() or default
    except OSError:
        return default
