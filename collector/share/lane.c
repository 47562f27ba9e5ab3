/* The way to one shard. See lane.h. */
#include "collector/share/lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/shards.h"
#include "collector/clickhouse/upkeep.h"
#include "collector/share/columns.h"

#include "base/ban.h"

/* For how long a part that was tried can be sent again though the replica that is asked may lack
 * it: a replicated table stores none of its last 10,000 blocks twice (clickhouse/schema.c). */
#define REMEMBERED_NS 300000000000u
/* How often a replica to which others write, too, is asked for a part. */
#define ASKED_MOST 5

/* What is in doubt is told to whoever sends next, too, by the file's name. */
static int set_aside(struct lane *lane, struct err_text *err)
{
	lane->told_damage = false;
	if (rename(lane->path, lane->damaged_path) == 0)
		return 0;
	return err_set(err, -errno,
		       "%s is damaged, and can't be renamed to %s: %s. Rename it: what it held is "
		       "sent again from the recordings",
		       lane->path, lane->damaged_path, strerror(errno));
}

int lane_init(struct lane *lane, struct clickhouse *client, const char *folder, uint32_t shard,
	      struct err_text *err)
{
	int r;

	*lane = (struct lane){.client = client,
			      .shard = shard,
			      .told_damage = true,
			      .began_ns = cancel_clock_ns()};
	if (asprintf(&lane->path, "%s/shard-%u", folder, shard) < 0) {
		lane->path = NULL;
		return -ENOMEM;
	}
	if (asprintf(&lane->damaged_path, "%s.damaged", lane->path) < 0) {
		lane->damaged_path = NULL;
		return -ENOMEM;
	}
	r = shipment_read(lane->path, &lane->shipment, err);
	lane->on_its_way = !r;
	if (r == -EBADMSG || r == -EIO)
		r = set_aside(lane, err);
	lane->in_doubt = !access(lane->damaged_path, F_OK);
	return r == -ENOENT ? 0 : r;
}

void lane_tell_damage(struct lane *lane, struct err_text *ret)
{
	if (lane->told_damage || *ret->text)
		return;
	err_set(ret, -EBADMSG,
		"%s, which held sums on their way to the shared store, is damaged, and was set "
		"aside as %s. The recordings have these sums: they are compared with what has "
		"arrived, and what is missing is sent. There is nothing to do, but look after that "
		"disk",
		lane->path, lane->damaged_path);
	lane->told_damage = true;
}

void lane_settled(struct lane *lane)
{
	if (lane->in_doubt)
		unlink(lane->damaged_path);
	lane->in_doubt = false;
}

void lane_done(struct lane *lane)
{
	free(lane->path);
	free(lane->damaged_path);
	dictionary_done(&lane->dictionary);
	marks_done(&lane->marks);
	shipment_done(&lane->shipment);
	*lane = (struct lane){0};
}

static const struct {
	const char *table, *columns;
} tables[SHIPMENT_KINDS] = {
	[SHIPMENT_SUMS] = {"sums", SUMS_COLUMNS},
	[SHIPMENT_LEVELS] = {"levels", SUMS_COLUMNS},
	[SHIPMENT_SNAPSHOTS] = {"snapshots", SNAPSHOTS_COLUMNS},
	[SHIPMENT_STREAMS] = {"streams", STREAMS_COLUMNS},
};

/* Rows of other tables replace themselves if they are sent again. */
static bool adds(const struct shipment_part *part)
{
	return part->kind == SHIPMENT_SUMS || part->kind == SHIPMENT_LEVELS;
}

/* Whether a replica that lacks rows may be told them again: it would not store them twice. */
static bool is_remembered(const struct shipment_part *part)
{
	return part->tried_ns && cancel_clock_ns() - part->tried_ns < REMEMBERED_NS;
}

static int find_part(const struct lane *lane, const struct shipment_part *part,
		     struct clickhouse_batch_found *ret_found, struct err_text *err)
{
	int r = clickhouse_batch_find(lane->client, lane->shard, tables[part->kind].table,
				      part->batch, part->day, ret_found, err);

	return !r && ret_found->running
		       ? err_set(err, -EAGAIN,
				 "ClickHouse still works on what was sent before (shard %u)",
				 lane->shard + 1)
		       : r;
}

/* Asks whether a part that was tried has arrived. One INSERT of one partition arrives as a whole.
 * What certainly has not counts as not tried. */
static int ask_part(const struct lane *lane, struct shipment_part *part, struct err_text *err)
{
	struct clickhouse_batch_found found = {0};
	bool remembered = is_remembered(part);
	int r = find_part(lane, part, &found, err);

	for (unsigned i = 1; !r && !found.rows && found.behind && !remembered; i++) {
		r = i < ASKED_MOST ? clickhouse_caught_up(lane->client, lane->shard, err)
				   : err_set(err, -EAGAIN,
					     "a replica of shard %u has not caught up "
					     "with the others yet",
					     lane->shard + 1);
		if (!r)
			r = find_part(lane, part, &found, err);
	}
	if (r < 0)
		return r;
	part->arrived = found.rows;
	part->tried = part->arrived || found.behind;
	return 0;
}

/* All are asked for before any is sent: a replica that has just got something has not taken note of
 * it yet, and would have to be waited for. */
static int ask_parts(const struct lane *lane, struct err_text *err)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < lane->shipment.count; i++) {
		struct shipment_part *part = &lane->shipment.parts[i];

		if (adds(part) && part->tried && !part->arrived)
			r = ask_part(lane, part, err);
	}
	return r;
}

static int send_part(struct lane *lane, struct shipment_part *part, struct err_text *err)
{
	int r;

	if (part->arrived)
		return 0;
	part->tried_ns = part->tried ? part->tried_ns : cancel_clock_ns();
	part->tried = true;
	clickhouse_set_batch(lane->client, adds(part) ? part->batch : 0);
	r = clickhouse_insert(lane->client, lane->shard, tables[part->kind].table,
			      tables[part->kind].columns, part->data.data, part->data.length, err);
	clickhouse_set_batch(lane->client, 0);
	part->arrived = !r;
	if (!r && part->kind == SHIPMENT_SUMS)
		lane->sums += part->rows;
	return r;
}

static int send_rows(struct lane *lane, const char *table, const char *columns, struct buf *rows,
		     struct err_text *err)
{
	int r = rows->length ? clickhouse_insert(lane->client, lane->shard, table, columns,
						 rows->data, rows->length, err)
			     : 0;

	if (!r)
		buf_clear(rows);
	return r;
}

static int send_kind(struct lane *lane, enum shipment_kind kind, struct err_text *err)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < lane->shipment.count; i++)
		if (lane->shipment.parts[i].kind == kind)
			r = send_part(lane, &lane->shipment.parts[i], err);
	return r;
}

static int lane_try(struct lane *lane, struct err_text *err)
{
	int r = send_rows(lane, "frames", FRAMES_COLUMNS, &lane->dictionary.frame_rows, err);

	if (!r)
		r = send_rows(lane, "stacks", STACKS_COLUMNS, &lane->dictionary.stack_rows, err);
	if (!lane->on_its_way)
		lane->shipment.known = lane->known;
	if (!r && !lane->on_its_way && lane->shipment.count)
		r = shipment_write(&lane->shipment, lane->path, err);
	if (!r)
		r = ask_parts(lane, err);
	for (enum shipment_kind kind = 0; !r && kind < SHIPMENT_KINDS; kind++) {
		r = send_kind(lane, kind, err);
		lane->on_its_way |= r < 0;
	}
	return r;
}

int lane_failed(struct lane *lane, int error, const struct err_text *err)
{
	lane->error = error;
	lane->why = (struct err_text){0};
	if (error)
		err_set(&lane->why, error, "%s", err_get(err, error));
	return error;
}

int lane_send(struct lane *lane)
{
	struct err_text err = {0};
	bool was_written = lane->on_its_way || lane->shipment.count;

	if (lane_failed(lane, lane_try(lane, &err), &err))
		return lane->error;
	if (was_written)
		unlink(lane->path);
	lane->known |= was_written;
	shipment_done(&lane->shipment);
	lane->on_its_way = false;
	return 0;
}

/* What waits goes on from what was sent before. If that is gone (the data base was made anew
 * meanwhile), all is sent again from the recordings. */
static int lane_check(struct lane *lane, uint64_t collector, struct err_text *err)
{
	bool there = true, known = lane->on_its_way ? lane->shipment.known : lane->known;
	int r = lane->shipment.count && known
			? marks_there(lane->client, lane->shard, collector, &there, err)
			: 0;

	/* The first rows of all are asked for: nothing else tells whether they are still there. */
	for (uint32_t i = 0; !known && i < lane->shipment.count; i++)
		lane->shipment.parts[i].arrived = false;
	if (r < 0 || there)
		return r;
	unlink(lane->path);
	shipment_done(&lane->shipment);
	marks_done(&lane->marks);
	dictionary_forget(&lane->dictionary);
	lane->on_its_way = false;
	return 0;
}

/* An INSERT of the damaged file may still be under way; its number is not known. */
static int check_inserts(const struct lane *lane, struct err_text *err)
{
	uint64_t seconds = (cancel_clock_ns() - lane->began_ns) / 1000000000u;
	bool running = false;
	int r = clickhouse_inserts_since(lane->client, lane->shard, seconds, &running, err);

	if (r < 0 || !running)
		return r;
	return err_set(err, -EAGAIN, "ClickHouse still works on what was sent before (shard %u)",
		       lane->shard + 1);
}

int lane_begin(struct lane *lane, uint64_t collector)
{
	struct err_text err = {0};
	int r = lane_check(lane, collector, &err);

	if (r < 0)
		return lane_failed(lane, r, &err);
	r = lane_send(lane);
	if (r < 0)
		return r;
	if (lane->in_doubt && !lane->marks.read)
		r = check_inserts(lane, &err);
	if (r < 0)
		return lane_failed(lane, r, &err);
	r = marks_read(&lane->marks, lane->client, lane->shard, collector, &err);
	if (r == 1)
		dictionary_forget(&lane->dictionary);
	lane->known = lane->marks.streams.count;
	return lane_failed(lane, r == 1 ? 0 : r, &err);
}

int lane_read_others(struct lane *lane, uint64_t collector)
{
	struct err_text err = {0};
	int r = marks_read_others(&lane->marks, lane->client, lane->shard, collector, &err);

	return r ? lane_failed(lane, r, &err) : 0;
}
