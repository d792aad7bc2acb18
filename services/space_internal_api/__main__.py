"""`python3 -m space_internal_api`: serve the internal API on port 8080 until SIGTERM; wrong settings exit 64."""

from __future__ import annotations

import argparse
import os
import sys

from common import logs, serve, settings
from space_internal_api import app, config


def main() -> int:
    parser = argparse.ArgumentParser(prog="space_internal_api", description=__doc__)
    parser.add_argument("--host", default="0.0.0.0", help="the address to listen on")  # noqa: S104 - a pod's own
    parser.add_argument("--port", type=int, default=serve.PORT, help="the port to listen on")
    arguments = parser.parse_args()
    logs.configure("space-internal-api")
    read = settings.or_exit(lambda: config.read(os.environ))
    made, base = app.application(read)
    serve.run(made, base, arguments.host, arguments.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
