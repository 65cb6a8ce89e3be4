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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "timing.h"

static volatile struct sim_header *header;
static volatile struct sim_cpu *cpu_page;

static uint64_t model_cycles(void)
{
	asm volatile(SIM_SYNC ::: "memory");
	return cpu_page->count[SIM_CYCLES];
}

/**
 * model_control - switch the model on or off
 * @what:	SIM_CTL_ON, SIM_CTL_CLEAR, or 0
 */
void model_control(unsigned int what)
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
	model_control(0);
}

static void on_signal(int signal)
{
	stop();
	_exit(128 + signal);
}

/* Open a file beside "device" in the folder of a PCI device. */
static int open_beside(const char *device, const char *name, int flags)
{
	char path[512];

	snprintf(path, sizeof(path), "%.*s%s", (int)strlen(device) - 6, device, name);
	return open(path, flags);
}

/**
 * model_map - map the memory that the model shares with its guest, of the ivshmem device 1af4:1110
 *
 * Return: the memory; NULL if this is no such guest, or its model is of another version.
 */
volatile struct sim_header *model_map(void)
{
	void *map = MAP_FAILED;
	glob_t found = { };

	if (glob("/sys/bus/pci/devices/*/device", 0, NULL, &found))
		return NULL;
	for (size_t i = 0; i < found.gl_pathc && map == MAP_FAILED; i++) {
		FILE *f = fopen(found.gl_pathv[i], "r");
		unsigned int id = 0;
		bool enabled;
		int fd;

		if (f && fscanf(f, "%x", &id) != 1)
			id = 0;
		if (f)
			fclose(f);
		if (id != 0x1110)
			continue;
		fd = open_beside(found.gl_pathv[i], "enable", O_WRONLY);
		/* Fails where the kernel's driver owns the device, and has enabled it. */
		enabled = write(fd, "1", 1) == 1;
		(void)enabled;
		close(fd);
		fd = open_beside(found.gl_pathv[i], "resource2", O_RDWR);
		map = mmap(NULL, SIM_SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	globfree(&found);
	header = map == MAP_FAILED ? NULL : map;
	if (header && (header->magic != SIM_MAGIC || header->version != SIM_VERSION))
		header = NULL;
	return header;
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
	if (!model_map())
		return "this is no guest whose caches and DRAM are modelled";
	if (cpu < 0 || (unsigned int)cpu >= header->ncpus)
		return "the model has no such CPU";
	cpu_page = (void *)((char *)header + SIM_CPU_OFFSET + cpu * SIM_CPU_STRIDE);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGHUP, on_signal);
	signal(SIGPIPE, on_signal);
	atexit(stop);
	model_control(SIM_CTL_ON | SIM_CTL_CLEAR);
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
