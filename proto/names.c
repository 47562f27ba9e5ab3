/* Encodes and decodes the columns of names. names.h describes the interface. */
#include "proto/names.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "proto/field.h"
#include "base/ban.h"

static const char *const column_names[NAMES_COLUMNS] = {"module",   "offset", "frames",
							"function", "file",   "line"};

/* ---- encoding ---- */

void names_encoder_done(struct names_encoder *e)
{
	buf_done(&e->texts);
	for (unsigned i = 0; i < NAMES_COLUMNS; i++)
		buf_done(&e->column[i]);
}

void names_encoder_clear(struct names_encoder *e, uint32_t first_text)
{
	buf_clear(&e->texts);
	for (unsigned i = 0; i < NAMES_COLUMNS; i++)
		buf_clear(&e->column[i]);
	e->first_text = first_text;
	e->text_count = e->places = 0;
	e->last_offset = 0;
}

size_t names_encoder_size(const struct names_encoder *e)
{
	size_t size = e->texts.length;

	for (unsigned i = 0; i < NAMES_COLUMNS; i++)
		size += e->column[i].length;
	return size;
}

void names_encoder_text(struct names_encoder *e, const char *text, size_t length)
{
	buf_append(&e->texts, text, length);
	buf_byte(&e->texts, 0);
	e->text_count++;
}

void names_encoder_place(struct names_encoder *e, uint32_t module, uint64_t offset,
			 const struct name_frame *frames, uint32_t count)
{
	buf_varint(&e->column[NAMES_MODULE], module);
	buf_varint(&e->column[NAMES_OFFSET], zigzag((int64_t)(offset - e->last_offset)));
	buf_varint(&e->column[NAMES_FRAMES], count);
	for (uint32_t i = 0; i < count; i++) {
		buf_varint(&e->column[NAMES_FUNCTION], frames[i].function);
		buf_varint(&e->column[NAMES_FILE], frames[i].file);
		buf_varint(&e->column[NAMES_LINE], frames[i].line);
	}
	e->last_offset = offset;
	e->places++;
}

int names_encoder_fill(const struct names_encoder *e, Heapcast__Names *ret)
{
	int r = buf_error(&e->texts);

	for (unsigned i = 0; i < NAMES_COLUMNS; i++)
		r = r ? r : buf_error(&e->column[i]);
	heapcast__names__init(ret);
	ret->first_text = e->first_text;
	ret->texts = field_of(&e->texts);
	ret->module = field_of(&e->column[NAMES_MODULE]);
	ret->offset = field_of(&e->column[NAMES_OFFSET]);
	ret->frames = field_of(&e->column[NAMES_FRAMES]);
	ret->function = field_of(&e->column[NAMES_FUNCTION]);
	ret->file = field_of(&e->column[NAMES_FILE]);
	ret->line = field_of(&e->column[NAMES_LINE]);
	return r;
}

/* ---- decoding ---- */

static struct reader reader_of_column(ProtobufCBinaryData data)
{
	return reader_of(data.data, data.len);
}

int names_decoder_init(struct names_decoder *d, const Heapcast__Names *names, struct err_text *err)
{
	if (names->texts.len && !names->first_text)
		return err_set(err, -EBADMSG, "names: texts are numbered from 1");
	if (names->texts.len && names->texts.data[names->texts.len - 1])
		return err_set(err, -EBADMSG, "names: the last text has no end");
	*d = (struct names_decoder){
		.texts = reader_of_column(names->texts),
		.column = {[NAMES_MODULE] = reader_of_column(names->module),
			   [NAMES_OFFSET] = reader_of_column(names->offset),
			   [NAMES_FRAMES] = reader_of_column(names->frames),
			   [NAMES_FUNCTION] = reader_of_column(names->function),
			   [NAMES_FILE] = reader_of_column(names->file),
			   [NAMES_LINE] = reader_of_column(names->line)},
		.next_text = names->first_text,
	};
	return 0;
}

int names_decoder_text(struct names_decoder *d, uint32_t *ret_number, const char **ret_text,
		       size_t *ret_length, struct err_text *err)
{
	const char *text;
	size_t length;

	if (!reader_left(&d->texts))
		return 0;
	text = (const char *)d->texts.data + d->texts.offset;
	length = strnlen(text, reader_left(&d->texts));
	if (length > NAMES_TEXT_MAX || d->next_text == UINT32_MAX)
		return err_set(err, -EBADMSG, "names: text %u has %zu bytes", d->next_text, length);
	*ret_number = d->next_text++;
	*ret_text = text;
	*ret_length = length;
	reader_bytes(&d->texts, length + 1);
	return 1;
}

static int names_damaged(const struct names_decoder *d, enum names_column column, const char *what,
			 struct err_text *err)
{
	return err_set(err, -EBADMSG, "names: column %s, byte %zu: %s", column_names[column],
		       d->column[column].offset, what);
}

/* Returns 0, or -EBADMSG if the column is damaged or the value does not fit 32 bits. */
static int check(const struct names_decoder *d, enum names_column column, uint64_t value,
		 struct err_text *err)
{
	if (reader_error(&d->column[column]))
		return names_damaged(d, column, "ends too early, or is no varint", err);
	return value > UINT32_MAX ? names_damaged(d, column, "out of range", err) : 0;
}

static int names_ended(const struct names_decoder *d, struct err_text *err)
{
	for (unsigned i = 0; i < NAMES_COLUMNS; i++)
		if (reader_left(&d->column[i]))
			return names_damaged(d, i, "goes on after the last place", err);
	return 0;
}

int names_decoder_place(struct names_decoder *d, struct name_place *ret, struct err_text *err)
{
	uint64_t module, frames;
	int r;

	if (!reader_left(&d->column[NAMES_MODULE]))
		return names_ended(d, err);
	module = reader_varint(&d->column[NAMES_MODULE]);
	frames = reader_varint(&d->column[NAMES_FRAMES]);
	d->last_offset += (uint64_t)reader_zigzag(&d->column[NAMES_OFFSET]);
	r = check(d, NAMES_MODULE, module, err);
	if (!r)
		r = check(d, NAMES_FRAMES, frames, err);
	if (!r)
		r = check(d, NAMES_OFFSET, 0, err);
	if (!r && frames > NAMES_FRAMES_MAX)
		r = names_damaged(d, NAMES_FRAMES, "a place of too many frames", err);
	*ret = (struct name_place){(uint32_t)module, (uint32_t)frames, d->last_offset};
	return r ? r : 1;
}

int names_decoder_frame(struct names_decoder *d, struct name_frame *ret, struct err_text *err)
{
	uint64_t value[3];

	for (unsigned i = 0; i < 3; i++) {
		enum names_column column = NAMES_FUNCTION + i;
		int r;

		value[i] = reader_varint(&d->column[column]);
		r = check(d, column, value[i], err);
		if (r < 0)
			return r;
	}
	*ret = (struct name_frame){(uint32_t)value[0], (uint32_t)value[1], (uint32_t)value[2]};
	return 0;
}
