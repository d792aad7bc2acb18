"""`python3 -m space_cluster_controller`: work the queue, and serve port 8080, until SIGTERM; wrong settings exit 64."""

from __future__ import annotations

import argparse
import os
import sys

from common import kube, logs, serve, settings
from fleet import pods
from space_cluster_controller import app, config


def main() -> int:
    argparse.ArgumentParser(prog="space_cluster_controller", description=__doc__).parse_args()
    logs.configure("space-cluster-controller")
    read = settings.or_exit(lambda: config.read(os.environ))
    client = settings.or_exit(lambda: kube.in_cluster(read.sandbox.namespace), kube.KubeError)
    owner = pods.Owner(client, read.deployment) if read.deployment else None
    runtime = pods.PodRuntime(kube.Pods(client), read.sandbox, read.own.pod, owner=owner, adopts=True)
    made = app.controller(read, client, runtime)
    serve.run(app.application(made), made.base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
