"""Helm for the render tests: found once, and shared so that each distinct case is rendered once in a session."""

from __future__ import annotations

import os

import pytest

from space_smoke.bench import cache
from space_smoke.charts import render

KUBE_VERSION = "v1.34.4"


def _renderer(name: str) -> render.Renderer:
    return render.Renderer(render.locate(name, os.environ, cache.folder()), kube_version=KUBE_VERSION)


@pytest.fixture(scope="session")
def helm() -> render.Renderer:
    return _renderer("helm")


@pytest.fixture(scope="session")
def helm4() -> render.Renderer:
    return _renderer("helm4")
