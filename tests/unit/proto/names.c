/* The columns of names: each byte of the example of proto/names.h, there and back, and what is
 * damaged, at each place of each column. */
#include "proto/names.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

static const struct name_frame main_c = {1, 2, 12}, parse[] = {{3, 0, 0}, {1, 2, 7}};

/* The example, with a place far away behind it. */
static void fill(struct names_encoder *e, Heapcast__Names *names)
{
	names_encoder_clear(e, 1);
	assert_int_equal(names_encoder_size(e), 0);
	names_encoder_text(e, "main+", 4);
	names_encoder_text(e, "main.c", 6);
	names_encoder_text(e, "parse", 5);
	names_encoder_place(e, 0, 4096, &main_c, 1);
	names_encoder_place(e, 1, 256, parse, 2);
	names_encoder_place(e, UINT32_MAX, UINT64_MAX, NULL, 0);
	assert_int_equal(names_encoder_fill(e, names), 0);
	assert_int_equal(e->text_count, 3);
	assert_int_equal(e->places, 3);
}

static void expect_bytes(ProtobufCBinaryData column, const void *bytes, size_t length)
{
	assert_int_equal(column.len, length);
	assert_memory_equal(column.data, bytes, length);
}

static void bytes_are_those_of_the_format(void **state)
{
	struct names_encoder e = {0};
	Heapcast__Names n;

	(void)state;
	for (int again = 0; again < 2; again++) {
		fill(&e, &n);
		assert_int_equal(n.first_text, 1);
		expect_bytes(n.texts, "main\0main.c\0parse", 18);
		expect_bytes(n.module, "\0\x01\xff\xff\xff\xff\x0f", 7);
		expect_bytes(n.offset, "\x80\x40\xff\x3b\x81\x04", 6);
		expect_bytes(n.frames, "\x01\x02\0", 3);
		expect_bytes(n.function, "\x01\x03\x01", 3);
		expect_bytes(n.file, "\x02\0\x02", 3);
		expect_bytes(n.line, "\x0c\0\x07", 3);
		assert_int_equal(names_encoder_size(&e), 18 + 7 + 6 + 3 + 3 + 3 + 3);
	}
	names_encoder_clear(&e, 9);
	assert_int_equal(names_encoder_size(&e), 0);
	assert_int_equal(e.text_count, 0);
	assert_int_equal(e.places, 0);
	assert_int_equal(names_encoder_fill(&e, &n), 0);
	assert_int_equal(n.first_text, 9);
	names_encoder_done(&e);
	assert_int_equal(names_encoder_size(&e), 0);
}

static void columns_can_fail(void **state)
{
	(void)state;
	for (unsigned column = 0; column <= NAMES_COLUMNS; column++) {
		struct names_encoder e = {0};
		Heapcast__Names n;

		*(column < NAMES_COLUMNS ? &e.column[column] : &e.texts) = (struct buf){.limit = 2};
		names_encoder_text(&e, "text", 4);
		for (unsigned i = 0; i < 300; i++)
			names_encoder_place(&e, 200, (uint64_t)i << 20,
					    &(struct name_frame){200, 200, 200}, 1);
		assert_int_equal(names_encoder_fill(&e, &n), -EMSGSIZE);
		names_encoder_done(&e);
		assert_null(e.texts.data);
		for (unsigned i = 0; i < NAMES_COLUMNS; i++)
			assert_null(e.column[i].data);
	}
}

/* ---- decoding ---- */

static void they_are_read_back(void **state)
{
	static const char *const texts[] = {"main", "main.c", "parse"};
	struct names_encoder e = {0};
	struct names_decoder d;
	struct name_place place;
	struct name_frame frame;
	struct err_text err = {{0}};
	Heapcast__Names n;
	const char *text;
	uint32_t number;
	size_t length;

	(void)state;
	fill(&e, &n);
	assert_int_equal(names_decoder_init(&d, &n, &err), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(names_decoder_text(&d, &number, &text, &length, &err), 1);
		assert_int_equal(number, i + 1);
		assert_string_equal(text, texts[i]);
		assert_int_equal(length, strlen(texts[i]));
	}
	assert_int_equal(names_decoder_text(&d, &number, &text, &length, &err), 0);
	assert_int_equal(names_decoder_place(&d, &place, &err), 1);
	assert_int_equal(place.module, 0);
	assert_int_equal(place.offset, 4096);
	assert_int_equal(place.frames, 1);
	assert_int_equal(names_decoder_frame(&d, &frame, &err), 0);
	assert_memory_equal(&frame, &main_c, sizeof(frame));
	assert_int_equal(names_decoder_place(&d, &place, &err), 1);
	assert_int_equal(place.module, 1);
	assert_int_equal(place.offset, 256);
	assert_int_equal(place.frames, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(names_decoder_frame(&d, &frame, &err), 0);
		assert_memory_equal(&frame, &parse[i], sizeof(frame));
	}
	assert_int_equal(names_decoder_place(&d, &place, &err), 1);
	assert_int_equal(place.module, UINT32_MAX);
	assert_true(place.offset == UINT64_MAX);
	assert_int_equal(place.frames, 0);
	assert_int_equal(names_decoder_place(&d, &place, &err), 0);
	assert_int_equal(names_decoder_place(&d, &place, &err), 0);
	assert_string_equal(err.text, "");
	names_encoder_done(&e);
}

/* Reads all of it, as its callers do. */
static int read_all(const Heapcast__Names *n, struct err_text *err)
{
	struct names_decoder d;
	struct name_place place;
	struct name_frame frame;
	const char *text;
	uint32_t number;
	size_t length;
	int r = names_decoder_init(&d, n, err);

	if (r < 0)
		return r;
	do
		r = names_decoder_text(&d, &number, &text, &length, err);
	while (r > 0);
	while (r == 0 && (r = names_decoder_place(&d, &place, err)) > 0)
		for (r = 0; !r && place.frames; place.frames--)
			r = names_decoder_frame(&d, &frame, err);
	return r;
}

static void expect_damage(const Heapcast__Names *n, const char *because)
{
	struct err_text err = {{0}};

	assert_int_equal(read_all(n, &err), -EBADMSG);
	assert_string_equal(err.text, because);
	assert_int_equal(read_all(n, NULL), -EBADMSG);
}

static ProtobufCBinaryData *column_of(Heapcast__Names *n, unsigned column)
{
	ProtobufCBinaryData *const columns[] = {&n->module,   &n->offset, &n->frames,
						&n->function, &n->file,	  &n->line};

	return columns[column];
}

static void columns_that_end_too_early(void **state)
{
	static const char *const names[] = {"module",	"offset", "frames",
					    "function", "file",	  "line"};
	struct names_encoder e = {0};
	Heapcast__Names n, whole;

	(void)state;
	fill(&e, &whole);
	assert_int_equal(read_all(&whole, NULL), 0);
	for (unsigned column = 0; column < NAMES_COLUMNS; column++)
		for (size_t length = 0; length < column_of(&whole, column)->len; length++) {
			struct err_text err = {{0}};
			char begin[80];

			n = whole;
			column_of(&n, column)->len = length;
			assert_int_equal(read_all(&n, &err), -EBADMSG);
			snprintf(begin, sizeof(begin), "names: column %s, byte ", names[column]);
			if (column) /* else the others go on */
				assert_memory_equal(err.text, begin, strlen(begin));
		}
	/* Fewer places than the other columns have: the first that goes on is told. */
	n = whole;
	n.module.len = 2;
	expect_damage(&n, "names: column offset, byte 4: goes on after the last place");
	names_encoder_done(&e);
}

static void columns_that_go_on(void **state)
{
	static const char *const because[] = {
		[NAMES_OFFSET] = "names: column offset, byte 6: goes on after the last place",
		[NAMES_FRAMES] = "names: column frames, byte 3: goes on after the last place",
		[NAMES_FUNCTION] = "names: column function, byte 3: goes on after the last place",
		[NAMES_FILE] = "names: column file, byte 3: goes on after the last place",
		[NAMES_LINE] = "names: column line, byte 3: goes on after the last place",
	};
	struct names_encoder e = {0};
	Heapcast__Names n;

	(void)state;
	for (unsigned column = NAMES_OFFSET; column < NAMES_COLUMNS; column++) {
		fill(&e, &n);
		buf_byte(&e.column[column], 0);
		assert_int_equal(names_encoder_fill(&e, &n), 0);
		expect_damage(&n, because[column]);
	}
	names_encoder_done(&e);
}

/* Each number of 32 bits is one that is taken, and the next one is not. */
static void numbers_have_32_bits(void **state)
{
	static const char *const because[] = {
		[NAMES_MODULE] = "names: column module, byte 5: out of range",
		[NAMES_FRAMES] = "names: column frames, byte 5: out of range",
		[NAMES_FUNCTION] = "names: column function, byte 5: out of range",
		[NAMES_FILE] = "names: column file, byte 5: out of range",
		[NAMES_LINE] = "names: column line, byte 5: out of range",
	};
	struct names_encoder e = {0};
	Heapcast__Names n;

	(void)state;
	for (unsigned column = 0; column < NAMES_COLUMNS; column++) {
		if (column == NAMES_OFFSET)
			continue;
		for (uint64_t value = UINT32_MAX; value <= (uint64_t)UINT32_MAX + 1; value++) {
			names_encoder_clear(&e, 0);
			names_encoder_place(&e, 0, 0, &main_c, 1);
			buf_clear(&e.column[column]);
			buf_varint(&e.column[column], value);
			assert_int_equal(names_encoder_fill(&e, &n), 0);
			if (value > UINT32_MAX)
				expect_damage(&n, because[column]);
			else if (column == NAMES_FRAMES)
				expect_damage(&n, "names: column frames, byte 5: a place of too "
						  "many frames");
			else
				assert_int_equal(read_all(&n, NULL), 0);
		}
	}
	names_encoder_done(&e);
}

static void frames_are_bounded(void **state)
{
	static const struct name_frame frames[NAMES_FRAMES_MAX + 1];
	struct names_encoder e = {0};
	Heapcast__Names n;

	(void)state;
	names_encoder_place(&e, 0, 0, frames, NAMES_FRAMES_MAX);
	assert_int_equal(names_encoder_fill(&e, &n), 0);
	assert_int_equal(read_all(&n, NULL), 0);
	names_encoder_clear(&e, 0);
	names_encoder_place(&e, 0, 0, frames, NAMES_FRAMES_MAX + 1);
	assert_int_equal(names_encoder_fill(&e, &n), 0);
	expect_damage(&n, "names: column frames, byte 2: a place of too many frames");
	names_encoder_done(&e);
}

static void texts_are_checked(void **state)
{
	char text[NAMES_TEXT_MAX + 2];
	struct names_encoder e = {0};
	Heapcast__Names n;

	(void)state;
	fill(&e, &n);
	n.first_text = 0;
	expect_damage(&n, "names: texts are numbered from 1");
	n.first_text = 1;
	n.texts.len--;
	expect_damage(&n, "names: the last text has no end");
	memset(text, 'x', sizeof(text));
	for (size_t more = 0; more < 2; more++) {
		names_encoder_clear(&e, 7);
		names_encoder_text(&e, "", 0);
		names_encoder_text(&e, text, NAMES_TEXT_MAX + more);
		assert_int_equal(names_encoder_fill(&e, &n), 0);
		if (more)
			expect_damage(&n, "names: text 8 has 4097 bytes");
		else
			assert_int_equal(read_all(&n, NULL), 0);
	}
	/* No number is left for the second one. */
	names_encoder_clear(&e, UINT32_MAX - 1);
	names_encoder_text(&e, "", 0);
	assert_int_equal(names_encoder_fill(&e, &n), 0);
	assert_int_equal(read_all(&n, NULL), 0);
	names_encoder_text(&e, "a", 1);
	assert_int_equal(names_encoder_fill(&e, &n), 0);
	expect_damage(&n, "names: text 4294967295 has 1 bytes");
	names_encoder_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_those_of_the_format),
		cmocka_unit_test(columns_can_fail),
		cmocka_unit_test(they_are_read_back),
		cmocka_unit_test(columns_that_end_too_early),
		cmocka_unit_test(columns_that_go_on),
		cmocka_unit_test(numbers_have_32_bits),
		cmocka_unit_test(frames_are_bounded),
		cmocka_unit_test(texts_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
