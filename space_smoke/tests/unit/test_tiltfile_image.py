"""The command by which Tilt has an image made: the image of `up`, on the nodes, its reference in a file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import cache, dev_image, engine, images, nodes, proc, register, tools

BUILT = {
    target: images.Image(f"space-smoke/{target}", "0123456789ab", "sha256:0123456789ab") for target in images.TARGETS
}


def quiet(_event: str, **_data: Any) -> None:
    pass


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine with cluster `mine` and no live layer yet; what is done to it, in order."""
    done: list[str] = []
    made: dict[str, str] = {}

    def ran(argv: list[str], **_more: Any) -> None:
        done.append(" ".join(argv))
        made[argv[argv.index("--tag") + 1]] = "sha256:fedcba987654321"

    @contextlib.contextmanager
    def locked(name: str, _emit: cache.Emit, *, timeout_s: float) -> Iterator[bool]:
        done.append(f"lock {name}")
        yield False
        done.append(f"unlock {name}")

    def built(base: str, _emit: cache.Emit) -> dict[str, images.Image]:
        done.append(f"built on {base}")
        return BUILT

    monkeypatch.setattr(engine, "node_containers", lambda name, *_: ["mine-worker"] if name == "mine" else [])
    monkeypatch.setattr(engine, "image_id", made.get)
    monkeypatch.setattr(engine, "docker", lambda *argv, **_more: done.append(" ".join(("docker", *argv))))
    monkeypatch.setattr(proc, "run", ran)
    monkeypatch.setattr(images, "base", lambda _emit: "base")
    monkeypatch.setattr(images, "services", built)
    monkeypatch.setattr(register, "read", lambda _name: None)
    monkeypatch.setattr(tools, "obtain", lambda name, _emit: Path(name))
    monkeypatch.setattr(cache, "lock", locked)
    monkeypatch.setattr(
        nodes, "load", lambda bench, wanted, *_, linkable: done.append(f"{wanted[0].reference} on {bench} {linkable}")
    )
    return done


def test_the_image_is_that_of_up_and_is_loaded_under_the_lock_of_the_bench(told: list[str]) -> None:
    assert dev_image.onto("redis", "mine", quiet, live=False) == BUILT["redis"]
    assert told == [
        "built on base",
        "lock bench-mine",
        f"{BUILT['redis'].reference} on mine False",
        "unlock bench-mine",
    ]


def test_the_live_layer_stands_above_that_image_with_a_tag_of_its_own(told: list[str]) -> None:
    image = dev_image.onto("services", "mine", quiet, live=True)
    assert (image.reference, image.identity) == ("space-smoke/services:live-fedcba987654", "sha256:fedcba987654321")
    (build,) = [one for one in told if one.startswith("docker build")]
    assert f"--build-arg BASE={BUILT['services'].reference}" in build
    assert build.endswith(str(cache.KIND / "live"))
    assert f"{image.reference} on mine False" in told


def test_a_live_layer_that_is_there_is_not_built_again(told: list[str]) -> None:
    first = dev_image.with_live_layer(BUILT["services"], quiet)
    told.clear()
    assert dev_image.with_live_layer(BUILT["services"], quiet) == first
    assert not any(one.startswith("docker build") for one in told)


def test_a_cluster_that_does_not_run_is_told_before_anything_is_built(told: list[str]) -> None:
    with pytest.raises(errors.BenchError, match="no Kind cluster other") as failed:
        dev_image.onto("services", "other", quiet, live=False)
    assert failed.value.next_step == "space_smoke up --name other"
    assert told == []


def test_the_file_holds_the_reference_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "not-there-yet" / "services"
    asked: list[Any] = []

    def build(target: str, bench: str, _emit: cache.Emit, *, live: bool) -> images.Image:
        asked.append((target, bench, live))
        return BUILT[target]

    arguments = ["services", "--onto", "mine", "--reference-to", str(file), "--live"]
    assert dev_image.main(arguments, build) == errors.PASSED
    assert file.read_text() == f"{BUILT['services'].reference}\n"
    assert asked == [("services", "mine", True)]


def test_a_failed_build_leaves_no_reference_and_ends_with_its_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def build(*_arguments: Any, **_more: Any) -> images.Image:
        raise errors.HostUnfit("no Docker", next_step="space_smoke doctor")

    file = tmp_path / "services"
    assert dev_image.main(["redis", "--onto", "mine", "--reference-to", str(file)], build) == errors.UNFIT
    assert not file.exists()
    assert capsys.readouterr().err == "dev_image: no Docker\n  next: space_smoke doctor\n"
