/*
 * Reading a recording: frames -> batches -> definitions and rows.
 *
 * A batch counts wholly or not at all: its events are decoded before anything of it is taken. A
 * batch that makes no sense is treated like a damaged frame.
 */
#include "collector/store/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "collector/store/folder.h"
#include "base/ban.h"

#define PROGRESS_BYTES (1u << 20)

/* ---- batches ---- */

/* Whose batch, and which. 1: wanted; 0: it was there already; -EBADMSG. */
static int check_position(struct recording *r, const Heapcast__Batch *batch, struct err_text *err)
{
	const struct stream_position *p = &r->position;

	if (batch->stream.len != STREAM_ID_SIZE)
		return err_set(err, -EBADMSG, "a batch of no stream");
	if (r->has_id && memcmp(r->id.bytes, batch->stream.data, STREAM_ID_SIZE))
		return err_set(err, -EBADMSG, "a batch of another stream");
	if (!batch->incarnation || (!batch->number && !batch->catch_up) ||
	    batch->number == UINT64_MAX)
		return err_set(err, -EBADMSG, "a batch without a number");
	if (batch->catch_up && batch->incarnation >= p->incarnation)
		return 1;
	if (batch->incarnation < p->incarnation ||
	    (batch->incarnation == p->incarnation && batch->number < p->next)) {
		r->ledger.duplicate_batches++;
		return 0;
	}
	return 1;
}

static void take_position(struct recording *r, const Heapcast__Batch *batch)
{
	uint64_t expected = batch->incarnation == r->position.incarnation ? r->position.next : 1;

	if (!r->has_id) {
		memcpy(r->id.bytes, batch->stream.data, STREAM_ID_SIZE);
		r->has_id = true;
	}
	if (batch->catch_up)
		return;
	/* What came before we joined, while we were too slow, or from an agent that is gone, is told by the agent's account;
	 * another hole is ours. */
	if (batch->number != r->announced &&
	    (r->position.incarnation || !r->definitions.ledger.before_join))
		r->ledger.missing_batches += batch->number - expected;
	r->announced = 0;
	r->position = (struct stream_position){batch->incarnation, batch->number + 1};
}

/* Events whose kind nobody counted may all have been frees. */
static uint64_t lost_frees(uint64_t events, uint64_t allocations, uint64_t frees)
{
	uint64_t counted;

	if (!__builtin_add_overflow(allocations, frees, &counted) && events > counted)
		frees += events - counted;
	return frees;
}

static void count_event(struct recording *r, const struct event *e)
{
	struct ledger_info *l = &r->ledger;

	l->stored++;
	if (event_space(e->kind) != EVENT_SPACE_HEAP) {
		l->stored_apart++;
		return;
	}
	if (e->class == EVENT_CLASS_FREE)
		l->stored_frees++;
	else if (e->class == EVENT_CLASS_REALLOCATION)
		l->stored_reallocations++;
	else
		l->stored_allocations++;
	if (e->class != EVENT_CLASS_FREE && !e->address)
		r->pairing.info.failed++;
}

/* Numbers that an event refers to, the stack's put to that of its node; without a definition they are put to "none" and counted. */
static void check_references(struct recording *r, struct event *e, struct thread_info **thread)
{
	uint32_t stack;

	if (!*thread || (*thread)->number != e->thread)
		*thread = definitions_thread(&r->definitions, e->thread);
	if (*thread)
		(*thread)->stored++;
	else
		e->thread = 0;
	stack = nodes_of_wire(&r->definitions.nodes, e->stack);
	if (!*thread || (e->stack && !stack))
		r->pairing.info.bad_references++;
	e->stack = stack;
}

static uint64_t difference(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* The agent repeats its definitions to somebody who was there before: batches are gone that we never got. What its account has
 * grown by since the last batch was in them; what an agent before it has taken along is not among that any more
 * (definitions.c), and in its counts of kinds there is no telling one from the other. `before` is that account. */
static int take_missed(struct recording *r, const Heapcast__Batch *batch, uint64_t delivered,
		       const struct delivered_counts *before)
{
	const Heapcast__Ledger *l = batch->ledger;
	bool same = batch->incarnation == r->position.incarnation;
	uint64_t now = r->definitions.ledger.delivered, expected = same ? r->position.next : 1;
	struct gap_info gap = {.reason = HEAPCAST__REASON__REASON_SPOOL_FULL,
			       .from_ns = r->watermark_ns};

	if (batch->next > expected)
		r->announced = batch->next;
	if (!l || !r->position.incarnation || batch->next <= expected || now <= delivered)
		return 0;
	gap.events = now - delivered;
	if (same) {
		gap.allocations = difference(l->delivered_allocations, before->allocations);
		gap.frees = difference(l->delivered_frees, before->frees);
		gap.bytes = difference(l->delivered_bytes, before->bytes);
	}
	gap.to_ns = batch->watermark_ns > gap.from_ns ? batch->watermark_ns : gap.from_ns;
	r->ledger.missed += gap.events;
	pairing_lost(&r->pairing, lost_frees(gap.events, gap.allocations, gap.frees), gap.from_ns,
		     gap.to_ns);
	return definitions_add_gap(&r->definitions, &gap);
}

static int take_events(struct recording *r, struct decoded *d)
{
	uint32_t tick_ns = d->item.batch->events->tick_ns;
	struct thread_info *thread = NULL;
	int e = 0;

	if (tick_ns + (uint64_t)REPAIR_NS > r->pairing.window_ns)
		r->pairing.window_ns = tick_ns + (uint64_t)REPAIR_NS;
	for (uint32_t i = 0; !e && i < d->event_count; i++) {
		struct event *event = &d->events[i];

		count_event(r, event);
		check_references(r, event, &thread);
		e = event_space(event->kind) == EVENT_SPACE_HEAP ? pairing_add(&r->pairing, event)
								 : aparts_add(&r->aparts, event);
	}
	return e;
}

/* Those before we joined concern blocks that we never saw. */
static void take_gap(struct recording *r, const Heapcast__Gap *g, uint64_t now_ns)
{
	uint64_t from = g->from_ns ? g->from_ns : now_ns, to = g->to_ns ? g->to_ns : now_ns;

	if (g->reason == HEAPCAST__REASON__REASON_JOINED_LATE)
		return;
	pairing_lost(&r->pairing, lost_frees(g->events, g->allocations, g->frees), from,
		     to < from ? from : to);
}

/* Execs by their marks, in units of the events' times: what the new image did in the same tick
 * comes after. */
static int take_execs(struct recording *r, const Heapcast__Batch *batch, bool *ret_any)
{
	uint64_t tick = batch->events ? batch->events->tick_ns : 1;
	int e = 0;

	*ret_any = false;
	for (size_t i = 0; !e && i < batch->n_mark; i++) {
		if (batch->mark[i]->kind != HEAPCAST__MARK_KIND__MARK_EXEC)
			continue;
		*ret_any = true;
		e = pairing_add_exec(&r->pairing, batch->mark[i]->time_ns / tick * tick);
	}
	return e;
}

/* Whatever ends or begins with this batch: `images` is what was known before it. */
static int take_steps(struct recording *r, struct decoded *d, uint32_t images)
{
	const Heapcast__Batch *batch = d->item.batch;
	bool marked;
	int e = take_execs(r, batch, &marked);

	if (!e && images && r->definitions.process.images > images && !marked) {
		e = pairing_flush(&r->pairing);
		if (!e)
			e = pairing_exec(&r->pairing,
					 batch->events ? batch->events->base_ns : batch->time_ns);
	}
	if (!e && batch->events)
		e = take_events(r, d);
	return e;
}

/* Does the recording begin in a fork child, before its first exec? */
static bool begins_forked(const struct process_info *process, const Heapcast__Batch *batch)
{
	uint32_t execs = 0;

	for (size_t i = 0; i < batch->n_mark; i++)
		execs += batch->mark[i]->kind == HEAPCAST__MARK_KIND__MARK_EXEC;
	return process->forked && process->images == execs + 1;
}

/* Sums that went before a catch-up never come: that is what the agent's account has more than ours. */
static int take_culled(struct recording *r, const Heapcast__Batch *batch)
{
	const struct culled_totals *t = &r->culled.totals;
	int e = batch->culled ? culled_take(&r->culled, batch->culled, &r->definitions) : 0;

	if (__builtin_add_overflow(t->blocks, t->frees, &r->ledger.culled_stored))
		r->ledger.culled_stored = UINT64_MAX;
	if (batch->catch_up && batch->ledger)
		r->ledger.culled_missed =
			difference(r->definitions.ledger.culled, r->ledger.culled_stored);
	return e;
}

static int take_batch(struct recording *r, struct decoded *d, struct err_text *err)
{
	const Heapcast__Batch *batch = d->item.batch;
	const struct delivered_counts counts = r->definitions.delivered;
	uint64_t delivered = r->definitions.ledger.delivered;
	uint32_t images = r->definitions.process.images;
	uint64_t unarrived = r->definitions.unarrived;
	int e = check_position(r, batch, err);

	if (e <= 0)
		return e;
	if (batch->catch_up && (batch->events || batch->culled))
		return err_set(err, -EBADMSG, "a catch-up with events");
	e = decoded_events(d, err);
	if (!e && batch->culled)
		e = culled_check(batch->culled, err);
	if (!e)
		e = definitions_add(&r->definitions, batch, err);
	if (!e && batch->catch_up)
		e = take_missed(r, batch, delivered, &counts);
	if (e < 0)
		return e;
	take_position(r, batch);
	pairing_lost(&r->pairing, r->definitions.unarrived - unarrived, r->end_ns, r->end_ns);
	if (!images)
		r->pairing.forked = begins_forked(&r->definitions.process, batch);
	e = take_steps(r, d, images);
	if (!e)
		e = take_culled(r, batch);
	for (size_t i = 0; i < batch->n_gap; i++)
		take_gap(r, batch->gap[i], batch->time_ns);
	if (batch->watermark_ns > r->watermark_ns)
		r->watermark_ns = batch->watermark_ns;
	if (batch->time_ns > r->end_ns)
		r->end_ns = batch->time_ns;
	return e ? e : pairing_advance(&r->pairing, r->watermark_ns);
}

/* ---- the file ---- */

static int failed(const struct recording *r, int error, struct err_text *err)
{
	if (error == -E2BIG)
		return err_set(err, error, "%s has more than %u allocations", r->path,
			       NO_BLOCK - 1);
	return err_set(err, error, "cannot read %s: %s", r->path, strerror(-error));
}

/* One batch after the other, as far as they make sense. 0: all was taken; 1: the last one makes none; negative errno. */
static int take_some(struct recording *r, uint64_t size, bool ahead_of_us,
		     int (*progress)(void *, uint64_t, uint64_t), void *context,
		     struct scan_item *ret_item, struct err_text *ret_reason)
{
	uint64_t reported = 0;
	struct ahead ahead;
	struct decoded *d;
	int e;

	ahead_begin(&ahead, &r->scan, size, &r->decoded, ahead_of_us);
	while ((e = ahead_next(&ahead, &d)) == 1) {
		uint64_t done = d->item.offset + d->item.length;

		ret_reason->text[0] = 0;
		*ret_item = d->item;
		e = take_batch(r, d, ret_reason);
		if (e < 0)
			break;
		if (progress && done - reported >= PROGRESS_BYTES) {
			reported = done;
			if (progress(context, reported, size)) {
				e = -ECANCELED;
				break;
			}
		}
	}
	ahead_end(&ahead);
	return e == -EBADMSG ? 1 : e;
}

static int take_all(struct recording *r, uint64_t size, int (*progress)(void *, uint64_t, uint64_t),
		    void *context, struct err_text *err)
{
	struct err_text reason;
	struct scan_item item;
	bool ahead_of_us = true;
	int e = recording_wake(r);

	while (!e &&
	       (e = take_some(r, size, ahead_of_us, progress, context, &item, &reason)) == 1) {
		scan_reject(&r->scan, &item, &reason);
		ahead_of_us = false; /* what was read ahead was in vain: not again and again */
		e = 0;
	}
	if (e == -ECANCELED)
		return e;
	if (e < 0)
		return failed(r, e, err);
	if (progress)
		progress(context, size, size);
	return 0;
}

/* What can be said once all frames that there are have been taken. */
static int settle(struct recording *r, uint64_t size)
{
	struct ledger_info *l = &r->ledger;
	struct block_limits limits;
	int e = 0;

	if (r->definitions.process.ended || !recording_is_written(r->fd)) {
		r->flushed = true;
		if (r->pairing.queue.count)
			e = recording_wake(r);
		if (!e)
			e = pairing_flush(&r->pairing);
	}
	if (r->pairing.last_ns > r->end_ns)
		r->end_ns = r->pairing.last_ns;
	if (!e)
		e = rows_settle(&r->rows);
	late_sort(&r->rows.late);
	limits = recording_limits(r);
	if (!e)
		e = pairing_censor(&r->pairing, &limits);
	unpacked_changed(r);
	l->cut_bytes = size - r->scan.offset;
	l->skipped_bytes = r->scan.skipped_bytes;
	l->damaged_places = r->scan.damaged_places;
	l->first_damage = r->scan.damaged_places ? r->scan.first_damage : NO_TIME;
	l->marks_left_out = r->definitions.ledger.marks_left_out;
	l->produced = r->definitions.ledger.produced;
	l->delivered = r->definitions.ledger.delivered;
	l->culled = r->definitions.ledger.culled;
	l->not_sampled = r->definitions.ledger.not_sampled;
	l->lost = r->definitions.ledger.lost;
	l->pending = r->definitions.ledger.pending;
	l->before_join = r->definitions.ledger.before_join;
	l->lost_allocations = r->definitions.ledger.lost_allocations;
	l->lost_frees = r->definitions.ledger.lost_frees;
	l->lost_bytes = r->definitions.ledger.lost_bytes;
	l->stacks_cut = r->definitions.ledger.stacks_cut;
	l->samples_refused = r->definitions.ledger.samples_refused;
	return e;
}

static int file_size(const struct recording *r, uint64_t *ret_size, struct err_text *err)
{
	struct stat st;

	if (fstat(r->fd, &st) < 0)
		return failed(r, -errno, err);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "%s is not a recording: it is no regular file",
			       r->path);
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* Nothing of ours was found: unless it could become something, say so. */
static int check_any(const struct recording *r, uint64_t size, struct err_text *err)
{
	if (r->has_id)
		return 0;
	if (!size)
		return err_set(err, -EBADMSG, "%s is not a recording: it is empty", r->path);
	if (r->damage.text[0])
		return err_set(err, -EBADMSG, "%s is not a recording: at offset %llu, %s", r->path,
			       (unsigned long long)(r->scan.damaged_places ? r->scan.first_damage
									   : r->scan.offset),
			       r->damage.text);
	return 0;
}

void recording_clear(struct recording *r)
{
	int fd = r->fd;
	char *path = take_ptr(r->path);
	struct derived derived = r->derived;
	struct unpacked *unpacked = take_ptr(r->unpacked);

	scan_done(&r->scan);
	pairing_done(&r->pairing);
	rows_done(&r->rows);
	culled_done(&r->culled);
	aparts_done(&r->aparts);
	definitions_done(&r->definitions);
	decoded_done(&r->decoded);
	*r = (struct recording){.path = path, .fd = fd, .derived = derived, .unpacked = unpacked};
	definitions_init(&r->definitions);
	rows_init(&r->rows);
	r->pairing.rows = &r->rows;
	r->pairing.window_ns = REPAIR_NS;
}

struct block_limits recording_limits(const struct recording *r)
{
	return (struct block_limits){r->definitions.nodes.count, r->definitions.thread_count,
				     r->rows.count};
}

/* The rows of a block that are in use stand under their addresses. */
static int wake_block(struct recording *r, const struct row_block *block)
{
	for (uint32_t i = 0; i < block->count; i++) {
		uint64_t *live;

		if (block->end[i] != BLOCK_IN_USE)
			continue;
		live = map_put(&r->pairing.live, block->address[i], NULL);
		if (!live)
			return block->address[i] == MAP_NO_KEY ? -EBADMSG : -ENOMEM;
		*live = block->first_row + i;
	}
	return 0;
}

int recording_wake(struct recording *r)
{
	const struct block_limits limits = recording_limits(r);
	struct rows_block *block;
	struct buf spare = {0};
	int e = 0;

	if (!r->asleep)
		return 0;
	block = block_new(0);
	if (!block)
		return -ENOMEM;
	for (uint32_t i = 0; !e && i < r->rows.slot_count; i++) {
		const struct rows_block *open = r->rows.slots[i].open;

		if (!rows_in_use(&r->rows, i))
			continue;
		if (!open)
			e = rows_read(&r->rows, i, ROWS_ADDRESS | ROWS_END, &limits, block, &spare,
				      NULL);
		if (!e)
			e = wake_block(r, open ? &open->view : &block->view);
	}
	block_free(block);
	buf_done(&spare);
	r->asleep = e < 0;
	return e;
}

int recording_new(struct recording **ret_recording)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->fd = -1;
	rows_init(&r->rows);
	recording_clear(r);
	if (unpacked_init(r) < 0) {
		free(r);
		return -ENOMEM;
	}
	*ret_recording = r;
	return 0;
}

static int begin(const char *path, struct recording **ret_recording, struct err_text *err)
{
	struct recording *r;
	int e = recording_new(&r);

	if (e < 0)
		return e;
	*ret_recording = r;
	e = derived_init(&r->derived, path);
	r->path = strdup(path);
	if (e < 0 || !r->path)
		return -ENOMEM;
	r->fd = open(r->path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", r->path, strerror(errno));
	return scan_init(&r->scan, r->fd, 0, &r->damage);
}

static int load(struct recording *r, uint64_t size, int (*progress)(void *, uint64_t, uint64_t),
		void *context, struct err_text *err)
{
	int e = r->scan.offset < size ? take_all(r, size, progress, context, err) : 0;

	if (!e)
		e = check_any(r, size, err);
	return e ? e : settle(r, size);
}

static int load_frames(struct recording *r, uint64_t size,
		       int (*progress)(void *, uint64_t, uint64_t), void *context,
		       struct err_text *err)
{
	int e;

	recording_clear(r);
	e = scan_init(&r->scan, r->fd, 0, &r->damage);
	return e ? e : load(r, size, progress, context, err);
}

/* With what is kept of it. -EBADMSG: nothing is, or it is damaged. */
static int load_derived(struct recording *r, uint64_t size,
			int (*progress)(void *, uint64_t, uint64_t), void *context)
{
	int e = 0;

	if (!derived_load(r))
		return -EBADMSG;
	r->asleep = true;
	if (r->scan.offset < size || !r->flushed)
		e = recording_wake(r);
	if (!e)
		e = load(r, size, progress, context, NULL);
	if (e == -EBADMSG)
		derived_drop(&r->derived);
	return e;
}

static int open_at(const char *path, bool derived, uint64_t size,
		   int (*progress)(void *, uint64_t, uint64_t), void *context,
		   struct recording **ret_recording, struct err_text *err)
{
	struct recording *r = NULL;
	uint64_t length;
	int e = begin(path, &r, err);

	if (!e)
		e = file_size(r, &length, err);
	if (!e) {
		length = length < size ? length : size;
		e = derived ? load_derived(r, length, progress, context) : -EBADMSG;
		if (e == -EBADMSG)
			e = load_frames(r, length, progress, context, err);
	}
	if (e < 0) {
		recording_close(r);
		return e;
	}
	*ret_recording = r;
	return 0;
}

int recording_open(const char *path, int (*progress)(void *context, uint64_t done, uint64_t of),
		   void *context, struct recording **ret_recording, struct err_text *err)
{
	return open_at(path, true, UINT64_MAX, progress, context, ret_recording, err);
}

int recording_open_frames(const char *path, uint64_t size, struct recording **ret_recording,
			  struct err_text *err)
{
	return open_at(path, false, size, NULL, NULL, ret_recording, err);
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	unpacked_done(r);
	derived_done(&r->derived);
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	recording_clear(r);
	free(r->path);
	free(r);
}

/* ---- writing what is derived ---- */

/* Frames that are read before the state is written again: a second's work, or so, for whoever begins there. */
#define SAVE_BYTES (8u << 20)
/* Full blocks that are left open: a row that ends soon does so there, and when the state is written no more of them have to be
 * waited for. */
#define OPEN_BLOCKS 8

/* Where nothing was kept. */
static int begin_scan(struct recording *r)
{
	return r->scan.messages ? 0 : scan_init(&r->scan, r->fd, 0, &r->damage);
}

int recording_open_writing(const char *path, struct recording **ret_recording, uint64_t *ret_cut,
			   struct err_text *err)
{
	struct recording *r = NULL;
	int e = begin(path, &r, err);

	if (!e && !r->derived.folder)
		e = err_set(err, -EINVAL, "%s is no recording of a store", path);
	if (!e)
		e = derived_load_writing(r, ret_cut, err);
	if (!e)
		e = begin_scan(r);
	if (!e) {
		r->asleep = true;
		e = recording_wake(r);
	}
	if (e == -EBADMSG) {
		/* What is kept is damaged: anew. */
		derived_drop(&r->derived);
		recording_clear(r);
		e = derived_load_writing(r, ret_cut, err);
		if (!e)
			e = begin_scan(r);
	}
	if (e < 0) {
		recording_close(r);
		return e;
	}
	r->rows.most_open = OPEN_BLOCKS;
	*ret_recording = r;
	return 0;
}

int recording_derive(struct recording *r, uint64_t size, uint64_t budget, struct err_text *err)
{
	uint64_t to = size - r->scan.offset > budget ? r->scan.offset + budget : size,
		 before = r->scan.offset;
	int e = take_all(r, to, NULL, NULL, err);

	/* A frame that is longer than the budget, or damage. */
	if (!e && r->scan.offset == before && to < size)
		e = take_all(r, size, NULL, NULL, err);
	if (!e && r->scan.offset - r->derived.saved_offset >= SAVE_BYTES)
		e = derived_save(r, err);
	return e ? e : r->scan.offset < size && r->scan.offset != before;
}

int recording_finish(struct recording *r, struct err_text *err)
{
	uint64_t size;
	int e = file_size(r, &size, err);

	if (!e)
		e = settle(r, size);
	if (!e)
		e = derived_compact(r, err);
	return e ? e : derived_save(r, err);
}

bool recording_opening_news(const struct recording *r, struct err_text *ret_news)
{
	const struct ledger_info *l = &r->ledger;
	const char *anew = r->derived.anew.text;
	char cut[96] = "", skipped[128] = "", derived[sizeof(r->derived.anew.text) + 64] = "";

	if (l->cut_bytes && r->flushed)
		snprintf(cut, sizeof(cut), "%llu bytes behind its last whole frame are left out; ",
			 (unsigned long long)l->cut_bytes);
	if (l->damaged_places)
		snprintf(skipped, sizeof(skipped),
			 "%llu damaged bytes in %llu places are passed over, the first at %llu; ",
			 (unsigned long long)l->skipped_bytes,
			 (unsigned long long)l->damaged_places,
			 (unsigned long long)l->first_damage);
	if (*anew)
		snprintf(derived, sizeof(derived), "%s; its rows are derived anew; ", anew);
	err_set(ret_news, 0, "%s: %s%s%s%llu events are there", r->path, cut, skipped, derived,
		(unsigned long long)l->stored);
	return *cut || *skipped || *derived;
}

int recording_refresh(struct recording *r, struct err_text *err)
{
	uint64_t size, before = r->scan.offset;
	bool flushed = r->flushed;
	int e = file_size(r, &size, err);

	if (!e)
		e = take_all(r, size, NULL, NULL, err);
	if (!e && (r->scan.offset != before || !flushed))
		e = settle(r, size);
	if (e < 0)
		return e;
	return r->scan.offset != before || r->flushed != flushed;
}

/* ---- answers ---- */

int recording_keep(const struct recording *r, const char *name, char **ret_path,
		   uint64_t *ret_frames)
{
	if (!r->derived.folder || !r->derived.generation || !r->definitions.process.ended)
		return -ENOENT;
	*ret_frames = r->scan.offset;
	return asprintf(ret_path, "%s/%s", r->derived.folder, name) < 0 ? -ENOMEM : 0;
}

const char *recording_path(const struct recording *r)
{
	return r->path;
}

const struct stream_id *recording_id(const struct recording *r)
{
	return &r->id;
}

const struct process_info *recording_process(const struct recording *r)
{
	return &r->definitions.process;
}

bool recording_is_growing(const struct recording *r)
{
	return !r->flushed;
}

uint64_t recording_end_ns(const struct recording *r)
{
	return r->end_ns;
}

uint64_t recording_rows(const struct recording *r)
{
	return r->rows.count;
}

uint32_t recording_blocks(const struct recording *r)
{
	return r->rows.slot_count;
}

uint32_t recording_modules(const struct recording *r)
{
	return r->definitions.module_count;
}

const struct module_info *recording_module(const struct recording *r, uint32_t number)
{
	return number && number <= r->definitions.module_count ? r->definitions.modules[number - 1]
							       : NULL;
}

uint32_t recording_threads(const struct recording *r)
{
	return r->definitions.thread_count;
}

const struct thread_info *recording_thread(const struct recording *r, uint32_t number)
{
	return number && number <= r->definitions.thread_count ? r->definitions.threads[number - 1]
							       : NULL;
}

uint32_t recording_nodes(const struct recording *r)
{
	return r->definitions.nodes.count;
}

const struct stack_node *recording_node(const struct recording *r, uint32_t number)
{
	return number && number <= r->definitions.nodes.count
		       ? &r->definitions.nodes.list[number - 1]
		       : NULL;
}

uint32_t recording_gaps(const struct recording *r)
{
	return r->definitions.gap_count;
}

const struct gap_info *recording_gap(const struct recording *r, uint32_t index)
{
	return index < r->definitions.gap_count ? &r->definitions.gaps[index] : NULL;
}

uint32_t recording_marks(const struct recording *r)
{
	return r->definitions.mark_count;
}

const struct mark_info *recording_mark(const struct recording *r, uint32_t index)
{
	return index < r->definitions.mark_count ? &r->definitions.marks[index] : NULL;
}

const struct ledger_info *recording_ledger(const struct recording *r)
{
	return &r->ledger;
}

const struct pairing_info *recording_pairing(const struct recording *r)
{
	return &r->pairing.info;
}

const struct figures_info *recording_figures(const struct recording *r)
{
	return &r->definitions.figures;
}

const struct figures_info *recording_figures_most(const struct recording *r)
{
	return &r->definitions.figures_most;
}

const struct allocator_info *recording_allocator(const struct recording *r)
{
	return &r->definitions.allocator;
}

uint32_t recording_culled_count(const struct recording *r)
{
	return r->culled.count;
}

const struct culled_row *recording_culled(const struct recording *r, uint32_t index)
{
	return index < r->culled.count ? &r->culled.list[index] : NULL;
}

const struct culled_totals *recording_culled_totals(const struct recording *r)
{
	return &r->culled.totals;
}
