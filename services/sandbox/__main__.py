"""`python3 -m sandbox [--port N]`: serve commands and files of the current folder until SIGTERM; wrong settings exit 64."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from common import identity, logs, otlp, settings
from sandbox import files, processes, server

_FLUSH_S = 0.8  # of the second that a sandbox has to end


def main() -> int:
    parser = argparse.ArgumentParser(prog="sandbox", description=__doc__)
    parser.add_argument("--port", type=int, default=server.PORT)
    arguments = parser.parse_args()
    logs.configure("sandbox")
    reader = settings.Reader(os.environ)
    own = identity.read(reader)
    settings.or_exit(reader.settle)
    owned, kept = processes.Processes(Path.cwd(), own.mutations), files.Files(Path.cwd(), own.mutations)
    exporter = otlp.start(own.otlp_endpoint, logs.service(), own.version, own.pod)

    def stop(*_: object) -> None:
        owned.kill()
        if exporter is not None:
            exporter.drain(_FLUSH_S)
        os._exit(0)  # commands in work have threads of their own, and nothing is left for them to answer

    # The first process of a container ignores SIGTERM unless it handles it.
    signal.signal(signal.SIGTERM, stop)
    _adopt_orphans()
    lines = exporter.counts if exporter is not None else dict
    server.Server(("", arguments.port), owned, kept, own, lines).serve_forever()
    return 0


def _adopt_orphans() -> None:
    """Be the parent of what a command leaves behind, so that a freeze finds it; a pod's first process is that anyway."""
    if os.getpid() != 1:
        import ctypes  # costs a tenth of the start, and only a server outside a pod needs it

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


if __name__ == "__main__":
    sys.exit(main())
