// SPDX-License-Identifier: GPL-2.0
/*
 * The QEMU plugin: passes the instructions and accesses of the guest to the model.
 *
 *	guest                        plugin                        model
 *	SIM_CONTROL (a NOP) -------> reset: translate anew ------> start, stop
 *	every block of code -------> instructions, dispatch -----> quantum
 *	every load and store ------> physical address -----------> caches, DRAM
 *	HLT, PAUSE ----------------> -----------------------------> idle, spin
 *	SIM_SYNC (a NOP) ----------> -----------------------------> weave
 *
 * While the model is off, code is translated as without a plugin, except for the
 * NOPs. Arguments of -plugin: shm=FILE (shared with the guest by ivshmem),
 * ram=BYTES (of the guest), machine=FILE, pages=FILE (for counts by page frame), and
 * any key of a machine description to override it. QEMU needs -accel tcg,thread=single
 * and RAM as its first memory object, below 3 GiB; tools/mcube/dev/lib/modelled.py
 * makes such a command line.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dataflow.h"
#include "model.h"
#include "physical.h"
#include "qemu-plugin-api.h"

#define RAM_MAX		(3ull << 30)

#define CODE_MAX	16	/* bytes of an instruction, which has 15 at most */

int qemu_plugin_version = QEMU_PLUGIN_API;

static struct model model;
static qemu_plugin_id_t self;
static void *cpus[SIM_MAX_CPUS];
static pthread_t runner;
static bool on, resetting;
/* QEMU has version 3 of the interface or a later one. */
static bool copies;

/* Used if CPUs overlap their misses. */
static struct dataflow dataflow[SIM_MAX_CPUS];
static struct flow_block *blocks, *old_blocks;

static void fatal(const char *what, const char *advice)
{
	fprintf(stderr, "mcube-model: %s\nwhat to do: %s\n", what, advice);
	exit(1);
}

/* QEMU runs another CPU, or the same CPU after it was halted. */
static __attribute__((noinline)) void dispatch(struct vcpu *v)
{
	if (!pthread_equal(runner, pthread_self())) {
		if (runner)
			fatal("QEMU runs guest CPUs in parallel",
			      "start it with -accel tcg,thread=single");
		runner = pthread_self();
	}
	if (!cpus[v->index])
		cpus[v->index] = qemu_get_cpu(v->index);
	model_dispatch(&model, v);
}

static void on_block(unsigned int cpu, void *data)
{
	struct vcpu *v = &model.vcpu[cpu];

	if (__builtin_expect(v != model.running, 0))
		dispatch(v);
	if (__builtin_expect(vcpu_instructions(&model, v, (uintptr_t)data), 0))
		if (model_quantum_end(&model, v))
			cpu_exit(cpus[cpu]);
}

static void on_flow_block(unsigned int cpu, void *data)
{
	struct flow_block *b = data;

	flow_enter(&dataflow[cpu], b);
	on_block(cpu, (void *)(uintptr_t)b->instructions);
}

static __attribute__((noinline)) void look_up(struct vcpu *v, qemu_plugin_meminfo_t info,
					      uint64_t vaddr, bool store, uint64_t ip)
{
	unsigned int size = 1u << qemu_plugin_mem_size_shift(info);
	unsigned int shift = model.map.line_shift;
	uint64_t paddr = physical(info, vaddr);
	uint64_t second = (vaddr + size - 1) >> shift << shift;

	if (paddr == NOT_RAM) {
		vcpu_forget(v);
		return;
	}
	model_access(&model, v, vaddr, paddr, store, ip);
	if (second <= vaddr)
		return;
	/* The access crosses into another line, perhaps on another page. */
	paddr = physical(info, second);
	if (paddr != NOT_RAM)
		model_access(&model, v, second, paddr, store, ip);
}

static void on_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
		      void *data)
{
	struct vcpu *v = &model.vcpu[cpu];
	bool store = qemu_plugin_mem_is_store(info);

	if (!vcpu_repeat(&model, v, vaddr, 1u << qemu_plugin_mem_size_shift(info), store))
		look_up(v, info, vaddr, store, (uintptr_t)data);
}

static void on_flow_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			   void *data)
{
	bool store = qemu_plugin_mem_is_store(info);
	struct dataflow *d = &dataflow[cpu];
	struct vcpu *v = &model.vcpu[cpu];
	const struct flow *f = data;
	uint32_t demands = v->demands;

	v->after = flow_address(d, f, store);
	v->ahead = d->block->instructions - 1 - (f - d->block->flow);
	on_access(cpu, info, vaddr, (void *)(uintptr_t)f->ip);
	v->ahead = 0;
	flow_done(d, f, store, vaddr >> model.map.line_shift, v->after,
		  v->demands == demands ? 0 : v->demands);
}

static void on_halt(unsigned int cpu, void *data)
{
	(void)data;
	model_idle(&model, &model.vcpu[cpu]);
}

static void on_pause(unsigned int cpu, void *data)
{
	(void)data;
	model_spin(&model, &model.vcpu[cpu]);
}

static void on_sync(unsigned int cpu, void *data)
{
	(void)data;
	(void)cpu;
	model_sync(&model);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

/* Code was discarded: free the blocks of the discard before. */
static void free_blocks(void)
{
	while (old_blocks) {
		struct flow_block *b = old_blocks;

		old_blocks = b->next;
		free(b);
	}
	old_blocks = blocks;
	blocks = NULL;
	for (unsigned int i = 0; i < SIM_MAX_CPUS; i++)
		dataflow[i].block = NULL;
}

/*
 * A flush frees the memory callbacks of the running block. QEMU 7.2 keeps a pointer to
 * them and aborts later, so clear it. QEMU 10 clears it by itself.
 */
static void drop_stale(qemu_plugin_id_t id)
{
	(void)id;
	free_blocks();
	for (unsigned int i = 0; !copies && i < model.ncpus; i++) {
		void *cpu = qemu_get_cpu(i);

		if (cpu)
			qemu_plugin_disable_mem_helpers(cpu);
	}
}

static void at_exit(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	if (on)
		model_stop(&model);
}

static void register_all(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_flush_cb(id, drop_stale);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
}

/* All translated code was discarded, and is translated anew from here on. */
static void after_reset(qemu_plugin_id_t id)
{
	struct sim_header *h = model.header;
	uint32_t control = __atomic_load_n(&h->control, __ATOMIC_ACQUIRE);

	drop_stale(id);
	resetting = false;
	if (on)
		model_stop(&model);
	on = control & SIM_CTL_ON;
	if (on && (control & SIM_CTL_CLEAR))
		model_clear(&model);
	if (on)
		model_start(&model);
	register_all(id);
	h->toggles++;
	__atomic_store_n(&h->state, on, __ATOMIC_RELEASE);
}

static void mark_pages(void)
{
	if (on)
		model_sync(&model);
	if (!model_mark_pages(&model))
		fatal("the file with the counts by page frame cannot be written",
		      "look at the pages= argument and the space on its disk");
}

static void on_control(unsigned int cpu, void *data)
{
	uint32_t control = __atomic_load_n(&model.header->control, __ATOMIC_ACQUIRE);

	(void)cpu;
	(void)data;
	if (control & SIM_CTL_PAGES && model.pages.count)
		mark_pages();
	if (!!(control & SIM_CTL_ON) != on) {
		if (!resetting)
			qemu_plugin_reset(self, after_reset);
		resetting = true;
	} else if (on && (control & SIM_CTL_CLEAR)) {
		model_clear(&model);
		model_sync(&model);
	}
}

/* QEMU reads the version after it has loaded the plugin, and refuses all but its own. */
static __attribute__((constructor)) void choose_version(void)
{
	copies = qemu_plugin_num_vcpus;
	if (copies)
		qemu_plugin_version = QEMU_PLUGIN_API_COPY;
}

/* The code of an instruction, in @buffer or where QEMU has it until translate() returns. */
static const void *code_of(const struct qemu_plugin_insn *insn, char buffer[CODE_MAX])
{
	uintptr_t code = qemu_plugin_insn_data(insn, buffer, CODE_MAX);

	return copies ? buffer : (const void *)code;
}

static bool is(const struct qemu_plugin_insn *insn, const char *bytes, size_t n)
{
	char buffer[CODE_MAX];

	return qemu_plugin_insn_size(insn) == n && !memcmp(code_of(insn, buffer), bytes, n);
}

/* The data flow of a block; NULL if it has more instructions than QEMU ever translates. */
static struct flow_block *follow(struct qemu_plugin_tb *tb, size_t n)
{
	static struct flow_code code[FLOW_MOST];
	static char buffers[FLOW_MOST][CODE_MAX];
	struct flow_block *b;

	if (n > FLOW_MOST)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		code[i] = (struct flow_code){ code_of(insn, buffers[i]),
			qemu_plugin_insn_size(insn), qemu_plugin_insn_vaddr(insn) };
	}
	b = flow_block(code, n);
	if (!b)
		fatal("no memory for the data flow of a block", "give QEMU a smaller tb-size");
	b->next = blocks;
	blocks = b;
	return b;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct flow_block *b = on && model.machine.misses > 1 ? follow(tb, n) : NULL;

	(void)id;
	if (b)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_flow_block, QEMU_PLUGIN_CB_NO_REGS,
						     b);
	else if (on)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
						     (void *)n);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		qemu_plugin_vcpu_udata_cb special = NULL;

		if (is(insn, "\x0f\x1f\x84\x00MCUB", 8))
			special = on_control;
		else if (!on)
			continue;
		else if (is(insn, "\x0f\x1f\x84\x00MCUS", 8))
			special = on_sync;
		else if (is(insn, "\xf4", 1))
			special = on_halt;
		else if (is(insn, "\xf3\x90", 2) || is(insn, "\x0f\x01\xc9", 3))
			special = on_pause;
		if (special)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, special,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
		if (b)
			qemu_plugin_register_vcpu_mem_cb(insn, on_flow_access,
							 QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW, &b->flow[i]);
		else if (on)
			qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW,
							 (void *)qemu_plugin_insn_vaddr(insn));
	}
}

static void *map_shared(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *shared;

	if (fd < 0 || ftruncate(fd, SIM_SHM_SIZE))
		return NULL;
	shared = mmap(NULL, SIM_SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return shared == MAP_FAILED ? NULL : shared;
}

static int refuse(const char *what, const char *advice)
{
	fprintf(stderr, "mcube-model: %s\nwhat to do: %s\n", what, advice);
	return -1;
}

/* Parse the arguments. Returns an empty string, or what is wrong with them. */
static const char *arguments(int argc, char **argv, struct machine *machine,
			     const char **shm, const char **pages, uint64_t *ram)
{
	const char *bad = "";

	/* Read the file first: the other arguments override it. */
	machine_default(machine);
	for (int i = 0; i < argc && !*bad; i++)
		if (!strncmp(argv[i], "machine=", 8))
			bad = machine_load(machine, argv[i] + 8);
	for (int i = 0; i < argc && !*bad; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			return "an argument has no '='";
		*value++ = 0;
		if (!strcmp(argv[i], "shm"))
			*shm = value;
		else if (!strcmp(argv[i], "pages"))
			*pages = value;
		else if (!strcmp(argv[i], "ram"))
			*ram = strtoull(value, NULL, 0);
		else if (strcmp(argv[i], "machine"))
			bad = machine_set(machine, argv[i], value);
	}
	return *bad ? bad : machine_check(machine);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_plugin_info *info, int argc,
			char **argv)
{
	const char *shm = NULL, *pages = NULL, *bad;
	struct machine machine;
	static char text[4096];
	uint64_t ram = 0;
	void *shared;

	if (!info->system_emulation || strcmp(info->target, "x86_64"))
		return refuse("this is not a system emulation of x86-64",
			      "use qemu-system-x86_64");
	if (!cpu_exit || !qemu_get_cpu || (!copies && !qemu_plugin_disable_mem_helpers))
		return refuse("this QEMU does not export cpu_exit, qemu_get_cpu or "
			      "qemu_plugin_disable_mem_helpers",
			      "use qemu-system-x86 of Debian 12 (7.2) or 13 (10.0)");
	if (info->system.smp_vcpus > SIM_MAX_CPUS)
		return refuse("too many CPUs", "give -smp 16 at most");
	bad = arguments(argc, argv, &machine, &shm, &pages, &ram);
	if (*bad)
		return refuse(bad, "correct the machine description or the arguments");
	if (!shm || !ram || ram > RAM_MAX)
		return refuse("shm= or ram= is missing, or RAM is above 3 GiB",
			      "give shm=FILE,ram=BYTES,machine=FILE as tools/mcube/dev/lib/modelled.py does");
	shared = map_shared(shm);
	if (!shared)
		return refuse("the shared file cannot be mapped", "look at the shm= argument");
	self = id;
	physical_init(ram);
	if (!model_init(&model, &machine, info->system.smp_vcpus, shared))
		return refuse("no memory for the model", "take a smaller machine");
	if (pages && !model_count_pages(&model, ram, pages))
		return refuse("the counts by page frame cannot be set up",
			      "look at the pages= argument");
	register_all(id);
	fprintf(stderr, "mcube-model: simulated: %s\n", machine_text(&machine, text, sizeof(text)));
	return 0;
}
