// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/mcube_probe: who may open it, what it refuses, what its lines say, and that
 * memory comes back, also after a kill.
 *
 * What the lines say of banks is a matter of the machine and not tested here; that memory
 * is uncached while it is held, and cached again after it, is tested by KUnit as the module
 * is loaded.  With MCUBE_LOCKDOWN=1 in the environment the last case locks the kernel down,
 * until the next boot.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"

#define DEVICE		"/dev/mcube_probe"
#define MODULE		"/lib/modules/mcube_probe.ko"
#define NAME		"mcube_probe"
#define LOCKDOWN	"/sys/kernel/security/lockdown"
#define MIB_PAGES	256L
#define PLAN		"mib=4 repeat=100 base=64 start=0 step=4096 count=100\n"
#define HEADER		"# first=%llx node=%d held_mib=%d repeat=%d tsc_khz=%d cached=%lf uncached=%lf obeyed=%3s\n"
/* Pages that others may take meanwhile. */
#define SLACK		512
#define ROUNDS		20

static bool locked_down(void)
{
	char text[128];

	return mcube_read(LOCKDOWN, text, sizeof(text)) > 0 && !strstr(text, "[none]");
}

FIXTURE(probe_device) {
	bool loaded;
	int fd;
};

FIXTURE_SETUP(probe_device)
{
	self->fd = -1;
	mount("securityfs", "/sys/kernel/security", "securityfs", 0, NULL);
	if (geteuid())
		SKIP(return, "needs root");
	if (!mcube_exists(DEVICE)) {
		if (!mcube_exists(MODULE))
			SKIP(return, NAME " is not loaded, and is no file " MODULE);
		ASSERT_EQ(0, mcube_load_module(MODULE));
		self->loaded = true;
	}
	ASSERT_TRUE(mcube_exists(DEVICE));
}

FIXTURE_TEARDOWN(probe_device)
{
	if (self->fd >= 0)
		close(self->fd);
	if (self->loaded) {
		EXPECT_EQ(0, mcube_unload_module(NAME));
		EXPECT_FALSE(mcube_exists(DEVICE));
	}
}

/* NULL and the open device, or why nothing can be tested. */
static const char *open_device(int *fd)
{
	if (locked_down())
		return "the kernel is locked down";
	*fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	return *fd < 0 && errno == EOPNOTSUPP ? "not on this machine" : NULL;
}

static int ask(int fd, const char *line)
{
	return write(fd, line, strlen(line)) < 0 ? -errno : 0;
}

/* The error of opening the device in a child that gives up some rights before. */
static int open_error(bool (*give_up)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		if (!give_up())
			_exit(255);
		_exit(open(DEVICE, O_RDWR) < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool become_nobody(void)
{
	return !setgid(NOBODY) && !setuid(NOBODY);
}

/* Root of a container: it may open files of root, but has no access to hardware. */
static bool drop_rawio(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return false;
	data[0].effective &= ~(1U << CAP_SYS_RAWIO);
	data[0].permitted &= ~(1U << CAP_SYS_RAWIO);
	return !syscall(SYS_capset, &header, data);
}

TEST_F(probe_device, unprivileged)
{
	EXPECT_EQ(EACCES, open_error(become_nobody));
	EXPECT_EQ(EPERM, open_error(drop_rawio));
}

/* A process without the right to it gains nothing by a file that is open. */
TEST_F(probe_device, inherited)
{
	const char *why;
	int status = -1;
	char c;
	pid_t pid;

	why = open_device(&self->fd);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_LE(0, self->fd);
	pid = fork();
	if (!pid) {
		if (!drop_rawio())
			_exit(255);
		if (ask(self->fd, "mib=4") != -EPERM)
			_exit(1);
		_exit(read(self->fd, &c, 1) != -1 || errno != EPERM);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

TEST_F(probe_device, bad_input)
{
	const char *why;
	static const struct {
		const char *line;
		int error;
	} bad[] = {
		{ "x", EINVAL }, { "mib", EINVAL }, { "mib=", EINVAL }, { "mib=1x", EINVAL },
		{ "mib=-4", EINVAL }, { "mib=5", EINVAL }, { "mib=4,step=64", EINVAL },
		{ "mib=4 mib=8", EINVAL }, { "\xff\xfe", EINVAL }, { "mib=0", ERANGE },
		{ "mib=1048576", ERANGE }, { "mib=4294967300", ERANGE }, { "node=999", ERANGE },
		{ "node=-1", EINVAL }, { "repeat=10", ERANGE }, { "repeat=75", EINVAL },
		{ "step=4", ERANGE }, { "step=100", EINVAL }, { "base=1", EINVAL },
		{ "mib=4 base=0x40000000000", ERANGE }, { "count=0", ERANGE },
		{ "count=99999999999", ERANGE },
	};
	char text[4096];
	size_t i;

	why = open_device(&self->fd);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(-1, read(self->fd, text, sizeof(text)));
	EXPECT_EQ(ENODATA, errno);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-bad[i].error, ask(self->fd, bad[i].line))
			TH_LOG("'%s'", bad[i].line);
	memset(text, ' ', sizeof(text));
	EXPECT_EQ(-1, write(self->fd, text, sizeof(text)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->fd, "mib=4\0x", 7));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->fd, NULL, 8));
	EXPECT_EQ(EFAULT, errno);
	/* After all that it works. */
	EXPECT_EQ(0, ask(self->fd, "mib=4 count=1\n"));
	EXPECT_EQ(-1, read(self->fd, NULL, 8));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(probe_device, one_at_a_time)
{
	const char *why;

	why = open_device(&self->fd);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(-1, open(DEVICE, O_RDWR));
	EXPECT_EQ(EBUSY, errno);
	close(self->fd);
	self->fd = open(DEVICE, O_RDWR);
	EXPECT_LE(0, self->fd);
}

/* All that the device has to say, read in pieces of @piece bytes. */
static ssize_t read_all(int fd, char *text, size_t size, size_t piece)
{
	size_t len = 0;
	ssize_t got;

	while (len + piece < size) {
		got = read(fd, text + len, piece);
		if (got < 0)
			return -errno;
		if (!got)
			break;
		len += got;
	}
	text[len] = '\0';
	return len;
}

TEST_F(probe_device, lines)
{
	const char *why;
	unsigned long long first, again, offset;
	int node, held, repeat, khz, n, i;
	double cached, uncached, mean, median;
	static char text[1 << 16];
	char obeyed[4], *line;
	size_t piece;

	why = open_device(&self->fd);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_LE(0, self->fd);
	for (piece = 1; piece <= 4096; piece *= 64) {
		ASSERT_EQ(0, ask(self->fd, PLAN));
		ASSERT_LT(0, read_all(self->fd, text, sizeof(text), piece));
		n = sscanf(text, HEADER, &first, &node, &held, &repeat, &khz, &cached, &uncached,
			   obeyed);
		ASSERT_EQ(8, n);
		EXPECT_EQ(0, first % (4 * MIB));
		EXPECT_EQ(4, held);
		EXPECT_EQ(100, repeat);
		EXPECT_LT(0, cached);
		EXPECT_EQ(uncached >= 4 * cached, !strcmp(obeyed, "yes"));
		if (piece > 1)
			EXPECT_EQ(again, first);
		again = first;
		line = strchr(text, '\n') + 1;
		ASSERT_EQ(0, strncmp(line, "offset mean median\n", 19));
		for (i = 0; i < 100; i++) {
			line = strchr(line, '\n') + 1;
			n = sscanf(line, "%llu %lf %lf\n", &offset, &mean, &median);
			ASSERT_EQ(3, n);
			ASSERT_EQ(4096ULL * i, offset);
			ASSERT_LT(0, mean);
			ASSERT_LT(0, median);
		}
		EXPECT_STREQ("", strchr(line, '\n') + 1);
	}
	/* Memory ends before the pairs do. */
	ASSERT_EQ(0, ask(self->fd, "mib=4 repeat=50 start=0 step=0x40000"));
	ASSERT_LT(0, read_all(self->fd, text, sizeof(text), 4096));
	for (i = 0, line = text; (line = strchr(line, '\n')); line++)
		i++;
	EXPECT_EQ(2 + 16, i);
}

static void expect_memory(struct __test_metadata *_metadata, struct mcube_memory *m)
{
	mcube_write("/proc/sys/vm/drop_caches", "3");
	usleep(300000);
	ASSERT_TRUE(mcube_memory_settled(m));
}

TEST_F_TIMEOUT(probe_device, memory_comes_back, 120)
{
	const char *why;
	struct mcube_memory before, held, after;
	int i, fd;

	why = open_device(&self->fd);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_LE(0, self->fd);
	/* The first time allocates what the kernel keeps. */
	ASSERT_EQ(0, ask(self->fd, "mib=32"));
	close(self->fd);
	self->fd = -1;
	expect_memory(_metadata, &before);
	for (i = 0; i < ROUNDS; i++) {
		fd = open(DEVICE, O_RDWR);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, ask(fd, "mib=16"));
		ASSERT_EQ(0, ask(fd, "mib=32"));
		if (i == ROUNDS - 1) {
			expect_memory(_metadata, &held);
			EXPECT_LE(32 * MIB_PAGES - SLACK, held.lost - before.lost);
		}
		close(fd);
	}
	expect_memory(_metadata, &after);
	TH_LOG("%d times, %ld pages lost", ROUNDS, after.lost - before.lost);
	EXPECT_GE(SLACK, after.lost - before.lost);
}

/* A read that would take an hour ends with its process, and the memory is free. */
TEST_F_TIMEOUT(probe_device, killed, 120)
{
	const char *why;
	struct mcube_memory before, after;
	int status, go[2], fd;
	pid_t pid;
	char c;

	why = open_device(&self->fd);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_LE(0, self->fd);
	close(self->fd);
	self->fd = -1;
	expect_memory(_metadata, &before);
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		static char all[64 << 20];

		fd = open(DEVICE, O_RDWR);
		if (fd < 0 || ask(fd, "mib=32 repeat=5000") || read(fd, all, 1) != 1)
			_exit(1);
		write(go[1], "x", 1);
		/* Fills the whole buffer, unless a signal comes. */
		read(fd, all, sizeof(all));
		_exit(2);
	}
	close(go[1]);
	ASSERT_EQ(1, read(go[0], &c, 1));
	usleep(100000);
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	self->fd = open(DEVICE, O_RDWR);
	EXPECT_LE(0, self->fd);
	expect_memory(_metadata, &after);
	EXPECT_GE(SLACK, after.lost - before.lost);
}

/* Last: nothing unlocks the kernel before the next boot. */
TEST_F(probe_device, lockdown)
{
	int fd = -1;
	char c;

	if (!locked_down()) {
		if (!mcube_env("MCUBE_LOCKDOWN", 0))
			SKIP(return, "not locked down; MCUBE_LOCKDOWN=1 does it");
		if (!mcube_exists(LOCKDOWN))
			SKIP(return, "the kernel has no lockdown");
		fd = open(DEVICE, O_RDWR);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, ask(fd, "mib=4"));
		ASSERT_EQ(0, mcube_write(LOCKDOWN, "integrity"));
		/* A file that is open already closes as well. */
		EXPECT_EQ(-EPERM, ask(fd, "mib=4"));
		EXPECT_EQ(-1, read(fd, &c, 1));
		EXPECT_EQ(EPERM, errno);
		close(fd);
	}
	EXPECT_EQ(-1, open(DEVICE, O_RDWR));
	EXPECT_EQ(EPERM, errno);
}

TEST_HARNESS_MAIN
