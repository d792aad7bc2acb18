"""The two limiters on Redis: cluster-wide activation admission and per-client concurrency.

Both fail open: a limiter that cannot ask its store admits and says why. They know nothing of HTTP; `space_api` turns
their decisions into answers, headers and metrics.
"""
