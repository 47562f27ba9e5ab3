#pragma once
/*
 * The rows of a recording: the last blocks open, in memory (block.h), the ones before sealed:
 * packed, in a file. Rows are only appended, and their ends filled in; what comes for a sealed row
 * goes apart (late_updates.h).
 *
 *	blocks:   sealed | sealed | sealed | sealed | open | open | open, being filled
 *	          base   | base   | own    | own    |
 *
 * Sealed blocks lie in `base`, a file of the store that others write or have written, or in our
 * own: the file that we write for the store, or a temporary one without a name (opened when it is
 * needed first). Memory for open blocks is bounded (row_memory_limit): the oldest is sealed first.
 */
#include <pthread.h>

#include "collector/columns/block.h"
#include "collector/columns/helper.h"
#include "collector/columns/late_updates.h"
#include "collector/columns/row_block.h"
#include "collector/columns/row_memory.h"

/* Memory of open blocks unless told otherwise, and that of one. */
#define ROWS_OPEN_BYTES	 (64u << 20)
#define ROWS_BLOCK_BYTES (ROWS_PER_BLOCK * 59u)

struct rows_slot {
	struct rows_block *open; /* NULL: sealed */
	struct row_block zone;	 /* of a sealed one */
	uint64_t offset;
	uint32_t length;
	uint32_t in_use; /* of a sealed one: rows that have not ended, late news counted */
	bool base;
};

/* Blocks on their way to the file, the oldest first: a helper (helper.h) packs and writes them, and
 * who has to wait for them takes a hand. What comes for their rows is late already. */
#define SEALING_MAX 16

struct sealing_block {
	struct rows_block *block;
	uint32_t slot;
	uint64_t offset; /* once it is done */
	uint32_t length;
	int error;
	bool done;
};

struct sealing {
	pthread_mutex_t mutex; /* guards all but `helper`, and where rows are written next */
	pthread_cond_t one_done;
	struct sealing_block queue[SEALING_MAX];
	uint32_t first, count, begun; /* so many of them have been begun with */
	bool helped;		      /* the helper looks for more before it ends */
	struct buf packed;	      /* the helper's */
	struct helper helper;
};

struct rows {
	struct rows_slot *slots;
	uint32_t slot_count, slot_capacity;
	uint32_t first_open; /* slots before it are sealed, all from it on open */
	uint64_t count;
	struct late_updates late;
	int fd[2];	   /* [0]: ours, [1]: base; -1: none */
	uint64_t written;  /* bytes of ours that are in use */
	struct buf packed; /* spare, of the owner's thread */
	struct sealing sealing;
	uint32_t most_open; /* full blocks that are left open; 0: as many as there is memory for */
};

struct row_birth {
	uint64_t address, size, birth_ns, weight;
	uint32_t stack, thread, chain_previous;
	uint8_t kind;
	uint8_t level; /* survivors: the level of thinning that they have stood, in death_kind until
			  they end */
};

struct row_death {
	uint64_t time_ns;
	uint32_t stack, thread;
	uint8_t kind, end;
	bool again; /* it had ended already, and this is better knowledge */
};

void rows_init(struct rows *rows);
void rows_done(struct rows *rows);
/* Are there as many as there are numbers? */
bool rows_full(const struct rows *rows);
/* For tests: so many rows have numbers; 0: as many as there are. */
void rows_set_numbers(uint64_t numbers);
/* Appends, unless they are full; 0, -ENOMEM, or what the file says. */
int rows_append(struct rows *rows, const struct row_birth *birth, uint32_t *ret_row);
/* 0, -ENOMEM or what the file says. */
int rows_end(struct rows *rows, uint32_t row, const struct row_death *death);
/* `next` goes on with the chain of `row`. As rows_end. */
int rows_link(struct rows *rows, uint32_t row, uint32_t next);
/* Seals the oldest open blocks until at most `most` are left; those that are not full stay. They
 * may still be on their way: before anything is read, rows_settle. */
int rows_seal(struct rows *rows, uint32_t most);
/* Waits for sealed blocks on their way, and readies late news. rows_read shows what was known
 * then. */
int rows_settle(struct rows *rows);
/* Only waits: what was sealed can be read, but without the late news since rows_settle. */
int rows_wait(struct rows *rows);
/* Writes late news that are in memory to the file. */
int rows_write_late(struct rows *rows);
/* The open block is added behind the sealed ones, as it was when the state was written. */
int rows_restore(struct rows *rows, struct rows_block *block);
int rows_restore_sealed(struct rows *rows, const struct rows_slot *slot);
/* All of it, at `offset`. 0 or negative errno. */
int rows_write_at(int fd, const void *data, size_t length, uint64_t offset);

/* Columns that late news may change. */
#define ROWS_LATE                                                                                  \
	(ROWS_DEATH | ROWS_END | ROWS_DEATH_STACK | ROWS_DEATH_THREAD | ROWS_DEATH_KIND |          \
	 ROWS_CHAIN)

static inline struct block_source rows_source(const struct rows *rows, uint32_t index)
{
	const struct rows_slot *slot = &rows->slots[index];

	return (struct block_source){
		.fd = rows->fd[slot->base], .offset = slot->offset, .length = slot->length};
}

/* The columns of a sealed block as they are now, in `block`, made by block_new. */
int rows_read(const struct rows *rows, uint32_t index, unsigned columns,
	      const struct block_limits *limits, struct rows_block *block, struct buf *spare,
	      struct err_text *err);
/* The rows from `first` to before `end` alone (block_unpack_rows), of a block that has no late news
 * (rows_have_news). */
int rows_read_some(const struct rows *rows, uint32_t index, unsigned columns, uint32_t first,
		   uint32_t end, const struct block_limits *limits, struct rows_block *block,
		   struct block_packed *packed, struct err_text *err);
/* Whether there may be late news of those columns of the block. */
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
