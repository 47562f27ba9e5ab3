/* Prints who was recorded, whether the account balances, and what is missing. See header.h. */
#include "collector/cli/ask/header.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/terminal.h"
#include "collector/answers/account.h"
#include "collector/answers/json.h"
#include "collector/catalogue/watched.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "collector/symbols/symbols.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

#define NOTES_SHOWN 6

static void format_time(char *out, size_t size, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm tm;

	out[0] = 0;
	if (localtime_r(&seconds, &tm))
		strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm);
}

/* Formats a duration so that a line break can't come between number and unit. */
static const char *whole_duration(char *out, size_t size, uint64_t ns)
{
	char text[32], *to = out;

	for (const char *p = format_duration(text, ns); *p && (size_t)(to - out) + 3 < size; p++) {
		if (*p == ' ')
			*to++ = '\xc2';
		*to++ = *p == ' ' ? '\xa0' : *p;
	}
	*to = 0;
	return out;
}

/* Counts the orders that changed the recording, given by the program itself or from outside. */
static uint32_t changes(const struct question *q)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < recording_marks(q->recording); i++) {
		uint32_t kind = recording_mark(q->recording, i)->kind;

		count += kind == HEAPCAST__MARK_KIND__MARK_START ||
			 kind == HEAPCAST__MARK_KIND__MARK_STOP ||
			 kind == HEAPCAST__MARK_KIND__MARK_MODE;
	}
	return count;
}

uint64_t header_interval(const struct question *q)
{
	uint64_t most = recording_process(q->recording)->sample_interval;

	for (uint32_t i = 0; i < recording_marks(q->recording); i++) {
		const struct mark_info *m = recording_mark(q->recording, i);
		bool ordered = m->kind == HEAPCAST__MARK_KIND__MARK_START ||
			       m->kind == HEAPCAST__MARK_KIND__MARK_MODE;

		if (ordered && !m->thread && m->value > most)
			most = m->value;
	}
	return most;
}

static void print_changes(const struct question *q)
{
	char line[160], text[32];
	uint32_t count = changes(q);

	if (!count)
		return;
	snprintf(line, sizeof(line),
		 "The way it is recorded changed %s time%s while it ran: 'collector "
		 "ledger' says when. What was not recorded is not in the numbers.",
		 format_count(text, count), count == 1 ? "" : "s");
	terminal_blanks(2);
	terminal_paragraph(STYLE_YELLOW, line, 2);
}

static void print_sampling(const struct question *q)
{
	const struct process_info *p = recording_process(q->recording);
	uint64_t refused = recording_ledger(q->recording)->samples_refused;
	bool always = p->mode == HEAPCAST__MODE__MODE_SAMPLE && !changes(q);
	char line[320], text[32];

	format_size(text, (double)p->sample_interval);
	snprintf(line, sizeof(line),
		 "Sampled %s%s: numbers are estimates, true within +- in 95 of 100 cases.",
		 always ? "every " : "for a part of the time", always ? text : "");
	terminal_blanks(2);
	terminal_paragraph(STYLE_DIM, line, 2);
	if (!refused)
		return;
	snprintf(line, sizeof(line),
		 "They are too low: %s samples found no room in the program's set of sampled "
		 "blocks. Sample more rarely, or raise the agent's --memory-limit.",
		 format_count(text, refused));
	terminal_blanks(2);
	terminal_paragraph(STYLE_YELLOW, line, 2);
}

/* Finds the last time that the flight recorder sent what it holds. NULL: never. */
static const struct mark_info *last_delivery(const struct recording *r)
{
	const struct mark_info *last = NULL;

	for (uint32_t i = 0; i < recording_marks(r); i++)
		if (recording_mark(r, i)->kind == HEAPCAST__MARK_KIND__MARK_DELIVERY)
			last = recording_mark(r, i);
	return last;
}

/* A recording has sums for two reasons: short-lived blocks, or a flight recorder. Without a time
 * for short-lived blocks it is the latter. */
static bool is_flight(const struct recording *r)
{
	return !recording_process(r)->cull_ns &&
	       (recording_culled_totals(r)->blocks || last_delivery(r));
}

static void print_culling(const struct question *q)
{
	const struct culled_totals *t = recording_culled_totals(q->recording);
	bool flight = is_flight(q->recording);
	char blocks[32], time[32], early[32], line[640];
	struct culled_usage usage = {0};
	int n;

	n = snprintf(
		line, sizeof(line),
		flight ? "Flight recorder: %s blocks that had ended before its window are in "
			 "totals, sites and "
			 "histograms, not in the timeline, the peak or lists of blocks"
		       : "Short-lived: %s blocks that lived less than %s are in totals, sites and "
			 "histograms, not in the timeline, the peak or lists of blocks",
		format_count(blocks, t->blocks),
		format_duration(time, recording_process(q->recording)->cull_ns));
	if (t->early)
		n += snprintf(line + n, sizeof(line) - (size_t)n,
			      "; %s were sent as they are, for lack of room (--%s-memory)",
			      format_count(early, t->early), flight ? "flight" : "short-lived");
	if (query_culled(q->view, &q->filter, &usage, NULL) == 0 && usage.unknown.blocks)
		snprintf(
			line + n, sizeof(line) - (size_t)n,
			"; %s are in none of the numbers below: a filter asks what sums can't tell",
			format_count(blocks, usage.unknown.blocks));
	terminal_blanks(2);
	terminal_paragraph(STYLE_DIM, line, 2);
}

static void print_delivery(const struct question *q)
{
	const struct mark_info *m = last_delivery(q->recording);
	char at[32], whole[32], line[256];

	if (!m)
		snprintf(line, sizeof(line),
			 "The flight recorder has sent nothing yet but sums. A trigger, an "
			 "order or the end of the program makes it send.");
	else
		snprintf(line, sizeof(line),
			 "Last sent at %s (%.20s): every event of the %s before that is here.",
			 format_duration(at, m->time_ns), m->text ? m->text : "?",
			 format_duration(whole, m->value));
	terminal_blanks(2);
	terminal_paragraph(STYLE_DIM, line, 2);
}

/* Prints the head for an imported file of another tool, which says less about its program. */
static void print_origin(const struct process_info *p, uint64_t end_ns)
{
	const struct origin_info *o = &p->origin;
	char line[800], when[64] = "", lasted[64], length[80] = "";

	if (o->wall_ns)
		format_time(when, sizeof(when), o->wall_ns);
	if (end_ns)
		snprintf(length, sizeof(length), ", %s long",
			 whole_duration(lasted, sizeof(lasted), end_ns));
	snprintf(line, sizeof(line), "Imported from %.200s (%.40s%s%.64s)%s%s%s", o->file,
		 o->format, o->tool[0] && strcmp(o->tool, o->format) != 0 ? ", by " : "",
		 strcmp(o->tool, o->format) != 0 ? o->tool : "", when[0] ? ", of " : "", when,
		 length);
	terminal_blanks(2);
	terminal_paragraph(STYLE_DIM, line, 2);
	if (!o->note[0])
		return;
	snprintf(line, sizeof(line), "%.600s.", o->note);
	terminal_blanks(2);
	terminal_paragraph(STYLE_DIM, line, 2);
}

/* Prints the head for a snapshot of many programs (collector/snapshot). */
static void print_snapshot(const struct process_info *p)
{
	const char *colon = strchr(p->executable, ':');
	char line[320], when[64];

	format_time(when, sizeof(when), p->start_wall_ns);
	snprintf(line, sizeof(line),
		 "What many programs had in use at their markers, taken %s: 'collector snapshot "
		 "show "
		 "%.80s' has a line for each",
		 when, colon ? colon + 1 : p->executable);
	terminal_blanks(2);
	terminal_paragraph(STYLE_DIM, line, 2);
}

/* Formats "from 2026-11-24 03:16:55 for 49.1 ms". If recording began or ended while the program
 * ran: "watched from ..., when it had run for 3 h, until ...". */
static void format_watched(char *out, size_t size, const struct process_info *p, uint64_t end_ns)
{
	char when[64], until[64], lasted[64], ran[64], before[128] = "";

	format_time(when, sizeof(when), p->start_wall_ns);
	if (watched_whole(p)) {
		snprintf(out, size, "from %s for %s", when,
			 whole_duration(lasted, sizeof(lasted), end_ns));
		return;
	}
	format_time(until, sizeof(until), p->start_wall_ns + end_ns);
	if (p->ran_before_ns)
		snprintf(before, sizeof(before), ", when it had run for %s,",
			 whole_duration(ran, sizeof(ran), p->ran_before_ns));
	snprintf(out, size, "watched from %s%s until %s, for %s", when, before, until,
		 whole_duration(lasted, sizeof(lasted), end_ns));
}

static void print_recorded(const struct process_info *p, uint64_t end_ns)
{
	char watched[400], line[960], how[ACCOUNT_END];

	format_watched(watched, sizeof(watched), p, end_ns);
	snprintf(line, sizeof(line), "%.200s, pid %u on %.100s (%.40s), %s; %s",
		 p->executable ? p->executable : "?", p->pid, p->host && p->host[0] ? p->host : "?",
		 p->architecture ? p->architecture : "?", watched,
		 account_end(how, sizeof(how), p));
	terminal_blanks(2);
	terminal_paragraph(STYLE_DIM, line, 2);
}

void header_print(const struct question *q)
{
	const struct process_info *p = recording_process(q->recording);

	incomplete_print(NULL, &q->completeness);
	terminal_text(STYLE_BOLD,
		      p->command_line && p->command_line[0] ? p->command_line
		      : p->name				    ? p->name
							    : "?",
		      terminal_width());
	putchar('\n');
	if (p->origin.imported && !strcmp(p->origin.format, "snapshot"))
		print_snapshot(p);
	else if (p->origin.imported)
		print_origin(p, recording_end_ns(q->recording));
	else
		print_recorded(p, recording_end_ns(q->recording));
	print_changes(q);
	if (q->sampled)
		print_sampling(q);
	if (recording_culled_totals(q->recording)->blocks)
		print_culling(q);
	if (is_flight(q->recording))
		print_delivery(q);
}

static void origin_json(struct json *json, const struct origin_info *o)
{
	if (!o->imported)
		return;
	json_object(json, "imported_from");
	json_string(json, "file", o->file);
	json_string(json, "format", o->format);
	json_string(json, "tool", o->tool);
	json_bool(json, "exact", o->exact);
	json_string(json, "note", o->note);
	if (o->wall_ns)
		json_u64(json, "wall_ns", o->wall_ns);
	json_end(json, '}');
}

void header_json(struct json *json, const char *key, const struct question *q)
{
	const struct process_info *p = recording_process(q->recording);
	char id[STREAM_ID_TEXT], how[ACCOUNT_END];

	json_object(json, key);
	json_string(json, "id", stream_id_format(id, recording_id(q->recording)));
	json_string(json, "name", p->name);
	json_string(json, "executable", p->executable);
	json_string(json, "command_line", p->command_line);
	json_string(json, "host", p->host);
	json_string(json, "architecture", p->architecture);
	json_u64(json, "pid", p->pid);
	json_u64(json, "start_wall_ns", p->start_wall_ns);
	json_u64(json, "duration_ns", recording_end_ns(q->recording));
	json_bool(json, "ended", p->ended);
	json_string(json, "end", account_end(how, sizeof(how), p));
	json_u64(json, "ran_before_ns", p->ran_before_ns);
	json_bool(json, "watched_from_start", !p->ran_before_ns);
	json_bool(json, "watched_to_end", p->ended && !watched_left(p));
	if (p->rss_peak)
		json_u64(json, "rss_peak", p->rss_peak);
	origin_json(json, &p->origin);
	json_bool(json, "sampled", q->sampled);
	if (q->sampled)
		json_u64(json, "sample_interval", p->sample_interval);
	if (q->sampled)
		json_u64(json, "samples_refused", recording_ledger(q->recording)->samples_refused);
	json_u64(json, "cull_ns", p->cull_ns);
	json_u64(json, "culled_blocks", recording_culled_totals(q->recording)->blocks);
	json_u64(json, "culled_bytes", recording_culled_totals(q->recording)->bytes);
	json_u64(json, "culled_too_early", recording_culled_totals(q->recording)->early);
	json_end(json, '}');
}

void header_json_begin(struct json *json, struct buf *out, const struct question *q)
{
	json_init(json, out);
	json_object(json, NULL);
	incomplete_json(json, "incomplete", &q->completeness);
	header_json(json, "process", q);
}

void ledger_verdict_print(const struct question *q)
{
	char produced[32], line[640];
	struct err_text reason = {0};
	enum style style = STYLE_GREEN;

	if (!recording_adds_up(q->recording, &reason)) {
		snprintf(line, sizeof(line), "Ledger: does not add up: %s",
			 err_get(&reason, -EBADMSG));
		style = STYLE_RED;
	} else if (!q->completeness.complete) {
		snprintf(line, sizeof(line),
			 "Ledger: adds up, but is not complete: collector ledger %.80s tells more",
			 q->stream);
		style = STYLE_YELLOW;
	} else {
		snprintf(line, sizeof(line), "Ledger: adds up; %s events, none lost",
			 format_count(produced, recording_ledger(q->recording)->produced));
	}
	putchar('\n');
	terminal_paragraph(style, line, 8);
}

void notes_print(const struct question *q)
{
	const struct symbols_note *notes;
	size_t count = symbols_notes(q->symbols, &notes);

	if (!count)
		return;
	terminal_heading("Names that are missing");
	for (size_t i = 0; i < count && i < NOTES_SHOWN; i++) {
		char line[1024];

		snprintf(line, sizeof(line), "%s: %s", module_basename(notes[i].module),
			 notes[i].text);
		terminal_blanks(2);
		terminal_paragraph(STYLE_PLAIN, line, 4);
	}
	if (count > NOTES_SHOWN)
		printf("  and %zu more\n", count - NOTES_SHOWN);
}

void notes_json(struct json *json, const char *key, const struct question *q)
{
	const struct symbols_note *notes;
	size_t count = symbols_notes(q->symbols, &notes);

	json_array(json, key);
	for (size_t i = 0; i < count; i++) {
		json_object(json, NULL);
		json_string(json, "module", notes[i].module);
		json_string(json, "text", notes[i].text);
		json_end(json, '}');
	}
	json_end(json, ']');
}
