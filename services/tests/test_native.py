"""The native API end to end: tokens and their scopes, tenants apart, operations queued, performed and looked up."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
import urllib3

from fleet import operations, tokens
from tests import process, queueing, stores


@pytest.fixture(scope="module")
def public(database: str) -> Iterator[process.Api]:
    with process.starter({"SPACE_DATABASE_URL": database}) as start:
        yield start()


@pytest.fixture(scope="module")
def admin(database: str) -> Iterator[process.Api]:
    with process.starter({"SPACE_DATABASE_URL": database}) as start:
        yield start(process.ADMIN)


@pytest.fixture
def controller(queue: queueing.Queue) -> Iterator[process.Api]:
    settings = {**queue.environment, "SPACE_TEST_CLUSTER": str(queue.cluster.port)}
    with process.starter(settings) as start:
        yield start(process.CONTROLLER)


def token(admin: process.Api, *scopes: str, tenant: str = queueing.TENANT, **more: object) -> dict[str, str]:
    made = admin.call("POST", "/v1/tokens", {"tenant": tenant, "scopes": scopes or tokens.SCOPES, **more})
    assert made.status == 201, made.data
    return dict(made.json())


def ask(
    api: process.Api, secret: str, document: dict[str, object] | None = None, operation: str = ""
) -> urllib3.BaseHTTPResponse:
    headers = {"Authorization": f"Bearer {secret}"}
    if document is None:
        return api.call("GET", f"/v1/operations/{operation}", headers=headers)
    return api.call("POST", "/v1/operations", document, headers=headers)


def code(answer: urllib3.BaseHTTPResponse) -> tuple[int, str]:
    return answer.status, answer.json()["error"]["code"]


def finished(api: process.Api, secret: str, operation: str) -> dict[str, object]:
    def done() -> bool:
        return ask(api, secret, operation=operation).json()["state"] in ("succeeded", "failed")

    stores.wait_until("the operation is finished", done)
    return dict(ask(api, secret, operation=operation).json())


def test_a_sandbox_lives_from_create_to_delete_through_the_queue(
    public: process.Api, admin: process.Api, controller: process.Api, queue: queueing.Queue
) -> None:
    secret = token(admin)["token"]
    created = ask(public, secret, {"kind": "create", "idempotency_key": "one"})
    assert created.status == 202
    assert (created.json()["kind"], created.json()["state"]) == ("create", "queued")
    again = ask(public, secret, {"kind": "create", "idempotency_key": "one"})
    assert (again.status, again.json()["id"]) == (202, created.json()["id"])
    sandbox = created.json()["sandbox"]
    content = base64.b64encode(queueing.CONTENT).decode()
    orders: list[dict[str, object]] = [
        {"kind": "command", "command": ["true"]},
        {"kind": "files.put", "path": "ü", "content_b64": content},
        {"kind": "files.get", "path": "ü"},
        {"kind": "pause"},
        {"kind": "command", "command": ["true"]},
        {"kind": "resume"},
        {"kind": "delete"},
        {"kind": "delete"},
    ]
    put = [ask(public, secret, {**order, "sandbox": sandbox}) for order in orders]
    assert {answer.status for answer in put} == {202}
    results = [finished(public, secret, answer.json()["id"]) for answer in put]
    states = [result["state"] for result in results]
    assert states == ["succeeded"] * 4 + ["failed"] + ["succeeded"] * 3
    assert results[2]["result"] == {"path": "ü", "size": 256, "content_b64": content}
    assert results[4]["error"] == {"code": "sandbox_paused", "message": "the sandbox is paused; this needs running"}
    assert finished(public, secret, created.json()["id"])["activation"]
    assert not queue.cluster.pods()


# Which scope each call needs: the whole table, so that each scope is tried on each.
NEEDS = {
    operations.CREATE: tokens.WRITE,
    operations.COMMAND: tokens.EXEC,
    operations.PAUSE: tokens.WRITE,
    operations.RESUME: tokens.WRITE,
    operations.DELETE: tokens.WRITE,
    operations.FILES_PUT: tokens.WRITE,
    operations.FILES_GET: tokens.READ,
    "GET": tokens.READ,
}


def test_each_call_needs_its_scope_and_no_other_will_do(
    public: process.Api, admin: process.Api, queue: queueing.Queue
) -> None:
    assert {*operations.KINDS, "GET"} == NEEDS.keys()
    sandbox, known = queue.sandbox(), queue.put(operations.CREATE).id
    for given in tokens.SCOPES:
        secret = token(admin, given)["token"]
        for call, needed in NEEDS.items():
            document = None if call == "GET" else {"kind": call, "sandbox": sandbox, **queueing.REQUESTS[call]}
            if call == operations.CREATE:
                document = {"kind": call}
            answer = ask(public, secret, document, known)
            if given == needed:
                assert answer.status in (200, 202), (given, call, answer.data)
            else:
                assert code(answer) == (403, "scope_missing"), (given, call)
                assert needed in answer.json()["error"]["message"]


def test_without_a_valid_token_nothing_native_is_answered(
    public: process.Api, admin: process.Api, queue: queueing.Queue
) -> None:
    revoked, spent = token(admin), token(admin, expires_s=1)
    assert ask(public, revoked["token"], {"kind": "create"}).status == 202
    assert admin.call("DELETE", f"/v1/tokens/{revoked['id']}").status == 204
    assert admin.call("DELETE", f"/v1/tokens/{revoked['id']}").status == 204
    queue.execute("UPDATE tokens SET expires_at = now() WHERE id = %s", (spent["id"],))
    bad = ["", "x", "space_", revoked["token"], spent["token"], "y" * 5000, "ü"]
    for secret in bad:
        for document in ({"kind": "create"}, {"kind": "nonsense"}, None):
            headers = {"Authorization": f"Bearer {secret}".encode("latin-1").decode("latin-1")}
            if document is None:
                answer = public.call("GET", "/v1/operations/x", headers=headers)
            else:
                answer = public.call("POST", "/v1/operations", document, headers=headers)
            assert code(answer) == (401, "unauthenticated"), secret
    good = token(admin)["token"]
    for value in (good, f"Basic {good}", f"Bearer{good}", "Bearer"):
        answer = public.call("POST", "/v1/operations", {"kind": "create"}, headers={"Authorization": value})
        assert code(answer) == (401, "unauthenticated"), value
    assert public.call("POST", "/v1/operations", {"kind": "create"}).status == 401
    assert (
        public.call("POST", "/v1/operations", {"kind": "create"}, headers={"Authorization": f"bearer  {good}"}).status
        == 202
    )


def test_who_comes_through_a_proxy_that_takes_authorization_for_itself_uses_the_second_header_and_only_that_one(
    public: process.Api, admin: process.Api
) -> None:
    bearer = f"Bearer {token(admin)['token']}"
    second = {"X-Space-Authorization": bearer}
    assert public.call("POST", "/v1/operations", {"kind": "create"}, headers=second).status == 202
    both = public.call("POST", "/v1/operations", {"kind": "create"}, headers={**second, "Authorization": bearer})
    assert code(both) == (401, "unauthenticated")


def test_a_tenant_sees_its_own_only(public: process.Api, admin: process.Api, queue: queueing.Queue) -> None:
    mine, theirs = token(admin)["token"], token(admin, tenant="other")["token"]
    made = ask(public, mine, {"kind": "create"}).json()
    ecw = public.create().json()["id"]
    assert ask(public, mine, operation=made["id"]).status == 200
    assert code(ask(public, theirs, operation=made["id"])) == (404, "not_found")
    assert code(ask(public, theirs, {"kind": "delete", "sandbox": made["sandbox"]})) == (404, "not_found")
    assert code(ask(public, mine, {"kind": "delete", "sandbox": ecw})) == (404, "not_found")
    for method, path in (
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/pause"),
        ("POST", "/connect"),
        ("GET", "/files?list="),
    ):
        assert code(public.call(method, f"/v1/sandboxes/{made['sandbox']}{path}")) == (404, "not_found")
    listed = {one["id"] for one in public.call("GET", "/v1/sandboxes").json()["sandboxes"]}
    assert (made["sandbox"] in listed, ecw in listed) == (False, True)
    tenants = {one["id"]: one["tenant"] for one in admin.call("GET", "/v1/sandboxes").json()["sandboxes"]}
    assert (tenants[made["sandbox"]], tenants[ecw]) == (queueing.TENANT, "")
    assert admin.call("GET", f"/v1/sandboxes/{made['sandbox']}").json()["tenant"] == queueing.TENANT


MALFORMED: dict[str, tuple[dict[str, object], int, str]] = {
    "no kind": ({}, 400, "malformed"),
    "unknown kind": ({"kind": "explode"}, 400, "malformed"),
    "kind of another type": ({"kind": ["create"]}, 400, "malformed"),
    "unknown field": ({"kind": "create", "surprise": 1}, 400, "malformed"),
    "a create that names its sandbox": ({"kind": "create", "sandbox": "x"}, 400, "malformed"),
    "no sandbox": ({"kind": "pause"}, 400, "malformed"),
    "sandbox of another type": ({"kind": "pause", "sandbox": 5}, 400, "malformed"),
    "sandbox that is none": ({"kind": "pause", "sandbox": "x"}, 404, "not_found"),
    "empty key": ({"kind": "create", "idempotency_key": None}, 400, "malformed"),
    "long key": ({"kind": "create", "idempotency_key": "x" * 201}, 400, "malformed"),
    "key with NUL": ({"kind": "create", "idempotency_key": "a\0"}, 400, "malformed"),
    "key with half a character": ({"kind": "create", "idempotency_key": "\ud800"}, 400, "malformed"),
    "no command": ({"kind": "command", "sandbox": "S"}, 400, "malformed"),
    "command with NUL": ({"kind": "command", "sandbox": "S", "command": ["\0"]}, 400, "malformed"),
    "timeout too long": ({"kind": "command", "sandbox": "S", "command": ["x"], "timeout_s": 601}, 400, "malformed"),
    "no path": ({"kind": "files.get", "sandbox": "S"}, 400, "malformed"),
    "path with NUL": ({"kind": "files.get", "sandbox": "S", "path": "a\0b"}, 400, "malformed"),
    "no content": ({"kind": "files.put", "sandbox": "S", "path": "a"}, 400, "malformed"),
    "content that is no base64": (
        {"kind": "files.put", "sandbox": "S", "path": "a", "content_b64": "%"},
        400,
        "malformed",
    ),
    "content too large": (
        {
            "kind": "files.put",
            "sandbox": "S",
            "path": "a",
            "content_b64": base64.b64encode(bytes((1 << 20) + 1)).decode(),
        },
        413,
        "too_large",
    ),
}


def test_a_malformed_order_is_refused_with_its_code_and_queues_nothing(
    public: process.Api, admin: process.Api, queue: queueing.Queue
) -> None:
    secret, sandbox = token(admin)["token"], queue.sandbox()
    for name, (document, status, expected) in MALFORMED.items():
        given = {**document, "sandbox": sandbox} if document.get("sandbox") == "S" else document
        assert code(ask(public, secret, given)) == (status, expected), name
    assert not queue.execute("SELECT id FROM operations")
    for named in ("x", "%00", "00000000-0000-0000-0000-000000000000"):
        assert code(ask(public, secret, operation=named)) == (404, "not_found")


def test_a_key_that_was_used_otherwise_is_a_conflict(public: process.Api, admin: process.Api) -> None:
    secret = token(admin)["token"]
    made = ask(public, secret, {"kind": "create", "idempotency_key": "k"}).json()
    other = ask(public, secret, {"kind": "pause", "sandbox": made["sandbox"], "idempotency_key": "k"})
    assert code(other) == (409, "idempotency_key_reused")


def test_a_token_is_shown_once_and_is_in_no_answer_or_log_after_that(start_api: process.Start) -> None:
    own = start_api(process.ADMIN)
    made = token(own, tokens.READ, tokens.READ, name="ci", expires_s=60)
    assert (made["tenant"], made["name"], made["scopes"]) == (queueing.TENANT, "ci", [tokens.READ])
    assert made["expires_at"] > made["created_at"]
    listed = own.call("GET", "/v1/tokens")
    assert made["id"] in {one["id"] for one in listed.json()["tokens"]}
    assert made["token"] not in listed.data.decode()
    own.stop()
    assert own.lines
    assert not [line for line in own.lines if made["token"] in str(line)]


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"tenant": "", "scopes": [tokens.READ]},
        {"tenant": "a\0", "scopes": [tokens.READ]},
        {"tenant": "x" * 101, "scopes": [tokens.READ]},
        {"tenant": 5, "scopes": [tokens.READ]},
        {"tenant": "a", "scopes": []},
        {"tenant": "a", "scopes": "sandboxes:read"},
        {"tenant": "a", "scopes": ["sandboxes:all"]},
        {"tenant": "a", "scopes": [{}]},
        {"tenant": "a", "scopes": [tokens.READ], "expires_s": 0},
        {"tenant": "a", "scopes": [tokens.READ], "expires_s": "1"},
        {"tenant": "a", "scopes": [tokens.READ], "name": 1},
        {"tenant": "a", "scopes": [tokens.READ], "admin": True},
    ],
)
def test_a_malformed_token_request_is_refused(document: dict[str, object], admin: process.Api) -> None:
    assert code(admin.call("POST", "/v1/tokens", document)) == (400, "malformed")


def test_an_unknown_token_cannot_be_revoked(admin: process.Api) -> None:
    for named in ("x", "00000000-0000-0000-0000-000000000000"):
        assert code(admin.call("DELETE", f"/v1/tokens/{named}")) == (404, "not_found")


def test_the_surfaces_do_not_share_their_routes(public: process.Api, admin: process.Api) -> None:
    assert public.call("POST", "/v1/tokens", {}).status == 404
    assert admin.call("POST", "/v1/operations", {}).status == 404
    assert admin.call("POST", "/v1/sandboxes", {}).status == 405
