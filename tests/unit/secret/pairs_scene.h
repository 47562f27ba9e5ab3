#pragma once
/* For the tests of the folder of keys: a folder, what is put into it, and what is said of it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/secure/pairs_folder.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define HEX32 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static char folder[128], path[300];
static struct err_text err, remark;
static unsigned descriptors;
static int input;

static inline int setup(void **state)
{
	int r = temporary_setup(state);

	snprintf(folder, sizeof(folder), "%s/keys", temporary_folder);
	input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 20);
	close(STDIN_FILENO); /* what is opened next is 0, and that is a descriptor, too */
	descriptors = descriptors_open();
	err = remark = (struct err_text){{0}};
	return r;
}

static inline int teardown(void **state)
{
	assert_int_equal(descriptors_open(), descriptors);
	dup2(input, STDIN_FILENO);
	close(input);
	return temporary_teardown(state);
}

static inline const char *in_folder(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static inline void put_file(const char *name, const char *text)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Its text, "" if there is none. */
static inline const char *text_of(const char *name)
{
	static char text[2000];
	int fd = open(in_folder(name), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static inline int keep_one(const char *wanted, struct pair_name *ret)
{
	static uint8_t key[PAIR_KEY_SIZE];
	struct pair_draft draft;
	int r = pair_draft_open(&draft, folder, 1000, key, "peer", &err);

	key[0]++;
	if (r < 0)
		return r;
	r = pair_draft_keep(&draft, wanted, ret, &err);
	pair_draft_close(&draft);
	return r;
}

static inline void expect(const char *text, const char *format, const char *what)
{
	char expected[600];
	const char *at = strstr(format, "%s");

	snprintf(expected, sizeof(expected), "%.*s%s%s", (int)(at - format), format, what, at + 2);
	assert_string_equal(text, expected);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
