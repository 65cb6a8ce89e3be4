// SPDX-License-Identifier: GPL-2.0
/*
 * The clock of a modelled machine, from inside its guest: cycles of tools/mcube/model/.
 *
 * The time stamp counter of such a guest is the emulator's. The model's cycles of a CPU are
 * in the page that it shares with the guest, up to date after SIM_SYNC.
 */
#include "model_clock.h"

#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../drivers/mcube/sim/shm.h"
#include "timing.h"

static volatile struct sim_header *header;
static volatile struct sim_cpu *cpu_page;

static uint64_t model_cycles(void)
{
	asm volatile(SIM_SYNC ::: "memory");
	return cpu_page->count[SIM_CYCLES];
}

static void control(unsigned int what)
{
	header->control = what;
	while (header->state != (what & SIM_CTL_ON)) {
		asm volatile(SIM_CONTROL ::: "memory");
		sched_yield();
	}
}

/* The model outlives this program, so it must be off again, whatever ends this. */
static void stop(void)
{
	header->uncached_bytes = 0;
	asm volatile(SIM_SYNC ::: "memory");
	control(0);
}

static void on_signal(int signal)
{
	stop();
	_exit(128 + signal);
}

/* The shared memory of the ivshmem device, 1af4:1110, or NULL. */
static void *map_shared(void)
{
	char path[512], id[16];
	glob_t found = { };
	void *map = MAP_FAILED;

	if (glob("/sys/bus/pci/devices/*/device", 0, NULL, &found))
		return NULL;
	for (size_t i = 0; i < found.gl_pathc && map == MAP_FAILED; i++) {
		FILE *f = fopen(found.gl_pathv[i], "r");
		int fd;

		if (!f || !fgets(id, sizeof(id), f) || strncmp(id, "0x1110", 6)) {
			if (f)
				fclose(f);
			continue;
		}
		fclose(f);
		snprintf(path, sizeof(path), "%.*senable", (int)strlen(found.gl_pathv[i]) - 6,
			 found.gl_pathv[i]);
		fd = open(path, O_WRONLY);
		/* Fails where the kernel's driver owns the device, and has enabled it. */
		if (fd >= 0 && write(fd, "1", 1) < 0)
			fprintf(stderr, "mcube-probe: the model's device is in use\n");
		if (fd >= 0)
			close(fd);
		snprintf(path, sizeof(path), "%.*sresource2", (int)strlen(found.gl_pathv[i]) - 6,
			 found.gl_pathv[i]);
		fd = open(path, O_RDWR);
		if (fd < 0)
			continue;
		map = mmap(NULL, SIM_SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	globfree(&found);
	return map == MAP_FAILED ? NULL : map;
}

/**
 * model_clock_init - take time from the model from here on
 * @cpu:	the CPU that this program is pinned to
 *
 * Switches the model on, and off again at the end or at a signal.
 *
 * Return: NULL, or why not.
 */
const char *model_clock_init(int cpu)
{
	header = map_shared();
	if (!header || header->magic != SIM_MAGIC || header->version != SIM_VERSION)
		return "this is no guest whose caches and DRAM are modelled";
	if (cpu < 0 || (unsigned int)cpu >= header->ncpus)
		return "the model has no such CPU";
	cpu_page = (void *)((char *)header + SIM_CPU_OFFSET + cpu * SIM_CPU_STRIDE);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGHUP, on_signal);
	signal(SIGPIPE, on_signal);
	atexit(stop);
	control(SIM_CTL_ON | SIM_CTL_CLEAR);
	clock_source = (struct clock){ .name = "model", .read = model_cycles };
	return NULL;
}

/**
 * model_clock_uncached - have accesses go to DRAM past all caches
 * @base:	start of the memory
 * @bytes:	length
 */
void model_clock_uncached(const void *base, size_t bytes)
{
	header->uncached = (uintptr_t)base;
	header->uncached_bytes = bytes;
	asm volatile(SIM_SYNC ::: "memory");
}
