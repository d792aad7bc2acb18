"""Helm for the render tests: found once, and each distinct case is rendered once, also over several sessions."""

from __future__ import annotations

import os
import pathlib

import pytest

from space_smoke.bench import cache, tools
from space_smoke.charts import render


def _program(name: str) -> pathlib.Path:
    kept = cache.folder() / "binaries" / tools.versions().pins[name].key / name
    return render.locate(name, os.environ, kept)


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
