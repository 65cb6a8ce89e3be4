// SPDX-License-Identifier: GPL-2.0
/*
 * mcube-pages: which page frames do real programs get, and in which order?
 *
 * The program prints frame numbers as plain text.  The map in
 * /sys/kernel/mm/mcube/map/ gives the color and bank of a frame.
 *
 *   mcube-pages pid PID...
 *	print the private anonymous pages of running processes, from pagemap
 *
 *   mcube-pages run [-c COPIES] [-m MAX] -- PROGRAM ARG...
 *	start COPIES of a program at once, copy n on CPU n, and print for each
 *	process and its children
 *	- in fault order, the frames of its zero-filled anonymous page faults,
 *	  from the tracepoint kmem:mm_page_alloc, and
 *	- in virtual order, the frames that the process holds when it exits:
 *	  ptrace stops the process while it still has its memory.
 *
 *   mcube-pages lockstep [-n PAGES] [-f FILE]
 *	two processes on CPUs 0 and 1 fault one page per step, with a barrier
 *	between steps; print their frames side by side.  -f writes 0 and then 1
 *	into FILE just before, so that both start with a newly enabled allocator.
 *
 *   mcube-pages age [-m MIB]
 *	touch that much memory, free every other page at random, and keep the
 *	rest until killed: free memory then looks as after days of use
 *
 * Output:
 *	process PID COPY NAME
 *	faults N		then N frame numbers in hex
 *	pages N			then runs "PFN+LENGTH" in virtual order
 *	step A B		lockstep: frames of the two processes
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE		4096UL
#define TRACE		"/sys/kernel/tracing/"
#define MAX_PROCS	256
#define MAX_COPIES	16
#define PRESENT		0x8000000000000000UL
#define FILE_PAGE	0x2000000000000000UL
#define PFN_MASK	0x007fffffffffffffUL

struct run {
	unsigned long pfn;
	unsigned long len;
};

struct proc {
	pid_t pid;
	int copy;
	char name[32];
	unsigned long *fault;
	unsigned long nr_faults;
	struct run *run;
	unsigned long nr_runs, nr_pages;
};

static struct proc procs[MAX_PROCS];
static int nr_procs;
static unsigned long max_frames = 16384;

static void die(const char *what)
{
	fprintf(stderr, "mcube-pages: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put(const char *path, const char *fmt, ...)
{
	char buf[128];
	va_list ap;
	int fd, n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0 || write(fd, buf, n) != n)
		die(path);
	close(fd);
}

static struct proc *find(pid_t pid)
{
	int i;

	for (i = 0; i < nr_procs; i++)
		if (procs[i].pid == pid)
			return &procs[i];
	return NULL;
}

static struct proc *add(pid_t pid, int copy)
{
	struct proc *p = find(pid);

	if (p || nr_procs == MAX_PROCS)
		return p;
	p = &procs[nr_procs++];
	p->pid = pid;
	p->copy = copy;
	return p;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static unsigned long frame_at(int pagemap, unsigned long addr)
{
	unsigned long e;

	if (pread(pagemap, &e, sizeof(e), addr / PAGE * sizeof(e)) != sizeof(e))
		die("pagemap");
	return e & PFN_MASK;
}

static void note_page(struct proc *p, unsigned long pfn, bool adjacent)
{
	struct run *last = p->nr_runs ? &p->run[p->nr_runs - 1] : NULL;

	if (p->nr_pages == max_frames)
		return;
	p->nr_pages++;
	if (adjacent && last && last->pfn + last->len == pfn) {
		last->len++;
		return;
	}
	p->run[p->nr_runs].pfn = pfn;
	p->run[p->nr_runs++].len = 1;
}

/* Record the private anonymous pages of a process in virtual order. */
static void snapshot(struct proc *p)
{
	char path[64], line[512];
	bool adjacent = false;
	int pagemap;
	FILE *maps;

	if (!p->run)
		p->run = calloc(max_frames, sizeof(*p->run));
	if (!p->run)
		die("memory");
	p->nr_runs = 0;
	p->nr_pages = 0;

	snprintf(path, sizeof(path), "/proc/%d/comm", p->pid);
	maps = fopen(path, "r");
	if (maps) {
		if (fgets(p->name, sizeof(p->name), maps))
			p->name[strcspn(p->name, "\n")] = '\0';
		fclose(maps);
	}
	snprintf(path, sizeof(path), "/proc/%d/pagemap", p->pid);
	pagemap = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	maps = fopen(path, "r");
	if (pagemap < 0 || !maps)
		die(path);
	while (fgets(line, sizeof(line), maps)) {
		static unsigned long entry[4096];
		unsigned long start, end, i, n;

		if (sscanf(line, "%lx-%lx", &start, &end) != 2 ||
		    strstr(line, "[vsyscall]"))
			continue;
		for (; start < end; start += n * PAGE) {
			n = (end - start) / PAGE;
			if (n > 4096)
				n = 4096;
			if (pread(pagemap, entry, n * 8, start / PAGE * 8) !=
			    (ssize_t)(n * 8))
				break;
			for (i = 0; i < n; i++) {
				bool here = entry[i] & PRESENT &&
					    !(entry[i] & FILE_PAGE) &&
					    entry[i] & PFN_MASK;

				if (here)
					note_page(p, entry[i] & PFN_MASK,
						  adjacent);
				adjacent = here;
			}
		}
	}
	fclose(maps);
	close(pagemap);
}

static void trace_begin(void)
{
	put(TRACE "tracing_on", "0");
	put(TRACE "trace", "\n");
	put(TRACE "buffer_size_kb", "%lu", max_frames * 96 / 1024);
	put(TRACE "options/overwrite", "0");
	put(TRACE "options/event-fork", "1");
	put(TRACE "set_event_pid", "\n");
	put(TRACE "events/kmem/mm_page_alloc/filter",
	    "order == 0 && migratetype == 1");
	put(TRACE "events/kmem/mm_page_alloc/enable", "1");
}

static void trace_pid(pid_t pid)
{
	int fd = open(TRACE "set_event_pid", O_WRONLY | O_APPEND);

	if (fd < 0 || dprintf(fd, "%d", pid) < 0)
		die("set_event_pid");
	close(fd);
}

/* Lines of the form "  name-123  [001] ..... 1.2: mm_page_alloc: ... pfn=0x..." */
static void trace_end(void)
{
	char line[512];
	FILE *f;

	put(TRACE "tracing_on", "0");
	put(TRACE "events/kmem/mm_page_alloc/enable", "0");
	f = fopen(TRACE "trace", "r");
	if (!f)
		die(TRACE "trace");
	while (fgets(line, sizeof(line), f)) {
		char *cpu = strstr(line, " ["), *pfn = strstr(line, "pfn=");
		struct proc *p;

		if (!cpu || !pfn || !strstr(line, "__GFP_ZERO"))
			continue;
		while (cpu > line && cpu[-1] != '-')
			cpu--;
		p = add(atoi(cpu), -1);
		if (!p || p->nr_faults == max_frames)
			continue;
		if (!p->fault)
			p->fault = calloc(max_frames, sizeof(*p->fault));
		if (!p->fault)
			die("memory");
		p->fault[p->nr_faults++] = strtoul(pfn + 4, NULL, 0);
	}
	fclose(f);
	put(TRACE "trace", "\n");
	put(TRACE "set_event_pid", "\n");
}

static void print_procs(void)
{
	unsigned long i;
	struct proc *p;

	for (p = procs; p < procs + nr_procs; p++) {
		if (!p->nr_faults && !p->nr_pages)
			continue;
		printf("process %d %d %s\n", p->pid, p->copy, p->name);
		printf("faults %lu\n", p->nr_faults);
		for (i = 0; i < p->nr_faults; i++)
			printf("%lx%c", p->fault[i],
			       i % 16 == 15 || i == p->nr_faults - 1 ?
			       '\n' : ' ');
		printf("pages %lu\n", p->nr_pages);
		for (i = 0; i < p->nr_runs; i++)
			printf("%lx+%lu%c", p->run[i].pfn,
			       p->run[i].len,
			       i % 16 == 15 || i == p->nr_runs - 1 ?
			       '\n' : ' ');
	}
}

static pid_t start(char **argv, int copy)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		pin(copy);
		dup2(null, 0);
		dup2(null, 1);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		die(argv[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("fork");
	if (ptrace(PTRACE_SETOPTIONS, pid, 0,
		   PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK |
		   PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		   PTRACE_O_EXITKILL))
		die("ptrace");
	add(pid, copy);
	trace_pid(pid);
	return pid;
}

/* Let the stopped tasks run until all have ended; record the pages of each. */
static int follow(void)
{
	int status, failed = 0, event, signal;
	unsigned long child;
	struct proc *p;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		p = find(pid);
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (p && p->copy >= 0 && status)
				failed = 1;
			continue;
		}
		event = status >> 16;
		signal = WSTOPSIG(status);
		if (event == PTRACE_EVENT_EXIT) {
			p = add(pid, -1);
			if (p)
				snapshot(p);
		} else if (event && !ptrace(PTRACE_GETEVENTMSG, pid, 0, &child)) {
			add(child, -1);
		}
		if (event || signal == SIGSTOP || signal == SIGTRAP)
			signal = 0;
		ptrace(PTRACE_CONT, pid, 0, signal);
	}
	return failed;
}

static int run(int argc, char **argv)
{
	int copies = 1, opt, i, failed;
	pid_t pid[MAX_COPIES];

	while ((opt = getopt(argc, argv, "+c:m:")) != -1) {
		if (opt == 'c')
			copies = atoi(optarg);
		else if (opt == 'm')
			max_frames = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	if (optind == argc || copies < 1 || copies > MAX_COPIES || !max_frames)
		return 2;
	trace_begin();
	for (i = 0; i < copies; i++)
		pid[i] = start(argv + optind, i);
	put(TRACE "tracing_on", "1");
	for (i = 0; i < copies; i++)
		ptrace(PTRACE_CONT, pid[i], 0, 0);
	failed = follow();
	trace_end();
	print_procs();
	if (failed)
		fprintf(stderr, "mcube-pages: %s failed\n", argv[optind]);
	return failed;
}

static int show(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		snapshot(add(atoi(argv[i]), i - 1));
	print_procs();
	return argc < 2 ? 2 : 0;
}

/* Memory that the processes of lockstep share. */
struct steps {
	atomic_uint ready, arrived;
	atomic_int go;
	unsigned long frame[2][65536];
};

static void faulter(struct steps *s, int self, unsigned long pages)
{
	unsigned long i;
	int pagemap;
	char *p;

	pin(self);
	p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
	atomic_fetch_add(&s->ready, 1);
	while (!atomic_load(&s->go))
		sched_yield();
	for (i = 0; i < pages; i++) {
		asm volatile("movb $1, %0" : "=m"(p[i * PAGE]));
		atomic_fetch_add(&s->arrived, 1);
		while (atomic_load(&s->arrived) < 2 * (i + 1))
			sched_yield();
	}
	pagemap = open("/proc/self/pagemap", O_RDONLY);
	for (i = 0; i < pages; i++)
		s->frame[self][i] = frame_at(pagemap,
					     (unsigned long)p + i * PAGE);
	_exit(0);
}

static int lockstep(int argc, char **argv)
{
	unsigned long pages = 256, i;
	const char *file = NULL;
	struct steps *s;
	int opt, status;
	pid_t pid[2];

	while ((opt = getopt(argc, argv, "n:f:")) != -1) {
		if (opt == 'n')
			pages = strtoul(optarg, NULL, 0);
		else if (opt == 'f')
			file = optarg;
		else
			return 2;
	}
	if (!pages || pages > 65536)
		return 2;
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (s == MAP_FAILED)
		die("mmap");
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i])
			faulter(s, i, pages);
	}
	while (atomic_load(&s->ready) < 2)
		usleep(1000);
	if (file) {
		put(file, "0");
		put(file, "1");
	}
	atomic_store(&s->go, 1);
	for (i = 0; i < 2; i++)
		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			die("child");
	for (i = 0; i < pages; i++)
		printf("step %lx %lx\n", s->frame[0][i],
		       s->frame[1][i]);
	return 0;
}

static int age(int argc, char **argv)
{
	unsigned long pages = 256 << 20 >> 12, i, random = 1;
	int opt;
	char *p;

	while ((opt = getopt(argc, argv, "m:")) != -1) {
		if (opt != 'm')
			return 2;
		pages = strtoul(optarg, NULL, 0) << 20 >> 12;
	}
	if (!pages)
		return 2;
	p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
	for (i = 0; i < pages; i++)
		asm volatile("movb $1, %0" : "=m"(p[i * PAGE]));
	for (i = 0; i < pages; i++) {
		random = random * 6364136223846793005UL + 1442695040888963407UL;
		if (random >> 63)
			madvise(p + i * PAGE, PAGE, MADV_DONTNEED);
	}
	puts("aged");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int ret = 2;

	if (argc > 1) {
		const char *job = argv[1];

		argc--;
		argv++;
		if (!strcmp(job, "run"))
			ret = run(argc, argv);
		else if (!strcmp(job, "pid"))
			ret = show(argc, argv);
		else if (!strcmp(job, "lockstep"))
			ret = lockstep(argc, argv);
		else if (!strcmp(job, "age"))
			ret = age(argc, argv);
	}
	if (ret == 2)
		fprintf(stderr, "usage: mcube-pages pid PID... |\n"
			"       mcube-pages run [-c COPIES] [-m MAX] -- PROGRAM ARG... |\n"
			"       mcube-pages lockstep [-n PAGES] [-f FILE] |\n"
			"       mcube-pages age [-m MIB]\n");
	return ret;
}
