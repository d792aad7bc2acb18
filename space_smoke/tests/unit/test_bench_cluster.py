"""What kind and the nodes are given, without an engine: configuration, refusals, and images without layers."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import pathlib
import tarfile
from typing import Any

import pytest
import yaml

from space_smoke import errors
from space_smoke.bench import cache, engine, helm, images, kind, nodes, proc, register, releases

BUILT = images.NodeImage("space-smoke/node:v1.34.4-abc", "sha256:1", "v1.34.4", built=True)
PUBLISHED = images.NodeImage("kindest/node:v1.34.11@sha256:2", "sha256:2", "v1.34.11", built=False)


def silent(*_: Any, **__: Any) -> None:
    pass


def patches(config: dict[str, Any]) -> list[dict[str, Any]]:
    return [yaml.safe_load(text) for text in config["kubeadmConfigPatches"]]


def test_only_a_built_node_image_moves_the_kubelet_to_cgroupfs(tmp_path: pathlib.Path) -> None:
    drivers = [
        [
            patch.get("cgroupDriver")
            for patch in patches(kind.configuration(image, tmp_path, 0))
            if "cgroupDriver" in patch
        ]
        for image in (BUILT, PUBLISHED)
    ]
    assert drivers == [["cgroupfs"], []]


def test_the_control_plane_alone_mounts_the_audit_policy(tmp_path: pathlib.Path) -> None:
    config = kind.configuration(BUILT, tmp_path, 0)
    mounts = [(node["role"], [m["hostPath"] for m in node.get("extraMounts", [])]) for node in config["nodes"]]
    assert mounts == [("control-plane", [str(tmp_path)]), ("worker", []), ("worker", [])]
    policy = yaml.safe_load((cache.KIND / "audit" / "policy.yaml").read_text())
    assert policy["rules"][-1] == {"level": "None"}


def test_a_bench_has_one_worker_per_group() -> None:
    assert sorted(kind.groups()) == ["", "infra", "sandbox"]


def test_an_api_port_is_passed_on_only_when_one_is_asked_for(tmp_path: pathlib.Path) -> None:
    assert kind.configuration(BUILT, tmp_path, 6443)["networking"]["apiServerPort"] == 6443
    assert "apiServerPort" not in kind.configuration(BUILT, tmp_path, 0)["networking"]


def test_a_second_control_plane_is_refused_because_kind_would_pull_for_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bench.yaml").write_text("nodes: [{role: control-plane}, {role: control-plane}]")
    monkeypatch.setattr(cache, "KIND", tmp_path)
    with pytest.raises(errors.BenchError, match="2 control planes"):
        kind.configuration(BUILT, tmp_path, 0)


def test_a_node_image_that_the_engine_lacks_is_refused_before_kind_starts(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path))
    monkeypatch.setattr(engine, "image_id", lambda _reference: None)
    with pytest.raises(errors.BenchError, match="kind would pull it"):
        kind.create(tmp_path / "no-kind", "b1", PUBLISHED, 0, silent)


def test_kinds_stages_become_marks(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path))
    monkeypatch.setattr(engine, "image_id", lambda _reference: "sha256:1")
    fake = tmp_path / "kind"
    said = " • Preparing nodes\\n • Starting control-plane  ...\\n • Installing CNI  ...\\n • Joining worker nodes\\n"
    fake.write_text(f"#!/bin/sh\ncat >{tmp_path}/config\nprintf '{said}' >&2\n")
    fake.chmod(0o755)
    reached: list[str] = []
    kind.create(fake, "b1", BUILT, 0, reached.append)
    assert reached == ["nodes", "api"]
    assert yaml.safe_load((tmp_path / "config").read_text())["kind"] == "Cluster"
    assert (register.folder("b1") / "audit" / "policy.yaml").exists()


def test_what_docker_could_not_remove_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "node_containers", lambda _name: ["b1-worker"])
    monkeypatch.setattr(engine, "inspect", lambda _c: [{"Mounts": [{"Type": "volume", "Name": "v1"}]}])
    monkeypatch.setattr(engine, "docker", lambda *_a, **_k: proc.Done("v1\n", "", 0, 0.0))
    with pytest.raises(errors.BenchError, match=r"remain containers \['b1-worker'\] and volumes \['v1'\]"):
        kind.remove("b1")


def test_a_removal_killed_between_a_container_and_its_volume_is_finished_by_the_next(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path))
    register.folder("b1").mkdir(parents=True)
    containers, volumes = ["b1-worker"], ["v1", "others"]

    def docker(*argv: str, **_options: object) -> proc.Done:
        if argv[0] == "rm":
            containers.clear()
            raise KeyboardInterrupt  # the container is gone, its volume is not
        for name in argv[3:] if argv[:2] == ("volume", "rm") else ():
            volumes.remove(name)
        return proc.Done("\n".join(volumes), "", 0, 0.0)

    monkeypatch.setattr(engine, "node_containers", lambda _name: list(containers))
    monkeypatch.setattr(engine, "inspect", lambda _c: [{"Mounts": [{"Type": "volume", "Name": "v1"}]}])
    monkeypatch.setattr(engine, "docker", docker)
    with pytest.raises(KeyboardInterrupt):
        kind.remove("b1")
    kind.remove("b1")
    assert volumes == ["others"]


def test_chain_ids_follow_the_image_specification() -> None:
    # The example of two layers: the second chain is the digest of "first second".
    second = hashlib.sha256(b"sha256:a sha256:b").hexdigest()
    third = hashlib.sha256(f"sha256:{second} sha256:c".encode()).hexdigest()
    assert nodes._chains(["sha256:a", "sha256:b", "sha256:c"]) == ("sha256:a", f"sha256:{second}", f"sha256:{third}")


def test_an_archive_names_manifest_and_config_by_their_digests() -> None:
    config = b'{"rootfs":{}}'
    identity = f"sha256:{hashlib.sha256(config).hexdigest()}"
    layers = nodes._Layers("space-smoke/redis:1", identity, config, ("sha256:a",), ("sha256:a",), ("/x",))
    with tarfile.open(fileobj=io.BytesIO(nodes._archive([layers]))) as archive:
        files = {name: (archive.extractfile(name) or io.BytesIO()).read() for name in archive.getnames()}
    entry = json.loads(files["index.json"])["manifests"][0]
    manifest = files[f"blobs/sha256/{entry['digest'].removeprefix('sha256:')}"]
    assert entry["annotations"]["io.containerd.image.name"] == "docker.io/space-smoke/redis:1"
    assert hashlib.sha256(manifest).hexdigest() == entry["digest"].removeprefix("sha256:")
    assert json.loads(manifest)["config"] == {
        "mediaType": "application/vnd.oci.image.config.v1+json",
        "digest": identity,
        "size": len(config),
    }
    assert files[f"blobs/sha256/{identity.removeprefix('sha256:')}"] == config


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("redis:7", "docker.io/library/redis:7"),
        ("space-smoke/redis:1", "docker.io/space-smoke/redis:1"),
        ("registry.example/redis:1", "registry.example/redis:1"),
        ("localhost/redis:1", "localhost/redis:1"),
        ("host:5000/redis:1", "host:5000/redis:1"),
    ],
)
def test_containerd_knows_an_image_by_its_full_name(given: str, full: str) -> None:
    assert nodes._full(given) == full


def fake_helm(tmp_path: pathlib.Path, history: str) -> pathlib.Path:
    """A helm that writes down its arguments and answers `history` with the statuses given."""
    path = tmp_path / "helm"
    answer = json.dumps([{"revision": n + 1, "status": status} for n, status in enumerate(history.split())])
    path.write_text(
        f'#!/bin/sh\necho "$*" >>{tmp_path}/calls\n'
        f"case $1 in history) echo '{answer}' ;; upgrade) echo '{{\"version\": 7}}' ;; esac\n"
    )
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("history", "status", "acts"),
    [
        ("deployed", "deployed", ["upgrade"]),
        (
            "deployed superseded deployed pending-upgrade",
            "pending-upgrade",
            ["history", "rollback space-redis 3", "upgrade"],
        ),
        ("pending-install", "pending-install", ["history", "uninstall space-redis", "upgrade"]),
        ("superseded failed pending-rollback", "pending-rollback", ["history", "rollback space-redis 1", "upgrade"]),
    ],
)
def test_a_release_that_a_killed_run_left_pending_is_freed_before_it_is_upgraded(
    history: str, status: str, acts: list[str], tmp_path: pathlib.Path
) -> None:
    previous = helm.Release("space-redis", "space", 3, status)
    revision = helm.upgrade_install(
        fake_helm(tmp_path, history),
        "space-redis",
        tmp_path,
        "space",
        kubeconfig=tmp_path / "kubeconfig",
        emit=silent,
        sets={"image.tag": "0123"},
        previous=previous,
    )
    calls = (tmp_path / "calls").read_text().splitlines()
    assert revision == 7
    assert [call.startswith(act) for call, act in zip(calls, acts, strict=True)] == [True] * len(acts)
    assert "--set-string image.tag=0123" in calls[-1]
    assert "--skip-crds" in calls[-1]
    assert f"--kubeconfig {tmp_path}/kubeconfig" in calls[-1]


def test_the_releases_of_the_project_are_read_in_stages_with_their_files() -> None:
    stages = releases.stages()
    services = ["space-admin-api", "space-api", "space-cluster-controller", "space-internal-api"]
    assert [sorted(one.release for one in stage) for stage in stages] == [["postgres", "space-redis"], services]
    images = {one.release: one.image for stage in stages for one in stage}
    assert images == {"postgres": "postgres", "space-redis": "redis", **dict.fromkeys(services, "services")}
    assert [one.certificate for stage in stages for one in stage if one.certificate] == ["postgres"]


def test_a_releases_file_tells_every_mistake_at_once(tmp_path: pathlib.Path) -> None:
    (tmp_path / "releases.yaml").write_text("stages: [[{release: a, image: nothing}]]")
    with pytest.raises(errors.SpecError) as raised:
        releases.stages(tmp_path / "releases.yaml")
    assert len(raised.value.mistakes) == 2


def test_a_releases_digest_changes_with_chart_values_and_image(tmp_path: pathlib.Path) -> None:
    chart, values = tmp_path / "chart", tmp_path / "values.yaml"
    chart.mkdir()
    (chart / "Chart.yaml").write_text("name: a")
    values.write_text("a: 1")
    planned = releases.Planned("a", chart, "space", (values,), "redis")
    old = {"redis": images.Image("space-smoke/redis", "1", "sha256:1")}
    seen = {planned.digest(old), planned.digest({"redis": images.Image("space-smoke/redis", "2", "sha256:2")})}
    values.write_text("a: 2")
    seen.add(planned.digest(old))
    (chart / "Chart.yaml").write_text("name: b")
    seen.add(planned.digest(old))
    given = dataclasses.replace(planned, given={"nodeGroup": "infra"})
    assert given.sets(old) == {"nodeGroup": "infra", "image.repository": "space-smoke/redis", "image.tag": "1"}
    assert len({*seen, given.digest(old)}) == 5


def test_a_release_without_pods_is_given_no_image() -> None:
    (site,) = [one for stage in releases.stages(extras=["grid"]) for one in stage if one.release == "grid-b-site"]
    assert (site.image, site.sets({})) == ("", {"gridNetwork.name": "grid-b"})
    assert site.digest({}) != dataclasses.replace(site, given={}).digest({})
