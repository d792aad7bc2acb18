"""The activation limiter's settings, read in one place because API and controller must be given the same."""

from __future__ import annotations

from common import settings
from limiters import activation


def activation_settings(reader: settings.Reader) -> activation.Settings:
    return activation.Settings(
        enabled=reader.boolean("SPACE_CLUSTER_ACTIVATION_ADMISSION_ENABLED", True),
        burst=reader.integer("SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST", 60, 1, 100_000),
        refill_per_second=reader.number("SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND", 60, 0.001, 100_000),
    )
