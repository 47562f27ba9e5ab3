#pragma once
/*
 * `top --live`: the state of the view. live.c reads the recording and the keys, and changes the
 * state. draw.c draws it, and changes only what depends on the size of the screen.
 *
 *	recording --refresh--> figures, groups --pick--> order --draw--> screen
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/cli/ask/question.h"
#include "collector/cli/live/start.h"

/* What the rows count; keys 1 to 5. */
enum shown { SHOW_IN_USE, SHOW_RATE, SHOW_KEPT, SHOW_TEMPORARY, SHOW_ALLOCATED, SHOWN };

#define LIVE_RECENT_S 10 /* seconds of the rate; older blocks count as kept */
#define LIVE_MINUTE   60 /* seconds of the graph in the head */
#define LIVE_BUCKETS  (LIVE_MINUTE + 1)
#define LIVE_SEARCH   64

enum page { PAGE_ROWS, PAGE_BACKTRACE, PAGE_HELP };

struct live {
	struct command_call *call;
	struct question_options options;
	struct question question;
	bool is_open;
	struct started started;

	/* ---- from the recording, as of the last refresh ---- */
	struct report report;
	uint64_t minute[LIVE_BUCKETS]; /* by second: the most in use; the last one is the current */
	unsigned minute_count;
	double allocations_s, bytes_s; /* over the last seconds */
	struct groups groups;
	uint64_t window_ns; /* SHOW_RATE: duration that the rows cover */
	size_t *order;	    /* indices of the visible rows */
	size_t order_count;
	char trouble[200]; /* message on the screen; "": none */

	/* ---- how it is shown ---- */
	enum shown shown;
	enum grouping grouping;
	enum page page;
	bool by_blocks, paused, full_names, typing;
	char search[LIVE_SEARCH];
	size_t selected, first; /* selected row, and first row shown, in `order` */
	uint32_t node;		/* PAGE_BACKTRACE: node of the backtrace */
	size_t scrolled;	/* PAGE_BACKTRACE: first line shown */
	unsigned page_rows;	/* rows of call sites on the screen */
	bool utf8;
};

/* Runs the view until the user quits. Returns an exit status. */
int live_run(struct command_call *call);
/* Draws the whole screen. */
void live_draw(struct live *live);
