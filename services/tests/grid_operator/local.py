"""`python -m tests.grid_operator.local PORT`: the operator against the tests' own API server instead of a cluster's.

It answers one route more: what its ledger has of a tenant, which no route of the operator tells.
"""

from __future__ import annotations

import os
import sys

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from common import kube, logs, serve, settings, wire
from grid_operator import app, config


def main() -> int:
    logs.configure("grid-operator")
    read = settings.or_exit(lambda: config.read(os.environ))
    client = kube.Client(wire.Peer("127.0.0.1", int(os.environ["SPACE_TEST_CLUSTER"])), "space", None)
    made = app.operator(read, client)

    async def ledger(request: Request) -> Response:
        assert made.site.mesh
        return JSONResponse({"cents": made.site.mesh.node.ledger.total(request.path_params["tenant"])})

    served = app.application(made)
    served.router.routes.append(Route("/test/ledger/{tenant:path}", ledger))
    serve.run(served, made.base, host="127.0.0.1", port=int(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
