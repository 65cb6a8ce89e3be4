// SPDX-License-Identifier: GPL-2.0
/*
 * Unmovable pages and free containers.
 *
 * A pageblock that holds an unmovable page among movable pages never becomes a
 * huge page.  So the page allocator gives unmovable requests whole pageblocks
 * while any pageblock is free, and takes pieces of movable pageblocks last.  A
 * free container is whole pageblocks: unmovable requests must get the container
 * before they get such pieces.
 *
 * The test fills memory with movable pages, frees every second page of some
 * pageblocks, and all pages of other pageblocks.  Then it reads a block device,
 * whose pages are not movable, until few whole pageblocks are left, and counts
 * the pageblocks that hold both kinds: without the mcube allocator first, then
 * with as many wholly free containers as a zone keeps.
 *
 * The bounds hold for memory as a boot leaves it.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"

#define HIGH_FRACTION	"/proc/sys/vm/percpu_pagelist_high_fraction"
#define PROACTIVENESS	"/proc/sys/vm/compaction_proactiveness"
#define NODE0		MCUBE_NODES "/node0/vmstat"
#define BLOCK		HUGE_PAGES	/* pages of a pageblock */
#define BLOCK_ORDER	9
/* Pages of whole pageblocks that are left free: others may use some meanwhile. */
#define MARGIN		(3 * (long)BLOCK)
#define FRAMES		(1UL << 22)
#define BLOCKS		(FRAMES / BLOCK)

enum use { OTHER, KEPT, HALVED, FREED };

FIXTURE(alloc_mobility) {
	struct mcube_saved saved;
	char *memory;		/* movable pages */
	size_t pages;
	uint64_t *pfn;
	char *use;		/* of each pageblock: enum use */
	long high_fraction;
	long proactiveness;
};

/*
 * Unmovable requests do not get the container that a CPU works in.  Other CPUs would
 * have containers of their own, as soon as a process there needs a page.
 */
static int other_cpus(const char *online)
{
	int cpu, ret = 0;
	char path[64];

	for (cpu = 1; cpu < get_nprocs_conf() && !ret; cpu++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		ret = mcube_write(path, online);
	}
	return ret;
}

FIXTURE_SETUP(alloc_mobility)
{
	const char *why = mcube_unusable();

	mcube_save(&self->saved);
	self->high_fraction = mcube_read_num(HIGH_FRACTION);
	self->proactiveness = mcube_read_num(PROACTIVENESS);
	if (why)
		SKIP(return, "%s", why);
	if (!mcube_exists(MCUBE_DISK))
		SKIP(return, "no " MCUBE_DISK);
	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write_num(MCUBE_ALLOC "container_order", BLOCK_ORDER));
	ASSERT_EQ(0, mcube_pin(0));
	ASSERT_EQ(0, other_cpus("0"));
	ASSERT_EQ(0, mcube_bind(0));
	/* Few pages on per-CPU lists, where they cannot be counted by type. */
	ASSERT_EQ(0, mcube_write(HIGH_FRACTION, "100000"));
	/*
	 * Pages of a device are not allocated as movable, but compaction migrates them, into
	 * pieces of movable pageblocks.  It starts by itself now and then.
	 */
	ASSERT_EQ(0, mcube_write(PROACTIVENESS, "0"));
}

FIXTURE_TEARDOWN_PARENT(alloc_mobility)
{
	if (mcube_unusable())
		return;
	mcube_write_num(HIGH_FRACTION, self->high_fraction);
	mcube_write_num(PROACTIVENESS, self->proactiveness);
	EXPECT_EQ(0, other_cpus("1"));
	EXPECT_EQ(0, mcube_off());
	mcube_restore(&self->saved);
}

static void empty_caches(void)
{
	sync();
	mcube_write("/proc/sys/vm/drop_caches", "3");
	mcube_write("/proc/sys/vm/stat_refresh", "1");
}

/*
 * Free pages of the first node that unmovable requests may have without pieces of
 * movable pageblocks: their own pieces, and pageblocks that are wholly free.  Not
 * in zone DMA, which is kept for devices.
 */
static long unmixed_pages(void)
{
	FILE *f = fopen("/proc/pagetypeinfo", "re");
	char line[1024], zone[32], type[32], *p;
	int order, used, node;
	long n, sum = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Node %d, zone %31[^,], type %31s%n", &node, zone,
			   type, &used) != 3 || node || !strcmp(zone, "DMA"))
			continue;
		p = line + used;
		for (order = 0; sscanf(p, " %ld%n", &n, &used) == 1; order++) {
			if (!strcmp(type, "Unmovable") ||
			    (order >= BLOCK_ORDER && (!strcmp(type, "Movable") ||
						      !strcmp(type, "Reclaimable"))))
				sum += n << order;
			p += used;
		}
	}
	if (f)
		fclose(f);
	return sum;
}

/* Pages of the process in each pageblock. */
static void count_pages(FIXTURE_DATA(alloc_mobility) *self, unsigned short *count)
{
	size_t i;

	memset(count, 0, BLOCKS * sizeof(*count));
	for (i = 0; i < self->pages; i++)
		if (self->pfn[i] && self->pfn[i] < FRAMES)
			count[self->pfn[i] / BLOCK]++;
}

/*
 * Fill memory.  Free every second page of a quarter of the pageblocks, which
 * keeps the zones above their watermarks, and all pages of every 16th pair of
 * pageblocks.
 */
static void arrange_memory(struct __test_metadata *_metadata,
			   FIXTURE_DATA(alloc_mobility) *self)
{
	unsigned short *count = calloc(BLOCKS, sizeof(*count));
	struct mcube_memory m;
	long halved = 0;
	size_t i, b;
	char *use = calloc(BLOCKS, 1);

	self->use = use;
	ASSERT_TRUE(count && use);
	mcube_memory(&m);
	self->pages = mcube_field(NODE0, "nr_free_pages") - m.managed / 20 - 4096;
	self->memory = mcube_map_anon(self->pages);
	self->pfn = calloc(self->pages, sizeof(*self->pfn));
	ASSERT_TRUE(self->memory && self->pfn);
	for (i = 0; i < self->pages; i++)
		self->memory[i * PAGE_SIZE_] = 1;
	ASSERT_EQ(0, mcube_pfns(self->memory, self->pages, self->pfn));
	count_pages(self, count);
	for (b = 0; b < BLOCKS; b += 2) {
		bool pair = count[b] == BLOCK && count[b + 1] == BLOCK;

		for (i = b; i < b + 2; i++)
			use[i] = count[i] == BLOCK ? KEPT : OTHER;
		if (pair && b % 32 == 0) {
			use[b] = FREED;
			use[b + 1] = FREED;
		} else if (pair && b % 8 == 2) {
			use[b] = HALVED;
			use[b + 1] = HALVED;
			halved += 2;
		}
	}
	for (i = 0; i < self->pages; i++) {
		uint64_t pfn = self->pfn[i];

		if (pfn < FRAMES && (use[pfn / BLOCK] == FREED ||
				     (use[pfn / BLOCK] == HALVED && pfn % 2)))
			madvise(self->memory + i * PAGE_SIZE_, PAGE_SIZE_, MADV_DONTNEED);
	}
	free(count);
	mcube_write("/proc/sys/vm/stat_refresh", "1");
	TH_LOG("%zu pages, %ld pageblocks half free, %ld other free pages for unmovable requests",
	       self->pages, halved, unmixed_pages());
	/* Unmovable pages find enough pieces if they seek them. */
	ASSERT_LE(8 * MARGIN, halved * (long)BLOCK / 2);
}

/*
 * Read @pages pages of the device.  Return: pageblocks that hold both kinds.  A
 * pageblock counts if movable pages had all of it when memory was full: as memory
 * fills up, some movable pages get into unmovable pageblocks as well.
 */
static long mix(struct __test_metadata *_metadata,
		FIXTURE_DATA(alloc_mobility) *self, long pages)
{
	unsigned short *count = calloc(BLOCKS, sizeof(*count));
	uint64_t *pfn = calloc(pages, sizeof(*pfn));
	char *seen = calloc(BLOCKS, 1), *p, page[PAGE_SIZE_];
	int fd = open(MCUBE_DISK, O_RDONLY | O_CLOEXEC);
	volatile char sum = 0;
	long i, mixed = 0;

	ASSERT_TRUE(count && pfn && seen);
	ASSERT_LE(0, fd);
	for (i = 0; i < pages; i++)
		ASSERT_EQ(sizeof(page), read(fd, page, sizeof(page)));
	p = mmap(NULL, pages * PAGE_SIZE_, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < pages; i++)
		sum += p[i * PAGE_SIZE_];
	ASSERT_EQ(0, mcube_pfns(p, pages, pfn));
	ASSERT_EQ(0, mcube_pfns(self->memory, self->pages, self->pfn));
	count_pages(self, count);
	for (i = 0; i < pages; i++) {
		size_t b = pfn[i] / BLOCK;

		if (!pfn[i] || pfn[i] >= FRAMES || seen[b])
			continue;
		seen[b] = 1;
		if (!count[b] || self->use[b] == OTHER)
			continue;
		mixed++;
		TH_LOG("pageblock at frame %#zx: page %ld of the device, and %u movable pages",
		       b * BLOCK, i, count[b]);
	}
	munmap(p, pages * PAGE_SIZE_);
	close(fd);
	free(seen);
	free(pfn);
	free(count);
	return mixed;
}

/* Bring whole pageblocks into containers, and leave the containers free. */
static void make_spares(struct __test_metadata *_metadata, long pages)
{
	ASSERT_EQ(0, mcube_use_memory(pages));
	mcube_write("/proc/sys/vm/stat_refresh", "1");
}

TEST_F_TIMEOUT(alloc_mobility, unmovable_pages_get_whole_pageblocks, 300)
{
	long stock, mixed, pages, spares;

	arrange_memory(_metadata, self);
	pages = unmixed_pages() - MARGIN;
	stock = mix(_metadata, self, pages);
	TH_LOG("off: %ld pages of a device, %ld pageblocks hold both kinds", pages, stock);

	empty_caches();
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	make_spares(_metadata, unmixed_pages() * 3 / 4);
	spares = mcube_stat("free_pages");
	/* More than is left free at the end. */
	ASSERT_LE(2 * MARGIN, spares);
	/* The CPU owns a container, which unmovable pages do not get. */
	pages = unmixed_pages() + spares - BLOCK - MARGIN;
	mixed = mix(_metadata, self, pages);
	TH_LOG("on: %ld pages of a device, %ld pageblocks hold both kinds; %ld pages were in containers, %ld are",
	       pages, mixed, spares, mcube_stat("free_pages"));
	EXPECT_LE(mixed, stock);
}

TEST_HARNESS_MAIN
