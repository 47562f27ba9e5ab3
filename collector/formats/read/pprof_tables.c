/* The tables of a pprof profile. See pprof_tables.h. */
#include "collector/formats/read/pprof_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "collector/formats/read/importer.h"
#include "base/ban.h"

/* ---- the wire ---- */

int wire_next(struct reader *from, struct wire_field *f)
{
	uint64_t tag, length;

	if (!reader_more(from))
		return reader_error(from);
	tag = reader_varint(from);
	*f = (struct wire_field){.number = (unsigned)(tag >> 3), .type = tag & 7};
	if (!f->number || tag >> 32)
		from->error = -EBADMSG;
	switch (f->type) {
	case 0:
		f->value = reader_varint(from);
		break;
	case 1:
		f->value = reader_u64le(from);
		break;
	case 5:
		f->value = reader_u32le(from);
		break;
	case 2:
		length = reader_varint(from);
		if (length <= reader_left(from)) {
			f->bytes = reader_of(reader_bytes(from, length), length);
			break;
		}
		/* fallthrough */
	default:
		from->error = -EBADMSG;
	}
	return reader_error(from) ? -EBADMSG : 1;
}

bool wire_numbers(const struct wire_field *field, struct reader *packed, uint64_t *ret_value)
{
	if (field->type == 2) {
		if (!packed->data)
			*packed = field->bytes;
		if (!reader_more(packed))
			return false;
		*ret_value = reader_varint(packed);
		return !reader_error(packed);
	}
	/* A single number is returned once. */
	if (packed->data)
		return false;
	*packed = reader_of("", 0);
	*ret_value = field->value;
	return true;
}

/* ---- tables ---- */

void pprof_done(struct pprof *p)
{
	free(p->texts);
	free(p->types);
	free(p->mappings);
	free(p->functions);
	free(p->locations);
	map_done(&p->mapping_ids);
	map_done(&p->function_ids);
	map_done(&p->location_ids);
}

struct pprof_text pprof_text(const struct pprof *p, uint64_t number)
{
	return number < p->text_count ? p->texts[number] : (struct pprof_text){"", 0};
}

bool pprof_text_is(const struct pprof *p, uint64_t number, const char *text)
{
	struct pprof_text t = pprof_text(p, number);

	return t.length == strlen(text) && !memcmp(t.data, text, t.length);
}

uint32_t pprof_build_id(const struct pprof *p, uint64_t text, uint8_t *to, uint32_t most)
{
	struct pprof_text t = pprof_text(p, text);
	uint32_t length = 0;

	if (t.length % 2 || t.length / 2 > most)
		return 0;
	for (size_t i = 0; i < t.length; i += 2) {
		char digits[3] = {t.data[i], t.data[i + 1], 0}, *at = digits;
		uint64_t byte;

		if (!text_hex(&at, &byte) || *at)
			return 0;
		to[length++] = (uint8_t)byte;
	}
	return length;
}

/* Two bytes of the file can make a row of many bytes in memory, so rows are limited. */
#define ROOM(p, list, count, capacity)                                                             \
	((p)->count >= PPROF_ROWS_MAX ||                                                           \
			 array_reserve(&(p)->list, &(p)->capacity, (uint64_t)(p)->count + 1,       \
				       sizeof(*(p)->list)) < 0                                     \
		 ? NULL                                                                            \
		 : memset(&(p)->list[(p)->count++], 0, sizeof(*(p)->list)))

/* An id that is defined twice keeps its first meaning. */
static int put_id(struct map *ids, uint64_t id, uint32_t count)
{
	bool is_new;
	uint64_t *index = id == MAP_NO_KEY ? NULL : map_put(ids, id, &is_new);

	if (!index)
		return id == MAP_NO_KEY ? -EBADMSG : -ENOMEM;
	if (is_new)
		*index = count;
	return 0;
}

static int read_type(struct reader message, struct pprof_type *type)
{
	struct wire_field f;
	int r;

	while ((r = wire_next(&message, &f)) == 1) {
		if (f.number == 1)
			type->type = f.value;
		else if (f.number == 2)
			type->unit = f.value;
	}
	return r;
}

static int read_mapping(struct pprof *p, struct reader message)
{
	struct pprof_mapping *m = ROOM(p, mappings, mapping_count, mapping_capacity);
	struct wire_field f;
	uint64_t id = 0;
	int r = m ? 0 : -ENOMEM;

	while (!r && (r = wire_next(&message, &f)) == 1) {
		uint64_t *to[] = {NULL,	      &id,	&m->start,   &m->limit,
				  &m->offset, &m->file, &m->build_id};

		if (f.number < sizeof(to) / sizeof(to[0]))
			*to[f.number] = f.value;
		r = 0;
	}
	return r ? r : put_id(&p->mapping_ids, id, p->mapping_count);
}

static int read_function(struct pprof *p, struct reader message)
{
	struct pprof_function *function = ROOM(p, functions, function_count, function_capacity);
	uint64_t id = 0, system_name = 0;
	struct wire_field f;
	int r = function ? 0 : -ENOMEM;

	while (!r && (r = wire_next(&message, &f)) == 1) {
		uint64_t *to[] = {NULL, &id, &function->name, &system_name, &function->file};

		if (f.number < sizeof(to) / sizeof(to[0]))
			*to[f.number] = f.value;
		r = 0;
	}
	if (r < 0)
		return r;
	if (!function->name)
		function->name = system_name;
	return put_id(&p->function_ids, id, p->function_count);
}

static int read_location(struct pprof *p, struct reader message)
{
	struct pprof_location *l = ROOM(p, locations, location_count, location_capacity);
	struct wire_field f;
	uint64_t id = 0;
	int r = l ? 0 : -ENOMEM;

	if (l)
		l->message = message;
	while (!r && (r = wire_next(&message, &f)) == 1) {
		uint64_t *to[] = {NULL, &id, &l->mapping, &l->address};

		if (f.number < sizeof(to) / sizeof(to[0]))
			*to[f.number] = f.value;
		r = 0;
	}
	return r ? r : put_id(&p->location_ids, id, p->location_count);
}

static int pprof_tables_read_text(struct pprof *p, const struct wire_field *f)
{
	struct pprof_text *t = ROOM(p, texts, text_count, text_capacity);

	if (!t)
		return -ENOMEM;
	*t = (struct pprof_text){(const char *)f->bytes.data, f->bytes.length};
	return f->type == 2 ? 0 : -EBADMSG;
}

static int read_sample_type(struct pprof *p, struct reader message)
{
	struct pprof_type *t = ROOM(p, types, type_count, type_capacity);

	return t ? read_type(message, t) : -ENOMEM;
}

static int read_field(struct pprof *p, const struct wire_field *f)
{
	switch (f->number) {
	case 1:
		return read_sample_type(p, f->bytes);
	case 2:
		p->samples++;
		return f->type == 2 ? 0 : -EBADMSG;
	case 3:
		return read_mapping(p, f->bytes);
	case 4:
		return read_location(p, f->bytes);
	case 5:
		return read_function(p, f->bytes);
	case 6:
		return pprof_tables_read_text(p, f);
	case 9:
		p->time_ns = f->value;
		return 0;
	case 11:
		return read_type(f->bytes, &p->period_type);
	case 12:
		p->period = f->value;
		return 0;
	case 14:
		p->default_type = f->value;
		return 0;
	default:
		return 0;
	}
}

int pprof_read(const uint8_t *data, size_t length, struct pprof *p, struct err_text *err)
{
	struct reader all = reader_of(data, length);
	struct wire_field f;
	size_t before = 0;
	int r;

	*p = (struct pprof){0};
	while ((r = wire_next(&all, &f)) == 1) {
		r = read_field(p, &f);
		if (r < 0)
			break;
		before = all.offset;
	}
	if (r == -ENOMEM)
		return err_set(err, r, "no memory for a table of it, or more than %u rows",
			       PPROF_ROWS_MAX);
	return r < 0 ? err_set(err, r, "field %u at byte %zu is damaged", f.number, before) : 0;
}
