"""How properties are tried here: as often on a busy machine as on an idle one."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

quick = settings(max_examples=100, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
