/* Decodes columns into rows. maps_step.h describes the result. */
#include "collector/recording/maps_step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ban.h"

#define PAGE_SHIFT_MIN 10
#define PAGE_SHIFT_MAX 30
#define FLAGS_MAX      255

void maps_step_done(struct maps_step *s)
{
	free(s->gone);
	free(s->region);
	free(s->used);
}

static struct reader column(ProtobufCBinaryData data)
{
	return reader_of(data.data, data.len);
}

/* Returns the number of values in a column: each varint ends with a byte below 0x80. */
static size_t rows_of(ProtobufCBinaryData data)
{
	size_t count = 0;

	for (size_t i = 0; i < data.len; i++)
		count += !(data.data[i] & 0x80);
	return count;
}

static int maps_step_damaged(struct err_text *err, const char *name, const char *what)
{
	return err_set(err, -EBADMSG, "maps: column %s: %s", name, what);
}

/* Decodes the next start, in bytes. The column holds differences in pages, and starts ascend. */
static bool next_start(struct reader *r, uint64_t *page, uint32_t shift, bool first, uint64_t *ret)
{
	uint64_t step = reader_varint(r);

	if (reader_error(r) || (!step && !first) || __builtin_add_overflow(*page, step, page) ||
	    *page > UINT64_MAX >> shift)
		return false;
	*ret = *page << shift;
	return true;
}

static int decode_gone(const Heapcast__Maps *m, struct maps_step *s, struct err_text *err)
{
	struct reader starts = column(m->gone);
	size_t rows = rows_of(m->gone);
	uint64_t page = 0;

	if (rows > MAPS_REGIONS_MAX)
		return maps_step_damaged(err, "gone", "too many");
	s->gone = malloc(rows * sizeof(*s->gone) + 1);
	if (!s->gone)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++)
		if (!next_start(&starts, &page, m->page_shift, i == 0, &s->gone[i]))
			return maps_step_damaged(err, "gone", "no row of ascending addresses");
	if (reader_left(&starts))
		return maps_step_damaged(err, "gone", "ends in the middle of a number");
	s->gone_count = rows;
	return 0;
}

static int check_region(const struct maps_region_row *row, uint64_t pages, uint64_t offset,
			uint64_t flags, uint32_t shift, struct err_text *err)
{
	if (!pages || pages > UINT64_MAX >> shift || row->start + (pages << shift) < row->start)
		return maps_step_damaged(err, "size", "out of range");
	if (offset > UINT64_MAX >> shift)
		return maps_step_damaged(err, "offset", "out of range");
	if (flags > FLAGS_MAX)
		return maps_step_damaged(err, "flags", "out of range");
	if (row->device >> 52 || row->name > MAPS_NAMES_MAX)
		return maps_step_damaged(err, row->device >> 52 ? "device" : "name",
					 "out of range");
	return 0;
}

static int decode_regions(const Heapcast__Maps *m, struct maps_step *s, struct err_text *err)
{
	struct reader start = column(m->start), size = column(m->size), flags = column(m->flags),
		      offset = column(m->offset), device = column(m->device),
		      inode = column(m->inode), name = column(m->name);
	struct reader *const all[] = {&start, &size, &flags, &offset, &device, &inode, &name};
	size_t rows = rows_of(m->start);
	uint64_t page = 0;

	if (rows > MAPS_REGIONS_MAX)
		return maps_step_damaged(err, "start", "too many");
	s->region = malloc(rows * sizeof(*s->region) + 1);
	if (!s->region)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		struct maps_region_row *row = &s->region[i];
		uint64_t pages = reader_varint(&size), flag = reader_varint(&flags),
			 at = reader_varint(&offset);
		int r;

		*row = (struct maps_region_row){.device = reader_varint(&device),
						.inode = reader_varint(&inode),
						.name = reader_varint(&name),
						.offset = at << m->page_shift,
						.flags = (uint32_t)flag};
		if (!next_start(&start, &page, m->page_shift, i == 0, &row->start))
			return maps_step_damaged(err, "start", "no row of ascending addresses");
		r = check_region(row, pages, at, flag, m->page_shift, err);
		if (r < 0)
			return r;
		row->end = row->start + (pages << m->page_shift);
	}
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (reader_error(all[i]) || reader_left(all[i]))
			return maps_step_damaged(err, "start",
						 "and those beside it differ in length");
	s->region_count = rows;
	return 0;
}

static int decode_used(const Heapcast__Maps *m, struct maps_step *s, struct err_text *err)
{
	struct reader start = column(m->used);
	struct reader figure[MAPS_USAGE_COLUMNS] = {
		column(m->rss),		 column(m->pss),	   column(m->shared_clean),
		column(m->shared_dirty), column(m->private_clean), column(m->private_dirty),
		column(m->anonymous),	 column(m->swap),
	};
	size_t rows = rows_of(m->used);
	uint64_t page = 0;

	if (rows > MAPS_REGIONS_MAX)
		return maps_step_damaged(err, "used", "too many");
	s->used = malloc(rows * sizeof(*s->used) + 1);
	if (!s->used)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		struct map_usage *u = &s->used[i].usage;
		uint64_t *const to[MAPS_USAGE_COLUMNS] = {
			&u->rss,	   &u->pss,	      &u->shared_clean, &u->shared_dirty,
			&u->private_clean, &u->private_dirty, &u->anonymous,	&u->swap};

		if (!next_start(&start, &page, m->page_shift, i == 0, &s->used[i].start))
			return maps_step_damaged(err, "used", "no row of ascending addresses");
		for (unsigned k = 0; k < MAPS_USAGE_COLUMNS; k++)
			*to[k] = reader_varint(&figure[k]);
	}
	for (unsigned k = 0; k < MAPS_USAGE_COLUMNS; k++)
		if (reader_error(&figure[k]) || reader_left(&figure[k]))
			return maps_step_damaged(err, "used",
						 "and those beside it differ in length");
	if (reader_left(&start))
		return maps_step_damaged(err, "used", "ends in the middle of a number");
	s->used_count = rows;
	return 0;
}

static int decode_total(const Heapcast__Maps *m, struct maps_step *s, struct err_text *err)
{
	struct reader r = column(m->total);

	for (unsigned i = 0; m->total.len && i < 1 + MAPS_USAGE_COLUMNS; i++)
		s->total[i] = reader_varint(&r);
	return reader_error(&r) ? maps_step_damaged(err, "total", "ends too early") : 0;
}

static int check_names(const Heapcast__Maps *m, struct maps_step *s, struct err_text *err)
{
	for (size_t at = 0; at < m->names.len; s->name_count++) {
		const uint8_t *name = m->names.data + at;
		const uint8_t *nul = memchr(name, 0, m->names.len - at);

		if (!nul || nul - name > MAPS_NAME_MAX)
			return err_set(err, -EBADMSG, "maps: a name without an end, or too long");
		at += (size_t)(nul - name) + 1;
	}
	if (s->name_count && (!m->first_name || m->first_name > MAPS_NAMES_MAX ||
			      s->name_count > MAPS_NAMES_MAX - m->first_name + 1))
		return err_set(err, -EBADMSG, "maps: names from number %u on", m->first_name);
	s->first_name = m->first_name;
	return 0;
}

int maps_step_decode(const Heapcast__Maps *m, struct maps_step *s, struct err_text *err)
{
	int r;

	if (m->page_shift < PAGE_SHIFT_MIN || m->page_shift > PAGE_SHIFT_MAX)
		return err_set(err, -EBADMSG, "maps: pages of 1 << %u bytes", m->page_shift);
	r = check_names(m, s, err);
	if (!r)
		r = decode_gone(m, s, err);
	if (!r)
		r = decode_regions(m, s, err);
	if (!r)
		r = decode_used(m, s, err);
	return r ? r : decode_total(m, s, err);
}
