/*
 * collector summary: prints the few lines that `agent run` ends with. It is not for people. The
 * agent starts it while the program still runs, and closes its standard input when the recording is
 * complete. It reads the recording meanwhile, so that little is left to do at the end.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/parse.h"
#include "collector/answers/recorded.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/ask/sites.h"
#include "collector/cli/terminal.h"
#include "collector/recording/recording.h"
#include "collector/query/survivors.h"

#include "base/ban.h"

#define LOOK_MS	      200
#define SITES	      3
#define SUSPECT_LEAST 4096 /* bytes; fewer are not reported as a suspect */
#define SUSPECT_PART  100  /* of the peak: less than this part is not reported either */
#define LESS_PRIORITY 10
#define NAMES_LOOK    5 /* number of the look after which names are looked up */

struct told_summary {
	struct report report, temporary;
	struct overview overview;
};

/* ---- following the recording ---- */

/* Waits for a while. Returns true once standard input has ended. */
static bool has_ended(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char byte;

	return poll(&input, 1, LOOK_MS) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

/* Waits until the recording has data. If the program allocates little, nothing may have been
 * written yet. */
static int summary_check(const struct command_call *call)
{
	const struct question_options *o = call->options;
	struct stat st;

	while (o->follow && call->argument_count && !stat(call->arguments[0], &st) && !st.st_size &&
	       !has_ended())
		;
	return 0;
}

struct following {
	struct question *q;
	struct err_text *err;
	int result;
};

/* Looks up the names of the heaviest call sites, which take longest to find. They are kept for the
 * end. */
static int look_up_names(struct question *q, struct err_text *err)
{
	struct overview overview = {0};
	int r = view_refresh(q->view, err);

	if (r >= 0)
		r = query_overview(q->view, &q->filter, &overview, err);
	overview_done(&overview);
	return r < 0 ? r : 0;
}

/* Follows the recording in a thread of low priority: until the program has ended, it and the agent
 * take precedence. */
static void *summary_follow(void *context)
{
	struct following *f = context;
	struct question *q = f->q;
	int r = 0;

	setpriority(PRIO_PROCESS, (id_t)gettid(), LESS_PRIORITY);
	for (unsigned looks = 1; r >= 0 && !has_ended(); looks++) {
		r = recording_refresh(q->recording, f->err);
		if (r >= 0 && looks == NAMES_LOOK)
			r = look_up_names(q, f->err);
	}
	f->result = r;
	return NULL;
}

static int read_to_the_end(struct question *q, struct err_text *err)
{
	struct following following = {q, err, 0};
	pthread_t thread;
	int r = -pthread_create(&thread, NULL, summary_follow, &following);

	if (!r) {
		pthread_join(thread, NULL);
		r = following.result;
	}
	if (r >= 0)
		r = recording_refresh(q->recording, err);
	if (r >= 0)
		r = view_refresh(q->view, err);
	if (r >= 0)
		recorded_of(q->recording, &q->recorded);
	return r < 0 ? r : 0;
}

/* ---- printing ---- */

/*
 * Prints a line with a usage:
 *
 *	  peak       32.1 MiB  in 19,912 blocks, at 878 ms (98 %)
 */
static void summary_line(const char *name, const struct usage *usage, const char *remark)
{
	char bytes[80], blocks[80];

	printf("  %-10s %9s  in %s block%s%s\n", name, usage_bytes(bytes, sizeof(bytes), usage),
	       usage_blocks(blocks, sizeof(blocks), usage), usage->blocks == 1 ? "" : "s", remark);
}

static void summary_totals(const struct question *q, const struct told_summary *told)
{
	const struct report *r = &told->report;
	uint64_t most = q->recorded.process.rss_peak, temporary = told->temporary.allocated.blocks;
	char text[160], at[32], bytes[32];

	snprintf(text, sizeof(text), ", at %s (%llu %%)", format_duration(at, r->peak_ns),
		 r->duration_ns ? (unsigned long long)(r->peak_ns * 100 / r->duration_ns) : 0);
	summary_line("peak", &r->peak, text);
	summary_line(question_leaked_name(q), &r->leaked, "");
	snprintf(text, sizeof(text), "blocks, %.0f %% of all: freed before the next allocation",
		 r->allocated.blocks ? 100.0 * (double)temporary / (double)r->allocated.blocks
				     : 0.0);
	printf("  %-10s %9s  %s\n", "temporary", format_count(bytes, temporary), text);
	if (!most && q->recorded.has_figures)
		most = q->recorded.figures_most.rss_peak;
	if (most)
		printf("  %-10s %9s  at most\n", "resident", format_size(bytes, (double)most));
}

/* Prints a call site, its bytes and their share of `whole`. */
static void summary_site(const struct survivor *s, uint64_t value, uint64_t whole)
{
	unsigned room = terminal_width() - 20;
	char bytes[32], line[320] = "", place[320] = "";

	printf("  %9s %4.0f %%  ", format_size(bytes, (double)value),
	       whole ? 100.0 * (double)value / (double)whole : 0.0);
	if (!s->function || s->function[0] != '[') {
		place_text(s->file, s->line, s->module, place, sizeof(place));
		place_text(s->file, s->line, NULL, line, sizeof(line));
	}
	name_and_place_print(STYLE_BOLD, s->function ? s->function : "?", place, line, room);
	putchar('\n');
}

/* Prints what looks like a leak and is not small beside the peak. The list comes after that of the
 * peak, because it takes a look at every block. */
static void summary_suspects(struct question *q, uint64_t peak)
{
	struct survivors survivors = {0};
	struct filter filter = q->filter;
	const struct survivor *s;

	fflush(stdout);
	q->suppressions = suppressions_new(true);
	filter.suppress = q->suppressions;
	if (!filter.suppress || query_survivors(q->view, &filter, NO_TIME, &survivors, NULL) < 0)
		return;
	for (size_t i = 0; i < survivors.count && i < SITES; i++) {
		s = &survivors.list[i];
		if (s->suspect_bytes < SUSPECT_LEAST || s->suspect_bytes < peak / SUSPECT_PART)
			break;
		if (!i)
			printf("\n  %s, by call site, what looks most like a leak first:\n",
			       question_unfreed(q, true));
		summary_site(s, s->in_use.bytes, survivors.in_use.bytes);
	}
	survivors_done(&survivors);
}

static int summary_print(struct question *q)
{
	const struct told_summary *told = q->result;
	const struct groups *peak = &told->overview.peak.sites;

	if (peak->count)
		printf("\n  Most in use at the peak:\n");
	for (size_t i = 0; i < peak->count && i < SITES; i++) {
		const struct group *g = &peak->list[i];
		const struct survivor s = {.function = g->function,
					   .file = g->file,
					   .line = g->line,
					   .module = g->module};

		summary_site(&s, g->value.bytes, peak->total.bytes);
	}
	if (told->report.leaked.blocks)
		summary_suspects(q, told->report.peak.bytes);
	hidden_print(q, 2);
	putchar('\n');
	return EXIT_DONE;
}

/* ---- asking ---- */

/* Prints the totals at once, because they need no names: the user should not wait for names. */
static int ask_totals(struct question *q, struct err_text *err)
{
	struct told_summary *told = q->result;
	struct filter freed_at_once = q->filter;
	int r = query_report(q->view, &q->filter, &told->report, err);

	freed_at_once.freed_at_once = ANSWER_YES;
	if (!r)
		r = query_report(q->view, &freed_at_once, &told->temporary, err);
	if (r)
		return r;
	putchar('\n');
	summary_totals(q, told);
	fflush(stdout);
	return 0;
}

static int summary_ask(struct question *q, struct err_text *err)
{
	struct told_summary *told = q->result;
	int r = q->options->follow ? read_to_the_end(q, err) : 0;

	if (!r)
		r = ask_totals(q, err);
	return r ? r : query_overview(q->view, &q->filter, &told->overview, err);
}

static void summary_done(void *result)
{
	struct told_summary *told = result;

	overview_done(&told->overview);
}

static const struct question_kind summary_question = {
	.value = VALUE_ALLOCATED,
	.check = summary_check,
	ASKED(struct told_summary, summary_ask, summary_print, NULL, summary_done),
};

static const struct option summary_table[] = {
	OPTION_FLAG(struct question_options, follow, "follow",
		    "read on until standard input ends, then answer"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, summary_table},
	FILTER_GROUPS,
};

const struct command command_summary = {
	.name = "summary",
	.summary = "the lines that `agent run` ends with",
	.usage = "[--follow] FILE",
	.about = "Prints peak, leaks, temporary blocks and the heaviest call sites.\n",
	.hidden = true,
	.groups = groups,
	.defaults = &question_defaults,
	ASKS(summary_question),
};
