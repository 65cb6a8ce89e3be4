/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that a modelled machine and its guest share.
 *
 * The QEMU plugin in tools/mcube/model/ models caches and DRAM. It maps this
 * layout from a file. QEMU shows that file to the guest as an ivshmem PCI
 * device, from which the guest's driver (dev.c) maps it:
 *
 *	0		struct sim_header: parameters, control, global counters
 *	SIM_CPU_OFFSET	struct sim_cpu[SIM_MAX_CPUS]: counters, samplers
 *	SIM_RING_OFFSET	struct sim_sample[SIM_MAX_CPUS][SIM_RING_SIZE]
 *
 * All counters are 64 bits wide, only grow, and have one writer, the plugin; a
 * guest takes differences. The plugin queues requests to the shared levels and
 * weaves them: it serves the requests of all CPUs in the order of modelled time.
 * The counters of a CPU therefore lag until the next weave, and the guest
 * executes SIM_SYNC before it reads them.
 *
 * Plugin and guest run on the same little-endian machine, so the integers need
 * no conversion.
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

#define SIM_SHM_SIZE	0x800000u	/* a power of two, as BARs are */
#define SIM_CPU_OFFSET	0x40000u
#define SIM_CPU_STRIDE	4096u
#define SIM_RING_OFFSET	0x100000u

/*
 * Commands to the plugin: an 8-byte NOP whose displacement is the command.
 * SIM_CONTROL: read sim_header.control and act on it. SIM_SYNC: serve all
 * queued requests and bring all counters up to date.
 */
#define SIM_NOP_PREFIX	{ 0x0f, 0x1f, 0x84, 0x00 }
#define SIM_CONTROL	".byte 0x0f, 0x1f, 0x84, 0x00, 0x4d, 0x43, 0x55, 0x42"	/* MCUB */
#define SIM_SYNC	".byte 0x0f, 0x1f, 0x84, 0x00, 0x4d, 0x43, 0x55, 0x53"	/* MCUS */

/* sim_header.control */
#define SIM_CTL_ON	1u	/* model accesses; costs next to nothing while off */
#define SIM_CTL_CLEAR	2u	/* with ON: empty the caches, close the DRAM rows */
#define SIM_CTL_PAGES	4u	/* end an interval of the counts by page frame */

/**
 * enum sim_event - index into sim_cpu.count, and the PMU's event numbers
 * @SIM_CYCLES:		modelled cycles in which the CPU is not halted
 * @SIM_INSTRUCTIONS:	instructions executed while the model is on
 * @SIM_ACCESSES:	loads and stores to RAM; an access that crosses into
 *			another line counts as two
 * @SIM_STORES:		stores to RAM
 * @SIM_L1_MISSES:	accesses that miss the private first level
 * @SIM_L2_MISSES:	accesses that miss the private second level
 * @SIM_LLC_REFS:	demand requests to the last level (not write-backs)
 * @SIM_LLC_MISSES:	demand requests that miss the last level
 * @SIM_LLC_WRITEBACKS:	dirty lines that the last level writes to DRAM
 * @SIM_LLC_STOLEN:	this CPU's lines in the last level evicted by other CPUs
 * @SIM_PREFETCHES:	lines that the prefetcher brought into the last level
 * @SIM_DRAM_ACCESSES:	DRAM reads and writes on behalf of this CPU
 * @SIM_ROW_HITS:	DRAM accesses that found their row open
 * @SIM_ROW_EMPTY:	DRAM accesses that found no row open in the bank
 * @SIM_ROW_CONFLICTS:	DRAM accesses that had to close another row
 * @SIM_BANK_WAITS:	cycles spent waiting for a busy bank or channel
 * @SIM_COHERENCE_MISSES: accesses to a line that another CPU had written, and stores that
 *			took a line away from other CPUs
 * @SIM_NR_EVENTS:	number of events
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
	SIM_COHERENCE_MISSES,
	SIM_NR_EVENTS
};

/**
 * struct sim_sampler - takes every @period-th event of one kind on one CPU
 * @period:	events between samples, 0: off. Written by the guest, last.
 * @left:	events up to the next sample. Written by the guest while @period
 *		is 0, then by the plugin.
 * @event:	enum sim_event. Written by the guest while @period is 0. Events
 *		that have an address can be sampled: ACCESSES, STORES,
 *		L1_MISSES, L2_MISSES, LLC_REFS, LLC_MISSES, ROW_HITS,
 *		ROW_CONFLICTS, COHERENCE_MISSES.
 * @reserved:	0
 *
 * The plugin reads the samplers in each weave. A change takes effect at the
 * next SIM_SYNC, or without it some ten thousand modelled cycles later.
 */
struct sim_sampler {
	__u64 period;
	__u64 left;
	__u32 event;
	__u32 reserved;
};

/* sim_sample.flags: the level that served the access, and how */
#define SIM_SAMPLE_LEVEL	0x0fu	/* 1: L1, 2: L2, 3: LLC, 4: DRAM, or OTHER */
#define SIM_SAMPLE_OTHER	0x05u	/* private levels of another CPU */
#define SIM_SAMPLE_STORE	0x10u
#define SIM_SAMPLE_ROW_HIT	0x20u
#define SIM_SAMPLE_ROW_CONFLICT	0x40u
#define SIM_SAMPLE_UNCACHED	0x80u

/**
 * struct sim_sample - one sampled access
 * @vaddr:	guest virtual address of the data
 * @paddr:	guest physical address of the data
 * @ip:		guest virtual address of the instruction, 0 if not known
 * @time:	modelled clock of the CPU at the access; clocks of different CPUs
 *		can be compared, and advance while a CPU is halted
 * @latency:	modelled cycles that the access took
 * @flags:	SIM_SAMPLE_*
 * @sampler:	index of the sampler that took the sample
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
 * struct sim_cpu - counters, samplers and ring state of one CPU
 * @count:	counters, by enum sim_event
 * @lost:	samples dropped because the ring was full
 * @head:	number of samples that the plugin has written; the next sample
 *		goes to slot @head % SIM_RING_SIZE
 * @tail:	number of samples that the guest has read
 * @owner:	owner that accesses are charged to, below SIM_MAX_OWNERS; written
 *		by the guest. 0, the default, is nobody in particular.
 * @reserved:	0
 * @sampler:	the samplers; struct sim_sampler says which side writes what
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
 * struct sim_figures - counters of one color, bank or owner, over all CPUs
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
 * struct sim_header - parameters of the machine, control, global counters
 * @magic:	SIM_MAGIC, once the plugin is ready
 * @version:	SIM_VERSION
 * @control:	SIM_CTL_*, written by the guest, acted on at SIM_CONTROL
 * @state:	1 while accesses are modelled; changes soon after SIM_CONTROL
 * @toggles:	how often the plugin acted on a change of SIM_CTL_ON
 * @ncpus:	CPUs of the guest
 * @line:	bytes per cache line
 * @llc_sets:	sets of the last level, of all slices together
 * @llc_ways:	ways of the last level
 * @llc_slices:	slices that the sets are divided among
 * @colors:	page colors of the last level, by set index within a slice
 * @banks:	DRAM banks over all channels and ranks
 * @mhz:	modelled cycles per microsecond
 * @frames:	page frames whose requests and misses the plugin counts for the
 *		host, 0 if it does not count by frame
 * @marks:	intervals of these counts that SIM_CTL_PAGES has ended
 * @reserved0:	0
 * @uncached:	virtual address from which accesses go to DRAM past all caches, as those
 *		of an uncached mapping do. Written by the guest; takes effect at the
 *		next SIM_SYNC.
 * @uncached_bytes: bytes from there on, 0 for none. Written by the guest.
 * @reserved:	0
 * @name:	name of the machine description, NUL-terminated
 * @color:	counters by color
 * @bank:	counters by bank
 * @owner:	counters by owner
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
	__u32 frames;
	__u32 marks;
	__u32 reserved0;
	__u64 uncached;
	__u64 uncached_bytes;
	__u32 reserved[12];
	char name[64];
	struct sim_figures color[SIM_MAX_COLORS];
	struct sim_figures bank[SIM_MAX_BANKS];
	struct sim_figures owner[SIM_MAX_OWNERS];
};

#endif /* _MCUBE_SIM_SHM_H */
