// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to the files of the allocator gives an error and changes nothing;
 * what may not change while the allocator is on is refused as busy.  Of the files
 * of all rooms: unprivileged users write nothing and learn no physical address.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "input_lib.h"

static const char * const bad_order[] = {
	"0", "1", "8", "11", "63", "64", "100", "1000000", "2147483648", NULL
};

static const char * const bad_cluster_order[] = {
	"6", "7", "10", "63", "64", "1000000", "2147483648", NULL
};

static const char * const bad_fill_order[] = {
	"\n", " ", "0", "1", "-1", "shuf", "shufflee", "Shuffle", "SHUFFLE",
	"[shuffle]", "shuffle paper", "paper shuffle", " paper", "paper ",
	"paper\n\n", "eve", "evene", "Even", "paper even", "aut", "autoo", "Auto",
	"random", "none", "\xff", NULL
};

static const char * const bad_hint[] = {
	"\n", " ", "color", "color=", "color= 1", "color=-1", "color=x",
	"color=16", "color=255", "color=256", "color=4294967296",
	"color=18446744073709551616", "colour=1", "Color=1", "color:1",
	"color=1x", "color=1.0", "bank", "bank=", "bank=-1", "bank=8",
	"bank=256", "bank=4294967297", "color=1 color=2", "color=1 color=1",
	"bank=1 bank=2", "color=1 bank=8", "color=16 bank=1", "color=1,bank=1",
	"none color=1", "color=1 none", "none none", "NONE", "all", "1", "1 1",
	"=1", "fill_order=paper", "\xff", NULL
};

FIXTURE(alloc_input) {
	struct mcube_saved saved;
	char before[INPUT_SNAPSHOT], after[INPUT_SNAPSHOT];
};

FIXTURE_SETUP(alloc_input)
{
	const char *why = mcube_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, input_begin());
}

FIXTURE_TEARDOWN_PARENT(alloc_input)
{
	if (!mcube_unusable())
		mcube_restore(&self->saved);
}

TEST_F_TIMEOUT(alloc_input, enabled, 120)
{
	const char *path = MCUBE_ALLOC "enabled";

	EXPECT_EQ(0, input_refused(path, input_bad_numbers));
	EXPECT_EQ(0, input_refused(path, input_bad_switch));
	EXPECT_EQ(0, input_refused_forms(path, "0"));
	/* The same values while the allocator is on. */
	ASSERT_EQ(0, mcube_write(path, "1"));
	EXPECT_EQ(0, input_refused(path, input_bad_numbers));
	EXPECT_EQ(0, input_refused(path, input_bad_switch));
	EXPECT_EQ(0, input_refused_forms(path, "1"));
	/* Writing the same value twice is no error. */
	EXPECT_EQ(0, mcube_write(path, "1\n"));
	EXPECT_EQ(1, mcube_read_num(path));
	EXPECT_EQ(0, mcube_write(path, "0\n"));
	EXPECT_EQ(0, mcube_write(path, "0"));
	EXPECT_EQ(0, mcube_read_num(path));
}

TEST_F_TIMEOUT(alloc_input, container_order, 120)
{
	const char *path = MCUBE_ALLOC "container_order";

	EXPECT_EQ(0, input_refused(path, input_bad_numbers));
	EXPECT_EQ(0, input_refused(path, bad_order));
	EXPECT_EQ(0, input_refused_forms(path, "9"));
}

TEST_F_TIMEOUT(alloc_input, cluster_order, 120)
{
	const char *path = MCUBE_ALLOC "cluster_order";

	EXPECT_EQ(0, input_refused(path, input_bad_numbers));
	EXPECT_EQ(0, input_refused(path, bad_cluster_order));
	EXPECT_EQ(0, input_refused_forms(path, "3"));
}

TEST_F_TIMEOUT(alloc_input, fill_order, 120)
{
	const char *path = MCUBE_ALLOC ALLOC_FILL_ORDER;

	EXPECT_EQ(0, input_refused(path, bad_fill_order));
	EXPECT_EQ(0, input_refused_forms(path, "paper"));
}

TEST_F_TIMEOUT(alloc_input, hint, 120)
{
	EXPECT_EQ(0, input_refused(MCUBE_HINT, bad_hint));
	EXPECT_EQ(0, input_refused_forms(MCUBE_HINT, "color=1 bank=1"));
}

TEST_F_TIMEOUT(alloc_input, busy_while_on, 120)
{
	const char *path = MCUBE_ALLOC "container_order";

	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	input_snapshot(self->before, sizeof(self->before));
	EXPECT_EQ(-EBUSY, mcube_write(path, "9"));
	input_snapshot(self->after, sizeof(self->after));
	EXPECT_STREQ(self->before, self->after);
	EXPECT_EQ(0, input_refused(path, bad_order));
	EXPECT_EQ(-EBUSY, mcube_write(MCUBE_ALLOC "cluster_order", "1"));
	EXPECT_EQ(0, input_refused(MCUBE_ALLOC "cluster_order", bad_cluster_order));

	/* The fill order may change at any time. */
	EXPECT_EQ(0, mcube_write(MCUBE_ALLOC ALLOC_FILL_ORDER, "paper"));
	EXPECT_EQ(0, mcube_write(MCUBE_ALLOC ALLOC_FILL_ORDER, "shuffle"));
	ASSERT_EQ(0, mcube_off());
	EXPECT_EQ(0, mcube_write(path, "9"));
	EXPECT_EQ(0, mcube_write(MCUBE_ALLOC "cluster_order", "5"));
}

/* Switch the allocator on with a signal pending all the while; the caller traces. */
static void write_traced(void)
{
	int fd = open(MCUBE_ALLOC "enabled", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	_exit(write(fd, "1", 1) != -1);
}

/* Let a traced process run to the start or the end of its next write().  0, or -1. */
static int run_to_write(pid_t pid, int op, struct __ptrace_syscall_info *info)
{
	int status;

	do {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return -1;
		memset(info, 0, sizeof(*info));
		ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(*info), info);
	} while (info->op != op);
	return op == PTRACE_SYSCALL_INFO_ENTRY && info->entry.nr != SYS_write ? -1 : 0;
}

/*
 * A signal that comes between the start of write() and the last moment at which it
 * can be interrupted.  The process stops at the start, where a tracer sends the signal.
 */
TEST_F_TIMEOUT(alloc_input, interrupted_write_changes_nothing, 120)
{
	struct __ptrace_syscall_info info;
	int status;
	pid_t pid;

	input_snapshot(self->before, sizeof(self->before));
	pid = fork();
	if (!pid)
		write_traced();
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(0, ptrace(PTRACE_SETOPTIONS, pid, NULL,
			    PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	ASSERT_EQ(0, run_to_write(pid, PTRACE_SYSCALL_INFO_ENTRY, &info));
	ASSERT_EQ(0, kill(pid, SIGUSR1));
	ASSERT_EQ(0, run_to_write(pid, PTRACE_SYSCALL_INFO_EXIT, &info));
	EXPECT_EQ(-EINTR, info.exit.rval);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);

	input_snapshot(self->after, sizeof(self->after));
	EXPECT_STREQ(self->before, self->after);
	EXPECT_EQ(0, mcube_stat("containers"));
	EXPECT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
}

static int unprivileged(void)
{
	static const char * const secret[] = { MCUBE_HINT, NULL };
	int wrong = input_writable_files(input_writable) + input_readable_files(secret);
	uint64_t pfn[4];
	size_t i;
	char *p;

	p = mcube_map_anon(4);
	if (!p)
		return 1;
	memset(p, 1, 4 * PAGE_SIZE_);
	if (!mcube_pfns(p, 4, pfn))
		for (i = 0; i < 4; i++)
			wrong += !!pfn[i];
	return wrong;
}

TEST_F_TIMEOUT(alloc_input, unprivileged_users_write_nothing, 60)
{
	uint64_t pfn;
	char *p;

	/*
	 * Root must see frames; otherwise it would prove nothing that others
	 * see none.
	 */
	p = mcube_map_anon(1);
	ASSERT_NE(NULL, p);
	*p = 1;
	ASSERT_EQ(0, mcube_pfns(p, 1, &pfn));
	ASSERT_NE(0, pfn);

	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	input_snapshot(self->before, sizeof(self->before));
	EXPECT_EQ(0, input_without_rights(unprivileged));
	input_snapshot(self->after, sizeof(self->after));
	EXPECT_STREQ(self->before, self->after);
}

static bool one_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) &&
	       strlen(text) < 20;
}

/*
 * Every file that all users may read is known here, with the reason why it gives
 * no address away: it has one number that counts something, or a setting as it
 * was written.  A new file has to be added on purpose.
 */
static int check_readable(struct __test_metadata *_metadata, const char *dir)
{
	static const char * const numbers[] = {
		"nr_colors", "nr_banks", "color_bytes", "enabled",
		"container_order", "container_banks", "cover_order", "cluster_order",
		"containers", "free_pages", "served",
		"colored", "fallback", "uncovered", "taken",
		"reserved_colors", "reserved_free",
		STAT_RELEASED, STAT_BROKEN_UP,
		"tl", "vm_hop", "reserve", "lend", SRM_REUSE, SRM_RECLAIM,
		"file_pages", "task_pages", "missed", "hopped", "vacated", "lent",
		"sampled",
		STAT_SEGMENTS, STAT_RECLAIMED, STAT_RECOLORED,
		"held", "given", "back", "lruvecs", "no_memory",
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
		/* rocs_input.c knows the files of the module. */
		if (e->d_name[0] == '.' || !strcmp(e->d_name, "rocs") || lstat(path, &st))
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
		known |= !strcmp(e->d_name, "level") && !strcmp(text, "given");
		known |= !strcmp(e->d_name, ALLOC_FILL_ORDER) &&
			 !strcmp(text, "[shuffle] paper even auto");
		known |= !strcmp(e->d_name, "fill_auto") &&
			 !strncmp(text, "even cluster_order=", 19);
		known |= !strcmp(e->d_name, "mode") &&
			 !strcmp(text, "[" SRM_MODE_SEGMENTS "] stateless");
		known |= !strcmp(e->d_name, SRM_GROUP_ORDER) && !strcmp(text, "auto");
		known |= !strcmp(e->d_name, "source") && !strpbrk(text, "0123456789");
		EXPECT_TRUE(known) {
			TH_LOG("%s is readable for all and says: %s", path, text);
		}
	}
	closedir(d);
	return seen;
}

TEST_F_TIMEOUT(alloc_input, readable_files_tell_no_address, 60)
{
	struct stat st;

	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	EXPECT_LE(10, check_readable(_metadata, MCUBE_DIR));
	ASSERT_EQ(0, stat(MCUBE_HINT, &st));
	EXPECT_EQ(0, st.st_mode & 0077);
}

TEST_HARNESS_MAIN
