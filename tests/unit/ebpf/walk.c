/*
 * The walk in the kernel, and the agent's walk of another process, against the engine in this one: at each hit of a probe on
 * `marker` all three walk the same stack, and must come to the same program counters. What the kernel leaves to the agent (a
 * miss) is given to it as the recorder does, so that the rows get into the kernel's map; how often is counted.
 *
 * Stacks: random recursion through functions of many shapes, callbacks of libc, signals, threads, libraries that gcc, clang and
 * rustc made, loaded and unloaded on the way, code made at run time, more frames than the kernel takes.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "agent/ebpf/remote.h"
#include "bpf/walk_shared.h"
#include "tests/unit/ebpf/kernel/walk_sample.h"
#include "tests/unit/unwind/host.h"

#include "bpf/walk_test.skel.h"

#define SPACES 4
#define LINES  (8u << WALK_BITS_MIN)

static struct walk_test *kernel;
static struct walk_sample *samples;
static struct remotes *remotes;
static struct remote *remote;
static pthread_mutex_t agent_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *no_kernel; /* why not */

static struct totals {
	unsigned hits, compared, missed[WALK_MISSES], kept, frames, deepest, truncated;
} totals;

struct recorder { /* a thread's */
	uint32_t slot;
	struct unwind_thread *here;
	struct consumer got;
	uint64_t pcs[UNWIND_MAX_DEPTH];
	struct totals totals;
	unsigned random;
};

static _Thread_local struct recorder *me;

/* The probe is here. Its argument is the slot's number. */
static NOINLINE __attribute__((used, noclone)) void marker(uint64_t slot)
{
	__asm__ volatile("" : : "r"(slot) : "memory");
}

static void compare(const char *who, const uint64_t *pcs, uint32_t count,
		    const struct unwind_delta *home)
{
	if (count == home->depth && !memcmp(pcs, home->pcs, count * sizeof(*pcs)))
		return;
	fprintf(stderr, "%s:\n", who);
	for (uint32_t i = 0; i < count || i < home->depth; i++)
		fprintf(stderr, "  %3u %#18llx %#18llx\n", i,
			(unsigned long long)(i < count ? pcs[i] : 0),
			(unsigned long long)(i < home->depth ? home->pcs[i] : 0));
	fail_msg("%s walks otherwise", who);
}

/* What the agent is given of a miss. */
static uint32_t unwind_there(const struct walk_sample *sample, uint64_t *ret_pcs,
			     uint32_t *ret_flags)
{
	struct remote_stack stack = {
		.regs = {.pc = sample->pc, .sp = sample->sp, .fp = sample->fp, .has_saved = true},
		.address = sample->sp & ~4095ull,
		.copy = sample->copy,
		.size = sample->copy_size,
		.miss = sample->miss,
	};
	uint32_t count;

	memcpy(stack.regs.saved, sample->saved, sizeof(sample->saved));
	pthread_mutex_lock(&agent_lock);
	remote_unwind(remote, &stack, ret_pcs, &count, ret_flags);
	pthread_mutex_unlock(&agent_lock);
	return count;
}

/* What the recorder has of the thread's stack, by the kernel's word. Frames of it are outermost first. */
static void take(struct recorder *r, const struct walk_sample *sample)
{
	assert_true(sample->keep <= r->got.depth);
	assert_true(sample->keep + sample->count <= UNWIND_MAX_DEPTH);
	for (uint32_t i = 0; i < sample->count; i++)
		r->got.pcs[sample->keep + i] = sample->pcs[sample->count - 1 - i];
	r->got.depth = sample->keep + sample->count;
	for (uint32_t i = 0; i < r->got.depth; i++)
		r->pcs[i] = r->got.pcs[r->got.depth - 1 - i];
	r->totals.kept += sample->keep;
}

/* Marks its caller's state. Above here all three see the same frames. */
static NOINLINE void hook(void)
{
	struct recorder *r = me;
	const struct walk_sample *sample = &samples[r->slot];
	struct unwind_regs regs = {0};
	struct unwind_delta home;
	uint64_t hits = sample->hits, pcs[UNWIND_MAX_DEPTH];
	uint32_t count, flags;

	marker(r->slot);
	assert_int_equal(sample->hits, hits + 1);
	regs.pc = sample->pc;
	regs.sp = sample->sp;
	regs.fp = sample->fp;
	regs.has_saved = true;
	memcpy(regs.saved, sample->saved, sizeof(regs.saved));
	unwind_capture_full(r->here, &regs, UNWIND_MAX_DEPTH, &home);
	r->totals.hits++;
	r->totals.frames += home.depth;
	r->totals.truncated += home.flags & UNWIND_TRUNCATED;
	if (home.depth > r->totals.deepest)
		r->totals.deepest = home.depth;
	r->totals.missed[sample->miss]++;
	count = unwind_there(sample, pcs, &flags);
	assert_int_equal(flags, home.flags);
	compare("the agent", pcs, count, &home);
	if (sample->miss != WALK_DONE) {
		r->got.depth = 0;
		return;
	}
	take(r, sample);
	assert_int_equal(home.flags, 0);
	compare("the kernel", r->pcs, r->got.depth, &home);
	r->totals.compared++;
}

static NOINLINE void recorder_begin(struct recorder *r, uint32_t slot)
{
	*r = (struct recorder){.slot = slot, .here = new_unwind_thread(), .random = 12345 + slot};
	me = r;
	host_know_stack();
}

static void recorder_end(struct recorder *r)
{
	totals.hits += r->totals.hits;
	totals.compared += r->totals.compared;
	totals.kept += r->totals.kept;
	totals.frames += r->totals.frames;
	totals.truncated += r->totals.truncated;
	for (unsigned i = 0; i < WALK_MISSES; i++)
		totals.missed[i] += r->totals.missed[i];
	if (r->totals.deepest > totals.deepest)
		totals.deepest = r->totals.deepest;
	munmap(r->here, UNWIND_THREAD_SIZE);
	host_stack_count = 0;
}

static void tell(const char *what)
{
	struct remotes_counters c;

	remotes_counters(remotes, &c);
	printf("%s: %u hits, %u compared with the kernel, %u whole frames, %u kept, deepest %u; "
	       "missed: %u no space, %u closed, "
	       "%u no row, %u other row, %u deep, %u stack; %llu looks, %llu rows decoded, %llu "
	       "inserted\n",
	       what, totals.hits, totals.compared, totals.frames, totals.kept, totals.deepest,
	       totals.missed[WALK_NO_SPACE], totals.missed[WALK_CLOSED], totals.missed[WALK_NO_ROW],
	       totals.missed[WALK_ROW], totals.missed[WALK_DEEP], totals.missed[WALK_STACK],
	       (unsigned long long)c.looks, (unsigned long long)c.decoded,
	       (unsigned long long)c.inserted);
	totals = (struct totals){0};
}

/* ---- functions of many shapes ---- */

#pragma GCC diagnostic ignored "-Walloca" /* it is one of the shapes */

static unsigned chance(unsigned n)
{
	me->random = me->random * 1103515245 + 12345;
	return (me->random >> 16) % n;
}

static void descend(int depth);
static volatile int sink;

static NOINLINE void shape_small(int depth)
{
	descend(depth);
	sink++;
}

static NOINLINE void shape_large(int depth)
{
	volatile char block[6000];

	block[depth] = 1;
	descend(depth);
	sink += block[depth];
}

static NOINLINE int shape_full(int depth, long a, long b, long c, long d, long e, long f, long g)
{
	descend(depth);
	return (int)(a + b * c - d / (e | 1) + f * g);
}

static NOINLINE void shape_alloca(int depth)
{
	unsigned size = 16 + chance(300);
	char *block = alloca(size);

	memset(block, depth, size);
	descend(depth);
	sink += block[size - 1];
}

static NOINLINE void shape_aligned(int depth)
{
	char block[64] __attribute__((aligned(64)));
	char *more = alloca(16 + chance(100));

	memset(block, depth, sizeof(block));
	more[0] = 1;
	descend(depth);
	sink += block[5] + more[0];
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void shape_fp(int depth)
{
	descend(depth);
	sink++;
}

static _Thread_local int depth_there;

static int by_value(const void *a, const void *b)
{
	if (depth_there) {
		int depth = depth_there;

		depth_there = 0;
		descend(depth);
	}
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void shape_sort(int depth)
{
	int numbers[] = {3, 1, 2};

	depth_there = depth;
	qsort(numbers, 3, sizeof(numbers[0]), by_value);
	sink += numbers[0];
}

static NOINLINE void shape_search(int depth)
{
	static const int numbers[] = {1, 2, 3};
	int wanted = 3;

	depth_there = depth;
	sink += bsearch(&wanted, numbers, 3, sizeof(numbers[0]), by_value) != NULL;
}

static void on_signal(int number)
{
	int depth = depth_there;

	(void)number;
	depth_there = 0;
	descend(depth);
}

static NOINLINE void shape_signal(int depth)
{
	depth_there = depth;
	raise(SIGUSR1);
	sink++;
}

static NOINLINE void shape_jump(int depth)
{
	jmp_buf target;

	if (setjmp(target))
		return;
	descend(depth);
	longjmp(target, 1);
}

static NOINLINE void descend(int depth)
{
	if (depth <= 0 || !chance(7))
		hook();
	if (depth <= 0)
		return;
	depth--;
	switch (chance(40)) {
	case 0:
		shape_signal(depth);
		break;
	case 1:
		shape_sort(depth);
		break;
	case 2:
		shape_search(depth);
		break;
	case 3:
		shape_jump(depth);
		break;
	case 4:
		shape_large(depth);
		break;
	case 5 ... 9:
		shape_alloca(depth);
		break;
	case 10 ... 12:
		shape_aligned(depth);
		break;
	case 13 ... 17:
		shape_fp(depth);
		break;
	case 18 ... 25:
		sink += shape_full(depth, 1, 2, 3, 4, 5, 6, 7);
		break;
	default:
		shape_small(depth);
	}
}

static void run(uint32_t slot, unsigned rounds, unsigned depth)
{
	struct recorder r;

	recorder_begin(&r, slot);
	for (unsigned i = 0; i < rounds; i++)
		descend((int)chance(depth));
	recorder_end(&r);
}

/* ---- setting up ---- */

static bool attach(struct bpf_program *program, const char *path, size_t offset)
{
	struct bpf_link *link = bpf_program__attach_uprobe(program, false, getpid(), path, offset);

	if (!libbpf_get_error(link))
		return true;
	no_kernel = "probes cannot be attached here";
	return false;
}

static size_t offset_in_file(const void *function)
{
	Dl_info info;

	assert_true(dladdr(function, &info));
	return (size_t)((uintptr_t)function - (uintptr_t)info.dli_fbase);
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN && getenv("VERBOSE") ? vfprintf(stderr, format, args) : 0;
}

static void load(void)
{
	Dl_info libc;

	libbpf_set_print(quiet);
	if (geteuid()) {
		no_kernel = "only root may load programs into the kernel";
		return;
	}
	kernel = walk_test__open();
	assert_non_null(kernel);
	bpf_map__set_max_entries(kernel->maps.walk_rows, LINES);
	bpf_map__set_max_entries(kernel->maps.walk_spaces, SPACES);
	bpf_map__set_max_entries(kernel->maps.walk_slots, SAMPLES);
	kernel->bss->process = (uint32_t)getpid();
	if (walk_test__load(kernel)) {
		no_kernel = errno == EPERM
				    ? "this machine lets nobody load programs into its kernel"
				    : "the kernel does not take the program (VERBOSE=1 says why)";
		return;
	}
	samples = mmap(NULL, SAMPLES * sizeof(*samples) / 4096 * 4096 + 4096, PROT_READ, MAP_SHARED,
		       bpf_map__fd(kernel->maps.samples), 0);
	assert_ptr_not_equal(samples, MAP_FAILED);
	assert_true(dladdr((void *)munmap, &libc));
	if (attach(kernel->progs.at_marker, "/proc/self/exe", offset_in_file((void *)marker)))
		attach(kernel->progs.at_munmap, libc.dli_fname, offset_in_file((void *)munmap));
}

static int set_up(void **state)
{
	const struct remotes_options options = {
		.rows_fd = bpf_map__fd(kernel->maps.walk_rows),
		.spaces_fd = bpf_map__fd(kernel->maps.walk_spaces),
		.lines = LINES,
		.spaces = SPACES,
	};
	struct err_text error = {0};

	(void)state;
	if (unwind_init(&test_host) || remotes_new(&options, &remotes, &error) ||
	    remote_new(remotes, getpid(), &remote, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return -1;
	}
	kernel->data->space = remote_space(remote);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	kernel->data->space = WALK_SPACE_NONE;
	remote_free(remote);
	remotes_free(remotes);
	return 0;
}

/* ---- tests ---- */

static void test_random(void **state)
{
	(void)state;
	signal(SIGUSR1, on_signal);
	run(0, 3000, 60);
	assert_true(totals.compared > 5000);
	assert_true(totals.missed[WALK_NO_ROW] < totals.hits / 10);
	assert_int_equal(totals.truncated, 0);
	tell("random");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
	};

	load();
	if (no_kernel) {
		printf("SKIPPED: %s\n", no_kernel);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
