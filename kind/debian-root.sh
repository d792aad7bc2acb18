#!/usr/bin/env bash
# debian-root.sh SUITE PACKAGES.txt WORK OUT.tar   a minimal Debian with the packages listed, as one archive
#
# No image registry is needed, only a Debian mirror (DEBIAN_MIRROR names one). Needs root and debootstrap. WORK is an
# empty folder; OUT.tar appears whole or not at all. Called by space_smoke/bench/images.py, which also removes WORK.
set -euo pipefail
suite=${1:?usage: debian-root.sh SUITE PACKAGES.txt WORK OUT.tar}
packages=$(sed 's/#.*//' "$2" | xargs -r | tr ' ' ',')
work=$3
out=$4
root=$work/root
mkdir -p "$root"
# dpkg waits for the disk after every package. In memory it need not: half the time on a busy machine.
if [ "$(awk '/^MemAvailable/ {print $2}' /proc/meminfo)" -gt 4000000 ] && mount -t tmpfs -o size=2g,mode=755 tmpfs "$root"; then
  trap 'umount -l "$root"' EXIT
fi
if ! debootstrap --variant=minbase --include="$packages" "$suite" "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/log" 2>&1; then
  tail -n 15 "$work/log" >&2
  tail -n 15 "$root/debootstrap/debootstrap.log" >&2 || true
  exit 1
fi
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale,info}/*
# The names of this machine and of its resolvers are no part of an image.
rm -f "$root/etc/resolv.conf" "$root/etc/hostname"
tar -C "$root" --numeric-owner -cf "$work/debian.tar" .
mv "$work/debian.tar" "$out"
