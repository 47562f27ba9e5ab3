#pragma once
/*
 * The part of `collector gather` that is about symbol files of agents: what it has asked by itself
 * (--fetch-symbols), and what `collector symbols fetch` asks by the control socket, one question a
 * file:
 *
 *   fetch BUILD-ID      at RECEIVED TOTAL (bytes; each second)      ok it is here now | no WHY
 *
 * The socket is served in any case, for orders, too (gather_orders.h).
 */
#include <uv.h>

#include "collector/cli/run/gather_orders.h"
#include "collector/control/control.h"
#include "collector/ingest/ingest.h"

struct gather_files {
	struct ingest *ingest;
	struct control *control;
	struct gather_orders orders; /* the other questions */
	char *folder;		     /* the store of symbol files */
	uv_timer_t timer;
	unsigned ticks;
	bool open, awaited;
	void (*none_left)(void *context);
	void *context;
};

/* What ingest is to know of files, but for its callbacks. 0 or -ENOMEM. */
int gather_files_init(struct gather_files *files, const char *data, bool of_modules,
		      struct ingest_options *ret_options);
int gather_files_open(struct gather_files *files, uv_loop_t *loop, const char *data,
		      struct ingest *ingest, struct err_text *err);
/* Calls `none_left` once no file is on its way any more. */
void gather_files_await(struct gather_files *files, void (*none_left)(void *context),
			void *context);
void gather_files_event(struct gather_files *files, const struct ingest_event *event);
/* Before the loop's last turns; then done, behind them. */
void gather_files_close(struct gather_files *files);
void gather_files_done(struct gather_files *files);

/* In ingest's worker. */
bool gather_files_wanted(const struct gather_files *files, const struct ingest_file *file,
			 const char *path);
int gather_files_came(const struct gather_files *files, const struct ingest_file *file,
		      const char *path, struct err_text *err);
