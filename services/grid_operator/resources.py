"""`python -m grid_operator.resources write|check`: the copies of the model, written, or compared with what is checked in.

Ends with 1 when a copy differs, 64 when it was called wrong. For developers: the services' image has no YAML library.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from grid_operator.model import KINDS, reference, values

ROOT = pathlib.Path(__file__).parents[2]
CRD_FOLDERS = ("charts/grid-operator/crds", "deploy/crds")
_CALL = "python -m grid_operator.resources"
_HEAD = "# Generated from services/grid_operator/model by `python -m grid_operator.resources write`.\n"
_USAGE_CODE = 64


def crd_text(crd: Mapping[str, Any]) -> str:
    """The manifest's YAML: the same for the same model, ASCII only."""
    return _HEAD + yaml.safe_dump(crd, sort_keys=False, width=120)


def copies() -> dict[str, str]:
    """What each generated file holds, by its path from the repository's root."""
    found = {f"{folder}/{kind.file}": crd_text(kind.crd()) for folder in CRD_FOLDERS for kind in KINDS}
    found["charts/grid-site/values.schema.json"] = json.dumps(values.schema(), indent=2) + "\n"
    found["docs/grid-resources.md"] = reference.document()
    return found


def write(root: pathlib.Path) -> None:
    """Write every copy below `root`, and remove CRDs that the model no longer has."""
    for path in _strays(root):
        path.unlink()
    for name, text in copies().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def differences(root: pathlib.Path) -> list[str]:
    """A sentence for each copy below `root` that is not what the model says."""
    found = [f"{path.relative_to(root)}: the model has no such CRD" for path in _strays(root)]
    for name, wanted in copies().items():
        path = root / name
        if not path.is_file():
            found.append(f"{name}: is not there")
        elif (seen := path.read_text()) != wanted:
            found.append(f"{name}:{_first_difference(seen, wanted)}: differs from the model")
    return found


def _first_difference(seen: str, wanted: str) -> int:
    """The first line, counted from 1, that is not the same."""
    ours, theirs = wanted.splitlines(), seen.splitlines()
    pairs = enumerate(zip(ours, theirs, strict=False), start=1)
    return next((number for number, (one, other) in pairs if one != other), min(len(ours), len(theirs)) + 1)


def _strays(root: pathlib.Path) -> list[pathlib.Path]:
    known = {kind.file for kind in KINDS}
    return sorted(path for folder in CRD_FOLDERS for path in (root / folder).glob("*.yaml") if path.name not in known)


def main(arguments: Sequence[str], root: pathlib.Path = ROOT) -> int:
    """The process's exit code."""
    if list(arguments) == ["write"]:
        write(root)
        return 0
    if list(arguments) != ["check"]:
        sys.stderr.write(f"{' '.join(arguments) or 'nothing'}: must be write or check; call {_CALL} write|check\n")
        return _USAGE_CODE
    found = differences(root)
    for sentence in found:
        sys.stderr.write(f"{sentence}; call {_CALL} write\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
