#!/usr/bin/env bash
# smoke-kind-e2e.sh [ARGUMENT OF run...]   from a fresh machine to a verdict: sets up, brings a bench up, runs scenarios
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/bootstrap.sh
[ $# -gt 0 ] || set -- local.rate_limiters_enforce_and_fail_open
exec .venv/bin/space_smoke run "$@"
