/* Draws the view from the first line to the last. No line is longer than the screen. All text from
 * a recording goes through terminal.h. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "collector/cli/ask/sites.h"
#include "collector/cli/live/live.h"
#include "collector/cli/live/screen.h"
#include "collector/cli/terminal.h"
#include "collector/recording/recording.h"
#include "base/ban.h"

#define ROWS_LEAST    10
#define COLUMNS_LEAST 40
#define HEAD_ROWS     7	 /* lines above the rows: 6 of the head, and the titles */
#define NUMBERS	      33 /* columns before a call site */
#define MINUTE_LABEL  13
#define PLACE_LEAST   12
#define SECOND	      1e9

static const struct {
	const char *name, *heading[2];
} shown_as[SHOWN] = {
	[SHOW_IN_USE] = {"in use", {"BYTES", "BLOCKS"}},
	[SHOW_RATE] = {"rate", {"BYTES/S", "ALLOCS/S"}},
	[SHOW_KEPT] = {"kept", {"BYTES", "BLOCKS"}},
	[SHOW_TEMPORARY] = {"temporary", {"BYTES", "BLOCKS"}},
	[SHOW_ALLOCATED] = {"allocated", {"BYTES", "BLOCKS"}},
};

struct canvas {
	unsigned rows, columns, row, used; /* `used`: columns of this row */
};

static void canvas_text(struct canvas *c, enum style style, const char *text)
{
	if (c->used < c->columns)
		c->used += terminal_text(style, text, c->columns - c->used);
}

static void canvas_blanks(struct canvas *c, unsigned until)
{
	unsigned to = until < c->columns ? until : c->columns;

	if (to > c->used) {
		terminal_blanks(to - c->used);
		c->used = to;
	}
}

/* Starts the next line and clears it. At the last line of the screen it does nothing. (Clearing to
 * the end of a full line would erase its last character.) */
static void canvas_next(struct canvas *c)
{
	if (++c->row < c->rows)
		fputs("\r\n\033[K", stdout);
	c->used = 0;
}

static void canvas_line(struct canvas *c, enum style style, const char *text)
{
	canvas_text(c, style, text);
	canvas_next(c);
}

/* ---- the head ---- */

static void draw_program(const struct live *live, struct canvas *c)
{
	const struct recorded *r = &live->question.recorded;
	time_t began = (time_t)(r->process.start_wall_ns / 1000000000u);
	char text[160], since[32] = "", lasted[32];
	const char *state = live->paused ? "  paused" : r->live ? "  live" : "";
	struct tm tm;

	if (localtime_r(&began, &tm))
		strftime(since, sizeof(since), "%H:%M:%S", &tm);
	canvas_text(c, STYLE_BOLD, r->process.name ? r->process.name : "?");
	snprintf(text, sizeof(text), "  pid %u  since %s, for %s", r->process.pid, since,
		 format_duration(lasted, recording_end_ns(live->question.recording)));
	canvas_text(c, STYLE_PLAIN, text);
	canvas_text(c, live->paused ? STYLE_YELLOW : STYLE_GREEN, state);
	if (!r->live) {
		snprintf(text, sizeof(text), "  ended: %s", r->end);
		canvas_text(c, STYLE_YELLOW, text);
	}
	canvas_next(c);
}

/* Draws a number with its name, at a column. */
static void draw_number(struct canvas *c, unsigned at, const char *name, const char *text)
{
	canvas_blanks(c, at);
	canvas_text(c, STYLE_DIM, name);
	canvas_text(c, STYLE_PLAIN, " ");
	canvas_text(c, STYLE_BOLD, text);
}

static void draw_numbers(const struct live *live, struct canvas *c)
{
	const struct recorded *r = &live->question.recorded;
	char text[120], number[32], size[32];

	snprintf(text, sizeof(text), "%s in %s blocks",
		 format_size(size, (double)live->report.leaked.bytes),
		 format_count(number, live->report.leaked.blocks));
	draw_number(c, 0, r->live ? "in use   " : "not freed", text);
	draw_number(c, 48, "peak    ", format_size(size, (double)live->report.peak.bytes));
	canvas_next(c);
	snprintf(text, sizeof(text), "%s allocations/s, %s/s",
		 format_count(number, r->live ? (uint64_t)(live->allocations_s + 0.5) : 0),
		 format_size(size, r->live ? live->bytes_s : 0));
	draw_number(c, 0, "rate     ", text);
	if (r->has_figures)
		draw_number(c, 48, "resident", format_size(size, (double)r->figures.rss));
	canvas_next(c);
	snprintf(text, sizeof(text), "%s in all",
		 format_count(number, live->report.allocated.blocks));
	draw_number(c, 0, "allocated", text);
	canvas_blanks(c, 48);
	canvas_text(c, STYLE_DIM, "lost     ");
	snprintf(text, sizeof(text), "%s events", format_count(number, r->lost));
	canvas_text(c, r->lost ? STYLE_RED : STYLE_BOLD, text);
	canvas_next(c);
}

/* Draws one character per second, relative to the highest value of this minute. */
static void draw_minute(const struct live *live, struct canvas *c)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {"_", ".", "-", ":", "=", "+", "*", "#"};
	unsigned room = c->columns - 10 - MINUTE_LABEL, count = live->minute_count;
	uint64_t most = 0;
	char size[32], text[64];

	if (count > room)
		count = room;
	for (unsigned i = 0; i < count; i++) {
		uint64_t value = live->minute[live->minute_count - count + i];

		most = value > most ? value : most;
	}
	canvas_text(c, STYLE_DIM, "minute    ");
	for (unsigned i = 0; i < count; i++) {
		uint64_t value = live->minute[live->minute_count - count + i];
		unsigned level = most ? (unsigned)((double)value / (double)most * 7 + 0.5) : 0;

		canvas_text(c, STYLE_GREEN, live->utf8 ? blocks[level] : ascii[level]);
	}
	snprintf(text, sizeof(text), " %s", format_size(size, (double)most));
	canvas_text(c, STYLE_DIM, text);
	canvas_next(c);
}

static void draw_values(const struct live *live, struct canvas *c)
{
	bool colours = terminal_colours();

	for (unsigned i = 0; i < SHOWN; i++) {
		bool is = i == (unsigned)live->shown;
		char text[32];

		snprintf(text, sizeof(text), is ? "[%u %s]" : " %u %s ", i + 1, shown_as[i].name);
		if (is && colours)
			fputs("\033[7m", stdout);
		canvas_text(c, STYLE_PLAIN, text);
		if (is && colours)
			fputs("\033[0m", stdout);
		canvas_text(c, STYLE_PLAIN, " ");
	}
	if (live->typing || *live->search) {
		canvas_text(c, STYLE_YELLOW, " /");
		canvas_text(c, STYLE_YELLOW, live->search);
		if (live->typing)
			canvas_text(c, STYLE_YELLOW, "_");
	}
	canvas_next(c);
}

/* ---- rows ---- */

static void draw_name(struct canvas *c, bool selected, const char *function, const char *file,
		      uint32_t line, const char *module)
{
	unsigned room = c->columns > c->used ? c->columns - c->used : 0;
	char place[320] = "";

	if (!room)
		return;
	c->used +=
		terminal_name(selected ? STYLE_BOLD : STYLE_PLAIN, function ? function : "?", room);
	if (!function || function[0] != '[')
		place_text(file, line, module, place, sizeof(place));
	if (!*place || c->used + 2 + PLACE_LEAST > c->columns)
		return;
	canvas_blanks(c, c->used + 2);
	canvas_text(c, STYLE_DIM, place);
}

static void draw_row(const struct live *live, struct canvas *c, size_t at)
{
	const struct group *g = &live->groups.list[live->order[at]];
	double seconds = live->shown == SHOW_RATE ? (double)live->window_ns / SECOND : 1;
	const struct usage *total = &live->groups.total;
	double part = live->by_blocks ? (double)g->value.blocks : (double)g->value.bytes,
	       whole = live->by_blocks ? (double)total->blocks : (double)total->bytes;
	bool selected = at == live->selected;
	char text[96], size[32], count[32];

	if (seconds < 0.1)
		seconds = 0.1;
	snprintf(text, sizeof(text), "%s%10s %5.1f%% %12s  ", selected ? ">" : " ",
		 format_size(size, (double)g->value.bytes / seconds),
		 whole > 0 ? 100 * part / whole : 0.0,
		 format_count(count, (uint64_t)((double)g->value.blocks / seconds + 0.5)));
	canvas_text(c, selected ? STYLE_BOLD : STYLE_PLAIN, text);
	draw_name(c, selected, g->function, g->file, g->line, g->module);
	canvas_next(c);
}

static void draw_rows(struct live *live, struct canvas *c)
{
	static const char *const nouns[] = {[GROUP_BY_SITE] = "CALL SITE",
					    [GROUP_BY_FUNCTION] = "FUNCTION",
					    [GROUP_BY_BACKTRACE] = "BACKTRACE"};
	unsigned room = c->rows - 1 - HEAD_ROWS;
	char text[96];

	live->page_rows = room;
	if (live->selected >= live->order_count)
		live->selected = live->order_count ? live->order_count - 1 : 0;
	if (live->first + room > live->order_count)
		live->first = live->order_count > room ? live->order_count - room : 0;
	if (live->selected < live->first)
		live->first = live->selected;
	if (live->selected >= live->first + room)
		live->first = live->selected - room + 1;
	snprintf(text, sizeof(text), " %10s %6s %12s  %s", shown_as[live->shown].heading[0],
		 live->by_blocks ? "%num" : "%", shown_as[live->shown].heading[1],
		 nouns[live->grouping]);
	canvas_line(c, STYLE_BOLD, text);
	for (unsigned i = 0; i < room; i++) {
		if (live->first + i < live->order_count)
			draw_row(live, c, live->first + i);
		else if (!i)
			canvas_line(c, STYLE_DIM,
				    *live->search ? "  no call site has this text"
						  : "  nothing yet");
		else
			canvas_next(c);
	}
}

/* ---- the other pages ---- */

static size_t frames_of(struct view *view, uint32_t node)
{
	size_t count = 0;

	for (; node; node = view_parent(view, node))
		count += view_frame_count(view, node);
	return count;
}

static void draw_backtrace(struct live *live, struct canvas *c)
{
	struct view *view = live->question.view;
	unsigned room = c->rows - 1 - HEAD_ROWS;
	size_t count = frames_of(view, live->node), at = 0;

	live->page_rows = room;
	if (live->scrolled + room > count)
		live->scrolled = count > room ? count - room : 0;
	canvas_line(c, STYLE_BOLD, " the heaviest backtrace of this row, innermost frame first");
	for (uint32_t node = live->node; node; node = view_parent(view, node))
		for (uint32_t i = 0, n = view_frame_count(view, node); i < n; i++, at++) {
			struct view_frame f;

			if (at < live->scrolled || at >= live->scrolled + room)
				continue;
			f = view_frame(view, node, i);
			canvas_blanks(c, 2);
			draw_name(c, false, f.name, f.file, f.line, f.module);
			canvas_next(c);
		}
	while (c->row < c->rows - 1)
		canvas_next(c);
}

static void draw_help(struct canvas *c)
{
	static const char *const lines[] = {
		"",
		"  1  in use      what is allocated now, and not freed",
		"  2  rate        what was allocated in the last 10 seconds, a second",
		"  3  kept        in use, and older than 10 seconds: what may be a leak",
		"  4  temporary   freed before the next allocation: costs time",
		"  5  allocated   all that was allocated, whatever became of it",
		"",
		"  v, Tab         the next of these           s        sort by bytes or blocks",
		"  arrows, PgUp, PgDn, Home, End              Enter    the row's backtrace",
		"  /              only rows with a text       Esc      all rows again",
		"  f              full names of functions     space    pause",
		"  q, Ctrl-C      end; what was started here ends, what was joined goes on",
		"",
		"  Any key goes back.",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines) && c->row < c->rows - 1; i++)
		canvas_line(c, STYLE_PLAIN, lines[i]);
	while (c->row < c->rows - 1)
		canvas_next(c);
}

static void draw_foot(const struct live *live, struct canvas *c)
{
	char text[64];

	if (*live->trouble) {
		canvas_line(c, STYLE_RED, live->trouble);
		return;
	}
	canvas_text(c, STYLE_DIM, "q quit  ? help  v value  s sort  / find  Enter backtrace");
	snprintf(text, sizeof(text), "%zu of %zu", live->order_count ? live->selected + 1 : 0,
		 live->order_count);
	if (c->used + 2 + strlen(text) < c->columns) {
		canvas_blanks(c, c->columns - (unsigned)strlen(text) - 1);
		canvas_text(c, STYLE_DIM, text);
	}
	canvas_next(c);
}

void live_draw(struct live *live)
{
	struct canvas c = {0};

	screen_size(&c.rows, &c.columns);
	fputs("\033[H\033[K", stdout);
	if (c.rows < ROWS_LEAST || c.columns < COLUMNS_LEAST) {
		canvas_line(&c, STYLE_PLAIN, "too small");
		fputs("\033[J", stdout);
	} else {
		draw_program(live, &c);
		draw_numbers(live, &c);
		draw_minute(live, &c);
		draw_values(live, &c);
		if (live->page == PAGE_HELP)
			draw_help(&c);
		else if (live->page == PAGE_BACKTRACE)
			draw_backtrace(live, &c);
		else
			draw_rows(live, &c);
		draw_foot(live, &c);
	}
	fflush(stdout);
}
