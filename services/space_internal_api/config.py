"""All settings of the internal API, read from the environment once at start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from common import database, identity, settings


@dataclass(frozen=True, slots=True)
class Config:
    """`image` is the reference of the image this pod runs, as whoever deployed it says: it cannot ask Kubernetes."""

    own: identity.Identity
    database: database.Settings
    image: str


def read(environment: Mapping[str, str]) -> Config:
    """The configuration in `environment`; raises `settings.SettingsError` listing every mistake."""
    reader = settings.Reader(environment)
    config = Config(identity.read(reader), database.read(reader), reader.text("SPACE_IMAGE"))
    reader.settle()
    return config
