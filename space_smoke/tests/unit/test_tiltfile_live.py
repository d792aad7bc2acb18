"""The layer that takes changed code: one changed file is enough, and the process goes on with it under its number."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from space_smoke.bench import cache

SOURCE = cache.KIND / "live" / "sitecustomize.py"

# What sitecustomize does in a container, for a process that is not its first one.
RUNNER = """
import importlib.util, os, sys, threading, time
from pathlib import Path
source, shipped, live = map(Path, sys.argv[1:])
spec = importlib.util.spec_from_file_location("live_layer", source)
layer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layer)
sys.path[:0] = [str(live), str(shipped)]
threading.Thread(target=layer.watch, args=(shipped, live, layer._again, time.sleep), daemon=True).start()
from app import unchanged, words
print(os.getpid(), words.WORD, unchanged.WORD, flush=True)
time.sleep(60)
"""


@pytest.fixture
def layer() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("live_layer", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    app = tmp_path / "shipped" / "app"
    app.mkdir(parents=True)
    (app / "__init__.py").touch()
    (app / "words.py").write_text("WORD = 'old'\n")
    (app / "unchanged.py").write_text("WORD = 'same'\n")
    return app.parent


@pytest.fixture
def process(shipped: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-c", RUNNER, str(SOURCE), str(shipped), str(tmp_path / "live")]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    yield child
    child.kill()
    child.communicate()


def test_a_changed_file_is_run_by_the_same_process_beside_the_files_that_did_not_change(
    process: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert process.stdout is not None
    assert process.stdout.readline().split() == [str(process.pid), "old", "same"]
    changed = tmp_path / "live" / "app" / "words.py"
    changed.parent.mkdir(parents=True)
    changed.write_text("WORD = 'new'\n")
    assert process.stdout.readline().split() == [str(process.pid), "new", "same"]
    changed.write_text("WORD = 'newest'\n")
    assert process.stdout.readline().split() == [str(process.pid), "newest", "same"]


def test_what_was_synced_is_never_overwritten_and_dependencies_are_not_copied(
    layer: types.ModuleType, shipped: Path, tmp_path: Path
) -> None:
    live = tmp_path / "live"
    for folder in ("site", "app/__pycache__"):
        (shipped / folder).mkdir()
        (shipped / folder / "x.py").touch()
    (live / "app").mkdir(parents=True)
    (live / "app" / "words.py").write_text("WORD = 'new'\n")
    layer.complete(shipped, live)
    found = {str(path.relative_to(live)) for path in live.rglob("*") if path.is_file()}
    assert found == {"app/__init__.py", "app/words.py", "app/unchanged.py"}
    assert (live / "app" / "words.py").read_text() == "WORD = 'new'\n"


class _Over(Exception):
    pass


def test_a_change_that_goes_on_is_waited_for_and_restarts_once(
    layer: types.ModuleType, shipped: Path, tmp_path: Path
) -> None:
    live, turns, restarts = tmp_path / "live", iter(range(8)), []

    def sleep(_seconds: float) -> None:
        turn = next(turns, None)
        if turn is None:
            raise _Over
        if turn in (1, 2, 3):  # three files arrive, one in each turn
            live.mkdir(exist_ok=True)
            (live / f"{turn}.py").touch()

    def restart() -> None:
        restarts.append(len(list(live.glob("*.py"))))

    with pytest.raises(_Over):
        layer.watch(shipped, live, restart, sleep)
    assert restarts == [3]


def test_a_process_that_is_not_the_first_of_its_container_is_left_alone(tmp_path: Path) -> None:
    code = "import sitecustomize, threading; print(sitecustomize.__file__, threading.active_count())"
    said = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(SOURCE.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == [str(SOURCE), "1"]
