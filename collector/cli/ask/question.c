/* Opens a stream to ask about it. See question.h. */
#include "collector/cli/ask/question.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/output.h"
#include "collector/cli/progress.h"
#include "collector/sql/sql.h"
#include "collector/recording/recording.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

const struct option question_table[] = {
	OPTION_TEXT(struct question_options, at, "at", "TIME",
		    "what was in use at this moment: 10s, 50%, or a time since the epoch (means "
		    "--value in-use)"),
	SYMBOL_OPTIONS(struct question_options, symbols),
	OPTION_TEXT(
		struct question_options, hide_rules, "hide-rules", "FILE",
		"functions that only pass allocations on, beside the ones that are known: a name a "
		"line, * at either end (docs/hide-rules.md)"),
	{0},
};

const struct option value_table[] = {
	OPTION_TEXT(struct question_options, value, "value", "WHAT",
		    "what is counted: allocated, leaked, freed, in-use or peak"),
	{0},
};

#define FILTER_OPTION(type, member, unset, reader, name, argument, help, ...)                      \
	OPTION_PAIR(struct question_options, filters, name, argument, help),
const struct option filter_table[] = {
	FILTERS(FILTER_OPTION) OPTION_TEXT(
		struct question_options, where, "where", "SQL",
		"a condition over the columns of allocations (collector sql --schema) holds: "
		"'size > 100 and thread_name like \"io%\"'"),
	{0},
};

const struct question_options question_defaults = {.common.data = DEFAULT_DATA, .count = 10};

int question_failed(const struct question *question, int error, const struct err_text *err)
{
	return command_input_fault(question->command, error, err);
}

/* Reads what depends on the options alone. */
static int read_value(struct question *q, const struct question_options *o, struct err_text *err)
{
	if (o->value && value_parse(o->value, &q->value) < 0)
		return err_set(
			err, -EINVAL,
			"--value takes allocated, leaked, freed, in-use or peak, not '%.60s'",
			o->value);
	if (o->at && !o->value)
		q->value = VALUE_IN_USE;
	else if (o->at && q->value != VALUE_IN_USE)
		return err_set(
			err, -EINVAL,
			"--at asks for what was in use at a moment: it does not go with --value %s",
			o->value);
	return 0;
}

static int read_time(struct question *q, const char *name, const char *time, struct err_text *err)
{
	int r;

	if (!time)
		return 0;
	r = query_moment(q->view, name, time, &q->at_ns, err);
	return r < 0 ? r : 0;
}

/* Sets the value for STREAM@TIME: the same as for --at. */
static int read_moment_value(struct question *q, const struct question_options *o,
			     struct err_text *err)
{
	if (o->at)
		return err_set(err, -EINVAL, "%s says a time already: it does not go with --at",
			       q->stream);
	if (o->value && q->value != VALUE_IN_USE)
		return err_set(
			err, -EINVAL,
			"%s asks for what was in use at a moment: it does not go with --value %s",
			q->stream, o->value);
	q->value = VALUE_IN_USE;
	return 0;
}

/* Splits "STREAM@TIME", unless the whole text names a file. */
static int part_name(const char *stream, char **ret_name, const char **ret_time)
{
	char *name = strdup(stream), *at;

	if (!name)
		return -ENOMEM;
	at = strrchr(name, '@');
	if (at && access(stream, F_OK) != 0) {
		*at = 0;
		*ret_time = at + 1;
	}
	*ret_name = name;
	return 0;
}

/* Spells a filter's name as an option in the error text: --size-min instead of size_min, its name
 * over HTTP. */
static int name_option(const char *name, int error, struct err_text *err)
{
	struct err_text said = *err;
	size_t length = strlen(name), same = 0;

	while (same < length &&
	       (said.text[same] == name[same] || (said.text[same] == '_' && name[same] == '-')))
		same++;
	if (same < length || said.text[same] != ' ')
		return err_prefix(err, error, "--%s", name);
	return err_set(err, error, "--%s%s", name, said.text + length);
}

/* Prints a note if a range, or a time of a filter, lies beyond the end of the recording. It is
 * allowed, but nothing there can match. */
static void note_beyond(const struct question *q)
{
	const struct {
		const char *name;
		uint64_t ns;
	} times[] = {
		{"from", q->filter.from_ns},
		{"to", q->filter.to_ns},
		{"alive-at", q->filter.alive_at_ns},
		{"alive-at-2", q->filter.alive_at_2_ns},
	};
	struct err_text why;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (times[i].ns != NO_TIME && query_beyond_end(q->view, times[i].ns, &why))
			command_note(q->command, "--%s %s", times[i].name, why.text);
}

static int read_filters(struct question *q, const struct option_pairs *pairs, struct err_text *err)
{
	for (size_t i = 0; i < pairs->count; i++) {
		int r = filter_set(&q->filter, q->view, pairs->list[i].name, pairs->list[i].value,
				   err);

		if (r < 0)
			return name_option(pairs->list[i].name, r, err);
	}
	note_beyond(q);
	return filter_check(&q->filter, err);
}

static int question_read_condition(struct question *q, const char *condition, struct err_text *err)
{
	int r;

	if (!condition)
		return 0;
	r = sql_add_condition(&q->filter, q->view, condition,
			      &(struct sql_limits){.progress = q->filter.progress}, err);
	return r < 0 ? err_prefix(err, r, "--where") : 0;
}

static void question_show_progress(void *context, uint64_t done, uint64_t of)
{
	static char asking[] = "looking through the allocations";

	(void)context;
	progress_show(asking, done, of);
}

static int add_progress(struct question *q)
{
	q->progress = calloc(1, sizeof(*q->progress));
	if (!q->progress)
		return -ENOMEM;
	q->progress->show = question_show_progress;
	q->filter.progress = q->progress;
	return 0;
}

static int find_stream(struct question *q, const char *name, bool selected, struct err_text *err)
{
	struct common_options common = q->options->common;

	if (!selected) {
		common.select = NULL;
		common.select_typed = false;
	}
	return command_find_stream(&common, name, &q->path, err);
}

static int open_all(struct question *q, const struct question_options *o, bool selected,
		    struct err_text *err)
{
	static char reading[] = "reading the recording";
	cleanup(cleanup_free) char *name = NULL;
	const char *time = NULL;
	int r = read_value(q, o, err);

	if (!r)
		r = part_name(q->stream, &name, &time);
	if (!r && time)
		r = read_moment_value(q, o, err);
	if (!r)
		r = find_stream(q, name, selected, err);
	if (!r)
		r = output_apart(o->output, q->path, err);
	if (!r)
		r = recording_open(q->path, progress_show, reading, &q->recording, err);
	if (!r)
		r = symbol_sources_open(&q->symbol_sources, o->common.data, &o->symbols,
					&q->symbols, err);
	if (!r)
		r = view_new(q->recording, q->symbols, &q->view, err);
	if (!r && o->hide_rules)
		r = site_rules_read(o->hide_rules, &q->rules, err);
	if (r < 0)
		return r;
	if (q->rules)
		view_set_rules(q->view, q->rules);
	command_note_opening(q->command, q->recording);
	recorded_of(q->recording, &q->recorded);
	r = add_progress(q);
	if (!r)
		r = read_time(q, o->at ? "--at" : "@TIME", o->at ? o->at : time, err);
	if (r >= 0)
		r = read_filters(q, &o->filters, err);
	return r < 0 ? r : question_read_condition(q, o->where, err);
}

static int open_question(struct command_call *call, const char *stream, enum value default_value,
			 bool selected, struct question *ret_question)
{
	const struct question_options *o = call->options;
	struct question q = {
		.command = call->command, .options = o, .value = default_value, .at_ns = NO_TIME};
	struct err_text err = {0};
	int r;

	q.stream = stream;
	progress_work("working out the answer");
	filter_init(&q.filter);
	r = open_all(&q, o, selected, &err);
	if (r < 0) {
		question_close(&q);
		return command_input_fault(call->command, r, &err);
	}
	*ret_question = q;
	return EXIT_DONE;
}

int question_open_named(struct command_call *call, const char *stream, enum value default_value,
			struct question *ret_question)
{
	return open_question(call, stream, default_value, false, ret_question);
}

int question_open_selected(struct command_call *call, const char *stream, enum value default_value,
			   struct question *ret_question)
{
	return open_question(call, stream, default_value, true, ret_question);
}

int question_open(struct command_call *call, enum value default_value,
		  struct question *ret_question)
{
	return question_open_selected(call, call->argument_count ? call->arguments[0] : "last",
				      default_value, ret_question);
}

void question_close(struct question *question)
{
	const char *anew = question->recording ? recording_rederived(question->recording) : NULL;

	if (anew)
		command_note(question->command, "%s: all rows were derived anew from the frames",
			     anew);
	filter_done(&question->filter);
	suppressed_done(&question->suppressed);
	suppressions_free(question->suppressions);
	free(question->progress);
	view_free(question->view);
	site_rules_free(question->rules);
	symbols_free(question->symbols);
	recording_close(question->recording);
	symbol_sources_close(&question->symbol_sources);
	free(question->path);
}

bool question_is_filtered(const struct question *question)
{
	return question->options->filters.count || question->options->where;
}

const char *question_leaked_name(const struct question *question)
{
	if (question->recorded.live)
		return "in use";
	return question->recorded.whole ? "leaked" : "not freed";
}

const char *question_unfreed(const struct question *question, bool heading)
{
	if (question->recorded.live)
		return heading ? "In use at the last moment recorded"
			       : "in use at the last moment recorded";
	if (heading)
		return question->recorded.whole ? "Never freed" : "Not freed while watched";
	return question->recorded.unfreed;
}

void question_file_name(const struct question *question, const char *suffix, char *out, size_t size)
{
	const char *name = question->recorded.process.name;
	char id[STREAM_ID_TEXT], program[64];
	size_t n = 0;

	for (; name && *name && n < sizeof(program) - 1; name++)
		program[n++] =
			strchr("/ \t\n\\'\"<>|&;$*?[](){}`~#!", *name) || (unsigned char)*name < ' '
				? '_'
				: *name;
	program[n] = 0;
	stream_id_format(id, &question->recorded.id);
	snprintf(out, size, "heapcast_%s_%.8s_%s", n ? program : "program", id, suffix);
}
