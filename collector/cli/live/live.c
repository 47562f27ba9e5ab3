/*
 * Follows a recording while it is written. See live.h.
 *
 * The wait after a look grows with its cost. So looking takes about a sixtieth of a processor, or a
 * twelfth where the program allocates a lot.
 */
#include "collector/cli/live/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/cli/ask/ranking.h"
#include "collector/cli/live/screen.h"
#include "collector/cli/pager.h"
#include "collector/cli/progress.h"
#include "collector/cli/terminal.h"
#include "collector/recording/recording.h"
#include "base/ban.h"

#define SECOND	     1000000000u
#define LOOK_NS	     ((uint64_t)SECOND)
#define LOOK_MOST_NS (30 * (uint64_t)SECOND)
#define QUIET_SHARE  60 /* share of a processor for looking: one part in 60 */
#define BUSY_SHARE   12
#define BUSY_S	     20000 /* allocations per second */
#define RATE_S	     5
#define AGAIN_NS     (2 * (uint64_t)SECOND) /* time between two searches for a new stream */
#define SIGNALLED    128

static uint64_t live_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* ---- rows ---- */

static uint64_t weight_of(const struct group *g, bool by_blocks)
{
	return by_blocks ? g->value.blocks : g->value.bytes;
}

static int heavier(const void *a, const void *b, void *context)
{
	const struct live *live = context;
	const struct group *x = &live->groups.list[*(const size_t *)a],
			   *y = &live->groups.list[*(const size_t *)b];
	uint64_t of_x = weight_of(x, live->by_blocks), of_y = weight_of(y, live->by_blocks);

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static bool is_found(const struct group *g, const char *search)
{
	return !*search || (g->function && strcasestr(g->function, search)) ||
	       (g->file && strcasestr(g->file, search)) ||
	       (g->module && strcasestr(g->module, search));
}

/* Selects and sorts the visible rows. */
static void live_pick(struct live *live)
{
	size_t *order = realloc(live->order, (live->groups.count + 1) * sizeof(*order));

	live->order_count = 0;
	if (!order)
		return;
	live->order = order;
	for (size_t i = 0; i < live->groups.count; i++)
		if (live->groups.list[i].value.blocks &&
		    is_found(&live->groups.list[i], live->search))
			order[live->order_count++] = i;
	qsort_r(order, live->order_count, sizeof(*order), heavier, live);
}

/* ---- the recording ---- */

static int ask_rows(struct live *live, struct err_text *err)
{
	struct question *q = &live->question;
	uint64_t recent = LIVE_RECENT_S * (uint64_t)SECOND, end = recording_end_ns(q->recording);
	uint64_t from = q->filter.from_ns, to = q->filter.to_ns,
		 border = end > recent ? end - recent : 0;
	enum filter_answer at_once = q->filter.freed_at_once;
	enum value value = VALUE_ALLOCATED;
	struct groups groups = {0};
	int r;

	if (live->shown == SHOW_IN_USE || live->shown == SHOW_KEPT)
		value = VALUE_LEAKED;
	if (live->shown == SHOW_RATE && border > from)
		q->filter.from_ns = border;
	if (live->shown == SHOW_KEPT && border < to)
		q->filter.to_ns = border;
	if (live->shown == SHOW_TEMPORARY)
		q->filter.freed_at_once = ANSWER_YES;
	live->window_ns = end < recent ? end : recent;
	r = query_groups(q->view, &q->filter, live->grouping, value, NO_TIME, &groups, err);
	q->filter.from_ns = from;
	q->filter.to_ns = to;
	q->filter.freed_at_once = at_once;
	if (r < 0)
		return r;
	groups_done(&live->groups);
	live->groups = groups;
	live_pick(live);
	return 0;
}

/* Queries the last minute by seconds, and computes the rates from its last seconds. */
static int ask_minute(struct live *live, struct err_text *err)
{
	struct question *q = &live->question;
	uint64_t end = recording_end_ns(q->recording), minute = LIVE_MINUTE * (uint64_t)SECOND,
		 over = 0, span = end < minute ? end : minute;
	struct timeline timeline = {0};
	int r = query_timeline(
		q->view, &q->filter,
		&(struct timeline_question){.from_ns = end > minute ? end - minute : 0,
					    .to_ns = NO_TIME,
					    .buckets = (uint32_t)(span / SECOND) + 1},
		&timeline, err);

	if (r < 0)
		return r;
	live->minute_count = timeline.count < LIVE_BUCKETS ? timeline.count : LIVE_BUCKETS;
	live->allocations_s = live->bytes_s = 0;
	for (unsigned i = 0; i < live->minute_count; i++)
		live->minute[i] = timeline.list[i].bytes_max;
	for (uint32_t i = timeline.count; i-- && over < RATE_S * (uint64_t)SECOND;) {
		uint64_t to =
			i + 1 < timeline.count ? timeline.list[i + 1].start_ns : timeline.to_ns;

		over += to - timeline.list[i].start_ns;
		live->allocations_s += (double)timeline.list[i].allocations;
		live->bytes_s += (double)timeline.list[i].allocated_bytes;
	}
	if (over) {
		live->allocations_s *= (double)SECOND / (double)over;
		live->bytes_s *= (double)SECOND / (double)over;
	}
	timeline_done(&timeline);
	return 0;
}

static int ask_all(struct live *live, struct err_text *err)
{
	struct question *q = &live->question;
	int r = query_report(q->view, &q->filter, &live->report, err);

	if (!r)
		r = ask_minute(live, err);
	return r < 0 ? r : ask_rows(live, err);
}

/* Returns 1 if there was something new, 0 if not, or a negative errno. */
static int live_refresh(struct live *live, struct err_text *err)
{
	struct question *q = &live->question;
	int r = recording_refresh(q->recording, err), view;

	if (r > 0) {
		view = view_refresh(q->view, err);
		if (view < 0)
			return view;
		recorded_of(q->recording, &q->recorded);
		view = ask_all(live, err);
		if (view < 0)
			return view;
	}
	return r;
}

static int live_open(struct live *live, const char *stream)
{
	struct err_text err = {0};
	int r, status;

	status = question_open_selected(live->call, stream, VALUE_ALLOCATED, &live->question);
	if (status)
		return status;
	live->is_open = true;
	live->question.filter.progress = NULL;
	r = ask_all(live, &err);
	return r < 0 ? question_failed(&live->question, r, &err) : EXIT_DONE;
}

static void live_close(struct live *live)
{
	groups_done(&live->groups);
	memset(&live->groups, 0, sizeof(live->groups));
	live->order_count = 0;
	if (live->is_open)
		question_close(&live->question);
	live->is_open = false;
}

/* ---- the same program again ---- */

/* Finds a stream of the data folder that began later and is of the same program. Writes its id.
 * Returns false if there is none. */
static bool find_successor(struct live *live, char id[STREAM_ID_TEXT])
{
	const struct process_info *process = recording_process(live->question.recording);
	const struct question_options *o = &live->options;
	struct stream_summary *list = NULL;
	struct store *store = NULL;
	struct err_text err = {0};
	bool found = false;
	size_t count = 0;

	if (!strstr(live->question.path, "/streams/") ||
	    store_open(o->common.data, STORE_READ, &store, &err) < 0)
		return false;
	if (store_list_quickly(store, &list, &count, &err) < 0)
		count = 0;
	for (size_t i = 0; i < count; i++) {
		if (list[i].is_snapshot || !process->name || strcmp(list[i].name, process->name) ||
		    list[i].start_wall_ns <= process->start_wall_ns || !list[i].events)
			continue;
		stream_id_format(id, &list[i].id);
		found = true;
	}
	store_list_free(list, count);
	store_close(store);
	return found;
}

static int live_go_on(struct live *live)
{
	char id[STREAM_ID_TEXT];

	if (!find_successor(live, id))
		return EXIT_DONE;
	live_close(live);
	live->selected = live->first = 0;
	live->page = live->page == PAGE_BACKTRACE ? PAGE_ROWS : live->page;
	return live_open(live, id);
}

/* ---- keys ---- */

static void live_search(struct live *live, int key)
{
	size_t n = strlen(live->search);

	if (key == KEY_ENTER || key == KEY_ESCAPE)
		live->typing = false;
	if (key == KEY_ESCAPE)
		live->search[0] = '\0';
	else if (key == KEY_BACKSPACE && n)
		live->search[n - 1] = '\0';
	else if (key >= ' ' && key < KEY_UP && key != KEY_BACKSPACE && n + 1 < LIVE_SEARCH) {
		live->search[n] = (char)key;
		live->search[n + 1] = '\0';
	}
	live->selected = live->first = 0;
	live_pick(live);
}

static void live_show(struct live *live, unsigned shown)
{
	struct err_text err = {0};

	live->shown = shown % SHOWN;
	live->by_blocks = live->shown == SHOW_TEMPORARY;
	live->selected = live->first = 0;
	if (ask_rows(live, &err) < 0)
		snprintf(live->trouble, sizeof(live->trouble), "%.190s", err.text);
}

static void live_move(struct live *live, int key)
{
	size_t *at = live->page == PAGE_BACKTRACE ? &live->scrolled : &live->selected;
	size_t page = live->page_rows ? live->page_rows : 1;

	if (key == KEY_UP || key == 'k')
		*at -= *at > 0;
	else if (key == KEY_DOWN || key == 'j')
		*at += 1;
	else if (key == KEY_PAGE_UP)
		*at -= *at < page ? *at : page;
	else if (key == KEY_PAGE_DOWN)
		*at += page;
	else if (key == KEY_HOME || key == 'g')
		*at = 0;
	else if (key == KEY_END || key == 'G')
		*at = SIZE_MAX / 2; /* drawing limits it to the last line */
}

static void live_enter(struct live *live)
{
	if (live->page == PAGE_ROWS && live->selected < live->order_count) {
		live->node = live->groups.list[live->order[live->selected]].node;
		live->scrolled = 0;
		live->page = PAGE_BACKTRACE;
	} else {
		live->page = PAGE_ROWS;
	}
}

/* Handles a key. Returns false if the user quits. */
static bool live_press(struct live *live, int key)
{
	if (key == KEY_CLOSED)
		return false;
	if (live->typing) {
		live_search(live, key);
		return true;
	}
	if (key == 'q')
		return false;
	if (live->page == PAGE_HELP) {
		live->page = PAGE_ROWS;
		return true;
	}
	if (key >= '1' && key < '1' + SHOWN)
		live_show(live, (unsigned)(key - '1'));
	else if (key == 'v' || key == '\t')
		live_show(live, live->shown + 1);
	else if (key == '?' || key == 'h')
		live->page = PAGE_HELP;
	else if (key == ' ')
		live->paused = !live->paused;
	else if (key == '/')
		live->typing = true, live->page = PAGE_ROWS;
	else if (key == 's')
		live->by_blocks = !live->by_blocks, live_pick(live);
	else if (key == 'f')
		live->full_names = !live->full_names, terminal_show(live->full_names, false);
	else if (key == KEY_ENTER)
		live_enter(live);
	else if (key == KEY_ESCAPE && live->page == PAGE_BACKTRACE)
		live->page = PAGE_ROWS;
	else if (key == KEY_ESCAPE)
		live_search(live, key);
	else
		live_move(live, key);
	return true;
}

/* ---- the loop ---- */

/* Returns how long to wait after a look that took so much processor time. */
static uint64_t pause_after(const struct live *live, uint64_t cost_ns)
{
	uint64_t wait = cost_ns * (live->allocations_s > BUSY_S ? BUSY_SHARE : QUIET_SHARE);

	return wait < LOOK_NS ? LOOK_NS : wait > LOOK_MOST_NS ? LOOK_MOST_NS : wait;
}

static int live_look(struct live *live)
{
	struct err_text err = {0};
	int r = live_refresh(live, &err);

	if (r < 0)
		snprintf(live->trouble, sizeof(live->trouble), "%.190s", err_get(&err, r));
	else
		live->trouble[0] = '\0';
	return r;
}

static int live_loop(struct live *live)
{
	uint64_t next = 0, again = 0;
	int key = KEY_NONE, status = EXIT_DONE;

	while (!screen_signal() && status == EXIT_DONE) {
		uint64_t now = live_clock(CLOCK_MONOTONIC);

		if (now >= next && !live->paused) {
			uint64_t cost = live_clock(CLOCK_PROCESS_CPUTIME_ID);

			live_look(live);
			if (!live->question.recorded.live && now >= again) {
				status = live_go_on(live);
				again = now + AGAIN_NS;
			}
			cost = live_clock(CLOCK_PROCESS_CPUTIME_ID) - cost;
			now = live_clock(CLOCK_MONOTONIC);
			next = now + pause_after(live, cost);
		}
		if (status == EXIT_DONE)
			live_draw(live);
		key = status == EXIT_DONE
			      ? screen_key((int)((next > now ? next - now : LOOK_NS) / 1000000u) +
					   1)
			      : KEY_NONE;
		if (key != KEY_NONE && !live_press(live, key))
			break;
	}
	return status;
}

static int live_check(struct live *live, bool is_command)
{
	const struct question_options *o = &live->options;
	const struct command *command = live->call->command;
	struct err_text err = {0};

	if (!is_command && live->call->argument_count > 1)
		return command_usage_error(command, "too many arguments: collector top %s",
					   command->usage);
	if (o->pid && live->call->argument_count)
		return command_usage_error(command, "--pid names the program: nothing else can");
	if (o->output && !o->pid && !is_command)
		return command_usage_error(command,
					   "--record goes with a process (--pid) or a command");
	if (o->at || o->common.json || o->fail_if || o->where)
		return command_usage_error(command, "--live does not go with --%s",
					   o->at	    ? "at"
					   : o->common.json ? "json"
					   : o->fail_if	    ? "fail-if"
							    : "where");
	return screen_check(&err) < 0 ? command_usage_error(command, "%s", err.text) : EXIT_DONE;
}

/* Applies --value and --by to the view. */
static int live_choose(struct live *live)
{
	const struct question_options *o = &live->options;
	enum value value = VALUE_IN_USE;

	if (o->value && value_parse(o->value, &value) < 0)
		return EXIT_DONE; /* opening reports the error */
	live->shown = value == VALUE_ALLOCATED ? SHOW_ALLOCATED : SHOW_IN_USE;
	return ranking_grouping(live->call->command, o->by, &live->grouping);
}

/* Ends the agent, which may still run if the recording does not begin or a signal arrived. */
static void live_begin_failed(struct live *live)
{
	if (!live->started.agent || start_end(&live->started))
		start_forget(&live->started);
}

/* Starts the agent if requested, and opens the recording. */
static int live_begin(struct live *live, bool is_command)
{
	struct command_call *call = live->call;
	const char *stream = call->argument_count ? call->arguments[0] : "last";
	struct err_text err = {0};
	int r = 0;

	if (is_command || live->options.pid) {
		const char *output = live->options.output;

		r = start_agent(&live->started, (unsigned long)live->options.pid,
				is_command ? call->arguments : NULL, output, &err);
		if (!r)
			r = start_wait(&live->started, &err);
		stream = live->started.path;
	}
	if (r < 0)
		live_begin_failed(live);
	if (r == -EINTR)
		return EXIT_DONE;
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	live->options.output = NULL; /* the question would take it for the file of the answer */
	return live_open(live, stream);
}

/* Prints where the recording is, and what to type next. */
static void live_tell(const struct live *live, const char *path, bool ended)
{
	if (!ended)
		program_printf(stderr,
			       "heapcast: the agent (pid %d) has not ended yet: it goes on\n",
			       (int)live->started.agent);
	if (!path)
		return;
	program_printf(stderr, "heapcast: the recording is %s\n", path);
	if (live->started.is_command)
		program_printf(stderr, "          what the program said: %s\n", live->started.said);
	/* A command to copy is not wrapped. */
	program_print(stderr, "next: collector report '");
	fprintf(stderr, "%s'\n", path);
}

int live_run(struct command_call *call)
{
	bool is_command = call->argument_count && !strcmp(call->arguments[-1], "--"), ended = true;
	struct live live = {.call = call, .utf8 = screen_has_utf8()};
	cleanup(cleanup_free) char *path = NULL;
	int status;

	pager_end(); /* the view needs the screen */
	live.options = *(const struct question_options *)call->options;
	call->options = &live.options;
	status = live_check(&live, is_command);
	if (!status)
		status = live_choose(&live);
	if (status)
		return status;
	live.full_names = live.options.common.full_names;
	terminal_show(live.full_names, false);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	screen_note_signals();
	status = live_begin(&live, is_command);
	if (!status && live.is_open) {
		progress_never();
		screen_begin();
		status = live_loop(&live);
		screen_end();
	}
	if (live.is_open)
		path = strdup(live.question.path);
	live_close(&live);
	if (live.started.agent)
		ended = start_end(&live.started);
	live_tell(&live, path, ended);
	free(live.order);
	if (screen_signal() > 2)
		return SIGNALLED + screen_signal();
	return status;
}
