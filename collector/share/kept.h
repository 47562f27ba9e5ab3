#pragma once
/*
 * How far back the shared store reaches. Days are dropped as partitions. What was in use before the
 * first day that is kept goes on as *base* rows of that day:
 *
 *	day	   | 1   2   3 | 4    5    6
 *	kept from 4:  dropped    base and rows, rows, rows
 *
 * The table `kept` of each shard names the first day; the latest counts. Base rows of another day,
 *and rows before it, count for nothing, so answers change at the moment at which that row appears,
 *and not while rows are summed up and dropped. Snapshots before that day are dropped with what they
 *had in use.
 */
#include <stdbool.h>
#include <stdint.h>

struct buf;
struct clickhouse;
struct err_text;

/* Reads the first day that is kept, in days since the epoch; 0: all are. */
int kept_read(struct clickhouse *client, uint32_t *ret_day, struct err_text *err);
/* Appends the condition for rows of `sums` that count. */
void kept_put(struct buf *sql, uint32_t day);
/* Makes `day` the first one: sums up what is before it, says so, and drops what is before. Only one
 * collector may do that at a time. May be called again after an error. */
int kept_move(struct clickhouse *client, uint32_t from, uint32_t day, struct err_text *err);
