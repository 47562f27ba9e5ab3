/* See rows.h. */
#include "collector/store/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/ban.h"

/* Blocks that may be open in all recordings together, and that are. */
static _Atomic uint32_t open_blocks = ROWS_OPEN_BYTES / ROWS_BLOCK_BYTES, open_now;

void store_row_memory(uint64_t bytes)
{
	uint64_t blocks = bytes / ROWS_BLOCK_BYTES;

	open_blocks = blocks < 1 ? 1 : blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks;
}

void rows_init(struct rows *rows)
{
	*rows = (struct rows){.fd = {-1, -1}};
}

void rows_done(struct rows *rows)
{
	if (rows->sealing.block && rows->sealing.joinable)
		pthread_join(rows->sealing.thread, NULL);
	block_free(rows->sealing.block);
	block_free(rows->spare);
	buf_done(&rows->sealing.packed);
	for (uint32_t i = rows->first_open; i < rows->slot_count; i++)
		block_free(rows->slots[i].open);
	open_now -= rows->slot_count - rows->first_open;
	free(rows->slots);
	late_done(&rows->late);
	buf_done(&rows->packed);
	for (unsigned i = 0; i < 2; i++)
		if (rows->fd[i] >= 0)
			close(rows->fd[i]);
	rows_init(rows);
}

/* ---- the file ---- */

/* Without a name, where there is a disk rather than memory. */
static int open_temporary(void)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	int fd;

	if (!folder || !*folder)
		folder = "/var/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 ||
	    (size_t)snprintf(path, sizeof(path), "%s/heapcast-XXXXXX", folder) >= sizeof(path))
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int write_file(void *context, const void *data, size_t length, uint64_t *ret_offset)
{
	struct rows *rows = context;
	const uint8_t *from = data;

	if (rows->fd[0] < 0)
		rows->fd[0] = open_temporary();
	if (rows->fd[0] < 0)
		return -errno;
	for (size_t done = 0; done < length;) {
		ssize_t n = pwrite(rows->fd[0], from + done, length - done,
				   (off_t)(rows->written + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	*ret_offset = rows->written;
	rows->written += length;
	return 0;
}

/* ---- sealing ---- */

/* Writes what is in `packed`. */
static int write_packed(struct rows *rows, struct rows_slot *slot)
{
	int r = buf_error(&rows->packed);

	slot->length = (uint32_t)rows->packed.length;
	slot->base = false;
	return r ? r : write_file(rows, rows->packed.data, rows->packed.length, &slot->offset);
}

static void *pack(void *argument)
{
	struct sealing *s = argument;

	buf_clear(&s->packed);
	block_pack(s->block, &s->packed);
	return NULL;
}

/* What was packed beside goes into the file. */
int rows_settle(struct rows *rows)
{
	struct sealing *s = &rows->sealing;
	struct rows_slot *slot;
	int r;

	if (!s->block)
		return 0;
	if (s->joinable)
		pthread_join(s->thread, NULL);
	block_free(rows->spare);
	rows->spare = take_ptr(s->block);
	slot = &rows->slots[s->slot];
	r = buf_error(&s->packed);
	slot->length = (uint32_t)s->packed.length;
	return r ? r : write_file(rows, s->packed.data, s->packed.length, &slot->offset);
}

static int seal(struct rows *rows, uint32_t index)
{
	struct rows_slot *slot = &rows->slots[index];
	struct rows_block *b = slot->open;
	int r = rows_settle(rows);

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
	open_now--;
	rows->sealing.block = b;
	rows->sealing.slot = index;
	rows->sealing.joinable = !pthread_create(&rows->sealing.thread, NULL, pack, &rows->sealing);
	if (!rows->sealing.joinable)
		pack(&rows->sealing);
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

int rows_write_late(struct rows *rows)
{
	int r = rows_settle(rows);

	return !r && rows->late.fresh_count ? late_write(&rows->late, false, write_file, rows) : r;
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

	/* Who needs more gives of his own, if he has any. */
	if (own && open_now >= open_blocks)
		r = rows_seal(rows, own - 1);
	if (!r)
		r = add_slot(rows);
	if (r < 0)
		return r;
	block = rows->spare ? take_ptr(rows->spare) : block_new(rows->count);
	if (!block)
		return -ENOMEM;
	block_clear(block, rows->count);
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

int rows_add_packed(struct rows *rows, const struct rows_slot *slot)
{
	struct rows_slot placed = *slot;
	int r = write_packed(rows, &placed);

	return r ? r : rows_restore_sealed(rows, &placed);
}

static void widen(uint64_t *min, uint64_t *max, uint64_t value)
{
	if (value < *min)
		*min = value;
	if (value > *max)
		*max = value;
}

int rows_append(struct rows *rows, const struct row_birth *birth, uint32_t *ret_row)
{
	struct rows_block *b;
	uint32_t i = (uint32_t)(rows->count % ROWS_PER_BLOCK);

	if (rows->count >= NO_BLOCK - 1)
		return -E2BIG;
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
	b->death_kind[i] = 0;
	b->end[i] = BLOCK_IN_USE;
	widen(&b->view.min.birth_ns, &b->view.max.birth_ns, birth->birth_ns);
	widen(&b->view.min.size, &b->view.max.size, birth->size);
	widen(&b->view.min.address, &b->view.max.address, birth->address);
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
	/* A block does not die before it was born; what the clock says within its error is
	 * overruled. */
	if (time_ns < b->birth_ns[i])
		time_ns = b->birth_ns[i];
	b->death_ns[i] = time_ns;
	b->death_stack[i] = death->stack;
	b->death_thread[i] = death->thread;
	b->death_kind[i] = death->kind;
	b->end[i] = death->end;
	b->in_use -= !death->again;
	widen(&b->view.min.death_ns, &b->last_death_ns, time_ns);
	b->view.max.death_ns = b->in_use ? NO_TIME : b->last_death_ns;
}

static int add_late(struct rows *rows, const struct late_record *record)
{
	int r = late_add(&rows->late, record);

	return !r && rows->late.fresh_count >= LATE_FRESH_MAX ? rows_write_late(rows) : r;
}

/* What is in use has no death, so its bounds are those of what is known. */
static int end_sealed(struct rows *rows, struct rows_slot *slot, uint32_t row,
		      const struct row_death *death, uint64_t time_ns)
{
	slot->in_use -= !death->again && slot->in_use;
	if (time_ns < slot->zone.min.death_ns)
		slot->zone.min.death_ns = time_ns;
	return add_late(rows, &(struct late_record){.row = row,
						    .time_ns = time_ns,
						    .stack = death->stack,
						    .thread = death->thread,
						    .kind = death->kind,
						    .end = death->end,
						    .what = LATE_END});
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
		return add_late(rows,
				&(struct late_record){.row = row, .next = next, .what = LATE_NEXT});
	slot->open->chain_next[row % ROWS_PER_BLOCK] = next;
	return 0;
}

/* ---- reading ---- */

bool rows_have_news(const struct rows *rows, uint32_t index, unsigned columns)
{
	const struct row_block *zone = &rows->slots[index].zone;
	uint32_t first = (uint32_t)zone->first_row;

	return columns & ROWS_LATE && late_any(&rows->late, first, first + zone->count - 1);
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
		r = late_apply(&rows->late, block, rows->fd, limits, spare);
		if (r < 0)
			err_set(err, r, "late news of it can't be read");
	}
	return r;
}
