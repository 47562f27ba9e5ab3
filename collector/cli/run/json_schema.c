/* collector json-schema: prints what the commands answer with --json, as JSON Schemas. The rows
 * that write the answers (answers/answer.h) also make the schemas. docs/json.md is made from this
 * output, and tests/e2e/json.sh checks the answers of all commands against it. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/answers/recorded.h"
#include "collector/answers/results.h"
#include "collector/answers/schema.h"
#include "collector/answers/unnamed.h"
#include "collector/cli/commands.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/ask/suppressing.h"
#include "collector/cli/output.h"

#include "base/ban.h"

#define ANSWERS_MAX 64
#define PARTS_MAX   12

static const struct command *const commands[] = {
#define X(name) &command_##name,
	COMMANDS(X)
#undef X
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

/* The members that every answer to a question has before and after its own. */
static const struct answer_field base_fields[] = {
	BY_HAND("base_incomplete", ANSWER_TEXT, NULL, "what the base does not hold, in a sentence",
		.when = SOMETIMES),
	ROW_INCOMPLETE,
	BY_HAND("base_process", ANSWER_OBJECT, NULL,
		"which program was recorded in the base, and how", .of = &recorded_answer,
		.when = SOMETIMES),
	BY_HAND("process", ANSWER_OBJECT, NULL, "which program was recorded, and how",
		.of = &recorded_answer),
	{0},
};
static const struct answer base_answer = {"question", base_fields};

static const struct answer_field value_field =
					 BY_HAND("value", ANSWER_TEXT, NULL, "what is counted"),
				 suppressed_field =
					 BY_HAND("suppressed", ANSWER_OBJECT, NULL,
						 "what suppressions left out",
						 .of = &suppressed_answer, .when = SOMETIMES),
				 hidden_field = BY_HAND("hidden", ANSWER_OBJECT, NULL,
							"functions that call sites leave out",
							.of = &hidden_answer, .shape = ANSWER_LIST),
				 notes_field = BY_HAND("notes", ANSWER_OBJECT, NULL,
						       "which names are missing, and why",
						       .of = &note_answer, .shape = ANSWER_LIST),
				 head_part = ROWS_BY_HAND(output_head_answer),
				 base_part = ROWS_BY_HAND(base_answer);

/* Everything that a command answers. */
struct whole_answer {
	struct answer_field fields[PARTS_MAX];
	struct answer answer;
	char name[64];
	unsigned count;
};

struct whole_answers {
	struct whole_answer list[ANSWERS_MAX];
	unsigned count;
};

static void whole_add(struct whole_answer *w, const struct answer_field *field)
{
	w->fields[w->count++] = *field;
}

static struct whole_answer *whole_new(struct whole_answers *all, const char *prefix,
				      const char *name)
{
	struct whole_answer *w = &all->list[all->count++];

	snprintf(w->name, sizeof(w->name), "%s%s", prefix, name);
	w->answer = (struct answer){w->name, w->fields};
	whole_add(w, &head_part);
	return w;
}

static void whole_question(struct whole_answers *all, const struct command *command,
			   const struct question_kind *kind, const char *prefix)
{
	struct whole_answer *w;

	if (!kind || !kind->answer)
		return;
	w = whole_new(all, prefix, command->name);
	whole_add(w, &base_part);
	if (kind->tells_value)
		whole_add(w, &value_field);
	whole_add(w, &(struct answer_field){
			     .kind = ANSWER_MEMBERS, .of = kind->answer, .by_hand = true});
	whole_add(w, &suppressed_field);
	if (kind->tells_hidden)
		whole_add(w, &hidden_field);
	if (kind->tells_notes)
		whole_add(w, &notes_field);
}

/* Writes what the command answers, and keeps it for the schemas. */
static void json_schema_of(struct json *json, const struct command *command,
			   struct whole_answers *all, struct schemas *schemas)
{
	unsigned first = all->count;
	char reference[96];

	whole_question(all, command, command->question, "answer_");
	whole_question(all, command, command->question_by, "answer_by_");
	for (unsigned i = 0; i < COMMAND_ANSWERS_MAX && command->answers[i]; i++)
		whole_add(whole_new(all, "answer_", command->answers[i]->name),
			  &(struct answer_field){.kind = ANSWER_MEMBERS,
						 .of = command->answers[i],
						 .by_hand = true});
	if (first == all->count)
		return;
	json_object(json, command->name);
	json_array(json, "anyOf");
	for (unsigned i = first; i < all->count; i++) {
		snprintf(reference, sizeof(reference), "#/components/schemas/%s",
			 all->list[i].name);
		json_object(json, NULL);
		json_string(json, "$ref", reference);
		json_end(json, '}');
		schemas_add(schemas, &all->list[i].answer, false);
	}
	json_end(json, ']');
	json_end(json, '}');
}

static int json_schema_run(struct command_call *call)
{
	static struct whole_answers all;
	static struct schemas schemas;
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	output_json_begin(call->command, &json, &out);
	json_object(&json, "commands");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		json_schema_of(&json, commands[i], &all, &schemas);
	json_end(&json, '}');
	json_object(&json, "components");
	json_object(&json, "schemas");
	schemas_write(&json, &schemas);
	json_end(&json, '}');
	json_end(&json, '}');
	json_end(&json, '}');
	return output_json(call->command, stdout, &out);
}

static const struct option_group groups[] = {{0}};

const struct command command_json_schema = {
	.name = "json-schema",
	.summary = "what commands answer with --json, as JSON Schemas",
	.usage = "",
	.about = "Prints what each command answers with --json: an object with \"commands\", and\n"
		 "\"components\" that they refer to (JSON Schema, draft 2020-12; docs/json.md).\n",
	.hidden = true,
	.groups = groups,
	.options_size = 1,
	.run = json_schema_run,
};
