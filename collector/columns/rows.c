/* Open and sealed blocks of rows. rows.h describes them. */
#include "collector/columns/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/columns/row_memory.h"
#include "base/unnamed_file.h"
#include "base/ban.h"

/* How many blocks may be open in all recordings together, and how many are. */
static _Atomic uint32_t open_blocks = ROWS_OPEN_BYTES / ROWS_BLOCK_BYTES, open_now;

/* Unused blocks for reuse, so that their memory need not come from the kernel again. They count
 * towards the limit of open blocks. */
static struct {
	pthread_mutex_t mutex;
	struct rows_block *blocks[SEALING_MAX];
	uint32_t count;
} unused = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Of the blocks of recordings that are closed, enough for those who open one after the other. */
#define LEFT_AT_END 4

struct rows_block *rows_take_block(uint64_t first_row)
{
	struct rows_block *block = NULL;

	pthread_mutex_lock(&unused.mutex);
	if (unused.count)
		block = unused.blocks[--unused.count];
	pthread_mutex_unlock(&unused.mutex);
	if (!block)
		return block_new(first_row);
	block_clear(block, first_row);
	return block;
}

static void leave_block(struct rows_block *block, uint32_t most)
{
	pthread_mutex_lock(&unused.mutex);
	if (unused.count < most && open_now + unused.count < open_blocks)
		unused.blocks[unused.count++] = take_ptr(block);
	pthread_mutex_unlock(&unused.mutex);
	block_free(block);
}

void row_memory_limit(uint64_t bytes)
{
	uint64_t blocks = bytes / ROWS_BLOCK_BYTES;

	open_blocks = blocks < 1 ? 1 : blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks;
}

void rows_init(struct rows *rows)
{
	*rows = (struct rows){.fd = {-1, -1},
			      .sealing = {.mutex = PTHREAD_MUTEX_INITIALIZER,
					  .one_done = PTHREAD_COND_INITIALIZER}};
}

void rows_done(struct rows *rows)
{
	rows_settle(rows);
	open_now -= rows->slot_count - rows->first_open;
	for (uint32_t i = rows->first_open; i < rows->slot_count; i++)
		leave_block(rows->slots[i].open, LEFT_AT_END);
	free(rows->slots);
	late_updates_done(&rows->late);
	buf_done(&rows->packed);
	buf_done(&rows->sealing.packed);
	for (unsigned i = 0; i < 2; i++)
		if (rows->fd[i] >= 0)
			close(rows->fd[i]);
	rows_init(rows);
}

/* ---- the file ---- */

/* Reserves room at the end of our file, which is created if necessary. Returns 0 or a negative
 * errno. */
static int take_room(struct rows *rows, size_t length, uint64_t *ret_offset)
{
	int r = 0;

	pthread_mutex_lock(&rows->sealing.mutex);
	if (rows->fd[0] < 0)
		rows->fd[0] = unnamed_file();
	if (rows->fd[0] < 0)
		r = -errno;
	*ret_offset = rows->written;
	rows->written += length;
	pthread_mutex_unlock(&rows->sealing.mutex);
	return r;
}

static int rows_write_file(void *context, const void *data, size_t length, uint64_t *ret_offset)
{
	struct rows *rows = context;
	int r = take_room(rows, length, ret_offset);

	return r ? r : rows_write_at(rows->fd[0], data, length, *ret_offset);
}

int rows_write_at(int fd, const void *data, size_t length, uint64_t offset)
{
	const uint8_t *from = data;

	for (size_t done = 0; done < length;) {
		ssize_t n = pwrite(fd, from + done, length - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

/* ---- sealing ---- */

static struct sealing_block *sealing_at(struct sealing *s, uint32_t index)
{
	return &s->queue[(s->first + index) % SEALING_MAX];
}

/* Packs and writes the first block that no thread has taken up. Called with the mutex held;
 * releases it meanwhile. */
static void pack_one(struct rows *rows, struct buf *packed)
{
	struct sealing *s = &rows->sealing;
	struct sealing_block *b = sealing_at(s, s->begun++);

	pthread_mutex_unlock(&s->mutex);
	buf_clear(packed);
	block_pack(b->block, packed);
	b->length = (uint32_t)packed->length;
	b->error = buf_error(packed);
	if (!b->error)
		b->error = rows_write_file(rows, packed->data, packed->length, &b->offset);
	pthread_mutex_lock(&s->mutex);
	b->done = true;
	pthread_cond_signal(&s->one_done);
}

static void *help_pack(void *argument)
{
	struct rows *rows = argument;
	struct sealing *s = &rows->sealing;

	pthread_mutex_lock(&s->mutex);
	while (s->begun < s->count)
		pack_one(rows, &s->packed);
	s->helped = false;
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

/* Stores the places of written blocks in their slots, and frees the blocks. Called with the mutex
 * held. */
static int rows_collect(struct rows *rows)
{
	struct sealing *s = &rows->sealing;
	int r = 0;

	while (s->count && s->queue[s->first].done) {
		struct sealing_block *b = &s->queue[s->first];
		struct rows_slot *slot = &rows->slots[b->slot];

		slot->offset = b->offset;
		slot->length = b->length;
		r = r ? r : b->error;
		open_now--;
		leave_block(take_ptr(b->block), SEALING_MAX);
		s->first = (s->first + 1) % SEALING_MAX;
		s->count--;
		s->begun--;
	}
	return r;
}

/* Waits, and helps, until at most `most` blocks are unwritten. */
static int settle_to(struct rows *rows, uint32_t most)
{
	struct sealing *s = &rows->sealing;
	int r;

	pthread_mutex_lock(&s->mutex);
	r = rows_collect(rows);
	while (s->count > most) {
		int e;

		if (s->begun < s->count)
			pack_one(rows, &rows->packed);
		else
			pthread_cond_wait(&s->one_done, &s->mutex);
		e = rows_collect(rows);
		r = r ? r : e;
	}
	pthread_mutex_unlock(&s->mutex);
	return r;
}

int rows_wait(struct rows *rows)
{
	int r = settle_to(rows, 0);

	helper_join(&rows->sealing.helper);
	return r;
}

int rows_settle(struct rows *rows)
{
	int r = rows_wait(rows);

	late_updates_sort(&rows->late);
	return r;
}

static void rows_push(struct rows *rows, struct rows_block *block, uint32_t slot)
{
	struct sealing *s = &rows->sealing;
	bool helped;

	pthread_mutex_lock(&s->mutex);
	*sealing_at(s, s->count++) = (struct sealing_block){.block = block, .slot = slot};
	helped = s->helped;
	s->helped = true;
	pthread_mutex_unlock(&s->mutex);
	if (helped)
		return;
	helper_join(&s->helper);
	if (!helper_start(&s->helper, help_pack, rows))
		help_pack(rows);
}

static int seal(struct rows *rows, uint32_t index)
{
	struct rows_slot *slot = &rows->slots[index];
	struct rows_block *b = slot->open;
	int r = settle_to(rows, SEALING_MAX - 1);

	if (r < 0)
		return r;
	slot->in_use = b->in_use;
	slot->zone = (struct row_block){.count = b->view.count,
					.first_row = b->view.first_row,
					.min = b->view.min,
					.max = b->view.max,
					.weighted = b->view.weighted};
	slot->base = false;
	slot->open = NULL;
	rows_push(rows, b, index);
	return 0;
}

int rows_seal(struct rows *rows, uint32_t most)
{
	int r = 0;

	while (!r && rows->slot_count - rows->first_open > most &&
	       rows->slots[rows->first_open].open->view.count == ROWS_PER_BLOCK) {
		r = seal(rows, rows->first_open);
		rows->first_open += !r;
	}
	return r;
}

static int write_late(struct rows *rows)
{
	return rows->late.fresh_count
		       ? late_updates_write(&rows->late, false, rows_write_file, rows)
		       : 0;
}

int rows_write_late(struct rows *rows)
{
	int r = rows_settle(rows);

	return r ? r : write_late(rows);
}

/* ---- appending ---- */

static int add_slot(struct rows *rows)
{
	return array_reserve(&rows->slots, &rows->slot_capacity, (uint64_t)rows->slot_count + 1,
			     sizeof(*rows->slots));
}

static int add_block(struct rows *rows)
{
	uint32_t own = rows->slot_count - rows->first_open;
	struct rows_block *block;
	int r = 0;

	/* If memory is used up, a recording that needs another block seals its oldest one, if it
	 * has any. One sealed block may stay unwritten, so that packing goes on beside us. */
	if (own && open_now >= open_blocks)
		r = rows_seal(rows, own - 1);
	else if (rows->most_open && own > rows->most_open)
		r = rows_seal(rows, rows->most_open);
	if (!r && open_now > open_blocks)
		r = settle_to(rows, 1);
	if (!r)
		r = add_slot(rows);
	if (r < 0)
		return r;
	block = rows_take_block(rows->count);
	if (!block)
		return -ENOMEM;
	rows->slots[rows->slot_count++] = (struct rows_slot){.open = block};
	open_now++;
	return 0;
}

int rows_restore(struct rows *rows, struct rows_block *block)
{
	int r = add_slot(rows);

	if (r < 0)
		return r;
	rows->slots[rows->slot_count++] = (struct rows_slot){.open = block};
	open_now++;
	rows->count += block->view.count;
	return 0;
}

int rows_restore_sealed(struct rows *rows, const struct rows_slot *slot)
{
	int r = add_slot(rows);

	if (r < 0)
		return r;
	rows->slots[rows->slot_count++] = *slot;
	rows->first_open = rows->slot_count;
	rows->count += slot->zone.count;
	return 0;
}

static void rows_widen(uint64_t *min, uint64_t *max, uint64_t value)
{
	if (value < *min)
		*min = value;
	if (value > *max)
		*max = value;
}

static uint64_t numbers = NO_BLOCK - 1;

void rows_set_numbers(uint64_t some)
{
	numbers = some ? some : NO_BLOCK - 1;
}

bool rows_full(const struct rows *rows)
{
	return rows->count >= numbers;
}

int rows_append(struct rows *rows, const struct row_birth *birth, uint32_t *ret_row)
{
	struct rows_block *b;
	uint32_t i = (uint32_t)(rows->count % ROWS_PER_BLOCK);

	if (!i && rows->count / ROWS_PER_BLOCK == rows->slot_count) {
		int r = add_block(rows);

		if (r < 0)
			return r;
	}
	b = rows->slots[rows->slot_count - 1].open;
	if (birth->weight != birth->size && !b->weight && block_add_weights(b) < 0)
		return -ENOMEM;
	b->address[i] = birth->address;
	b->size[i] = birth->size;
	b->birth_ns[i] = birth->birth_ns;
	b->death_ns[i] = NO_TIME;
	if (b->weight)
		b->weight[i] = birth->weight;
	b->stack[i] = birth->stack;
	b->thread[i] = birth->thread;
	b->death_stack[i] = 0;
	b->death_thread[i] = 0;
	b->chain_previous[i] = birth->chain_previous;
	b->chain_next[i] = NO_BLOCK;
	b->kind[i] = birth->kind;
	b->death_kind[i] = birth->level;
	b->end[i] = BLOCK_IN_USE;
	rows_widen(&b->view.min.birth_ns, &b->view.max.birth_ns, birth->birth_ns);
	rows_widen(&b->view.min.size, &b->view.max.size, birth->size);
	rows_widen(&b->view.min.address, &b->view.max.address, birth->address);
	b->view.max.death_ns = NO_TIME;
	b->view.count = i + 1;
	b->in_use++;
	*ret_row = (uint32_t)rows->count++;
	return 0;
}

/* ---- ends ---- */

static void end_open(struct rows_block *b, uint32_t i, const struct row_death *death,
		     uint64_t time_ns)
{
	/* A death before the birth is within the clock's error: the birth's time is taken. */
	if (time_ns < b->birth_ns[i])
		time_ns = b->birth_ns[i];
	b->death_ns[i] = time_ns;
	b->death_stack[i] = death->stack;
	b->death_thread[i] = death->thread;
	b->death_kind[i] = death->kind;
	b->end[i] = death->end;
	b->in_use -= !death->again;
	rows_widen(&b->view.min.death_ns, &b->last_death_ns, time_ns);
	b->view.max.death_ns = b->in_use ? NO_TIME : b->last_death_ns;
}

static int add_late(struct rows *rows, const struct late_update_record *record)
{
	int r = late_updates_add(&rows->late, record);

	return !r && rows->late.fresh_count >= LATE_UPDATE_FRESH_MAX ? write_late(rows) : r;
}

/* While rows are in use, max.death_ns is NO_TIME, so only the minimum changes. */
static int end_sealed(struct rows *rows, struct rows_slot *slot, uint32_t row,
		      const struct row_death *death, uint64_t time_ns)
{
	slot->in_use -= !death->again && slot->in_use;
	if (time_ns < slot->zone.min.death_ns)
		slot->zone.min.death_ns = time_ns;
	if (slot->zone.max.death_ns < time_ns) /* an end that was inferred, and is known now */
		slot->zone.max.death_ns = time_ns;
	return add_late(rows, &(struct late_update_record){.row = row,
							   .time_ns = time_ns,
							   .stack = death->stack,
							   .thread = death->thread,
							   .kind = death->kind,
							   .end = death->end,
							   .what = LATE_UPDATE_END});
}

int rows_end(struct rows *rows, uint32_t row, const struct row_death *death)
{
	struct rows_slot *slot = &rows->slots[row / ROWS_PER_BLOCK];
	uint64_t time_ns = death->time_ns < ROWS_TIME_MAX ? death->time_ns : ROWS_TIME_MAX;

	if (!slot->open)
		return end_sealed(rows, slot, row, death, time_ns);
	end_open(slot->open, row % ROWS_PER_BLOCK, death, time_ns);
	return 0;
}

int rows_link(struct rows *rows, uint32_t row, uint32_t next)
{
	struct rows_slot *slot = &rows->slots[row / ROWS_PER_BLOCK];

	if (!slot->open)
		return add_late(rows, &(struct late_update_record){
					      .row = row, .next = next, .what = LATE_UPDATE_NEXT});
	slot->open->chain_next[row % ROWS_PER_BLOCK] = next;
	return 0;
}

/* ---- reading ---- */

bool rows_have_news(const struct rows *rows, uint32_t index, unsigned columns)
{
	const struct row_block *zone = &rows->slots[index].zone;
	uint32_t first = (uint32_t)zone->first_row;

	return columns & ROWS_LATE && late_updates_any(&rows->late, first, first + zone->count - 1);
}

int rows_read_some(const struct rows *rows, uint32_t index, unsigned columns, uint32_t first,
		   uint32_t end, const struct block_limits *limits, struct rows_block *block,
		   struct block_packed *packed, struct err_text *err)
{
	const struct block_source source = rows_source(rows, index);

	block->view = rows->slots[index].zone;
	return block_unpack_rows(block, &source, columns, first, end, limits, packed, err);
}

int rows_read(const struct rows *rows, uint32_t index, unsigned columns,
	      const struct block_limits *limits, struct rows_block *block, struct buf *spare,
	      struct err_text *err)
{
	const struct rows_slot *slot = &rows->slots[index];
	const struct block_source source = rows_source(rows, index);
	int r;

	block->view = slot->zone;
	r = block_unpack(block, &source, columns, limits, spare, err);
	if (!r && rows_have_news(rows, index, columns)) {
		r = late_updates_apply(&rows->late, block, rows->fd, limits, spare);
		if (r < 0)
			err_set(err, r, "late news of it can't be read");
	}
	return r;
}
