"""Helm for the render tests: found once, and each distinct case is rendered once, also over several sessions."""

from __future__ import annotations

import os
import pathlib

import pytest

from space_smoke import errors
from space_smoke.bench import cache, tools
from space_smoke.charts import render


def _program(name: str) -> pathlib.Path:
    """Where it is; a bench needs one Helm only, so the other is unpacked or compiled here when it is missing."""
    kept = cache.folder() / "binaries" / tools.versions().pins[name].key / name
    try:
        return render.locate(name, os.environ, kept)
    except errors.HostUnfit:
        if os.environ.get(f"SPACE_SMOKE_{name.upper()}"):
            raise
        return tools.obtain(name, lambda *_arguments, **_more: None)


def _renderer(name: str) -> render.Renderer:
    kube_version = tools.versions().kubernetes
    return render.Renderer(_program(name), kube_version=kube_version, memory=cache.folder() / "renders")


@pytest.fixture(scope="session")
def helm_program() -> pathlib.Path:
    return _program("helm")


@pytest.fixture(scope="session")
def helm() -> render.Renderer:
    return _renderer("helm")


@pytest.fixture(scope="session")
def helm4() -> render.Renderer:
    return _renderer("helm4")
