#pragma once
/* What names a shared snapshot: several collectors may have one of the same name. */
#include <stddef.h>
#include <stdint.h>

#include "collector/catalogue/snapshots.h"

struct clickhouse;
struct err_text;

struct shared_snapshots {
	struct snapshot *list; /* in the order in which they were taken */
	uint64_t *owners;      /* the number of each one's collector (collectors.h) */
	size_t count;
};

/* See shared_snapshot_get. */
int shared_snapshots_find(struct clickhouse *client, const struct shared_snapshots *snapshots,
			  const char *name, size_t *ret_found, struct err_text *err);
/* Sets `called` of each snapshot whose name alone is not enough: NAME@HOST if that is, else its
 * id. */
int shared_snapshots_call(struct clickhouse *client, struct shared_snapshots *snapshots,
			  struct err_text *err);
