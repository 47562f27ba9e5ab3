/* Damage: tables and code with flipped bytes and stacks of garbage, between pages that must not be
 * touched; with the stack's bounds known, and again with nothing known of it but which pages can be
 * read. Nothing may crash, a capture always gives at least one frame, and the incremental capture
 * equals the full one even here. */
#include "tests/unit/unwind/mapped.h"

#include "agent/unwind/rows.h"
#include "agent/unwind/thread.h"

#define STACK_SIZE (16u << 10)
#define SHARE	   (ARCH_LINK ? 8u : 1u) /* of the rounds: other processors are emulated ones */

static struct mapped mapped;
static uint8_t *stack_memory;
static uint64_t random_state = 88172645463325252ull;
static struct unwind_thread *incremental, *full;
static struct consumer seen, whole;

static uint64_t roll(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state >> 8;
}

static const struct unwind_module *find_mapped(void *context, uint64_t pc)
{
	(void)context;
	return pc >= mapped.module.start && pc < mapped.module.end ? &mapped.module : NULL;
}

static int garbage_bounds(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high)
{
	(void)context;
	*ret_low = (uintptr_t)stack_memory;
	*ret_high = (uintptr_t)stack_memory + STACK_SIZE;
	return sp >= *ret_low && sp < *ret_high;
}

static const struct unwind_host hostile_host = {
	.find_module = find_mapped,
	.stack_bounds = garbage_bounds,
	.readable = host_readable,
	.pages = host_pages,
};

static const struct unwind_host unbounded_host = {
	.find_module = find_mapped,
	.readable = host_readable,
	.pages = host_pages,
};

static void use_host(const struct unwind_host *host)
{
	assert_int_equal(unwind_init(host), 0);
	unwind_modules_changed(); /* what threads know of stacks goes, too */
}

static uint64_t code_address(void)
{
	return mapped.module.start + roll() % (mapped.module.end - mapped.module.start);
}

/* What could lie on a stack, and what could not. */
static uint64_t garbage_word(void)
{
	switch (roll() % 24) {
	case 0:
		return roll();
	case 1:
		return 0;
	case 2:
		return roll() % 65536;
	case 3:
	case 4:
		return (uintptr_t)stack_memory + roll() % STACK_SIZE / 8 * 8;
	case 5:
		return ~roll();
	default:
		return code_address();
	}
}

/* Every `part`-th word, about. A power of two: 32-bit ARM divides 64 bits by a loop. */
static void fill_stack(unsigned part)
{
	uint64_t *words = (uint64_t *)(void *)stack_memory;

	for (size_t i = 0; i < STACK_SIZE / 8; i++)
		if ((roll() & (part - 1)) == 0)
			words[i] = garbage_word();
}

static void capture(const struct unwind_regs *regs)
{
	struct unwind_delta delta, other;

	unwind_capture(incremental, regs, UNWIND_MAX_DEPTH, &delta);
	assert_true(delta.depth >= 1);
	consume(&seen, &delta);
	assert_int_equal(seen.pcs[seen.depth - 1], regs->pc);
	unwind_capture_full(full, regs, UNWIND_MAX_DEPTH, &other);
	consume(&whole, &other);
	assert_int_equal(delta.flags, other.flags);
	assert_same_stack(&seen, &whole, "incremental and full walk differ");
}

/* Both walks, whatever they find. */
static void survive(const struct unwind_regs *regs)
{
	struct unwind_delta delta;

	unwind_capture(incremental, regs, UNWIND_MAX_DEPTH, &delta);
	assert_true(delta.depth >= 1);
	unwind_capture_full(full, regs, UNWIND_MAX_DEPTH, &delta);
	assert_true(delta.depth >= 1);
}

static struct unwind_regs garbage_regs(void)
{
	struct unwind_regs regs = {
		.pc = roll() % 8 ? code_address() : roll(),
		.sp = (uintptr_t)stack_memory + roll() % (STACK_SIZE / 2) / 8 * 8 +
		      (roll() % 64 == 0),
		.fp = (uintptr_t)stack_memory +
		      roll() % STACK_SIZE / (roll() % 16 ? 8 : 1) * 8 % STACK_SIZE,
	};

	if (roll() % 2) {
		regs.has_saved = true;
		for (unsigned i = 0; i < 6; i++)
			regs.saved[i] = garbage_word();
	}
	return regs;
}

/* Also a test of the prefix: of several captures some words change, so that walks join and part at
 * random. */
static void test_garbage_stacks(void **state)
{
	struct unwind_counters counters;

	(void)state;
	for (unsigned i = 0; i < 20000 / SHARE; i++) {
		struct unwind_regs regs = garbage_regs();

		fill_stack(i % 64 ? 512 : 1);
		capture(&regs);
		for (unsigned k = 0; k < 5; k++) {
			fill_stack(2048);
			capture(&regs);
		}
	}
	unwind_counters(incremental, &counters);
	printf("%llu captures, %.2f frames walked each, %.1f %% truncated, %.1f %% whole\n",
	       (unsigned long long)counters.captures,
	       (double)counters.frames_walked / (double)counters.captures,
	       100.0 * (double)counters.truncated / (double)counters.captures,
	       100.0 * (double)counters.whole / (double)counters.captures);
}

/* Some of `size` bytes at `from` are changed, the first 64 more often; then all of them are put
 * right again. */
static void damage(uint8_t *from, uint64_t size, void (*use)(const struct unwind_regs *regs))
{
	uint8_t *copy = malloc(size);

	memcpy(copy, from, size);
	for (unsigned round = 0; round < 400 / SHARE; round++) {
		unsigned flips = 1u << roll() % 16;

		for (unsigned i = 0; i < flips; i++)
			from[roll() % (roll() % 8 ? size : 64)] =
				(uint8_t)(roll() % 3 ? roll() : 0xff);
		unwind_modules_changed();
		for (unsigned i = 0; i < 50; i++) {
			struct unwind_regs regs = garbage_regs();

			rows_decode(code_address());
			fill_stack(64);
			use(&regs);
		}
		memcpy(from, copy, size);
	}
	unwind_modules_changed();
	free(copy);
}

static void damage_tables(void (*use)(const struct unwind_regs *regs))
{
	uint64_t hdr = mapped.module.eh_frame_hdr, exidx = mapped.module.exidx, begin;

	assert_true(hdr || exidx);
	if (exidx) { /* and what it points to, which lies before it */
		begin = exidx - mapped.module.load_start - 4096;
		damage(mapped.memory + begin, mapped.module.exidx_size + 4096, use);
	}
	if (hdr) {
		begin = hdr - mapped.module.load_start;
		damage(mapped.memory + begin,
		       mapped.size - begin < (1u << 20) ? mapped.size - begin : 1u << 20, use);
	}
}

static void test_damaged_tables(void **state)
{
	(void)state;
	damage_tables(capture);
}

/* Code that has no table is read; none of it makes sense. */
static void test_damaged_code(void **state)
{
	struct unwind_module was = mapped.module;
	uint64_t size = was.end - was.start;

	(void)state;
	mapped.module.eh_frame_hdr = mapped.module.exidx = 0;
	damage(mapped.memory + (was.start - was.load_start), size < (1u << 18) ? size : 1u << 18,
	       capture);
	mapped.module = was;
}

static void test_unbounded(void **state)
{
	use_host(&unbounded_host);
	test_garbage_stacks(state);
	test_damaged_tables(state);
	test_damaged_code(state);
	use_host(&hostile_host);
}

/* Nothing is known of the stack, and what leads from frame to frame is nonsense: each word is read
 * from memory that was asked for, or not at all. */
static void test_nonsense(void **state)
{
	(void)state;
	use_host(&unbounded_host);
	for (unsigned i = 0; i < 6; i++)
		damage_tables(survive);
	use_host(&hostile_host);
}

/* An address whose plain row leads at least so far up from sp; 0: there is none. */
static uint64_t code_with_frame(uint64_t size)
{
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t pc = code_address();
		uint32_t row = rows_decode(pc);

		if (row_is_plain(row) && row_type(row) == ROW_SP && row_cfa(row) >= size)
			return pc;
	}
	return 0;
}

/* A stack of two pages. Of the first something is known; then the thread is just above it, so that
 * its red zone reaches into what is known. */
static void test_above_the_known(void **state)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct unwind_regs below, above;
	uint64_t pc = code_with_frame(4096);
	uint8_t *memory;

	(void)state;
	if (!pc) {
		print_message("SKIPPED: no function has a frame of a page\n");
		skip();
	}
	memory = mmap(NULL, 2 * page + GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory, 2 * page, PROT_READ | PROT_WRITE), 0);
	use_host(&unbounded_host);
	below = (struct unwind_regs){.pc = (uintptr_t)memory, .sp = (uintptr_t)memory + 64};
	above = (struct unwind_regs){.pc = pc, .sp = (uintptr_t)memory + page + 64};
	if (page == 4096) {
		survive(&below);
		survive(&above);
	}
	munmap(memory, 2 * page + GUARD);
	use_host(&hostile_host);
}

/* Stacks at both ends of all addresses. */
static void test_ends(void **state)
{
	static const uint64_t ends[] = {4096,	      8184,	     1 << 20,
					-(uint64_t)8, -(uint64_t)16, -(uint64_t)4096};
	unsigned count = sizeof(ends) / sizeof(*ends);

	(void)state;
	use_host(&unbounded_host);
	for (unsigned i = 0; i < 20000 / SHARE; i++) {
		struct unwind_regs regs = {
			.pc = code_address(), .sp = ends[i % count], .fp = ends[i / count % count]};

		survive(&regs);
	}
	use_host(&hostile_host);
}

/* A word that is too small for an address is none, though a place of the cache that is empty looks
 * like its own. */
static void test_small_words(void **state)
{
	struct unwind_thread *thread = new_unwind_thread();

	(void)state;
	for (uint64_t pc = 0; pc < 2048; pc++)
		assert_true(row_is(rows_get(thread, pc), ROW_BAD));
}

/* Headers cut off at every length, and pointers out of the module. */
static void test_cut_tables(void **state)
{
	struct unwind_module was = mapped.module;

	(void)state;
	for (uint64_t size = 0; was.eh_frame_hdr && size < 64; size++) {
		mapped.module.eh_frame_hdr_size = size;
		rows_decode(code_address());
	}
	mapped.module = was;
	for (unsigned i = 0; i < 2000; i++) {
		mapped.module.eh_frame_hdr =
			roll() % 2 ? was.load_end - roll() % 64 : garbage_word();
		rows_decode(code_address());
		mapped.module = was;
		mapped.module.exidx = roll() % 2 ? was.load_end - roll() % 64 : garbage_word();
		mapped.module.exidx_size = roll() % 4096;
		rows_decode(code_address());
		mapped.module = was;
		mapped.module.load_end = was.load_start + roll() % mapped.size;
		rows_decode(code_address());
		mapped.module = was;
	}
}

/* A frame record that lies beyond the stack, in a page that is unmapped after the first walk has
 * looked at it: those that follow look no more. */
static void test_unmapped_beside(void **state)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct unwind_delta delta;
	struct unwind_regs regs = {.pc = (uintptr_t)stack_memory};
	uint8_t *memory;

	(void)state;
	if (!ARCH_RECORD) {
		print_message("SKIPPED: there are no frame records on this processor\n");
		skip();
	}
	use_host(&unbounded_host);
	memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	memset(memory, 0xff, 2 * page); /* leads nowhere */
	regs.sp = (uintptr_t)memory + page - 64;
	regs.fp = (uintptr_t)memory + page + 64;
	for (unsigned i = 0; i < 3; i++) {
		unwind_capture(incremental, &regs, 100, &delta);
		assert_int_equal(delta.depth, 1);
		assert_true(delta.flags & UNWIND_TRUNCATED);
		unwind_capture_full(full, &regs, 100, &delta);
		assert_int_equal(delta.depth, 1);
		assert_true(delta.flags & UNWIND_TRUNCATED);
		if (!i)
			munmap(memory + page, page);
	}
	munmap(memory, page);
	use_host(&hostile_host);
}

static int setup(void **state)
{
	(void)state;
	assert_true(map_library(&mapped, "libc.so"));
	stack_memory =
		mmap(NULL, STACK_SIZE + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(stack_memory, MAP_FAILED);
	stack_memory += GUARD;
	assert_int_equal(mprotect(stack_memory, STACK_SIZE, PROT_READ | PROT_WRITE), 0);
	use_host(&hostile_host);
	incremental = new_unwind_thread();
	full = new_unwind_thread();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_garbage_stacks),	cmocka_unit_test(test_damaged_tables),
		cmocka_unit_test(test_damaged_code),	cmocka_unit_test(test_cut_tables),
		cmocka_unit_test(test_unbounded),	cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_above_the_known), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_small_words),	cmocka_unit_test(test_unmapped_beside),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
