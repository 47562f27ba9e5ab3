/* Waits for a replica. See caught_up.h. */
#include "collector/share/caught_up.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "base/error.h"
#include "collector/clickhouse/upkeep.h"

#include "base/ban.h"

/* While others send, too, a replica always has something to fetch, but rarely for long. */
#define TRIES	20
#define WAIT_NS 100000000

int caught_up(struct clickhouse *client, size_t shard, struct err_text *err)
{
	for (unsigned i = 0; i < TRIES; i++) {
		bool behind = false;
		int r = clickhouse_behind(client, shard, &behind, err);

		if (r < 0 || !behind)
			return r;
		nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
	}
	return err_set(err, -EAGAIN, "a replica of shard %zu has not caught up with the others yet",
		       shard + 1);
}
