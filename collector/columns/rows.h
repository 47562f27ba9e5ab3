#pragma once
/*
 * The rows of a recording. The last blocks are open: in memory (block.h). The blocks before them
 * are sealed: packed, in a file. Rows are only appended, and their ends are filled in. Changes to
 * rows of a sealed block are late updates and are kept apart (late_updates.h).
 *
 *	blocks:   sealed | sealed | sealed | sealed | open | open | open, being filled
 *	          base   | base   | own    | own    |
 *
 * Sealed blocks are in `base`, a file of the store that another writer writes or has written, or in
 * our own file. That is the file that we write for the store, or an unnamed temporary file, which
 * is opened when it is first needed. The memory of open blocks is bounded (row_memory_limit); when
 * it is used up, the oldest block is sealed.
 */
#include <pthread.h>

#include "collector/columns/block.h"
#include "collector/columns/helper.h"
#include "collector/columns/late_updates.h"
#include "collector/columns/row_block.h"
#include "collector/columns/row_memory.h"

/* Default memory of all open blocks, and the memory of one. */
#define ROWS_OPEN_BYTES	 (64u << 20)
#define ROWS_BLOCK_BYTES (ROWS_PER_BLOCK * 59u)

struct rows_slot {
	struct rows_block *open; /* NULL: sealed */
	struct row_block zone;	 /* statistics of a sealed block */
	uint64_t offset;
	uint32_t length;
	uint32_t in_use; /* of a sealed block: rows that have not ended, with late updates
			    counted */
	bool base;
};

/* Blocks that are sealed but not written yet, the oldest first. A helper (helper.h) packs and
 * writes them; a thread that waits for them helps. Changes to their rows are already late
 * updates. */
#define SEALING_MAX 16

struct sealing_block {
	struct rows_block *block;
	uint32_t slot;
	uint64_t offset; /* valid when `done` */
	uint32_t length;
	int error;
	bool done;
};

struct sealing {
	pthread_mutex_t mutex; /* guards all members but `helper`, and rows.written */
	pthread_cond_t one_done;
	struct sealing_block queue[SEALING_MAX];
	uint32_t first, count, begun; /* `begun`: how many of them a thread has taken up */
	bool helped;		      /* a helper runs, and looks for more blocks before it ends */
	struct buf packed;	      /* the helper's memory */
	struct helper helper;
};

struct rows {
	struct rows_slot *slots;
	uint32_t slot_count, slot_capacity;
	uint32_t first_open; /* slots before this one are sealed, the others open */
	uint64_t count;
	struct late_updates late;
	int fd[2];	   /* [0]: ours, [1]: base; -1: none */
	uint64_t written;  /* bytes of our own file that are in use */
	struct buf packed; /* memory for packing in the owner's thread */
	struct sealing sealing;
	uint32_t most_open; /* full blocks that stay open; 0: as many as memory allows */
};

struct row_birth {
	uint64_t address, size, birth_ns, weight;
	uint32_t stack, thread, chain_previous;
	uint8_t kind;
	uint8_t level; /* survivors: the level of thinning that they were judged for; kept in
			  death_kind until they end */
};

struct row_death {
	uint64_t time_ns;
	uint32_t stack, thread;
	uint8_t kind, end;
	bool again; /* the row has ended already, and this end replaces the former one */
};

void rows_init(struct rows *rows);
void rows_done(struct rows *rows);
/* Returns true if no row number is left. */
bool rows_full(const struct rows *rows);
/* For tests: sets how many row numbers there are; 0: the usual limit. */
void rows_set_numbers(uint64_t numbers);
/* Appends a row. The caller checks rows_full first. Returns 0, -ENOMEM, or an error of the file. */
int rows_append(struct rows *rows, const struct row_birth *birth, uint32_t *ret_row);
/* Ends a row. Returns 0, -ENOMEM, or an error of the file. */
int rows_end(struct rows *rows, uint32_t row, const struct row_death *death);
/* Records that `next` continues the chain of `row`. Returns the same errors as rows_end. */
int rows_link(struct rows *rows, uint32_t row, uint32_t next);
/* Seals the oldest open blocks until at most `most` are open; a block that is not full stays open.
 * Sealed blocks may still be unwritten: call rows_settle before you read. */
int rows_seal(struct rows *rows, uint32_t most);
/* Waits until all sealed blocks are written, and sorts the late updates. rows_read applies the
 * updates that were known then. */
int rows_settle(struct rows *rows);
/* Only waits: sealed blocks can be read, but without the late updates since rows_settle. */
int rows_wait(struct rows *rows);
/* Writes the late updates in memory to the file. */
int rows_write_late(struct rows *rows);
/* Returns an empty block, if possible one that was used before: its memory is there. NULL if memory
 * is short. */
struct rows_block *rows_take_block(uint64_t first_row);
/* Adds an open block from a saved state. Sealed blocks must have been added before. */
int rows_restore(struct rows *rows, struct rows_block *block);
int rows_restore_sealed(struct rows *rows, const struct rows_slot *slot);
/* Writes all bytes at `offset`. Returns 0 or a negative errno. */
int rows_write_at(int fd, const void *data, size_t length, uint64_t offset);

/* Columns that late updates may change. */
#define ROWS_LATE                                                                                  \
	(ROWS_DEATH | ROWS_END | ROWS_DEATH_STACK | ROWS_DEATH_THREAD | ROWS_DEATH_KIND |          \
	 ROWS_CHAIN)

static inline struct block_source rows_source(const struct rows *rows, uint32_t index)
{
	const struct rows_slot *slot = &rows->slots[index];

	return (struct block_source){
		.fd = rows->fd[slot->base], .offset = slot->offset, .length = slot->length};
}

/* Reads columns of a sealed block, with late updates applied, into `block`, which block_new
 * made. */
int rows_read(const struct rows *rows, uint32_t index, unsigned columns,
	      const struct block_limits *limits, struct rows_block *block, struct buf *spare,
	      struct err_text *err);
/* Reads only the rows from `first` to before `end` (block_unpack_rows). The block must have no late
 * updates (rows_have_news). */
int rows_read_some(const struct rows *rows, uint32_t index, unsigned columns, uint32_t first,
		   uint32_t end, const struct block_limits *limits, struct rows_block *block,
		   struct block_packed *packed, struct err_text *err);
/* Returns true if the block may have late updates of these columns. */
bool rows_have_news(const struct rows *rows, uint32_t index, unsigned columns);

static inline const struct row_block *rows_zone(const struct rows *rows, uint32_t index)
{
	const struct rows_slot *slot = &rows->slots[index];

	return slot->open ? &slot->open->view : &slot->zone;
}

static inline uint32_t rows_in_use(const struct rows *rows, uint32_t index)
{
	const struct rows_slot *slot = &rows->slots[index];

	return slot->open ? slot->open->in_use : slot->in_use;
}
