// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input for the files of mcube, see input_lib.h.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "input_lib.h"

#define OVERLONG	5000

const char * const input_writable[] = {
	MCUBE_MAP "color_map",
	MCUBE_MAP "bank_map",
	MCUBE_ALLOC "enabled",
	MCUBE_ALLOC ALLOC_FILL_ORDER,
	MCUBE_ALLOC "container_order",
	MCUBE_ALLOC "cluster_order",
	MCUBE_SRM "enabled",
	MCUBE_SRM "tl",
	MCUBE_SRM "mode",
	MCUBE_SRM SRM_GROUP_ORDER,
	MCUBE_SRM "reserve",
	MCUBE_SRM "lend",
	MCUBE_SRM SRM_REUSE,
	MCUBE_SRM "vm_hop",
	MCUBE_SRM SRM_RECLAIM,
	MCUBE_UBM "enabled",
	MCUBE_HINT,
	NULL
};

/* Files of ROCS, which are there while its module is loaded. */
const char * const input_rocs[] = {
	MCUBE_ROCS "enabled",
	MCUBE_ROCS "reserve",
	MCUBE_ROCS "pids",
	MCUBE_ROCS "cgroup",
	MCUBE_ROCS "auto",
	MCUBE_ROCS "search",
	MCUBE_ROCS "steps",
	MCUBE_ROCS "window_kcycles",
	MCUBE_ROCS "tick_ms",
	MCUBE_ROCS "profile_windows",
	MCUBE_ROCS "settle_windows",
	MCUBE_ROCS "min_rate",
	MCUBE_ROCS "phase_percent",
	MCUBE_ROCS "phase_confirm",
	MCUBE_ROCS "stack_rate",
	MCUBE_ROCS "budget",
	MCUBE_ROCS "sample_cost",
	MCUBE_ROCS "profile_pages",
	MCUBE_ROCS "pages_per_second",
	MCUBE_ROCS "split_thp",
	MCUBE_ROCS "prefetch_off",
	ROCS_EVENTS "cycles",
	ROCS_EVENTS "instructions",
	ROCS_EVENTS "refs",
	ROCS_EVENTS "misses",
	ROCS_EVENTS "sample_hit",
	ROCS_EVENTS "sample_miss",
	NULL
};

/* Files of page sets, which are there while their module is loaded. */
const char * const input_setcache[] = {
	MCUBE_SETCACHE "mode",
	MCUBE_SETCACHE "policy",
	MCUBE_SETCACHE "numa",
	MCUBE_SETCACHE "size_mib",
	NULL
};

/* Files whose values follow from the settings. */
static const char * const derived[] = {
	MCUBE_MAP "nr_colors",
	MCUBE_MAP "nr_banks",
	MCUBE_MAP "source",
	MCUBE_MAP "level",
	NULL
};

/* Texts that all files with numbers refuse. */
const char * const input_bad_numbers[] = {
	"\n", " ", "\t", "-1", "-0x1", "--1", "0x", "x1", "1x", "1 1", "1,", ",1",
	"1.0", "1e0", "one", "on", "true", "4294967296", "4294967297",
	"18446744073709551616", "18446744073709551617",
	"99999999999999999999999999999999999999", "0xffffffffffffffffffffff",
	"1\n\n", "1\n1", " 1", "1 ", "%d", "$(id)", "\xff\xfe", "\x01", "NaN",
	NULL
};

const char * const input_bad_switch[] = { "2", "3", "10", "0x2", "255", NULL };

const char * const input_bad_maps[] = {
	/* no mask at all */
	"\n", " ", ",", "mask", "nones", "None", "none none", "none 0x1000",
	"0x1000 none", "-1", "-0x1000", "0x", "0xg", "4096", "1000", "0x1000z",
	"0x1000;0x2000", "0x1000|0x2000", "0x1000,,0x2000", "0x1000,",
	",0x1000", "0x1000 -", "\xff",
	/* masks that say nothing */
	"0x0", "0x1", "0x800", "0xfff", "0x1000 0x0", "0x1000 0x40",
	/* equal and dependent masks, some equal but for bits below a page */
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
	"table::0,1", "table:0:0,1 table:0:0,1", "tables:0:0,1", "Table:0:0,1",
	"table:0:0,0x1", "table:0:0,1,2 table:0:0,2,1", "table:0:0,1,2 table:30:0,1,2",
	"table:0:0,1 table:1:0,1 table:2:0,1 table:3:0,1 table:4:0,1",
	/* 256 values at most; 3 times 128 are more */
	"0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 table:8:0,1,2",
	/* the table says what the mask says: half of the values never occur */
	"0x1000 table:0:0,1",
	NULL
};

int input_begin(void)
{
	int ret = mcube_off();

	if (!ret)
		ret = mcube_write(MCUBE_MAP "color_map", MCUBE_TEST_COLORS);
	if (!ret)
		ret = mcube_write(MCUBE_MAP "bank_map", MCUBE_TEST_BANKS);
	if (!ret)
		ret = mcube_write(MCUBE_ALLOC ALLOC_FILL_ORDER, "shuffle");
	if (!ret)
		ret = mcube_write(MCUBE_ALLOC "container_order", "10");
	if (!ret)
		ret = mcube_write(MCUBE_ALLOC "cluster_order", "0");
	if (!ret)
		ret = mcube_hint("color=3 bank=2");
	return ret;
}

static size_t append(char *buf, size_t size, const char * const *paths)
{
	char text[1024];
	size_t len = 0;

	for (; *paths; paths++) {
		if (mcube_read(*paths, text, sizeof(text)) < 0)
			snprintf(text, sizeof(text), "unreadable");
		len += snprintf(buf + len, size - len, "%s: %s\n", *paths, text);
	}
	return len;
}

void input_snapshot(char *buf, size_t size)
{
	size_t len = append(buf, size, input_writable);

	if (mcube_exists(MCUBE_ROCS "enabled"))
		len += append(buf + len, size - len, input_rocs);
	if (mcube_exists(MCUBE_SETCACHE "mode"))
		len += append(buf + len, size - len, input_setcache);
	append(buf + len, size - len, derived);
}

static int refused_bytes(const char *path, const char *what, const void *buf,
			 size_t len)
{
	static char before[INPUT_SNAPSHOT], after[INPUT_SNAPSHOT];
	int ret, wrong = 0;

	input_snapshot(before, sizeof(before));
	ret = mcube_write_bytes(path, buf, len);
	input_snapshot(after, sizeof(after));
	if (ret >= 0) {
		ksft_print_msg("%s took %s\n", path, what);
		wrong++;
	}
	/* Accepting a part of the text is as bad. */
	if (ret == -EIO) {
		ksft_print_msg("%s took the first part of %s\n", path, what);
		wrong++;
	}
	if (strcmp(before, after)) {
		ksft_print_msg("%s changed by %s\nbefore:\n%safter:\n%s", path, what,
			       before, after);
		wrong++;
	}
	return wrong;
}

int input_refused(const char *path, const char * const *texts)
{
	int wrong = 0;

	for (; *texts; texts++)
		wrong += refused_bytes(path, *texts, *texts, strlen(*texts));
	return wrong;
}

/*
 * Texts that are too long or have a NUL in them, made of @valid, which is
 * accepted.
 */
int input_refused_forms(const char *path, const char *valid)
{
	static const char fill[] = { ' ', '\n', '\0', '0', 'A', '\xff' };
	char before[INPUT_SNAPSHOT], after[INPUT_SNAPSHOT];
	char buf[OVERLONG], what[128];
	size_t len = strlen(valid), i;
	int wrong = 0;

	/* If the file refused this text too, the rest would prove nothing. */
	if (mcube_write(path, valid)) {
		ksft_print_msg("%s refused %s\n", path, valid);
		return 1;
	}

	for (i = 0; i < ARRAY_SIZE(fill); i++) {
		memset(buf, fill[i], sizeof(buf));
		memcpy(buf, valid, len);
		snprintf(what, sizeof(what), "%s and %zu times %#x", valid,
			 sizeof(buf) - len, (unsigned char)fill[i]);
		wrong += refused_bytes(path, what, buf, sizeof(buf));
		memset(buf, fill[i], sizeof(buf));
		snprintf(what, sizeof(what), "%d times %#x", OVERLONG,
			 (unsigned char)fill[i]);
		wrong += refused_bytes(path, what, buf, sizeof(buf));
	}
	/* A text as long as a page, the longest text that sysfs hands on. */
	memset(buf, ' ', 4096);
	memcpy(buf, valid, len);
	wrong += refused_bytes(path, "4096 bytes", buf, 4096);

	memcpy(buf, valid, len);
	memcpy(buf + len, "\0junk", 5);
	snprintf(what, sizeof(what), "%s, NUL, junk", valid);
	wrong += refused_bytes(path, what, buf, len + 5);
	snprintf(what, sizeof(what), "%s, NUL", valid);
	wrong += refused_bytes(path, what, buf, len + 1);
	buf[0] = '\0';
	memcpy(buf + 1, valid, len);
	snprintf(what, sizeof(what), "NUL, %s", valid);
	wrong += refused_bytes(path, what, buf, len + 1);

	/* For a write of no byte, sysfs does not even call the file. */
	input_snapshot(before, sizeof(before));
	mcube_write_bytes(path, "", 0);
	input_snapshot(after, sizeof(after));
	if (strcmp(before, after)) {
		ksft_print_msg("%s changed by no byte\n", path);
		wrong++;
	}
	return wrong;
}

int input_without_rights(int (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		/* Dropping rights gives /proc/self to root; that must not be the reason. */
		prctl(PR_SET_DUMPABLE, 1);
		_exit(!!run());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return status;
}

static bool denied(void)
{
	return errno == EACCES || errno == EPERM;
}

int input_writable_files(const char * const *paths)
{
	int wrong = 0, found;

	for (; *paths; paths++) {
		found = open(*paths, O_WRONLY) != -1 || !denied();
		found += open(*paths, O_RDWR) != -1;
		found += !truncate(*paths, 0) + !chmod(*paths, 0666);
		if (found)
			ksft_print_msg("%s opens for writing, or changes\n", *paths);
		wrong += found;
	}
	return wrong;
}

int input_readable_files(const char * const *paths)
{
	int wrong = 0;

	for (; *paths; paths++) {
		if (open(*paths, O_RDONLY) == -1)
			continue;
		ksft_print_msg("%s opens for reading\n", *paths);
		wrong++;
	}
	return wrong;
}

int input_unlisted(const char *dir, const char * const *table)
{
	const char * const *known;
	DIR *d = opendir(dir);
	char path[512];
	struct dirent *e;
	struct stat st;
	int wrong = 0;

	if (!d)
		return 1;
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "%s%s", dir, e->d_name);
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		for (known = table; *known && strcmp(*known, path);)
			known++;
		if (*known && (st.st_mode & 0777) == 0644)
			continue;
		ksft_print_msg("%s, mode %o, is not in the table, or not 0644\n", path,
			       st.st_mode & 0777);
		wrong++;
	}
	closedir(d);
	return wrong;
}
