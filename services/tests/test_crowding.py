"""Three pods' limiters under one crowd, on a real Redis."""

from __future__ import annotations

import pytest

from tests import crowding, limiting, stores


def test_of_two_hundred_at_once_over_three_pods_exactly_the_cap_is_accepted_twenty_times(
    redis_server: stores.Redis,
) -> None:
    crowding.the_cap_is_exact_however_many_come_at_once(redis_server, limiting.NO_MUTATION)


@pytest.mark.parametrize("burst", crowding.BURSTS)
def test_two_hundred_at_once_over_three_pods_draw_the_burst_and_the_refill_and_no_more(
    redis_server: stores.Redis, burst: int
) -> None:
    for _ in range(5):
        crowding.the_crowd_draws_what_the_bucket_holds(redis_server, limiting.NO_MUTATION, burst)
