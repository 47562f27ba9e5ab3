/*
 * Reads a recording: frames -> batches -> definitions and rows (take.c). An invalid batch is
 * treated like a damaged frame.
 */
#include "collector/derive/recording_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/saturated.h"
#include "collector/columns/row_block.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "proto/message.h"
#include "base/ban.h"

#define PROGRESS_BYTES (1u << 20)

static int recording_failed(const struct recording *r, int error, struct err_text *err)
{
	return err_set(err, error, "cannot read %s: %s", r->path, strerror(-error));
}

/*
 * Takes batches one after the other. Returns 0 if all were taken, 1 if the last one is invalid, or
 * a negative errno.
 */
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
		e = recording_take(r, d, ret_reason);
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

static int recording_take_all(struct recording *r, uint64_t size,
			      int (*progress)(void *, uint64_t, uint64_t), void *context,
			      struct err_text *err)
{
	struct err_text reason;
	struct scan_item item;
	bool ahead_of_us = true;
	int e = r->scan.offset < size ? recording_file_fill(&r->file, r->path, err) : 0;

	if (e < 0)
		return e;
	e = recording_wake(r);
	while (!e &&
	       (e = take_some(r, size, ahead_of_us, progress, context, &item, &reason)) == 1) {
		scan_reject(&r->scan, &item, &reason);
		ahead_of_us = false; /* the batches that were read ahead are discarded; repeated
				      * damage must not repeat that cost */
		e = 0;
	}
	if (e == -ECANCELED)
		return e;
	if (e < 0)
		return recording_failed(r, e, err);
	if (progress)
		progress(context, size, size);
	return 0;
}

/*
 * Classifies the bytes behind the last valid frame. If the stream has no writer any more, they may
 * be a frame that was damaged later.
 */
static int settle_tail(struct recording *r, uint64_t size)
{
	struct ledger_info *l = &r->ledger;
	int damaged = r->flushed ? scan_tail(&r->scan, size) : 0;

	l->cut_bytes = size - r->scan.offset;
	l->skipped_bytes = r->scan.skipped_bytes;
	l->damaged_places = r->scan.damaged_places;
	l->first_damage = r->scan.damaged_places ? r->scan.first_damage : NO_TIME;
	if (damaged <= 0)
		return damaged;
	if (!l->damaged_places++)
		l->first_damage = r->scan.offset;
	l->skipped_bytes += l->cut_bytes;
	l->cut_bytes = 0;
	return 0;
}

void recording_tell_ledger(struct recording *r)
{
	struct ledger_info *l = &r->ledger;
	const struct ledger_info *told = &r->definitions.ledger;

	l->marks_left_out = told->marks_left_out;
	l->produced = told->produced;
	l->delivered = told->delivered;
	l->culled = told->culled;
	l->not_sampled = told->not_sampled;
	l->lost = told->lost;
	l->pending = told->pending;
	l->before_join = told->before_join;
	l->elsewhere = 0;
	for (uint32_t i = 0; i < r->definitions.part_count; i++)
		if (r->definitions.parts[i].lacking)
			add_most(&l->elsewhere, r->definitions.parts[i].events);
	/* A part of what the other collector has may be here, too. */
	if (l->elsewhere > l->before_join + l->missed)
		l->elsewhere = l->before_join + l->missed;
	l->lost_allocations = told->lost_allocations;
	l->lost_frees = told->lost_frees;
	l->lost_bytes = told->lost_bytes;
	l->stacks_cut = told->stacks_cut;
	l->samples_refused = told->samples_refused;
	l->unrecorded = told->unrecorded;
	l->unrecorded_uncounted = told->unrecorded_uncounted;
	l->unrecorded_events = told->unrecorded_events;
	l->unrecorded_bytes = told->unrecorded_bytes;
	l->before_recording = told->before_recording;
	l->not_begun = told->not_begun;
	l->stacks_unknown = told->stacks_unknown;
	l->namespaces = told->namespaces;
}

/* Settles what can be known once all present frames were taken. */
static int recording_settle(struct recording *r, uint64_t size)
{
	struct block_limits limits;
	int e = 0;

	if (r->definitions.process.ended || !recording_file_is_written(&r->file)) {
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
	limits = recording_limits(r);
	if (!e)
		e = pairing_censor(&r->pairing, &limits);
	unpacked_changed(r);
	if (!e)
		e = settle_tail(r, size);
	recording_tell_ledger(r);
	return e;
}

static int file_size(const struct recording *r, uint64_t *ret_size, struct err_text *err)
{
	struct stat st;

	if (fstat(r->file.fd, &st) < 0)
		return recording_failed(r, -errno, err);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "%s is not a recording: it is no regular file",
			       r->path);
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* Reports an error if no batch was found, unless the file may still become a recording: it is
 * being written. */
static int check_begun(const struct recording *r, struct err_text *err)
{
	return r->has_id || !r->flushed || !r->ledger.cut_bytes
		       ? 0
		       : err_set(err, -EBADMSG, SCAN_NOTHING, r->path);
}

/* Reports errors that are certain before the end is settled: the file is empty, or its beginning is
 * damaged. */
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
	struct recording_file file = r->file;
	char *path = take_ptr(r->path);
	struct derived derived = r->derived;
	struct unpacked *unpacked = take_ptr(r->unpacked);

	scan_done(&r->scan);
	pairing_done(&r->pairing);
	rows_done(&r->rows);
	culled_done(&r->culled);
	other_events_done(&r->other_events);
	definitions_done(&r->definitions);
	decoded_done(&r->decoded);
	*r = (struct recording){
		.path = path, .file = file, .derived = derived, .unpacked = unpacked};
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

/* The map exceeds the nearest cache, so slots are prefetched so many rows ahead. */
#define WAKE_AHEAD 16

/* Enters the rows in use into the map of live addresses. */
static int wake_block(struct recording *r, const struct row_block *block)
{
	for (uint32_t i = 0; i < block->count; i++) {
		uint64_t *live;

		if (i + WAKE_AHEAD < block->count)
			map_prefetch(&r->pairing.live, block->address[i + WAKE_AHEAD]);
		if (block->end[i] != BLOCK_IN_USE)
			continue;
		live = map_put_inline(&r->pairing.live, block->address[i], NULL);
		if (!live)
			return block->address[i] == MAP_NO_KEY ? -EBADMSG : -ENOMEM;
		*live = block->first_row + i;
	}
	return 0;
}

/* Room for more live blocks is made as they come: the numbers are from a file. */
#define WAKE_ROOM (1u << 20)

static size_t count_in_use(const struct rows *rows)
{
	size_t count = 0;

	for (uint32_t i = 0; i < rows->slot_count && count < WAKE_ROOM; i++)
		count += rows_in_use(rows, i);
	return count < WAKE_ROOM ? count : WAKE_ROOM;
}

int recording_wake(struct recording *r)
{
	const struct block_limits limits = recording_limits(r);
	struct rows_block *block = NULL; /* for sealed rows */
	struct buf spare = {0};
	int e = 0;

	if (!r->asleep)
		return 0;
	if (!map_reserve(&r->pairing.live, count_in_use(&r->rows)))
		return -ENOMEM;
	for (uint32_t i = 0; !e && i < r->rows.slot_count; i++) {
		const struct rows_block *open = r->rows.slots[i].open;

		if (!rows_in_use(&r->rows, i))
			continue;
		if (!open && !block && !(block = block_new(0)))
			e = -ENOMEM;
		else if (!open)
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
	r->file = RECORDING_FILE_NONE;
	rows_init(&r->rows);
	recording_clear(r);
	if (unpacked_init(r) < 0) {
		free(r);
		return -ENOMEM;
	}
	*ret_recording = r;
	return 0;
}

static int recording_begin(const char *path, struct recording **ret_recording, struct err_text *err)
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
	e = recording_file_open(r->path, &r->file, err);
	return e ? e : scan_init(&r->scan, r->file.fd, 0, &r->damage);
}

static int recording_load(struct recording *r, uint64_t size,
			  int (*progress)(void *, uint64_t, uint64_t), void *context,
			  struct err_text *err)
{
	int e = r->scan.offset < size ? recording_take_all(r, size, progress, context, err) : 0;

	if (!e)
		e = check_any(r, size, err);
	if (!e)
		e = recording_settle(r, size);
	return e ? e : check_begun(r, err);
}

static int load_frames(struct recording *r, uint64_t size,
		       int (*progress)(void *, uint64_t, uint64_t), void *context,
		       struct err_text *err)
{
	int e;

	recording_clear(r);
	e = scan_init(&r->scan, r->file.fd, 0, &r->damage);
	return e ? e : recording_load(r, size, progress, context, err);
}

/* Loads what was saved. Returns -EBADMSG if nothing was saved or it is damaged. */
static int load_derived(struct recording *r, uint64_t size,
			int (*progress)(void *, uint64_t, uint64_t), void *context)
{
	int e = derived_load(r);

	if (e <= 0)
		return e ? e : -EBADMSG;
	e = 0;
	r->asleep = true;
	if (r->scan.offset < size || !r->flushed)
		e = recording_wake(r);
	if (!e)
		e = recording_load(r, size, progress, context, NULL);
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
	int e = recording_begin(path, &r, err);

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
	recording_file_close(&r->file);
	recording_clear(r);
	free(r->path);
	free(r);
}

/* ---- saving derived rows ---- */

/* Bytes of frames between two saved states: about a second of work for a later opening. */
#define SAVE_BYTES (8u << 20)
/*
 * Full blocks that stay open. A row that ends soon then ends in memory, and saving a state has
 * fewer blocks to wait for.
 */
#define OPEN_BLOCKS 8

/* Begins the scan if no state was saved. */
static int begin_scan(struct recording *r)
{
	return r->scan.messages ? 0 : scan_init(&r->scan, r->file.fd, 0, &r->damage);
}

int recording_open_writing(const char *path, struct recording **ret_recording, uint64_t *ret_cut,
			   struct err_text *err)
{
	struct recording *r = NULL;
	int e = recording_begin(path, &r, err);

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
		/* The saved rows are damaged; derive them anew. */
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
	int e = recording_take_all(r, to, NULL, NULL, err);

	/* The next frame is longer than the budget, or damaged. */
	if (!e && r->scan.offset == before && to < size)
		e = recording_take_all(r, size, NULL, NULL, err);
	if (!e && r->scan.offset - r->derived.saved_offset >= SAVE_BYTES)
		e = derived_save(r, err);
	return e ? e : r->scan.offset < size && r->scan.offset != before;
}

int recording_finish(struct recording *r, struct err_text *err)
{
	uint64_t size;
	int e = file_size(r, &size, err);

	if (!e)
		e = recording_settle(r, size);
	if (!e)
		e = derived_compact(r, err);
	if (!e)
		e = derived_save(r, err);
	if (!e)
		derived_sweep(&r->derived);
	return e;
}

int recording_park(struct recording *r, struct err_text *err)
{
	return r->scan.offset != r->derived.saved_offset ? derived_save(r, err) : 0;
}

/* Memory for the buffers of a scan and of a batch, mostly LZ4's. */
#define SCAN_MEMORY (1u << 20)

static size_t map_memory(const struct map *map)
{
	return map->capacity * sizeof(*map->entries);
}

size_t recording_memory(const struct recording *r)
{
	const struct pairing *p = &r->pairing;
	const struct nodes *nodes = &r->definitions.nodes;
	const struct rows *rows = &r->rows;
	size_t steps = p->queue.capacity + p->spare.capacity;

	return SCAN_MEMORY + r->scan.window.capacity + message_reader_memory(r->scan.messages) +
	       r->decoded.event_capacity * sizeof(*r->decoded.events) +
	       (rows->slot_count - rows->first_open) * (size_t)ROWS_BLOCK_BYTES +
	       rows->slot_capacity * sizeof(*rows->slots) + rows->packed.capacity +
	       rows->late.fresh_capacity * sizeof(*rows->late.fresh) +
	       rows->late.page_capacity * sizeof(*rows->late.pages) + map_memory(&p->live) +
	       steps * sizeof(struct step) + nodes->capacity * sizeof(*nodes->list) +
	       nodes->wire_capacity * sizeof(*nodes->by_wire) + map_memory(&nodes->index);
}

bool recording_opening_news(const struct recording *r, struct err_text *ret_news)
{
	const struct ledger_info *l = &r->ledger;
	const char *anew = r->derived.anew.text;
	char skipped[128] = "", derived[sizeof(r->derived.anew.text) + 64] = "";

	if (l->damaged_places)
		snprintf(skipped, sizeof(skipped),
			 "%llu damaged bytes in %llu place%s are skipped, the first at %llu; ",
			 (unsigned long long)l->skipped_bytes,
			 (unsigned long long)l->damaged_places, l->damaged_places == 1 ? "" : "s",
			 (unsigned long long)l->first_damage);
	if (*anew)
		snprintf(derived, sizeof(derived), "%s; its rows are derived anew; ", anew);
	err_set(ret_news, 0, "%s: %s%s%llu events are there", r->path, skipped, derived,
		(unsigned long long)l->stored);
	return *skipped || *derived;
}

int recording_refresh(struct recording *r, struct err_text *err)
{
	uint64_t size, before = r->scan.offset;
	bool flushed = r->flushed;
	int e = file_size(r, &size, err);

	if (!e)
		e = recording_take_all(r, size, NULL, NULL, err);
	if (!e && (r->scan.offset != before || !flushed))
		e = recording_settle(r, size);
	if (e < 0)
		return e;
	return r->scan.offset != before || r->flushed != flushed;
}
