"""Helm for the render tests: found once, and each distinct case is rendered once, also over several sessions."""

from __future__ import annotations

import os

import pytest

from space_smoke.bench import cache, tools
from space_smoke.charts import render


def _renderer(name: str) -> render.Renderer:
    versions = tools.versions()
    kept = cache.folder() / "binaries" / versions.pins[name].key / name
    helm = render.locate(name, os.environ, kept)
    return render.Renderer(helm, kube_version=versions.kubernetes, memory=cache.folder() / "renders")


@pytest.fixture(scope="session")
def helm() -> render.Renderer:
    return _renderer("helm")


@pytest.fixture(scope="session")
def helm4() -> render.Renderer:
    return _renderer("helm4")
