#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The stages of debtest.py, one at each boot of the machine. The host reads the lines that
# begin with ##debtest: on the console.
set -u
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root
cd /root || exit 1
sys=/sys/kernel/mm/mcube
stage=$(cat /debtest.stage)

say() {
	echo "##debtest: $*"
}

# check NAME COMMAND...: the command succeeds.
check() {
	local name=$1
	shift
	if "$@" >/root/out 2>&1; then
		say "ok $stage: $name"
	else
		say "not ok $stage: $name"
		sed 's/^/    /' /root/out
	fi
}

fails() {
	! "$@"
}

# next STAGE: the stage of the next boot.
next() {
	echo "$1" >/debtest.stage
	sync
	systemctl reboot --no-block
	exit 0
}

mcube_is_running() {
	[[ $(uname -r) == *-mcube ]]
}

# The state of the service, settled.
service() {
	[[ $(systemctl show -P ActiveState mcube.service) == "$1" ]]
}

in_btf() {
	bpftool btf dump file /sys/kernel/btf/vmlinux | grep -c "STRUCT 'mcube_"
}

build_module() {
	mkdir -p /root/mod && cd /root/mod || return 1
	cat >hello.c <<-EOF
	#include <linux/module.h>
	#include <linux/mcube_map.h>
	static int __init hello(void) { pr_info("hello from outside the tree\n"); return 0; }
	static void __exit bye(void) { }
	module_init(hello);
	module_exit(bye);
	MODULE_LICENSE("GPL");
	EOF
	echo 'obj-m := hello.o' >Makefile
	make -C "/lib/modules/$(uname -r)/build" M="$PWD" modules &&
		insmod hello.ko && dmesg | grep -q 'hello from outside' && rmmod hello
}

# A bad value in the file: the service fails and says why, and nothing is switched on.
refusal() {
	systemctl stop mcube.service
	printf '[boot]\nprofile = m3\nbank_map = 0x10\n' >/etc/mcube/mcube.conf
	fails systemctl start mcube.service && service failed &&
		journalctl -b -u mcube.service --no-pager | grep 'bank_map' &&
		[ "$(cat $sys/alloc/enabled)" = 0 ]
}

remove() {
	apt-get purge -y mcube mcube-kselftests "linux-image-$(uname -r)" \
		"linux-headers-$(uname -r)"
}

say "stage $stage: $(uname -r), $(systemctl is-system-running)"
case $stage in
install)
	check "the stock kernel runs" fails mcube_is_running
	check "GRUB's menu is made" update-grub
	check "the packages install" apt-get install -y --no-install-recommends /debs/*.deb
	check "the service is off" fails systemctl is-enabled mcube.service
	check "it does not run on the stock kernel" fails service failed
	next stock
	;;
stock)
	check "the stock kernel is still the default" fails mcube_is_running
	printf '[boot]\nprofile = m3\nbank_map = 0x24000 0x48000\n' >/etc/mcube/mcube.conf
	check "the service can be enabled" systemctl enable mcube.service
	echo GRUB_MCUBE_DEFAULT=true >>/etc/default/grub
	check "the mcube kernel can be made the default" update-grub
	next mcube
	;;
mcube)
	check "the mcube kernel runs" mcube_is_running
	check "the service is up" service active
	check "the policy is on" grep -qx 1 $sys/alloc/enabled
	check "the map is as asked for" grep -q '0x24000' $sys/map/bank_map
	check "no unit failed" fails grep -q . <(systemctl --failed --no-legend)
	check "a refused value leaves the machine usable" refusal
	check "a module builds against the headers and loads" build_module
	check "a module of the package loads" modprobe mcube_setcache
	if grep -q CONFIG_DEBUG_INFO_BTF=y "/boot/config-$(uname -r)"; then
		check "BTF has structs of mcube" in_btf
	fi
	read -ra tests </debtest.tests
	for test in "${tests[@]}"; do
		mcube-kselftests -t "mcube:$test" >/root/out.test 2>&1
		check "kselftest $test" grep -q "^ok 1 selftests: mcube: $test" /root/out.test
		grep -E '^# *(not )?ok|SKIP' /root/out.test | head -40
	done
	check "the packages can be purged" remove
	next gone
	;;
gone)
	check "the stock kernel runs" fails mcube_is_running
	check "no kernel of mcube is left" fails ls /boot/*-mcube
	check "no entry of it is left" fails grep -q -e -mcube /boot/grub/grub.cfg
	check "no settings are left" fails ls /etc/mcube /etc/default/grub.d/mcube-*
	check "no unit failed" fails grep -q . <(systemctl --failed --no-legend)
	say "end"
	sync
	systemctl poweroff --no-block
	;;
esac
