/* A recorded process as the kernel shows it: who it is, what it is called, and how it ended. */
#include "agent/core/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "heapcast.pb-c.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/temporary.h"

/* A child that waits to be killed. */
static pid_t begin_child(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* The number of a process that is gone. */
static pid_t gone(void)
{
	pid_t child = begin_child();

	end_child(child);
	return child;
}

/* A child that has become the program at `path`, a shell or its script, and waits for a line. It
 * ends when *ret_end is closed. */
static pid_t begin_program(const char *path, const char *argv0, const char *variable, int *ret_end)
{
	char *argv[] = {(char *)(uintptr_t)argv0, NULL},
	     *env[] = {(char *)(uintptr_t)variable, NULL};
	int in[2], out[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(write(in[1], "echo\n", 5), 5);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execve(path, argv, env);
		_exit(127);
	}
	assert_true(child > 0);
	close(in[0]);
	close(out[1]);
	assert_int_equal(read(out[0], &byte, 1), 1); /* so it is itself by now */
	close(out[0]);
	*ret_end = in[1];
	return child;
}

static void end_program(pid_t child, int end)
{
	close(end);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void who_it_is(void **state)
{
	unsigned descriptors = descriptors_open();
	static struct target_info t, none;
	pid_t child = begin_child(), parent = 0, absent = gone();
	char own[TARGET_PATH_MAX] = "", comm[32] = "";
	uint64_t start = 0;

	(void)state;
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	assert_int_equal(prctl(PR_GET_NAME, comm), 0);
	assert_int_equal(target_read(child, &t), 0);
	assert_int_equal(t.pid, child);
	assert_int_equal(t.parent, getpid());
	assert_int_equal(t.uid, geteuid());
	assert_string_equal(t.executable, own);
	assert_string_equal(t.comm, comm);
	assert_true(t.arguments_length > 1);
	assert_int_equal(t.arguments[t.arguments_length - 1], 0);
	assert_int_equal(t.page_size, sysconf(_SC_PAGESIZE));
	assert_int_equal(t.pointer_bits, 8 * sizeof(void *));
	assert_int_equal(t.big_endian, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	assert_string_not_equal(t.architecture, "unknown");
	assert_int_equal(target_emulated(&t), 0);
	assert_int_equal(target_identity(child, &parent, &start), 0);
	assert_int_equal(parent, getpid());
	assert_true(start > 0);
	assert_int_equal(start, t.start_ticks);
	assert_int_equal(target_read(absent, &none), -ESRCH);
	assert_int_equal(none.pid, 0);
	assert_int_equal(target_identity(absent, &parent, &start), -ESRCH);
	assert_int_equal(start, t.start_ticks);
	first_descriptor_free();
	assert_int_equal(target_read(child, &none), 0);
	assert_string_equal(none.architecture, t.architecture);
	assert_string_equal(none.comm, t.comm);
	first_descriptor_take();
	end_child(child);
	assert_int_equal(descriptors_open(), descriptors);
}

static pthread_barrier_t barrier;

static void *wait_in_thread(void *argument)
{
	prctl(PR_SET_NAME, "a thread");
	*(pid_t *)argument = gettid();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void threads(void **state)
{
	pid_t absent = gone(), tid = 0;
	char name[16] = "before";
	pthread_t thread;
	uint32_t before;

	(void)state;
	before = target_threads(getpid());
	assert_true(before >= 1); /* a sanitizer has one of its own */
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, &tid), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(target_threads(getpid()), before + 1);
	assert_true(target_thread_exists(getpid(), tid));
	assert_int_equal(target_thread_name(getpid(), tid, name), 0);
	assert_string_equal(name, "a thread");
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
	assert_int_equal(target_threads(absent), 0);
	assert_false(target_thread_exists(getpid(), absent));
	assert_int_equal(target_thread_name(getpid(), absent, name), -ESRCH);
	assert_string_equal(name, "a thread");
}

static void folder(void **state)
{
	char own[TARGET_PATH_MAX], got[TARGET_PATH_MAX];
	size_t length;

	(void)state;
	assert_non_null(getcwd(own, sizeof(own)));
	length = strlen(own);
	target_folder(getpid(), got, sizeof(got));
	assert_string_equal(got, own);
	target_folder(getpid(), got, length + 1);
	assert_string_equal(got, own);
	target_folder(getpid(), got, length);
	assert_string_equal(got, "");
	strncpy(got, "before", sizeof(got));
	target_folder(gone(), got, sizeof(got));
	assert_string_equal(got, "");
	assert_true(target_sees_files(getpid()));
	assert_false(target_sees_files(gone()));
}

/* What users call it: what was executed, by a link, by a script, or under a title. */
static void called(void **state)
{
	static struct target_info t;
	char link[128], script[128];
	pid_t child;
	FILE *file;
	int end;

	(void)state;
	child = begin_program("/bin/sh", "/bin/sh", NULL, &end);
	assert_int_equal(target_read(child, &t), 0);
	assert_string_equal(target_name(&t), "sh");
	end_program(child, end);
	child = begin_program("/bin/sh", "-sh", NULL, &end); /* a login shell */
	assert_int_equal(target_read(child, &t), 0);
	assert_string_equal(target_name(&t), "sh");
	end_program(child, end);
	snprintf(link, sizeof(link), "%s/by-another-name", temporary_folder);
	assert_int_equal(symlink("/bin/sh", link), 0);
	child = begin_program(link, "by-another-name", NULL, &end);
	assert_int_equal(target_read(child, &t), 0);
	assert_string_equal(t.comm, "by-another-name");
	assert_string_equal(target_name(&t), "by-another-name");
	end_program(child, end);
	child = begin_program("/bin/sh", "sh: a title (of it)", NULL, &end);
	assert_int_equal(target_read(child, &t), 0);
	assert_string_equal(target_name(&t), strrchr(t.executable, '/') + 1);
	end_program(child, end);
	snprintf(script, sizeof(script), "%s/script", temporary_folder);
	file = fopen(script, "we");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh -e\nread line\necho\nread line || exit 0\n");
	fclose(file);
	assert_int_equal(chmod(script, 0700), 0);
	child = begin_program(script, "ignored", NULL, &end);
	assert_int_equal(target_read(child, &t), 0);
	assert_int_equal(t.arguments_length, 8 + 3 + strlen(script) + 1);
	assert_memory_equal(t.arguments, "/bin/sh\0-e\0/", 12);
	assert_string_equal(target_name(&t), "script");
	end_program(child, end);
}

/* Processes that have a variable with this value, whole. */
static void counted(void **state)
{
	char variable[64], other[80];
	int end, end_other;
	pid_t child, second;

	(void)state;
	snprintf(variable, sizeof(variable), "HEAPCAST_TEST=%d", (int)getpid());
	snprintf(other, sizeof(other), "%sx", variable);
	assert_int_equal(target_count_with(variable), 0);
	child = begin_program("/bin/sh", "sh", variable, &end);
	second = begin_program("/bin/sh", "sh", other, &end_other);
	assert_int_equal(target_count_with(variable), 1);
	assert_int_equal(target_count_with(other), 1);
	variable[strlen(variable) - 1] = '\0';
	assert_int_equal(target_count_with(variable), 0);
	end_program(child, end);
	assert_int_equal(target_count_with(other), 1);
	end_program(second, end_other);
	assert_int_equal(target_count_with(other), 0);
}

static void how_it_ended(void **state)
{
	const int source = HEAPCAST__END_SOURCE__END_SOURCE_WAIT;
	struct target_end end = target_end_of_status(7 << 8, source);

	(void)state;
	assert_int_equal(end.kind, HEAPCAST__END_KIND__END_EXITED);
	assert_int_equal(end.status, 7);
	assert_int_equal(end.source, source);
	assert_false(end.core_dumped);
	end = target_end_of_status(SIGSEGV, source);
	assert_int_equal(end.kind, HEAPCAST__END_KIND__END_SIGNALLED);
	assert_int_equal(end.status, SIGSEGV);
	assert_int_equal(end.source, source);
	assert_false(end.core_dumped);
	end = target_end_of_status(SIGSEGV | 0x80, source);
	assert_int_equal(end.status, SIGSEGV);
	assert_true(end.core_dumped);
}

/* Of a child that nobody has waited for yet. */
static void how_it_ended_by_pidfd(void **state)
{
	struct target_end end = {.status = 99};
	siginfo_t info;
	pid_t child = begin_child();
	int fd = target_pidfd(child);

	(void)state;
	if (fd == -ENOSYS || fd == -EPERM) {
		end_child(child);
		skip(); /* Linux before 5.3, or a sandbox */
	}
	assert_true(fd >= 0);
	assert_int_equal(target_end_by_pidfd(fd, child, geteuid(), &end), -EAGAIN);
	assert_int_equal(target_end_by_pidfd(-1, child, geteuid(), &end), -EAGAIN);
	assert_int_equal(end.status, 99);
	kill(child, SIGTERM);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	for (unsigned i = 0; i < 2; i++) {
		end = (struct target_end){.status = 99};
		assert_int_equal(target_end_by_pidfd(i ? fd : -1, child, geteuid(), &end), 0);
		assert_int_equal(end.kind, HEAPCAST__END_KIND__END_SIGNALLED);
		assert_int_equal(end.status, SIGTERM);
		if (!i)
			assert_int_equal(end.source, HEAPCAST__END_SOURCE__END_SOURCE_PROC);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(target_end_by_pidfd(-1, child, geteuid(), &end), -EAGAIN);
	close(fd);
	assert_int_equal(target_pidfd(child), -ESRCH);
}

static struct target_info believed(uint32_t machine, uint32_t bits, uint32_t page)
{
	const struct target_said said = {
		.machine = machine, .pointer_bits = bits, .page_size = page};
	struct target_info t = {.pid = 5,
				.architecture = "x86_64",
				.pointer_bits = 16,
				.page_size = 1,
				.big_endian = true};

	target_believe(&t, &said);
	return t;
}

/* What a program says of its processor, where it can be. */
static void what_it_says(void **state)
{
	const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const struct {
		uint32_t machine, bits;
		const char *name;
	} given[] = {{EM_X86_64, 64, "x86_64"},
		     {EM_X86_64, 32, "x32"},
		     {EM_386, 32, "i686"},
		     {EM_AARCH64, 64, "aarch64"},
		     {EM_ARM, 32, "arm"},
		     {EM_MIPS, 64, big ? "mips64" : "mips64el"},
		     {EM_MIPS, 32, big ? "mips" : "mipsel"},
		     {EM_RISCV, 64, "riscv64"},
		     {EM_RISCV, 32, "riscv32"},
		     {EM_PPC64, 64, big ? "ppc64" : "ppc64le"}};
	struct target_info t;

	(void)state;
	for (unsigned i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		t = believed(given[i].machine, given[i].bits, 65536);
		assert_string_equal(t.architecture, given[i].name);
		assert_int_equal(t.pointer_bits, given[i].bits);
		assert_int_equal(t.page_size, 65536);
		assert_int_equal(t.big_endian, big);
		assert_int_equal(target_emulated(&t), i ? 5 : 0);
	}
	t = believed(EM_SPARC, 32, 0); /* that is not known here */
	assert_string_equal(t.architecture, "x86_64");
	assert_int_equal(t.pointer_bits, 32);
	assert_false(t.emulated);
	t = believed(0, 32, 4096);
	assert_int_equal(t.pointer_bits, 16);
	assert_int_equal(t.page_size, 1);
	t = believed(EM_ARM, 48, 4096);
	assert_string_equal(t.architecture, "x86_64");
	assert_int_equal(t.pointer_bits, 16);
	assert_int_equal(believed(EM_ARM, 32, 4096).page_size, 4096);
	assert_int_equal(believed(EM_ARM, 32, 1 << 20).page_size, 1 << 20);
	assert_int_equal(believed(EM_ARM, 32, 2048).page_size, 1);
	assert_int_equal(believed(EM_ARM, 32, 1 << 21).page_size, 1);
	assert_int_equal(believed(EM_ARM, 32, 12288).page_size, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_it_is),
		cmocka_unit_test(threads),
		cmocka_unit_test(folder),
		TEST_IN_FOLDER(called),
		cmocka_unit_test(counted),
		cmocka_unit_test(how_it_ended),
		cmocka_unit_test(how_it_ended_by_pidfd),
		cmocka_unit_test(what_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
