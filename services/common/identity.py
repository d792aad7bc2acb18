"""The settings that every service with an HTTP port has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common import mutations, otlp, settings

_VERSION_FILE = Path(__file__).parents[1] / "VERSION"  # written when the image is built


@dataclass(frozen=True, slots=True)
class Identity:
    """Which pod this is, of what; `drain_s` is how long it goes on serving after it has reported itself unready;
    `otlp_endpoint` is where log lines go as well, or ""."""

    profile: str
    pod: str
    version: str
    drain_s: float
    mutations: frozenset[str]
    otlp_endpoint: str = ""


def read(reader: settings.Reader, known: Sequence[str] = tuple(mutations.TABLE)) -> Identity:
    """`known` are the mutations that may be named."""
    profile = reader.choice("SPACE_PROFILE", "deployment", ("kind", "deployment"))
    return Identity(
        profile=profile,
        pod=reader.text("SPACE_POD_NAME", os.uname().nodename),
        version=reader.text("SPACE_VERSION", first_line(_VERSION_FILE, "dev")),
        drain_s=reader.number("SPACE_DRAIN_S", 2, 0, 60),
        mutations=mutations.read(reader, profile, known),
        otlp_endpoint=otlp.read(reader),
    )


def first_line(path: Path, default: str) -> str:
    """What a small file holds, or `default` when there is none."""
    try:
        return path.read_text().strip() or default
    except OSError:
        return default
