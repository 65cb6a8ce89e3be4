// SPDX-License-Identifier: GPL-2.0
/*
 * A file system exerciser: random operations on a file, compared with a model in memory.
 *
 * All operations are by one process, so each read has one right result.  The mode is
 * "all": buffered reads come from page sets.  The seed gives the operations; after a
 * difference the last ones are printed.
 *
 * On xfs the file also shares blocks with itself and with a clone.  Without a hook the
 * same operations have to find a difference (CONFIG_MCUBE_SETCACHE_BREAK).
 *
 * MCUBE_SETCACHE_OPS (8000) is the number of operations on each kind of file, and
 * MCUBE_SETCACHE_SEED (1) the seed.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "../kselftest_harness.h"
#include "setcache_lib.h"

#define PAGES		320U	/* more than a pool of 1 MiB has */
#define MAX		((off_t)(PAGES * PAGE_SIZE_))
#define MAX_LEN		(16 * PAGE_SIZE_)	/* of most operations */
#define HOT		(24 * (off_t)PAGE_SIZE_)	/* half of the operations are there */
#define SECTOR		512UL
#define LOG		100U	/* operations that are printed */

enum { FILE_OP = 1, XFS_OP = 2, BLOCK_OP = 4, ANY_OP = 7 };

struct op {
	const char *name;
	off_t pos, from;
	size_t len;
};

/* A file, and what its bytes have to be: all after its end are zero. */
struct modelled {
	int fd, direct_fd;
	char *good;
	off_t size;
	char path[192];
};

struct fsx {
	struct modelled file, clone;
	char *buf;
	uint64_t seed;
	unsigned int kind;
	unsigned long ops;
	struct op log[LOG], *op;
};

static unsigned long draw(struct fsx *f, unsigned long below)
{
	return mcube_random(&f->seed) % below;
}

/* Draw @f->op's range, from a file of so many bytes, in units of @align. */
static bool draw_range(struct fsx *f, off_t size, size_t align)
{
	struct op *op = f->op;

	if (size < (off_t)align)
		return false;
	op->pos = draw(f, size > HOT && draw(f, 2) ? HOT : size) / align * align;
	op->len = 1 + draw(f, draw(f, 4) ? 2 * PAGE_SIZE_ : MAX_LEN);
	op->len = (op->len + align - 1) / align * align;
	if ((off_t)op->len > size - op->pos)
		op->len = (size - op->pos) / align * align;
	return op->len;
}

/* Bytes that @f->op writes. */
static void draw_bytes(struct fsx *f)
{
	size_t i;
	uint64_t word;

	for (i = 0; i < f->op->len; i += sizeof(word)) {
		word = mcube_random(&f->seed);
		memcpy(f->buf + i, &word, sizeof(word));
	}
}

/* The range of the model changes; NULL is zeros. */
static void model_write(struct modelled *m, off_t pos, const char *from, size_t len)
{
	if (from)
		memmove(m->good + pos, from, len);
	else
		memset(m->good + pos, 0, len);
	if (m->size < pos + (off_t)len)
		m->size = pos + len;
}

static void model_size(struct modelled *m, off_t size)
{
	if (size < m->size)
		memset(m->good + size, 0, m->size - size);
	m->size = size;
}

/* Compare what a read of @f->op gave. */
static int compare(struct fsx *f, const struct modelled *m, const char *buf, ssize_t got)
{
	const struct op *op = f->op;
	ssize_t want = op->pos < m->size ? m->size - op->pos : 0, i, n = 0, first = 0;

	if (want > (ssize_t)op->len)
		want = op->len;
	if (got != want) {
		printf("# %s returned %zd, not %zd: %s\n", op->name, got, want,
		       got < 0 ? strerror(errno) : "");
		return -EIO;
	}
	if (!memcmp(buf, m->good + op->pos, got))
		return 0;
	for (i = got; i--;)
		if (buf[i] != m->good[op->pos + i]) {
			first = i;
			n++;
		}
	printf("# %s: byte %lld of the file is %02x, not %02x; %zd bytes of %zd differ\n",
	       op->name, (long long)(op->pos + first), (unsigned char)buf[first],
	       (unsigned char)m->good[op->pos + first], n, got);
	return -EILSEQ;
}

/* Operations: 0, or a negative number, or 1 if the operation cannot be now. */

static int do_read(struct fsx *f)
{
	if (!draw_range(f, f->file.size + PAGE_SIZE_ < MAX ? f->file.size + PAGE_SIZE_ : MAX, 1))
		return 1;
	return compare(f, &f->file, f->buf, pread(f->file.fd, f->buf, f->op->len, f->op->pos));
}

static int do_readv(struct fsx *f)
{
	struct iovec iov[3];
	size_t a, b;

	if (!draw_range(f, f->file.size, 1))
		return 1;
	a = draw(f, f->op->len + 1);
	b = draw(f, f->op->len - a + 1);
	iov[0] = (struct iovec){ f->buf, a };
	iov[1] = (struct iovec){ f->buf + a, b };
	iov[2] = (struct iovec){ f->buf + a + b, f->op->len - a - b };
	return compare(f, &f->file, f->buf, preadv(f->file.fd, iov, 3, f->op->pos));
}

/* A part of the range may be there. */
static int do_nowait(struct fsx *f)
{
	struct iovec iov;
	ssize_t got;

	if (!draw_range(f, f->file.size, 1))
		return 1;
	iov = (struct iovec){ f->buf, f->op->len };
	got = preadv2(f->file.fd, &iov, 1, f->op->pos, RWF_NOWAIT);
	if (got < 0 && errno == EAGAIN)
		return 0;
	if (got > 0)
		f->op->len = got;
	return compare(f, &f->file, f->buf, got);
}

static int do_direct_read(struct fsx *f)
{
	if (!draw_range(f, f->file.size, SECTOR))
		return 1;
	return compare(f, &f->file, f->buf,
		       pread(f->file.direct_fd, f->buf, f->op->len, f->op->pos));
}

/* Map the pages of @f->op; its first byte. */
static char *map_range(struct fsx *f, int prot, size_t *pages)
{
	off_t first = f->op->pos / PAGE_SIZE_ * PAGE_SIZE_;
	char *map;

	*pages = (f->op->pos + f->op->len - first + PAGE_SIZE_ - 1) / PAGE_SIZE_;
	map = mmap(NULL, *pages * PAGE_SIZE_, prot, MAP_SHARED, f->file.fd, first);
	return map == MAP_FAILED ? NULL : map + (f->op->pos - first);
}

static void unmap(char *at, size_t pages)
{
	munmap((void *)((uintptr_t)at / PAGE_SIZE_ * PAGE_SIZE_), pages * PAGE_SIZE_);
}

static int do_map_read(struct fsx *f)
{
	size_t pages;
	char *map;
	int ret;

	if (!draw_range(f, f->file.size, 1))
		return 1;
	map = map_range(f, PROT_READ, &pages);
	if (!map)
		return -errno;
	ret = compare(f, &f->file, map, f->op->len);
	unmap(map, pages);
	return ret;
}

static off_t limit(const struct fsx *f)
{
	return f->kind == BLOCK_OP ? f->file.size : MAX;
}

static int do_write(struct fsx *f)
{
	if (!draw_range(f, limit(f), 1))
		return 1;
	draw_bytes(f);
	model_write(&f->file, f->op->pos, f->buf, f->op->len);
	return pwrite(f->file.fd, f->buf, f->op->len, f->op->pos) == (ssize_t)f->op->len ? 0 : -EIO;
}

static int do_direct_write(struct fsx *f)
{
	if (!draw_range(f, limit(f), draw(f, 2) ? SECTOR : PAGE_SIZE_))
		return 1;
	draw_bytes(f);
	model_write(&f->file, f->op->pos, f->buf, f->op->len);
	return pwrite(f->file.direct_fd, f->buf, f->op->len, f->op->pos) ==
	       (ssize_t)f->op->len ? 0 : -EIO;
}

static int do_map_write(struct fsx *f)
{
	size_t pages;
	char *map;

	if (!draw_range(f, limit(f), 1))
		return 1;
	if (f->file.size < f->op->pos + (off_t)f->op->len &&
	    ftruncate(f->file.fd, f->op->pos + f->op->len))
		return -errno;
	map = map_range(f, PROT_READ | PROT_WRITE, &pages);
	if (!map)
		return -errno;
	draw_bytes(f);
	model_write(&f->file, f->op->pos, f->buf, f->op->len);
	memcpy(map, f->buf, f->op->len);
	unmap(map, pages);
	return 0;
}

static int do_truncate(struct fsx *f)
{
	f->op->pos = draw(f, 4) ? draw(f, MAX) : f->file.size ? draw(f, f->file.size) : 0;
	model_size(&f->file, f->op->pos);
	return ftruncate(f->file.fd, f->op->pos) ? -errno : 0;
}

static int allocate(struct fsx *f, int mode)
{
	return fallocate(f->file.fd, mode, f->op->pos, f->op->len) ? -errno : 0;
}

static int do_punch(struct fsx *f)
{
	if (!draw_range(f, f->file.size, f->kind == BLOCK_OP ? SECTOR : 1))
		return 1;
	model_write(&f->file, f->op->pos, NULL, f->op->len);
	return allocate(f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
}

static int do_zero(struct fsx *f)
{
	if (!draw_range(f, limit(f), f->kind == BLOCK_OP ? SECTOR : 1))
		return 1;
	model_write(&f->file, f->op->pos, NULL, f->op->len);
	return allocate(f, FALLOC_FL_ZERO_RANGE);
}

static int do_zero_out(struct fsx *f)
{
	uint64_t range[2];

	if (!draw_range(f, f->file.size, SECTOR))
		return 1;
	range[0] = f->op->pos;
	range[1] = f->op->len;
	model_write(&f->file, f->op->pos, NULL, f->op->len);
	return ioctl(f->file.fd, BLKZEROOUT, range) ? -errno : 0;
}

static int do_collapse(struct fsx *f)
{
	struct modelled *m = &f->file;
	off_t end;

	if (!draw_range(f, m->size - 1, PAGE_SIZE_))
		return 1;
	end = f->op->pos + f->op->len;
	memmove(m->good + f->op->pos, m->good + end, m->size - end);
	model_size(m, m->size - f->op->len);
	return allocate(f, FALLOC_FL_COLLAPSE_RANGE);
}

static int do_insert(struct fsx *f)
{
	struct modelled *m = &f->file;
	off_t tail;

	if (!draw_range(f, m->size - 1, PAGE_SIZE_) || m->size + (off_t)f->op->len > MAX)
		return 1;
	tail = m->size - f->op->pos;
	model_write(m, f->op->pos + f->op->len, m->good + f->op->pos, tail);
	model_write(m, f->op->pos, NULL, f->op->len);
	return allocate(f, FALLOC_FL_INSERT_RANGE);
}

static int do_allocate(struct fsx *f)
{
	bool keep = draw(f, 2);

	if (!draw_range(f, MAX, 1))
		return 1;
	if (!keep && f->file.size < f->op->pos + (off_t)f->op->len)
		model_size(&f->file, f->op->pos + f->op->len);
	return allocate(f, keep ? FALLOC_FL_KEEP_SIZE : 0);
}

/* A second range, @f->op->from, of the same length, which does not meet the first. */
static bool draw_source(struct fsx *f, size_t align)
{
	struct op *op = f->op;

	if (f->file.size < (off_t)op->len)
		return false;
	op->from = draw(f, f->file.size - op->len + 1) / align * align;
	return op->from + (off_t)op->len <= op->pos || op->pos + (off_t)op->len <= op->from;
}

static int do_copy(struct fsx *f)
{
	size_t align = draw(f, 2) ? 1 : PAGE_SIZE_;
	off_t from, to;
	size_t left;
	ssize_t got;

	if (!draw_range(f, MAX, align) || !draw_source(f, align))
		return 1;
	from = f->op->from;
	to = f->op->pos;
	for (left = f->op->len; left; left -= got) {
		got = copy_file_range(f->file.fd, &from, f->file.fd, &to, left, 0);
		if (got <= 0)
			return -EIO;
	}
	model_write(&f->file, f->op->pos, f->file.good + f->op->from, f->op->len);
	return 0;
}

static int do_share(struct fsx *f)
{
	struct file_clone_range range = { .src_fd = f->file.fd };

	if (!draw_range(f, MAX, PAGE_SIZE_) || !draw_source(f, PAGE_SIZE_))
		return 1;
	range.src_offset = f->op->from;
	range.src_length = f->op->len;
	range.dest_offset = f->op->pos;
	model_write(&f->file, f->op->pos, f->file.good + f->op->from, f->op->len);
	return ioctl(f->file.fd, FICLONERANGE, &range) ? -errno : 0;
}

/* Blocks with equal bytes become one; nothing is to be seen of it. */
static int do_dedupe(struct fsx *f)
{
	struct file_dedupe_range *range = (void *)f->buf;

	if (!draw_range(f, f->file.size, PAGE_SIZE_) || !draw_source(f, PAGE_SIZE_))
		return 1;
	memset(range, 0, sizeof(*range) + sizeof(range->info[0]));
	range->src_offset = f->op->from;
	range->src_length = f->op->len;
	range->dest_count = 1;
	range->info[0].dest_fd = f->file.fd;
	range->info[0].dest_offset = f->op->pos;
	return ioctl(f->file.fd, FIDEDUPERANGE, range) ? -errno : 0;
}

/* One file takes over all blocks of another. */
static int take_over(struct modelled *to, const struct modelled *from)
{
	/* The last block of the source may be in the middle of nothing but a hole. */
	if (to->size > from->size && ftruncate(to->fd, from->size))
		return -errno;
	model_size(to, from->size);
	memcpy(to->good, from->good, MAX);
	return ioctl(to->fd, FICLONE, from->fd) ? -errno : 0;
}

static int do_clone(struct fsx *f)
{
	return take_over(&f->clone, &f->file);
}

static int do_revert(struct fsx *f)
{
	return take_over(&f->file, &f->clone);
}

static int do_read_clone(struct fsx *f)
{
	if (!draw_range(f, f->clone.size, 1))
		return 1;
	return compare(f, &f->clone, f->buf, pread(f->clone.fd, f->buf, f->op->len, f->op->pos));
}

static int do_write_clone(struct fsx *f)
{
	bool direct = draw(f, 2);

	if (!draw_range(f, MAX, direct ? SECTOR : 1))
		return 1;
	draw_bytes(f);
	model_write(&f->clone, f->op->pos, f->buf, f->op->len);
	return pwrite(direct ? f->clone.direct_fd : f->clone.fd, f->buf, f->op->len,
		      f->op->pos) == (ssize_t)f->op->len ? 0 : -EIO;
}

/* Pages go to the disk and leave the page cache, and the sets. */
static int do_evict(struct fsx *f)
{
	int fd = f->kind == XFS_OP && draw(f, 2) ? f->clone.fd : f->file.fd;

	f->op->len = draw(f, 3) ? HOT / 2 : 0;	/* 0 is all */
	return fsync(fd) || posix_fadvise(fd, 0, f->op->len, POSIX_FADV_DONTNEED) ? -errno : 0;
}

static int do_sync(struct fsx *f)
{
	return fsync(f->file.fd) ? -errno : 0;
}

static int do_drop(struct fsx *f)
{
	return mcube_write("/proc/sys/vm/drop_caches", "1");
}

static int open_modelled(struct modelled *m)
{
	close(m->fd);
	close(m->direct_fd);
	m->fd = open(m->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	m->direct_fd = open(m->path, O_RDWR | O_DIRECT | O_CLOEXEC);
	return m->fd < 0 || m->direct_fd < 0 ? -errno : 0;
}

/* A block device loses its pages here. */
static int do_reopen(struct fsx *f)
{
	return open_modelled(&f->file);
}

static const struct {
	const char *name;
	int (*run)(struct fsx *f);
	unsigned int kinds, weight;
} operations[] = {
	{ "read", do_read, ANY_OP, 110 },
	{ "readv", do_readv, ANY_OP, 20 },
	{ "read without waiting", do_nowait, ANY_OP, 15 },
	{ "direct read", do_direct_read, ANY_OP, 10 },
	{ "mapped read", do_map_read, ANY_OP, 10 },
	{ "write", do_write, ANY_OP, 15 },
	{ "direct write", do_direct_write, ANY_OP, 20 },
	{ "mapped write", do_map_write, ANY_OP, 10 },
	{ "truncate", do_truncate, FILE_OP | XFS_OP, 2 },
	{ "punch hole", do_punch, ANY_OP, 6 },
	{ "zero range", do_zero, ANY_OP, 6 },
	{ "zero out", do_zero_out, BLOCK_OP, 6 },
	{ "collapse range", do_collapse, FILE_OP | XFS_OP, 2 },
	{ "insert range", do_insert, FILE_OP | XFS_OP, 3 },
	{ "allocate", do_allocate, FILE_OP | XFS_OP, 5 },
	{ "copy range", do_copy, FILE_OP | XFS_OP, 6 },
	{ "share blocks", do_share, XFS_OP, 8 },
	{ "unite blocks", do_dedupe, XFS_OP, 4 },
	{ "clone", do_clone, XFS_OP, 2 },
	{ "revert to the clone", do_revert, XFS_OP, 4 },
	{ "read the clone", do_read_clone, XFS_OP, 10 },
	{ "write the clone", do_write_clone, XFS_OP, 6 },
	{ "sync", do_sync, ANY_OP, 5 },
	{ "evict", do_evict, ANY_OP, 20 },
	{ "drop caches", do_drop, ANY_OP, 1 },
	{ "open again", do_reopen, ANY_OP, 4 },
};

static void print_log(const struct fsx *f, unsigned long seed)
{
	unsigned long i = f->ops < LOG ? 0 : f->ops - LOG;

	printf("# seed %lu, the last operations:\n", seed);
	for (; i < f->ops; i++) {
		const struct op *op = &f->log[i % LOG];

		printf("# %lu: %s, %lld + %zu, from %lld\n", i, op->name, (long long)op->pos,
		       op->len, (long long)op->from);
	}
	fflush(stdout);
}

/* Draw an operation and run it. */
static int step(struct fsx *f)
{
	unsigned long sum = 0, at;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		sum += operations[i].kinds & f->kind ? operations[i].weight : 0;
	at = draw(f, sum);
	for (i = 0;; i++) {
		if (!(operations[i].kinds & f->kind))
			continue;
		if (at < operations[i].weight)
			break;
		at -= operations[i].weight;
	}
	f->op = &f->log[f->ops % LOG];
	*f->op = (struct op){ .name = operations[i].name };
	ret = operations[i].run(f);
	f->ops += ret <= 0;
	if (ret < 0)
		printf("# operation %lu, %s: error %d\n", f->ops - 1, f->op->name, ret);
	return ret;
}

/* The whole file, from where it is read usually, and from the disk. */
static int compare_all(struct fsx *f)
{
	struct op op = { .name = "the end" };
	off_t size = lseek(f->file.fd, 0, SEEK_END);
	int ret = 0;

	f->op = &op;
	if (size != f->file.size) {
		printf("# the size is %lld, not %lld\n", (long long)size,
		       (long long)f->file.size);
		return -EIO;
	}
	op.len = MAX_LEN;
	for (; !ret && op.pos < MAX; op.pos += op.len)
		ret = compare(f, &f->file, f->buf, pread(f->file.fd, f->buf, op.len, op.pos)) ?:
		      compare(f, &f->file, f->buf,
			      pread(f->file.direct_fd, f->buf, op.len, op.pos));
	return ret;
}

FIXTURE(setcache_fsx) {
	struct setcache_setup setup;
	struct fsx f;
	unsigned long seed;
};

FIXTURE_VARIANT(setcache_fsx) {
	enum setcache_place place;
	unsigned int kind, skip;
};

FIXTURE_VARIANT_ADD(setcache_fsx, ext4) { .place = ON_EXT4, .kind = FILE_OP };
FIXTURE_VARIANT_ADD(setcache_fsx, xfs) { .place = ON_XFS, .kind = XFS_OP };
FIXTURE_VARIANT_ADD(setcache_fsx, block_device) {
	.place = ON_BLOCK_DEVICE, .kind = BLOCK_OP,
};

/* Controls: bits as in enum mcube_setcache_why. */
FIXTURE_VARIANT_ADD(setcache_fsx, without_insert) {
	.place = ON_EXT4, .kind = FILE_OP, .skip = 1 << 0,
};

FIXTURE_VARIANT_ADD(setcache_fsx, without_truncate) {
	.place = ON_XFS, .kind = XFS_OP, .skip = 1 << 1,
};

FIXTURE_VARIANT_ADD(setcache_fsx, without_direct) {
	.place = ON_BLOCK_DEVICE, .kind = BLOCK_OP, .skip = 1 << 2 | 1 << 3,
};

static int open_new(struct modelled *m, const char *path)
{
	snprintf(m->path, sizeof(m->path), "%s", path);
	m->good = calloc(1, MAX);
	m->fd = -1;
	m->direct_fd = -1;
	return m->good ? open_modelled(m) : -ENOMEM;
}

FIXTURE_SETUP(setcache_fsx)
{
	const char *why = setcache_begin(&self->setup, variant->place, PAGES);
	struct fsx *f = &self->f;
	char path[192];

	if (why)
		SKIP(return, "%s", why);
	if (variant->skip && !mcube_exists(SETCACHE_SKIP))
		SKIP(return, "no CONFIG_MCUBE_SETCACHE_BREAK");
	self->seed = mcube_env("MCUBE_SETCACHE_SEED", 1);
	f->seed = self->seed * 7919 + variant->kind;
	f->kind = variant->kind;
	f->buf = aligned_alloc(PAGE_SIZE_, MAX_LEN + PAGE_SIZE_);
	ASSERT_NE(NULL, f->buf);
	ASSERT_EQ(0, open_new(&f->file, self->setup.file));
	f->file.size = lseek(f->file.fd, 0, SEEK_END);
	if (f->kind == XFS_OP) {
		snprintf(path, sizeof(path), "%s-clone", self->setup.backing);
		ASSERT_EQ(0, open_new(&f->clone, path));
		unlink(path);
	}
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "all"));
}

FIXTURE_TEARDOWN_PARENT(setcache_fsx)
{
	EXPECT_EQ(0, setcache_end(&self->setup));
}

TEST_F_TIMEOUT(setcache_fsx, as_the_model, 900)
{
	unsigned long ops = mcube_env("MCUBE_SETCACHE_OPS", 8000);
	struct fsx *f = &self->f;
	double begin = mcube_now();
	long hits, fills;
	int ret = 0;

	if (variant->skip)
		ASSERT_EQ(0, mcube_write_num(SETCACHE_SKIP, variant->skip));
	hits = setcache_stat("hits");
	fills = setcache_stat("fills");
	while (ret >= 0 && f->ops < ops)
		ret = step(f);
	if (ret >= 0)
		ret = compare_all(f);
	hits = setcache_stat("hits") - hits;
	fills = setcache_stat("fills") - fills;
	TH_LOG("%lu operations in %.0f s; pages: %ld hits, %ld fills", f->ops,
	       mcube_now() - begin, hits, fills);
	if (variant->skip) {
		EXPECT_EQ(-EILSEQ, ret);
		return;
	}
	EXPECT_LE(0, ret);
	if (ret < 0)
		print_log(f, self->seed);
	/* The test is one of page sets, not of the page cache. */
	EXPECT_LT((long)ops / 20, hits);
	EXPECT_LT((long)ops / 20, fills);
}

TEST_HARNESS_MAIN
