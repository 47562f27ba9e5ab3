#pragma once
/* Which collector has a recording. */
#include <stdint.h>

#include "collector/recording/stream_id.h"

struct clickhouse;
struct err_text;

struct shared_place {
	char id[STREAM_ID_TEXT];
	uint64_t collector;	/* its number (share_number.h) */
	char *name;		/* of its host; "": the collector is not known */
	char *address;		/* of its page, for others; "": it has none */
	uint64_t away_since_ns; /* since the epoch; 0: it is there */
};

/* Finds the stream whose id begins with these hexadecimal digits, and the collector that has it, or
 * has the last part of it. Returns 0; -ENOENT: nobody has sent such a stream, or the text is no
 * beginning of an id; -EEXIST: there are several; or an error of clickhouse/client.h. Free what it
 * holds with shared_place_done. */
int shared_place_find(struct clickhouse *client, const char *id, struct shared_place *ret_place,
		      struct err_text *err);
/* Finds the collector that has a snapshot, which is named as shared_snapshot_get takes it. The
 * errors are the same, with a sentence for -ENOENT, too. */
int shared_place_find_snapshot(struct clickhouse *client, const char *name,
			       struct shared_place *ret_place, struct err_text *err);
void shared_place_done(struct shared_place *place);
