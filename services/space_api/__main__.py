"""`python3 -m space_api --surface public|admin`: serve the API on port 8080 until SIGTERM; wrong settings exit 64."""

from __future__ import annotations

import argparse
import os
import sys

from common import logs, settings
from space_api import app, config, kube, pods, serve


def main() -> int:
    parser = argparse.ArgumentParser(prog="space_api", description=__doc__)
    parser.add_argument("--surface", choices=app.SURFACES, default="public", help="which routes to serve")
    arguments = parser.parse_args()
    logs.configure(f"space-api-{arguments.surface}")
    try:
        read = config.read(os.environ)
        runtime = pods.PodRuntime(kube.in_cluster(read.sandbox.namespace), read.sandbox, read.pod)
    except (settings.SettingsError, kube.KubeError) as error:
        sys.stderr.write(f"{error}\n")
        return settings.EXIT_CODE
    made = app.service(read, runtime)
    serve.run(app.application(made, arguments.surface), made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
