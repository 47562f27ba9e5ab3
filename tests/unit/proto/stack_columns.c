/* Columns of stacks: what goes in comes out, and damage is named. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "proto/stack_columns.h"
#include "tests/unit/proto/columns_random.h"

static void test_stacks(void **unused)
{
	static uint8_t memory[MEMORY];
	static struct stack_node sent[2000];
	struct stacks_encoder e;
	struct stacks_decoder d;
	struct stack_node got;
	Heapcast__Stacks m;
	struct err_text err = {{0}};
	uint32_t number;

	(void)unused;
	stacks_encoder_init(&e, memory, sizeof(memory), 501);
	assert_true(stacks_encoder_room(sizeof(memory)) >= 2000);
	for (uint32_t i = 0; i < 2000; i++) {
		sent[i] = (struct stack_node){
			.parent = i % 7 ? 501 + i - 1 - i % 5 * (i > 10) : 0,
			.module = (uint32_t)(random_u64() >> random_u64() % 32 >> 32),
			.offset = random_u64() >> random_u64() % 64};
		assert_int_equal(stacks_encoder_put(&e, &sent[i]), 0);
	}
	stacks_encoder_fill(&e, &m);
	assert_int_equal(stacks_decoder_init(&d, &m, &err), 0);
	for (uint32_t i = 0; i < 2000; i++) {
		assert_int_equal(stacks_decoder_next(&d, &number, &got, &err), 1);
		assert_int_equal(number, 501 + i);
		assert_int_equal(got.parent, sent[i].parent);
		assert_int_equal(got.module, sent[i].module);
		assert_int_equal(got.offset, sent[i].offset);
	}
	assert_int_equal(stacks_decoder_next(&d, &number, &got, &err), 0);
}

/* Each column has room for so many nodes of the longest numbers, and for no more. */
static void test_stacks_room(void **unused)
{
	static uint8_t memory[50 * STACKS_NODE_MAX];
	static const struct stack_node longest[] = {
		{.parent = 1, .module = 0, .offset = 0},
		{.parent = 0, .module = UINT32_MAX, .offset = 0},
		{.parent = 0, .module = 0, .offset = UINT64_MAX >> 1},
	};

	(void)unused;
	for (unsigned i = 0; i < 3; i++) {
		struct stacks_encoder e;
		uint32_t count = 0, first = i ? 1 : UINT32_MAX - 1000;
		struct stack_node node = longest[i];

		stacks_encoder_init(&e, memory, sizeof(memory), first);
		while (stacks_encoder_put(&e, &node) == 0) {
			count++;
			node.offset ^= longest[i].offset; /* so that differences are long */
		}
		assert_int_equal(count, stacks_encoder_room(sizeof(memory)));
	}
}

static void test_stacks_damage(void **unused)
{
	uint8_t forward[] = {9}, one[] = {1}, none[] = {0}, open[] = {0x80};
	struct {
		uint8_t *parent, *module, *offset;
		size_t module_length, offset_length;
		const char *name;
	} cases[] = {
		{forward, one, one, 1, 1, "parent"}, {none, open, one, 1, 1, "module"},
		{none, one, open, 1, 1, "offset"},   {open, one, one, 1, 1, "parent"},
		{none, one, one, 0, 1, "module"},    {none, one, one, 1, 0, "offset"},
	};

	(void)unused;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		Heapcast__Stacks m = HEAPCAST__STACKS__INIT;
		struct stacks_decoder d;
		struct stack_node node;
		struct err_text err = {{0}};
		uint32_t number;

		m.first = 5;
		m.parent = (ProtobufCBinaryData){1, cases[i].parent};
		m.module = (ProtobufCBinaryData){cases[i].module_length, cases[i].module};
		m.offset = (ProtobufCBinaryData){cases[i].offset_length, cases[i].offset};
		assert_int_equal(stacks_decoder_init(&d, &m, &err), 0);
		assert_int_equal(stacks_decoder_next(&d, &number, &node, &err), -EBADMSG);
		assert_non_null(strstr(err.text, cases[i].name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_stacks_room),
		cmocka_unit_test(test_stacks_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
