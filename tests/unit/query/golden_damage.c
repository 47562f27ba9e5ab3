/*
 * What is made of damaged bytes, one after the other changed though a right checksum vouches for
 * them: which are refused, and what the others mean. Messages of agents, the state of a recording,
 * blocks of rows, sums of all rows, the index of usage over time. All of it adds up to the numbers
 * in golden_damage.expect (golden_table.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <xxhash.h>

#include "collector/columns/block.h"
#include "collector/derive/recording_parts.h"
#include "collector/derive/state.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/query/sweep/parallel.h"
#include "collector/query/time/usage_index.h"
#include "tests/unit/query/ask_recording.h"
#include "tests/unit/query/golden_recordings.h"
#include "tests/unit/query/golden_table.h"

#define EVENTS 32
#define STATE  4711

/* Bytes from `from` on, changed in one way after the other. */
static void each_damage(uint8_t *bytes, size_t from, size_t length, size_t step,
			void (*see)(void *context, uint64_t *sum), void *context, uint64_t *sum)
{
	for (size_t i = from; i < length; i += step) {
		const uint8_t was = bytes[i],
			      ways[] = {(uint8_t)(was + 1), (uint8_t)(was - 1), (uint8_t)~was};

		bytes[i] = ways[i % 3];
		see(context, sum);
		bytes[i] = was;
	}
}

/* ---- messages ---- */

struct messages {
	const struct builder *b;
	struct frame_encoder *encoder;
	uint8_t *message; /* with headroom; of the frame that is changed */
	size_t length, frame;
	bool again; /* it is read from the file again, too */
	int fd;
	char path[32];
};

static void write_at(int fd, const void *bytes, size_t length, size_t *at)
{
	assert_int_equal(pwrite(fd, bytes, length, (off_t)*at), (ssize_t)length);
	*at += length;
}

static void write_changed(const struct messages *m)
{
	static uint8_t message[1 << 16], frame[1 << 17];
	size_t first = m->frame ? m->b->ends[m->frame - 1] : 0, behind = m->b->ends[m->frame],
	       at = 0;
	long n;

	memcpy(message, m->message, FRAME_HEADROOM + m->length);
	n = frame_encode(m->encoder, message + FRAME_HEADROOM, m->length, frame, sizeof(frame));
	assert_true(n > 0);
	write_at(m->fd, m->b->file.data, first, &at);
	write_at(m->fd, frame, (size_t)n, &at);
	write_at(m->fd, m->b->file.data + behind, m->b->file.length - behind, &at);
	assert_int_equal(ftruncate(m->fd, (off_t)at), 0);
}

static void see_messages(void *context, uint64_t *sum)
{
	struct messages *m = context;
	struct recording *r;
	int e;

	write_changed(m);
	e = recording_open(m->path, NULL, NULL, &r, NULL);
	ask_digest(sum, (uint64_t)-e);
	if (e)
		return;
	assert_int_equal(ask_recording(r, sum), 0);
	if (m->again)
		assert_int_equal(ask_recording_file(r, NO_TIME, sum), 0);
	recording_close(r);
}

/* Opening takes a while: some bytes of each. */
#define STEP 7

static bool is_read_again(const uint8_t *message, size_t length)
{
	Heapcast__Batch *batch = heapcast__batch__unpack(NULL, length, message);
	bool again = batch && (batch->maps || batch->n_figures || batch->allocator);

	heapcast__batch__free_unpacked(batch, NULL);
	return again;
}

static void check_messages(const char *name, const struct builder *b)
{
	struct messages m = {.b = b, .encoder = frame_encoder_new()};
	struct frame_decoder *decoder = frame_decoder_new();
	uint64_t sum = 1;

	m.fd = memfd_create("messages", MFD_CLOEXEC);
	assert_true(m.encoder && decoder && m.fd >= 0);
	snprintf(m.path, sizeof(m.path), "/proc/self/fd/%d", m.fd);
	golden_begin(name);
	for (m.frame = 0; m.frame < b->frame_count; m.frame++) {
		size_t first = m.frame ? b->ends[m.frame - 1] : 0;
		const uint8_t *message;

		assert_int_equal(frame_decode(decoder, b->file.data + first,
					      b->ends[m.frame] - first, &message, &m.length, NULL),
				 0);
		m.message = malloc(FRAME_HEADROOM + m.length);
		assert_non_null(m.message);
		memcpy(m.message + FRAME_HEADROOM, message, m.length);
		m.again = is_read_again(message, m.length);
		each_damage(m.message, FRAME_HEADROOM, FRAME_HEADROOM + m.length, STEP,
			    see_messages, &m, &sum);
		free(m.message);
	}
	golden_end(name, sum);
	close(m.fd);
	frame_encoder_free(m.encoder);
	frame_decoder_free(decoder);
}

/* ---- the state ---- */

static void see_state(void *context, uint64_t *sum)
{
	struct buf *state = context, again = {0};
	struct state_fit fit = {0};
	struct recording *r;
	int e;

	assert_int_equal(recording_new(&r), 0);
	e = state_read(r, state->data, state->length, &fit);
	ask_digest(sum, (uint64_t)-e);
	if (!e) {
		assert_int_equal(state_write(r, &fit, &again), 0);
		ask_digest(sum, XXH3_64bits(again.data, again.length));
	}
	buf_done(&again);
	recording_close(r);
}

static void check_state(const char *name, const struct recording *r)
{
	struct state_fit fit = {1, 2, 3, 4, 5, 6};
	struct buf state = {0};
	uint64_t sum = 1;
	size_t length;

	assert_int_equal(state_write(r, &fit, &state), 0);
	golden_begin(name);
	ask_digest(&sum, XXH3_64bits(state.data, state.length));
	see_state(&state, &sum);
	each_damage(state.data, 0, state.length, 1, see_state, &state, &sum);
	length = state.length;
	for (state.length = 0; state.length < length; state.length++)
		see_state(&state, &sum);
	golden_end(name, sum);
	buf_done(&state);
}

/* ---- blocks of rows ---- */

struct packed {
	struct buf bytes;
	struct block_limits limits;
	struct rows_block *to;
	uint32_t count;
};

static void put_number(uint8_t *to, uint64_t number)
{
	for (unsigned i = 0; i < 8; i++)
		to[i] = (uint8_t)(number >> 8 * i);
}

/* Checksums of columns where block.h has them. */
static void vouch_block(const struct packed *p)
{
	uint8_t *header = p->bytes.data;
	size_t at = BLOCK_HEADER;

	for (unsigned i = 0; i < BLOCK_COLUMNS; i++) {
		uint32_t length = 0;

		for (unsigned k = 4; k-- > 0;)
			length = length << 8 | header[20 + 12 * i + k];
		if (length > p->bytes.length - at)
			break;
		put_number(header + 24 + 12 * i, XXH3_64bits(header + at, length));
		at += length;
	}
	put_number(header + BLOCK_HEADER - 8, XXH3_64bits(header, BLOCK_HEADER - 8));
}

static void see_block(void *context, uint64_t *sum)
{
	struct packed *p = context;
	struct block_source source = {
		.fd = -1, .memory = p->bytes.data, .length = (uint32_t)p->bytes.length};
	struct buf spare = {0};
	int e;

	vouch_block(p);
	block_clear(p->to, 0);
	p->to->view.count = p->count;
	e = block_unpack(p->to, &source, ROWS_ALL, &p->limits, &spare, NULL);
	ask_digest(sum, (uint64_t)-e);
	for (uint32_t i = 0; i < p->count && !e; i++)
		ask_digest_row(sum, &p->to->view, i);
	buf_done(&spare);
}

static void check_block(const char *name, const struct recording *r)
{
	struct packed p = {.limits = recording_limits(r), .to = block_new(0)};
	uint64_t sum = 1;

	assert_non_null(p.to);
	assert_int_equal(r->rows.slot_count, 1);
	p.count = r->rows.slots[0].open->view.count;
	block_pack(r->rows.slots[0].open, &p.bytes);
	golden_begin(name);
	ask_digest(&sum, XXH3_64bits(p.bytes.data, p.bytes.length));
	see_block(&p, &sum);
	each_damage(p.bytes.data, 0, p.bytes.length, 1, see_block, &p, &sum);
	golden_end(name, sum);
	block_free(p.to);
	buf_done(&p.bytes);
}

/* ---- what is kept of answers ---- */

struct kept {
	struct buf bytes;
	const struct recording *recording;
	const struct history_of *of;
};

static void see_whole(void *context, uint64_t *sum)
{
	struct kept *k = context;
	struct whole_sums *whole;
	int e;

	put_number(k->bytes.data + 8, XXH3_64bits(k->bytes.data + 16, k->bytes.length - 16));
	e = whole_sums_read(k->bytes.data, k->bytes.length, k->recording, STATE, &whole);
	ask_digest(sum, (uint64_t)-e);
	if (e)
		return;
	ask_digest(sum, whole->peak_ns);
	ask_digest(sum, whole->sums.reallocations);
	for (uint32_t i = 0; i < whole->sums.count; i++) {
		const struct node_sum *s = &whole->sums.list[i];

		ask_digest(sum, s->node);
		ask_digest(sum, s->min_size);
		ask_digest(sum, s->last_ns);
		for (enum value v = VALUE_ALLOCATED; v <= VALUE_PEAK; v++) {
			struct tally t = node_sum_tally(&whole->sums, s, v);
			struct usage usage = tally_usage(&t);

			ask_digest_usage(sum, &usage);
		}
	}
	whole_sums_free(whole);
}

static void check_whole(const char *name, struct test_recording *t)
{
	struct kept k = {.recording = t->recording};
	const struct whole_sums *whole;
	struct filter all;
	uint64_t sum = 1;

	filter_init(&all);
	assert_int_equal(view_whole_sums(t->view, &all,
					 WHOLE_PEAK | WHOLE_REALLOCATIONS | WHOLE_GROUP_PEAKS,
					 &whole, NULL),
			 0);
	assert_int_equal(whole_sums_write(whole, t->recording, STATE, &k.bytes), 0);
	golden_begin(name);
	see_whole(&k, &sum);
	each_damage(k.bytes.data, 16, k.bytes.length, 3, see_whole, &k, &sum);
	golden_end(name, sum);
	buf_done(&k.bytes);
}

#define SPANS 5

static void see_index(void *context, uint64_t *sum)
{
	struct kept *k = context;
	struct usage_span spans[SPANS];
	struct usage_index *index;
	uint64_t step = k->of->matcher->end_ns / SPANS, peak;
	int e;

	usage_index_vouch(k->bytes.data, k->bytes.length);
	e = usage_index_read(k->bytes.data, k->bytes.length, k->recording, STATE, &index, NULL);
	ask_digest(sum, (uint64_t)-e);
	if (e)
		return;
	for (unsigned i = 0; i < SPANS; i++)
		spans[i] = (struct usage_span){.from_ns = i * step, .to_ns = (i + 1) * step};
	e = usage_index_spans(index, k->of, spans, SPANS, NULL);
	ask_digest(sum, (uint64_t)-e);
	if (!e)
		ask_digest_numbers(sum, &spans);
	e = usage_index_peak(index, k->of, &peak, NULL);
	ask_digest(sum, (uint64_t)-e);
	if (!e)
		ask_digest(sum, peak);
	usage_index_free(index);
}

static void check_index(const char *name, const struct test_recording *t)
{
	struct matcher matcher;
	struct history_of of = {.matcher = &matcher};
	struct kept k = {.recording = t->recording, .of = &of};
	struct usage_index *index;
	struct filter all;
	const uint8_t *far;
	uint64_t sum = 1;
	size_t length;

	filter_init(&all);
	matcher_init_all(&matcher, t->recording, &all);
	assert_int_equal(usage_index_new(&of, &index, NULL), 0);
	assert_int_equal(usage_index_write(index, t->recording, STATE, &k.bytes, &far, &length), 0);
	buf_append(&k.bytes, far, length);
	golden_begin(name);
	see_index(&k, &sum);
	each_damage(k.bytes.data, 48, k.bytes.length, 1, see_index, &k, &sum);
	golden_end(name, sum);
	usage_index_free(index);
	buf_done(&k.bytes);
}

/* ---- all of it ---- */

static void test_damage(void **state)
{
	static const char *const names[][5] = {
		{"named/messages", "named/state", "named/block", "named/whole", "named/index"},
		{"thinned/messages", "thinned/state", "thinned/block", "thinned/whole",
		 "thinned/index"},
	};

	(void)state;
	parallel_limit(1);
	history_set_sizes(16, 20);
	for (unsigned i = 0; i < 2; i++) {
		struct test_recording t;
		struct builder b;

		if (i)
			golden_thinned(&b, 31, 12);
		else
			golden_named(&b, 90, EVENTS);
		test_open(&t, &b);
		check_messages(names[i][0], &b);
		check_state(names[i][1], t.recording);
		check_block(names[i][2], t.recording);
		check_whole(names[i][3], &t);
		check_index(names[i][4], &t);
		test_close(&t);
		builder_done(&b);
	}
}

int main(int argc, char **argv)
{
	return golden_main(argc, argv, EXPECT "/golden_damage.expect", test_damage);
}
