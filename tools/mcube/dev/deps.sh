#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Install the missing packages of a job: deps.sh [build|deb|bench]. The script asks
# dpkg, and runs apt only if a package is missing. It installs the kernel source in
# the version that configs/kernel-base pins, unless KERNEL_SRC or KERNEL_VERSION
# takes the source from elsewhere or the archive no longer has that version (then
# `make tree` takes another version and says so).
set -euo pipefail

here=$(cd "$(dirname "$0")/../../.." && pwd)
# shellcheck source=/dev/null
. "$here/configs/kernel-base"

packages=(
	# kernel build
	gcc make libc6-dev flex bison bc libelf-dev libssl-dev ccache kmod cpio
	xz-utils rsync patch perl git python3
	# user-space units, kselftests, lint
	libcap-dev libnuma-dev python3-ply sparse codespell shellcheck
	flake8 pydocstyle python3-pyelftools
	# guests, load generators, pictures
	qemu-system-x86 busybox-static e2fsprogs xfsprogs stress-ng numactl linux-perf
	python3-matplotlib procps file
	# the mcube command in guests, its manual
	util-linux mandoc
)
if [ "${1:-build}" = deb ]; then
	# BTF, signatures of Secure Boot, a machine to try the packages on
	packages+=(dwarves zstd openssl sbsigntool debootstrap)
elif [ "${1:-build}" = bench ]; then
	# the independent simulator for comparison with the model; loads; the user-space
	# RCU of bench-sets
	packages+=(valgrind sysbench ripgrep fio sqlite3 zstd cscope id-utils liburcu-dev)
fi

# This file has no `... | grep -q`: grep exits at the first match, and under
# pipefail the SIGPIPE of the writer would sometimes count as "not found".
installed() {
	[[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]
}

missing=()
for p in "${packages[@]}"; do
	installed "$p" || missing+=("$p")
done

want_source=
if [ -z "${KERNEL_SRC:-}" ] && [ -z "${KERNEL_VERSION:-}" ]; then
	have=$(dpkg-query -W -f '${Version}' "$PACKAGE" 2>/dev/null || true)
	# Once the tree is unpacked, the package is no longer needed.
	build=${BUILD:-$here/build}
	if [ "$have" != "$VERSION" ] && [ ! -f "$build/state/base.json" ] &&
	   [ ! -d "$build/releases/$VERSION" ]; then
		want_source=1
	fi
fi

[ ${#missing[@]} -gt 0 ] || [ -n "$want_source" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "error: missing packages: ${missing[*]} ${want_source:+$PACKAGE=$VERSION}" >&2
	echo "what to do: run 'make deps' once as root" >&2
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "==> deps: installing ${missing[*]} ${want_source:+$PACKAGE}"
apt-get update -qq || echo "    apt-get update failed; trying with the present lists"
# Debian 13 has no id-utils, which makes an index for one of the loads of bench-ubm-kernel.
if [ "${1:-build}" = bench ] && [ -z "$(apt-cache madison id-utils)" ]; then
	echo "    note: no id-utils in this release: bench-ubm-kernel cannot make its data"
	for i in "${!missing[@]}"; do
		[ "${missing[$i]}" != id-utils ] || unset "missing[$i]"
	done
fi
if [ ${#missing[@]} -gt 0 ]; then
	if ! apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
		echo "error: apt-get could not install: ${missing[*]}" >&2
		echo "what to do: see the message above; apt needs Debian's main section" >&2
		exit 1
	fi
fi
if [ -n "$want_source" ]; then
	offered=$(apt-cache madison "$PACKAGE")
	if [ -z "$offered" ]; then
		echo "error: no $PACKAGE in the configured package sources" >&2
		echo "what to do: enable bookworm-security, or give KERNEL_SRC=DIR|TARBALL" >&2
		exit 1
	fi
	if [[ $offered == *"$VERSION"* ]]; then
		apt-get install -y -qq --no-install-recommends "$PACKAGE=$VERSION" \
			>/dev/null
	fi
fi
echo "==> deps: done"
