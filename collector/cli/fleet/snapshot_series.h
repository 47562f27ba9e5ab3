#pragma once
/*
 * Snapshots at intervals: `collector snapshot take --every 5m --keep 1d`. Those of a series are
 * called PREFIX-20261130T050000Z, so names are in the order of time. Only snapshots of the series
 * are removed.
 */
#include "collector/catalogue/snapshots.h"

struct err_text;

#define SERIES_PREFIX	   "every" /* without a name */
#define SERIES_PREFIX_MOST (SNAPSHOT_NAME_MAX - 17)

/* Writes the name of the snapshot of this time. */
void series_name(char out[SNAPSHOT_NAME_MAX + 1], const char *prefix, uint64_t wall_ns);
/* Returns true if the name is of this series. */
bool series_has(const char *prefix, const char *name);
/* Returns the first time after `now_ns` that is a multiple of the interval since the epoch, so that
 * series of one interval are due together. */
uint64_t series_due(uint64_t now_ns, uint64_t every_ns);
/* Removes the series' snapshots that were taken more than `keep_ns` before `now_ns`. Returns how
 * many, or a negative errno. */
int series_retain(const char *data, const char *prefix, uint64_t keep_ns, uint64_t now_ns,
		  struct err_text *err);
