#pragma once
/* Stacks written by hand, word by word, and rows put where a thread looks them up: each case of a
 * walk without a program that has it. For x86-64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/prefix.h"

#define WORDS (3u << 13)
#define CODE  0x10000000u /* of functions that are numbers */

static uint64_t stack[WORDS] __attribute__((aligned(4096)));
static struct unwind_thread *thread;

/* What the host knows of the stack. */
static struct {
	bool known;
	uint64_t low, high; /* if it is */
	uint64_t until;	    /* readable up to there */
	unsigned asked;
	const struct unwind_module *(*find_module)(uint64_t pc); /* NULL: there are none */
} given;

static int given_bounds(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high)
{
	(void)context;
	*ret_low = given.low;
	*ret_high = given.high;
	return given.known && sp >= given.low && sp < given.high;
}

static uint64_t given_readable(uint64_t from, uint64_t to)
{
	given.asked++;
	return given.until <= from ? from : given.until < to ? given.until : to;
}

static const struct unwind_module *given_module(void *context, uint64_t pc)
{
	(void)context;
	return given.find_module ? given.find_module(pc) : NULL;
}

static const struct unwind_host given_host = {
	.find_module = given_module, .stack_bounds = given_bounds, .readable = given_readable};

static inline uint64_t at(uint64_t word)
{
	return (uintptr_t)stack + 8 * word;
}

/* A stack that is known, all of it; and a thread that knows nothing else. */
static inline int begin(void **state)
{
	(void)state;
	memset(stack, 0, sizeof(stack));
	memset(&given, 0, sizeof(given));
	given.known = true;
	given.low = at(0);
	given.high = given.until = at(WORDS);
	assert_int_equal(unwind_init(&given_host), 0);
	free(thread);
	thread = aligned_alloc(4096, UNWIND_THREAD_SIZE);
	assert_non_null(thread);
	memset(thread, 0, UNWIND_THREAD_SIZE);
	thread = unwind_thread_init(thread);
	rows_check_state(thread);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	free(thread);
	thread = NULL;
	return 0;
}

static inline void put_row(uint64_t pc, uint32_t row)
{
	uint64_t key = key_of(pc);

	thread->l1[key_place(key) & thread->l1_mask] = entry_of(key, row);
}

static inline uint32_t plain(bool from_fp, unsigned cfa_words, unsigned fp_words)
{
	struct arch_frame frame = {
		.from_fp = from_fp, .cfa_words = cfa_words, .ra_words = 1, .fp_words = fp_words};
	uint32_t row = 0;

	assert_true(row_of_frame(&frame, &row));
	return row;
}

/* The address where function `number` continues, with its row. */
static inline uint64_t function(unsigned number, uint32_t row)
{
	uint64_t pc = CODE + number;

	put_row(pc, row);
	return pc;
}
