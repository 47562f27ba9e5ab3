#pragma once
/*
 * What the target programs share. A target makes allocations that are known in advance and prints
 * their numbers, one "name value" a line. Its own allocations bear a tag in their size (the
 * remainder by 16), so that a test can tell them from those of libc: OWN of the program, CHILD of a
 * process that should not be on record.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TAG_OWN	  7
#define TAG_CHILD 9

/* The tagged size nearest to `size`. */
static inline size_t own(size_t size)
{
	return size / 16 * 16 + TAG_OWN;
}

static inline size_t child_size(size_t size)
{
	return size / 16 * 16 + TAG_CHILD;
}

/* Prints without allocating. */
static inline void say(const char *name, unsigned long value)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "%s %lu\n", name, value);

	if (length > 0 && write(1, line, (size_t)length) < 0)
		_exit(99);
}

/* Keeps a block from being optimised away. */
static inline void *use(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}
