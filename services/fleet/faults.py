"""What the database, the cluster and a sandbox's start may raise, as refusals that clients understand."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator

from common import database, kube, refusals
from fleet import pods

_log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def refused() -> AsyncIterator[None]:
    """Turn faults of what the block depends on into Refusal 503."""
    try:
        yield
    except database.Unavailable as error:
        _log.warning("database unavailable", extra={"facts": {"fault": str(error)}})
        raise refusals.unavailable("records_unavailable", "the database does not answer; try again") from error
    except pods.StartFailed as error:
        raise refusals.unavailable("sandbox_start_failed", str(error)) from error
    except kube.KubeError as error:
        _log.warning("cluster unavailable", extra={"facts": {"fault": str(error)}})
        raise refusals.unavailable("cluster_unavailable", "the cluster did not do as asked; try again") from error
