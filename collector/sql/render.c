/* Renders answers as JSON and CSV. See render.h. */
#include "collector/sql/render.h"
#include "collector/answers/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#include "base/ban.h"

#define FLUSH_BYTES 65536

static int flush_some(struct sql_render *r, size_t least)
{
	if (buf_error(r->out))
		return buf_error(r->out);
	return r->flush && r->out->length >= least ? r->flush(r->context, r->out) : 0;
}

static void forget_names(struct sql_render *r)
{
	for (unsigned i = 0; i < r->columns && r->names; i++)
		free(r->names[i]);
	free(r->names);
	r->names = NULL;
	r->columns = 0;
}

static int keep_names(struct sql_render *r, unsigned columns, const char *const *names)
{
	forget_names(r);
	r->names = calloc(columns, sizeof(*r->names));
	for (unsigned i = 0; i < columns && r->names; i++) {
		r->names[i] = strdup(names[i]);
		r->columns++;
		if (!r->names[i])
			return -ENOMEM;
	}
	return r->names ? 0 : -ENOMEM;
}

void sql_render_done(struct sql_render *render)
{
	forget_names(render);
}

/* ---- JSON ---- */

static void put_hex(struct buf *out, const struct sql_value *value)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t *to = buf_reserve(out, 2 * value->length + 1);

	for (size_t i = 0; to && i < value->length; i++) {
		to[2 * i] = (uint8_t)digits[(uint8_t)value->text[i] >> 4];
		to[2 * i + 1] = (uint8_t)digits[value->text[i] & 15];
	}
	if (to)
		out->length += 2 * value->length;
}

static void json_bytes(struct json *json, const char *key, const struct sql_value *value)
{
	struct buf hex = {0};

	put_hex(&hex, value);
	json_string(json, key, buf_text(&hex));
	buf_done(&hex);
}

void sql_json_value(struct json *json, const char *key, const struct sql_value *value)
{
	switch (value->kind) {
	case SQL_NULL:
		json_string(json, key, NULL);
		break;
	case SQL_INTEGER:
		json_i64(json, key, value->integer);
		break;
	case SQL_REAL:
		json_double(json, key, value->real);
		break;
	case SQL_STRING:
		json_text(json, key, value->text, value->length);
		break;
	case SQL_BYTES:
		json_bytes(json, key, value);
		break;
	}
}

void sql_json_row(struct json *json, unsigned columns, char *const *names,
		  const struct sql_value *values)
{
	json_object(json, NULL);
	for (unsigned i = 0; i < columns; i++)
		sql_json_value(json, names[i], &values[i]);
	json_end(json, '}');
}

static int json_begin(void *context, unsigned columns, const char *const *names)
{
	struct sql_render *r = context;

	json_init(&r->json, r->out);
	if (r->format == SQL_JSON)
		json_array(&r->json, NULL);
	return keep_names(r, columns, names);
}

static int json_row(void *context, unsigned columns, const struct sql_value *values)
{
	struct sql_render *r = context;

	if (r->format == SQL_JSON_LINES)
		json_init(&r->json, r->out);
	sql_json_row(&r->json, columns, r->names, values);
	if (r->format == SQL_JSON_LINES)
		buf_byte(r->out, '\n');
	return flush_some(r, FLUSH_BYTES);
}

static int json_finish(void *context, bool cut)
{
	struct sql_render *r = context;

	(void)cut;
	if (r->format == SQL_JSON) {
		json_end(&r->json, ']');
		buf_byte(r->out, '\n');
	}
	return flush_some(r, 1);
}

/* ---- CSV ---- */

static void csv_text(struct buf *out, const char *text, size_t length)
{
	bool plain = !memchr(text, '"', length) && !memchr(text, ',', length) &&
		     !memchr(text, '\n', length) && !memchr(text, '\r', length);

	if (plain) {
		buf_append(out, text, length);
		return;
	}
	buf_byte(out, '"');
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '"')
			buf_byte(out, '"');
		buf_byte(out, (uint8_t)text[i]);
	}
	buf_byte(out, '"');
}

static void csv_value(struct buf *out, const struct sql_value *value)
{
	switch (value->kind) {
	case SQL_NULL:
		break;
	case SQL_INTEGER:
		buf_printf(out, "%" PRId64, value->integer);
		break;
	case SQL_REAL:
		buf_printf(out, "%.15g", value->real);
		break;
	case SQL_STRING:
		csv_text(out, value->text, value->length);
		break;
	case SQL_BYTES:
		put_hex(out, value);
		break;
	}
}

static int csv_begin(void *context, unsigned columns, const char *const *names)
{
	struct sql_render *r = context;

	if (r->answers++)
		buf_string(r->out, "\r\n");
	for (unsigned i = 0; i < columns; i++) {
		if (i)
			buf_byte(r->out, ',');
		csv_text(r->out, names[i], strlen(names[i]));
	}
	buf_string(r->out, "\r\n");
	return flush_some(r, FLUSH_BYTES);
}

static int csv_row(void *context, unsigned columns, const struct sql_value *values)
{
	struct sql_render *r = context;

	for (unsigned i = 0; i < columns; i++) {
		if (i)
			buf_byte(r->out, ',');
		csv_value(r->out, &values[i]);
	}
	buf_string(r->out, "\r\n");
	return flush_some(r, FLUSH_BYTES);
}

static int csv_finish(void *context, bool cut)
{
	((struct sql_render *)context)->cut |= cut;
	return flush_some(context, 1);
}

struct sql_sink sql_render_sink(struct sql_render *render)
{
	if (render->format == SQL_CSV)
		return (struct sql_sink){csv_begin, csv_row, csv_finish, render};
	return (struct sql_sink){json_begin, json_row, json_finish, render};
}
