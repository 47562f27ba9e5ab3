#pragma once
/* cmocka, and one-line ways to run a target and check its record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/targets/target.h"
#include "tests/unit/emulated.h"
#include "tests/unit/preload/support/ring_agent.h"

/* Why a test can't be run under qemu-user (tests/unit/emulated). */
#define NO_ROBUST_LISTS "the emulator does not tell of threads that end by robust lists"
#define NO_ALLOCATORS	"the allocators that are installed are this machine's"

/* RUN(&options, &result, PROGRAM, ARGUMENT...) */
#define RUN(options, result, ...)                                                                  \
	agent_run((options), (const char *const[]){__VA_ARGS__, NULL}, (result))

/* Every record made sense, every program counter lies in a module that was announced before. */
static inline void assert_sound(const struct agent_result *r)
{
	if (r->faults)
		print_error("%lu faults, first: %s\n", (unsigned long)r->faults, r->first_fault);
	assert_int_equal(r->faults, 0);
	assert_int_equal(r->unknown_pcs, 0);
}

static inline void assert_exited(const struct agent_result *r, int status)
{
	assert_true(WIFEXITED(r->status));
	assert_int_equal(WEXITSTATUS(r->status), status);
}

static inline void assert_nothing_lost(const struct agent_result *r)
{
	assert_int_equal(r->lost.events, 0);
	assert_int_equal(r->no_slice.events, 0);
	assert_int_equal(r->died_inside, 0);
	assert_int_equal(r->produced, r->read + r->not_sampled);
}

/* What the program said it did is what is on record, and every death has its birth. */
static inline void assert_as_said(const struct agent_result *r)
{
	struct agent_tally t;

	agent_tally(r, TAG_OWN, &t);
	assert_int_equal(t.allocations, agent_said(r, "allocations"));
	assert_int_equal(t.frees, agent_said(r, "frees"));
	assert_int_equal(t.orphans, 0);
	assert_int_equal(t.twice, 0);
}
