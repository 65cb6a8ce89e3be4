// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that the mcube selftests share, see mcube_lib.h.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest.h"
#include "mcube_lib.h"

double mcube_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1000000000.0;
}

long mcube_env(const char *name, long fallback)
{
	const char *text = getenv(name);

	return text && *text ? strtol(text, NULL, 0) : fallback;
}

/*
 * Limits of time find hangs.  An emulated machine on a busy host may need many
 * times as long without a hang, and its host finds hangs by other means: there
 * MCUBE_PATIENCE is the factor of all limits.
 */
double mcube_deadline(double seconds)
{
	return mcube_now() + seconds * mcube_env("MCUBE_PATIENCE", 1);
}

/* The harness ends a case by an alarm; see the Makefile. */
unsigned int __wrap_alarm(unsigned int seconds)
{
	return __real_alarm(seconds * mcube_env("MCUBE_PATIENCE", 1));
}

/* One write(); a short write is an error, as the file took a part. */
int mcube_write_bytes(const char *path, const void *buf, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;
	ssize_t done;

	if (fd < 0)
		return -errno;
	done = write(fd, buf, len);
	if (done < 0)
		ret = -errno;
	else if ((size_t)done != len)
		ret = -EIO;
	close(fd);
	return ret;
}

int mcube_write(const char *path, const char *text)
{
	return mcube_write_bytes(path, text, strlen(text));
}

int mcube_write_num(const char *path, long num)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", num);
	return mcube_write(path, text);
}

/* The whole file as a string without the last newline.  Return: its length. */
int mcube_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	while ((got = read(fd, buf + len, size - 1 - len)) > 0)
		len += got;
	got = got < 0 ? -errno : 0;
	close(fd);
	if (got)
		return got;
	if (len && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	return len;
}

long mcube_read_num(const char *path)
{
	char buf[64];
	int ret = mcube_read(path, buf, sizeof(buf));

	return ret < 0 ? ret : strtol(buf, NULL, 0);
}

bool mcube_exists(const char *path)
{
	return !access(path, F_OK);
}

/* The number behind the first word @name, as in meminfo and vmstat, or -1. */
long mcube_field(const char *path, const char *name)
{
	FILE *f = fopen(path, "re");
	char line[256], word[128];
	long value, found = -1;

	if (!f)
		return -1;
	while (found < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, " %127[^ :\n]%*[ :]%ld", word, &value) == 2 &&
		    !strcmp(word, name))
			found = value;
	fclose(f);
	return found;
}

/* NULL, or the reason why nothing can be tested here. */
const char *mcube_unusable(void)
{
	if (geteuid())
		return "must be root";
	if (!mcube_exists(MCUBE_ALLOC "enabled"))
		return "the kernel has no CONFIG_MCUBE_ALLOC";
	if (!mcube_exists(MCUBE_HINT))
		return "no debugfs on /sys/kernel/debug";
	return NULL;
}

int mcube_hint(const char *text)
{
	return mcube_write(MCUBE_HINT, text);
}

int mcube_off(void)
{
	return mcube_write(MCUBE_ALLOC "enabled", "0");
}

/*
 * Switch the allocator off, set each parameter that is not NULL, switch it on.
 */
int mcube_on(const char *order, const char *colors, const char *banks)
{
	int ret = mcube_off();

	if (!ret && colors)
		ret = mcube_write(MCUBE_MAP "color_map", colors);
	if (!ret && banks)
		ret = mcube_write(MCUBE_MAP "bank_map", banks);
	if (!ret && order)
		ret = mcube_write(MCUBE_ALLOC ALLOC_FILL_ORDER, order);
	if (!ret)
		ret = mcube_write(MCUBE_ALLOC "enabled", "1");
	return ret;
}

static const char *mount_disk(const char *variable, const char *device,
			      const char *type, const char *mount_at,
			      bool *mounted)
{
	const char *dir = getenv(variable);

	*mounted = false;
	if (dir)
		return dir;
	mkdir(mount_at, 0700);
	*mounted = !mount(device, mount_at, type, 0, NULL);
	return *mounted ? mount_at : NULL;
}

/*
 * A directory on a file system with a device below: MCUBE_DISK_DIR, or ext4 on
 * /dev/vda, which is then @mounted at @mount_at.  NULL if there is neither.
 */
const char *mcube_disk(const char *mount_at, bool *mounted)
{
	return mount_disk("MCUBE_DISK_DIR", MCUBE_DISK, "ext4", mount_at, mounted);
}

/*
 * A directory whose files have folios of several pages: MCUBE_XFS_DIR, or xfs
 * on /dev/vdb.
 */
const char *mcube_xfs(const char *mount_at, bool *mounted)
{
	return mount_disk("MCUBE_XFS_DIR", MCUBE_DISK_XFS, "xfs", mount_at, mounted);
}

/* The fill order in brackets. */
int mcube_fill_order(char *order, size_t size)
{
	char buf[128], *start, *end;
	int ret = mcube_read(MCUBE_ALLOC ALLOC_FILL_ORDER, buf, sizeof(buf));

	if (ret < 0)
		return ret;
	start = strchr(buf, '[');
	end = start ? strchr(start, ']') : NULL;
	if (!end || (size_t)(end - start) > size)
		return -EINVAL;
	*end = '\0';
	memcpy(order, start + 1, end - start);
	return 0;
}

long mcube_stat(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), MCUBE_STATS "%s", name);
	return mcube_read_num(path);
}

void mcube_save(struct mcube_saved *s)
{
	memset(s, 0, sizeof(*s));
	mcube_read(MCUBE_MAP "color_map", s->colors, sizeof(s->colors));
	mcube_read(MCUBE_MAP "bank_map", s->banks, sizeof(s->banks));
	mcube_fill_order(s->fill_order, sizeof(s->fill_order));
	s->order = mcube_read_num(MCUBE_ALLOC "container_order");
	s->cluster = mcube_read_num(MCUBE_ALLOC "cluster_order");
	s->on = mcube_read_num(MCUBE_ALLOC "enabled") == 1;
}

void mcube_restore(const struct mcube_saved *s)
{
	mcube_hint("none");
	mcube_off();
	mcube_write(MCUBE_MAP "color_map", s->colors);
	mcube_write(MCUBE_MAP "bank_map", s->banks);
	mcube_write_num(MCUBE_ALLOC "container_order", s->order);
	mcube_write_num(MCUBE_ALLOC "cluster_order", s->cluster);
	mcube_write(MCUBE_ALLOC ALLOC_FILL_ORDER, s->fill_order);
	if (s->on)
		mcube_write(MCUBE_ALLOC "enabled", "1");
}

/* Masks, and words table:SHIFT:v,v,v. */
int mcube_dim_from(struct mcube_dim *d, const char *path)
{
	char buf[2048], *word, *save;
	int ret = mcube_read(path, buf, sizeof(buf));
	typeof(d->table[0]) *t;

	memset(d, 0, sizeof(*d));
	if (ret < 0)
		return ret;
	if (!strcmp(buf, "none"))
		return 0;
	for (word = strtok_r(buf, " ", &save); word;
	     word = strtok_r(NULL, " ", &save)) {
		if (strncmp(word, "table:", 6)) {
			if (d->nr_masks == 16)
				return -E2BIG;
			d->mask[d->nr_masks++] = strtoull(word, NULL, 16);
			continue;
		}
		if (d->nr_tables == ARRAY_SIZE(d->table))
			return -E2BIG;
		t = &d->table[d->nr_tables++];
		t->shift = strtoul(word + 6, &word, 10);
		for (t->len = 0; *word == ':' || *word == ','; t->len++) {
			if (t->len == ARRAY_SIZE(t->entry))
				return -E2BIG;
			t->entry[t->len] = strtoul(word + 1, &word, 10);
			if (t->nr <= t->entry[t->len])
				t->nr = t->entry[t->len] + 1;
		}
	}
	return 0;
}

unsigned int mcube_value(const struct mcube_dim *d, uint64_t pfn)
{
	uint64_t phys = pfn * PAGE_SIZE_;
	unsigned int value = 0, i;

	for (i = d->nr_tables; i--; )
		value = value * d->table[i].nr +
			d->table[i].entry[(pfn >> d->table[i].shift) % d->table[i].len];
	value <<= d->nr_masks;
	for (i = 0; i < d->nr_masks; i++)
		value |= (unsigned int)__builtin_parityll(phys & d->mask[i]) << i;
	return value;
}

/* Anonymous memory in small pages, not touched yet; NULL on failure. */
void *mcube_map_anon(size_t pages)
{
	void *p = mmap(NULL, pages * PAGE_SIZE_, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, pages * PAGE_SIZE_, MADV_NOHUGEPAGE);
	return p;
}

/* Frames of touched pages; 0 for a page that has none. */
int mcube_pfns(const void *addr, size_t pages, uint64_t *pfn)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	size_t want = pages * sizeof(*pfn), i;
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = pread(fd, pfn, want, (uintptr_t)addr / PAGE_SIZE_ * sizeof(*pfn));
	close(fd);
	if (got != (ssize_t)want)
		return got < 0 ? -errno : -EIO;
	for (i = 0; i < pages; i++)
		pfn[i] = pfn[i] >> 63 ? pfn[i] & ((1ULL << 55) - 1) : 0;
	return 0;
}

int mcube_nodes(const void *addr, size_t pages, int *node)
{
	const void **list = malloc(pages * sizeof(*list));
	size_t i;
	long ret;

	for (i = 0; i < pages; i++)
		list[i] = (const char *)addr + i * PAGE_SIZE_;
	ret = syscall(SYS_move_pages, 0, pages, list, NULL, node, 0);
	free(list);
	return ret < 0 ? -errno : 0;
}

int mcube_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

void mcube_unpin(void)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	sched_setaffinity(0, sizeof(set), &set);
}

/* Allocate memory from @node alone; -1 ends that. */
int mcube_bind(int node)
{
	unsigned long mask = node < 0 ? 0 : 1UL << node;
	long ret = syscall(SYS_set_mempolicy, node < 0 ? MPOL_DEFAULT : MPOL_BIND,
			   node < 0 ? NULL : &mask, 8 * sizeof(mask));

	return ret ? -errno : 0;
}

/* A cgroup with these controllers; it may exist already. */
int mcube_make_cgroup(const char *path, const char *controllers)
{
	mcube_write(MCUBE_CGROUPS "/cgroup.subtree_control", controllers);
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

int mcube_max_node(void)
{
	char path[64];
	int node, max = 0;

	for (node = 0; node < 64; node++) {
		snprintf(path, sizeof(path), MCUBE_NODES "/node%d", node);
		if (mcube_exists(path))
			max = node;
	}
	return max;
}

static void read_zoneinfo(struct mcube_memory *m)
{
	FILE *f = fopen("/proc/zoneinfo", "re");
	char line[256];
	long n;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " managed %ld", &n) == 1)
			m->managed += n;
		else if (sscanf(line, " nr_free_pages %ld", &n) == 1)
			m->free += n;
		else if (sscanf(line, " nr_free_mcube %ld", &n) == 1)
			m->mcube += n;
		else if (sscanf(line, " count: %ld", &n) == 1)
			m->pcp += n;
	}
	if (f)
		fclose(f);
}

static void read_buddyinfo(struct mcube_memory *m)
{
	FILE *f = fopen("/proc/buddyinfo", "re");
	char line[512], *p;
	int order, used;
	long n;

	while (f && fgets(line, sizeof(line), f)) {
		p = strstr(line, "zone");
		if (!p || sscanf(p, "zone %*s%n", &used) < 0)
			continue;
		p += used;
		for (order = 0; sscanf(p, " %ld%n", &n, &used) == 1; order++) {
			m->buddy += n << order;
			p += used;
		}
	}
	if (f)
		fclose(f);
}

/* Pages on the free lists of type Mcube. */
static void read_pagetypeinfo(struct mcube_memory *m)
{
	FILE *f = fopen("/proc/pagetypeinfo", "re");
	char line[1024], *p;
	int order, used;
	long n;

	while (f && fgets(line, sizeof(line), f)) {
		p = strstr(line, "type");
		p = p && !strncmp(line, "Node", 4) ? strstr(p, " Mcube") : NULL;
		if (!p)
			continue;
		p += strlen(" Mcube");
		for (order = 0; sscanf(p, " %*[>]%ld%n", &n, &used) == 1 ||
		     sscanf(p, " %ld%n", &n, &used) == 1; order++) {
			m->listed += n << order;
			p += used;
		}
	}
	if (f)
		fclose(f);
	m->blocks = mcube_pageblocks("Mcube");
}

/* Pageblocks of a type: a column in the table of each node, a line per zone. */
long mcube_pageblocks(const char *type)
{
	static const char head[] = "Number of blocks type";
	FILE *f = fopen("/proc/pagetypeinfo", "re");
	char line[1024], *word, *save;
	int column = -1, i;
	long sum = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, head, strlen(head))) {
			word = strtok_r(line + strlen(head), "\n ", &save);
			for (i = 0; word && strcmp(word, type); i++)
				word = strtok_r(NULL, "\n ", &save);
			column = i;
		} else if (column >= 0) {
			word = strstr(line, "zone");
			if (!word) {
				column = -1;
				continue;
			}
			strtok_r(word, "\n ", &save);
			for (i = -1; i <= column; i++)
				word = strtok_r(NULL, "\n ", &save);
			sum += word ? strtol(word, NULL, 10) : 0;
		}
	}
	if (f)
		fclose(f);
	return sum;
}

static long known_pages(void)
{
	static const char * const fields[] = {
		"nr_inactive_anon", "nr_active_anon", "nr_inactive_file",
		"nr_active_file", "nr_unevictable", "nr_isolated_anon",
		"nr_isolated_file", "nr_slab_reclaimable",
		"nr_slab_unreclaimable", "nr_page_table_pages",
		"nr_sec_page_table_pages",
	};
	long sum = 0, n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		n = mcube_field("/proc/vmstat", fields[i]);
		sum += n > 0 ? n : 0;
	}
	n = mcube_field("/proc/vmstat", "nr_kernel_stack");
	sum += n > 0 ? n / 4 : 0;
	n = mcube_field("/proc/meminfo", "Percpu");
	sum += n > 0 ? n / 4 : 0;
	n = mcube_field("/proc/meminfo", "Hugetlb");
	sum += n > 0 ? n / 4 : 0;
	return sum;
}

void mcube_memory(struct mcube_memory *m)
{
	memset(m, 0, sizeof(*m));
	read_zoneinfo(m);
	read_buddyinfo(m);
	m->known = known_pages();
	m->lost = m->managed - m->free - m->pcp - m->known;
}

/*
 * Read until two accounts of free pages agree: the counter, and the sum of the
 * free lists and of the containers.  A task that allocates in between makes them
 * differ, so retry; false if they never agree.
 */
bool mcube_memory_settled(struct mcube_memory *m)
{
	int try;

	for (try = 0; try < 100; try++) {
		mcube_write("/proc/sys/vm/stat_refresh", "1");
		mcube_memory(m);
		if (m->free - m->mcube == m->buddy)
			break;
		usleep(50000);
	}
	read_pagetypeinfo(m);
	return m->free - m->mcube == m->buddy;
}

/* NULL, or the condition that does not hold while the allocator is off. */
const char *mcube_memory_check_off(const struct mcube_memory *m)
{
	if (mcube_stat("containers"))
		return "stats/containers is not 0";
	if (mcube_stat("free_pages"))
		return "stats/free_pages is not 0";
	if (m->mcube)
		return "nr_free_mcube is not 0";
	if (m->blocks)
		return "pageblocks of type Mcube remain";
	if (m->listed)
		return "pages remain on free lists of type Mcube";
	if (m->free != m->buddy)
		return "nr_free_pages is not the sum of buddyinfo";
	return NULL;
}

void mcube_memory_print(const char *when, const struct mcube_memory *m)
{
	printf("# %s: managed %ld free %ld (buddy %ld mcube %ld)", when,
	       m->managed, m->free, m->buddy, m->mcube);
	printf(" pcp %ld known %ld rest %ld; Mcube blocks %ld listed %ld\n",
	       m->pcp, m->known, m->lost, m->blocks, m->listed);
}

/* Use so many pages more, to the end of the process. */
int mcube_grow(size_t pages)
{
	char *p = mcube_map_anon(pages);
	size_t i;

	for (i = 0; p && i < pages; i++)
		p[i * PAGE_SIZE_] = 1;
	return p ? 0 : -ENOMEM;
}

/* A child uses so many pages and ends.  0, or the child's status. */
int mcube_use_memory(size_t pages)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(!!mcube_grow(pages));
	waitpid(pid, &status, 0);
	return status;
}

int mcube_load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

int mcube_unload_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

/* Let what @kind names fail for a process that asks for it, with this probability in percent. */
void mcube_faults_of(const char *kind, const char *probability)
{
	const char * const settings[][2] = {
		{ "verbose", "0" }, { "task-filter", "Y" },
		{ "ignore-gfp-wait", "N" }, { "min-order", "0" },
		{ "interval", "1" }, { "times", "-1" },
		{ "require-start", "0" }, { "require-end", "0xffffffffffffffff" },
		{ "probability", probability },
	};
	char path[128];
	size_t i;

	/* Not all kinds have all files. */
	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", kind, settings[i][0]);
		mcube_write(path, settings[i][1]);
	}
}

/* Allocations fail. */
void mcube_faults(const char *probability)
{
	mcube_faults_of("fail_page_alloc", probability);
	mcube_faults_of("failslab", probability);
}

/*
 * Objects of the slab allocator cannot be allocated while a function of the kernel runs, until
 * mcube_faults("0").  0, or a negative errno.
 */
int mcube_faults_in(const char *function)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	/* With a base, as debugfs wants it. */
	char line[256], name[128] = "", start[32] = "0x", next[32] = "0x";

	if (!symbols)
		return -errno;
	/* The function ends where the next symbol begins. */
	while (!next[2] && fgets(line, sizeof(line), symbols)) {
		if (start[2])
			sscanf(line, "%16s", next + 2);
		else if (sscanf(line, "%*s %*s %127s", name) == 1 && !strcmp(name, function))
			sscanf(line, "%16s", start + 2);
	}
	fclose(symbols);
	if (!next[2])
		return -ENOENT;
	mcube_faults_of("failslab", "0");
	return mcube_write("/sys/kernel/debug/failslab/task-filter", "N") ?:
	       mcube_write("/sys/kernel/debug/failslab/require-start", start) ?:
	       mcube_write("/sys/kernel/debug/failslab/require-end", next) ?:
	       mcube_write("/sys/kernel/debug/failslab/probability", "100");
}

/* A file without blocks, whose pages cost no I/O.  0, or a negative errno. */
int mcube_make_hole(const char *path, size_t pages)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), ret;

	if (fd < 0)
		return -errno;
	ret = ftruncate(fd, pages * PAGE_SIZE_) ? -errno : 0;
	close(fd);
	return ret;
}

/* Make a file whose pages all have blocks fit for swapon(). */
int mcube_swap_head(int fd, size_t pages)
{
	const uint32_t head[] = { 1, pages - 1, 0 };	/* version, last page, bad pages */
	char page[PAGE_SIZE_] = { };

	memcpy(page + 1024, head, sizeof(head));
	memcpy(page + PAGE_SIZE_ - 10, "SWAPSPACE2", 10);
	return pwrite(fd, page, sizeof(page), 0) != sizeof(page) || fsync(fd) ? -EIO : 0;
}
