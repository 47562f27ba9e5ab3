/*
 * What the walk in the kernel costs. A probe whose program walks the stack is compared with one
 * whose program does nothing, in alternating runs of the same process. Patterns: the same stack
 * each time; the three innermost frames picked at random out of 8 each. Also measures how long the
 * agent takes for a stack when its rows are known. Prints medians in ns, and of both probes the
 * least: on a machine with other work that is the better figure.
 *
 *   sudo build/tests/bench.walk [ROUNDS]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "agent/ebpf/remote.h"
#include "bpf/walk_shared.h"
#include "tests/bench/walk_kernel/sample.h"

#include "bpf/walk_bench.skel.h"

#define NOINLINE   __attribute__((noinline, noclone, used))
#define HITS	   250 /* so few that a run is seldom interrupted, on a machine with other work, too */
#define ROUNDS_MAX 1000

/* Each begins with a push, as allocators do: the kernel does not have to step over it. */
#define MARKER(name)                                                                               \
	void name(void);                                                                           \
	__asm__(".text\n.type " #name ", @function\n.globl " #name "\n" #name                      \
		":\n.cfi_startproc\npush %rbx\n.cfi_adjust_cfa_offset 8\npop %rbx\n"               \
		".cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size " #name ", . - " #name "\n")
MARKER(mark_bare);
MARKER(mark_walk);
MARKER(mark_learn);

static void (*volatile mark)(void);
static unsigned hits, random_state = 1;
static int pattern;
static volatile int sink;

static unsigned pick(void)
{
	random_state = random_state * 1103515245 + 12345;
	return pattern ? random_state >> 16 & 7 : 0;
}

#define VARIANT(level, n, next)                                                                    \
	static NOINLINE void level##n(void)                                                        \
	{                                                                                          \
		volatile char pad[16 + 24 * n];                                                    \
                                                                                                   \
		pad[0] = 1;                                                                        \
		next;                                                                              \
		sink += pad[0];                                                                    \
	}
#define VARIANTS(level, next)                                                                      \
	VARIANT(level, 0, next)                                                                    \
	VARIANT(level, 1, next)                                                                    \
	VARIANT(level, 2, next)                                                                    \
	VARIANT(level, 3, next)                                                                    \
	VARIANT(level, 4, next)                                                                    \
	VARIANT(level, 5, next)                                                                    \
	VARIANT(level, 6, next)                                                                    \
	VARIANT(level, 7, next)                                                                    \
	static void (*const level[])(void) = {level##0, level##1, level##2, level##3,              \
					      level##4, level##5, level##6, level##7};

VARIANTS(inner, mark())
VARIANTS(middle, inner[pick()]())
VARIANTS(outer, middle[pick()]())

static NOINLINE void go_down(unsigned depth, volatile int *above)
{
	volatile int here[8] = {1};

	if (depth) {
		go_down(depth - 1, here);
		*above += here[0];
		return;
	}
	for (unsigned i = 0; i < hits; i++)
		outer[pick()]();
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double run(void (*marker)(void), unsigned depth)
{
	double begin;

	mark = marker;
	begin = now_ns();
	go_down(depth, &sink);
	return (now_ns() - begin) / hits;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static void attach(struct bpf_program *program, void (*function)(void))
{
	Dl_info info;

	if (!dladdr((void *)function, &info) ||
	    libbpf_get_error(bpf_program__attach_uprobe(
		    program, false, getpid(), "/proc/self/exe",
		    (size_t)((uintptr_t)function - (uintptr_t)info.dli_fbase)))) {
		fprintf(stderr, "bench.walk: cannot attach a probe\n");
		exit(1);
	}
}

static struct walk_bench *kernel;
static struct remote *remote;
static uint64_t pcs[UNWIND_MAX_DEPTH];

static struct remote_stack last_stack(void)
{
	const struct bench_sample *sample = &kernel->bss->sample;

	return (struct remote_stack){
		.regs = {.pc = sample->pc, .sp = sample->sp, .fp = sample->fp, .has_saved = true},
		.address = sample->sp & ~4095ull,
		.copy = sample->copy,
		.size = sample->copy_size,
		.miss = sample->miss,
	};
}

static double agent_ns(void)
{
	struct remote_stack stack = last_stack();
	uint32_t count, flags;
	double begin = now_ns();

	for (unsigned i = 0; i < 100; i++)
		remote_unwind(remote, &stack, pcs, &count, &flags);
	return (now_ns() - begin) / 100;
}

/* What the next run is for: learning until nothing has been missed for a while, then both probes in
 * turn. */
enum phase { LEARN, BARE, WALK };

static enum phase next_phase(enum phase phase, unsigned *calm)
{
	struct remote_stack stack;
	uint32_t count, flags;

	if (phase != LEARN)
		return phase == BARE ? WALK : BARE;
	stack = last_stack();
	++*calm;
	if (stack.miss) {
		*calm = 0;
		remote_unwind(remote, &stack, pcs, &count, &flags);
	}
	return *calm < 400 ? LEARN : BARE;
}

/* All runs are made from one place: each return address above them has to be learnt, too. */
static void measure(unsigned depth, unsigned rounds)
{
	static void (*const markers[])(void) = {mark_learn, mark_bare, mark_walk};
	static double took[3][ROUNDS_MAX], agent[ROUNDS_MAX];
	struct bench_sample *sample = &kernel->bss->sample;
	double *bare = took[BARE], *walk = took[WALK];
	enum phase phase = LEARN;
	unsigned calm = 0;

	for (unsigned i = 0; i < rounds;) {
		enum phase next;

		hits = phase == LEARN ? 1 : HITS;
		took[phase][i] = run(markers[phase], depth);
		next = next_phase(phase, &calm);
		if (phase == LEARN)
			sample->walks = sample->missed = sample->keep = sample->count = 0;
		if (phase == WALK) {
			agent[i] = agent_ns();
			i++;
		}
		phase = next;
	}
	printf("%-6s %5.0f %6.0f %6.0f %6.0f %6.0f | ", pattern ? "three" : "same",
	       (double)(sample->keep + sample->count) / (double)sample->walks, median(bare, rounds),
	       median(walk, rounds), median(walk, rounds) - median(bare, rounds),
	       median(agent, rounds));
	printf("%6.0f %6.0f %6.0f | %4.2f new, %llu missed\n", bare[0], walk[0], walk[0] - bare[0],
	       (double)sample->count / (double)sample->walks, (unsigned long long)sample->missed);
}

int main(int argc, char **argv)
{
	static const unsigned depths[] = {0, 10, 50, 190, 490};
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 101;
	struct remotes_options options = {.lines = 4u << WALK_BITS_MIN, .spaces = 1};
	struct remotes *remotes;
	struct err_text error = {0};

	kernel = walk_bench__open();
	if (!kernel)
		return 1;
	bpf_map__set_max_entries(kernel->maps.walk_rows, options.lines);
	if (walk_bench__load(kernel)) {
		fprintf(stderr, "bench.walk: the kernel does not take the programs\n");
		return 1;
	}
	options.rows_fd = bpf_map__fd(kernel->maps.walk_rows);
	options.spaces_fd = bpf_map__fd(kernel->maps.walk_spaces);
	if (remotes_new(&options, &remotes, &error) ||
	    remote_new(remotes, getpid(), &remote, &error)) {
		fprintf(stderr, "bench.walk: %s\n", error.text);
		return 1;
	}
	kernel->data->space = remote_space(remote);
	attach(kernel->progs.at_bare, mark_bare);
	attach(kernel->progs.at_walk, mark_walk);
	attach(kernel->progs.at_learn, mark_learn);
	if (rounds < 1 || rounds > ROUNDS_MAX)
		rounds = 101;
	printf("             median                      | least\n"
	       "stack  depth   bare   walk  above  agent |   bare   walk  above\n");
	for (pattern = 0; pattern < 2; pattern++)
		for (unsigned i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
			measure(depths[i], rounds);
	remote_free(remote);
	remotes_free(remotes);
	return 0;
}
