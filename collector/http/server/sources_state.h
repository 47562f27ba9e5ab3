#pragma once
/* What the files of sources.h share. */
#include "collector/catalogue/store.h"
#include "collector/http/server/http.h"
#include "collector/http/server/sources.h"
#include "collector/recording/stream_id.h"

struct sources {
	struct http_options options; /* its texts are the caller's */
	pthread_mutex_t lock;
	struct store *store; /* NULL: not there yet */
	struct source *list; /* the last opened first */
	uint64_t clock;
	unsigned watchers, imports;
	pid_t dying[8]; /* processes that were killed, and have to be waited for; 0: none */
	struct fleet *fleet;
};

/* Under the lock, all of them. */

/* 0; -ENOENT: there is no store, or not yet. */
int sources_open_store(struct sources *sources, struct err_text *err);
/* Of those that are open, by the whole id. */
struct source *sources_find(struct sources *sources, const char *id);

struct naming {
	char id[STREAM_ID_TEXT];
	unsigned matches;
};

/* The id that `name` means: the first digits of it, or "last". -ENOENT, or -EEXIST if there are
 * several, with a sentence. */
int sources_resolve(struct sources *sources, const char *name, struct naming *naming,
		    struct err_text *err);
