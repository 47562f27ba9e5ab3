#pragma once
/* What the log says: from logged_begin to logged_end it goes into memory, with all levels. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

static int logged_fd = -1;

static inline void logged_begin(void)
{
	char path[64];

	logged_fd = memfd_create("log", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", logged_fd);
	assert_int_equal(log_open("trace", path), 0);
}

/* How many lines say this since logged_clear, with their level, as in "warn  x". */
static inline unsigned logged(const char *line)
{
	static char text[65536];
	ssize_t n = pread(logged_fd, text, sizeof(text) - 1, 0);
	unsigned count = 0;

	assert_true(n >= 0);
	text[n] = '\0';
	for (const char *at = strstr(text, line); at; at = strstr(at + 1, line))
		count++;
	return count;
}

static inline void logged_clear(void)
{
	assert_int_equal(ftruncate(logged_fd, 0), 0);
}

static inline void logged_end(void)
{
	log_open(NULL, NULL);
	close(logged_fd);
}
