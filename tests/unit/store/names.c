/* Names that a recording carries: their numbers over agents, what is unknown or lost, places that
 * are named twice or whose hashes meet, and how much of all that is kept. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/recording/names.h"

static struct names names;
static struct names_encoder encoder;

static int begin(void **state)
{
	(void)state;
	names_done(&names);
	names_encoder_clear(&encoder, 1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	names_done(&names);
	names_encoder_done(&encoder);
	return 0;
}

/* Modules 1 to 4 are defined, as 11 to 14. */
static uint32_t module_here(const void *context, uint32_t number)
{
	(void)context;
	return number && number < 5 ? number + 10 : 0;
}

static int add(struct err_text *err)
{
	Heapcast__Names message;

	heapcast__names__init(&message);
	assert_int_equal(names_encoder_fill(&encoder, &message), 0);
	assert_int_equal(names_check(&message, err), 0);
	return names_add(&names, &message, module_here, NULL, err);
}

static void put_text(const char *text)
{
	names_encoder_text(&encoder, text, strlen(text));
}

static void check_text(uint32_t number, const char *expected)
{
	const char *text = names_text(&names, number);

	assert_non_null(text);
	assert_string_equal(text, expected);
}

static void check_frame(uint32_t number, uint32_t function, uint32_t file, uint32_t line)
{
	assert_int_equal(names.frames[number].function, function);
	assert_int_equal(names.frames[number].file, file);
	assert_int_equal(names.frames[number].line, line);
}

static void test_two_agents(void **state)
{
	const struct name_frame frames[] = {{1, 2, 30}, {2, 0, 0}, {3, 1, 5}};
	const struct names_place *place;

	(void)state;
	assert_null(names_find(&names, 11, 0x10));
	assert_null(names_text(&names, 0));
	assert_null(names_text(&names, 1));
	put_text("one");
	put_text("two");
	names_encoder_place(&encoder, 1, 0x10, frames, 3);
	names_encoder_place(&encoder, 4, 0x10, frames, 0);
	names_encoder_place(&encoder, 0, 0x20, frames + 1, 1);
	assert_int_equal(add(NULL), 0);
	check_text(1, "one");
	check_text(2, "two");
	assert_null(names_text(&names, 0));
	assert_null(names_text(&names, 3));
	assert_int_equal(names.place_count, 3);
	assert_int_equal(names.frame_count, 4);
	place = names_find(&names, 11, 0x10);
	assert_non_null(place);
	assert_true(place->first == 0 && place->count == 3 && place->module == 11 &&
		    place->offset == 0x10);
	check_frame(0, 1, 2, 30);
	check_frame(1, 2, 0, 0);
	check_frame(2, 0, 1, 5); /* there is no third text */
	place = names_find(&names, 14, 0x10);
	assert_true(place && place->first == 3 && !place->count);
	place = names_find(&names, 0, 0x20);
	assert_true(place && place->first == 3 && place->count == 1);
	assert_null(names_find(&names, 11, 0x20));
	assert_null(names_find(&names, 12, 0x10));
	assert_int_equal(names.bytes, 2 * (NAMES_TEXT_BYTES + 3) + 3 * NAMES_PLACE_BYTES +
					      4 * NAMES_FRAME_BYTES);
	/* another agent begins at 1 again */
	names_renew(&names);
	names_encoder_clear(&encoder, 1);
	put_text("other");
	names_encoder_place(&encoder, 2, 0x10, frames, 1);
	assert_int_equal(add(NULL), 0);
	check_text(2, "two");
	check_text(3, "other");
	check_frame(4, 3, 0, 30);
	/* a place that is named again has its last names */
	names_encoder_clear(&encoder, 2);
	put_text("more");
	names_encoder_place(&encoder, 1, 0x10, frames, 2);
	assert_int_equal(add(NULL), 0);
	assert_int_equal(names.place_count, 4);
	place = names_find(&names, 11, 0x10);
	assert_true(place && place->first == 5 && place->count == 2);
	check_frame(5, 3, 4, 30);
	check_frame(6, 4, 0, 0);
}

static void test_undefined_module(void **state)
{
	const struct name_frame frame = {0, 0, 1};
	struct err_text err = {0};

	(void)state;
	names_encoder_place(&encoder, 5, 0x10, &frame, 1);
	assert_int_equal(add(&err), -EBADMSG);
	assert_string_equal(err.text, "names: a place in module 5, which is not defined");
	assert_int_equal(names.place_count, 0);
}

/* Texts that are lost are empty, up to 65535 of them; those that come again are known. */
static void test_holes(void **state)
{
	struct err_text err = {0};

	(void)state;
	names_encoder_clear(&encoder, 3);
	put_text("three");
	assert_int_equal(add(NULL), 0);
	assert_int_equal(names.text_count, 3);
	check_text(1, "");
	check_text(2, "");
	check_text(3, "three");
	names_encoder_clear(&encoder, 2);
	put_text("again");
	put_text("again");
	put_text("four");
	assert_int_equal(add(NULL), 0);
	assert_int_equal(names.text_count, 4);
	check_text(2, "");
	check_text(3, "three");
	check_text(4, "four");
	names_renew(&names);
	for (unsigned more = 2; more-- > 0;) {
		names_encoder_clear(&encoder, (1 << 16) + more);
		put_text("far");
		assert_int_equal(add(&err), more ? -EBADMSG : 0);
		assert_int_equal(names.text_count, more ? 4 : 4 + (1 << 16));
		if (more)
			assert_string_equal(err.text, "names: texts 1 to 65536 were never defined");
	}
	check_text(4 + (1 << 16), "far");
	check_text(3 + (1 << 16), "");
}

static void test_showable(void **state)
{
	char text[] = "a\x1f\x7fz\xff\xc3\xa4\xe2\x80\xae\xc3";

	(void)state;
	names_make_showable(text, sizeof(text) - 1);
	assert_string_equal(text, "a??z?\xc3\xa4????");
	strcpy(text, "\x01\x02");
	names_make_showable(text, 1);
	assert_string_equal(text, "?\x02");
	assert_int_equal(names_put_text(&names, "b", 1), 0);
	assert_int_equal(names_put_text(&names,
					"\x01"
					"c\x02",
					3),
			 0);
	check_text(1, "b");
	check_text(2, "?c?");
}

/* Each fills up what is left, to the byte; no more fits. */
static void test_room(void **state)
{
	const struct name_frame frame = {0, 0, 1};
	struct err_text err = {0};

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		begin(NULL);
		names.bytes = NAMES_BYTES_MAX - NAMES_TEXT_BYTES - 3 + more;
		assert_int_equal(names_put_text(&names, "one", 3), more ? -EBADMSG : 0);
		assert_int_equal(names.text_count, !more);
		if (!more)
			assert_int_equal(names.bytes, NAMES_BYTES_MAX);
		names.bytes = NAMES_BYTES_MAX - NAMES_FRAME_BYTES + more;
		assert_int_equal(names_put_frame(&names, frame), more ? -EBADMSG : 0);
		assert_int_equal(names.frame_count, !more);
		names.bytes = NAMES_BYTES_MAX - NAMES_PLACE_BYTES + more;
		assert_int_equal(names_put_place(&names, 1, 2, 0), more ? -EBADMSG : 0);
		assert_int_equal(names.place_count, !more);
	}
	begin(NULL);
	put_text("one");
	names.bytes = NAMES_BYTES_MAX;
	assert_int_equal(add(&err), -EBADMSG);
	assert_string_equal(err.text, "names: more than 256 MiB of them");
	assert_int_equal(add(NULL), -EBADMSG);
}

/* Frames say texts that are there. */
static void test_frames(void **state)
{
	(void)state;
	assert_int_equal(names_put_text(&names, "one", 3), 0);
	assert_int_equal(names_put_frame(&names, (struct name_frame){1, 1, 7}), 0);
	assert_int_equal(names_put_frame(&names, (struct name_frame){2, 1, 7}), -EBADMSG);
	assert_int_equal(names_put_frame(&names, (struct name_frame){1, 2, 7}), -EBADMSG);
	assert_int_equal(names.frame_count, 1);
}

/* Many places, also such whose hashes meet: two share the key of a third. */
static void test_many_places(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(names_put_place(&names, i % 7, i / 7, 0), 0);
	assert_int_equal(names.place_count, 5000);
	for (uint32_t i = 0; i < 5000; i++) {
		const struct names_place *place = names_find(&names, i % 7, i / 7);

		assert_true(place && place->module == i % 7 && place->offset == i / 7);
	}
	/* As if (8, 1) had the key of (3, 1): it is behind that, and each is found still. */
	begin(NULL);
	assert_int_equal(names_put_place(&names, 3, 1, 0), 0);
	names.places[0].module = 8;
	assert_int_equal(names_put_place(&names, 3, 1, 0), 0);
	assert_int_equal(names.place_count, 2);
	names.places[1].offset = 2;
	assert_int_equal(names_put_place(&names, 3, 1, 0), 0);
	assert_int_equal(names.place_count, 3);
	assert_ptr_equal(names_find(&names, 3, 1), &names.places[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_two_agents, begin),
		cmocka_unit_test_setup(test_undefined_module, begin),
		cmocka_unit_test_setup(test_holes, begin),
		cmocka_unit_test_setup(test_showable, begin),
		cmocka_unit_test_setup(test_room, begin),
		cmocka_unit_test_setup(test_frames, begin),
		cmocka_unit_test_setup(test_many_places, begin),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
