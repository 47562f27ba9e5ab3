/* The source of a ring: what becomes of each record, and of each announcement of a module. */
#include "tests/unit/streamer/ring_scene.h"

#include "agent/core/weight.h"

#define REALLOC HEAPCAST__EVENT_KIND__EVENT_REALLOC

/* ---- records ---- */

#define EXPECTED_MOST 3000

/* What is to come, in order. */
static struct expected {
	struct run_item item;
	uint64_t pcs[8];
	char text[40];
} expected[EXPECTED_MOST];
static unsigned expected_count, met;

static void assert_as(const struct expected *e, const struct run_item *item)
{
	const struct run_item *to = &e->item;

	assert_int_equal(item->kind, to->kind);
	assert_int_equal(item->lane, to->lane);
	assert_int_equal(item->time_ns, to->time_ns);
	if (to->kind == RUN_EVENT) {
		assert_int_equal(item->flags, to->flags);
		assert_int_equal(item->event, to->event);
		assert_int_equal(item->class, event_traits[to->event].class);
		assert_int_equal(item->address, to->address);
		if (event_has_size(to->event))
			assert_int_equal(item->size, to->size);
		assert_int_equal(run_keep(item), run_keep(to));
		assert_int_equal(run_count(item), run_count(to));
		assert_memory_equal(item->pcs, e->pcs, run_count(to) * sizeof(e->pcs[0]));
		assert_int_equal(item->epoch, to->epoch);
		if (item->class == EVENT_CLASS_REALLOCATION) {
			assert_int_equal(item->old_address, to->old_address);
			assert_int_equal(item->call_time_ns, to->call_time_ns);
		}
		if (to->flags & RUN_WEIGHTED)
			assert_int_equal(item->weight, to->weight);
	}
	if (to->kind == RUN_MARK) {
		assert_int_equal(item->mark.kind, to->mark.kind);
		assert_int_equal(item->mark.value, to->mark.value);
		assert_int_equal(item->mark.text_length, to->mark.text_length);
		if (to->mark.text_length)
			assert_memory_equal(item->mark.text, e->text, to->mark.text_length);
	}
	if (to->kind == RUN_GAP) {
		assert_int_equal(item->gap.from_ns, to->gap.from_ns);
		assert_int_equal(item->gap.reason, to->gap.reason);
		assert_memory_equal(&item->gap.lost, &to->gap.lost, sizeof(to->gap.lost));
	}
}

static void meet(const struct run_item *item)
{
	if (item->kind == RUN_THREAD)
		return;
	assert_true(met < expected_count);
	assert_as(&expected[met++], item);
}

static struct expected *expect(enum run_kind kind, uint64_t ns)
{
	struct expected *e = &expected[expected_count++];

	assert_true(expected_count <= EXPECTED_MOST);
	*e = (struct expected){.item = {.kind = (uint8_t)kind, .lane = 3}};
	e->item.time_ns = stream_of(ns);
	return e;
}

static uint64_t draw(uint64_t most)
{
	return (uint64_t)random() % most;
}

/* What a writer goes on with. */
static struct writing {
	struct writer w;
	uint64_t ns, last_ns;
	uint32_t epoch;
	bool restarts;
} writing;

static void write_event(void)
{
	static const uint8_t kinds[] = {MALLOC, REALLOC, FREE, HEAPCAST__EVENT_KIND__EVENT_MMAP,
					HEAPCAST__EVENT_KIND__EVENT_MUNMAP};
	uint8_t kind = kinds[draw(5)];
	bool large = event_has_size(kind) && !draw(6), weighted = kind == MALLOC && !draw(4),
	     moves = event_class(kind) == EVENT_CLASS_REALLOCATION;
	unsigned count = (unsigned)draw(8), keep = (unsigned)draw(4096);
	uint64_t size = draw(1u << 30), interval = 1 + draw(1 << 16),
		 call_ns = writing.ns - draw(3000);
	struct expected *e = expect(RUN_EVENT, writing.ns);
	struct writer *w = &writing.w;

	size = large ? size << 20 : size;
	e->item.time_ns -= e->item.time_ns % RUN_TICK_NS;
	e->item.event = kind;
	e->item.address = draw(UINT32_MAX) << 8;
	e->item.size = size;
	e->item.frames = RUN_FRAMES(keep, count);
	e->item.epoch = writing.epoch;
	e->item.flags = (writing.restarts ? RUN_RESTART : 0) | (weighted ? RUN_WEIGHTED : 0);
	writing.restarts = false;
	w->slice->events++;
	writer_pad(w, 7 + count);
	writer_word(w, RING_WORD0(kind, count, keep, large, weighted, large ? 0 : size));
	writer_word(w, e->item.address);
	writer_word(w, stamp_of(writing.ns));
	if (large)
		writer_word(w, size);
	if (weighted) {
		writer_word(w, interval);
		e->item.weight = weight_of(size, interval);
	}
	if (moves) {
		e->item.old_address = draw(1 << 20);
		e->item.call_time_ns =
			writing.ns - call_ns >= RUN_TICK_NS ? writing.ns - call_ns : 0;
		writer_word(w, e->item.old_address);
		writer_word(w, stamp_of(call_ns));
	}
	for (unsigned i = 0; i < count; i++) {
		e->pcs[i] = 4096 + draw(1u << 30);
		writer_word(w, e->pcs[i]);
	}
}

static void write_rare(void)
{
	struct writer *w = &writing.w;
	unsigned which = (unsigned)draw(4), length = (unsigned)draw(40);
	struct expected *e;

	writer_pad(w, 8);
	if (which == 0) {
		writing.epoch++;
		writer_word(w, RING_EPOCH);
		writer_word(w, writing.epoch);
		writer_word(w, stamp_of(writing.ns));
	} else if (which == 1) {
		e = expect(RUN_MARK, writing.ns);
		e->item.mark.kind = (int)draw(256);
		e->item.mark.value = draw(1 << 20);
		writer_word(w, RING_WORD0(RING_MARK, 0, 0, 0, 0, e->item.mark.kind));
		writer_word(w, e->item.mark.value);
		writer_word(w, stamp_of(writing.ns));
	} else if (which == 2) {
		unsigned words = (length + 7) / 8;
		uint64_t text[5] = {0};

		e = expect(RUN_MARK, writing.ns);
		memset(e->text, 'a' + (int)draw(26), length);
		memcpy(text, e->text, length);
		e->item.mark.kind = 7;
		e->item.mark.text_length = length;
		writer_word(w, RING_WORD0(RING_TEXT, words, 0, 0, 0, 7));
		writer_word(w, length);
		writer_word(w, stamp_of(writing.ns));
		for (unsigned i = 0; i < words; i++)
			writer_word(w, text[i]);
	} else {
		uint64_t allocations = draw(10), frees = draw(10);

		e = expect(RUN_GAP, writing.ns);
		e->item.gap.lost = (struct run_losses){allocations + frees + 1, allocations, frees,
						       draw(1000)};
		e->item.gap.reason = HEAPCAST__REASON__REASON_RING_FULL;
		e->item.gap.from_ns = stream_of(writing.last_ns);
		w->slice->events += e->item.gap.lost.events;
		writer_word(w, RING_LOST);
		writer_word(w, stamp_of(writing.ns));
		writer_word(w, e->item.gap.lost.events);
		writer_word(w, allocations << 32 | frees);
		writer_word(w, e->item.gap.lost.bytes);
	}
}

/* All of what a thread may write, in any order and at any place of its slice. */
static void test_records(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 25; seed++) {
		srandom(seed);
		scene_close(NULL);
		scene_open(NULL);
		expected_count = met = 0;
		writing = (struct writing){.w = claim(3, 7), .ns = BEGIN_NS, .restarts = true};
		writing.last_ns = BEGIN_NS - 100 * MS; /* its claim */
		scene.look = meet;
		while (expected_count < EXPECTED_MOST - 100) {
			unsigned some = 1 + (unsigned)draw(12);

			for (unsigned i = 0; i < some; i++) {
				writing.ns += draw(4) ? draw(300) : draw(5000);
				if (draw(8))
					write_event();
				else
					write_rare();
				writing.last_ns = writing.ns;
			}
			writer_publish(&writing.w);
			scene.now_ns = writing.ns + 1;
			scene_round(false);
			assert_int_equal(met, expected_count);
		}
		assert_int_equal(scene.s.records_damaged, 0);
		scene.look = NULL;
		for (unsigned i = 0; i < expected_count; i++) /* it has told all that it lost */
			if (expected[i].item.kind == RUN_GAP)
				writing.w.slice->lost.events += expected[i].item.gap.lost.events;
		writer_die(&writing.w);
		scene_round(false);
		assert_int_equal(got_count(RUN_ENDED), 1);
		assert_int_equal(got_count(RUN_GAP), 0);
	}
}

/* A thread that is blocked behind the agent's absence loses for another reason. */
static void test_back(void **state)
{
	const struct {
		uint64_t after_ns;
		int reason;
	} cases[] = {{SECOND, HEAPCAST__REASON__REASON_AGENT_GONE},
		     {SECOND + 1, HEAPCAST__REASON__REASON_RING_FULL}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t beats;
		struct writer w;

		scene_close(NULL);
		scene_open(NULL);
		w = claim(3, 7);
		beats = header()->heartbeat;
		scene.s.source.ops->turn(&scene.s.source, false);
		assert_int_equal(scene.s.back, 0);
		scene.s.source.ops->turn(&scene.s.source, true);
		assert_int_equal(header()->heartbeat, beats + 2);
		w.slice->events++;
		writer_word(&w, RING_LOST);
		writer_word(&w, stamp_of(BEGIN_NS + cases[i].after_ns));
		writer_word(&w, 1);
		writer_word(&w, 0);
		writer_word(&w, 0);
		writer_publish(&w);
		scene.now_ns += 2 * SECOND;
		scene_round(false);
		assert_int_equal(got(RUN_GAP, 0)->gap.reason, cases[i].reason);
	}
}

/* A longer text is cut. */
static void test_long_text(void **state)
{
	struct writer w;
	const struct run_item *item;

	(void)state;
	w = claim(scene.s.ring->slice_count - 1, 7); /* a large slice */
	for (unsigned length = RING_TEXT_MAX; length <= RING_TEXT_MAX + 8; length += 8) {
		writer_word(&w, RING_WORD0(RING_TEXT, length / 8, 0, 0, 0, 5));
		writer_word(&w, length);
		writer_word(&w, stamp_of(BEGIN_NS - MS));
		for (unsigned i = 0; i < length; i += 8)
			writer_word(&w, 0x6161616161616161);
		writer_publish(&w);
		scene_round(false);
		item = got(RUN_MARK, 0);
		assert_non_null(item);
		assert_int_equal(item->mark.text_length, RING_TEXT_MAX);
		assert_int_equal(item->mark.value, 0);
	}
}

/* ---- modules ---- */

/* One announcement: the struct, its segments, and the path. */
static uint64_t announced[(sizeof(struct ring_module) + 10 * 32 + MODULE_PATH_MAX + 9) / 8 + 1];
static struct ring_module *const announcement = (struct ring_module *)(void *)announced;

/* An announcement of this length, of a file with so many segments and letters. */
static struct ring_module *announce(unsigned segments, unsigned letters)
{
	struct ring_module *m = announcement;
	uint64_t *words = announced + sizeof(*m) / 8;

	memset(announced, 0, sizeof(announced));
	for (unsigned i = 0; i < 4 * segments; i++)
		words[i] = 10 * (i / 4) + i % 4 + 1;
	memset(words + 4 * segments, 'p', letters);
	*m = (struct ring_module){
		.length = (uint32_t)((sizeof(*m) + segments * 32 + letters + 7) & ~7u),
		.kind = RING_MODULE_LOAD,
		.path_length = (uint16_t)letters,
		.id = 4,
		.epoch = 5,
		.stamp = stamp_of(BEGIN_NS - MS),
		.bias = 6,
		.start = 7,
		.end = 8,
		.build_id_length = 3,
		.segment_count = (uint8_t)segments,
		.print = 9,
		.build_id = "id",
	};
	return m;
}

/* Publishes it; of less than all of it so much. */
static void publish(uint64_t bytes)
{
	uint64_t at = header()->modules_head, size = scene.s.ring->modules_size;

	for (uint64_t i = 0; i < bytes; i++)
		scene.s.ring->modules[(at + i) & (size - 1)] = ((uint8_t *)announced)[i];
	header()->modules_head = at + bytes;
}

static void meet_module(const struct run_item *item)
{
	const struct run_module *m = item->module;

	assert_int_equal(item->kind, RUN_LOAD);
	assert_int_equal(item->lane, RUN_NO_LANE);
	assert_int_equal(item->time_ns, stream_of(BEGIN_NS - MS));
	assert_int_equal(m->id, 4);
	assert_int_equal(m->epoch, 5);
	assert_int_equal(m->time_ns, item->time_ns);
	assert_int_equal(m->bias, 6);
	assert_int_equal(m->start, 7);
	assert_int_equal(m->end, 8);
	assert_int_equal(m->print, 9);
	assert_int_equal(m->build_id_length, 3);
	assert_memory_equal(m->build_id, "id", 3);
	assert_int_equal(m->path_length, announcement->path_length);
	for (unsigned i = 0; i < m->path_length; i++)
		assert_int_equal(m->path[i], 'p');
	assert_int_equal(m->segment_count,
			 announcement->segment_count < 8 ? announcement->segment_count : 8);
	for (unsigned i = 0; i < m->segment_count; i++) {
		assert_int_equal(m->segment[i].address, 10 * i + 1);
		assert_int_equal(m->segment[i].size, 10 * i + 2);
		assert_int_equal(m->segment[i].file_offset, 10 * i + 3);
		assert_int_equal(m->segment[i].flags, 10 * i + 4);
	}
}

/* At all places of the channel; one that does not fit before its end begins at its start. */
static void test_modules(void **state)
{
	uint64_t size = scene.s.ring->modules_size;

	(void)state;
	scene.look = meet_module;
	for (unsigned round = 0; round < 3000; round++) {
		struct ring_module *m = announce(round % 11, round * 7 % 60);
		uint64_t at = header()->modules_head, left = size - (at & (size - 1));
		uint32_t length = m->length;

		if (left < length) {
			struct ring_module pad = *m;

			m->kind = RING_MODULE_PAD;
			publish(8);
			header()->modules_head = at + left;
			*m = pad;
		}
		publish(length);
		scene_round(false);
		assert_int_equal(got_count(RUN_LOAD), 1);
		assert_int_equal(header()->modules_tail, header()->modules_head);
	}
	assert_int_equal(scene.s.records_damaged, 0);
}

/* Several are one in a run each; the room of one is given back when it was taken. */
static void test_modules_in_order(void **state)
{
	const struct run_item *item;
	uint64_t first;

	(void)state;
	publish(announce(1, 8)->length);
	first = header()->modules_head;
	announce(0, 0)->kind = RING_MODULE_UNLOAD;
	publish(announcement->length);
	publish(announce(2, 9)->length);
	scene_fill(false);
	assert_int_equal(got_count(RUN_LOAD), 1);
	assert_int_equal(header()->modules_tail, 0);
	scene_fill(false);
	assert_int_equal(header()->modules_tail, first);
	item = got(RUN_UNLOAD, 0);
	assert_non_null(item);
	assert_int_equal(item->lane, RUN_NO_LANE);
	assert_int_equal(item->unload.id, 4);
	assert_int_equal(item->unload.epoch, 5);
	assert_int_equal(item->time_ns, stream_of(BEGIN_NS - MS));
	scene_fill(false);
	assert_int_equal(got_count(RUN_LOAD), 2);
	assert_false(scene.run.complete);
	scene_fill(false);
	assert_true(scene.run.complete);
	assert_int_equal(header()->modules_tail, header()->modules_head);
}

/* One that can't be is passed over, with all behind it if its length is wrong. */
static void test_bad_modules(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 17; i++) {
		struct ring_module *m = announce(2, i == 3    ? MODULE_PATH_MAX + 1
						    : i == 16 ? MODULE_PATH_MAX
							      : 16);
		uint64_t length = m->length, published = length;
		bool is_read = i > 9, goes_on = i >= 3;

		scene_close(NULL);
		scene_open(NULL);
		switch (i) {
		case 0:
			m->length = 0;
			break;
		case 1:
			m->length += 4;
			break;
		case 2:
			m->length += 8; /* more than is published, but for the next one */
			published = 0;
			break;
		case 4:
			m->length = published = sizeof(*m) - 8;
			break;
		case 5:
			m->kind = 3;
			break;
		case 6:
			m->segment_count = 3; /* beyond its length */
			m->path_length = 0;
			break;
		case 7:
			m->path_length++;
			break;
		case 8:
			m->start = m->end;
			break;
		case 9:
			m->build_id_length = 33;
			break;
		case 10:
			m->build_id_length = 32;
			break;
		case 11:
			m->segment_count = 0;
			break;
		case 12:
			m->path_length = 0;
			break;
		case 13:
			m->start = m->end - 1;
			break;
		default:
			break;
		}
		if (published) {
			publish(published);
			announce(0, 0)->kind = RING_MODULE_UNLOAD;
			publish(announcement->length);
		} else {
			publish(length);
		}
		scene_round(false);
		assert_int_equal(got_count(RUN_LOAD), is_read);
		assert_int_equal(got_count(RUN_UNLOAD), goes_on);
		assert_int_equal(scene.s.records_damaged, !is_read);
		assert_int_equal(header()->modules_tail, header()->modules_head);
	}
}

/* A head that can't be. */
static void test_bad_heads(void **state)
{
	const struct {
		uint64_t tail, head;
	} cases[] = {{64, 56}, {64, 64 + (1 << 16) + 8}, {64, 68}, {64, UINT64_MAX}};

	(void)state;
	assert_int_equal(scene.s.ring->modules_size, 1 << 16);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scene_close(NULL);
		scene_open(NULL);
		scene.s.modules_tail = cases[i].tail;
		header()->modules_head = cases[i].head;
		announce(0, 0)->kind = RING_MODULE_UNLOAD;
		memcpy(scene.s.ring->modules + 64, announced, sizeof(*announcement));
		scene_round(false);
		assert_int_equal(scene.s.records_damaged, 1);
		assert_int_equal(scene.count, 0);
		assert_int_equal(scene.s.modules_tail, cases[i].head & ~UINT64_C(7));
		assert_int_equal(header()->modules_tail, cases[i].head & ~UINT64_C(7));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(test_records),	      SCENE(test_back),
		SCENE(test_long_text),	      SCENE(test_modules),
		SCENE(test_modules_in_order), SCENE(test_bad_modules),
		SCENE(test_bad_heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
