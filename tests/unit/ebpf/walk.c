/*
 * The walk in the kernel, and the agent's walk of another process, against the engine in this one:
 * at each hit of a probe on `marker` all three walk the same stack, and must come to the same
 * program counters. What the kernel leaves to the agent (a miss) is given to it as the recorder
 * does, so that the rows get into the kernel's map; how often is counted.
 *
 * Stacks: random recursion through functions of many shapes, callbacks of libc, signals, threads,
 * libraries that gcc, clang and rustc made, loaded and unloaded on the way, code made at run time,
 * more frames than the kernel takes.
 */
#ifdef __aarch64__
#include <asm/hwcap.h>
#endif
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "agent/ebpf/remote.h"
#include "bpf/walk_shared.h"
#include "tests/unit/ebpf/kernel/walk_sample.h"
#include "tests/unit/ebpf/shapes.h"
#include "tests/unit/unwind/host.h"

#include "bpf/walk_test.skel.h"
#include "code.h"

#define SPACES 4
#define LINES  (8u << WALK_BITS_MIN)

#define COPY (1u << 20)

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

/* A forked process has its agent in its parent: it is asked over sockets, and answers in shared
 * memory. */
static int agent_socket = -1;
static struct answer {
	uint32_t count, flags;
	uint64_t pcs[UNWIND_MAX_DEPTH];
} * answer;

/* What the agent is given of a miss, and behind it all of the stack, which stands still here. */
static uint32_t unwind_by(struct remote *of, pid_t pid, const struct walk_sample *sample,
			  uint64_t *ret_pcs, uint32_t *ret_flags)
{
	static uint8_t copy[COPY];
	struct iovec local = {copy, COPY},
		     there = {(void *)(uintptr_t)(sample->sp & ~4095ull), COPY};
	struct remote_stack stack = {
		.regs = {.pc = sample->pc, .sp = sample->sp, .fp = sample->fp, .has_saved = true},
		.address = sample->sp & ~4095ull,
		.copy = copy,
		.miss = sample->miss,
	};
	uint32_t count;
	ssize_t size;

	memcpy(stack.regs.saved, sample->saved, sizeof(sample->saved));
	pthread_mutex_lock(&agent_lock);
	size = process_vm_readv(pid, &local, 1, &there, 1, 0);
	stack.size = size > 0 ? (size_t)size : 0;
	memcpy(copy, sample->copy, sample->copy_size);
	stack.size = stack.size > sample->copy_size ? stack.size : sample->copy_size;
	remote_unwind(of, &stack, ret_pcs, &count, ret_flags);
	pthread_mutex_unlock(&agent_lock);
	return count;
}

static uint32_t unwind_there(const struct walk_sample *sample, uint64_t *ret_pcs,
			     uint32_t *ret_flags)
{
	uint32_t slot = me->slot;

	if (agent_socket < 0)
		return unwind_by(remote, getpid(), sample, ret_pcs, ret_flags);
	if (write(agent_socket, &slot, sizeof(slot)) != sizeof(slot) ||
	    read(agent_socket, &slot, sizeof(slot)) != sizeof(slot))
		_exit(2);
	memcpy(ret_pcs, answer->pcs, sizeof(answer->pcs));
	*ret_flags = answer->flags;
	return answer->count;
}

/* What the recorder has of the thread's stack, by the kernel's word. Frames of it are outermost
 * first. */
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
	pthread_mutex_lock(&agent_lock);
	totals.hits += r->totals.hits;
	totals.compared += r->totals.compared;
	totals.kept += r->totals.kept;
	totals.frames += r->totals.frames;
	totals.truncated += r->totals.truncated;
	for (unsigned i = 0; i < WALK_MISSES; i++)
		totals.missed[i] += r->totals.missed[i];
	if (r->totals.deepest > totals.deepest)
		totals.deepest = r->totals.deepest;
	pthread_mutex_unlock(&agent_lock);
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

static unsigned chance(unsigned n)
{
	me->random = me->random * 1103515245 + 12345;
	return (me->random >> 16) % n;
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

static bool attach(struct bpf_program *program, const char *path, size_t offset,
		   struct bpf_link **ret)
{
	struct bpf_link *link = bpf_program__attach_uprobe(program, false, -1, path, offset);

	if (!libbpf_get_error(link)) {
		*ret = link;
		return true;
	}
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
	Dl_info loader;

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
	assert_true(dladdr((void *)_r_debug.r_brk, &loader));
	if (attach(kernel->progs.at_marker, "/proc/self/exe", offset_in_file((void *)marker),
		   &kernel->links.at_marker))
		attach(kernel->progs.at_loader, loader.dli_fname,
		       offset_in_file((void *)_r_debug.r_brk), &kernel->links.at_loader);
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

static void *thread(void *context)
{
	run((uint32_t)(uintptr_t)context, 500, 60);
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[SAMPLES - 1];

	(void)state;
	signal(SIGUSR1, on_signal);
	for (uintptr_t i = 0; i < SAMPLES - 1; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, thread, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < SAMPLES - 1; i++)
		pthread_join(threads[i], NULL);
	assert_true(totals.compared > 5000);
	assert_true(totals.missed[WALK_NO_ROW] < totals.hits / 10);
	assert_int_equal(totals.truncated, 0);
	tell("threads");
}

static void with_library(const char *name)
{
	char path[4096], *slash;
	void (*shapes)(void (*)(void));
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	struct recorder r;
	void *handle;

	assert_true(length > 0);
	path[length] = 0;
	slash = strrchr(path, '/');
	snprintf(slash, 64, "/unwind-shapes/%s.so", name);
	handle = dlopen(path, RTLD_NOW);
	if (!handle)
		return; /* not every compiler is everywhere */
	*(void **)&shapes = dlsym(handle, "shapes_run");
	assert_non_null(shapes);
	host_module_count = 0;
	unwind_modules_changed();
	recorder_begin(&r, 0);
	for (unsigned i = 0; i < 20; i++)
		shapes(hook);
	recorder_end(&r);
	dlclose(handle);
	host_module_count = 0;
	unwind_modules_changed();
}

/* Each is unloaded before the next comes to lie in its place. */
static void test_libraries(void **state)
{
	static const char *const names[] = {"gcc", "clang", "together", "rustc", "separate", "pac"};
	unsigned closed;

	(void)state;
	for (unsigned i = 0; i < 4 * 6; i++)
		with_library(names[i % 6]);
	closed = totals.missed[WALK_CLOSED];
	assert_true(totals.compared > 500);
	assert_true(closed > 5);
	assert_int_equal(totals.truncated, 0);
#ifdef __aarch64__
	if (getauxval(AT_HWCAP) & HWCAP_PACA)
		printf("the processor signs return addresses\n");
#endif
	tell("libraries");
}

static void with_code(const void *bytes, size_t size)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct unwind_module *known = host_find_module(
		NULL, (uintptr_t)with_code); /* before that page can be taken for one */
	void (*call)(void (*)(void));
	struct recorder r;

	assert_ptr_not_equal(code, MAP_FAILED);
	assert_non_null(known);
	memcpy(code, bytes, size);
	assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
	__builtin___clear_cache(code, code + size);
	remote_changed(remote);
	*(void **)&call = code;
	recorder_begin(&r, 0);
	for (unsigned i = 0; i < 200; i++)
		call(hook);
	recorder_end(&r);
	munmap(code, 4096);
	remote_changed(remote);
}

static void test_made_at_run_time(void **state)
{
	(void)state;
	with_code(code_with_record, sizeof(code_with_record));
	assert_true(totals.compared > 150 || !ARCH_RECORD);
	assert_int_equal(totals.truncated, ARCH_RECORD ? 0 : 200);
	tell("code made at run time");
	with_code(code_without_record, sizeof(code_without_record));
	assert_int_equal(totals.compared, 0);
	assert_int_equal(totals.truncated, 200);
	tell("the same, without frame records");
}

static NOINLINE void sink_to(unsigned depth)
{
	if (depth)
		sink_to(depth - 1);
	else
		hook();
	sink++;
}

static void test_deep(void **state)
{
	struct recorder r;

	(void)state;
	recorder_begin(&r, 0);
	for (unsigned i = 0; i < 40; i++) {
		sink_to(300 + i);
		sink_to(2);
		sink_to(490 + i % 4);
	}
	assert_true(r.totals.missed[WALK_DEEP] < 60);
	for (unsigned i = 0; i < 10; i++)
		sink_to(700 + 10 * i);
	assert_true(r.totals.missed[WALK_DEEP] >= 10);
	sink_to(2000);
	recorder_end(&r);
	assert_true(totals.compared > 80);
	tell("deep");
}

static NOINLINE void inner(volatile char *block)
{
	block[0] = 1;
	hook();
	sink++;
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void with_block(unsigned size)
{
	volatile char *block = alloca(size);

	inner(block);
	sink += block[0];
}

static NOINLINE void from_near(unsigned size)
{
	with_block(size);
	sink++;
}

/* What it leaves unwritten is what a call of from_near has left there: its return addresses. */
static NOINLINE void from_far(unsigned size)
{
	volatile char left[96];

	__asm__ volatile("" : : "r"(left) : "memory");
	with_block(size);
	sink++;
}

/* Two stacks that are the same from some frame inwards, sp included, but for its fp: what is
 * outside of it is not the same, and all that was read of the old one still lies there. */
static void test_frame_pointer(void **state)
{
	static void (*volatile from[])(unsigned) = {from_near, from_far};
	struct recorder r;

	(void)state;
	recorder_begin(&r, 0);
	for (volatile unsigned i = 2; i < 32; i++)
		from[i % 2](i % 2 ? i / 2 * 16 : 256);
	recorder_end(&r);
	assert_true(totals.compared > 20);
	tell("frame pointer");
}

/* What is known of its modules a new process has from the start; the rest it is told by an agent
 * that is another process. */
static void test_other_process(void **state)
{
	struct remote *child_remote = NULL;
	int sockets[2], status;
	uint32_t slot;
	pid_t child;

	(void)state;
	answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_ptr_not_equal(answer, MAP_FAILED);
	run(0, 300, 60);
	totals = (struct totals){0};
	fflush(NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		close(sockets[0]);
		agent_socket = sockets[1];
		if (read(agent_socket, &slot, sizeof(slot)) != sizeof(slot))
			_exit(3);
		run(0, 300, 60);
		status = totals.missed[WALK_NO_ROW] > 20 || totals.compared < 500;
		tell("another process");
		fflush(stdout);
		_exit(status);
	}
	close(sockets[1]);
	assert_int_equal(remote_new(remotes, child, &child_remote, NULL), 0);
	kernel->data->space = remote_space(child_remote);
	slot = 0;
	while (write(sockets[0], &slot, sizeof(slot)) == sizeof(slot) &&
	       read(sockets[0], &slot, sizeof(slot)) == sizeof(slot))
		answer->count =
			unwind_by(child_remote, child, &samples[slot], answer->pcs, &answer->flags);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	remote_free(child_remote);
	close(sockets[0]);
	munmap(answer, sizeof(*answer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_libraries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_made_at_run_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_frame_pointer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_deep, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_process, set_up, tear_down),
	};

	int failed;

	load();
	if (no_kernel) {
		printf("SKIPPED: %s\n", no_kernel);
		walk_test__destroy(kernel);
		return 77;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	walk_test__destroy(kernel);
	return failed;
}
