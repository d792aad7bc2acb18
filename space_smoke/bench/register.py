"""The benches this cache knows: what each is made of, who makes it, and whether it was finished.

benches/NAME/bench.json is written before the first container exists and after every change, whole each time. kind has
no flag for labels, so this file is where run id, host, boot id, pid and start time of the maker are kept. State
`creating` with a dead maker means: half made, remove and make again. Called by engine.up, engine.down and status.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from space_smoke import errors
from space_smoke.bench import cache

CREATING, READY = "creating", "ready"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Entry:
    """bench.json. `config` is the digest of shape, node image and API port: another one means another cluster.

    `releases` maps a release to the digest of chart, values and images that was installed last, and `revisions` to its
    Helm revision then; `images` maps references to ids on the workers. `created_s` is Unix time.
    """

    name: str
    state: str
    run_id: str
    maker: cache.Process
    created_s: float
    config: str
    node_image: str
    node_image_id: str
    kubernetes: str
    built_node_image: bool
    ephemeral: bool = False
    images: Mapping[str, str] = field(default_factory=dict)
    releases: Mapping[str, str] = field(default_factory=dict)
    revisions: Mapping[str, int] = field(default_factory=dict)

    @property
    def half_made(self) -> bool:
        return self.state != READY and self.maker.dead()


def check_name(name: str) -> None:
    """Raises errors.UsageError for a name that kind or a host name would refuse."""
    if not _NAME.fullmatch(name):
        raise errors.UsageError(
            f"bench name {name!r} must be 1 to 40 of a-z, 0-9 and '-', and begin and end with a letter or digit",
            next_step="space_smoke up --name another-name",
        )


def folder(name: str) -> pathlib.Path:
    return cache.folder() / "benches" / name


def kubeconfig(name: str) -> pathlib.Path:
    """The bench's own kubeconfig; the user's is never touched."""
    return folder(name) / "kubeconfig"


def read(name: str) -> Entry | None:
    """The bench's entry, or None when this cache knows none by that name."""
    try:
        fields = json.loads((folder(name) / "bench.json").read_text())
    except FileNotFoundError:
        return None
    return Entry(**{**fields, "maker": cache.Process(**fields["maker"])})


def write(entry: Entry) -> None:
    cache.write_whole(folder(entry.name) / "bench.json", json.dumps(dataclasses.asdict(entry), indent=1) + "\n")


def known() -> list[Entry]:
    """All benches of this cache, by name."""
    found = [read(path.parent.name) for path in sorted((cache.folder() / "benches").glob("*/bench.json"))]
    return [entry for entry in found if entry is not None]


def leftovers(older_than_s: float, now_s: float | None = None) -> list[Entry]:
    """The benches that a dead run left half made, or made for itself alone, at least `older_than_s` seconds ago."""
    now = time.time() if now_s is None else now_s
    dead = [entry for entry in known() if entry.maker.dead() and (entry.state != READY or entry.ephemeral)]
    return [entry for entry in dead if now - entry.created_s >= older_than_s]
