/* Filters of a process as the agent finds them in /proc: as many as the thread has that has the
 * most, and mode strict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/watch/filters.h"
#include "base/proc/file.h"
#include "tests/unit/temporary.h"

#define THREADS 150 /* more than a look takes */

static int said[2], held[2];

static int filter_all(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = {.len = 1, .filter = &allow};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *wait_held(void *argument)
{
	char byte;

	(void)argument;
	(void)!write(said[1], "", 1);
	(void)!read(held[0], &byte, 1);
	return NULL;
}

static void *wait_strict(void *argument)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		(void)!write(said[1], "n", 1);
	wait_held(argument);
	syscall(SYS_exit, 0);
	return NULL;
}

/* A child with so many filters, and threads of which the last one has one more, or mode strict. */
static pid_t start(unsigned filters, unsigned threads, void *(*last)(void *))
{
	pid_t child;

	assert_int_equal(pipe(said) | pipe(held), 0);
	child = fork();
	if (!child) {
		pthread_attr_t small;
		pthread_t thread;

		pthread_attr_init(&small);
		pthread_attr_setstacksize(&small, 64 << 10); /* all have room in 32 bits */

		for (unsigned i = 0; i < filters; i++)
			if (filter_all())
				_exit(77);
		for (unsigned i = 0; i < threads; i++)
			if (pthread_create(&thread, &small, i + 1 < threads ? wait_held : last,
					   NULL))
				_exit(1);
		wait_held(NULL);
		_exit(0);
	}
	close(said[1]); /* what has no writer any more ends */
	said[1] = -1;
	for (unsigned i = 0; i <= threads; i++) {
		char byte = 1;

		if (read(said[0], &byte, 1) != 1 || byte)
			return -child;
	}
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (unsigned i = 0; i < 2; i++) {
		if (said[i] >= 0)
			close(said[i]);
		close(held[i]);
	}
}

static struct filters look(pid_t child, unsigned looks)
{
	struct filters f, sum = {0};
	int proc = proc_open(child);
	uint64_t at = 0;

	assert_true(proc >= 0);
	while (looks--) {
		assert_int_equal(filters_read(proc, &at, &f), 0);
		sum.count = f.count > sum.count ? f.count : sum.count;
		sum.strict |= f.strict;
	}
	close(proc);
	return sum;
}

static void none(void **state)
{
	struct filters before = look(getpid(), 1);
	pid_t child = start(0, 3, wait_held);

	(void)state;
	assert_true(child > 0);
	assert_int_equal(look(child, 1).count, before.count);
	assert_false(look(child, 1).strict);
	end(child);
}

static void *wait_filtered(void *argument)
{
	if (filter_all())
		(void)!write(said[1], "n", 1);
	return wait_held(argument);
}

/* It is the last of many threads. */
static void one_thread(void **state)
{
	struct filters before = look(getpid(), 1);
	pid_t child = start(1, THREADS, wait_filtered);

	(void)state;
	if (child < 0) {
		end(-child);
		skip();
	}
	assert_in_range(look(child, 4).count, before.count + 1,
			before.count + 2); /* 5.9 counts them */
	end(child);
}

static void strict(void **state)
{
	pid_t child = start(0, 2, wait_strict);

	(void)state;
	if (child < 0) {
		end(-child);
		skip();
	}
	assert_true(look(child, 1).strict);
	end(child);
}

static void gone(void **state)
{
	struct filters f;
	uint64_t at = 0;

	(void)state;
	assert_true(filters_read(-1, &at, &f) < 0);
	assert_int_equal(f.count, 0);
}

/* Files as kernels write them, in a folder in place of /proc/PID: who has most decides. */
static void made(void **state)
{
	static const struct {
		const char *text[3];
		uint32_t count;
		bool strict;
	} cases[] = {
		{{"Seccomp:\t0\nSeccomp_filters:\t0\n"}, 0, false},
		{{"Seccomp:\t2\nSeccomp_filters:\t3\n", "Seccomp:\t2\nSeccomp_filters:\t5\n",
		  "Seccomp:\t2\nSeccomp_filters:\t4\n"},
		 5,
		 false},
		{{"Seccomp:\t2\n"}, 1, false}, /* before Linux 5.9: at least one */
		{{"Seccomp:\t1\n"}, 0, true},
		{{"Seccomp:\t1\nSeccomp_filters:\t0\n", "Seccomp:\t0\nSeccomp_filters:\t0\n",
		  "Seccomp:\t2\nSeccomp_filters:\t1\n"},
		 1,
		 true},
		{{"", "Name:\tx\n"}, 0, false},
		{{NULL, "Seccomp:\t2\nSeccomp_filters:\t2\n"}, 2, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[256];
		struct filters f;
		uint64_t at = 0;
		FILE *above;
		int proc;

		snprintf(path, sizeof(path), "%s/%u", temporary_folder, i);
		assert_int_equal(mkdir(path, 0700), 0);
		proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(filters_read(proc, &at, &f) < 0);
		snprintf(path, sizeof(path), "%s/%u/task", temporary_folder, i);
		assert_int_equal(mkdir(path, 0700), 0);
		for (unsigned k = 0; k < 3; k++) {
			FILE *file;

			/* One thread may be gone by now, and have left its name alone. */
			snprintf(path, sizeof(path), "%s/%u/task/%u", temporary_folder, i, 11 + k);
			assert_int_equal(mkdir(path, 0700), 0);
			snprintf(path, sizeof(path), "%s/%u/task/%u/status", temporary_folder, i,
				 11 + k);
			file = cases[i].text[k] ? fopen(path, "we") : NULL;
			if (file) {
				fputs(cases[i].text[k], file);
				fclose(file);
			}
		}
		/* Of the folder above nobody asks. */
		snprintf(path, sizeof(path), "%s/%u/status", temporary_folder, i);
		above = fopen(path, "we");
		assert_non_null(above);
		fputs("Seccomp:\t1\nSeccomp_filters:\t99\n", above);
		fclose(above);
		for (unsigned looks = 0; looks < 2; looks++) {
			assert_int_equal(filters_read(proc, &at, &f), 0);
			assert_int_equal(f.count, cases[i].count);
			assert_int_equal(f.strict, cases[i].strict);
			at = 0;
		}
		close(proc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none), cmocka_unit_test(one_thread), cmocka_unit_test(strict),
		cmocka_unit_test(gone), TEST_IN_FOLDER(made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
