"""As whom a cluster is asked: what a kubeconfig says of its user goes with every request."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from space_smoke.bench import kube


def opened(folder: Path, user: dict[str, Any]) -> kube.Kube:
    entry = {"name": "one", "context": {"cluster": "there", "user": "somebody"}}
    path = folder / "kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "there", "cluster": {"server": "https://there.example:6443"}}],
                "users": [{"name": "somebody", "user": user}],
                "contexts": [entry],
                "current-context": "one",
            }
        )
    )
    return kube.Kube(path)


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        ({"token": "abc"}, "Bearer abc"),
        ({"username": "a", "password": "b"}, f"Basic {base64.b64encode(b'a:b').decode()}"),
        ({}, None),
    ],
    ids=["a token", "a password", "nothing"],
)
def test_what_the_user_has_is_sent_as_authorization(tmp_path: Path, user: dict[str, Any], sent: str | None) -> None:
    assert opened(tmp_path, user).headers().get("Authorization") == sent
