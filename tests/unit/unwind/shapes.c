/*
 * What real compilers and linkers make: libraries with the same callbacks, by gcc, clang and rustc,
 * with code in segments of its own or not; stacks switched by boost's assembly; the kernel's vdso,
 * glibc's assembly, at every instruction.
 */
#include "tests/unit/unwind/outer.h"

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
static void call_library(const char *name)
{
	char path[4096], *slash;
	void (*run)(void (*)(void));
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	void *handle;

	assert_true(length > 0);
	path[length] = 0;
	slash = strrchr(path, '/');
	snprintf(slash, 64, "/unwind-shapes/%s.so", name);
	handle = dlopen(path, RTLD_NOW);
	if (!handle) {
		printf("SKIPPED: %s was not built here\n", name);
		skip();
	}
	*(void **)&run = dlsym(handle, "shapes_run");
	assert_non_null(run);
	host_module_count = 0; /* look again */
	unwind_modules_changed();
	remember_outer();
	run(hook);
	printf("%s: %u captures\n", name, captures);
	assert_whole(40);
	host_module_count = 0;
	dlclose(handle);
	unwind_modules_changed();
}

static void test_gcc(void **state)
{
	(void)state;
	call_library("gcc");
	call_library("separate");
	call_library("together");
}

static void test_clang(void **state)
{
	(void)state;
	call_library("clang");
}

static void test_rustc(void **state)
{
	(void)state;
	call_library("rustc");
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void step_vdso(void)
{
	struct timespec time;

	set_trap(true);
	clock_gettime(CLOCK_MONOTONIC, &time);
	clock_gettime(CLOCK_REALTIME_COARSE, &time);
	set_trap(false);
}

static void test_vdso(void **state)
{
	(void)state;
	remember_outer();
	with_traps(step_vdso); /* binds */
	with_traps(step_vdso);
	printf("vdso: %u instructions\n", captures);
	assert_whole(40);
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void step_strings(void)
{
	static char from[4096], to[4096];
	volatile size_t size = 1000;

	set_trap(true);
	memset(from, 'a', size);
	memcpy(to, from, size);
	memmove(to + 1, to, size);
	size = strlen(from) + (size_t)memcmp(from, to, size) + (strchr(from, 'b') != NULL);
	set_trap(false);
}

/* Hand-written, with hand-written tables. */
static void test_glibc_assembly(void **state)
{
	(void)state;
	remember_outer();
	with_traps(step_strings); /* binds */
	with_traps(step_strings);
	printf("glibc's assembly: %u instructions\n", captures);
	assert_whole(60);
}

#ifdef HAVE_BOOST_CONTEXT
struct transfer {
	void *context;
	void *data;
};
struct transfer jump_fcontext(void *to, void *data);
void *make_fcontext(void *stack_top, size_t size, void (*function)(struct transfer));

static unsigned inside, cut_inside;

static NOINLINE void hook_inside(void)
{
	bool cut;

	capture(&cut);
	inside++;
	cut_inside += cut;
}

static void coroutine(struct transfer from)
{
	for (;;) {
		hook_inside();
		from = jump_fcontext(from.context, NULL);
	}
}

/* A stack of its own, entered by assembly: it ends where it was made, and that of the caller is as
 * before. */
static void test_boost(void **state)
{
	size_t size = 65536;
	uint8_t *stack = host_pages(NULL, size);
	struct transfer there;

	(void)state;
	remember_outer();
	there.context = make_fcontext(stack + size, size, coroutine);
	for (int i = 0; i < 20; i++) {
		there = jump_fcontext(there.context, NULL);
		hook();
	}
	printf("boost.context: %u captures inside, %u truncated\n", inside, cut_inside);
	assert_int_equal(inside, 20);
	assert_int_equal(cut_inside, 0);
	assert_whole(20);
	munmap(stack, size);
}
#else
static void test_boost(void **state)
{
	(void)state;
	puts("SKIPPED: boost.context is not installed");
	skip();
}
#endif

static int setup(void **state)
{
	(void)state;
	outer_setup(&test_host);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gcc),
		cmocka_unit_test(test_clang),
		cmocka_unit_test(test_rustc),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_glibc_assembly),
		cmocka_unit_test(test_boost),
	};

	if (*skip_reason) {
		puts(skip_reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, setup, NULL);
}
#else
int main(void)
{
	puts("SKIPPED: steps by the trap flag of x86");
	return 77;
}
#endif
