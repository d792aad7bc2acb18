#!/usr/bin/env bash
# bootstrap.sh   prepares a Debian or Ubuntu machine, as root, for `space_smoke up`; elsewhere it says what to install
#
# Installs what is missing and nothing else: a Docker engine (the command alone is not one), debootstrap, zstd, venv.
# Makes .venv. Starting the engine, building images and the cluster are left to `space_smoke up`.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

missing=()
lacks() { ! command -v "$1" >/dev/null 2>&1; }
if lacks docker || { lacks dockerd && ! docker info >/dev/null 2>&1; }; then
  missing+=(docker.io containerd runc iptables)
fi
! lacks debootstrap || missing+=(debootstrap)
! lacks zstd || missing+=(zstd)
! lacks setpriv || missing+=(util-linux)
# ensurepip is what Debian splits off into python3-venv.
"$python" -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)

if [ ${#missing[@]} -gt 0 ]; then
  if ! lacks apt-get && [ "$(id -u)" -eq 0 ]; then
    echo "bootstrap.sh: installing ${missing[*]}" >&2
    apt-get update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "${missing[@]}" >/dev/null
  else
    echo "bootstrap.sh: not root, or no apt-get here. Install these (Debian's names) and repeat: ${missing[*]}" >&2
    exit 5
  fi
fi

# All nodes share one limit, and 128 instances run out at the third bench. Where it may not be set, doctor says so.
limit=/proc/sys/fs/inotify/max_user_instances
if [ "$(cat $limit)" -lt 512 ]; then (echo 512 >$limit) 2>/dev/null || true; fi

scripts/venv.sh
.venv/bin/python -m space_smoke doctor
echo "next: .venv/bin/space_smoke up"
