/* Names of programs and their commands. See program.h. */
#include "base/cli/program.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/wrap.h"
#include "base/log.h"
#include "base/ban.h"

#define OWN	  "heapcast-"
#define GAP	  2 /* blanks, between columns */
#define ARTICLES  "the \0a \0no \0an \0each \0this \0that \0another \0which \0one \0"
#define WORD_CHAR "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"

static const char *const agent_commands[] = {"run", "attach", "serve", "ctl", "pair", NULL};
/* The agent's commands that `heapcast` offers without `agent` in front. */
static const char *const short_commands[] = {"run", "attach", NULL};
static const char *const collector_commands[] = {
	"gather",     "list",	    "tag",     "report",      "top",	   "leaks",  "temporary",
	"timeline",   "tree",	    "diff",    "maps",	      "histogram", "ledger", "page",
	"flamegraph", "analyze",    "sql",     "export",      "import",	   "pack",   "strip",
	"extract",    "decompress", "symbols", "snapshot",    "fleet",	   "share",  "ctl",
	"pair",	      "pairs",	    "serve",   "json-schema", NULL};
/* Other words after which a program's name is rewritten. */
static const char *const others[] = {"COMMAND", "help", "--help", "--version", "--variables", NULL};

static enum { AS_OWN, AS_HEAPCAST } started = AS_OWN;
static const char *name = "heapcast";

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void program_started(const char *argv0, const char *own)
{
	const char *called = argv0 ? base_name(argv0) : own;
	bool heapcast = !strcmp(called, PROGRAM_HEAPCAST) ||
			!strcmp(called, PROGRAM_HEAPCAST_AGENT) ||
			!strncmp(called, OWN, strlen(OWN));

	log_words(program_text);
	started = heapcast ? AS_HEAPCAST : AS_OWN;
	name = heapcast ? PROGRAM_HEAPCAST : own;
}

const char *program_title(void)
{
	return name;
}

static size_t word_length(const char *text)
{
	return strspn(text, WORD_CHAR);
}

static bool is_listed(const char *const list[], const char *word, size_t length)
{
	for (; *list; list++)
		if (strlen(*list) == length && !memcmp(*list, word, length))
			return true;
	return false;
}

/* Tells a sentence about a collector ("the collector list") from a command ("collector list"). */
static bool behind_article(const char *text, const char *at)
{
	for (const char *article = ARTICLES; *article; article += strlen(article) + 1) {
		size_t length = strlen(article);

		if ((size_t)(at - text) >= length && !memcmp(at - length, article, length) &&
		    ((size_t)(at - text) == length || at[-(ptrdiff_t)length - 1] == ' '))
			return true;
	}
	return false;
}

/* Returns the words that replace "agent" or "collector" at `at`. Returns NULL unless a command
 * follows, after one blank or at the start of the next line. */
static const char *in_place_of(const char *text, const char *at, size_t *ret_length)
{
	bool agent = !strncmp(at, "agent", 5);
	size_t length = agent ? 5 : 9, next;
	const char *word = at + length + 1;

	if ((!agent && strncmp(at, "collector", 9) != 0) ||
	    (at[length] != ' ' && at[length] != '\n') || (at > text && strchr(WORD_CHAR, at[-1])) ||
	    behind_article(text, at))
		return NULL;
	next = word_length(word);
	while (next && (word[next - 1] == '.' || word[next - 1] == '/'))
		next--; /* punctuation that ends a sentence is not part of the word */
	if (!is_listed(agent ? agent_commands : collector_commands, word, next) &&
	    !is_listed(others, word, next))
		return NULL;
	*ret_length = length;
	return agent && !is_listed(short_commands, word, next) ? "heapcast agent" : "heapcast";
}

/* Keeps remarks in their column. Returns how many of the `blanks` before a remark remain when the
 * text before them has grown by `longer` columns. */
static int blanks_left(int blanks, int longer)
{
	return blanks - longer < GAP ? GAP : blanks - longer;
}

void program_words(struct buf *out, const char *text)
{
	const char *from = text, *at = text, *put;
	size_t length;
	int longer = 0; /* columns that the current line has grown by */

	while (started == AS_HEAPCAST && *at) {
		if (*at == '\n')
			longer = 0;
		length = longer ? strspn(at, " ") : 0;
		if (length >= GAP) {
			buf_append(out, from, (size_t)(at - from));
			buf_printf(out, "%*s", blanks_left((int)length, longer), "");
			longer = 0;
			from = at += length;
			continue;
		}
		put = *at == 'a' || *at == 'c' ? in_place_of(text, at, &length) : NULL;
		if (!put) {
			at++;
			continue;
		}
		buf_append(out, from, (size_t)(at - from));
		buf_string(out, put);
		longer += (int)strlen(put) - (int)length;
		from = at += length;
	}
	buf_string(out, from);
}

const char *program_text(char *out, size_t size, const char *text)
{
	cleanup(buf_done) struct buf words = {0};

	program_words(&words, text);
	snprintf(out, size, "%s", buf_text(&words) ? buf_text(&words) : text);
	return out;
}

void program_print(FILE *out, const char *text)
{
	cleanup(buf_done) struct buf words = {0};

	program_words(&words, text);
	fputs(buf_text(&words) ? buf_text(&words) : text, out);
}

int program_vprintf(FILE *out, const char *format, va_list args)
{
	cleanup(buf_done) struct buf text = {0}, words = {0};
	const char *said;

	buf_vprintf(&text, format, args);
	program_words(&words, buf_text(&text) ? buf_text(&text) : "");
	said = buf_text(&words) ? buf_text(&words) : "out of memory\n";
	if (out == stderr)
		wrap_to_standard_error(said);
	else
		fputs(said, out);
	return (int)words.length;
}

int program_printf(FILE *out, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = program_vprintf(out, format, args);
	va_end(args);
	return n;
}

int program_beside(enum program_side side, char *path)
{
	static const char *const names[][2] = {
		[PROGRAM_AGENT] = {OWN "agent", "agent"},
		[PROGRAM_COLLECTOR] = {OWN "collector", "collector"},
	};
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, PATH_MAX, "%.4000s/%s", self, names[side][i]);
		if (slash && !access(path, X_OK))
			return 0;
	}
	snprintf(path, PATH_MAX, "%.4000s/%s", self, names[side][0]);
	return -ENOENT;
}

enum program_side program_of(const char *command)
{
	if (is_listed(collector_commands, command, strlen(command)))
		return PROGRAM_COLLECTOR;
	return is_listed(agent_commands, command, strlen(command)) ? PROGRAM_AGENT : PROGRAM_NONE;
}

void program_each(void (*visit)(void *context, const char *command), void *context)
{
	for (const char *const *list = collector_commands; *list; list++)
		visit(context, *list);
	for (const char *const *list = agent_commands; *list; list++)
		if (program_of(*list) == PROGRAM_AGENT)
			visit(context, *list);
}
