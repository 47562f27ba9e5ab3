/* Helper programs: what they get as their environment, descriptors, signals and group. */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/descriptors.h"
#include "tests/unit/emulated.h"
#include "tests/unit/temporary.h"

extern char **environ;

static char output[200], errors[200];

static void environments_are_filtered(void **state)
{
	const char *const given[] = {"A=1",	    "LD_PRELOAD=x",	  "LD_PRELOADED=2",
				     "LD_AUDIT=x",  "DEBUGINFOD_URLS=x",  "HEAPCAST_X=x",
				     "HEAPCAS_X=3", "MEMORY_PROFILER_=x", "LD_LIBRARY_PATH=4",
				     NULL};
	static const char *const kept[] = {"A=1", "LD_PRELOADED=2", "HEAPCAS_X=3",
					   "LD_LIBRARY_PATH=4"};
	char **usual = environ, **got;

	(void)state;
	environ = (char **)(uintptr_t)given;
	got = spawn_environment();
	environ = NULL;
	for (unsigned i = 0; i < 4; i++)
		assert_string_equal(got[i], kept[i]);
	assert_null(got[4]);
	free(got);
	got = spawn_environment();
	assert_null(got[0]);
	free(got);
	environ = usual;
}

static const char *text_of(const char *path)
{
	static char text[1000];
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

/* Runs a line of shell, and returns its status. */
static int shell(const char *line, int in, int out, int err, bool own_group)
{
	const char *const arguments[] = {"sh", "-c", line, NULL};
	const char *const environment[] = {"WHO=us", NULL};
	const struct spawn what = {.program = "/bin/sh",
				   .arguments = (char *const *)(uintptr_t)arguments,
				   .environment = (char *const *)(uintptr_t)environment,
				   .input = in,
				   .output = out,
				   .error = err,
				   .own_group = own_group};
	int status = -1;
	pid_t pid = 0;

	assert_int_equal(spawn(&what, &pid), 0);
	if (!emulated()) /* where it may not be so far yet: NO_VFORK */
		assert_int_equal(getpgid(pid), own_group ? pid : getpgid(0));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int create(char *path, const char *name)
{
	snprintf(path, 200, "%s/%s", temporary_folder, name);
	return open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static void descriptors_are_given(void **state)
{
	int out = create(output, "out"), err = create(errors, "err"), in[2];
	unsigned before = descriptors_open();

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(write(in[1], "said\n", 5), 5);
	assert_int_equal(
		shell("read x; echo $x $WHO; echo wrong >&2; exit 7", in[0], out, err, false), 7);
	assert_string_equal(text_of(output), "said us\n");
	assert_string_equal(text_of(errors), "wrong\n");
	close(in[0]);
	close(in[1]);
	/* Nothing is an end of input, and takes what is written. */
	assert_int_equal(
		shell("read x || echo none; exit 0", SPAWN_NOTHING, out, SPAWN_NOTHING, true), 0);
	assert_string_equal(text_of(output), "said us\nnone\n");
	assert_int_equal(shell("[ /dev/fd/2 -ef /dev/null ] && [ /dev/fd/0 -ef /dev/null ] && ! [ "
			       "/dev/fd/1 -ef /dev/null ]",
			       SPAWN_NOTHING, out, SPAWN_NOTHING, false),
			 0);
	/* Those of this program. */
	assert_int_equal(shell("[ /dev/fd/0 -ef /proc/$PPID/fd/0 ] && [ /dev/fd/1 -ef "
			       "/proc/$PPID/fd/1 ] && [ /dev/fd/2 -ef /proc/$PPID/fd/2 ]",
			       SPAWN_SAME, SPAWN_SAME, SPAWN_SAME, false),
			 0);
	assert_int_equal(descriptors_open(), before);
	close(out);
	close(err);
}

static void signals_are_as_usual(void **state)
{
	sigset_t blocked, before;

	(void)state;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	signal(SIGINT, SIG_IGN);
	assert_int_equal(shell("kill -TERM $$", SPAWN_NOTHING, SPAWN_NOTHING, SPAWN_NOTHING, false),
			 1000 + SIGTERM);
	assert_int_equal(shell("kill -INT $$", SPAWN_NOTHING, SPAWN_NOTHING, SPAWN_NOTHING, true),
			 1000 + SIGINT);
	signal(SIGINT, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void what_is_not_there_is_told(void **state)
{
	const char *const arguments[] = {"none", NULL};
	const struct spawn what = {.program = "/none",
				   .arguments = (char *const *)(uintptr_t)arguments,
				   .environment = environ,
				   .input = SPAWN_NOTHING,
				   .output = SPAWN_SAME,
				   .error = SPAWN_SAME};
	pid_t pid;

	(void)state;
	SKIP_EMULATED(NO_VFORK);
	assert_int_equal(spawn(&what, &pid), -ENOENT);
	for (unsigned i = 0; i < 3; i++) {
		struct spawn bad = what;

		*(i == 0 ? &bad.input : i == 1 ? &bad.output : &bad.error) = -77;
		bad.program = "/bin/true";
		assert_int_equal(spawn(&bad, &pid), -EBADF);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environments_are_filtered),
		TEST_IN_FOLDER(descriptors_are_given),
		cmocka_unit_test(signals_are_as_usual),
		cmocka_unit_test(what_is_not_there_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
