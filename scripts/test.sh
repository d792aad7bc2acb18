#!/usr/bin/env bash
# test.sh [PYTEST ARGUMENT...]   sets this machine up, then runs every check and every test, those on a real cluster too
#
# SPACE_SMOKE_TEST_KIND=0 leaves the cluster out (no engine is needed then); the tests that were left out are counted.
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${SPACE_SMOKE_TEST_KIND:-1}
if [ "$kind" = 1 ]; then scripts/bootstrap.sh; else scripts/venv.sh; fi
export PATH=$PWD/.venv/bin:$PATH

echo "== style, types, layers"
ruff check .
ruff format --check --quiet .
mypy
lint-imports | tail -n 1
if command -v shellcheck >/dev/null; then
  git ls-files '*.sh' .ci/run kind/node-image/files/usr/local | xargs grep -lE '^#!.*\b(ba)?sh' | xargs shellcheck
fi

echo "== tests without a cluster"
if [ "$kind" != 1 ]; then
  exec pytest -n 2 -m 'not kind' "$@"
fi
space_smoke up
pytest -n 2 -m 'not kind' "$@"
echo "== tests on the Kind bench"
pytest -m kind "$@"
