#pragma once
/* A host for the unwinder as a test program can afford it, and what every test here needs: captures
 * into two threads' memories (one incremental, one full), a consumer that rebuilds stacks from
 * deltas, and the comparison. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/unwind/regs.h"
#include "tests/unit/unwind/modules.h"

#define NOINLINE __attribute__((noinline))

#ifndef SKIP_REASON /* set by unwind.cmake where a test cannot run */
#define SKIP_REASON ""
#endif

static const char *const skip_reason __attribute__((unused)) = SKIP_REASON;

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;

struct host_stack {
	uint64_t low, high;
};
#define STACKS_MAX 4
static __thread struct host_stack host_stacks[STACKS_MAX];
static __thread unsigned host_stack_count;
static unsigned host_bounds_asked;

/* Under an emulator the code that ends signal handlers lies on a page that is no module's; real
 * kernels have it in theirs. */
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

	pthread_mutex_lock(&host_lock);
	for (int again = 0; !found && again < 2; again++) {
		found = host_loaded(context, pc);
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

static const struct unwind_host test_host __attribute__((unused)) = {
	.find_module = host_find_module,
	.stack_bounds = host_stack_bounds,
	.readable = host_readable,
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
