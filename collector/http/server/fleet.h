#pragma once
/*
 * The state of all recordings at the last look, for clients that watch them. All watchers share one
 * look. A look happens at most once per second, and less often if it would cost more than a tenth
 *of a thread. Looks that find a change are numbered, and each recording carries the number of its
 *last change. So the number of the last look that it was told of is all that a watcher has to keep:
 *
 *	look 7      a:7  b:3  c:5      gone  d:7
 *	told of 5   a and d are news
 *
 * Nothing is kept while there is no watcher. Worker threads call these functions. The lock is not
 * held during a look.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/recording/stream_id.h"

struct answer;
struct fleet;
struct json;
struct sources;

struct fleet *fleet_new(void); /* NULL: no memory */
void fleet_free(struct fleet *fleet);

/* Describes a recording (struct source_line). See fleet/list.c. */
extern const struct answer list_answer;

/* A watcher, valid between sources_watch and sources_unwatch. */
struct fleet_watcher {
	unsigned place;
	uint64_t told, telling; /* numbers of looks; told: 0 before the first report */
	bool in_midst;
	struct stream_id behind; /* the last recording reported */
};
void fleet_join(struct fleet *fleet, struct fleet_watcher *ret_watcher);
void fleet_leave(struct fleet *fleet, struct fleet_watcher *watcher);

/* Looks if a look is due and no other thread is looking. Returns -EAGAIN while another thread makes
 * the first look. */
int fleet_look(struct sources *sources, struct err_text *err);
bool fleet_has_news(struct fleet *fleet, const struct fleet_watcher *watcher);
/*
 * Writes the watcher's news as members of the object `json`: an array "changed", then "gone".
 * Returns 1 when it has written `bytes`. The caller then calls again with the same `json`; a
 * recording that changes in between appears in its newer state. Returns 0 when all is written. The
 * watcher then counts as up to date.
 */
int fleet_tell(struct fleet *fleet, struct fleet_watcher *watcher, struct json *json, size_t bytes);
