/* See schema.h. */
#include "collector/http/schema.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "collector/export/answer.h"
#include "collector/export/export.h"

#include "base/ban.h"

/* What JSON calls it. */
static const char *const types[] = {
	[ANSWER_U64] = "integer",   [ANSWER_U32] = "integer",  [ANSWER_I64] = "integer",
	[ANSWER_DOUBLE] = "number", [ANSWER_BOOL] = "boolean", [ANSWER_TEXT] = "string",
	[ANSWER_FLAG] = "boolean",  [ANSWER_KIB] = "integer",  [ANSWER_CHARS] = "string",
	[ANSWER_WORD] = "string",   [ANSWER_ID] = "string",    [ANSWER_ADDRESS] = "integer",
	[ANSWER_FREE] = NULL,
};

/* The kind of object that it is; NULL: none. */
static const struct answer *object_of(const struct answer_field *f)
{
	switch (f->kind) {
	case ANSWER_USAGE:
		return &usage_answer;
	case ANSWER_TIME:
	case ANSWER_TIMES:
		return &time_answer;
	case ANSWER_OBJECT:
		return f->of;
	default:
		return NULL;
	}
}

static void write_reference(struct json *json, const struct answer *answer)
{
	char text[80];

	snprintf(text, sizeof(text), "#/components/schemas/%s", answer->name);
	json_string(json, "$ref", text);
}

static void write_type(struct json *json, const struct answer_field *f)
{
	if (object_of(f)) {
		write_reference(json, object_of(f));
	} else if (f->may_be_null) {
		json_array(json, "type");
		json_string(json, NULL, types[f->kind]);
		json_string(json, NULL, "null");
		json_end(json, ']');
	} else if (types[f->kind]) {
		json_string(json, "type", types[f->kind]);
	}
	if (f->kind == ANSWER_U64 || f->kind == ANSWER_U32 || f->kind == ANSWER_KIB ||
	    f->kind == ANSWER_ADDRESS)
		json_u64(json, "minimum", 0);
	if (f->kind == ANSWER_WORD) {
		json_array(json, "enum");
		for (const char *const *word = f->words; *word; word++)
			json_string(json, NULL, *word);
		json_end(json, ']');
	}
}

static void write_values(struct json *json, const struct answer_field *f)
{
	unsigned arrays = f->shape == ANSWER_ONE ? 0 : f->shape == ANSWER_LISTS ? 2 : 1;

	for (unsigned i = 0; i < arrays; i++) {
		json_string(json, "type", "array");
		json_object(json, "items");
	}
	write_type(json, f);
	for (unsigned i = 0; i < arrays; i++)
		json_end(json, '}');
}

static void write_property(struct json *json, const char *name, const struct answer_field *f,
			   const char *unit)
{
	json_object(json, name);
	write_values(json, f);
	if (f->about[0])
		json_string(json, "description", f->about);
	if (unit)
		json_string(json, "x-unit", unit);
	json_end(json, '}');
}

/* Of some kinds there are more than one. */
static void write_properties(struct json *json, const struct answer_field *f)
{
	static const struct answer_field text = {.kind = ANSWER_TEXT,
						 .about = "16 hexadecimal digits"},
					 part = {.kind = ANSWER_DOUBLE,
						 .about = "part of the recording"};
	char name[64];

	write_property(json, f->name, f, f->unit);
	if (f->kind == ANSWER_ADDRESS && f->shape == ANSWER_ONE) {
		snprintf(name, sizeof(name), "%s_s", f->name);
		write_property(json, name, &text, NULL);
	} else if (f->kind == ANSWER_TIMES) {
		snprintf(name, sizeof(name), "%s_relative", f->name);
		write_property(json, name, f, "since the start");
		snprintf(name, sizeof(name), "%s_relative_p", f->name);
		write_property(json, name, &part, "part");
	}
}

static void write_all_properties(struct json *json, const struct answer *answer)
{
	for (const struct answer_field *f = answer->fields; f->name || f->of; f++) {
		if (f->kind == ANSWER_MEMBERS)
			write_all_properties(json, f->of);
		else
			write_properties(json, f);
	}
}

/* Of members that are not always there, none is. */
static void write_required(struct json *json, const struct answer *answer)
{
	for (const struct answer_field *f = answer->fields; f->name || f->of; f++) {
		if (f->when == ALWAYS && f->kind == ANSWER_MEMBERS)
			write_required(json, f->of);
		else if (f->when == ALWAYS)
			json_string(json, NULL, f->name);
	}
}

static void write_object(struct json *json, const struct answer *answer, bool incomplete)
{
	static const struct answer_field row = ROW_INCOMPLETE;

	json_string(json, "type", "object");
	json_object(json, "properties");
	if (incomplete)
		write_properties(json, &row);
	write_all_properties(json, answer);
	json_end(json, '}');
	json_array(json, "required");
	write_required(json, answer);
	json_end(json, ']');
	json_bool(json, "additionalProperties", false);
}

void schema_refer(struct json *json, const struct answer *answer, bool is_array)
{
	json_object(json, "schema");
	if (is_array) {
		json_string(json, "type", "array");
		json_object(json, "items");
	}
	write_reference(json, answer);
	if (is_array)
		json_end(json, '}');
	json_end(json, '}');
}

static void add_parts(struct schemas *schemas, const struct answer *answer)
{
	for (const struct answer_field *f = answer->fields; f->name || f->of; f++) {
		if (f->kind == ANSWER_MEMBERS)
			add_parts(schemas, f->of);
		else if (object_of(f))
			schemas_add(schemas, object_of(f), false);
	}
}

void schemas_add(struct schemas *schemas, const struct answer *answer, bool incomplete)
{
	for (unsigned i = 0; i < schemas->count; i++)
		if (schemas->list[i].answer == answer)
			return;
	assert(schemas->count < SCHEMAS_MAX);
	schemas->list[schemas->count].answer = answer;
	schemas->list[schemas->count++].incomplete = incomplete;
	add_parts(schemas, answer);
}

void schemas_write(struct json *json, const struct schemas *schemas)
{
	for (unsigned i = 0; i < schemas->count; i++) {
		json_object(json, schemas->list[i].answer->name);
		write_object(json, schemas->list[i].answer, schemas->list[i].incomplete);
		json_end(json, '}');
	}
}
