/*
 * Replaces SQLite's text functions. SQLite's instr, replace and trim take time proportional to the
 * product of the lengths of their arguments. At a MiB each this is hours in a single step, which
 * cannot be interrupted. These functions take time proportional to the sum, and check the deadline
 * before they begin. Their results are those of SQLite.
 */
#include <string.h>

#include "collector/sql/state.h"

#include "base/ban.h"

#define TRIMMED_MAX 256 /* bytes of the characters that trim removes */

struct piece {
	const char *text;
	size_t length;
};

static bool is_inside(const char *at)
{
	return ((uint8_t)*at & 0xc0) == 0x80;
}

static struct piece texts_text_of(sqlite3_value *value)
{
	const char *text = (const char *)sqlite3_value_text(value);

	return (struct piece){text, text ? (size_t)sqlite3_value_bytes(value) : 0};
}

static struct piece blob_of(sqlite3_value *value)
{
	const char *bytes = sqlite3_value_blob(value);

	return (struct piece){bytes, bytes ? (size_t)sqlite3_value_bytes(value) : 0};
}

/* Returns true if there is nothing to do: an argument is NULL, or the statement must end. */
static bool is_idle(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct sql *sql = sqlite3_user_data(context);

	if (guard_ended(sql)) {
		sqlite3_result_error(context, sql->why.text, -1);
		return true;
	}
	for (int i = 0; i < argc; i++)
		if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
			return true;
	return false;
}

/* ---- instr ---- */

static const char *texts_find(struct piece in, struct piece what, bool characters)
{
	const char *at = memmem(in.text, in.length, what.text, what.length);

	/* A match that begins inside a character does not count. It can only occur if the text is
	 * not valid UTF-8. */
	if (at && characters && at != in.text && is_inside(at))
		return NULL;
	return at;
}

static void call_instr(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	bool blobs = sqlite3_value_type(argv[0]) == SQLITE_BLOB &&
		     sqlite3_value_type(argv[1]) == SQLITE_BLOB;
	struct piece in, what;
	const char *at;
	int64_t number = 1;

	if (is_idle(context, argc, argv))
		return;
	in = blobs ? blob_of(argv[0]) : texts_text_of(argv[0]);
	what = blobs ? blob_of(argv[1]) : texts_text_of(argv[1]);
	if (!what.length) {
		sqlite3_result_int(context, 1);
		return;
	}
	at = in.length ? texts_find(in, what, !blobs) : NULL;
	for (const char *p = in.text; at && p < at; p++)
		number += blobs || !is_inside(p + 1);
	sqlite3_result_int64(context, at ? number : 0);
}

/* ---- replace ---- */

/* Splits `rest` at the next match: *ret_before gets the text before it, and `rest` keeps the text
 * after it. Returns false if there is no match. */
static bool next_piece(struct piece *rest, struct piece what, struct piece *ret_before)
{
	const char *at = memmem(rest->text, rest->length, what.text, what.length);

	*ret_before = (struct piece){rest->text, at ? (size_t)(at - rest->text) : rest->length};
	if (at) {
		rest->length -= ret_before->length + what.length;
		rest->text = at + what.length;
	}
	return at;
}

static uint64_t replaced_length(struct piece in, struct piece what, struct piece by)
{
	struct piece before;
	uint64_t length = 0;

	while (next_piece(&in, what, &before))
		length += before.length + by.length;
	return length + before.length;
}

static void call_replace(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct piece in, what, by, before;
	uint64_t length;
	char *made, *to;
	bool more;

	if (is_idle(context, argc, argv))
		return;
	in = texts_text_of(argv[0]);
	what = texts_text_of(argv[1]);
	by = texts_text_of(argv[2]);
	if (!what.length || !in.length) {
		sqlite3_result_value(context, argv[0]);
		return;
	}
	length = replaced_length(in, what, by);
	if (length > SQL_VALUE_MAX) {
		sqlite3_result_error_toobig(context);
		return;
	}
	made = to = sqlite3_malloc64(length + 1);
	if (!made) {
		sqlite3_result_error_nomem(context);
		return;
	}
	do {
		more = next_piece(&in, what, &before);
		memcpy(to, before.text, before.length);
		to += before.length;
		if (more && by.length)
			memcpy(to, by.text, by.length);
		to += more ? by.length : 0;
	} while (more);
	*to = 0;
	sqlite3_result_text(context, made, (int)length, sqlite3_free);
}

/* ---- trim ---- */

/* Returns the length in bytes of the first character of the text. */
static size_t character_length(struct piece in)
{
	size_t length = 1;

	while ((uint8_t)in.text[0] >= 0xc0 && length < in.length && is_inside(in.text + length))
		length++;
	return length;
}

/* Returns the length of the character of `set` at the beginning or the end of the text, or 0 if
 * there is none. */
static size_t trimmed_length(struct piece in, struct piece set, bool at_end)
{
	while (set.length) {
		size_t length = character_length(set);

		if (length <= in.length &&
		    !memcmp(at_end ? in.text + in.length - length : in.text, set.text, length))
			return length;
		set.text += length;
		set.length -= length;
	}
	return 0;
}

static void trim(sqlite3_context *context, int argc, sqlite3_value **argv, bool left, bool right)
{
	struct piece in, set = {" ", 1};
	size_t length;

	if (is_idle(context, argc, argv))
		return;
	in = texts_text_of(argv[0]);
	if (argc > 1)
		set = texts_text_of(argv[1]);
	if (set.length > TRIMMED_MAX) {
		sqlite3_result_error(context, "trim takes at most 256 bytes of characters", -1);
		return;
	}
	while (left && (length = trimmed_length(in, set, false))) {
		in.text += length;
		in.length -= length;
	}
	while (right && (length = trimmed_length(in, set, true)))
		in.length -= length;
	sqlite3_result_text(context, in.text, (int)in.length, SQLITE_TRANSIENT);
}

static void call_trim(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	trim(context, argc, argv, true, true);
}

static void call_ltrim(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	trim(context, argc, argv, true, false);
}

static void call_rtrim(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	trim(context, argc, argv, false, true);
}

int texts_add(struct sql *sql)
{
	static const struct {
		const char *name;
		int arguments;
		void (*call)(sqlite3_context *context, int argc, sqlite3_value **argv);
	} functions[] = {
		{"instr", 2, call_instr}, {"replace", 3, call_replace}, {"trim", 1, call_trim},
		{"trim", 2, call_trim},	  {"ltrim", 1, call_ltrim},	{"ltrim", 2, call_ltrim},
		{"rtrim", 1, call_rtrim}, {"rtrim", 2, call_rtrim},
	};
	int r = SQLITE_OK;

	for (size_t i = 0; r == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]); i++)
		r = sqlite3_create_function_v2(sql->db, functions[i].name, functions[i].arguments,
					       SQLITE_UTF8 | SQLITE_DETERMINISTIC, sql,
					       functions[i].call, NULL, NULL, NULL);
	return r;
}
