"""What a bench runs: charts/releases.yaml, read into stages of planned releases. Called by engine.up and charts."""

from __future__ import annotations

import pathlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from space_smoke import errors
from space_smoke.bench import cache, images

_LIST = cache.PROJECT / "charts" / "releases.yaml"
_OURS = "space-smoke/"  # how our images are called


@dataclass(frozen=True, slots=True)
class Volume:
    """A claim of a release whose volume is made beforehand on the node of a group; `size` as Kubernetes writes it."""

    namespace: str
    claim: str
    group: str
    size: str


@dataclass(frozen=True, slots=True)
class Planned:
    """One release to install: paths resolved, `image` the one of ours that it runs, or "" where it has no pods. `given` are
    its own values by path. `certificate` is the Service that its server needs one for, `keys` the grid site whose keys it
    needs, or ""."""

    release: str
    chart: pathlib.Path
    namespace: str
    values: tuple[pathlib.Path, ...]
    image: str
    volumes: tuple[Volume, ...] = ()
    certificate: str = ""
    keys: str = ""
    given: Mapping[str, str] = field(default_factory=dict)

    def sets(self, built: Mapping[str, images.Image]) -> dict[str, str]:
        if not self.image:
            return dict(self.given)
        image = built[self.image]
        return {**self.given, "image.repository": image.repository, "image.tag": image.tag}

    def digest(self, built: Mapping[str, images.Image]) -> str:
        """Changes with the chart, its values or its image: whether an installed release is still what is wanted."""
        sets = [f"{path}={value}" for path, value in self.sets(built).items()]
        return cache.digest([self.release, self.namespace, *sets, self.chart, *self.values])


def stages(path: pathlib.Path | None = None, *, extras: Collection[str] = ()) -> list[list[Planned]]:
    """The stages in order; those of one stage may be installed at once. Of the optional releases those of `extras`; a stage
    of which nothing is left is none.

    Raises errors.SpecError for a wrong file, errors.UsageError for an extra that no release has as its word.
    """
    path = path or _LIST
    offered = optional(path)
    if unknown := sorted(set(extras) - set(offered)):
        raise errors.UsageError(
            f"{unknown[0]!r} is no optional part of a bench",
            next_step=f"choose from {', '.join(offered) or 'none: there are none'}",
        )
    mistakes: list[errors.Mistake] = []
    planned = [
        [_planned(path, one, extras, mistakes) for one in stage if _word(one) in ("", *extras)]
        for stage in _listed(path)
    ]
    if mistakes:
        raise errors.SpecError(mistakes)
    return [stage for stage in planned if stage]


def optional(path: pathlib.Path | None = None) -> tuple[str, ...]:
    """The words that a bench is asked for optional releases by; one word may bring several."""
    return tuple(dict.fromkeys(word for one in _entries(path) if (word := _word(one))))


def asked_by(names: Collection[str]) -> frozenset[str]:
    """The words of the optional releases that are meant by names of releases or charts, as a scenario needs them.

    A name that a bench has anyway, such as a chart that both kinds of releases are of, asks for nothing.
    """
    always = {name for one in _entries() if not _word(one) for name in _names(one)}
    return frozenset(_word(one) for one in _entries() if _word(one) and (_names(one) - always) & set(names))


def namespaces(path: pathlib.Path | None = None) -> tuple[str, ...]:
    """Where the releases of a bench are, the optional ones too."""
    return tuple(sorted({str(one.get("namespace", "default")) for one in _entries(path)}))


def kept(installed: Collection[str]) -> set[str]:
    """The words of the optional ones among the releases of a bench: it keeps what it was asked for once."""
    return {_word(one) for one in _entries() if one["release"] in installed} - {""}


def lacking(extras: Collection[str], installed: Collection[str]) -> set[str]:
    """The releases of `extras` that are not among those of a bench, as when a run was killed between two of them."""
    return {str(one["release"]) for one in _entries() if _word(one) in extras} - set(installed)


def _entries(path: pathlib.Path | None = None) -> list[dict[str, Any]]:
    return [one for stage in _listed(path or _LIST) for one in stage]


def _word(one: Mapping[str, Any]) -> str:
    return str(one.get("optional") or "")


def _names(one: Mapping[str, Any]) -> set[str]:
    return {str(one["release"]), str(one.get("chart", one["release"]))}


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
    image = str(one.get("image") or _image(chart))
    for file in (chart / "Chart.yaml", *values):
        if not file.exists():
            mistakes.append(errors.Mistake(str(path), f"release {release!r} names {file}, which does not exist"))
    if image not in ("", *images.EVERY):
        mistakes.append(
            errors.Mistake(str(path), f"release {release!r} runs image {image!r}, not one of {images.EVERY}")
        )
    namespace = str(one.get("namespace", "default"))
    volumes = tuple(
        Volume(namespace, *(str(v[key]) for key in ("claim", "group", "size"))) for v in one.get("volumes", ())
    )
    return Planned(
        release,
        chart,
        namespace,
        values,
        image,
        volumes,
        certificate=str(one.get("certificate", "")),
        keys=str(one.get("keys", "")),
        given={str(path): str(value) for path, value in (one.get("set") or {}).items()},
    )


def _image(chart: pathlib.Path) -> str:
    """The image that a chart's own values name; "" for a chart without pods."""
    file = chart / "values.yaml"
    values = (yaml.safe_load(file.read_text()) if file.exists() else None) or {}
    return str((values.get("image") or {}).get("repository", "")).removeprefix(_OURS)
