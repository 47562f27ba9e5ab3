/*
 * Reads rows, one block at a time. A sealed block is unpacked into the reader's memory; an open
 * block is used in place. Ends are shown as they are known at the end of the recording
 * (pairing_show_censored).
 *
 * If a saved block is damaged, all rows are derived again from the frames, once, for all readers.
 * The rows keep their numbers, so callers notice only the time that this takes.
 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/saturated.h"
#include "collector/recording/completeness.h"
#include "collector/columns/pack.h"
#include "collector/columns/row_block.h"
#include "collector/derive/recording_parts.h"
#include "collector/derive/thinned.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "collector/recording/totals.h"
#include "base/ban.h"

struct row_reader {
	const struct recording *recording;
	struct rows_block *block;   /* NULL: not needed so far */
	struct block_packed packed; /* columns of a block that is unpacked in part */
	struct row_block lent; /* view of an open block; columns that differ are those of `block` */
	const struct row_block *last;
	uint32_t index;
	unsigned columns; /* available in `last` */
	uint32_t chunks;  /* chunks of `last` that are unpacked: one bit each */
};

static_assert(ROWS_PER_BLOCK / PACK_VALUES <= 32, "a bit for every chunk");
#define ALL_CHUNKS UINT32_MAX

/* Returns the chunks with rows from `first` to before `end`. */
static uint32_t chunks_of(uint32_t first, uint32_t end)
{
	unsigned begin = first / PACK_VALUES, count = (end + PACK_VALUES - 1) / PACK_VALUES - begin;

	return (count < 32 ? (1u << count) - 1 : UINT32_MAX) << begin;
}

/* State shared by the readers of a recording. */
struct unpacked {
	pthread_mutex_t mutex;	 /* guards `again` and `why` */
	struct recording *again; /* derived again from the frames */
	struct err_text why;
	pthread_mutex_t keeping; /* guards the blocks kept for recording_block: */
	struct row_reader *reader;
	struct rows_block **blocks;
	uint32_t count;
};

int row_reader_new(const struct recording *r, struct row_reader **ret_reader)
{
	*ret_reader = calloc(1, sizeof(**ret_reader));
	if (!*ret_reader)
		return -ENOMEM;
	(*ret_reader)->recording = r;
	return 0;
}

void row_reader_free(struct row_reader *reader)
{
	if (!reader)
		return;
	block_free(reader->block);
	block_packed_done(&reader->packed);
	free(reader);
}

struct thinned_info recording_thinned(const struct recording *r)
{
	return thinned_told(&r->pairing);
}

double recording_thinned_interval(const struct recording *r)
{
	const struct definitions *d = &r->definitions;
	double squares = 0;

	for (uint32_t i = 0; i < d->thread_count; i++)
		if (d->threads[i])
			squares += (double)d->threads[i]->thinned_interval *
				   (double)d->threads[i]->thinned_interval;
	return sqrt(squares);
}

bool recording_survivors(const struct recording *r)
{
	return r->pairing.thinned.survivors;
}

const struct row_block *recording_zone(const struct recording *r, uint32_t index)
{
	return index < r->rows.slot_count ? rows_zone(&r->rows, index) : NULL;
}

/* ---- open blocks ---- */

static bool is_censored(const struct recording *r, uint32_t index, unsigned columns)
{
	return r->pairing.censored && columns & (ROWS_END | ROWS_DEATH) &&
	       rows_in_use(&r->rows, index);
}

static int need_block(struct row_reader *reader)
{
	if (!reader->block)
		reader->block = block_new(0);
	return reader->block ? 0 : -ENOMEM;
}

static int lend_open(struct row_reader *reader, uint32_t index, unsigned columns)
{
	const struct recording *r = reader->recording;
	const struct rows_block *open = r->rows.slots[index].open;
	bool censored = is_censored(r, index, columns);
	struct rows_block *b;

	reader->lent = open->view;
	reader->lent.exact = r->definitions.process.origin.exact;
	reader->lent.survivors = recording_survivors(r);
	/* An open block has all columns in place. If it needs censored ends that this call did not
	 * ask for, `end` and `death_ns` are not available. */
	reader->columns = censored || !is_censored(r, index, ROWS_ALL)
				  ? ROWS_ALL
				  : ROWS_ALL & ~(ROWS_END | ROWS_DEATH);
	reader->chunks = ALL_CHUNKS;
	if (censored && need_block(reader) < 0)
		return -ENOMEM;
	reader->last = &reader->lent;
	if (!censored)
		return 0;
	b = reader->block;
	b->view.count = open->view.count;
	memcpy(b->end, open->end, open->view.count * sizeof(*b->end));
	memcpy(b->death_ns, open->death_ns, open->view.count * sizeof(*b->death_ns));
	memcpy(b->birth_ns, open->birth_ns, open->view.count * sizeof(*b->birth_ns));
	pairing_show_censored(&r->pairing, b);
	reader->lent.end = b->end;
	reader->lent.death_ns = b->death_ns;
	return 0;
}

/* ---- packed blocks ---- */

/* Checks that every thread in the column is defined. */
static bool threads_known(const struct recording *r, const uint32_t *thread, uint32_t count)
{
	uint32_t known = 0;

	for (uint32_t i = 0; thread && i < count; i++) {
		if (thread[i] == known)
			continue;
		if (thread[i] && !recording_thread(r, thread[i]))
			return false;
		known = thread[i];
	}
	return true;
}

static int check_threads(const struct row_reader *reader, uint32_t first, uint32_t end,
			 struct err_text *err)
{
	const struct row_block *v = &reader->block->view;

	if (!threads_known(reader->recording, v->thread ? v->thread + first : NULL, end - first) ||
	    !threads_known(reader->recording, v->death_thread ? v->death_thread + first : NULL,
			   end - first))
		return err_set(err, -EBADMSG, "it names threads that there are none of");
	return 0;
}

static int unpack_all(struct row_reader *reader, uint32_t index, unsigned columns, bool censored,
		      struct err_text *err)
{
	const struct recording *r = reader->recording;
	const struct block_limits limits = recording_limits(r);
	int e = rows_read(&r->rows, index, columns, &limits, reader->block, &reader->packed.spare,
			  err);

	if (!e)
		e = check_threads(reader, 0, reader->block->view.count, err);
	if (e < 0)
		return e;
	if (censored)
		pairing_show_censored(&r->pairing, reader->block);
	reader->columns = columns;
	reader->chunks = ALL_CHUNKS;
	return 0;
}

/* Keeps the chunks of this block that are already unpacked. */
static int unpack_some(struct row_reader *reader, uint32_t index, unsigned columns, uint32_t first,
		       uint32_t end, bool more, struct err_text *err)
{
	const struct recording *r = reader->recording;
	const struct block_limits limits = recording_limits(r);
	uint32_t count = recording_zone(r, index)->count;
	int e;

	first -= first % PACK_VALUES;
	end = (end + PACK_VALUES - 1) / PACK_VALUES * PACK_VALUES;
	end = end < count ? end : count;
	if (more && !(columns & ~reader->columns))
		columns = reader->columns;
	else
		reader->chunks = 0;
	e = rows_read_some(&r->rows, index, columns, first, end, &limits, reader->block,
			   &reader->packed, err);
	if (!e)
		e = check_threads(reader, first, end, err);
	if (e < 0)
		return e;
	reader->columns = columns;
	reader->chunks |= chunks_of(first, end);
	return 0;
}

/*
 * Unpacks part of a block unless late updates or censored ends have to be applied to it. `more`:
 * this block was also the last one that was read.
 */
static int reader_unpack(struct row_reader *reader, uint32_t index, unsigned columns,
			 uint32_t first, uint32_t end, bool more, struct err_text *err)
{
	const struct recording *r = reader->recording;
	uint32_t count = recording_zone(r, index)->count;
	bool censored = is_censored(r, index, block_closure(columns));
	int e = need_block(reader);

	if (e < 0)
		return e;
	columns = block_closure(columns | (censored ? ROWS_DEATH | ROWS_END | ROWS_BIRTH : 0));
	if ((!first && end == count) || first >= end || censored ||
	    rows_have_news(&r->rows, index, columns))
		e = unpack_all(reader, index, columns, censored, err);
	else
		e = unpack_some(reader, index, columns, first, end, more, err);
	reader->block->view.exact = r->definitions.process.origin.exact;
	reader->block->view.survivors = recording_survivors(r);
	if (!e)
		reader->last = &reader->block->view;
	return e;
}

/* Returns true if what is known about `r` also holds for the rows of `again`. These may be more,
 * because `again` takes the events that wait for a watermark in `r`. False: the frames have
 * changed. */
static bool stands_in(const struct recording *again, const struct recording *r)
{
	return recording_rows(again) >= recording_rows(r) &&
	       recording_nodes(again) <= recording_nodes(r) &&
	       recording_threads(again) <= recording_threads(r);
}

static int open_again(const struct recording *r, struct recording **ret_again, struct err_text *err)
{
	struct recording *again;
	int e = recording_open_frames(r->path, r->scan.offset, &again, err);

	if (e < 0)
		return e;
	if (!stands_in(again, r)) {
		recording_close(again);
		return err_set(err, -EBADMSG,
			       "cannot read the rows of %s, which has changed since they were "
			       "derived: open it again",
			       r->path);
	}
	*ret_again = again;
	return 0;
}

/* Returns the recording derived again from its frames. */
static const struct recording *derive_again(const struct recording *r, uint32_t index,
					    const struct err_text *why, struct err_text *err)
{
	struct unpacked *u = r->unpacked;

	pthread_mutex_lock(&u->mutex);
	if (!u->again) {
		err_set(&u->why, 0, "block %u of %s/rows.%u is damaged (%s)", index,
			r->derived.folder, r->derived.generation, why->text);
		derived_drop(&r->derived);
		open_again(r, &u->again, err);
	}
	pthread_mutex_unlock(&u->mutex);
	return u->again;
}

const struct row_block *row_reader_rows(struct row_reader *reader, uint32_t index, unsigned columns,
					uint32_t first, uint32_t end, struct err_text *err)
{
	const struct recording *r = reader->recording;
	struct err_text why = {0};
	bool more = reader->last && reader->index == index;
	uint32_t count;
	int e;

	if (index >= r->rows.slot_count)
		return NULL;
	count = recording_zone(r, index)->count;
	end = end < count ? end : count;
	if (more && !(columns & ~reader->columns) && !(chunks_of(first, end) & ~reader->chunks))
		return reader->last;
	reader->last = NULL;
	reader->index = index;
	if (r->rows.slots[index].open)
		e = lend_open(reader, index, columns);
	else
		e = reader_unpack(reader, index, columns, first, end, more, &why);
	if (!e)
		return reader->last;
	if (e != -EBADMSG || r->rows.fd[1] < 0) {
		err_set(err, e, "cannot read block %u of the rows of %s: %s", index, r->path,
			why.text[0] ? why.text : strerror(-e));
		return NULL;
	}
	reader->recording = derive_again(r, index, &why, err);
	if (!reader->recording) {
		reader->recording = r;
		return NULL;
	}
	return row_reader_rows(reader, index, columns, first, end, err);
}

const struct row_block *row_reader_block(struct row_reader *reader, uint32_t index,
					 unsigned columns, struct err_text *err)
{
	return row_reader_rows(reader, index, columns, 0, ROWS_PER_BLOCK, err);
}

const char *recording_rederived(const struct recording *r)
{
	const char *why;

	pthread_mutex_lock(&r->unpacked->mutex);
	why = r->unpacked->again ? r->unpacked->why.text : NULL;
	pthread_mutex_unlock(&r->unpacked->mutex);
	return why;
}

/* ---- recording_block ---- */

int unpacked_init(struct recording *r)
{
	r->unpacked = calloc(1, sizeof(*r->unpacked));
	if (!r->unpacked)
		return -ENOMEM;
	pthread_mutex_init(&r->unpacked->mutex, NULL);
	pthread_mutex_init(&r->unpacked->keeping, NULL);
	return 0;
}

void unpacked_changed(struct recording *r)
{
	struct unpacked *u = r->unpacked;

	for (uint32_t i = 0; u->blocks && i < u->count; i++)
		block_free(u->blocks[i]);
	free(u->blocks);
	u->blocks = NULL;
	u->count = 0;
	row_reader_free(u->reader);
	u->reader = NULL;
	recording_close(u->again);
	u->again = NULL;
}

void unpacked_done(struct recording *r)
{
	if (!r->unpacked)
		return;
	unpacked_changed(r);
	pthread_mutex_destroy(&r->unpacked->mutex);
	pthread_mutex_destroy(&r->unpacked->keeping);
	free(r->unpacked);
	r->unpacked = NULL;
}

/* Takes the block from the reader. */
static const struct row_block *reader_keep(struct unpacked *u, const struct row_block *row_block,
					   uint32_t index)
{
	struct rows_block *block = u->reader->block;

	if (!u->blocks)
		u->blocks = calloc(u->count, sizeof(struct rows_block *));
	if (!u->blocks)
		return NULL;
	block->view = *row_block;
	u->blocks[index] = block;
	u->reader->block = NULL;
	u->reader->last = NULL;
	return &block->view;
}

static const struct row_block *unpack_and_keep(const struct recording *r, uint32_t index)
{
	struct unpacked *u = r->unpacked;
	const struct row_block *block;

	if (!u->reader && row_reader_new(r, &u->reader) < 0)
		return NULL;
	block = row_reader_block(u->reader, index, ROWS_ALL, NULL);
	if (u->again)
		return recording_block(u->again, index);
	return block ? reader_keep(u, block, index) : NULL;
}

const struct row_block *recording_block(const struct recording *r, uint32_t index)
{
	struct unpacked *u = r->unpacked;
	const struct row_block *block;

	if (index >= r->rows.slot_count)
		return NULL;
	if (r->rows.slots[index].open && !is_censored(r, index, ROWS_ALL))
		return &r->rows.slots[index].open->view;
	pthread_mutex_lock(&u->keeping);
	u->count = r->rows.slot_count;
	block = u->blocks && u->blocks[index] ? &u->blocks[index]->view : unpack_and_keep(r, index);
	pthread_mutex_unlock(&u->keeping);
	return block;
}

/* Returns the number of blocks that a row represents: its weight divided by its size. */
static double blocks_of(const struct row_block *b, uint32_t i)
{
	uint64_t size = b->size[i] ? b->size[i] : 1;

	return b->weight && b->weight[i] > size ? (double)b->weight[i] / (double)size : 1;
}

int recording_sum_up(struct recording *r, struct totals *totals, struct err_text *err)
{
	struct completeness completeness;
	struct row_reader *reader = NULL;
	uint64_t bytes = 0;
	double blocks = 0;
	int e = rows_settle(&r->rows);

	unpacked_changed(r);
	if (!e)
		e = row_reader_new(r, &reader);
	for (uint32_t k = 0; !e && k < r->rows.slot_count; k++) {
		const struct row_block *b;

		if (!rows_in_use(&r->rows, k))
			continue;
		b = row_reader_block(reader, k, ROWS_SIZE | ROWS_WEIGHT | ROWS_END, err);
		if (!b)
			e = -EIO;
		for (uint32_t i = 0; b && i < b->count; i++) {
			if (b->end[i] != BLOCK_IN_USE)
				continue;
			add_most(&bytes, b->weight && b->size[i] ? b->weight[i] : b->size[i]);
			blocks += blocks_of(b, i);
		}
	}
	row_reader_free(reader);
	if (e < 0)
		return e;
	recording_tell_ledger(r);
	recording_completeness(r, &completeness);
	free(totals->incomplete);
	totals->incomplete = strdup(completeness.line);
	if (!totals->incomplete)
		return -ENOMEM;
	totals->in_use_bytes = bytes;
	totals->in_use_blocks = (uint64_t)(blocks + 0.5);
	totals->summed_up = true;
	totals->summed_bytes = r->pairing.queue.count ? 0 : r->scan.offset;
	return 0;
}

int recording_sum_up_of(const char *path, struct totals *totals, struct err_text *err)
{
	struct recording *r;
	int e = recording_open(path, NULL, NULL, &r, err);

	if (e < 0)
		return e;
	e = recording_sum_up(r, totals, err);
	recording_close(r);
	return e;
}
