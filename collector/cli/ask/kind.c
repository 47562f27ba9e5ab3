/* Answers a question as its kind declares. See kind.h. */
#include "collector/cli/ask/kind.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/answers/json.h"
#include "collector/answers/unnamed.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/answers/results.h"
#include "collector/cli/output.h"

#include "base/ban.h"

void question_json_begin(struct json *json, struct buf *out, const struct question *q)
{
	output_json_begin(q->command, json, out);
	if (q->base)
		incomplete_json(json, "base_incomplete", &q->base->recorded.completeness);
	incomplete_json(json, "incomplete", &q->recorded.completeness);
	if (q->base)
		json_object_of(json, "base_process", &recorded_answer, &q->base->recorded, NULL);
	json_object_of(json, "process", &recorded_answer, &q->recorded, NULL);
}

static int kind_print_json(struct question *q)
{
	const struct answer_context context = {
		.start_wall_ns = q->recorded.process.start_wall_ns,
		.count = q->options->count,
		.asked = q,
	};
	cleanup(buf_done) struct buf out = {0};
	struct json json;
	int r;

	question_json_begin(&json, &out, q);
	if (q->kind->tells_value)
		json_string(&json, "value", value_name(q->value));
	r = json_members(&json, q->kind->answer, q->result, &context);
	if (r >= 0 && q->suppressed.count)
		json_object_of(&json, "suppressed", &suppressed_answer, &q->suppressed, &context);
	if (r >= 0 && q->kind->tells_hidden)
		hidden_json(&json, q);
	if (q->kind->tells_notes)
		json_notes(&json, "notes", q->symbols);
	json_end(&json, '}');
	return r < 0 ? question_failed(q, r, NULL) : output_json(q->command, stdout, &out);
}

static int kind_answer(struct question *q)
{
	struct err_text err = {0};
	int r = q->kind->ask ? q->kind->ask(q, &err) : 0;
	bool as_json;

	if (r)
		return r < 0 ? question_failed(q, r, &err) : r;
	as_json = q->kind->answer && q->options->common.json && !q->options->output;
	r = as_json ? kind_print_json(q) : q->kind->print(q);
	return fail_if_answer(q, q->kind->values, r);
}

static int kind_ask(struct question *q, const struct question_kind *kind)
{
	int status;

	q->kind = kind;
	q->result = calloc(1, kind->result_bytes + 1);
	status = q->result ? kind_answer(q) : question_failed(q, -ENOMEM, NULL);
	if (q->result && kind->done)
		kind->done(q->result);
	free(q->result);
	return status;
}

int question_run_as(struct command_call *call, const struct question_kind *kind)
{
	const struct question_options *o = call->options;
	enum value value = o->base ? VALUE_LEAKED : kind->value;
	int status = fail_if_check(call, kind->values);
	struct question base, q;

	if (!status && kind->check)
		status = kind->check(call);
	if (!status && o->base)
		status = question_open_named(call, o->base, value, &base);
	if (status)
		return status;
	status = question_open(call, value, &q);
	if (!status) {
		q.base = o->base ? &base : NULL;
		status = kind_ask(&q, kind);
		question_close(&q);
	}
	if (o->base)
		question_close(&base);
	return status;
}

int question_run(struct command_call *call)
{
	return question_run_as(call, call->command->question);
}
