/*
 * Reads sums by minute. See minute_file.h.
 *
 * The file may be damaged, or made to mislead: numbers are compared with what they count or point
 * to before they are used. Room is made for what the bytes that are there can hold.
 */
#include "collector/sums/minute_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "collector/columns/pack.h"
#include "collector/sums/minute_file_parts.h"

#include "base/ban.h"

void minute_file_done(struct minute_file *f)
{
	free(f->modules);
	free(f->sites);
	free(f->stacks);
	free(f->blocks);
	free(f->texts);
	*f = (struct minute_file){0};
}

/* ---- the dictionary ---- */

/* Texts, by their numbers; text 0 is "". */
struct text_list {
	const char **list;
	uint32_t count;
};

/* Copies a text to `*to`, with its NUL. Returns it, or NULL. */
static const char *get_text(struct reader *r, char **to)
{
	uint64_t length = reader_varint(r);
	const uint8_t *bytes = length <= reader_left(r) ? reader_bytes(r, (size_t)length) : NULL;
	char *text = *to;

	if (!bytes || memchr(bytes, 0, (size_t)length)) {
		r->error = -EBADMSG;
		return NULL;
	}
	memcpy(text, bytes, (size_t)length);
	text[length] = 0;
	*to += length + 1;
	return text;
}

static int read_modules(struct minute_file *f, struct reader *r, char **to)
{
	f->modules = calloc(f->module_count + 1u, sizeof(*f->modules));
	if (!f->modules)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->module_count; i++) {
		struct minute_file_module *m = &f->modules[i];
		uint64_t length = reader_varint(r);

		if (length > reader_left(r))
			return -EBADMSG;
		m->build_id_length = (uint32_t)length;
		m->build_id = reader_bytes(r, (size_t)length);
		m->path = get_text(r, to);
		m->signature = reader_u64le(r);
		if (reader_error(r))
			return -EBADMSG;
	}
	return 0;
}

static int read_texts(struct text_list *texts, struct reader *r, char **to)
{
	texts->list = calloc(texts->count + 1u, sizeof(*texts->list));
	if (!texts->list)
		return -ENOMEM;
	texts->list[0] = "";
	for (uint32_t i = 1; i <= texts->count; i++)
		if (!(texts->list[i] = get_text(r, to)))
			return -EBADMSG;
	return 0;
}

/* Reads the next values of a column: `count`, or PACK_VALUES. Returns their number, or 0. */
static uint32_t next_values(struct reader *r, uint64_t values[PACK_VALUES], uint32_t count)
{
	uint32_t some = count < PACK_VALUES ? count : PACK_VALUES;

	if (some && unpack_values(r, values, some) < 0) {
		r->error = -EBADMSG;
		return 0;
	}
	return some;
}

/* Calls `set` with each value of a column. Returns 0 or -EBADMSG. */
static int read_column(struct reader *r, uint32_t count, void *context,
		       bool (*set)(void *context, uint32_t i, uint64_t value))
{
	uint64_t values[PACK_VALUES];
	uint32_t some;

	for (uint32_t i = 0; i < count; i += some) {
		some = next_values(r, values, count - i);
		if (!some)
			return -EBADMSG;
		for (uint32_t k = 0; k < some; k++)
			if (!set(context, i + k, values[k]))
				return -EBADMSG;
	}
	return 0;
}

struct column_context {
	struct minute_file *file;
	const struct text_list *texts;
};

static bool set_function(void *context, uint32_t i, uint64_t value)
{
	const struct column_context *c = context;

	if (value >> 1 > c->texts->count)
		return false;
	c->file->sites[i].function = c->texts->list[value >> 1];
	c->file->sites[i].known = value & 1;
	return true;
}

static bool set_module(void *context, uint32_t i, uint64_t value)
{
	const struct column_context *c = context;

	if (value > c->texts->count)
		return false;
	c->file->sites[i].module = c->texts->list[value];
	return true;
}

static bool set_file(void *context, uint32_t i, uint64_t value)
{
	const struct column_context *c = context;

	if (value > c->texts->count)
		return false;
	c->file->sites[i].file = c->texts->list[value];
	return true;
}

static bool set_line(void *context, uint32_t i, uint64_t value)
{
	((const struct column_context *)context)->file->sites[i].line = (uint32_t)value;
	return value <= UINT32_MAX;
}

static bool set_node(void *context, uint32_t i, uint64_t value)
{
	struct sums_stack *stacks = ((const struct column_context *)context)->file->stacks;

	stacks[i].node = (uint32_t)value;
	return value <= UINT32_MAX && (!i || stacks[i - 1].node < value);
}

static bool set_number(void *context, uint32_t i, uint64_t value)
{
	((const struct column_context *)context)->file->stacks[i].id = value;
	return value != MAP_NO_KEY;
}

static bool set_site(void *context, uint32_t i, uint64_t value)
{
	struct minute_file *file = ((const struct column_context *)context)->file;

	file->stacks[i].site = (uint32_t)value;
	return value < file->site_count;
}

static int read_sites(struct minute_file *f, struct reader *r, const struct text_list *texts)
{
	struct column_context c = {f, texts};
	int e;

	f->sites = calloc(f->site_count + 1u, sizeof(*f->sites));
	f->stacks = calloc(f->stack_count + 1u, sizeof(*f->stacks));
	if (!f->sites || !f->stacks)
		return -ENOMEM;
	e = read_column(r, f->site_count, &c, set_function);
	if (!e)
		e = read_column(r, f->site_count, &c, set_module);
	if (!e)
		e = read_column(r, f->site_count, &c, set_file);
	if (!e)
		e = read_column(r, f->site_count, &c, set_line);
	if (!e)
		e = read_column(r, f->stack_count, &c, set_node);
	if (!e)
		e = read_column(r, f->stack_count, &c, set_number);
	return e ? e : read_column(r, f->stack_count, &c, set_site);
}

/* ---- the head and the directory ---- */

static int read_directory(struct minute_file *f, struct reader *r, size_t head)
{
	uint64_t at = head;

	f->blocks = calloc(f->block_count + 1u, sizeof(*f->blocks));
	if (!f->blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->block_count; i++) {
		struct minute_file_block *b = &f->blocks[i];

		*b = (struct minute_file_block){.first = reader_u32le(r), .count = reader_u32le(r)};
		b->length = reader_u64le(r);
		b->check = reader_u64le(r);
		b->at = at;
		if (reader_error(r) || b->length > f->length - at || b->count > BLOCK_SUMS_MAX ||
		    (i && b->first < f->blocks[i - 1].first) ||
		    (!b->count && i + 1 < f->block_count))
			return -EBADMSG;
		at += b->length;
	}
	return reader_left(r) || at != f->length || f->blocks[f->block_count - 1].count ? -EBADMSG
											: 0;
}

static bool read_fit(struct reader *r, const struct minute_file_fit *fit)
{
	const uint8_t *id = reader_bytes(r, STREAM_ID_SIZE);
	uint64_t bytes = reader_u64le(r), mtime = reader_u64le(r), start = reader_u64le(r),
		 print = reader_u64le(r);

	return id && !memcmp(id, fit->stream.bytes, STREAM_ID_SIZE) &&
	       bytes == fit->recording_bytes && mtime == fit->recording_mtime_ns &&
	       start == fit->start_wall_ns && print == fit->print;
}

/* A module takes 10 bytes at least, a text 1. A thousand packed values may take 3, so their numbers
 * have limits of their own. */
static int read_head(struct minute_file *f, struct reader *r, const struct minute_file_fit *fit,
		     struct text_list *texts)
{
	const uint8_t *magic = reader_bytes(r, 8);
	uint64_t check = reader_u64le(r), head = reader_u64le(r);

	if (reader_error(r) || memcmp(magic, MINUTE_FILE_MAGIC, 8) != 0 ||
	    head < MINUTE_FILE_HEAD || head > f->length || !read_fit(r, fit) ||
	    check != XXH3_64bits(f->data + 16, (size_t)head - 16))
		return -EBADMSG;
	r->length = (size_t)head;
	f->module_count = reader_u32le(r);
	texts->count = reader_u32le(r);
	f->site_count = reader_u32le(r);
	f->stack_count = reader_u32le(r);
	f->block_count = reader_u32le(r);
	if (reader_error(r) || f->module_count > reader_left(r) / 10 ||
	    texts->count > reader_left(r) || texts->count > TEXTS_MAX ||
	    f->stack_count > STACKS_MAX || f->site_count > f->stack_count || !f->block_count ||
	    f->block_count > reader_left(r) / 24)
		return -EBADMSG;
	return 0;
}

int minute_file_open(struct minute_file *file, const uint8_t *data, size_t length,
		     const struct minute_file_fit *fit)
{
	struct minute_file f = {.data = data, .length = length};
	struct reader r = reader_of(data, length);
	struct text_list texts = {0};
	int e = read_head(&f, &r, fit, &texts);
	char *to;

	/* A text with its NUL takes as much room as with its length. */
	f.texts = e ? NULL : malloc(r.length + 1);
	to = f.texts;
	if (!e && !f.texts)
		e = -ENOMEM;
	if (!e)
		e = read_modules(&f, &r, &to);
	if (!e)
		e = read_texts(&texts, &r, &to);
	if (!e)
		e = read_sites(&f, &r, &texts);
	if (!e)
		e = read_directory(&f, &r, r.length);
	free(texts.list);
	if (e)
		minute_file_done(&f);
	else
		*file = f;
	return e;
}

/* ---- minutes ---- */

int minute_cursor_init(struct minute_cursor *c, const struct minute_file *file)
{
	*c = (struct minute_cursor){.file = file, .block = UINT32_MAX};
	c->bytes = calloc(file->stack_count + 1u, sizeof(*c->bytes));
	c->units = calloc(file->stack_count + 1u, sizeof(*c->units));
	c->variance = calloc(file->stack_count + 1u, sizeof(*c->variance));
	return c->bytes && c->units && c->variance ? 0 : -ENOMEM;
}

void minute_cursor_done(struct minute_cursor *c)
{
	free(c->bytes);
	free(c->units);
	free(c->variance);
	free(c->minute);
	free(c->stack);
	free(c->bytes_change);
	free(c->units_change);
	free(c->variance_change);
	*c = (struct minute_cursor){0};
}

static int make_room(struct minute_cursor *c, uint32_t count)
{
	size_t room = (size_t)count + PACK_VALUES;

	if (c->room >= count && c->minute)
		return 0;
	free(take_ptr(c->minute));
	free(take_ptr(c->stack));
	free(take_ptr(c->bytes_change));
	free(take_ptr(c->units_change));
	free(take_ptr(c->variance_change));
	c->minute = malloc(room * sizeof(*c->minute));
	c->stack = malloc(room * sizeof(*c->stack));
	c->bytes_change = malloc(room * sizeof(*c->bytes_change));
	c->units_change = malloc(room * sizeof(*c->units_change));
	c->variance_change = malloc(room * sizeof(*c->variance_change));
	c->room = count;
	return c->minute && c->stack && c->bytes_change && c->units_change && c->variance_change
		       ? 0
		       : -ENOMEM;
}

/* `values` has room for PACK_VALUES more. */
static int unpack_column(struct reader *r, uint64_t *values, uint32_t count)
{
	int e = 0;

	for (uint32_t i = 0; !e && i < count; i += PACK_VALUES)
		e = unpack_values(r, values + i, count - i < PACK_VALUES ? count - i : PACK_VALUES);
	return e;
}

static bool set_bytes(void *context, uint32_t i, uint64_t value)
{
	((struct minute_cursor *)context)->bytes[i] = (int64_t)value;
	return true;
}

static bool set_units(void *context, uint32_t i, uint64_t value)
{
	((struct minute_cursor *)context)->units[i] = (int64_t)value;
	return true;
}

static bool set_variance(void *context, uint32_t i, uint64_t value)
{
	((struct minute_cursor *)context)->variance[i] = (int64_t)value;
	return true;
}

static int read_sums(struct minute_cursor *c, struct reader *r, const struct minute_file_block *b)
{
	int e = make_room(c, b->count);

	if (!e)
		e = unpack_column(r, c->minute, b->count);
	if (!e)
		e = unpack_column(r, c->stack, b->count);
	if (!e)
		e = unpack_column(r, c->bytes_change, b->count);
	if (!e)
		e = unpack_column(r, c->units_change, b->count);
	if (!e)
		e = unpack_column(r, c->variance_change, b->count);
	c->count = e ? 0 : b->count;
	return e;
}

/* Reads a keyframe. The sums are read when one is needed. */
static int enter_block(struct minute_cursor *c, uint32_t number, bool with_sums)
{
	const struct minute_file *f = c->file;
	const struct minute_file_block *b = &f->blocks[number];
	struct reader r = reader_of(f->data + b->at, (size_t)b->length);
	int e;

	c->block = UINT32_MAX; /* if this fails, nothing is known */
	c->done = c->count = 0;
	if (XXH3_64bits(r.data, r.length) != b->check)
		return -EBADMSG;
	e = read_column(&r, f->stack_count, c, set_bytes);
	if (!e)
		e = read_column(&r, f->stack_count, c, set_units);
	if (!e)
		e = read_column(&r, f->stack_count, c, set_variance);
	if (!e && with_sums)
		e = read_sums(c, &r, b);
	if (!e)
		c->block = number;
	return e;
}

/* Returns the last block that begins before a minute; the first, if none does. */
static uint32_t block_of(const struct minute_file *f, uint32_t minute)
{
	uint32_t low = 0, high = f->block_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (f->blocks[middle].first < minute)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void add_wrapped(int64_t *to, uint64_t more)
{
	*to = (int64_t)((uint64_t)*to + more);
}

static int add_sums(struct minute_cursor *c, uint32_t minute)
{
	for (; c->done < c->count && c->minute[c->done] < minute; c->done++) {
		uint64_t stack = c->stack[c->done];

		if (stack >= c->file->stack_count)
			return -EBADMSG;
		add_wrapped(&c->bytes[stack], c->bytes_change[c->done]);
		add_wrapped(&c->units[stack], c->units_change[c->done]);
		add_wrapped(&c->variance[stack], c->variance_change[c->done]);
	}
	return 0;
}

int minute_cursor_to(struct minute_cursor *c, uint32_t minute)
{
	uint32_t number = block_of(c->file, minute);
	const struct minute_file_block *b = &c->file->blocks[number];
	int e = 0;

	if (number != c->block || (c->count < b->count && b->first < minute))
		e = enter_block(c, number, b->first < minute);
	return e ? e : add_sums(c, minute);
}
