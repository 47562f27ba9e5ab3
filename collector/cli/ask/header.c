/* Prints the recorded program, whether the account balances, and what is missing. See header.h. */
#include "collector/cli/ask/header.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/answers/recorded.h"
#include "collector/answers/results.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/terminal.h"
#include "collector/recording/recording.h"
#include "collector/symbols/debian.h"
#include "collector/symbols/fold_name.h"
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

/* Formats a duration with no-break spaces, so that no line break separates number and unit. */
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

static void print_changes(uint32_t changes)
{
	char count[32];

	if (changes)
		terminal_say(STYLE_YELLOW, 2,
			     "The way it is recorded changed %s time%s while it ran: 'collector "
			     "ledger' says when. What was not recorded is not in the numbers.",
			     format_count(count, changes), changes == 1 ? "" : "s");
}

static void print_sampling(const struct recorded *r)
{
	bool always = r->process.mode == HEAPCAST__MODE__MODE_SAMPLE && !r->changes;
	char text[32];

	format_size(text, (double)r->process.sample_interval);
	terminal_say(STYLE_DIM, 2,
		     "Sampled %s%s: numbers are estimates, true within +- in 95 of 100 cases.",
		     always ? "every " : "for a part of the time", always ? text : "");
	if (r->samples_refused)
		terminal_say(
			STYLE_YELLOW, 2,
			"They are too low: %s samples found no room in the program's set of "
			"sampled blocks. Sample more rarely, or raise the agent's --memory-limit.",
			format_count(text, r->samples_refused));
}

static void print_culling(const struct question *q)
{
	const struct recorded *r = &q->recorded;
	char blocks[32], which[32], early[32], sent[128] = "", asked[128] = "";
	struct culled_usage usage = {0};

	if (r->culled.early)
		snprintf(sent, sizeof(sent),
			 "; %s were sent as they are, for lack of room (--%s-memory)",
			 format_count(early, r->culled.early),
			 r->flight ? "flight" : "short-lived");
	if (query_culled(q->view, &q->filter, &usage, NULL) == 0 && usage.unknown.blocks)
		snprintf(
			asked, sizeof(asked),
			"; %s are in none of the numbers below: a filter asks what sums can't tell",
			format_count(early, usage.unknown.blocks));
	format_count(blocks, r->culled.blocks);
	if (r->flight)
		snprintf(which, sizeof(which), "had ended before its window");
	else
		format_duration(which, r->process.cull_ns);
	terminal_say(STYLE_DIM, 2,
		     "%s: %s blocks that %s%s are in totals, sites and histograms, not in the "
		     "timeline, the peak or lists of blocks%s%s",
		     r->flight ? "Flight recorder" : "Short-lived", blocks,
		     r->flight ? "" : "lived less than ", which, sent, asked);
}

static void print_delivery(const struct mark_info *m)
{
	char at[32], whole[32];

	if (m)
		terminal_say(STYLE_DIM, 2,
			     "Last sent at %s (%.20s): every event of the %s before that is here.",
			     format_duration(at, m->time_ns), m->text ? m->text : "?",
			     format_duration(whole, m->value));
	else
		terminal_say(STYLE_DIM, 2,
			     "The flight recorder has sent nothing yet but sums. A trigger, an "
			     "order or the end of the program makes it send.");
}

/* Prints the head for an imported file of another tool, which says less about its program. */
static void print_origin(const struct origin_info *o, uint64_t end_ns)
{
	char when[64] = "", lasted[64], length[80] = "";

	if (o->wall_ns)
		format_time(when, sizeof(when), o->wall_ns);
	if (end_ns)
		snprintf(length, sizeof(length), ", %s long",
			 whole_duration(lasted, sizeof(lasted), end_ns));
	terminal_say(STYLE_DIM, 2, "Imported from %.200s (%.40s%s%.64s)%s%s%s", o->file, o->format,
		     o->tool[0] && strcmp(o->tool, o->format) != 0 ? ", by " : "",
		     strcmp(o->tool, o->format) != 0 ? o->tool : "", when[0] ? ", of " : "", when,
		     length);
	if (o->note[0])
		terminal_say(STYLE_DIM, 2, "%.600s.", o->note);
}

/* Prints the head for a snapshot of many programs (collector/snapshot). */
static void print_snapshot(const struct process_info *p)
{
	const char *colon = strchr(p->executable, ':');
	char when[64];

	format_time(when, sizeof(when), p->start_wall_ns);
	terminal_say(STYLE_DIM, 2,
		     "What many programs had in use at their markers, taken %s: 'collector "
		     "snapshot show %.80s' has a line for each",
		     when, colon ? colon + 1 : p->executable);
}

/* Formats "from 2026-11-24 03:16:55 for 49.1 ms". If recording began or ended while the program
 * ran, formats "watched from ..., when it had run for 3 h, until ...". */
static void format_watched(char *out, size_t size, const struct recorded *r)
{
	const struct process_info *p = &r->process;
	char when[64], until[64], lasted[64], ran[64], before[128] = "";

	format_time(when, sizeof(when), p->start_wall_ns);
	whole_duration(lasted, sizeof(lasted), r->duration_ns);
	if (r->whole) {
		snprintf(out, size, "from %s for %s", when, lasted);
		return;
	}
	format_time(until, sizeof(until), p->start_wall_ns + r->duration_ns);
	if (p->ran_before_ns)
		snprintf(before, sizeof(before), ", when it had run for %s,",
			 whole_duration(ran, sizeof(ran), p->ran_before_ns));
	snprintf(out, size, "watched from %s%s until %s, for %s", when, before, until, lasted);
}

static void print_recorded(const struct recorded *r)
{
	const struct process_info *p = &r->process;
	char watched[400];

	format_watched(watched, sizeof(watched), r);
	terminal_say(STYLE_DIM, 2, "%.200s, pid %u on %.100s (%.40s), %s; %s",
		     p->executable ? p->executable : "?", p->pid,
		     p->host && p->host[0] ? p->host : "?", p->architecture ? p->architecture : "?",
		     watched, r->end);
	if (p->labels.tags && *p->labels.tags)
		terminal_say(STYLE_DIM, 2, "tags %s", p->labels.tags);
}

void header_print(const struct question *q)
{
	const struct recorded *r = &q->recorded;
	const struct process_info *p = &r->process;
	char as_of[32];

	incomplete_print(NULL, &r->completeness);
	if (recording_is_growing(q->recording))
		terminal_say(STYLE_YELLOW, 0, "Still being recorded: this is as of %s.",
			     format_duration(as_of, r->duration_ns));
	terminal_line(STYLE_BOLD,
		      p->command_line && p->command_line[0] ? p->command_line
		      : p->name				    ? p->name
							    : "?",
		      terminal_width());
	if (p->origin.imported && !strcmp(p->origin.format, "snapshot"))
		print_snapshot(p);
	else if (p->origin.imported)
		print_origin(&p->origin, r->duration_ns);
	else
		print_recorded(r);
	print_changes(r->changes);
	if (r->sampled)
		print_sampling(r);
	if (r->culled.blocks)
		print_culling(q);
	if (r->flight)
		print_delivery(r->delivery);
}

bool matches_print(const struct question *q, uint64_t blocks)
{
	char all[FORMAT_COUNTED], value[64] = "";

	if (blocks)
		return true;
	putchar('\n');
	if (q->value != VALUE_ALLOCATED)
		snprintf(value, sizeof(value), " and --value %s", value_name(q->value));
	if (question_is_filtered(q))
		terminal_say(STYLE_YELLOW, 0, "Nothing matches the filters%s (of %s).", value,
			     format_counted(all, recording_rows(q->recording), "block"));
	else
		terminal_say(STYLE_PLAIN, 0, "There is nothing to show (--value %s, of %s).",
			     value_name(q->value),
			     format_counted(all, recording_rows(q->recording), "block"));
	return false;
}

void ledger_verdict_print(const struct question *q)
{
	const struct recorded *r = &q->recorded;
	char produced[FORMAT_COUNTED], line[640];
	enum style style = STYLE_GREEN;

	if (!r->completeness.adds_up) {
		snprintf(line, sizeof(line), "Ledger: does not add up: %s",
			 err_get(&r->reason, -EBADMSG));
		style = STYLE_RED;
	} else if (!r->completeness.complete) {
		snprintf(line, sizeof(line),
			 "Ledger: adds up, but is not complete: collector ledger %.80s tells more",
			 q->stream);
		style = STYLE_YELLOW;
	} else {
		snprintf(line, sizeof(line), "Ledger: adds up; %s, none lost",
			 format_counted(produced, r->produced, "event"));
	}
	putchar('\n');
	terminal_paragraph(style, line, 8);
}

/* Prints how to get names for the code of a module that has none. */
static void print_namer(const struct symbols_note *note)
{
	cleanup(buf_done) struct buf line = {0};
	cleanup(cleanup_free) char *package =
		debian_package(note->module, note->build_id, note->build_id_length, NULL);

	buf_printf(&line, "For names of %.200s, ", module_basename(note->module));
	if (package)
		buf_printf(&line, "install Debian's %s, or ", package);
	buf_string(&line, "give its file that was not stripped");
	for (uint32_t i = 0; i < note->build_id_length; i++)
		buf_printf(&line, "%s%02x", i ? "" : " (build id ", note->build_id[i]);
	if (note->build_id_length)
		buf_string(&line, ")");
	buf_string(&line, " to '");
	buf_string(&line, "collector symbols add'");
	if (buf_error(&line))
		return;
	terminal_blanks(2);
	terminal_paragraph(STYLE_PLAIN, buf_text(&line), 4);
}

/* Prints how to fetch files from agents. Only a connected agent can send them, so this applies to
 * streams, not to recordings in files. */
static void print_fetch(const struct question *q)
{
	cleanup(buf_done) struct buf line = {0};
	char command[128];
	struct stat st;

	if (stat(q->path, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	snprintf(command, sizeof(command), "collector symbols fetch %.80s", q->stream);
	buf_string(&line, "While its board is connected, '");
	program_words(&line, command);
	buf_string(&line, "' gets the files from there");
	if (buf_error(&line))
		return;
	terminal_blanks(2);
	terminal_paragraph(STYLE_PLAIN, buf_text(&line), 4);
}

static void print_namers(const struct question *q, const struct symbols_note *notes, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		if (notes[i].nameless)
			print_namer(&notes[i]);
		any |= notes[i].nameless;
	}
	if (any)
		print_fetch(q);
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
	print_namers(q, notes, count < NOTES_SHOWN ? count : NOTES_SHOWN);
}

/* ---- hidden functions ---- */

#define NAMES_SHOWN 3
#define NAME_BYTES  512

/* Tells whether the name was printed already: instances of a template have the same folded name. */
static bool is_said(char said[][NAME_BYTES], size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(said[i], name))
			return true;
	return false;
}

/* Writes the first names. Returns the number of other functions. */
static size_t put_names(struct buf *out, const struct hidden_function *list, size_t count)
{
	char said[NAMES_SHOWN][NAME_BYTES], name[NAME_BYTES];
	bool short_names;
	unsigned width;
	size_t n = 0, more = 0;

	terminal_name_ways(&width, &short_names);
	for (size_t i = 0; i < count; i++) {
		if (short_names)
			fold_name(name, sizeof(name), list[i].function);
		else
			snprintf(name, sizeof(name), "%s", list[i].function);
		if (is_said(said, n, name))
			continue;
		if (n == NAMES_SHOWN) {
			more++;
			continue;
		}
		buf_string(out, n ? ", " : "");
		buf_string(out, name);
		memcpy(said[n++], name, sizeof(name));
	}
	return more;
}

void hidden_print(const struct question *q, unsigned indent)
{
	cleanup(cleanup_free) struct hidden_function *list = NULL;
	cleanup(buf_done) struct buf line = {0};
	char rest[64];
	size_t count, more;

	if (query_hidden(q->view, &q->filter, &list, &count, NULL) < 0 || !count)
		return;
	buf_string(&line, "Hidden: ");
	more = put_names(&line, list, count);
	if (more) {
		snprintf(rest, sizeof(rest), " and %zu more", more);
		buf_string(&line, rest);
	}
	buf_string(&line, " (--hide none shows them)");
	if (buf_error(&line))
		return;
	putchar('\n');
	terminal_blanks(indent);
	terminal_paragraph(STYLE_DIM, buf_text(&line), indent + 8);
}

void hidden_json(struct json *json, const struct question *q)
{
	cleanup(cleanup_free) struct hidden_function *list = NULL;
	size_t count = 0;

	if (query_hidden(q->view, &q->filter, &list, &count, NULL) < 0)
		return;
	json_array(json, "hidden");
	for (size_t i = 0; i < count; i++)
		json_object_of(json, NULL, &hidden_answer, &list[i], NULL);
	json_end(json, ']');
}
