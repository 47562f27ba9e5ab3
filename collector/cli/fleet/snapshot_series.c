/* Snapshots at intervals. See snapshot_series.h. */
#include "collector/cli/fleet/snapshot_series.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/ban.h"

#define TIME_LETTERS 16 /* 20261130T050000Z */

DEFINE_CLEANUP(store_close, struct store *)

void series_name(char out[SNAPSHOT_NAME_MAX + 1], const char *prefix, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	char when[32] = "0";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(out, SNAPSHOT_NAME_MAX + 1, "%s-%s", prefix, when);
}

bool series_has(const char *prefix, const char *name)
{
	size_t length = strlen(prefix);
	const char *when;

	if (strncmp(name, prefix, length) != 0 || name[length] != '-')
		return false;
	when = name + length + 1;
	if (strlen(when) != TIME_LETTERS)
		return false;
	for (unsigned i = 0; i < TIME_LETTERS; i++)
		if (i == 8    ? when[i] != 'T'
		    : i == 15 ? when[i] != 'Z'
			      : when[i] < '0' || when[i] > '9')
			return false;
	return true;
}

uint64_t series_due(uint64_t now_ns, uint64_t every_ns)
{
	return (now_ns / every_ns + 1) * every_ns;
}

int series_retain(const char *data, const char *prefix, uint64_t keep_ns, uint64_t now_ns,
		  struct err_text *err)
{
	cleanup(cleanup_store_close) struct store *store = NULL;
	struct snapshot *list = NULL;
	size_t count = 0;
	int removed = 0, r = store_open(data, STORE_READ, &store, err);

	if (!r)
		r = store_snapshots(store, &list, &count, err);
	for (size_t i = 0; !r && i < count; i++) {
		if (!series_has(prefix, list[i].name) || list[i].wall_ns > now_ns ||
		    now_ns - list[i].wall_ns <= keep_ns)
			continue;
		r = store_snapshot_remove(store, list[i].name, err);
		removed += !r;
	}
	store_snapshots_free(list, count);
	return r < 0 ? r : removed;
}
