#pragma once
/* State shared by the files that implement sources.h. */
#include "collector/catalogue/store.h"
#include "collector/http/server/options.h"
#include "collector/http/server/sources.h"
#include "collector/recording/stream_id.h"

struct sources {
	struct http_options options; /* the caller owns its strings */
	pthread_mutex_t lock;
	struct store *store; /* NULL: not opened yet */
	struct source *list; /* most recently opened first */
	uint64_t clock;
	unsigned watchers, imports;
	pid_t dying[8]; /* killed processes still to be reaped; 0: a free slot */
	struct fleet *fleet;
	/* The last failure to look something up in the data base that collectors share. */
	struct {
		int error; /* 0: there was none */
		uint64_t at_ns;
		struct err_text why;
	} shared;
};

/* The caller of the functions below holds the lock. */

/* Returns 0, -ENOENT if there is no store (yet), or another negative errno. */
int sources_open_store(struct sources *sources, struct err_text *err);
/* Finds an open source by its full id. */
struct source *sources_find(struct sources *sources, const char *id);

struct naming {
	char id[STREAM_ID_TEXT];
	unsigned matches;
};

/* Resolves `name`, the first digits of an id or "last". Returns 0, -ENOENT, or -EEXIST if several
 * ids match, with a message in `err`. */
int sources_resolve(struct sources *sources, const char *name, struct naming *naming,
		    struct err_text *err);
