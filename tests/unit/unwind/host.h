#pragma once
/* A host for the unwinder as a test program can afford it, and what every test here needs: captures
 * into two threads' memories (one incremental, one full), a consumer that rebuilds stacks from
 * deltas, and the comparison. */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "agent/unwind/arch/arch.h"
#include "agent/unwind/regs.h"
#include "agent/unwind/unwind.h"

#define NOINLINE    __attribute__((noinline))
#define MODULES_MAX 256

#ifndef SKIP_REASON /* set by unwind.cmake where a test cannot run */
#define SKIP_REASON ""
#endif

static const char *const skip_reason __attribute__((unused)) = SKIP_REASON;

static struct unwind_module host_modules[MODULES_MAX];
static size_t host_module_count;
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;

struct host_stack {
	uint64_t low, high;
};
#define STACKS_MAX 4
static __thread struct host_stack host_stacks[STACKS_MAX];
static __thread unsigned host_stack_count;
static unsigned host_bounds_asked;

static int host_add_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct unwind_module m = {
		.start = UINT64_MAX, .load_start = UINT64_MAX, .bias = info->dlpi_addr};

	(void)size;
	(void)context;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + ph->p_vaddr, to = from + ph->p_memsz;

		if (ph->p_type == PT_GNU_EH_FRAME) {
			m.eh_frame_hdr = from;
			m.eh_frame_hdr_size = ph->p_memsz;
		}
		if (ph->p_type == ARCH_TABLE) {
			m.exidx = from;
			m.exidx_size = ph->p_memsz;
		}
		if (ph->p_type != PT_LOAD)
			continue;
		m.load_start = from < m.load_start ? from : m.load_start;
		m.load_end = to > m.load_end ? to : m.load_end;
		if (!(ph->p_flags & PF_X))
			continue;
		m.start = from < m.start ? from : m.start;
		m.end = to > m.end ? to : m.end;
	}
	if (m.end && host_module_count < MODULES_MAX)
		host_modules[host_module_count++] = m;
	return 0;
}

/* Under an emulator the code that ends signal handlers lies on a page that is no module's; real kernels have it in theirs. */
static void host_add_pages(void)
{
	FILE *maps = ARCH_LINK ? fopen("/proc/self/maps", "re") : NULL;
	unsigned long from, to;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		struct unwind_module m;
		bool known = false;

		if (sscanf(line, "%lx-%lx r-xp", &from, &to) != 2 || !strstr(line, " r-xp "))
			continue;
		for (size_t i = 0; i < host_module_count; i++)
			known |= host_modules[i].start < to && host_modules[i].end > from;
		m = (struct unwind_module){
			.start = from, .end = to, .load_start = from, .load_end = to};
		if (!known && host_module_count < MODULES_MAX)
			host_modules[host_module_count++] = m;
	}
	if (maps)
		fclose(maps);
}

static const struct unwind_module *host_find_module(void *context, uint64_t pc)
{
	const struct unwind_module *found = NULL;

	(void)context;
	pthread_mutex_lock(&host_lock);
	for (int again = 0; !found && again < 2; again++) {
		for (size_t i = 0; i < host_module_count; i++)
			if (pc >= host_modules[i].start && pc < host_modules[i].end)
				found = &host_modules[i];
		if (!host_module_count) {
			pthread_mutex_unlock(&host_lock);
			dl_iterate_phdr(host_add_module, NULL);
			host_add_pages();
			pthread_mutex_lock(&host_lock);
		}
	}
	pthread_mutex_unlock(&host_lock);
	return found;
}

static inline void host_add_stack(void *base, size_t size)
{
	assert_true(host_stack_count < STACKS_MAX);
	host_stacks[host_stack_count++] =
		(struct host_stack){(uintptr_t)base, (uintptr_t)base + size};
}

/* Of this thread's own stack; others are added by the test if it wants them known. */
static inline void host_know_stack(void)
{
	pthread_attr_t attr;
	size_t size;
	void *base;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	assert_int_equal(pthread_attr_getstack(&attr, &base, &size), 0);
	pthread_attr_destroy(&attr);
	host_add_stack(base, size);
}

static inline int host_stack_bounds(void *context, uint64_t sp, uint64_t *ret_low,
				    uint64_t *ret_high)
{
	(void)context;
	__atomic_add_fetch(&host_bounds_asked, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < host_stack_count; i++) {
		if (sp < host_stacks[i].low || sp >= host_stacks[i].high)
			continue;
		*ret_low = host_stacks[i].low;
		*ret_high = host_stacks[i].high;
		return 1;
	}
	return 0;
}

static inline void *host_pages(void *context, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)context;
	return p == MAP_FAILED ? NULL : p;
}

static const struct unwind_host test_host __attribute__((unused)) = {
	.find_module = host_find_module,
	.stack_bounds = host_stack_bounds,
	.pages = host_pages,
};

static inline struct unwind_thread *new_unwind_thread(void)
{
	return unwind_thread_init(host_pages(NULL, UNWIND_THREAD_SIZE));
}

/* Who reads the records: keeps the outer frames of the last stack and puts the new ones inside. */
struct consumer {
	uint64_t pcs[UNWIND_MAX_DEPTH]; /* outermost first */
	uint32_t depth;
};

static inline void consume(struct consumer *c, const struct unwind_delta *delta)
{
	assert_true(delta->keep <= c->depth);
	assert_int_equal(delta->depth, delta->keep + delta->count);
	assert_true(delta->depth <= UNWIND_MAX_DEPTH);
	for (uint32_t i = 0; i < delta->count; i++)
		c->pcs[delta->keep + i] = delta->pcs[delta->count - 1 - i];
	c->depth = delta->depth;
}

static inline void show(const char *name, const uint64_t *pcs, uint32_t depth)
{
	fprintf(stderr, "%s, outermost first:\n", name);
	for (uint32_t i = 0; i < depth; i++)
		fprintf(stderr, "  %3u %#llx\n", i, (unsigned long long)pcs[i]);
}

static inline void assert_same_stack(const struct consumer *a, const struct consumer *b,
				     const char *what)
{
	if (a->depth == b->depth && !memcmp(a->pcs, b->pcs, a->depth * sizeof(a->pcs[0])))
		return;
	show("incremental", a->pcs, a->depth);
	show("expected", b->pcs, b->depth);
	fail_msg("%s", what);
}
