#!/usr/bin/env bash
# build.sh BINARIES DEBIAN.tar WORK TAG   kind's node image from a Debian root and Go binaries, as image TAG
#
# BINARIES holds hyperkube, etcd, coredns, local-path-provisioner and pause. WORK is an empty folder. The environment
# carries what kind/versions.yaml pins: KUBERNETES_VERSION, COREDNS_NAME, ETCD_NAME, PAUSE_NAME. TAG appears at the very
# end, whole or not at all. Called by space_smoke/bench/images.py, which also removes WORK. Needs root and containerd.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binaries=$(cd "${1:?usage: build.sh BINARIES DEBIAN.tar WORK TAG}" && pwd)
debian=$2
tag=$4
kubernetes=${KUBERNETES_VERSION:?}
mkdir -p "$3"
work=$(cd "$3" && pwd)
root=$work/root kube=$work/kube
step() { echo "$*" >&2; }
mkdir -p "$root" "$kube" "$work/pause"
tar -C "$root" -xf "$debian"

step "image of the control plane and the add-ons"
mkdir -p "$kube"/{etc/ssl,root,run,tmp,var,usr/{bin,sbin,lib,lib64,local/bin}}
for link in bin sbin lib lib64; do ln -s "usr/$link" "$kube/$link"; done
chmod 1777 "$kube/tmp"
cp -a "$root/etc/ssl/certs" "$kube/etc/ssl/"
cp "$root"/etc/{protocols,nsswitch.conf} "$kube/etc/"
echo "root:x:0:0:root:/root:/bin/sh" >"$kube/etc/passwd"
tools=(/usr/bin/dash /usr/bin/mkdir /usr/bin/rm /usr/bin/sleep /usr/bin/ip /usr/sbin/conntrack)
tools+=(/usr/sbin/xtables-nft-multi /usr/sbin/xtables-legacy-multi)
# kube-proxy's rules load extensions at run time; one of them (statistic) needs libm, which ldd of the tools hides.
mapfile -t extensions < <(cd "$root" && find usr/lib/*/xtables -name '*.so' -printf '/%p\n')
for tool in "${tools[@]}"; do
  # Debian keeps some of them in /bin or /sbin proper.
  source=$root$tool
  [ -e "$source" ] || source=$root${tool#/usr}
  cp -L "$source" "$kube$tool"
done
for extension in "${extensions[@]}"; do
  mkdir -p "$kube${extension%/*}"
  cp "$root$extension" "$kube$extension"
done
chroot "$root" ldd "${tools[@]}" "${extensions[@]}" 2>/dev/null | grep -o '/[^ ]*\.so[^ ]*' | grep -v ':$' | sort -u |
  while read -r library; do
    mkdir -p "$kube${library%/*}"
    cp -L "$root$library" "$kube$library"
  done
ln -s dash "$kube/usr/bin/sh"
for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
  ln -s xtables-nft-multi "$kube/usr/sbin/$name"
done
cp "$binaries"/{hyperkube,etcd,coredns,local-path-provisioner} "$kube/usr/local/bin/"
for name in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubectl; do
  ln -s hyperkube "$kube/usr/local/bin/$name"
done
cp "$binaries/pause" "$work/pause/pause"

# archive FOLDER ENTRYPOINT NAME...: FOLDER as an image of one layer, as `docker save` would write it.
archive() {
  local folder=$1 entrypoint=$2 stage=$work/stage names
  shift 2
  mkdir "$stage"
  tar -C "$folder" --numeric-owner --owner=0 --group=0 --sort=name --mtime=@0 -cf "$stage/layer.tar" .
  names=$(printf ',"%s"' "$@")
  printf '{"architecture":"amd64","os":"linux","config":{"Entrypoint":["%s"],"Env":["PATH=/usr/local/bin:/usr/sbin:/usr/bin"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created_by":"space-smoke"}]}' \
    "$entrypoint" "$(sha256sum "$stage/layer.tar" | cut -d' ' -f1)" >"$stage/config.json"
  printf '[{"Config":"config.json","RepoTags":[%s],"Layers":["layer.tar"]}]' "${names:1}" >"$stage/manifest.json"
  tar -C "$stage" -cf "$folder.tar" config.json manifest.json layer.tar
  rm -rf "$stage"
}
# One image under every name that kubeadm asks for; kubeadm never pulls, so names are all that has to match.
# The entrypoint is CoreDNS because its Deployment is the only one that gives arguments without a command.
names=(space-smoke/kube:local "${COREDNS_NAME:?}" "${ETCD_NAME:?}")
for name in kube-apiserver kube-controller-manager kube-scheduler kube-proxy; do
  names+=("registry.k8s.io/$name:$kubernetes")
done
archive "$kube" /usr/local/bin/coredns "${names[@]}"
archive "$work/pause" /pause "${PAUSE_NAME:?}"

step "image store"
"$here/store.sh" "$work/store" "$kube.tar" "$work/pause.tar" >"$work/stored"
for name in "${names[@]}" "$PAUSE_NAME"; do
  grep -q "$name\$" "$work/stored" || { echo "build.sh: the store lacks $name" >&2; exit 1; }
done
rm -rf "$kube.tar" "$work/pause.tar" "$kube"

step "node root"
cp -a "$here/files/." "$root/"
chown -R 0:0 "$root"/{kind,etc/containerd,etc/cni,etc/systemd/system/kubelet.service,usr/local}
sed -i "s|@PAUSE_NAME@|$PAUSE_NAME|" "$root/etc/containerd/config.toml"
mv "$work/store" "$root/kind/store"
echo "$kubernetes" >"$root/kind/version"
# One inode for the node's and the pods' binaries: half the disk, and one copy in the page cache.
inner=$(find "$root/kind/store" -path '*/usr/local/bin/hyperkube' -print -quit)
ln "$inner" "$root/usr/local/bin/hyperkube"
for name in kubeadm kubectl; do ln -s hyperkube "$root/usr/local/bin/$name"; done
ln -s ../local/bin/hyperkube "$root/usr/bin/kubelet"
for unit in containerd kubelet; do
  source=/etc/systemd/system/$unit.service
  [ -f "$root$source" ] || source=/lib/systemd/system/$unit.service
  ln -sf "$source" "$root/etc/systemd/system/multi-user.target.wants/$unit.service"
done
ln -sf /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
# A node has no consoles, and upkeep would only compete with the tests.
rm -f "$root"/etc/systemd/system/{getty.target.wants,timers.target.wants,sysinit.target.wants}/*
ln -sf /dev/null "$root/etc/systemd/system/systemd-binfmt.service"

step "import"
tar -C "$root" --numeric-owner -c . | docker import \
  --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' \
  --change 'ENV container=docker' \
  --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - "$tag" >/dev/null
