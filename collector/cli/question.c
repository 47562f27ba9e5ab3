/* Opening a stream to ask about it. See question.h. */
#include "collector/cli/question.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/store/store.h"
#include "collector/symbols/symbols.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

const struct option question_table[] = {
	OPTION_TEXT(struct question_options, at, "at", "TIME",
		    "what was in use at this moment: 10s, 50%, or a time since the epoch (means "
		    "--value in-use)"),
	SYMBOL_OPTIONS(struct question_options, symbols),
	{0},
};

const struct option value_table[] = {
	OPTION_TEXT(struct question_options, value, "value", "WHAT",
		    "what is counted: allocated, leaked, temporary, in-use or peak"),
	{0},
};

#define FILTER_OPTION(name, argument, help)                                                        \
	OPTION_PAIR(struct question_options, filters, name, argument, help),
const struct option filter_table[] = {FILTERS(FILTER_OPTION){0}};

int question_failed(const struct question *question, int error, const struct err_text *err)
{
	return command_input_fault(question->command, error, err);
}

/* What can be told from the options alone. */
static int read_value(struct question *q, const struct question_options *o, struct err_text *err)
{
	if (o->value && value_parse(o->value, &q->value) < 0)
		return err_set(
			err, -EINVAL,
			"--value takes allocated, leaked, temporary, in-use or peak, not '%.60s'",
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

static int read_time(struct question *q, const struct question_options *o, struct err_text *err)
{
	int r;

	if (!o->at)
		return 0;
	r = query_time(q->view, "--at", o->at, &q->at_ns, err);
	return r < 0 ? r : 0;
}

static int read_filters(struct question *q, const struct option_pairs *pairs, struct err_text *err)
{
	for (size_t i = 0; i < pairs->count; i++) {
		int r = filter_set(&q->filter, q->view, pairs->list[i].name, pairs->list[i].value,
				   err);

		if (r < 0)
			return err_prefix(err, r, "--%s", pairs->list[i].name);
	}
	return 0;
}

/* Sampled for a time, by a change of the mode or by thinning. */
static bool any_weights(const struct recording *recording)
{
	for (uint32_t b = 0; b < recording_blocks(recording); b++)
		if (recording_block(recording, b)->weight)
			return true;
	return false;
}

static int open_all(struct question *q, const struct question_options *o, struct err_text *err)
{
	static char reading[] = "reading the recording";
	const struct process_info *process;
	int r = read_value(q, o, err);

	if (!r)
		r = command_find_stream(o->common.data, q->stream, &q->path, err);
	if (!r)
		r = recording_open(q->path, command_progress, reading, &q->recording, err);
	if (!r)
		r = symbol_sources_open(&q->symbol_sources, o->common.data, &o->symbols,
					&q->symbols, err);
	if (!r)
		r = view_new(q->recording, q->symbols, &q->view, err);
	if (r < 0)
		return r;
	process = recording_process(q->recording);
	q->live = !process->ended;
	q->sampled = process->mode == HEAPCAST__MODE__MODE_SAMPLE || any_weights(q->recording);
	r = read_time(q, o, err);
	return r < 0 ? r : read_filters(q, &o->filters, err);
}

int question_open(struct command_call *call, enum value default_value,
		  struct question *ret_question)
{
	const struct question_options *o = call->options;
	struct question q = {.command = call->command, .value = default_value, .at_ns = NO_TIME};
	struct err_text err = {0};
	int r;

	q.stream = call->argument_count ? call->arguments[0] : "last";
	filter_init(&q.filter);
	r = open_all(&q, o, &err);
	if (r < 0) {
		question_close(&q);
		return command_input_fault(call->command, r, &err);
	}
	*ret_question = q;
	return EXIT_DONE;
}

void question_close(struct question *question)
{
	filter_done(&question->filter);
	view_free(question->view);
	symbols_free(question->symbols);
	recording_close(question->recording);
	symbol_sources_close(&question->symbol_sources);
	free(question->path);
}

const char *question_leaked_name(const struct question *question)
{
	return question->live ? "in use" : "leaked";
}

void question_file_name(const struct question *question, const char *suffix, char *out, size_t size)
{
	const struct process_info *process = recording_process(question->recording);
	const char *name = module_basename(process->executable);
	char id[STREAM_ID_TEXT], program[64];
	size_t n = 0;

	for (; *name && n < sizeof(program) - 1; name++)
		program[n++] =
			strchr("/ \t\n\\'\"<>|&;$*?[](){}`~#!", *name) || (unsigned char)*name < ' '
				? '_'
				: *name;
	program[n] = 0;
	stream_id_format(id, recording_id(question->recording));
	snprintf(out, size, "heapcast_%s_%.8s_%s", n ? program : "program", id, suffix);
}
