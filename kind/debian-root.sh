#!/usr/bin/env bash
# debian-root.sh SUITE PACKAGES.txt WORK OUT.tar   a minimal Debian with the packages listed, as one archive
#
# No image registry is needed, only a Debian mirror (DEBIAN_MIRROR names one). Needs root and debootstrap. WORK is an
# empty folder; OUT.tar appears whole or not at all. Downloaded packages are kept in DEBIAN_CACHE between calls.
set -euo pipefail
suite=${1:?usage: debian-root.sh SUITE PACKAGES.txt WORK OUT.tar}
packages=$(sed 's/#.*//' "$2" | xargs -r | tr ' ' ',')
work=$3
out=$4
root=$work/root
mkdir -p "$work" "${DEBIAN_CACHE:=$work/packages}"
# The mirror is an optional last argument.
set -- --variant=minbase --cache-dir="$(cd "$DEBIAN_CACHE" && pwd)" --include="$packages" "$suite" "$root"
if ! debootstrap "$@" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/log" 2>&1; then
  tail -n 15 "$work/log" >&2
  tail -n 15 "$root/debootstrap/debootstrap.log" >&2 || true
  exit 1
fi
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale,info}/*
# The names of this machine's registries and resolvers are no part of an image.
rm -f "$root/etc/resolv.conf" "$root/etc/hostname"
tar -C "$root" --numeric-owner -cf "$out.part" .
mv "$out.part" "$out"
