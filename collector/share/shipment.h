#pragma once
/*
 * What is on its way to the shared store: parts, each one INSERT into one table of one shard. A
 * shipment is written to a file before it is sent, and the file is removed when all parts have
 * arrived. So whoever takes it up after a crash sends the same bytes again, under the same number
 * of the batch, and asks before whether they are there.
 *
 *	sums	  rows of one day (a partition), so that they appear together or not at all
 *	levels	  the same
 *	snapshots the members of snapshots, of one day
 *	streams	  what is known of streams, and how far their sums have been sent: after all others
 *
 * The file:
 *	"hcship" NUL 3 | length 8 | known 1, parts | XXH3 of these 8
 *	a part:	kind 1 | shard 4 | day 4 | batch 8 | rows 8 | length 8 | rows in RowBinary
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct err_text;

/* In the order in which they are sent. */
enum shipment_kind {
	SHIPMENT_SUMS,
	SHIPMENT_LEVELS,
	SHIPMENT_SNAPSHOTS,
	SHIPMENT_STREAMS,
	SHIPMENT_KINDS
};

struct shipment_part {
	enum shipment_kind kind;
	uint32_t shard;
	uint32_t day;	/* not of streams: days since the epoch */
	uint64_t batch; /* sums and levels: a random number, in each of the rows */
	uint64_t rows;
	struct buf data;
	/* Not in the file: all parts of one that was read were tried, at an unknown time. */
	bool tried, arrived;
	uint64_t tried_ns; /* the first time (cancel_clock_ns); 0: unknown */
};

struct shipment {
	struct shipment_part *parts;
	uint32_t count, capacity;
	uint64_t rows; /* of all parts */
	bool known;    /* the shard had rows of the collector before; if it has none now, it was
			  made anew, and needs what came before these parts, too */
};

void shipment_done(struct shipment *shipment);
/* Returns the part that more rows belong to, or NULL without memory or random numbers. It is valid
 * until the next call. The caller appends a row, and calls shipment_row. */
struct shipment_part *shipment_part(struct shipment *shipment, enum shipment_kind kind,
				    uint32_t shard, uint32_t day);
void shipment_row(struct shipment *shipment, struct shipment_part *part);

/* Writes the file and makes it durable. Returns 0 or a negative errno with a sentence. */
int shipment_write(const struct shipment *shipment, const char *path, struct err_text *err);
/* Returns 0; -ENOENT if there is no file; -EBADMSG with a sentence if it is damaged; or another
 * negative errno. */
int shipment_read(const char *path, struct shipment *ret_shipment, struct err_text *err);
