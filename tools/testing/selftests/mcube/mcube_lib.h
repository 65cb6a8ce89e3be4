/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the mcube selftests share: the files in sysfs, the address map
 * computed a second time in user space, page frames through pagemap, the
 * kernel's memory accounts, and load that notices a page handed out twice.
 *
 * Functions that can fail return a negative errno unless said otherwise.
 */
#ifndef _SELFTEST_MCUBE_LIB_H
#define _SELFTEST_MCUBE_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MCUBE_DIR	"/sys/kernel/mm/mcube/"
#define MCUBE_MAP	MCUBE_DIR "map/"
#define MCUBE_ALLOC	MCUBE_DIR "alloc/"
#define MCUBE_STATS	MCUBE_ALLOC "stats/"
#define MCUBE_SRM	MCUBE_DIR "srm/"
#define MCUBE_ROCS	MCUBE_DIR "rocs/"
#define MCUBE_UBM	MCUBE_DIR "ubm/"
#define MCUBE_SETCACHE	MCUBE_DIR "setcache/"
#define ROCS_EVENTS	MCUBE_ROCS "events/"
#define MCUBE_POOL	"/proc/sys/vm/nr_hugepages"
#define MCUBE_MIN_FREE	"/proc/sys/vm/min_free_kbytes"
#define MCUBE_NODES	"/sys/devices/system/node"
#define MCUBE_HINT	"/sys/kernel/debug/mcube/hint"

/* A user and a group without rights. */
#define NOBODY		65534

/* Names in sysfs that more than one test uses. */
#define ALLOC_FILL_ORDER	"fill_order"
#define STAT_RELEASED		"released"
#define STAT_BROKEN_UP		"broken_up"
#define SRM_GROUP_ORDER		"group_order"
#define SRM_REUSE		"reuse"
#define SRM_RECLAIM		"reclaim"
#define SRM_MODE_SEGMENTS	"segments"
#define STAT_SEGMENTS		"segments"
#define STAT_RECLAIMED		"reclaimed"
#define STAT_RECOLORED		"recolored"

/* Boot parameters. */
#define PARAMETER_FILL_ORDER	"mcube.fill_order"

/* The map of the tests: 16 colors, 8 banks. */
#define MCUBE_TEST_COLORS	"0x1000 0x2000 0x4000 0x8000"
#define MCUBE_TEST_BANKS	"0x24000 0x48000 0x90000"

#define PAGE_SIZE_		4096UL
#define MIB			(1UL << 20)
#define HUGE_PAGES		512UL
#define MCUBE_DISK		"/dev/vda"
#define MCUBE_DISK_XFS		"/dev/vdb"
#define MCUBE_CGROUPS		"/sys/fs/cgroup"
#define MCUBE_LRU_GEN		"/sys/kernel/mm/lru_gen/enabled"

/* Files. */
int mcube_write_bytes(const char *path, const void *buf, size_t len);
int mcube_write(const char *path, const char *text);
int mcube_write_num(const char *path, long num);
int mcube_read(const char *path, char *buf, size_t size);
long mcube_read_num(const char *path);
bool mcube_exists(const char *path);
long mcube_field(const char *path, const char *name);

/* The allocator. */
const char *mcube_unusable(void);
int mcube_hint(const char *text);
int mcube_off(void);
int mcube_on(const char *order, const char *colors, const char *banks);
int mcube_fill_order(char *order, size_t size);
long mcube_stat(const char *name);

struct mcube_saved {
	char colors[2048], banks[2048], fill_order[32];
	long order, cluster;
	bool on;
};

void mcube_save(struct mcube_saved *s);
void mcube_restore(const struct mcube_saved *s);

/* The address map, from the text in sysfs. */
struct mcube_dim {
	unsigned int nr_masks, nr_tables;
	uint64_t mask[16];
	struct {
		unsigned int len, shift, nr;
		unsigned int entry[256];
	} table[4];
};

int mcube_dim_from(struct mcube_dim *d, const char *path);
unsigned int mcube_value(const struct mcube_dim *d, uint64_t pfn);

/* Memory of this process. */
void *mcube_map_anon(size_t pages);
int mcube_grow(size_t pages);
int mcube_use_memory(size_t pages);

/* Modules: 0 or -errno. */
int mcube_load_module(const char *path);
int mcube_unload_module(const char *name);
int mcube_pfns(const void *addr, size_t pages, uint64_t *pfn);
int mcube_nodes(const void *addr, size_t pages, int *node);
int mcube_pin(int cpu);
void mcube_unpin(void);
int mcube_bind(int node);
int mcube_make_cgroup(const char *path, const char *controllers);
int mcube_max_node(void);
const char *mcube_disk(const char *mount_at, bool *mounted);
const char *mcube_xfs(const char *mount_at, bool *mounted);

/* The kernel's accounts, in pages. */
struct mcube_memory {
	long managed;	/* present in all zones */
	long free;	/* nr_free_pages */
	long mcube;	/* nr_free_mcube, part of it */
	long buddy;	/* the sum of /proc/buddyinfo */
	long pcp;	/* on per-CPU lists, not part of nr_free_pages */
	long known;	/* in use for something that has a counter */
	long lost;	/* managed - free - pcp - known */
	long blocks;	/* pageblocks of type Mcube */
	long listed;	/* pages on free lists of type Mcube */
};

void mcube_memory(struct mcube_memory *m);
bool mcube_memory_settled(struct mcube_memory *m);
const char *mcube_memory_check_off(const struct mcube_memory *m);
void mcube_memory_print(const char *when, const struct mcube_memory *m);
long mcube_pageblocks(const char *type);

/* Load: processes that allocate pages, tag them, and check the tags. */
enum mcube_work {
	MCUBE_ANON	= 1 << 0,
	MCUBE_FILE	= 1 << 1,
	MCUBE_FORK	= 1 << 2,
};

#define MCUBE_WORKERS	64

struct mcube_load {
	struct mcube_shared *shared;
	pid_t pid[MCUBE_WORKERS];
	int n;
	long rounds, corrupt, died;
};

int mcube_load_start(struct mcube_load *l, int n, unsigned int work,
		     const char *dir, size_t pages);
void mcube_load_stop(struct mcube_load *l);
long mcube_load_once(enum mcube_work kind, const char *dir, uint64_t tag,
		     size_t pages);
uint64_t mcube_random(uint64_t *state);

/* A process that writes 1 to MCUBE_FAIL asks for failing allocations. */
#define MCUBE_FAIL	"/proc/self/make-it-fail"

void mcube_faults_of(const char *kind, const char *probability);
void mcube_faults(const char *probability);
int mcube_faults_in(const char *function);
int mcube_make_hole(const char *path, size_t pages);
int mcube_swap_head(int fd, size_t pages);
double mcube_now(void);
double mcube_deadline(double seconds);
unsigned int __real_alarm(unsigned int seconds);
unsigned int __wrap_alarm(unsigned int seconds);
long mcube_env(const char *name, long fallback);

#endif /* _SELFTEST_MCUBE_LIB_H */
