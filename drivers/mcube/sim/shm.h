/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that a modelled machine and its guest share.
 *
 * The QEMU plugin in tools/mcube/model/ models caches and DRAM. It maps this
 * layout from a file that QEMU also shows the guest as an ivshmem PCI device,
 * and the guest's PMU driver, pmu.c, maps it from there:
 *
 *	0		struct sim_header: parameters, control, global figures
 *	SIM_CPU_OFFSET	struct sim_cpu[SIM_MAX_CPUS]: counters, samplers
 *	SIM_RING_OFFSET	struct sim_sample[SIM_MAX_CPUS][SIM_RING_SIZE]
 *
 * All counters are 64 bits wide, grow only and have one writer, the plugin; a
 * guest takes differences. The plugin defers requests to the shared levels in
 * order to merge those of all CPUs by modelled time, so what a CPU counts lags
 * until the next merge: the guest executes SIM_SYNC before it reads.
 *
 * Both sides run on one machine, little endian, so plain integers do.
 */
#ifndef _MCUBE_SIM_SHM_H
#define _MCUBE_SIM_SHM_H

#include <linux/types.h>

#define SIM_MAGIC	0x6d637562u	/* "mcub" */
#define SIM_VERSION	1u

#define SIM_MAX_CPUS	16
#define SIM_MAX_COLORS	1024
#define SIM_MAX_BANKS	256
#define SIM_MAX_OWNERS	64
#define SIM_SAMPLERS	8		/* per CPU */
#define SIM_RING_SIZE	2048		/* samples per CPU, a power of two */

#define SIM_SHM_SIZE	0x800000u	/* what an ivshmem BAR can be */
#define SIM_CPU_OFFSET	0x40000u
#define SIM_CPU_STRIDE	4096u
#define SIM_RING_OFFSET	0x100000u

/*
 * Instructions that do nothing but tell the plugin: an 8-byte NOP whose
 * displacement is the command. SIM_CONTROL: look at sim_header.control.
 * SIM_SYNC: merge what is pending, bring all counters up to date.
 */
#define SIM_NOP_PREFIX	{ 0x0f, 0x1f, 0x84, 0x00 }
#define SIM_CONTROL	".byte 0x0f, 0x1f, 0x84, 0x00, 0x4d, 0x43, 0x55, 0x42"	/* MCUB */
#define SIM_SYNC	".byte 0x0f, 0x1f, 0x84, 0x00, 0x4d, 0x43, 0x55, 0x53"	/* MCUS */

/* sim_header.control */
#define SIM_CTL_ON	1u	/* model accesses; off costs next to nothing */
#define SIM_CTL_CLEAR	2u	/* with ON: empty the caches, close the rows */

/**
 * enum sim_event - index into sim_cpu.count, and the PMU's event numbers
 * @SIM_CYCLES:		modelled cycles, not counting those halted
 * @SIM_INSTRUCTIONS:	instructions executed while the model is on
 * @SIM_ACCESSES:	loads and stores to RAM; one that crosses into another line
 *			counts as two
 * @SIM_STORES:		stores among them
 * @SIM_L1_MISSES:	accesses that miss the private first level
 * @SIM_L2_MISSES:	accesses that miss the private second level
 * @SIM_LLC_REFS:	demand requests to the last level (not write-backs)
 * @SIM_LLC_MISSES:	demand requests that miss there
 * @SIM_LLC_WRITEBACKS:	dirty lines that the last level writes to DRAM
 * @SIM_LLC_STOLEN:	this CPU's lines in the last level evicted by other CPUs
 * @SIM_PREFETCHES:	lines that the prefetcher brought into the last level
 * @SIM_DRAM_ACCESSES:	DRAM reads and writes on behalf of this CPU
 * @SIM_ROW_HITS:	... that found their row open
 * @SIM_ROW_EMPTY:	... that found no row open in the bank
 * @SIM_ROW_CONFLICTS:	... that had to close another row
 * @SIM_BANK_WAITS:	cycles spent waiting for a busy bank or channel
 * @SIM_NR_EVENTS:	how many there are
 */
enum sim_event {
	SIM_CYCLES,
	SIM_INSTRUCTIONS,
	SIM_ACCESSES,
	SIM_STORES,
	SIM_L1_MISSES,
	SIM_L2_MISSES,
	SIM_LLC_REFS,
	SIM_LLC_MISSES,
	SIM_LLC_WRITEBACKS,
	SIM_LLC_STOLEN,
	SIM_PREFETCHES,
	SIM_DRAM_ACCESSES,
	SIM_ROW_HITS,
	SIM_ROW_EMPTY,
	SIM_ROW_CONFLICTS,
	SIM_BANK_WAITS,
	SIM_NR_EVENTS
};

/**
 * struct sim_sampler - takes every @period-th event of one kind on one CPU
 * @period:	events between samples, 0: off. Written by the guest, last.
 * @left:	events to go. Written by the guest while off, then by the plugin.
 * @event:	enum sim_event. Written by the guest while off. Events that have
 *		an address can be sampled: ACCESSES, STORES, L1_MISSES,
 *		L2_MISSES, LLC_REFS, LLC_MISSES, ROW_HITS, ROW_CONFLICTS.
 * @reserved:	0
 *
 * The plugin looks at samplers when it merges: a change takes effect at the next
 * SIM_SYNC, or by itself some ten thousand modelled cycles later.
 */
struct sim_sampler {
	__u64 period;
	__u64 left;
	__u32 event;
	__u32 reserved;
};

/* sim_sample.flags: the level that served the access, and how */
#define SIM_SAMPLE_LEVEL	0x0fu	/* 1: L1, 2: L2, 3: LLC, 4: DRAM */
#define SIM_SAMPLE_STORE	0x10u
#define SIM_SAMPLE_ROW_HIT	0x20u
#define SIM_SAMPLE_ROW_CONFLICT	0x40u

/**
 * struct sim_sample - one sampled access
 * @vaddr:	guest virtual address of the data
 * @paddr:	guest physical address of the data
 * @ip:		guest virtual address of the instruction, 0 if not known
 * @time:	modelled clock of the CPU at the access; clocks of different CPUs
 *		can be compared, and go on while a CPU is halted
 * @latency:	modelled cycles that the access took
 * @flags:	SIM_SAMPLE_*
 * @sampler:	index of the sampler that took it
 * @owner:	sim_cpu.owner at the access
 * @reserved:	0
 */
struct sim_sample {
	__u64 vaddr;
	__u64 paddr;
	__u64 ip;
	__u64 time;
	__u32 latency;
	__u32 flags;
	__u32 sampler;
	__u32 owner;
	__u64 reserved[2];
};

/**
 * struct sim_cpu - what belongs to one CPU
 * @count:	counters, by enum sim_event
 * @lost:	samples dropped because the ring was full
 * @head:	samples written, by the plugin; slot is head % SIM_RING_SIZE
 * @tail:	samples read, by the guest
 * @owner:	whom accesses are charged to, below SIM_MAX_OWNERS; by the guest.
 *		0, the default, is nobody in particular.
 * @reserved:	0
 * @sampler:	by the guest, see there
 */
struct sim_cpu {
	__u64 count[32];
	__u64 lost;
	__u32 head;
	__u32 tail;
	__u32 owner;
	__u32 reserved;
	struct sim_sampler sampler[SIM_SAMPLERS];
};

/**
 * struct sim_figures - of one color, bank or owner, over all CPUs
 * @refs:	colors and owners: demand requests to the last level;
 *		banks: DRAM accesses
 * @misses:	colors and owners: last-level misses; banks: row conflicts
 * @stolen:	colors and owners: lines evicted by another owner or CPU;
 *		banks: row hits
 */
struct sim_figures {
	__u64 refs;
	__u64 misses;
	__u64 stolen;
};

/**
 * struct sim_header - the machine, and what the guest wants
 * @magic:	SIM_MAGIC, once the plugin is ready
 * @version:	SIM_VERSION
 * @control:	SIM_CTL_*, written by the guest, acted on at SIM_CONTROL
 * @state:	1 while accesses are modelled; changes soon after SIM_CONTROL
 * @toggles:	how often @state changed
 * @ncpus:	CPUs of the guest
 * @line:	bytes per cache line
 * @llc_sets:	sets of the last level, of all slices together
 * @llc_ways:	its ways
 * @llc_slices:	slices that the sets are divided among
 * @colors:	page colors of the last level, by set index within a slice
 * @banks:	DRAM banks over all channels and ranks
 * @mhz:	modelled cycles per microsecond
 * @reserved:	0
 * @name:	name of the machine description, NUL-terminated
 * @color:	figures by color
 * @bank:	figures by bank
 * @owner:	figures by owner
 */
struct sim_header {
	__u32 magic;
	__u32 version;
	__u32 control;
	__u32 state;
	__u32 toggles;
	__u32 ncpus;
	__u32 line;
	__u32 llc_sets;
	__u32 llc_ways;
	__u32 llc_slices;
	__u32 colors;
	__u32 banks;
	__u32 mhz;
	__u32 reserved[19];
	char name[64];
	struct sim_figures color[SIM_MAX_COLORS];
	struct sim_figures bank[SIM_MAX_BANKS];
	struct sim_figures owner[SIM_MAX_OWNERS];
};

#endif /* _MCUBE_SIM_SHM_H */
