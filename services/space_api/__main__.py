"""`python3 -m space_api --surface public|admin`: serve the API on port 8080 until SIGTERM; wrong settings exit 64."""

from __future__ import annotations

import argparse
import os
import sys

from common import kube, logs, serve, settings
from fleet import pods
from space_api import app, config


def main() -> int:
    parser = argparse.ArgumentParser(prog="space_api", description=__doc__)
    parser.add_argument("--surface", choices=app.SURFACES, default="public", help="which routes to serve")
    arguments = parser.parse_args()
    logs.configure(f"space-api-{arguments.surface}")
    read = settings.or_exit(lambda: config.read(os.environ))
    client = settings.or_exit(lambda: kube.in_cluster(read.sandbox.namespace), kube.KubeError)
    made = app.service(read, pods.PodRuntime(kube.Pods(client), read.sandbox, read.own.pod))
    serve.run(app.application(made, arguments.surface), made.base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
