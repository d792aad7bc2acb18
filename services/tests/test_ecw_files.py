"""File calls of the ECW API, through to a real sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests import process


@pytest.fixture(scope="module")
def api(database: str) -> Iterator[process.Api]:
    with process.starter({"SPACE_DATABASE_URL": database}) as start:
        yield start()


@pytest.fixture(scope="module")
def path(api: process.Api) -> str:
    made = api.create()
    return f"/v1/sandboxes/{made.json()['id']}/files"


def test_binary_data_and_unicode_paths_come_back_as_they_went(api: process.Api, path: str) -> None:
    data = bytes(range(256)) * 100
    for name in ("plain", "folder/ü/\N{SNOWMAN} +&=%"):
        put = api.call("PUT", f"{path}?path={quote(name)}", body=data)
        assert (put.status, put.json()) == (200, {"path": name, "size": len(data)})
        got = api.call("GET", f"{path}?path={quote(name)}")
        assert (got.status, got.data, got.headers["Content-Type"]) == (200, data, "application/octet-stream")
    listed = api.call("GET", f"{path}?list=folder/{quote('ü')}").json()
    assert listed == {"entries": [{"name": "\N{SNOWMAN} +&=%", "kind": "file", "size": len(data)}], "truncated": False}


def test_an_empty_file_is_a_file(api: process.Api, path: str) -> None:
    assert api.call("PUT", f"{path}?path=empty", body=b"").json()["size"] == 0
    assert api.call("GET", f"{path}?path=empty").data == b""


@pytest.mark.parametrize("method", ["PUT", "GET"])
@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("path=/etc/passwd", 400, "path_outside"),
        ("path=../x", 400, "path_outside"),
        ("path=%2e%2e%2fx", 400, "path_outside"),
        ("path=a%00b", 400, "malformed"),
        ("path=%ff", 400, "malformed"),
        ("path=a&path=b", 400, "malformed"),
        ("", 400, "malformed"),
        ("name=a", 400, "malformed"),
    ],
)
def test_a_bad_path_is_refused_with_its_code(
    method: str, query: str, status: int, code: str, api: process.Api, path: str
) -> None:
    answer = api.call(method, f"{path}?{query}", body=b"x" if method == "PUT" else None)
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)


def test_a_link_out_of_the_workspace_is_not_followed(api: process.Api, path: str) -> None:
    command = path.replace("/files", "/command")
    api.call("POST", command, {"command": ["ln", "-s", "/etc", "etc"]})
    for query in ("path=etc/passwd", "list=etc"):
        answer = api.call("GET", f"{path}?{query}")
        assert (answer.status, answer.json()["error"]["code"]) == (400, "path_outside")


def test_a_file_over_the_limit_is_413_in_both_directions(api: process.Api, path: str) -> None:
    put = api.call("PUT", f"{path}?path=big", body=bytes((4 << 20) + 1))
    assert (put.status, put.json()["error"]["code"]) == (413, "too_large")
    api.call("POST", path.replace("/files", "/command"), {"command": ["truncate", "-s", "5M", "big"]})
    got = api.call("GET", f"{path}?path=big")
    assert (got.status, got.json()["error"]["code"]) == (413, "too_large")
    assert api.call("PUT", f"{path}?path=most", body=bytes(4 << 20)).status == 200
    assert len(api.call("GET", f"{path}?path=most").data) == 4 << 20


def test_files_of_what_is_not_running_are_refused(api: process.Api) -> None:
    one = f"/v1/sandboxes/{api.create().json()['id']}"
    api.call("PUT", f"{one}/files?path=kept", body=b"kept")
    api.call("POST", f"{one}/pause")
    paused = api.call("GET", f"{one}/files?path=kept")
    assert (paused.status, paused.json()["error"]["code"]) == (409, "sandbox_paused")
    api.call("POST", f"{one}/connect", {"hold_s": 0})
    assert api.call("GET", f"{one}/files?path=kept").data == b"kept"
    api.call("DELETE", one)
    gone = api.call("PUT", f"{one}/files?path=kept", body=b"x")
    assert (gone.status, gone.json()["error"]["code"]) == (409, "sandbox_deleted")


def test_files_of_an_unknown_sandbox_are_404(api: process.Api) -> None:
    for named in ("x", "00000000-0000-0000-0000-000000000000"):
        assert api.call("GET", f"/v1/sandboxes/{named}/files?path=a").status == 404
        assert api.call("PUT", f"/v1/sandboxes/{named}/files?path=a", body=b"x").status == 404
