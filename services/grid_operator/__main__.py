"""`python3 -m grid_operator`: be one site of a grid, and serve port 8080, until SIGTERM; wrong settings exit 64."""

from __future__ import annotations

import argparse
import os
import sys

from common import kube, logs, serve, settings
from grid_operator import app, config


def main() -> int:
    argparse.ArgumentParser(prog="grid_operator", description=__doc__).parse_args()
    logs.configure("grid-operator")
    read = settings.or_exit(lambda: config.read(os.environ))
    client = settings.or_exit(lambda: kube.in_cluster(read.namespace), kube.KubeError)
    made = app.operator(read, client)
    serve.run(app.application(made), made.base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
