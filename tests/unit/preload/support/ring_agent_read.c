/* How the agent of the tests reads a ring: modules, records, and slices that are over. */
#include "tests/unit/preload/support/ring_agent_state.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/event.h"

static void fault(struct agent *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fault(struct agent *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!a->result->faults++)
		vsnprintf(a->result->first_fault, sizeof(a->result->first_fault), format, args);
	va_end(args);
}

/* Modules. */

/* The module that held an address in an epoch: records may be read after the UNLOAD of what they
 * speak of. */
static struct agent_module *module_of(struct agent *a, uint64_t pc, uint32_t epoch)
{
	for (size_t i = a->result->module_count; i-- > 0;) {
		struct agent_module *m = &a->result->modules[i];

		if (epoch >= m->first_epoch && (m->live || epoch < m->end_epoch) &&
		    pc >= m->start && pc < m->end)
			return m;
	}
	return NULL;
}

/* Another agent is told of what the one before knew; perhaps twice, if it follows soon. */
static bool told_again(struct agent *a, const struct ring_module *from)
{
	uint32_t incarnation = a->ring->account.incarnation;

	for (size_t i = 0; i < a->result->module_count; i++) {
		struct agent_module *m = &a->result->modules[i];

		if (incarnation == 1 || m->id != from->id || !m->live || m->start != from->start ||
		    m->end != from->end)
			continue;
		m->incarnation = incarnation;
		a->result->told_again++;
		return true;
	}
	return false;
}

static void module_load(struct agent *a, const struct ring_module *from)
{
	const char *path = (const char *)(from + 1) + from->segment_count * 32u;
	struct agent_result *r = a->result;
	struct agent_module *m;

	if (told_again(a, from))
		return;
	if (r->module_count == a->module_room) {
		a->module_room = a->module_room ? a->module_room * 2 : 64;
		r->modules = realloc(r->modules, a->module_room * sizeof(*r->modules));
		must(r->modules != NULL, "modules");
	}
	if (module_of(a, from->start, from->epoch))
		fault(a, "module %u lies where another is", from->id);
	if (sizeof(*from) + from->segment_count * 32u + from->path_length > from->length)
		fault(a, "module %u is longer than its record", from->id);
	if (!from->segment_count || from->start >= from->end || !from->stamp || !from->id)
		fault(a, "module %u makes no sense", from->id);
	m = &r->modules[r->module_count++];
	*m = (struct agent_module){.id = from->id,
				   .start = from->start,
				   .end = from->end,
				   .live = true,
				   .incarnation = a->ring->account.incarnation,
				   .first_epoch = from->epoch,
				   .has_build_id = from->build_id_length > 0};
	snprintf(m->path, sizeof(m->path), "%.*s", from->path_length, path);
}

static void module_unload(struct agent *a, uint32_t id, uint32_t epoch)
{
	for (size_t i = 0; i < a->result->module_count; i++) {
		struct agent_module *m = &a->result->modules[i];

		if (m->id != id)
			continue;
		if (!m->live)
			fault(a, "module %u unloaded twice", id);
		m->live = false;
		m->end_epoch = epoch;
		return;
	}
	fault(a, "unload of module %u that was not there", id);
}

static void drain_modules(struct agent *a)
{
	uint64_t head = __atomic_load_n(&a->ring->modules_head, __ATOMIC_ACQUIRE),
		 tail = a->ring->modules_tail;
	const uint8_t *channel = (const uint8_t *)a->ring + a->ring->modules_offset;

	while (tail < head) {
		const struct ring_module *m = (const void *)(channel + (tail & (MODULES_SIZE - 1)));

		if (m->length < 8 || m->length % 8 || m->length > head - tail ||
		    (tail & (MODULES_SIZE - 1)) + m->length > MODULES_SIZE) {
			fault(a, "module record of %u bytes", m->length);
			break;
		}
		if (m->kind == RING_MODULE_LOAD)
			module_load(a, m);
		else if (m->kind == RING_MODULE_UNLOAD)
			module_unload(a, m->id, m->epoch);
		tail += m->length;
	}
	__atomic_store_n(&a->ring->modules_tail, tail, __ATOMIC_RELEASE);
}

/* Records. */

static void keep_event(struct agent *a, const struct agent_event *event)
{
	struct agent_result *r = a->result;

	if (a->options->keep_no_events)
		return;
	if (r->count == a->event_room) {
		a->event_room = a->event_room ? a->event_room * 2 : 4096;
		r->events = realloc(r->events, a->event_room * sizeof(*r->events));
		must(r->events != NULL, "events");
	}
	r->events[r->count++] = *event;
}

static void reader_forget(struct reader *reader)
{
	reader->whole = true;
	memset(reader->saved_depth, 0, sizeof(reader->saved_depth));
}

static void take_save(struct agent *a, struct reader *reader, uint64_t number)
{
	if (number >= RING_SAVED_MAX || !reader->depth || reader->depth > SAVED_DEPTH_MAX) {
		fault(a, "number %lu for a stack of %u frames", (unsigned long)number,
		      reader->depth);
		return;
	}
	reader->saved_depth[number] = reader->depth;
	memcpy(reader->saved[number], reader->stack, reader->depth * sizeof(reader->stack[0]));
	a->result->saves++;
}

static void take_number(struct agent *a, struct reader *reader, unsigned number)
{
	if (number >= RING_SAVED_MAX || !reader->saved_depth[number]) {
		fault(a, "no stack has number %u", number);
		return;
	}
	reader->depth = reader->saved_depth[number];
	memcpy(reader->stack, reader->saved[number], reader->depth * sizeof(reader->stack[0]));
	reader->whole = true; /* or a numbered one */
	a->result->recalls++;
}

static void take_frames(struct agent *a, struct reader *reader, const uint64_t *pcs, unsigned keep,
			unsigned count)
{
	if (reader->whole && keep)
		fault(a, "keeps %u frames where a whole stack is due", keep);
	if (keep > reader->depth) {
		fault(a, "keeps %u of %u frames", keep, reader->depth);
		keep = reader->depth;
	}
	reader->whole = false;
	for (unsigned i = 0; i < count; i++) {
		uint64_t pc = pcs[count - 1 - i];

		reader->stack[keep + i] = pc;
		if (pc < 16)
			a->result->truncated++;
		else if (!module_of(a, pc - 1, reader->epoch))
			a->result->unknown_pcs++;
	}
	reader->depth = keep + count;
	a->result->new_frames += count;
}

static void take_stack(struct agent *a, struct reader *reader, struct agent_event *event,
		       const uint64_t *pcs, unsigned keep, unsigned count)
{
	if (keep >= RING_RECALL && !count)
		take_number(a, reader, keep - RING_RECALL);
	else
		take_frames(a, reader, pcs, keep, count);
	a->result->all_frames += reader->depth;
	event->depth = reader->depth;
	event->pc = reader->depth ? reader->stack[reader->depth - 1] : 0;
}

/* The remainder of its size, unless the loader or libc made it for themselves: the sizes of theirs
 * hang on the length of the paths of the build folder. */
static unsigned tag_of(struct agent *a, const struct reader *reader,
		       const struct agent_event *event)
{
	const struct agent_module *m =
		event->pc ? module_of(a, event->pc - 1, reader->epoch) : NULL;

	/* (MIPS64's loader is ld.so.1.) */
	return m && (strstr(m->path, "/ld-") || strstr(m->path, "/ld.so") ||
		     strstr(m->path, "/libc.so"))
		       ? 0
		       : event->size % 16;
}

static unsigned take_event(struct agent *a, uint32_t index, const uint64_t *w)
{
	struct reader *reader = &a->readers[index];
	unsigned at = 3, keep = ring_keep(w[0]), count = ring_count(w[0]);
	struct agent_event event = {.kind = ring_kind(w[0]),
				    .tid = slice_at(a, index)->owner_tid,
				    .slice = index,
				    .epoch = reader->epoch,
				    .address = w[1],
				    .stamp = w[2],
				    .size = ring_size(w[0])};

	if (event_class(event.kind) == EVENT_CLASS_NONE)
		fault(a, "event of kind %u", event.kind);
	if (!event.stamp)
		fault(a, "event without a stamp");
	if (ring_large(w[0]))
		event.size = w[at++];
	if (ring_weighted(w[0]))
		event.interval = w[at++];
	if (event_class(event.kind) == EVENT_CLASS_REALLOCATION) {
		event.old_address = w[at++];
		event.call_stamp = w[at++];
		if (event.call_stamp > event.stamp)
			fault(a, "realloc that returned before its call");
	}
	if (keep + count)
		take_stack(a, reader, &event, w + at, keep, count);
	event.tag = tag_of(a, reader, &event);
	reader->read++;
	a->result->read++;
	keep_event(a, &event);
	return at + count;
}

static void take_text(struct agent *a, const uint64_t *w)
{
	struct agent_result *r = a->result;

	if (ring_size(w[0]) == 16) {
		if (!thinning_get(&r->law, (const uint8_t *)(w + 3), w[1]))
			fault(a, "no law of thinning in %lu bytes", (unsigned long)w[1]);
		if (r->law.level > r->level_most)
			r->level_most = r->law.level;
		return;
	}
	snprintf(a->result->last_text, sizeof(a->result->last_text), "%.*s", (int)w[1],
		 (const char *)(w + 3));
	if ((w[1] + 7) / 8 != ring_count(w[0]))
		fault(a, "text of %lu bytes in %u words", (unsigned long)w[1], ring_count(w[0]));
}

static void take_thinning(struct agent_result *r, uint64_t interval)
{
	r->thinned++;
	r->thinned_back += !interval;
	if (interval > r->thinned_most)
		r->thinned_most = interval;
}

/* What the thread has begun is what was read; and whatever it names from here on has been
 * announced. */
static void take_restart(struct agent *a, uint32_t index, const uint64_t *w)
{
	struct reader *reader = &a->readers[index];

	if (w[1] > a->ring->account.incarnation || !w[2])
		fault(a, "a restart for agent %lu", (unsigned long)w[1]);
	if (w[3] != reader->read + w[4])
		fault(a, "a restart after %lu events, %lu of them lost: %lu were read",
		      (unsigned long)w[3], (unsigned long)w[4], (unsigned long)reader->read);
	for (size_t i = 0; i < a->result->module_count; i++)
		if (a->result->modules[i].live && a->result->modules[i].incarnation < w[1])
			fault(a, "a restart before module %u was announced again",
			      a->result->modules[i].id);
	reader_forget(reader);
	reader->epoch = 0;
	a->result->restarts++;
}

/* Words of the record; 0: it makes no sense. */
static unsigned take_record(struct agent *a, uint32_t index, const uint64_t *w, uint64_t left)
{
	struct reader *reader = &a->readers[index];

	switch (ring_kind(w[0])) {
	case RING_PAD:
		return (unsigned)left;
	case RING_LOST:
		reader_forget(reader);
		a->result->lost_records++;
		return 5;
	case RING_SAVE:
		take_save(a, reader, w[1]);
		return 3;
	case RING_EPOCH:
		reader_forget(reader);
		reader->epoch = (uint32_t)w[1];
		a->result->epochs++;
		return 3;
	case RING_MOVE:
		a->result->moves++;
		return 3;
	case RING_RESTART:
		take_restart(a, index, w);
		return 8;
	case RING_MARK:
		a->result->marks++;
		if (ring_size(w[0]) == 2)
			a->result->last_mark = w[1];
		if (ring_size(w[0]) == 6)
			take_thinning(a->result, w[1]);
		return 3;
	case RING_TEXT:
		take_text(a, w);
		return 3 + ring_count(w[0]);
	default:
		return ring_kind(w[0]) < RING_AUX ? take_event(a, index, w) : 0;
	}
}

static void drain_slice(struct agent *a, uint32_t index, uint64_t head)
{
	struct ring_slice *slice = slice_at(a, index);
	struct reader *reader = &a->readers[index];
	uint64_t *data = (uint64_t *)((uint8_t *)a->ring + slice->data_offset),
		 words = slice->words;

	if (head - reader->tail > words)
		fault(a, "slice %u: more than it holds", index);
	while (reader->tail < head) {
		uint64_t at = reader->tail & (words - 1);
		unsigned length = take_record(a, index, data + at, words - at);

		if (!length || at + length > words || reader->tail + length > head) {
			fault(a, "slice %u: record of kind %u, %u words at %lu", index,
			      ring_kind(data[at]), length, (unsigned long)at);
			reader->tail = head;
			break;
		}
		reader->tail += length;
	}
	__atomic_store_n(&slice->tail, reader->tail, __ATOMIC_RELEASE);
	__atomic_fetch_add(&slice->tail_futex, 1, __ATOMIC_RELEASE);
	if (__atomic_load_n(&slice->wanted, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &slice->tail_futex, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool slice_over(struct agent *a, struct ring_slice *slice, bool ended)
{
	uint32_t state = __atomic_load_n(&slice->state, __ATOMIC_ACQUIRE), word;

	memcpy(&word, slice->owner + a->ring->owner_word_offset, sizeof(word));
	return state == RING_SLICE_LEFT ||
	       (state == RING_SLICE_OWNED && (ended || (word & FUTEX_OWNER_DIED)));
}

/* What the owner of a slice that is over had begun is all accounted for. */
static void close_slice(struct agent *a, uint32_t index)
{
	struct ring_slice *slice = slice_at(a, index);
	struct reader *reader = &a->readers[index];
	struct agent_result *r = a->result;
	uint64_t missing = slice->events - reader->read - slice->lost.events;

	if (missing > 1)
		fault(a, "slice %u: %lu events begun, %lu read, %lu lost", index,
		      (unsigned long)slice->events, (unsigned long)reader->read,
		      (unsigned long)slice->lost.events);
	r->died_inside += missing;
	r->produced += slice->events + slice->not_sampled;
	r->not_sampled += slice->not_sampled;
	r->lost.events += slice->lost.events;
	r->lost.allocations += slice->lost.allocations;
	r->lost.frees += slice->lost.frees;
	r->lost.bytes += slice->lost.bytes;
	r->full_waits += slice->full_waits;
	reader->used = false;
	slice->owner[0] = 0;
	__atomic_store_n(&slice->state, RING_SLICE_FREE, __ATOMIC_RELEASE);
}

static void look_at_slice(struct agent *a, uint32_t index)
{
	struct ring_slice *slice = slice_at(a, index);
	struct reader *reader = &a->readers[index];

	if (reader->used || __atomic_load_n(&slice->state, __ATOMIC_ACQUIRE) < RING_SLICE_OWNED)
		return;
	reader->used = true;
	reader->read = 0;
	reader_forget(reader);
	reader->depth = 0;
	reader->epoch = 0;
	a->result->slices_claimed++;
}

void agent_drain(struct agent *a, bool ended)
{
	uint64_t heads[256];
	bool over[256];
	uint32_t count = a->ring->slice_count;
	uint64_t saved = 0;

	for (uint32_t i = 0; i < count; i++) {
		look_at_slice(a, i);
		if (slice_at(a, i)->state == RING_SLICE_OWNED)
			saved += slice_at(a, i)->saved_frames;
		over[i] = slice_over(a, slice_at(a, i), ended);
		heads[i] = __atomic_load_n(&slice_at(a, i)->head, __ATOMIC_ACQUIRE);
	}
	if (saved > a->result->saved_frames_most)
		a->result->saved_frames_most = saved;
	drain_modules(a);
	for (uint32_t i = 0; i < count; i++) {
		if (!a->readers[i].used)
			continue;
		drain_slice(a, i, heads[i]);
		if (over[i])
			close_slice(a, i);
	}
}
