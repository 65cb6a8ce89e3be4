# SPDX-License-Identifier: GPL-2.0
# The driver of the mcube repository. Every target does its own set-up; all
# output goes under build/ (or BUILD=DIR). The commands in tools/mcube/dev/ do the
# work, one purpose each. This file only has the dependencies of the targets.

BUILD ?= $(CURDIR)/build
export BUILD KERNEL_SRC KERNEL_VERSION JOBS
DEV := tools/mcube/dev
MINUTES ?= 10
TIMES ?= 10
BENCHES := $(sort $(filter-out lab,$(basename $(notdir $(shell \
	find tools/mcube/bench -maxdepth 1 -type f -perm -u+x 2>/dev/null)))))
export PYTHONDONTWRITEBYTECODE := 1
# Debian's own python3: Debian installs its Python modules for that python3 only.
export PATH := /usr/bin:$(PATH)

.DEFAULT_GOAL := help
.PHONY: help deps tree refresh overlay-check build demo test test-debug check stress repeat \
	lint off-check branch series series-check bisect mm-selftests bench results shell \
	deb deb-test fresh metal-report clean
# One job at a time: each step does its own work in parallel.
.NOTPARALLEL:

help: ## show this text
	@echo 'mcube: page placement that knows caches and DRAM banks, on Linux 6.12'
	@echo
	@echo 'make TARGET [BUILD=DIR] [KERNEL_VERSION=V] [KERNEL_SRC=DIR|TARBALL] [JOBS=N]'
	@echo
	@sed -n 's/^\([a-z%A-Z-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'
	@echo
	@echo 'benchmarks: $(or $(addprefix bench-,$(BENCHES)),none)'

demo: build ## build, boot in QEMU, switch the policies, show what changes
	@tools/mcube/demo/run.py

test: tree ## the tests: units, lint, identity, KUnit, kselftests
	@$(DEV)/test.py

test-debug: tree ## tests of the debug kernel: short stress, bad input, random writes
	@$(DEV)/test.py --debug

check: tree ## quick tests: user-space units and lint
	@$(DEV)/test.py --quick

build: tree ## build the test kernel in build/test
	@$(DEV)/kbuild.py test

build-%: tree ## build another flavor: build-debug, build-off, build-base
	@$(DEV)/kbuild.py $*

shell: build ## shell prompt in QEMU (SMP=4 MEM=2G NODES=1; MODEL=small: modelled caches)
	@$(DEV)/qemu.py --interactive --smp $(or $(SMP),4) --mem $(or $(MEM),2G) \
		--nodes $(or $(NODES),1) $(if $(MODEL),--model $(MODEL) --program perf) \
		--append "$(APPEND)"

stress: tree ## stress, fuzz and torture the debug kernels, 1 and 2 nodes, 512M and 4G (MINUTES=10 each)
	@$(DEV)/kbuild.py debug
	@$(DEV)/kbuild.py races
	@$(DEV)/guests.py stress --minutes $(MINUTES) $(if $(NODES),--nodes $(NODES)) \
		$(if $(MEM),--mem $(MEM))
	@$(DEV)/guests_kselftest.py --fuzz $(MINUTES) $(if $(NODES),--nodes $(NODES))
	@$(DEV)/guests_kselftest.py --torture $(MINUTES) $(if $(NODES),--nodes $(NODES))
	@$(DEV)/kbuild.py test
	@$(DEV)/guests_power.py --minutes $(MINUTES)

repeat: tree ## repeat KUnit, kselftests, modelled machine, stress TIMES=10 times (STAGES=kunit)
	@$(DEV)/repeat.py --times $(TIMES) $(if $(STAGES),--stages $(STAGES))

mm-selftests: tree ## upstream mm kselftests: unpatched, mcube allocator off, on
	@$(DEV)/kbuild.py base
	@$(DEV)/kbuild.py test
	@$(DEV)/mm_selftests.py

bench: $(addprefix bench-,$(BENCHES)) ## run all benchmarks

bench-ubm: tree ## policies on traces of references, without a kernel (TRACES=DIR)
	@tools/mcube/bench/ubm.py $(if $(TRACES),--traces "$(TRACES)") $(ARGS)

bench-estimate: deps ## what placement would save on this machine, without a kernel (MACHINE=)
	@tools/mcube/bench/estimate.py $(ARGS)

bench-verify: tree ## is 'mcube map verify' right in guests? on the model alone, or with ARGS=--qemu
	@tools/mcube/bench/verify.py $(ARGS)

bench-m3-starts: deps ## Figures 6 and 7 of the M3 paper on the model alone, without a kernel
	@tools/mcube/bench/m3-starts.py $(ARGS)

bench-%: build ## run a benchmark, results in build/results/
	@bench=$$(ls tools/mcube/bench/$*.* 2>/dev/null | head -n 1); \
	if [ -z "$$bench" ]; then \
		echo "error: there is no benchmark '$*'" >&2; \
		echo "what to do: choose from: $(BENCHES)" >&2; exit 1; \
	fi; "./$$bench" $(ARGS)

results: ## write the figures of the documentation from build/results/
	@$(DEV)/results.py

lint: tree ## checkpatch, sparse, W=1, kernel-doc, codespell, shellcheck, flake8, rooms, budget
	@$(DEV)/lint.py

off-check: tree ## check that with the options off the objects equal the unpatched kernel's
	@$(DEV)/offcheck.py

tree: deps ## make build/linux = source + patches + overlay (FORCE=1: drop edits there)
	@$(DEV)/mtree.py tree $(if $(FORCE),--force)

refresh: ## take edits made in build/linux back into patches/ and overlay (PATCH=NNNN)
	@$(DEV)/mtree.py refresh $(if $(PATCH),--patch $(PATCH))

overlay-check: tree ## prove that source + patches + overlay == build/linux
	@$(DEV)/mtree.py check

branch: tree ## make the series as commits on the kernel source, in build/branch
	@$(DEV)/branch.py

series: tree ## write the series as mail for git am to build/series/
	@$(DEV)/series.py emit

series-check: tree ## apply the series by git am to the archive's 6.12.y point releases
	@$(DEV)/series.py check

bisect: tree ## link each commit of the series, all options on, all off (ONLY="0004 0005")
	@$(DEV)/series.py bisect $(if $(ONLY),--only $(ONLY))

deb: $(if $(filter mcube,$(ONLY)),,tree) ## packages in build/deb/ (CONFIG=debian12, FILE, ...; ONLY=mcube: the command)
	@$(DEV)/deps.sh deb
	@$(DEV)/deb.py $(if $(CONFIG),--config $(CONFIG)) $(if $(ONLY),--only $(ONLY)) \
		$(if $(KEY),--key $(KEY)) $(if $(CERT),--cert $(CERT)) \
		$(if $(SYMBOLS),--symbols) $(if $(MODULES),--modules $(MODULES))

deb-test: ## install these in a Debian and boot it in QEMU, an hour (RELEASE=trixie)
	@$(DEV)/deps.sh deb
	@$(DEV)/debtest.py $(if $(RELEASE),--release $(RELEASE))

fresh: ## run a command of this clone in a fresh Debian 12 (CMD="make test"; RELEASE=trixie: 13)
	@RELEASE=$(RELEASE) $(DEV)/fresh.sh $(or $(CMD),make test)

metal-report: ## on an mcube kernel: measure all that it does, write one file to send (ARGS=)
	@tools/mcube/mcube report $(if $(wildcard $(BUILD)/kselftest/run_kselftest.sh),\
		--kselftests $(BUILD)/kselftest) $(ARGS)

deps: ## install missing packages (apt, needs root)
	@$(DEV)/deps.sh

clean: ## remove build/
	rm -rf $(BUILD)
