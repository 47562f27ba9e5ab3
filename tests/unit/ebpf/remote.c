/*
 * The agent's walk of another process without a kernel's help: each stack is copied by the test
 * itself, walked by the engine at home and by remote.h from the copy, and must come out the same.
 * Modules whose files are in place, deleted, replaced by others, shrunk under the agent's hands;
 * the copy's edges; processes that are gone. Needs no rights.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/ebpf/remote.h"
#include "bpf/walk_shared.h"
#include "tests/unit/emulated.h"
#include "tests/unit/temporary.h"
#include "tests/unit/unwind/host.h"

#define COPY (1u << 20)

/* qemu-user shows the emulated program's maps under /proc/self/maps alone. */
#define OTHER_MAPS "the maps that the kernel shows are the emulator's"

static struct remotes *remotes;
static struct remote *remote;
static struct unwind_thread *here;
static size_t copy_limit;
static unsigned hooks, cut;
static uint8_t copy[COPY] __attribute__((aligned(8)));

/* Its caller's stack, both ways. */
static NOINLINE void hook(void)
{
	static uint64_t pcs[UNWIND_MAX_DEPTH]; /* not in the stack, whose copies are short */
	struct remote_stack stack = {.miss = WALK_NO_ROW};
	uint64_t top;
	struct unwind_delta home;
	uint32_t count, flags;

	unwind_regs_here(&stack.regs);
	top = host_stacks[0].high - stack.regs.sp;
	stack.address = stack.regs.sp;
	stack.size = top < copy_limit ? top : copy_limit;
	memcpy(copy, (const void *)(uintptr_t)stack.regs.sp, stack.size);
	stack.copy = copy;
	unwind_capture_full(here, &stack.regs, UNWIND_MAX_DEPTH, &home);
	remote_unwind(remote, &stack, pcs, &count, &flags);
	hooks++;
	assert_false(home.flags & UNWIND_TRUNCATED);
	cut += flags & UNWIND_TRUNCATED;
	assert_in_range(count, 1, home.depth);
	assert_int_equal(flags, count < home.depth ? UNWIND_TRUNCATED : 0);
	assert_memory_equal(pcs, home.pcs, count * sizeof(*pcs));
}

static NOINLINE void down(unsigned depth)
{
	volatile char pad[200];

	pad[0] = 1;
	if (depth)
		down(depth - 1);
	hook();
	pad[1] = pad[0];
}

static int set_up(void **state)
{
	const struct remotes_options options = {.rows_fd = -1, .spaces_fd = -1};

	if (temporary_setup(state))
		return -1;
	copy_limit = COPY;
	hooks = cut = 0;
	host_stack_count = 0;
	host_know_stack();
	here = new_unwind_thread();
	return unwind_init(&test_host) || remotes_new(&options, &remotes, NULL) ||
	       remote_new(remotes, getpid(), &remote, NULL);
}

static int tear_down(void **state)
{
	remote_free(remote);
	remotes_free(remotes);
	munmap(here, UNWIND_THREAD_SIZE);
	return temporary_teardown(state);
}

static void test_stacks(void **state)
{
	(void)state;
	SKIP_EMULATED(OTHER_MAPS);
	assert_int_equal(remote_space(remote), WALK_SPACE_NONE);
	for (unsigned i = 0; i < 10; i++)
		down(i * i);
	assert_int_equal(cut, 0);
	assert_true(hooks > 100);
}

/* What the copy lacks is not in the stack, which says that it is cut. */
static void test_short_copy(void **state)
{
	(void)state;
	SKIP_EMULATED(OTHER_MAPS);
	for (copy_limit = 0; copy_limit < 16000; copy_limit += 200)
		down(8);
	assert_in_range(cut, 1, hooks - 1);
}

static void make_copy(const char *to)
{
	char path[4096], data[4096], *slash;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	int from, into;

	assert_true(n > 0);
	path[n] = 0;
	slash = strrchr(path, '/');
	snprintf(slash, 64, "/unwind-shapes/gcc.so");
	from = open(path, O_RDONLY | O_CLOEXEC);
	into = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	assert_true(from >= 0 && into >= 0);
	while ((n = read(from, data, sizeof(data))) > 0)
		assert_int_equal(write(into, data, (size_t)n), n);
	close(from);
	close(into);
}

enum fate { IN_PLACE, DELETED, REPLACED };

/* A library that is loaded, and then its file changes. */
static void with_library(enum fate fate)
{
	char path[128], other[128], forged[128];
	void (*shapes)(void (*)(void));
	void *handle;
	int fd;

	snprintf(path, sizeof(path), "%s/lib.so", temporary_folder);
	snprintf(other, sizeof(other), "%s/other.so", temporary_folder);
	/* How the kernel calls what was mapped, then. */
	snprintf(forged, sizeof(forged), "%s/lib.so (deleted)", temporary_folder);
	make_copy(path);
	handle = dlopen(path, RTLD_NOW);
	assert_non_null(handle);
	*(void **)&shapes = dlsym(handle, "shapes_run");
	if (fate == DELETED)
		assert_int_equal(unlink(path), 0);
	if (fate == REPLACED) {
		fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, "not ELF", 7), 7);
		close(fd);
		assert_int_equal(link(other, forged), 0);
		assert_int_equal(rename(other, path), 0);
	}
	host_module_count = 0;
	unwind_modules_changed();
	remote_changed(remote);
	shapes(hook);
	assert_true(hooks > 20);
	assert_int_equal(cut, 0);
	dlclose(handle);
	host_module_count = 0;
	unwind_modules_changed();
	remote_changed(remote);
	unlink(path);
}

static void test_files(void **state)
{
	(void)state;
	SKIP_EMULATED(OTHER_MAPS);
	with_library(IN_PLACE);
	with_library(DELETED);
	with_library(REPLACED);
}

#define RETURNS 8192

/* Return addresses all over a library, in no order that a walk could follow by mistake. */
static unsigned collect_returns(const struct unwind_module *module, uint64_t *ret)
{
	uint64_t step = (module->end - module->start) / (4 * RETURNS) | 1;
	unsigned count = 0;

	for (uint64_t pc = module->start + 4096; pc < module->end && count < RETURNS;) {
		const uint8_t *code = (const uint8_t *)(uintptr_t)(pc - 16);

		if (!(pc & ((1u << ARCH_PC_SHIFT) - 1)) && arch_is_behind_call(code, 16)) {
			ret[count++] = pc;
			pc += step;
		} else {
			pc++;
		}
	}
	for (unsigned i = count; i > 1; i--) {
		unsigned other = (i * 2654435761u >> 8) % i;
		uint64_t swap = ret[i - 1];

		ret[i - 1] = ret[other];
		ret[other] = swap;
	}
	return count;
}

/* Tables of functions that are larger than what is read of a file at once: every word of a made-up
 * stack is a return address of such a library's, so a walk by another row goes another way. */
static NOINLINE void test_large_tables(void **state)
{
	uint64_t words[RETURNS], pcs[UNWIND_MAX_DEPTH];
	const struct unwind_module *module;
	unsigned returns, longer = 0;
	void *handle;

	(void)state;
	SKIP_EMULATED(OTHER_MAPS);
	handle = dlopen("libcrypto.so.3", RTLD_NOW);
	if (!handle)
		skip();
	host_module_count = 0;
	unwind_modules_changed();
	remote_changed(remote);
	module = host_find_module(NULL, (uint64_t)(uintptr_t)dlsym(handle, "EVP_sha256"));
	assert_non_null(module);
	if (module->eh_frame_hdr_size <= 65536) {
		printf("SKIPPED: libcrypto has no large table of functions here (MIPS64's has none "
		       "of most)\n");
		skip();
	}
	returns = collect_returns(module, words);
	assert_int_equal(returns, RETURNS);
	for (unsigned i = 0; i < RETURNS; i++) {
		struct remote_stack stack = {
			.regs = {.pc = words[i],
				 .sp = (uint64_t)(uintptr_t)(words + i % 16),
				 .fp = (uint64_t)(uintptr_t)(words + 100 + i % 16),
				 .has_saved = true},
			.address = (uint64_t)(uintptr_t)words,
			.copy = (const uint8_t *)words,
			.size = sizeof(words),
			.miss = WALK_NO_ROW};
		struct unwind_delta home;
		uint32_t count, flags;

		unwind_capture_full(here, &stack.regs, UNWIND_MAX_DEPTH, &home);
		remote_unwind(remote, &stack, pcs, &count, &flags);
		longer += count > 2;
		assert_int_equal(count, home.depth);
		assert_int_equal(flags, home.flags);
		assert_memory_equal(pcs, home.pcs, count * sizeof(*pcs));
	}
	assert_true(longer > RETURNS / 2);
	host_module_count = 0;
	dlclose(handle);
}

/* The process is gone before its stack is looked at. */
static void test_gone(void **state)
{
	struct remote_stack stack = {
		.regs = {.pc = 0x1234567, .sp = 0x7fff0000, .fp = 0, .has_saved = true},
		.address = 0x7fff0000};
	uint64_t pcs[UNWIND_MAX_DEPTH];
	struct remote *child_remote;
	struct err_text error = {0};
	uint32_t count, flags;
	pid_t child = fork();

	(void)state;
	if (!child) {
		pause();
		_exit(0);
	}
	assert_int_equal(remote_new(remotes, child, &child_remote, NULL), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	remote_unwind(child_remote, &stack, pcs, &count, &flags);
	assert_int_equal(count, 1);
	assert_int_equal(pcs[0], 0x1234567);
	assert_int_equal(flags, UNWIND_TRUNCATED);
	remote_free(child_remote);
	assert_int_equal(remote_new(remotes, child, &child_remote, &error), -ESRCH);
	assert_true(strstr(error.text, "/proc/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stacks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_short_copy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_large_tables, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
