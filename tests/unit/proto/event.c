/* The table of event kinds says the same as the messages and the ring: numbers, classes, names;
 * packed fields come apart again. */
#include "proto/event.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "heapcast.pb-c.h"
#include "proto/ring.h"

static void numbers_are_those_of_the_messages(void **state)
{
	(void)state;
#define X(number, suffix, class_, name)                                                            \
	assert_int_equal(number, HEAPCAST__EVENT_KIND__EVENT_##suffix);
	EVENT_KINDS(X)
#undef X
}

static void every_kind_of_the_messages_has_a_class_and_a_name(void **state)
{
	const ProtobufCEnumDescriptor *kinds = &heapcast__event_kind__descriptor;

	(void)state;
	for (unsigned i = 0; i < kinds->n_values; i++) {
		unsigned number = (unsigned)kinds->values[i].value;

		assert_true(number < EVENT_KIND_LIMIT && number < RING_AUX);
		assert_int_equal(number != 0, event_class(number) != EVENT_CLASS_NONE);
		assert_int_equal(number != 0, event_kind_name(number) != NULL);
	}
}

static void unknown_numbers_name_nothing(void **state)
{
	static const unsigned unknown[] = {0,  15, 17,	31,  41,  47,	     50,
					   63, 64, 128, 255, 256, UINT32_MAX};

	(void)state;
	for (unsigned i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_int_equal(event_class(unknown[i]), EVENT_CLASS_NONE);
		assert_null(event_kind_name(unknown[i]));
	}
}

static void word0_comes_apart_again(void **state)
{
	static const uint32_t sizes[] = {0, 1, 24, 0x7fffffff, 0x80000000, UINT32_MAX};

	(void)state;
	for (unsigned kind = 0; kind < 256; kind += 5)
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (unsigned flags = 0; flags < 4; flags++) {
				unsigned count = (kind * 37 + i) % (RING_MAX_COUNT + 1),
					 keep = (kind * 91 + i) % (RING_MAX_KEEP + 1);
				uint64_t word = RING_WORD0(kind, count, keep, flags & 1, flags >> 1,
							   sizes[i]);

				assert_int_equal(ring_kind(word), kind);
				assert_int_equal(ring_count(word), count);
				assert_int_equal(ring_keep(word), keep);
				assert_int_equal(ring_large(word), flags & 1);
				assert_int_equal(ring_weighted(word), flags >> 1);
				assert_int_equal(ring_size(word), sizes[i]);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_those_of_the_messages),
		cmocka_unit_test(every_kind_of_the_messages_has_a_class_and_a_name),
		cmocka_unit_test(unknown_numbers_name_nothing),
		cmocka_unit_test(word0_comes_apart_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
