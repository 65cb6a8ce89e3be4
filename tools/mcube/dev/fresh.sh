#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Run a command of this repository in a fresh Debian, so that a missing install step
# shows: fresh.sh COMMAND... (default: make test). RELEASE=bookworm (Debian 12, the
# default) or trixie (13). Needs root.
#
# The script makes a root directory with debootstrap once and keeps a packed copy.
# Each run starts from that copy, with a clone of HEAD, the mirrors and certificates
# of this machine's apt, and no packages but the minimum, git and make. The
# mounts and the processes are in namespaces of their own and end with this script.
# FRESH=DIR sets the folder (default: build/fresh). The root stays there if the
# command failed, for its consoles and logs, or with KEEP=1.
set -euo pipefail

here=$(cd "$(dirname "$0")/../../.." && pwd)
where=$(realpath -m "${FRESH:-${BUILD:-$here/build}/fresh}")
release=${RELEASE:-bookworm}
base=$where/$release.tar
root=$where/root

die() {
	echo "error: $1" >&2
	echo "what to do: $2" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || die "this needs root" "run it as root"

if [ "${1:-}" = --inside ]; then
	# The second half runs in the mount namespace: mounts, then the command.
	shift
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs shm "$root/dev/shm"
	# Of the environment only the proxies stay, to reach the package archive.
	exec env -i HOME=/root TERM="${TERM:-dumb}" LC_ALL=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		${http_proxy:+http_proxy="$http_proxy"} \
		${https_proxy:+https_proxy="$https_proxy"} \
		chroot "$root" /bin/bash -c "cd /mcube && $*" </dev/null
fi

if ! command -v debootstrap >/dev/null; then
	echo "==> fresh: installing debootstrap"
	apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
fi

case $release in
bookworm | trixie) ;;
*) die "RELEASE=$release is none that this repository knows" "give bookworm or trixie" ;;
esac
# The mirrors of a release: the archive, the security archive.
sites=$(apt-get indextargets --format "\$(SITE)" 'Created-By: Packages' | sort -u)
mirror=$(grep -m 1 -E '/debian/?$' <<<"$sites" || true)
security=$(grep -m 1 -E '/debian-security/?$' <<<"$sites" || true)
[ -n "$mirror" ] || die "no Debian mirror in this machine's apt sources" \
	"add the main section of a Debian release to /etc/apt"

mkdir -p "$where"
if [ ! -f "$base" ]; then
	echo "==> fresh [1/4] debootstrap (next: root, clone, command)"
	rm -rf "${where:?}/boot"
	debootstrap --variant=minbase --include=ca-certificates,git,make \
		"$release" "$where/boot" "$mirror" >"$where/debootstrap.log" 2>&1 ||
		die "debootstrap failed" "read $where/debootstrap.log"
	tar -C "$where/boot" -cf "$base.new" .
	mv "$base.new" "$base"
	rm -rf "${where:?}/boot"
fi

echo "==> fresh [2/4] root (next: clone, command)"
rm -rf --one-file-system "$root"
mkdir -p "$root"
tar -C "$root" -xf "$base"
rm -f "$root/etc/apt/sources.list"
for f in /etc/apt/apt.conf.d/99* \
	/etc/apt/apt.conf.d/*proxy* /etc/apt/auth.conf /etc/apt/auth.conf.d/* \
	/etc/apt/preferences.d/* /etc/resolv.conf /etc/hosts \
	/etc/ssl/certs/ca-certificates.crt /usr/share/keyrings/*; do
	if [ -f "$f" ]; then
		mkdir -p "$root$(dirname "$f")"
		cp -L "$f" "$root$f"
	fi
done

{
	echo "deb $mirror $release main"
	echo "deb $mirror $release-updates main"
	[ -z "$security" ] || echo "deb $security $release-security main"
} >"$root/etc/apt/sources.list"

echo "==> fresh [3/4] clone (next: command)"
git clone -q "$here" "$root/mcube"

echo "==> fresh [4/4] ${*:-make test}"
start=$SECONDS
status=0
unshare --mount --propagation private --pid --fork --kill-child \
	"$0" --inside "${*:-make test}" &
child=$!
# The shell runs a trap only between commands, hence "wait".
trap 'kill -9 $child; wait; rm -rf --one-file-system "$root"; exit 130' INT TERM
wait $child || status=$?
trap - INT TERM
echo "==> fresh: status $status after $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s"
if [ "$status" != 0 ] || [ -n "${KEEP:-}" ]; then
	echo "==> fresh: the clone stays in $root/mcube until the next run"
else
	rm -rf --one-file-system "$root"
fi
exit "$status"
