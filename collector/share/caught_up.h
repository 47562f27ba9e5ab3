#pragma once
/* Whether a replica has all that the others of its shard have accepted. What one that has not says
 * of sums and streams must not be believed: what it lacks would be sent again. */
#include <stddef.h>

struct clickhouse;
struct err_text;

/* Waits for the replica that answers for the shard, for two seconds at most. Returns 0; -EAGAIN
 * with a sentence; or another error of client.h. Who reads something asks before and after it:
 * another replica may have answered meanwhile. */
int caught_up(struct clickhouse *client, size_t shard, struct err_text *err);
