/* Formats the context of a result. See report.h. */
#include "collector/analyze/report.h"

#include <stdio.h>
#include <string.h>

#include "base/cli/program.h"
#include "base/parse.h"

#include "base/ban.h"

#define WORD_LONG    60
#define OPTIONS_ROOM 200

/* Writes the name without scopes and template arguments, as a search term: "resize" for
 * "DB::HashTable<...>::resize". */
static void last_word(char *out, size_t size, const char *name)
{
	size_t length = strcspn(name, "<("), from = 0;

	for (size_t i = 0; i + 1 < length; i++)
		if (name[i] == ':' || name[i] == ' ')
			from = i + 1;
	snprintf(out, size, "%.*s", (int)(length - from < WORD_LONG ? length - from : WORD_LONG),
		 name + from);
}

/* Returns the heaviest named subsystem, or else the first entry, or NULL if there is none. */
static const char *first_subsystem(const struct analysis_result *r)
{
	for (uint32_t i = 0; i < r->subsystem_count; i++)
		if (r->subsystems[i].number != RULES_NO_SUBSYSTEM)
			return r->subsystems[i].name;
	return r->subsystem_count ? r->subsystems[0].name : NULL;
}

enum next {
	NEXT_DRILL,
	NEXT_SEARCH,
	NEXT_TOP,
	NEXT_RULES,
	NEXT_PAGE,
	NEXT_FLAMEGRAPH,
	NEXT_IMPORT,
	NEXT_END
};

static bool write_next(const struct analysis_report *report, enum next next, const char *about,
		       char command[REPORT_NEXT], char why[REPORT_NEXT])
{
	const struct analysis_result *r = report->result;
	const char *subsystem = first_subsystem(r);
	char word[WORD_LONG + 4], quoted[4 * WORD_LONG];

	switch (next) {
	case NEXT_DRILL:
		if (!subsystem || r->drill)
			return false;
		report_quote(quoted, sizeof(quoted), subsystem);
		snprintf(command, REPORT_NEXT, "collector analyze %s --drill %s", about, quoted);
		snprintf(why, REPORT_NEXT, "all stack traces of a subsystem");
		return true;
	case NEXT_SEARCH:
		if (!r->innermost.count || r->search)
			return false;
		last_word(word, sizeof(word), r->innermost.list[0].name);
		report_quote(quoted, sizeof(quoted), word);
		snprintf(command, REPORT_NEXT, "collector analyze %s --search %s", about, quoted);
		snprintf(why, REPORT_NEXT, "where a function is involved, and what is next to it");
		return *word;
	case NEXT_TOP:
		snprintf(command, REPORT_NEXT, "collector analyze %s --top 100", about);
		snprintf(why, REPORT_NEXT, "more of everything");
		return true;
	case NEXT_RULES:
		snprintf(command, REPORT_NEXT, "collector analyze %s --rules %s", about,
			 strcmp(report->rules, RULES_DEFAULT) ? "./my.rules" : "cxx");
		snprintf(why, REPORT_NEXT,
			 strcmp(report->rules, RULES_DEFAULT)
				 ? "the subsystems of your own program"
				 : "looks through more that only passes allocations on, xmalloc "
				   "and the like");
		return true;
	case NEXT_PAGE:
		snprintf(command, REPORT_NEXT, "collector analyze %s --html report.html", about);
		snprintf(why, REPORT_NEXT, "a page to read, send or print");
		return true;
	case NEXT_FLAMEGRAPH:
		snprintf(command, REPORT_NEXT, "collector flamegraph %s", about);
		snprintf(why, REPORT_NEXT, "a picture for the browser");
		return report->recorded;
	case NEXT_IMPORT:
		snprintf(command, REPORT_NEXT, "collector import%s %s",
			 report->counts ? " --unit blocks" : "", about);
		snprintf(why, REPORT_NEXT,
			 "makes a recording of it: a flame graph, a diff, every other question");
		return !report->recorded && strcmp(report->source, "-") != 0;
	case NEXT_END:
		break;
	}
	return false;
}

void report_quote(char *out, size_t size, const char *text)
{
	size_t n = 0;

	if (*text &&
	    text[strspn(
		    text,
		    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=-")] ==
		    0 &&
	    *text != '-') {
		snprintf(out, size, "%s", text);
		return;
	}
	out[n++] = '\'';
	for (; *text && n + 6 < size; text++) {
		if (*text == '\'') {
			memcpy(out + n, "'\\''", 4);
			n += 4;
		} else {
			out[n++] = (unsigned char)*text < ' ' ? '?' : *text;
		}
	}
	out[n++] = '\'';
	out[n] = 0;
}

bool report_next(const struct analysis_report *report, unsigned index,
		 char ret_command[REPORT_NEXT], char ret_why[REPORT_NEXT])
{
	char file[REPORT_NEXT / 2], about[REPORT_NEXT], rules[REPORT_NEXT / 4], ruled[REPORT_NEXT];

	report_quote(file, sizeof(file) - OPTIONS_ROOM, report->source);
	snprintf(about, sizeof(about), "%s", file);
	if (report->options && *report->options)
		snprintf(about + strlen(about), sizeof(about) - strlen(about), " %s",
			 report->options);
	if (strcmp(report->rules, RULES_DEFAULT)) {
		report_quote(rules, sizeof(rules), report->rules);
		snprintf(ruled, sizeof(ruled), "%s --rules %s", about, rules);
	} else {
		snprintf(ruled, sizeof(ruled), "%s", about);
	}
	for (enum next next = NEXT_DRILL; next < NEXT_END; next++)
		if (write_next(report, next,
			       next == NEXT_IMPORT			       ? file
			       : next == NEXT_RULES || next == NEXT_FLAMEGRAPH ? about
									       : ruled,
			       ret_command, ret_why) &&
		    !index--) {
			snprintf(about, sizeof(about), "%s", ret_command);
			program_text(ret_command, REPORT_NEXT, about);
			return true;
		}
	return false;
}

char *report_total(const struct analysis_report *report, char out[REPORT_NEXT])
{
	const struct analysis_result *r = report->result;
	char amount[32], bytes[FORMAT_COUNTED], stacks[FORMAT_COUNTED], functions[FORMAT_COUNTED],
		counted[FORMAT_COUNTED], blocks[FORMAT_COUNTED + 4] = "";

	format_counted(bytes, r->total, "byte");
	format_counted(stacks, r->stacks, "stack trace");
	format_counted(functions, r->frames, "function");
	if (r->blocks_known && !report->counts)
		snprintf(blocks, sizeof(blocks), " in %s",
			 format_counted(counted, r->blocks, "block"));
	if (report->counts)
		snprintf(out, REPORT_NEXT, "%s on %s, %s, up to %u deep",
			 format_counted(counted, r->total, "block"), stacks, functions, r->deepest);
	else
		snprintf(out, REPORT_NEXT, "%s (%s)%s on %s, %s, up to %u deep",
			 format_size(amount, (double)r->total), bytes, blocks, stacks, functions,
			 r->deepest);
	return out;
}
