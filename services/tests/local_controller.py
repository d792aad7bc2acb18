"""`python -m tests.local_controller PORT`: the controller against the tests' own API server instead of a cluster's."""

from __future__ import annotations

import os
import sys

from common import kube, logs, serve, settings, wire
from fleet import pods
from space_cluster_controller import app, config


def controller(read: config.Config, api_port: int) -> app.Controller:
    """The controller as its command makes it, but for the way to the API server."""
    client = kube.Client(wire.Peer("127.0.0.1", api_port), "space", None)
    owner = pods.Owner(client, read.deployment) if read.deployment else None
    runtime = pods.PodRuntime(kube.Pods(client), read.sandbox, read.own.pod, owner=owner, adopts=True)
    return app.controller(read, client, runtime)


def main() -> int:
    logs.configure("space-cluster-controller")
    read = settings.or_exit(lambda: config.read(os.environ))
    made = controller(read, int(os.environ["SPACE_TEST_CLUSTER"]))
    serve.run(app.application(made), made.base, host="127.0.0.1", port=int(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
