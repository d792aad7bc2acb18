"""What a bench runs: charts/releases.yaml, read into stages of planned releases. Called by engine.up and charts."""

from __future__ import annotations

import pathlib
from collections.abc import Collection, Mapping
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
    """One release to install: paths resolved, `image` the one of ours that it runs. `certificate` is the Service that its
    server needs one for, or ""."""

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


def stages(path: pathlib.Path | None = None, *, extras: Collection[str] = ()) -> list[list[Planned]]:
    """The stages in order; those of one stage may be installed at once. Of the optional releases only `extras`.

    Raises errors.SpecError for a wrong file, errors.UsageError for an extra that is no optional release.
    """
    path = path or cache.PROJECT / "charts" / "releases.yaml"
    offered = optional(path)
    if unknown := sorted(set(extras) - set(offered)):
        raise errors.UsageError(
            f"{unknown[0]!r} is no optional release",
            next_step=f"choose from {', '.join(offered) or 'none: there are none'}",
        )
    mistakes: list[errors.Mistake] = []
    planned = [
        [_planned(path, one, extras, mistakes) for one in stage if not one.get("optional") or one["release"] in extras]
        for stage in _listed(path)
    ]
    if mistakes:
        raise errors.SpecError(mistakes)
    return planned


def optional(path: pathlib.Path | None = None) -> tuple[str, ...]:
    """The releases that a bench has only where they are asked for."""
    path = path or cache.PROJECT / "charts" / "releases.yaml"
    return tuple(str(one["release"]) for stage in _listed(path) for one in stage if one.get("optional"))


def namespaces(path: pathlib.Path | None = None) -> tuple[str, ...]:
    """Where the releases of a bench are, the optional ones too."""
    path = path or cache.PROJECT / "charts" / "releases.yaml"
    return tuple(sorted({str(one.get("namespace", "default")) for stage in _listed(path) for one in stage}))


def kept(installed: Collection[str]) -> set[str]:
    """The optional ones among the releases of a bench: it keeps what it was asked for once."""
    return set(optional()) & set(installed)


def _listed(path: pathlib.Path) -> list[list[dict[str, Any]]]:
    read: dict[str, list[list[dict[str, Any]]]] = yaml.safe_load(path.read_text())
    return read["stages"]


def _planned(
    path: pathlib.Path, one: Mapping[str, Any], extras: Collection[str], mistakes: list[errors.Mistake]
) -> Planned:
    release = str(one.get("release", ""))
    chart = path.parent / str(one.get("chart", release))
    named = one.get("values") or []
    beside = [file for extra, file in (one.get("beside") or {}).items() if extra in extras]
    values = tuple(path.parent / value for value in [*([named] if isinstance(named, str) else named), *beside])
    image = str(one.get("image") or _IMAGE_OF.get(release, "services"))
    for file in (chart / "Chart.yaml", *values):
        if not file.exists():
            mistakes.append(errors.Mistake(str(path), f"release {release!r} names {file}, which does not exist"))
    if image not in images.EVERY:
        mistakes.append(
            errors.Mistake(str(path), f"release {release!r} runs image {image!r}, not one of {images.EVERY}")
        )
    namespace = str(one.get("namespace", "default"))
    volumes = tuple(
        Volume(namespace, *(str(v[key]) for key in ("claim", "group", "size"))) for v in one.get("volumes", ())
    )
    return Planned(release, chart, namespace, values, image, volumes, str(one.get("certificate", "")))
