#pragma once
/*
 * The tables, and how they are made and migrated. Each table NAME is two: NAME_local has the rows
 *of one server and is written to; NAME shows the rows of all shards and is read. (On a single
 *server NAME is of the engine Merge, in a cluster of the engine Distributed.) So questions need not
 *know what kind of installation it is.
 *
 *	sums	  what a stream allocated, and how its use changed, by minute since the epoch and by
 *		  backtrace; `base` rows sum up days that were dropped (share/kept.h)
 *	levels	  what a stream had in use at the beginning of a minute, by backtrace, each hour
 *		  (share/levels.h); the columns are those of `sums`
 *	streams	  what is known of a stream, and how far its sums are there; the row with the
 *highest version counts (FINAL). `day` is that of its end so far stacks	  frames of a
 *backtrace, the innermost first frames	  functions of a frame: place 0 is the innermost inlined one
 *	collectors  who sends, and when it gave its last sign
 *	kept	  the first day that is kept
 *	snapshots the members of a snapshot, in order (position, of `members`); its sums are those
 *		  of a stream. `day` is that of the stream
 *	schema_versions  what was done to this server's tables
 *
 * Rows of stacks and frames lie on the shard of the stream that they came with; the same row may
 *lie on several shards. Ids are hashes of contents, so equal rows are the same thing.
 *
 * Steps only ever add. A server that was written by a newer version is refused.
 */
#include <stddef.h>

struct clickhouse;
struct err_text;

struct schema_step {
	unsigned version;
	const char *table;
	/* A new table: its columns, and its engine, order and partitions. */
	const char *columns;
	const char *replacing; /* "version": ReplacingMergeTree(version); "": without a column;
				  NULL: MergeTree */
	const char *order;     /* "PARTITION BY ... ORDER BY ..." */
	/* Or a column that is added to it: "name Type". */
	const char *add;
};

/* The steps of this version, in order. The last one's version is that of the schema. */
extern const struct schema_step schema_steps[];
extern const size_t schema_step_count;

/*
 * Makes or migrates the tables of one server, which may happen in several collectors at once.
 * shards.h must know the servers by then (clickhouse_prepare calls this). Returns 0, -EPROTO if the
 * server's schema is newer, or an error of client.h, with a sentence.
 */
int schema_apply(struct clickhouse *client, size_t server, const struct schema_step *steps,
		 size_t count, struct err_text *err);
