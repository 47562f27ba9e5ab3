/* Variables that own what they point to: it goes with them, unless it was taken. */
#include "base/cleanup.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

static int freed;

static void thing_free(int *thing)
{
	freed += *thing;
}

DEFINE_CLEANUP(thing_free, int *)

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int opened(bool take, int *ret_fd)
{
	cleanup(cleanup_close) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	*ret_fd = fd;
	return take ? take_fd(fd) : -1;
}

static void test_close(void **state)
{
	int fd = -1, stdin_copy = dup(STDIN_FILENO);

	(void)state;
	assert_int_equal(opened(false, &fd), -1);
	assert_false(is_open(fd));
	assert_int_equal(opened(true, &fd), fd);
	assert_true(is_open(fd));
	close(fd);
	cleanup_close(&(int){-1}); /* none */
	/* 0 is a descriptor. */
	assert_int_equal(dup2(fd = open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO), 0);
	cleanup_close(&(int){STDIN_FILENO});
	assert_false(is_open(STDIN_FILENO));
	if (stdin_copy >= 0)
		dup2(stdin_copy, STDIN_FILENO);
	close(stdin_copy);
	close(fd);
}

static void test_fclose(void **state)
{
	FILE *file = fopen("/dev/null", "re"), *none = NULL;
	int fd;

	(void)state;
	assert_non_null(file);
	fd = fileno(file);
	cleanup_fclose(&file);
	assert_false(is_open(fd));
	cleanup_fclose(&none);
}

static void test_defined(void **state)
{
	int thing = 5;

	(void)state;
	{
		cleanup(cleanup_thing_free) int *mine = &thing, *none = NULL;

		(void)none;
	}
	assert_int_equal(freed, 5);
	{
		cleanup(cleanup_thing_free) int *mine = &thing;

		assert_ptr_equal(take_ptr(mine), &thing);
		assert_null(mine);
	}
	assert_int_equal(freed, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_fclose),
		cmocka_unit_test(test_defined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
