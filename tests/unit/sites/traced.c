/*
 * A debugger steps through the beginnings of real allocators, from a function's entry with known
 * arguments to the place of its probe: there the arguments must be in the registers that its site
 * says, what the caller keeps in registers there or in the words that it says, and the return
 * address as many words above sp. And through whole calls of functions that may throw: they must
 * end at an exit.
 */
#include <stdio.h>

#ifndef __x86_64__
int main(void)
{
	puts("SKIPPED: it knows the registers of x86-64 only");
	return 77;
}
#else

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "agent/allocator_functions.h"
#include "tests/unit/sites/files.h"

#define FP_MARK	   0x5a5a5a5a5a50u
#define KEPT_MARK  0x6b6b6b6b6b60u
#define BLOCK_SIZE 1000u
#define STEPS_MAX  64

#ifdef SKIP_REASON
static const char *skip_reason = SKIP_REASON;
#else
static const char *skip_reason;
#endif

/* What the traced process tells of itself. */
struct told {
	uint64_t block, heap, place;
};

struct target {
	pid_t pid;
	struct told told;
	uint64_t base; /* of the library's code: address less offset in the file */
	struct user_regs_struct regs;
};

/* The traced process: this program again, with the library loaded first. */
static int be_traced(void)
{
	void *(*heap)(void) =
		(void *(*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "mi_heap_get_default");
	static uint64_t place[4];
	struct told told = {(uint64_t)(uintptr_t)malloc(BLOCK_SIZE),
			    heap ? (uint64_t)(uintptr_t)heap() : 0, (uint64_t)(uintptr_t)place};

	if (write(3, &told, sizeof(told)) != sizeof(told) || ptrace(PTRACE_TRACEME, 0, 0, 0))
		return 1;
	raise(SIGSTOP);
	return 0;
}

static uint64_t base_of(pid_t pid, const char *library)
{
	char path[64], line[512], name[256], real[4096];
	uint64_t base = 0;
	FILE *maps;

	assert_non_null(realpath(library, real));
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long low, high, offset;
		char x;

		if (sscanf(line, "%lx-%lx %*c%*c%c%*c %lx %*s %*s %255s", &low, &high, &x, &offset,
			   name) == 5 &&
		    x == 'x' && !strcmp(name, real))
			base = low - offset;
	}
	fclose(maps);
	return base;
}

static bool start(const char *library, struct target *t)
{
	int ends[2], status;
	char preload[512];

	assert_int_equal(pipe(ends), 0);
	t->pid = fork();
	if (!t->pid) {
		char *const argv[] = {(char *)(uintptr_t) "traced", (char *)(uintptr_t) "be", NULL};

		dup2(ends[1], 3);
		snprintf(preload, sizeof(preload), "%s", library);
		setenv("LD_PRELOAD", preload, 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(ends[1]);
	if (read(ends[0], &t->told, sizeof(t->told)) != sizeof(t->told)) {
		close(ends[0]);
		waitpid(t->pid, &status, 0);
		return false;
	}
	close(ends[0]);
	if (waitpid(t->pid, &status, 0) != t->pid || !WIFSTOPPED(status))
		return false;
	t->base = base_of(t->pid, library);
	assert_int_equal(ptrace(PTRACE_GETREGS, t->pid, 0, &t->regs), 0);
	return true;
}

/* In the order in which arguments are passed, and in that of DWARF. */
static unsigned long long *passed(struct user_regs_struct *r, unsigned i)
{
	unsigned long long *const all[] = {&r->rdi, &r->rsi, &r->rdx, &r->rcx, &r->r8, &r->r9};

	return all[i];
}

/* What is the caller's, but for fp; by DWARF number. */
static const unsigned kept_number[] = {3, 12, 13, 14, 15};

#define KEPT (sizeof(kept_number) / sizeof(kept_number[0]))

static unsigned long long *kept(struct user_regs_struct *r, unsigned i)
{
	unsigned long long *const all[] = {&r->rbx, &r->r12, &r->r13, &r->r14, &r->r15};

	return all[i];
}

static uint64_t dwarf(struct user_regs_struct *r, unsigned i)
{
	const unsigned long long all[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
					  r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
					  r->r12, r->r13, r->r14, r->r15};

	return i < 16 ? all[i] : 0;
}

/* Arguments a, b and c of a call that the function can make sense of. */
static void arguments_of(const struct target *t, uint32_t shape, uint64_t v[3])
{
	const uint64_t block = t->told.block;
	const uint64_t of_shape[][3] = {
		[SHAPE_SIZE_A] = {200, 16, 0},	       [SHAPE_SIZE_B] = {64, 200, 0},
		[SHAPE_COUNT_AB] = {3, 40, 0},	       [SHAPE_POSIX] = {t->told.place, 64, 200},
		[SHAPE_MOVE_AB] = {block, 300, 0},     [SHAPE_MOVE_ABC] = {block, 3, 100},
		[SHAPE_MOVE_OR_END] = {block, 300, 0}, [SHAPE_RESIZE] = {block, 300, 0},
		[SHAPE_END] = {block, BLOCK_SIZE, 0},
	};

	memcpy(v, of_shape[shape], sizeof(of_shape[shape]));
}

static void step(const struct target *t, struct user_regs_struct *regs, uint64_t place)
{
	int status;

	for (unsigned i = 0; regs->rip != place && i < STEPS_MAX; i++) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, t->pid, 0, 0), 0);
		assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
		assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		assert_int_equal(ptrace(PTRACE_GETREGS, t->pid, 0, regs), 0);
	}
}

static void check_register(const struct site *site, struct user_regs_struct *regs, unsigned number,
			   uint64_t value)
{
	if (number != SITE_NO_REGISTER && dwarf(regs, number) != value)
		fail_msg("%s: register %u holds %#lx, not %#lx", site->name, number,
			 dwarf(regs, number), value);
}

#define NOWHERE	   0x1000u /* where calls return to */
#define CALL_STEPS 300000

/* Sets up a call of the function: where the return address lies. */
static uint64_t call(const struct target *t, const struct site *site, const uint64_t v[3],
		     struct user_regs_struct *regs)
{
	bool heap = strstr(site->name, "mi_heap_") == site->name;

	*regs = t->regs;
	regs->rip = t->base + site->function;
	regs->orig_rax = (unsigned long long)-1;
	regs->rsp = ((regs->rsp - 4096) & ~15ull) - 8;
	regs->rbp = FP_MARK;
	for (unsigned i = 0; i < KEPT; i++)
		*kept(regs, i) = KEPT_MARK + i;
	regs->rdi = t->told.heap;
	for (unsigned i = 0; i < 3; i++)
		*passed(regs, i + heap) = v[i];
	assert_int_equal(ptrace(PTRACE_SETREGS, t->pid, 0, regs), 0);
	assert_int_equal(ptrace(PTRACE_POKEDATA, t->pid, (void *)(uintptr_t)regs->rsp,
				(void *)(uintptr_t)NOWHERE),
			 0);
	return regs->rsp;
}

static bool is_exit(const struct sites *sites, const struct site *entry, uint64_t offset)
{
	for (size_t i = 0; i < sites->count; i++)
		if (sites->site[i].kind == SITE_EXIT && sites->site[i].offset == offset &&
		    sites->site[i].function == entry->function)
			return true;
	return false;
}

/* Steps through a whole call: the last instruction in it must be one of the exits. */
static void check_exit(const struct target *t, const struct sites *sites, const struct site *entry,
		       unsigned factor)
{
	struct user_regs_struct regs, before;
	uint64_t v[3], sp;
	int status;

	arguments_of(t, site_shape(entry->word), v);
	v[site_shape(entry->word) == SHAPE_MOVE_ABC] *= factor;
	sp = call(t, entry, v, &regs);
	before = regs;
	for (unsigned i = 0; regs.rip != NOWHERE && i < CALL_STEPS; i++) {
		before = regs;
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, t->pid, 0, 0), 0);
		assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
		assert_true(WIFSTOPPED(status));
		assert_int_equal(ptrace(PTRACE_GETREGS, t->pid, 0, &regs), 0);
	}
	assert_int_equal(regs.rip, NOWHERE);
	assert_int_equal(before.rsp, sp);
	assert_true(regs.rax != 0);
	if (!is_exit(sites, entry, before.rip - t->base))
		fail_msg("%s: it ends at %#lx, which is no exit", entry->name,
			 (unsigned long)(before.rip - t->base));
}

/* Small, large and huge; but the block can be given away only once. How many calls. */
static unsigned check_exits(const struct target *t, const struct sites *sites,
			    const struct site *entry)
{
	bool gives_away = site_shape(entry->word) >= SHAPE_MOVE_AB;
	unsigned calls = 0;

	for (unsigned factor = 1; factor <= 10000 && !(gives_away && calls); factor *= 100, calls++)
		check_exit(t, sites, entry, factor);
	return calls;
}

/* A free's b and c are where the caller's registers are. */
static void take_pushed(const struct target *t, const struct site *site,
			struct user_regs_struct *regs, unsigned number, uint64_t slot)
{
	uint64_t value = (uint64_t)ptrace(PTRACE_PEEKDATA, t->pid, (void *)(uintptr_t)slot, 0);

	if (site_shape(site->word) != SHAPE_END || number == SITE_NO_REGISTER)
		return;
	if (number == 6)
		regs->rbp = value;
	for (unsigned i = 0; i < KEPT; i++)
		if (kept_number[i] == number)
			*kept(regs, i) = value;
}

static void check_kept(const struct target *t, const struct site *site,
		       struct user_regs_struct *regs, uint64_t frame)
{
	take_pushed(t, site, regs, site_b(site->word), frame - SITE_WORD_BYTES);
	take_pushed(t, site, regs, site_c(site->word), frame - 2 * SITE_WORD_BYTES);
	assert_int_equal(regs->rbp, FP_MARK);
	for (unsigned i = 0; i < KEPT; i++)
		check_register(site, regs, kept_number[i], KEPT_MARK + i);
}

/* 1: it came by. */
static unsigned check(const struct target *t, const struct site *site)
{
	struct user_regs_struct regs;
	uint64_t place = t->base + site->offset, v[3], sp;

	arguments_of(t, site_shape(site->word), v);
	sp = call(t, site, v, &regs);
	step(t, &regs, place);
	if (regs.rip != place) {
		print_message("%s: the place was not come by\n", site->name);
		return 0;
	}
	assert_int_equal(site_frame(site->word, regs.rsp), sp);
	check_register(site, &regs, site_a(site->word), v[0]);
	if (site_shape(site->word) != SHAPE_END) {
		check_register(site, &regs, site_b(site->word), v[1]);
		check_register(site, &regs, site_c(site->word), v[2]);
	}
	check_kept(t, site, &regs, sp);
	return 1;
}

static void check_library(const char *library)
{
	unsigned entries = 0, met = 0, ends = 0;
	struct target t = {0};
	struct sites sites;

	if (access(library, R_OK) || strstr(library, "musl") || find_sites(library, &sites))
		return;
	assert_true(start(library, &t));
	assert_true(t.base && t.told.block);
	for (size_t i = 0; i < sites.count; i++) {
		if (sites.site[i].kind != SITE_ENTRY)
			continue;
		entries++;
		met += check(&t, &sites.site[i]);
	}
	for (size_t i = 0; i < sites.count; i++)
		if (site_flags(sites.site[i].word) & SITE_HAS_EXITS)
			ends += check_exits(&t, &sites, &sites.site[i]);
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
	print_message("%s: %u of %u places come by, all as told; %u calls ended at an exit\n",
		      library, met, entries, ends);
	assert_true(met * 10 >= entries * 9);
	sites_done(&sites);
}

static void registers_are_as_told(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIBRARY_FILES; i++)
		check_library(library_files[i]);
}

static bool may_trace(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, 0, 0) ? 1 : 0);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(registers_are_as_told)};

	if (argc == 2 && !strcmp(argv[1], "be"))
		return be_traced();
	if (!skip_reason && !may_trace())
		skip_reason = "processes can't be traced here";
	if (skip_reason) {
		printf("SKIPPED: %s\n", skip_reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
