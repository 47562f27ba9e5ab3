#pragma once
/*
 * A temporary folder for each test of a program: TEST_IN_FOLDER(test) makes temporary_folder before
 * it and removes it, with all that is in there, behind it.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char temporary_folder[64];

static inline int temporary_remove(const char *path, const struct stat *st, int type,
				   struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int temporary_setup(void **state)
{
	(void)state;
	snprintf(temporary_folder, sizeof(temporary_folder), "/tmp/heapcast-test-XXXXXX");
	return mkdtemp(temporary_folder) ? 0 : -1;
}

static inline int temporary_teardown(void **state)
{
	(void)state;
	return nftw(temporary_folder, temporary_remove, 16, FTW_DEPTH | FTW_PHYS);
}

#define TEST_IN_FOLDER(name)                                                                       \
	cmocka_unit_test_setup_teardown(name, temporary_setup, temporary_teardown)
