#pragma once
/*
 * `top --live`: the state of the view. live.c reads the recording and the keys and changes it;
 * draw.c puts it on the screen and changes nothing but what depends on the screen's size.
 *
 *	recording --refresh--> figures, groups --pick--> order --draw--> screen
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/cli/ask/question.h"
#include "collector/cli/live/start.h"

/* What is counted; key 1 to 5. */
enum shown { SHOW_IN_USE, SHOW_RATE, SHOW_KEPT, SHOW_TEMPORARY, SHOW_ALLOCATED, SHOWN };

#define LIVE_RECENT_S 10 /* the rate is that of so many seconds; what was kept is older */
#define LIVE_MINUTE   60 /* seconds of the small line */
#define LIVE_BUCKETS  (LIVE_MINUTE + 1)
#define LIVE_SEARCH   64

enum page { PAGE_ROWS, PAGE_BACKTRACE, PAGE_HELP };

struct live {
	struct command_call *call;
	struct question_options options;
	struct question question;
	bool is_open;
	struct started started;

	/* ---- what the recording says, as of the last refresh ---- */
	struct report report;
	uint64_t minute[LIVE_BUCKETS]; /* most in use in each second, the last one last */
	unsigned minute_count;
	double allocations_s, bytes_s; /* of the last seconds */
	struct groups groups;
	uint64_t window_ns; /* SHOW_RATE: how long the rows' window is */
	size_t *order;	    /* indices of the rows that are to be seen */
	size_t order_count;
	char trouble[200]; /* "": none */

	/* ---- how it is shown ---- */
	enum shown shown;
	enum grouping grouping;
	enum page page;
	bool by_blocks, paused, full_names, typing;
	char search[LIVE_SEARCH];
	size_t selected, first; /* rows of `order` */
	uint32_t node;		/* PAGE_BACKTRACE: of this backtrace */
	size_t scrolled;	/* PAGE_BACKTRACE */
	unsigned page_rows;	/* rows of call sites on the screen */
	bool utf8;
};

/* Runs it until the user has had enough. Returns an exit status. */
int live_run(struct command_call *call);
/* Draws all of it. */
void live_draw(struct live *live);
