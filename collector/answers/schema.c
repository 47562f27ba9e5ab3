/* See schema.h. */
#include "collector/answers/schema.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/cli/program.h"
#include "base/cleanup.h"
#include "base/buf.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"

#include "base/ban.h"

/* JSON's names for the types. */
static const char *const types[] = {
	[ANSWER_U64] = "integer",   [ANSWER_U32] = "integer",  [ANSWER_I64] = "integer",
	[ANSWER_DOUBLE] = "number", [ANSWER_BOOL] = "boolean", [ANSWER_TEXT] = "string",
	[ANSWER_FLAG] = "boolean",  [ANSWER_KIB] = "integer",  [ANSWER_CHARS] = "string",
	[ANSWER_WORD] = "string",   [ANSWER_ID] = "string",    [ANSWER_ADDRESS] = "integer",
	[ANSWER_MS] = "integer",    [ANSWER_HEX] = "string",
};

/* Returns the answer that describes the field, or NULL if the field is not an object. */
static const struct answer *object_of(const struct answer_field *f)
{
	switch (f->kind) {
	case ANSWER_USAGE:
		return &usage_answer;
	case ANSWER_TIME:
	case ANSWER_WALL:
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

static void write_reference_or_null(struct json *json, const struct answer *answer)
{
	json_array(json, "anyOf");
	json_object(json, NULL);
	write_reference(json, answer);
	json_end(json, '}');
	json_object(json, NULL);
	json_string(json, "type", "null");
	json_end(json, '}');
	json_end(json, ']');
}

/* Writes the schema of an object whose members may have any name. */
static void write_free(struct json *json)
{
	json_string(json, "type", "object");
	json_object(json, "additionalProperties");
	json_array(json, "type");
	json_string(json, NULL, "string");
	json_string(json, NULL, "number");
	json_string(json, NULL, "null");
	json_end(json, ']');
	json_end(json, '}');
}

/* Several internal states may have the same public name, so duplicates are left out. */
static void write_words(struct json *json, const char *const *words)
{
	json_array(json, "enum");
	for (const char *const *word = words; *word; word++) {
		const char *const *first = words;

		while (strcmp(*first, *word) != 0)
			first++;
		if (first == word)
			json_string(json, NULL, *word);
	}
	json_end(json, ']');
}

static void write_type(struct json *json, const struct answer_field *f)
{
	if (object_of(f) && f->may_be_null) {
		write_reference_or_null(json, object_of(f));
	} else if (object_of(f)) {
		write_reference(json, object_of(f));
	} else if (f->kind == ANSWER_FREE) {
		write_free(json);
	} else if (f->kind == ANSWER_VALUE) {
		return;
	} else if (f->may_be_null) {
		json_array(json, "type");
		json_string(json, NULL, types[f->kind]);
		json_string(json, NULL, "null");
		json_end(json, ']');
	} else {
		json_string(json, "type", types[f->kind]);
	}
	if (f->kind == ANSWER_U64 || f->kind == ANSWER_U32 || f->kind == ANSWER_KIB ||
	    f->kind == ANSWER_ADDRESS || f->kind == ANSWER_MS)
		json_u64(json, "minimum", 0);
	if (f->kind == ANSWER_WORD)
		write_words(json, f->words);
}

static void write_values(struct json *json, const struct answer_field *f)
{
	static const unsigned depths[] = {
		[ANSWER_ONE] = 0,   [ANSWER_LIST] = 1,	[ANSWER_PAGE] = 1, [ANSWER_ARRAY] = 1,
		[ANSWER_PAIRS] = 2, [ANSWER_LISTS] = 2, [ANSWER_NAMED] = 1};
	bool named = f->shape == ANSWER_NAMED;

	for (unsigned i = 0; i < depths[f->shape]; i++) {
		json_string(json, "type", named ? "object" : "array");
		if (i && f->shape == ANSWER_PAIRS) {
			json_u64(json, "minItems", 2);
			json_u64(json, "maxItems", 2);
		}
		json_object(json, named ? "additionalProperties" : "items");
	}
	write_type(json, f);
	for (unsigned i = 0; i < depths[f->shape]; i++)
		json_end(json, '}');
}

/* Names commands as people type them: "heapcast ledger" if this program was started as heapcast. */
static void write_about(struct json *json, const char *about)
{
	cleanup(buf_done) struct buf words = {0};

	program_words(&words, about);
	json_string(json, "description", buf_error(&words) ? about : buf_text(&words));
}

static void write_property(struct json *json, const char *name, const struct answer_field *f,
			   const char *unit)
{
	json_object(json, name);
	write_values(json, f);
	if (f->about[0])
		write_about(json, f->about + strspn(f->about, " "));
	if (unit)
		json_string(json, "x-unit", unit);
	json_end(json, '}');
}

#define NAME_BYTES 64
static const char *name_with(char name[NAME_BYTES], const struct answer_field *f, const char *end)
{
	snprintf(name, NAME_BYTES, "%s%s", f->name, end);
	return name;
}

static bool has_text(const struct answer_field *f)
{
	return f->kind == ANSWER_ADDRESS && f->shape == ANSWER_ONE;
}

/* Writes the properties of a field. Some kinds have several members, with one name and different
 * endings. */
static void write_properties(struct json *json, const struct answer_field *f)
{
	static const struct answer_field text = {.kind = ANSWER_TEXT,
						 .about = "16 hexadecimal digits"},
					 part = {.kind = ANSWER_DOUBLE,
						 .about = "part of the recording"};
	char name[NAME_BYTES];

	write_property(json, f->name, f, f->unit);
	if (has_text(f))
		write_property(json, name_with(name, f, "_s"), &text, NULL);
	if (f->kind == ANSWER_TIMES) {
		write_property(json, name_with(name, f, "_relative"), f, "since the start");
		write_property(json, name_with(name, f, "_relative_p"), &part, "part");
	}
}

static void write_all_properties(struct json *json, const struct answer *answer)
{
	for (const struct answer_field *f = answer->fields; f->name || f->of; f++) {
		if (f->kind == ANSWER_MEMBERS)
			write_all_properties(json, f->of);
		else if (f->when != COLUMN_ONLY)
			write_properties(json, f);
	}
}

static void write_names(struct json *json, const struct answer_field *f)
{
	char name[NAME_BYTES];

	json_string(json, NULL, f->name);
	if (has_text(f))
		json_string(json, NULL, name_with(name, f, "_s"));
	if (f->kind == ANSWER_TIMES) {
		json_string(json, NULL, name_with(name, f, "_relative"));
		json_string(json, NULL, name_with(name, f, "_relative_p"));
	}
}

static bool is_required(const struct answer_field *f)
{
	return f->when == ALWAYS || f->when == TRUE_OR_NULL || f->when == NO_MAX_OR_NULL;
}

/* Lists the members that are always present. */
static void write_required(struct json *json, const struct answer *answer)
{
	for (const struct answer_field *f = answer->fields; f->name || f->of; f++) {
		if (is_required(f) && f->kind == ANSWER_MEMBERS)
			write_required(json, f->of);
		else if (is_required(f))
			write_names(json, f);
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

static void schema_add_parts(struct schemas *schemas, const struct answer *answer)
{
	for (const struct answer_field *f = answer->fields; f->name || f->of; f++) {
		if (f->kind == ANSWER_MEMBERS)
			schema_add_parts(schemas, f->of);
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
	schema_add_parts(schemas, answer);
}

void schemas_write(struct json *json, const struct schemas *schemas)
{
	for (unsigned i = 0; i < schemas->count; i++) {
		json_object(json, schemas->list[i].answer->name);
		write_object(json, schemas->list[i].answer, schemas->list[i].incomplete);
		json_end(json, '}');
	}
}
