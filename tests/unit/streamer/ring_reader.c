/* One slice: what a writer may write is read, and what it may not is refused. */
#include "tests/unit/streamer/harness.h"

#include <errno.h>

#include "agent/ring/ring_reader.h"

#define WORDS 1024

static struct ring_slice slice;
static uint64_t data[WORDS];

static struct writer begin(struct ring_reader *r, uint64_t position)
{
	slice = (struct ring_slice){.words = WORDS, .head = position};
	memset(data, 0, sizeof(data));
	ring_reader_init(r, &slice, data, WORDS);
	r->tail = r->told = r->head = position;
	return (struct writer){.slice = &slice, .data = data, .words = WORDS, .head = position};
}

/* Reads the words of a record behind its head, as those who take it do. */
static void read_words(const struct ring_record *rec, uint64_t *out)
{
	for (uint32_t i = 0; i < rec->count; i++)
		out[i] = ring_reader_pcs(rec)[i];
}

static void test_kinds(void **state)
{
	struct ring_reader r;
	struct ring_record rec;
	struct ring_event event;
	struct writer w = begin(&r, 0);
	uint64_t pcs[] = {7001, 7002, 7003}, got[4];

	(void)state;
	writer_event(&w, 1, 0x1000, 24, 500, 2, 3, pcs);
	writer_word(&w, RING_WORD0(3, 1, 0, 1, 1, 0)); /* realloc, large, weighted */
	for (uint64_t i = 1; i <= 7; i++)
		writer_word(&w, i * 11);
	writer_word(&w, RING_LOST);
	for (uint64_t i = 1; i <= 4; i++)
		writer_word(&w, i == 3 ? UINT64_C(5) << 32 | 6 : i * 100);
	writer_publish(&w);
	assert_int_equal(ring_reader_look(&r), 0);
	assert_int_equal(ring_reader_peek(&r, &rec), 1);
	assert_int_equal(rec.kind, 1);
	assert_int_equal(ring_keep(rec.word0), 2);
	assert_int_equal(rec.stamp, 500);
	ring_reader_event(&rec, &event);
	assert_int_equal(event.size, 24);
	assert_int_equal(event.address, 0x1000);
	read_words(&rec, got);
	assert_memory_equal(got, pcs, sizeof(pcs));
	ring_reader_skip(&r, &rec);
	assert_int_equal(ring_reader_peek(&r, &rec), 1);
	assert_int_equal(rec.class, EVENT_CLASS_REALLOCATION);
	ring_reader_event(&rec, &event);
	assert_int_equal(event.size, 33);
	assert_int_equal(event.interval, 44);
	assert_int_equal(event.old_address, 55);
	assert_int_equal(event.call_stamp, 66);
	read_words(&rec, got);
	assert_int_equal(got[0], 77);
	ring_reader_skip(&r, &rec);
	assert_int_equal(ring_reader_peek(&r, &rec), 1);
	assert_int_equal(rec.lost.events, 200);
	assert_int_equal(rec.lost.allocations, 5);
	assert_int_equal(rec.lost.frees, 6);
	assert_int_equal(rec.lost.bytes, 400);
	ring_reader_skip(&r, &rec);
	assert_int_equal(ring_reader_peek(&r, &rec), 0);
	ring_reader_release(&r);
	assert_int_equal(slice.tail, r.tail);
}

static void test_wrap(void **state)
{
	struct ring_reader r;
	struct ring_record rec;
	struct ring_event event;
	struct writer w = begin(&r, 5 * WORDS - 2);
	uint64_t pc = 9;

	(void)state;
	writer_event(&w, 32, 0x2000, 0, 1, 0, 1, &pc);
	assert_int_equal(ring_reader_look(&r), 0);
	assert_int_equal(ring_reader_peek(&r, &rec), 1);
	assert_int_equal(r.tail, 5 * WORDS);
	ring_reader_event(&rec, &event);
	assert_int_equal(event.address, 0x2000);
}

static void refused(uint64_t at, uint64_t words, uint64_t word0, uint64_t word1)
{
	struct ring_reader r;
	struct ring_record rec;
	struct writer w = begin(&r, at);

	data[at % WORDS] = word0;
	data[(at + 1) % WORDS] = word1;
	w.head = at + words;
	writer_publish(&w);
	assert_int_equal(ring_reader_look(&r), 0);
	assert_int_equal(ring_reader_peek(&r, &rec), -EBADMSG);
	ring_reader_resync(&r);
	assert_int_equal(ring_reader_peek(&r, &rec), 0);
	assert_int_equal(slice.tail, at + words);
}

static void test_refused(void **state)
{
	(void)state;
	refused(0, 8, RING_WORD0(0, 0, 0, 0, 0, 0), 0);	  /* no kind */
	refused(0, 8, RING_WORD0(17, 0, 0, 0, 0, 0), 0);  /* a gap in the kinds */
	refused(0, 8, RING_WORD0(200, 0, 0, 0, 0, 0), 0); /* no aux */
	refused(0, 8, RING_WORD0(1, 6, 0, 0, 0, 0), 0);	  /* more than is published */
	refused(0, 2, RING_WORD0(32, 0, 0, 0, 0, 0), 0);  /* half an event */
	refused(0, 6, RING_WORD0(3, 0, 0, 1, 1, 0), 0);	  /* a reallocation without its last word */
	refused(0, 4, RING_LOST, 0);
	refused(0, 8, RING_WORD0(RING_TEXT, 2, 0, 0, 0, 1), 17); /* text longer than its words */
	refused(0, 8, RING_PAD, 0);				 /* at the start: would never end */
	refused(WORDS - 8, 4, RING_PAD, 0);			 /* beyond head */
	refused(WORDS - 4, 8, RING_WORD0(1, 3, 0, 0, 0, 0), 0);	 /* not in one piece */
	refused(WORDS - 5, 8, RING_WORD0(1, 3, 0, 0, 0, 0), 0);	 /* by its last word */
	refused(WORDS - 4, 8, RING_LOST, 0);
	refused(WORDS - 7, 8, RING_RESTART, 0);
	refused(WORDS - 2, 8, RING_EPOCH, 0);
	refused(0, 7, RING_RESTART, 0);
	refused(0, 2, RING_EPOCH, 0);
	refused(0, 4, RING_WORD0(RING_TEXT, 2, 0, 0, 0, 1), 16);
}

/* A pad that is refused moves nothing, whatever stands where it leads. */
static void test_pads(void **state)
{
	const struct {
		uint64_t at, words;
	} pads[] = {{WORDS - 8, 7}, {WORDS - 8, 1}, {0, WORDS}, {0, WORDS - 1}, {3 * WORDS, WORDS}};

	(void)state;
	for (unsigned i = 0; i < sizeof(pads) / sizeof(pads[0]); i++) {
		struct ring_reader r;
		struct ring_record rec;

		begin(&r, pads[i].at);
		data[0] = RING_WORD0(1, 0, 0, 0, 0, 8);
		data[pads[i].at % WORDS] = RING_PAD;
		slice.head = pads[i].at + pads[i].words;
		assert_int_equal(ring_reader_look(&r), 0);
		assert_int_equal(ring_reader_peek(&r, &rec), -EBADMSG);
		assert_int_equal(r.tail, pads[i].at);
	}
	/* One that ends what is published is followed by nothing. */
	for (uint64_t words = 8; words < 10; words++) {
		struct ring_reader r;
		struct ring_record rec;

		begin(&r, WORDS - 8);
		data[WORDS - 8] = RING_PAD;
		slice.head = WORDS - 8 + words;
		assert_int_equal(ring_reader_look(&r), 0);
		assert_int_equal(ring_reader_peek(&r, &rec), words == 8 ? 0 : -EBADMSG);
		assert_int_equal(r.tail, WORDS);
	}
}

/* Each kind with as many words as it has: they are read in full, one less is refused. */
static void test_lengths(void **state)
{
	const struct {
		uint64_t word0;
		uint32_t length, pcs_at;
	} kinds[] = {
		{RING_WORD0(1, 0, 0, 0, 0, 0), 3, 3},
		{RING_WORD0(1, 7, 0, 0, 0, 0), 10, 3},
		{RING_WORD0(1, 1, 0, 1, 0, 0), 5, 4},
		{RING_WORD0(1, 1, 0, 0, 1, 0), 5, 4},
		{RING_WORD0(1, 1, 0, 1, 1, 0), 6, 5},
		{RING_WORD0(3, 1, 0, 0, 0, 0), 6, 5},
		{RING_WORD0(3, 1, 0, 1, 1, 0), 8, 7},
		{RING_WORD0(32, 2, 0, 0, 0, 0), 5, 3},
		{RING_LOST, 5, 0},
		{RING_RESTART, 8, 0},
		{RING_EPOCH, 3, 3},
		{RING_MOVE, 3, 3},
		{RING_SAVE, 3, 3},
		{RING_WORD0(RING_MARK, 5, 0, 0, 0, 2), 3, 3},
		{RING_WORD0(RING_TEXT, 2, 0, 0, 0, 2), 5, 3},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (unsigned less = 0; less < 2; less++) {
			uint64_t at = 2 * WORDS - kinds[i].length; /* up to the last word */
			struct ring_reader r;
			struct ring_record rec;

			begin(&r, at);
			data[at % WORDS] = kinds[i].word0;
			slice.head = at + kinds[i].length - less;
			assert_int_equal(ring_reader_look(&r), 0);
			assert_int_equal(ring_reader_peek(&r, &rec), less ? -EBADMSG : 1);
			if (less)
				continue;
			assert_int_equal(rec.length, kinds[i].length);
			assert_int_equal(rec.pcs_at, kinds[i].pcs_at);
			assert_ptr_equal(rec.words, data + at % WORDS);
		}
}

/* What stands where in records that are no events. */
static void test_rare(void **state)
{
	struct ring_reader r;
	struct ring_record rec;
	struct writer w = begin(&r, 0);

	(void)state;
	writer_word(&w, RING_RESTART);
	for (uint64_t i = 1; i < 8; i++)
		writer_word(&w, 100 + i);
	writer_word(&w, RING_EPOCH);
	writer_word(&w, 201);
	writer_word(&w, 202);
	writer_word(&w, RING_WORD0(RING_MARK, 0, 0, 0, 0, 0x1ff));
	writer_word(&w, 301);
	writer_word(&w, 302);
	writer_publish(&w);
	assert_int_equal(ring_reader_look(&r), 0);
	assert_int_equal(ring_reader_peek(&r, &rec), 1);
	assert_int_equal(rec.class, EVENT_CLASS_NONE);
	assert_int_equal(rec.incarnation, 101);
	assert_int_equal(rec.stamp, 102);
	assert_int_equal(rec.value, 103);
	assert_int_equal(rec.lost.events, 104);
	assert_int_equal(rec.lost.allocations, 105);
	assert_int_equal(rec.lost.frees, 106);
	assert_int_equal(rec.lost.bytes, 107);
	ring_reader_skip(&r, &rec);
	assert_int_equal(ring_reader_peek(&r, &rec), 1);
	assert_int_equal(rec.value, 201);
	assert_int_equal(rec.stamp, 202);
	assert_int_equal(rec.count, 0);
	assert_int_equal(rec.lost.events, 0);
	ring_reader_skip(&r, &rec);
	assert_int_equal(ring_reader_peek(&r, &rec), 1);
	assert_int_equal(rec.mark, 0xff);
	assert_int_equal(rec.value, 301);
	assert_int_equal(rec.stamp, 302);
	ring_reader_skip(&r, &rec);
	assert_int_equal(ring_reader_peek(&r, &rec), 0);
}

/* The whole of what a slice holds may be published. */
static void test_full(void **state)
{
	struct ring_reader r;
	struct ring_record rec;

	(void)state;
	begin(&r, 100);
	data[100] = RING_WORD0(1, WORDS - 100 - 3, 0, 0, 0, 0);
	slice.head = 100 + WORDS;
	assert_int_equal(ring_reader_look(&r), 0);
	assert_int_equal(ring_reader_peek(&r, &rec), 1);
	assert_int_equal(rec.length, WORDS - 100);
	ring_reader_skip(&r, &rec);
	assert_int_equal(r.tail % WORDS, 0);
}

static void test_head(void **state)
{
	struct ring_reader r;

	(void)state;
	begin(&r, 100);
	slice.head = 99;
	assert_int_equal(ring_reader_look(&r), -EBADMSG);
	slice.head = 100 + WORDS + 1;
	assert_int_equal(ring_reader_look(&r), -EBADMSG);
	slice.head = UINT64_MAX;
	assert_int_equal(ring_reader_look(&r), -EBADMSG);
}

static void test_noise(void **state)
{
	struct ring_reader r;
	struct ring_record rec;
	struct ring_event event;
	uint64_t words[RING_MAX_COUNT];

	(void)state;
	srandom(7);
	for (unsigned round = 0; round < 3000; round++) {
		begin(&r, (uint64_t)random());
		for (unsigned i = 0; i < WORDS; i++)
			data[i] = (uint64_t)(random() % 2 ? random() % 260 : random()) |
				  (uint64_t)random() << 36;
		slice.head = r.tail + (uint64_t)random() % (WORDS + 1);
		assert_int_equal(ring_reader_look(&r), 0);
		while (ring_reader_peek(&r, &rec) == 1) {
			read_words(&rec, words);
			ring_reader_event(&rec, &event);
			ring_reader_skip(&r, &rec);
			assert_true(r.tail <= r.head);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),	cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_pads),
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_rare),
		cmocka_unit_test(test_full),	cmocka_unit_test(test_head),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
