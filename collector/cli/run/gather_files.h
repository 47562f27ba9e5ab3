#pragma once
/*
 * The part of `collector gather` that receives symbol files from agents. It asks for some on its
 * own (--fetch-symbols), and for others by order of `collector symbols fetch`, over the control
 * socket, one question per file:
 *
 *   fetch BUILD-ID      at RECEIVED TOTAL (bytes; each second)      ok it is here now | no WHY
 *
 * The socket is always served, because orders come over it, too (gather_orders.h).
 */
#include <uv.h>

#include "collector/cli/run/gather_orders.h"
#include "collector/control/control.h"
#include "collector/ingest/ingest.h"

struct gather_files {
	struct ingest *ingest;
	struct control *control;
	struct gather_orders orders; /* handles all other questions */
	char *folder;		     /* the folder of the store of symbol files */
	uv_timer_t timer;
	unsigned ticks;
	bool open, awaited;
	void (*none_left)(void *context);
	void *context;
};

/* Fills in the options of ingest about files, except its callbacks. Returns 0 or -ENOMEM. */
int gather_files_init(struct gather_files *files, const char *data, bool of_modules,
		      struct ingest_options *ret_options);
int gather_files_open(struct gather_files *files, uv_loop_t *loop, const char *data,
		      struct ingest *ingest, struct err_text *err);
/* Calls `none_left` once no file is being received. */
void gather_files_await(struct gather_files *files, void (*none_left)(void *context),
			void *context);
void gather_files_event(struct gather_files *files, const struct ingest_event *event);
/* The caller calls this before the last turns of the loop, and gather_files_done after them. */
void gather_files_close(struct gather_files *files);
void gather_files_done(struct gather_files *files);

/* Tells whether ingest should ask for the file. Runs in ingest's worker. */
bool gather_files_wanted(const struct gather_files *files, const struct ingest_file *file,
			 const char *path);
int gather_files_came(const struct gather_files *files, const struct ingest_file *file,
		      const char *path, struct err_text *err);
