/*
 * The sign that a collector is there. See sign.h.
 *
 * The number of a collector is in its folder, so a copy of the folder has the same. Two that send
 * from copies can't be told apart but by this: our row is not as we wrote it. The time in it has
 * the number of the process below the seconds. So the row of a process that ended in this very
 * second can be above ours. It was there before our first sign, and does not count.
 */
#include "collector/share/sign.h"

#include <errno.h>
#include <stddef.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cancel.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/shards.h"
#include "collector/share/collectors.h"

#include "base/ban.h"

#define SECOND_NS 1000000000u

void sign_init(struct sign *sign)
{
	*sign = (struct sign){0};
	if (getrandom(&sign->process, sizeof(sign->process), 0) != sizeof(sign->process))
		sign->process = (uint32_t)getpid();
	sign->process %= SECOND_NS;
}

/* Tells whether somebody else has written our row since our first sign. */
static bool sign_is_foreign(const struct sign *sign, const struct shared_collector *row)
{
	return row->seen_ns > sign->given_ns && row->seen_ns > sign->found_ns &&
	       row->seen_ns % SECOND_NS != sign->process;
}

static void sign_look_for_double(struct sign *sign, struct clickhouse *client, uint64_t number,
				 const char *folder)
{
	struct shared_collector *list = NULL;
	const struct shared_collector *row;
	size_t count = 0;

	if (shared_collectors(client, &list, &count, NULL) < 0)
		return;
	row = shared_collector_find(list, count, number);
	if (row && !sign->given_ns)
		sign->found_ns = row->seen_ns;
	else if (row && sign_is_foreign(sign, row))
		err_set(&sign->doubled, -EBUSY,
			"another process, on %.200s, sends as the same collector: it has a copy of "
			"%.500s. Remove share/ in one of the two folders, and start its collector "
			"anew",
			row->name, folder);
	shared_collectors_free(list, count);
}

static void sign_put(struct sign *sign, struct clickhouse *client,
		     const struct shared_collector *self)
{
	size_t shard = self->number % clickhouse_shards(client);
	struct shared_collector row = *self;
	char host[256] = "";

	if (shared_clock(client, shard, &row.seen_ns, NULL) < 0)
		return;
	row.seen_ns += sign->process;
	gethostname(host, sizeof(host) - 1);
	row.name = host;
	if (collector_put(client, &row, NULL) < 0)
		return;
	sign->given_ns = row.seen_ns;
	sign->clock_ns = cancel_clock_ns();
}

int sign_give(struct sign *sign, struct clickhouse *client, const struct shared_collector *self,
	      const char *folder, struct err_text *err)
{
	if (!*sign->doubled.text && sign->given_ns &&
	    cancel_clock_ns() - sign->clock_ns < COLLECTOR_SIGN_NS)
		return 0;
	if (!*sign->doubled.text)
		sign_look_for_double(sign, client, self->number, folder);
	if (*sign->doubled.text)
		return err_set(err, -EBUSY, "%s", sign->doubled.text);
	sign_put(sign, client, self);
	return 0;
}
