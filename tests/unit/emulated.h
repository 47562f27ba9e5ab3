#pragma once
/*
 * Tests of another processor run under qemu-user, which lacks some of what Linux has. A test says
 * with SKIP_EMULATED why it can't be run there; on a board it runs. ctest says that there is an
 * emulator: HEAPCAST_TEST_EMULATED (tests/unit/CMakeLists.txt).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool emulated(void)
{
	return getenv("HEAPCAST_TEST_EMULATED") != NULL;
}

/* Does the emulator give the error of a socket (SO_ERROR) by this machine's number? qemu 7.2 does;
 * MIPS has other numbers. */
static inline bool emulated_mistells_errors(void)
{
	return emulated() && ECONNREFUSED != 111;
}

#define SKIP_EMULATED_IF(condition, reason)                                                        \
	do {                                                                                       \
		if (condition) {                                                                   \
			printf("SKIPPED: %s\n", reason);                                           \
			skip();                                                                    \
		}                                                                                  \
	} while (0)
#define SKIP_EMULATED(reason) SKIP_EMULATED_IF(emulated(), reason)

#define MISTELLS_ERRORS "the emulator gives the error of a socket by this machine's number"
#define NO_VFORK	"the emulator forks where a program says vfork or clone"
