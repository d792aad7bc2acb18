"""What a bench runs: charts/releases.yaml, read into stages of planned releases. Called by engine.up and charts."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from space_smoke import errors
from space_smoke.bench import cache, images

_IMAGE_OF = {"space-redis": "redis", "postgres": "postgres"}


@dataclass(frozen=True, slots=True)
class Volume:
    """A claim of a release whose volume is made beforehand on the node of a group; `size` as Kubernetes writes it."""

    namespace: str
    claim: str
    group: str
    size: str


@dataclass(frozen=True, slots=True)
class Planned:
    """One release to install: paths resolved, `image` the target of kind/images/Dockerfile that it runs. `certificate` is
    the Service that its server needs one for, or ""."""

    release: str
    chart: pathlib.Path
    namespace: str
    values: tuple[pathlib.Path, ...]
    image: str
    volumes: tuple[Volume, ...] = ()
    certificate: str = ""

    def sets(self, built: Mapping[str, images.Image]) -> dict[str, str]:
        image = built[self.image]
        return {"image.repository": image.repository, "image.tag": image.tag}

    def digest(self, built: Mapping[str, images.Image]) -> str:
        """Changes with the chart, its values or its image: whether an installed release is still what is wanted."""
        return cache.digest([self.release, self.namespace, built[self.image].reference, self.chart, *self.values])


def stages(path: pathlib.Path | None = None) -> list[list[Planned]]:
    """The stages in order; those of one stage may be installed at once. Raises errors.SpecError for a wrong file."""
    path = path or cache.PROJECT / "charts" / "releases.yaml"
    read: dict[str, Any] = yaml.safe_load(path.read_text())
    mistakes: list[errors.Mistake] = []
    planned = [[_planned(path, one, mistakes) for one in stage] for stage in read["stages"]]
    if mistakes:
        raise errors.SpecError(mistakes)
    return planned


def _planned(path: pathlib.Path, one: Mapping[str, Any], mistakes: list[errors.Mistake]) -> Planned:
    release = str(one.get("release", ""))
    chart = path.parent / str(one.get("chart", release))
    named = one.get("values") or []
    values = tuple(path.parent / value for value in ([named] if isinstance(named, str) else named))
    image = str(one.get("image") or _IMAGE_OF.get(release, "services"))
    for file in (chart / "Chart.yaml", *values):
        if not file.exists():
            mistakes.append(errors.Mistake(str(path), f"release {release!r} names {file}, which does not exist"))
    if image not in images.TARGETS:
        mistakes.append(
            errors.Mistake(str(path), f"release {release!r} runs image {image!r}, not one of {images.TARGETS}")
        )
    namespace = str(one.get("namespace", "default"))
    volumes = tuple(
        Volume(namespace, *(str(v[key]) for key in ("claim", "group", "size"))) for v in one.get("volumes", ())
    )
    return Planned(release, chart, namespace, values, image, volumes, str(one.get("certificate", "")))
