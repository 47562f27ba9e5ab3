/* Writes sums by minute. See minute_file.h. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "collector/columns/pack.h"
#include "collector/query/minutes.h"
#include "collector/sums/minute_file.h"
#include "collector/sums/minute_file_parts.h"

#include "base/ban.h"

/* A file under way. */
struct minute_writer {
	const struct minute_file_content *content;
	struct intern texts;
	struct buf blocks, directory;
	int64_t *bytes, *units, *variance; /* in use before the next sum, by backtrace */
	uint32_t block_count;
};

/* ---- columns ---- */

/* Packs a column; `value` finds element i. */
static void put_column(struct buf *out, const struct minute_writer *w, uint64_t from,
		       uint64_t count, enum pack_hint hint,
		       uint64_t (*value)(const struct minute_writer *w, uint64_t i))
{
	uint64_t values[PACK_VALUES];

	while (count) {
		uint32_t some = count < PACK_VALUES ? (uint32_t)count : PACK_VALUES;

		for (uint32_t i = 0; i < some; i++)
			values[i] = value(w, from + i);
		pack_values(out, values, some, hint);
		from += some;
		count -= some;
	}
}

#define VALUE(name, expression)                                                                    \
	static uint64_t name(const struct minute_writer *w, uint64_t i)                            \
	{                                                                                          \
		return (uint64_t)(expression);                                                     \
	}
VALUE(sum_minute, w->content->sums[i].minute)
VALUE(sum_stack, w->content->sums[i].stack)
VALUE(sum_bytes, w->content->sums[i].bytes)
VALUE(sum_units, w->content->sums[i].units)
VALUE(sum_variance, w->content->sums[i].variance)
VALUE(sum_allocated, w->content->sums[i].allocated)
VALUE(sum_allocated_units, w->content->sums[i].allocated_units)
VALUE(before_bytes, w->bytes[i])
VALUE(before_units, w->units[i])
VALUE(before_variance, w->variance[i])
VALUE(stack_node, w->content->stacks[i].node)
VALUE(stack_number, w->content->stacks[i].id)
VALUE(stack_site, w->content->stacks[i].site)
VALUE(site_line, w->content->sites[i].line)
#undef VALUE

/* ---- blocks ---- */

static void add_wrapped(int64_t *to, int64_t more)
{
	*to = (int64_t)((uint64_t)*to + (uint64_t)more);
}

static void add_to_keyframe(struct minute_writer *w, uint64_t from, uint64_t count)
{
	for (uint64_t i = from; i < from + count; i++) {
		const struct minute_sum *s = &w->content->sums[i];

		add_wrapped(&w->bytes[s->stack], s->bytes);
		add_wrapped(&w->units[s->stack], s->units);
		add_wrapped(&w->variance[s->stack], s->variance);
	}
}

static void put_block(struct minute_writer *w, uint64_t from, uint32_t count)
{
	struct buf *out = &w->blocks;
	size_t begin = out->length;
	uint32_t stacks = w->content->stack_count;

	put_column(out, w, 0, stacks, PACK_PLAIN, before_bytes);
	put_column(out, w, 0, stacks, PACK_PLAIN, before_units);
	put_column(out, w, 0, stacks, PACK_PLAIN, before_variance);
	put_column(out, w, from, count, PACK_PLAIN, sum_minute);
	put_column(out, w, from, count, PACK_PLAIN, sum_stack);
	put_column(out, w, from, count, PACK_PLAIN, sum_bytes);
	put_column(out, w, from, count, PACK_PLAIN, sum_units);
	put_column(out, w, from, count, PACK_PLAIN, sum_variance);
	put_column(out, w, from, count, PACK_PLAIN, sum_allocated);
	put_column(out, w, from, count, PACK_PLAIN, sum_allocated_units);
	if (buf_error(out))
		return;
	/* The last block begins behind all sums: it serves all minutes behind that of the last. */
	buf_u32le(&w->directory, count	? w->content->sums[from].minute
				 : from ? w->content->sums[from - 1].minute
					: 0);
	buf_u32le(&w->directory, count);
	buf_u64le(&w->directory, out->length - begin);
	buf_u64le(&w->directory, XXH3_64bits(out->data + begin, out->length - begin));
	w->block_count++;
	add_to_keyframe(w, from, count);
}

/* A keyframe has as many numbers as there are backtraces: a block has as many sums, at least. */
static uint32_t sums_of_block(const struct minute_file_content *c)
{
	uint32_t whole = (c->stack_count + PACK_VALUES - 1) / PACK_VALUES * PACK_VALUES;

	return whole > BLOCK_SUMS ? whole : BLOCK_SUMS;
}

static int put_blocks(struct minute_writer *w)
{
	const struct minute_file_content *c = w->content;
	uint32_t most = sums_of_block(c);
	uint64_t from = 0;

	w->bytes = calloc(c->stack_count + 1u, sizeof(*w->bytes));
	w->units = calloc(c->stack_count + 1u, sizeof(*w->units));
	w->variance = calloc(c->stack_count + 1u, sizeof(*w->variance));
	if (!w->bytes || !w->units || !w->variance)
		return -ENOMEM;
	w->blocks.limit = FILE_BYTES_MAX;
	while (from < c->sum_count) {
		uint64_t left = c->sum_count - from;
		uint32_t count = left < most ? (uint32_t)left : most;

		put_block(w, from, count);
		from += count;
	}
	put_block(w, from, 0);
	return buf_error(&w->blocks) ? buf_error(&w->blocks) : buf_error(&w->directory);
}

/* ---- the dictionary ---- */

static int intern_texts(struct minute_writer *w)
{
	const struct minute_file_content *c = w->content;

	for (uint32_t i = 0; i < c->site_count; i++) {
		const struct sums_site *s = &c->sites[i];

		if ((*s->function && !intern_text(&w->texts, s->function)) ||
		    (*s->module && !intern_text(&w->texts, s->module)) ||
		    (*s->file && !intern_text(&w->texts, s->file)))
			return -ENOMEM;
	}
	return 0;
}

static uint64_t text_number(const struct minute_writer *w, const char *text)
{
	return *text ? intern_find(&w->texts, text, strlen(text)) : 0;
}

/* The lowest bit says whether the function has a name. */
static uint64_t site_function(const struct minute_writer *w, uint64_t i)
{
	const struct sums_site *s = &w->content->sites[i];

	return text_number(w, s->function) << 1 | s->known;
}

static uint64_t site_module(const struct minute_writer *w, uint64_t i)
{
	return text_number(w, w->content->sites[i].module);
}

static uint64_t site_file(const struct minute_writer *w, uint64_t i)
{
	return text_number(w, w->content->sites[i].file);
}

static void put_bytes(struct buf *out, const void *data, size_t length)
{
	buf_varint(out, length);
	buf_append(out, data, length);
}

static void put_dictionary(struct buf *out, const struct minute_writer *w)
{
	const struct minute_file_content *c = w->content;

	for (uint32_t i = 0; i < c->module_count; i++) {
		put_bytes(out, c->modules[i].build_id, c->modules[i].build_id_length);
		put_bytes(out, c->modules[i].path, strlen(c->modules[i].path));
		buf_u64le(out, c->modules[i].signature);
	}
	for (uint32_t i = 1; i <= w->texts.count; i++)
		put_bytes(out, w->texts.items[i].data, w->texts.items[i].length);
	put_column(out, w, 0, c->site_count, PACK_PLAIN, site_function);
	put_column(out, w, 0, c->site_count, PACK_PLAIN, site_module);
	put_column(out, w, 0, c->site_count, PACK_PLAIN, site_file);
	put_column(out, w, 0, c->site_count, PACK_PLAIN, site_line);
	put_column(out, w, 0, c->stack_count, PACK_PLAIN, stack_node);
	put_column(out, w, 0, c->stack_count, PACK_PLAIN, stack_number);
	put_column(out, w, 0, c->stack_count, PACK_PLAIN, stack_site);
}

/* ---- all ---- */

static void put_head(struct buf *out, const struct minute_writer *w)
{
	const struct minute_file_content *c = w->content;

	buf_append(out, MINUTE_FILE_MAGIC, 8);
	buf_u64le(out, 0); /* the check and the length follow when they are known */
	buf_u64le(out, 0);
	buf_append(out, c->fit.stream.bytes, sizeof(c->fit.stream.bytes));
	buf_u64le(out, c->fit.recording_bytes);
	buf_u64le(out, c->fit.recording_mtime_ns);
	buf_u64le(out, c->fit.start_wall_ns);
	buf_u64le(out, c->fit.print);
	buf_u32le(out, c->module_count);
	buf_u32le(out, w->texts.count);
	buf_u32le(out, c->site_count);
	buf_u32le(out, c->stack_count);
	buf_u32le(out, w->block_count);
}

static void put_u64_at(struct buf *out, size_t at, uint64_t value)
{
	value = htole64(value);
	memcpy(out->data + at, &value, sizeof(value));
}

static int put_all(struct buf *out, struct minute_writer *w)
{
	size_t begin = out->length;

	put_head(out, w);
	put_dictionary(out, w);
	buf_append(out, w->directory.data, w->directory.length);
	if (buf_error(out))
		return buf_error(out);
	put_u64_at(out, begin + 16, out->length - begin);
	put_u64_at(out, begin + 8, XXH3_64bits(out->data + begin + 16, out->length - begin - 16));
	buf_append(out, w->blocks.data, w->blocks.length);
	return buf_error(out);
}

int minute_file_write(const struct minute_file_content *content, struct buf *out)
{
	struct minute_writer w = {.content = content};
	int r = content->stack_count > STACKS_MAX ? -EMSGSIZE : intern_texts(&w);

	if (!r)
		r = put_blocks(&w);
	if (!r)
		r = put_all(out, &w);
	intern_done(&w.texts);
	buf_done(&w.blocks);
	buf_done(&w.directory);
	free(w.bytes);
	free(w.units);
	free(w.variance);
	return r;
}
