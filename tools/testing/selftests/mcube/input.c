// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to every writable file gives an error and changes nothing; what
 * may not change while the store is on is refused as busy; unprivileged users
 * can write nothing and learn no physical address.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"

#define OVERLONG	5000

static const char * const settings[] = {
	MCUBE_MAP "color_map",
	MCUBE_MAP "bank_map",
	MCUBE_MAP "nr_colors",
	MCUBE_MAP "nr_banks",
	MCUBE_MAP "source",
	MCUBE_ALLOC "enabled",
	MCUBE_ALLOC "seed",
	MCUBE_ALLOC "container_order",
	MCUBE_SRM "enabled",
	MCUBE_SRM "tl",
	MCUBE_SRM "mode",
	MCUBE_SRM "region_order",
	MCUBE_SRM "reserve",
	MCUBE_SRM "rescan",
	MCUBE_SRM "vm_hop",
	MCUBE_SRM "refill",
	MCUBE_HINT,
};

static const char * const writable[] = {
	MCUBE_MAP "color_map",
	MCUBE_MAP "bank_map",
	MCUBE_ALLOC "enabled",
	MCUBE_ALLOC "seed",
	MCUBE_ALLOC "container_order",
	MCUBE_SRM "enabled",
	MCUBE_SRM "tl",
	MCUBE_SRM "mode",
	MCUBE_SRM "region_order",
	MCUBE_SRM "reserve",
	MCUBE_SRM "rescan",
	MCUBE_SRM "vm_hop",
	MCUBE_SRM "refill",
	MCUBE_HINT,
};

/* Nobody's numbers: refused by all numeric files. */
static const char * const bad_numbers[] = {
	"\n", " ", "\t", "-1", "-0x1", "--1", "0x", "x1", "1x", "1 1", "1,", ",1",
	"1.0", "1e0", "one", "on", "true", "4294967296", "4294967297",
	"18446744073709551616", "18446744073709551617",
	"99999999999999999999999999999999999999", "0xffffffffffffffffffffff",
	"1\n\n", "1\n1", " 1", "1 ", "%d", "$(id)", "\xff\xfe", "\x01", "NaN",
	NULL
};

static const char * const bad_enabled[] = { "2", "3", "10", "0x2", "255", NULL };

static const char * const bad_order[] = {
	"0", "1", "8", "11", "63", "64", "100", "1000000", "2147483648", NULL
};

static const char * const bad_tl[] = {
	"0", "4097", "8192", "65536", "2147483648", "4294967295", NULL
};

static const char * const bad_region_order[] = {
	"5", "6", "10", "255", "2147483648", "4294967295", NULL
};

static const char * const bad_words[] = {
	"Auto", "AUTO", "aut", "autos", "auto auto", " auto", "auto ", "auto\n\n",
	"auto 1", "[auto]", NULL
};

static const char * const bad_reserve[] = {
	"9", "10", "16", "255", "2147483648", "4294967295", NULL
};

static const char * const bad_rescan[] = {
	"65", "100", "4096", "2147483648", "4294967295", NULL
};

static const char * const bad_mode[] = {
	"\n", " ", "0", "1", "run", "runss", "Runs", "[runs]", "state",
	"runs stateless", " runs", "runs ", "stateless\n\n", "none", "\xff", NULL
};

static const char * const bad_seed[] = {
	"\n", " ", "0", "1", "-1", "shuf", "shufflee", "Shuffle", "SHUFFLE",
	"[shuffle]", "shuffle paper", "paper shuffle", " paper", "paper ",
	"paper\n\n", "random", "none", "\xff", NULL
};

static const char * const bad_map[] = {
	/* no masks at all */
	"\n", " ", ",", "mask", "nones", "None", "none none", "none 0x1000",
	"0x1000 none", "-1", "-0x1000", "0x", "0xg", "4096", "1000", "0x1000z",
	"0x1000;0x2000", "0x1000|0x2000", "0x1000,,0x2000", "0x1000,",
	",0x1000", "0x1000 -", "\xff",
	/* masks that say nothing */
	"0x0", "0x1", "0x800", "0xfff", "0x1000 0x0", "0x1000 0x40",
	/* duplicates and dependent ones, some by bits below a page only */
	"0x1000 0x1000", "0x1000 0x2000 0x1000", "0x1000 0x2000 0x3000",
	"0x1000 0x1040", "0x6000 0xa000 0xc000",
	"0x11000 0x22000 0x44000 0x77000",
	/* too wide, too many */
	"0x10000000000000", "0x8000000000000000", "0x10000000000000000",
	"0xffffffffffffffffffffffffffffffff",
	"0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 0x80000 0x100000",
	/* tables */
	"table", "table:", "table:0", "table:0:", "table:0:0", "table:0:1",
	"table:0:0,0", "table:0:1,2", "table:0:0,2", "table:0:0,1,",
	"table:0:,0,1", "table:0:0,,1", "table:0:0 1", "table:0:0,-1",
	"table:0:0,64", "table:0:0,256", "table:0:0,1,4294967296",
	"table:-1:0,1", "table:31:0,1", "table:64:0,1", "table:x:0,1",
	"table::0,1", "table:0:0,1 table:1:0,1", "tables:0:0,1", "Table:0:0,1",
	"table:0:0,0x1",
	/* 256 values at most; 3 times 128 are more */
	"0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 table:8:0,1,2",
	/* the table says what the mask says: half of the values never occur */
	"0x1000 table:0:0,1",
	NULL
};

static const char * const bad_hint[] = {
	"\n", " ", "color", "color=", "color= 1", "color=-1", "color=x",
	"color=16", "color=255", "color=256", "color=4294967296",
	"color=18446744073709551616", "colour=1", "Color=1", "color:1",
	"color=1x", "color=1.0", "bank", "bank=", "bank=-1", "bank=8",
	"bank=256", "bank=4294967297", "color=1 color=2", "color=1 color=1",
	"bank=1 bank=2", "color=1 bank=8", "color=16 bank=1", "color=1,bank=1",
	"none color=1", "color=1 none", "none none", "NONE", "all", "1", "1 1",
	"=1", "seed=paper", "\xff", NULL
};

FIXTURE(input) {
	struct mcube_saved saved;
	char before[4096], after[4096];
};

FIXTURE_SETUP(input)
{
	const char *why = mcube_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write(MCUBE_MAP "color_map", MCUBE_TEST_COLORS));
	ASSERT_EQ(0, mcube_write(MCUBE_MAP "bank_map", MCUBE_TEST_BANKS));
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "seed", "shuffle"));
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "container_order", "10"));
	ASSERT_EQ(0, mcube_hint("color=3 bank=2"));
}

FIXTURE_TEARDOWN_PARENT(input)
{
	if (!mcube_unusable())
		mcube_restore(&self->saved);
}

/* All that can be set, as one text. */
static void snapshot(char *buf, size_t size)
{
	size_t len = 0, i;
	char text[1024];

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		if (mcube_read(settings[i], text, sizeof(text)) < 0)
			snprintf(text, sizeof(text), "unreadable");
		len += snprintf(buf + len, size - len, "%s: %s\n", settings[i],
				text);
	}
}

static void refused_bytes(struct __test_metadata *_metadata,
			  FIXTURE_DATA(input) *self, const char *path,
			  const char *what, const void *buf, size_t len)
{
	int ret;

	snapshot(self->before, sizeof(self->before));
	ret = mcube_write_bytes(path, buf, len);
	snapshot(self->after, sizeof(self->after));
	EXPECT_GT(0, ret) {
		TH_LOG("%s took %s", path, what);
	}
	/* Part of it taken is as bad. */
	EXPECT_NE(-EIO, ret) {
		TH_LOG("%s took the first part of %s", path, what);
	}
	EXPECT_STREQ(self->before, self->after) {
		TH_LOG("%s changed by %s", path, what);
	}
}

static void refused(struct __test_metadata *_metadata,
		    FIXTURE_DATA(input) *self, const char *path,
		    const char * const *texts)
{
	for (; *texts; texts++)
		refused_bytes(_metadata, self, path, *texts, *texts,
			      strlen(*texts));
}

/* Too long, and with a NUL inside, each made of something valid. */
static void refused_odd_forms(struct __test_metadata *_metadata,
			      FIXTURE_DATA(input) *self, const char *path,
			      const char *valid)
{
	static const char fill[] = { ' ', '\n', '\0', '0', 'A', '\xff' };
	char buf[OVERLONG], what[128];
	size_t len = strlen(valid), i;

	/* It would be taken as it stands, or the rest says nothing. */
	ASSERT_EQ(0, mcube_write(path, valid));

	for (i = 0; i < ARRAY_SIZE(fill); i++) {
		memset(buf, fill[i], sizeof(buf));
		memcpy(buf, valid, len);
		snprintf(what, sizeof(what), "%s and %zu times %#x", valid,
			 sizeof(buf) - len, (unsigned char)fill[i]);
		refused_bytes(_metadata, self, path, what, buf, sizeof(buf));
		memset(buf, fill[i], sizeof(buf));
		snprintf(what, sizeof(what), "%d times %#x", OVERLONG,
			 (unsigned char)fill[i]);
		refused_bytes(_metadata, self, path, what, buf, sizeof(buf));
	}
	/* As long as a page, which is what sysfs hands on at most. */
	memset(buf, ' ', 4096);
	memcpy(buf, valid, len);
	refused_bytes(_metadata, self, path, "4096 bytes", buf, 4096);

	memcpy(buf, valid, len);
	memcpy(buf + len, "\0junk", 5);
	snprintf(what, sizeof(what), "%s, NUL, junk", valid);
	refused_bytes(_metadata, self, path, what, buf, len + 5);
	snprintf(what, sizeof(what), "%s, NUL", valid);
	refused_bytes(_metadata, self, path, what, buf, len + 1);
	buf[0] = '\0';
	memcpy(buf + 1, valid, len);
	snprintf(what, sizeof(what), "NUL, %s", valid);
	refused_bytes(_metadata, self, path, what, buf, len + 1);

	/* Nothing at all: sysfs does not even call the file. */
	snapshot(self->before, sizeof(self->before));
	mcube_write_bytes(path, "", 0);
	snapshot(self->after, sizeof(self->after));
	EXPECT_STREQ(self->before, self->after);
}

TEST_F_TIMEOUT(input, enabled, 120)
{
	const char *path = MCUBE_ALLOC "enabled";

	refused(_metadata, self, path, bad_numbers);
	refused(_metadata, self, path, bad_enabled);
	refused_odd_forms(_metadata, self, path, "0");
	/* The same while it is on. */
	ASSERT_EQ(0, mcube_write(path, "1"));
	refused(_metadata, self, path, bad_numbers);
	refused(_metadata, self, path, bad_enabled);
	refused_odd_forms(_metadata, self, path, "1");
	/* Twice the same is no error. */
	EXPECT_EQ(0, mcube_write(path, "1\n"));
	EXPECT_EQ(1, mcube_read_num(path));
	EXPECT_EQ(0, mcube_write(path, "0\n"));
	EXPECT_EQ(0, mcube_write(path, "0"));
	EXPECT_EQ(0, mcube_read_num(path));
}

TEST_F_TIMEOUT(input, container_order, 120)
{
	const char *path = MCUBE_ALLOC "container_order";

	refused(_metadata, self, path, bad_numbers);
	refused(_metadata, self, path, bad_order);
	refused_odd_forms(_metadata, self, path, "9");
}

TEST_F_TIMEOUT(input, seed, 120)
{
	const char *path = MCUBE_ALLOC "seed";

	refused(_metadata, self, path, bad_seed);
	refused_odd_forms(_metadata, self, path, "paper");
}

TEST_F_TIMEOUT(input, color_map, 120)
{
	const char *path = MCUBE_MAP "color_map";

	refused(_metadata, self, path, bad_map);
	refused_odd_forms(_metadata, self, path, "0x8000 0x24000");
}

TEST_F_TIMEOUT(input, bank_map, 120)
{
	const char *path = MCUBE_MAP "bank_map";

	refused(_metadata, self, path, bad_map);
	refused_odd_forms(_metadata, self, path, "0x8000 table:4:0,1,2");
}

TEST_F_TIMEOUT(input, hint, 120)
{
	refused(_metadata, self, MCUBE_HINT, bad_hint);
	refused_odd_forms(_metadata, self, MCUBE_HINT, "color=1 bank=1");
}

TEST_F_TIMEOUT(input, srm, 300)
{
	static const char * const on_off[] = {
		MCUBE_SRM "enabled", MCUBE_SRM "vm_hop", MCUBE_SRM "refill",
	};
	size_t i;

	if (!mcube_exists(MCUBE_SRM "enabled"))
		SKIP(return, "no CONFIG_MCUBE_SRM");
	for (i = 0; i < ARRAY_SIZE(on_off); i++) {
		refused(_metadata, self, on_off[i], bad_numbers);
		refused(_metadata, self, on_off[i], bad_enabled);
		refused_odd_forms(_metadata, self, on_off[i], "0");
	}
	EXPECT_EQ(-ENODEV, mcube_write(MCUBE_SRM "enabled", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "vm_hop", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "refill", "1"));

	refused(_metadata, self, MCUBE_SRM "tl", bad_numbers);
	refused(_metadata, self, MCUBE_SRM "tl", bad_tl);
	refused_odd_forms(_metadata, self, MCUBE_SRM "tl", "4096");
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "tl", "1"));
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "tl", "256"));

	refused(_metadata, self, MCUBE_SRM "mode", bad_mode);
	refused_odd_forms(_metadata, self, MCUBE_SRM "mode", "stateless");
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "mode", "runs"));

	refused(_metadata, self, MCUBE_SRM "region_order", bad_numbers);
	refused(_metadata, self, MCUBE_SRM "region_order", bad_region_order);
	refused(_metadata, self, MCUBE_SRM "region_order", bad_words);
	refused_odd_forms(_metadata, self, MCUBE_SRM "region_order", "4");
	refused_odd_forms(_metadata, self, MCUBE_SRM "region_order", "auto");
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "region_order", "auto"));

	refused(_metadata, self, MCUBE_SRM "reserve", bad_numbers);
	refused(_metadata, self, MCUBE_SRM "reserve", bad_reserve);
	refused_odd_forms(_metadata, self, MCUBE_SRM "reserve", "8");
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "reserve", "1"));

	refused(_metadata, self, MCUBE_SRM "rescan", bad_numbers);
	refused(_metadata, self, MCUBE_SRM "rescan", bad_rescan);
	refused_odd_forms(_metadata, self, MCUBE_SRM "rescan", "64");
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "rescan", "16"));
}

TEST_F_TIMEOUT(input, busy_while_on, 120)
{
	static const char * const path[] = {
		MCUBE_MAP "color_map", MCUBE_MAP "bank_map",
		MCUBE_ALLOC "container_order",
	};
	static const char * const text[] = { "0x10000", "none", "9" };
	size_t i;

	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	snapshot(self->before, sizeof(self->before));
	for (i = 0; i < ARRAY_SIZE(path); i++)
		EXPECT_EQ(-EBUSY, mcube_write(path[i], text[i])) {
			TH_LOG("file %zu is not busy", i);
		}
	snapshot(self->after, sizeof(self->after));
	EXPECT_STREQ(self->before, self->after);
	refused(_metadata, self, path[0], bad_map);
	refused(_metadata, self, path[2], bad_order);

	/* The seed may change at any time. */
	EXPECT_EQ(0, mcube_write(MCUBE_ALLOC "seed", "paper"));
	EXPECT_EQ(0, mcube_write(MCUBE_ALLOC "seed", "shuffle"));
	ASSERT_EQ(0, mcube_off());
	for (i = 0; i < ARRAY_SIZE(path); i++)
		EXPECT_EQ(0, mcube_write(path[i], text[i]));
}

/* Words that are nearly right, put together at random. */
TEST_F_TIMEOUT(input, random_maps, 300)
{
	static const char * const word[] = {
		"0x", "1000", "2000", "0x4000", "0x8000", "0x6000", " ", ",", "\n",
		"table:", "0:", "1", "2", "0,1", "0,1,2", ":", "-", "none", "0",
	};
	char text[256], back[1024], again[1024];
	int i, n, accepted = 0;

	srandom(1);
	for (i = 0; i < 5000; i++) {
		text[0] = '\0';
		for (n = random() % 8; n >= 0; n--)
			strcat(text, word[random() % ARRAY_SIZE(word)]);
		snapshot(self->before, sizeof(self->before));
		if (mcube_write(MCUBE_MAP "bank_map", text)) {
			snapshot(self->after, sizeof(self->after));
			ASSERT_STREQ(self->before, self->after);
			continue;
		}
		/* What was taken reads back and can be written again. */
		accepted++;
		ASSERT_LT(0, mcube_read(MCUBE_MAP "bank_map", back, sizeof(back)));
		ASSERT_EQ(0, mcube_write(MCUBE_MAP "bank_map", back));
		mcube_read(MCUBE_MAP "bank_map", again, sizeof(again));
		ASSERT_STREQ(back, again);
		ASSERT_LE(1, mcube_read_num(MCUBE_MAP "nr_banks"));
		ASSERT_GE(256, mcube_read_num(MCUBE_MAP "nr_banks"));
	}
	TH_LOG("%d of %d were maps", accepted, i);
	EXPECT_LT(0, accepted);
}

static void unprivileged(struct __test_metadata *_metadata)
{
	uint64_t pfn[4];
	size_t i;
	char *p;
	int fd;

	ASSERT_EQ(0, setgroups(0, NULL));
	ASSERT_EQ(0, setgid(65534));
	ASSERT_EQ(0, setuid(65534));
	/* Dropping rights made /proc/self root's; that must not be why. */
	prctl(PR_SET_DUMPABLE, 1);

	for (i = 0; i < ARRAY_SIZE(writable); i++) {
		fd = open(writable[i], O_WRONLY);
		EXPECT_EQ(-1, fd) {
			TH_LOG("%s opens for writing", writable[i]);
		}
		EXPECT_TRUE(errno == EACCES || errno == EPERM);
		fd = open(writable[i], O_RDWR);
		EXPECT_EQ(-1, fd);
		EXPECT_EQ(-1, truncate(writable[i], 0));
		EXPECT_EQ(-1, chmod(writable[i], 0666));
	}
	EXPECT_EQ(-1, open(MCUBE_HINT, O_RDONLY));

	p = mcube_map_anon(4);
	ASSERT_NE(NULL, p);
	memset(p, 1, 4 * PAGE_SIZE_);
	if (!mcube_pfns(p, 4, pfn))
		for (i = 0; i < 4; i++)
			EXPECT_EQ(0, pfn[i]);
}

TEST_F_TIMEOUT(input, unprivileged_users_write_nothing, 60)
{
	uint64_t pfn;
	int status;
	pid_t pid;
	char *p;

	/* Root does see frames, so that not seeing them means something. */
	p = mcube_map_anon(1);
	ASSERT_NE(NULL, p);
	*p = 1;
	ASSERT_EQ(0, mcube_pfns(p, 1, &pfn));
	ASSERT_NE(0, pfn);

	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	snapshot(self->before, sizeof(self->before));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		unprivileged(_metadata);
		_exit(_metadata->exit_code);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	snapshot(self->after, sizeof(self->after));
	EXPECT_STREQ(self->before, self->after);
}

static bool one_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) &&
	       strlen(text) < 20;
}

/*
 * Every file that all may read is known here, together with why it gives no
 * address away: one number that counts something, or a setting as it was
 * written.  A file that is new has to be added on purpose.
 */
static int check_readable(struct __test_metadata *_metadata, const char *dir)
{
	static const char * const numbers[] = {
		"nr_colors", "nr_banks", "color_bytes", "enabled",
		"container_order", "containers", "free_pages", "served",
		"colored", "fallback", "uncovered", "taken", "returned",
		"dissolved", "tl", "vm_hop", "file_pages", "task_pages",
		"missed", "dealt", "hopped", "spread",
		"rescan", "refill", "refilled", "reserve",
	};
	char path[512], text[4096];
	struct dirent *e;
	struct stat st;
	int seen = 0;
	bool known;
	size_t i;
	DIR *d;

	d = opendir(dir);
	ASSERT_NE(NULL, d);
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (e->d_name[0] == '.' || lstat(path, &st))
			continue;
		EXPECT_EQ(0, st.st_mode & 0022) {
			TH_LOG("%s is writable for others", path);
		}
		if (S_ISDIR(st.st_mode)) {
			seen += check_readable(_metadata, path);
			continue;
		}
		if (!(st.st_mode & 0044))
			continue;
		seen++;
		ASSERT_LE(0, mcube_read(path, text, sizeof(text)));
		for (known = false, i = 0; i < ARRAY_SIZE(numbers); i++)
			known |= !strcmp(e->d_name, numbers[i]) &&
				 one_number(text);
		known |= !strcmp(e->d_name, "color_map") &&
			 !strcmp(text, MCUBE_TEST_COLORS);
		known |= !strcmp(e->d_name, "bank_map") &&
			 !strcmp(text, MCUBE_TEST_BANKS);
		known |= !strcmp(e->d_name, "seed") &&
			 !strcmp(text, "[shuffle] paper");
		known |= !strcmp(e->d_name, "mode") &&
			 !strcmp(text, "[runs] stateless");
		known |= !strcmp(e->d_name, "region_order") && !strcmp(text, "auto");
		known |= !strcmp(e->d_name, "source") && !strpbrk(text, "0123456789");
		EXPECT_TRUE(known) {
			TH_LOG("%s is readable for all and says: %s", path, text);
		}
	}
	closedir(d);
	return seen;
}

TEST_F_TIMEOUT(input, readable_files_tell_no_address, 60)
{
	struct stat st;

	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	EXPECT_LE(10, check_readable(_metadata, MCUBE_DIR));
	ASSERT_EQ(0, stat(MCUBE_HINT, &st));
	EXPECT_EQ(0, st.st_mode & 0077);
}

TEST_HARNESS_MAIN
