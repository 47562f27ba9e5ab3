#pragma once
/* The snapshots of all collectors that share a data base, from the shared tables alone. Snapshots
 * that a collector has removed stay until their day is dropped (kept.h). */
#include <stddef.h>
#include <stdint.h>

#include "collector/catalogue/snapshots.h"
#include "collector/query/query.h"
#include "collector/share/shared_called.h"
#include "collector/share/shared_names.h"

struct clickhouse;
struct err_text;

void shared_snapshots_done(struct shared_snapshots *snapshots);
/* Lists all, with their members. `called` (snapshot.h) is set where the name alone does not name
 * one: others have the same. Returns 0 or an error of clickhouse/client.h. */
int shared_snapshots(struct clickhouse *client, struct shared_snapshots *ret_snapshots,
		     struct err_text *err);
/*
 * Finds one: by its name, by NAME@HOST with the host of its collector, or by the beginning of its
 * id (8 digits at least). Of those with the same name in one collector, the newest counts: it
 * removed the others. `called` is NULL. Returns 0, -ENOENT or -EEXIST (several collectors have one)
 * with a sentence, or another error.
 */
int shared_snapshot_get(struct clickhouse *client, const char *name, struct snapshot *ret_snapshot,
			uint64_t *ret_owner, struct err_text *err);

/* Finds one in the same way, without its members. */
int shared_snapshot_find(struct clickhouse *client, const char *name, struct stream_id *ret_stream,
			 uint64_t *ret_owner, struct err_text *err);

/* What a snapshot had in use, by function, in no order. */
struct shared_functions {
	struct shared_names names; /* holds the texts of the groups */
	struct groups groups;	   /* of a group: names and `value`, without errors; no node */
};

/* Call sites are chosen by the known rules, or, with HIDE_NONE, are the innermost frames. */
int shared_snapshot_functions(struct clickhouse *client, const struct snapshot *snapshot,
			      uint64_t owner, enum filter_hide hide,
			      struct shared_functions *ret_functions, struct err_text *err);
void shared_functions_done(struct shared_functions *functions);
