#pragma once
/*
 * All recordings as they were at the last look, for those who watch them. One look is for all who
 * watch, once a second and so seldom that it costs a tenth of a thread at most. Looks in which
 * something has changed are numbered; each recording bears the number at which it changed last, so
 * that a watcher needs to know only what number he has been told of:
 *
 *	look 7      a:7  b:3  c:5      gone  d:7
 *	told of 5   a and d are news
 *
 * Nothing is kept while nobody watches. For worker threads; no lock is held while somebody looks.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/recording/stream_id.h"

struct fleet;
struct json;
struct sources;

struct fleet *fleet_new(void); /* NULL: no memory */
void fleet_free(struct fleet *fleet);

/* A watcher, who may be so from sources_watch to sources_unwatch. */
struct fleet_watcher {
	unsigned place;
	uint64_t told, telling; /* numbers of looks; told 0: of nothing yet */
	bool in_midst;
	struct stream_id behind; /* which was told last */
};
void fleet_join(struct fleet *fleet, struct fleet_watcher *ret_watcher);
void fleet_leave(struct fleet *fleet, struct fleet_watcher *watcher);

/* Looks if it is time and nobody is at it. -EAGAIN: somebody is at the first look. */
int fleet_look(struct sources *sources, struct err_text *err);
bool fleet_has_news(struct fleet *fleet, const struct fleet_watcher *watcher);
/*
 * Writes what is news to him as the members of `json`, an object: an array "changed", then "gone".
 * Stops when there are `bytes` of it: 1; call again with the same `json`, in which a recording that
 * changes in between is as it is then. 0: that was all, and he is told.
 */
int fleet_tell(struct fleet *fleet, struct fleet_watcher *watcher, struct json *json, size_t bytes);
