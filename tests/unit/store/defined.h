#pragma once
/* Definitions of a recording, to which a test gives batches one by one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/recording/definitions.h"

static struct definitions d;

static inline int begin(void **state)
{
	(void)state;
	definitions_init(&d);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	definitions_done(&d);
	return 0;
}

static inline ProtobufCBinaryData bytes(const char *text)
{
	return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static inline Heapcast__Batch batch_of(uint32_t incarnation)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;

	batch.incarnation = incarnation;
	return batch;
}

static inline void take(const Heapcast__Batch *batch)
{
	struct err_text err = {0};

	if (definitions_add(&d, batch, &err) < 0)
		fail_msg("%s", err.text);
}

static inline void refuse(const Heapcast__Batch *batch, const char *why)
{
	struct err_text err = {0};

	assert_int_equal(definitions_add(&d, batch, &err), -EBADMSG);
	assert_string_equal(err.text, why);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)
