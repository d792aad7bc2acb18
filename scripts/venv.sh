#!/usr/bin/env bash
# venv.sh   makes .venv from requirements/dev.txt (hash-checked), or leaves it as it is when it is up to date
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
stamp=.venv/.lock-digest
digest=$(cat requirements/dev.txt pyproject.toml scripts/venv.sh | sha256sum | cut -d' ' -f1)
[ "$(cat "$stamp" 2>/dev/null || true)" != "$digest" ] || exit 0
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  { echo "venv.sh: Python 3.11 or newer is needed; name one with PYTHON=" >&2; exit 5; }
rm -rf .venv
"$python" -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/dev.txt
# The command and the library run from this checkout: a path file, so that nothing is built or fetched for it.
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
pwd >"$site/space_smoke.pth"
printf '#!%s/.venv/bin/python\nfrom space_smoke.__main__ import main\nraise SystemExit(main())\n' "$PWD" >.venv/bin/space_smoke
chmod 0755 .venv/bin/space_smoke
echo "$digest" >"$stamp"
