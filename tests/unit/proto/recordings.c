/*
 * Recordings that programs on five processors have made (tests/golden/boards), read here, whatever
 * this processor is: the same for all but where the blocks lie.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "heapcast.pb-c.h"
#include "proto/columns.h"
#include "proto/frame.h"

#define FILE_MAX (64u << 10)
#define TAG	 7 /* tests/targets/target.h */
#define BLOCKS	 1701
#define BYTES	 10877795
#define FREED	 1599
#define HALF	 (UINT64_C(1) << 31)

struct sums {
	uint64_t blocks, bytes, frees, high, last_ns;
	uint32_t pointer_bits, page_size, modules;
	bool big_endian;
	char architecture[16];
};

static void add_events(struct sums *s, const Heapcast__Events *events)
{
	struct err_text err = {{0}};
	struct events_decoder d;
	struct event e;

	assert_int_equal(events_decoder_init(&d, events, &err), 0);
	for (uint32_t i = 0; i < events->count; i++) {
		bool own;

		assert_int_equal(events_decoder_next(&d, &e, &err), 1);
		own = e.class == EVENT_CLASS_ALLOCATION &&
		      e.kind == HEAPCAST__EVENT_KIND__EVENT_MALLOC && e.size % 16 == TAG;
		s->blocks += own;
		s->bytes += own ? e.size : 0;
		s->high += own && e.address >= HALF;
		s->frees += e.kind == HEAPCAST__EVENT_KIND__EVENT_FREE && e.address;
		assert_true(e.time_ns >= s->last_ns);
		s->last_ns = e.time_ns;
	}
	events_decoder_done(&d);
}

static void add_batch(struct sums *s, const Heapcast__Batch *batch)
{
	const Heapcast__Process *p = batch->process;

	if (p) {
		s->pointer_bits = p->pointer_bits;
		s->page_size = p->page_size;
		s->big_endian = p->big_endian;
		snprintf(s->architecture, sizeof(s->architecture), "%s", p->architecture);
	}
	s->modules += (uint32_t)batch->n_module;
	if (batch->events)
		add_events(s, batch->events);
}

static struct sums read_recording(const char *name)
{
	static uint8_t file[FILE_MAX];
	struct frame_decoder *decoder = frame_decoder_new();
	struct err_text err = {{0}};
	struct sums s = {0};
	size_t length, at = 0, size, message_length;
	const uint8_t *message;
	char path[512];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s", RECORDINGS, name);
	stream = fopen(path, "rb");
	assert_non_null(stream);
	assert_non_null(decoder);
	size = fread(file, 1, sizeof(file), stream);
	fclose(stream);
	assert_true(size > 0 && size < sizeof(file));
	for (; at < size; at += length) {
		Heapcast__Batch *batch;

		assert_int_equal(frame_length(file + at, size - at, &length, &err), 1);
		assert_int_equal(
			frame_decode(decoder, file + at, length, &message, &message_length, &err),
			0);
		batch = heapcast__batch__unpack(NULL, message_length, message);
		assert_non_null(batch);
		add_batch(&s, batch);
		heapcast__batch__free_unpacked(batch, NULL);
	}
	frame_decoder_free(decoder);
	return s;
}

static void test_recordings(void **state)
{
	static const struct {
		const char *name, *architecture;
		uint32_t bits;
		bool big;
		uint64_t high;
	} made[] = {
		{"amd64", "x86_64", 64, false, BLOCKS}, {"arm64", "aarch64", 64, false, BLOCKS},
		{"armhf", "arm", 32, false, 1233},	{"mips64el", "mips64el", 64, false, BLOCKS},
		{"mips64", "mips64", 64, true, BLOCKS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		struct sums s = read_recording(made[i].name);

		print_message("%s\n", made[i].name);
		assert_string_equal(s.architecture, made[i].architecture);
		assert_int_equal(s.pointer_bits, made[i].bits);
		assert_int_equal(s.big_endian, made[i].big);
		assert_int_equal(s.page_size, 4096);
		assert_true(s.modules >= 3);
		assert_int_equal(s.blocks, BLOCKS);
		assert_int_equal(s.bytes, BYTES);
		assert_int_equal(s.frees, FREED);
		assert_int_equal(s.high, made[i].high);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_recordings)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
