/* Turns readings of smaps into steps. See maps.h. */
#include "agent/watch/maps.h"

#include <assert.h>
#include <string.h>

#include "base/places.h"
#include "base/ban.h"

#define PARTS	     64 /* the sum of all shares */
#define NO_USAGE     0
#define DEVICE_SHIFT 20
#define MINOR_MAX    0xfffffu
#define STEP_HEADS   256 /* fields that are not columns, and the columns' headers */

static const uint8_t shares[MAPS_COLUMNS] = {
	[MAPS_NAMES] = 17,
	[MAPS_GONE] = 3,
	[MAPS_START] = 4,
	[MAPS_SIZE] = 3,
	[MAPS_FLAGS] = 2,
	[MAPS_OFFSET] = 3,
	[MAPS_DEVICE] = 3,
	[MAPS_INODE] = 4,
	[MAPS_NAME] = 2,
	[MAPS_USED] = 4,
	[MAPS_FIGURE] = 3,
	[MAPS_FIGURE + PROC_PSS] = 3,
	[MAPS_FIGURE + PROC_SHARED_CLEAN] = 2,
	[MAPS_FIGURE + PROC_SHARED_DIRTY] = 2,
	[MAPS_FIGURE + PROC_PRIVATE_CLEAN] = 2,
	[MAPS_FIGURE + PROC_PRIVATE_DIRTY] = 2,
	[MAPS_FIGURE + PROC_ANONYMOUS] = 3,
	[MAPS_FIGURE + PROC_SWAP] = 2,
};

/* Names get a sixteenth of the memory, and columns get five, unless the message has room for less.
 * Regions get the rest. */
static size_t names_size(size_t size)
{
	return size / 16 / sizeof(uint64_t) * sizeof(uint64_t);
}

static size_t columns_size(size_t size, size_t step_max)
{
	size_t most = step_max - STEP_HEADS - MAPS_TOTALS * VARINT_MAX;

	size = size / 16 * 5;
	return (size < most ? size : most) / PARTS * PARTS;
}

/* The message has the reader's permissions. */
static_assert((int)PROC_READABLE == HEAPCAST__MAP_FLAG__MAP_READABLE &&
		      (int)PROC_WRITABLE == HEAPCAST__MAP_FLAG__MAP_WRITABLE &&
		      (int)PROC_EXECUTABLE == HEAPCAST__MAP_FLAG__MAP_EXECUTABLE &&
		      (int)PROC_SHARED == HEAPCAST__MAP_FLAG__MAP_SHARED &&
		      (int)PROC_DELETED == HEAPCAST__MAP_FLAG__MAP_DELETED,
	      "permissions are those of the message");

static void init_columns(struct maps *m, uint8_t *memory, size_t size)
{
	for (unsigned i = 0; i < MAPS_COLUMNS; i++) {
		m->column[i] =
			(struct column){.data = memory, .capacity = size / PARTS * shares[i]};
		memory += m->column[i].capacity;
	}
}

void maps_init(struct maps *m, void *memory, size_t size, size_t step_max, uint32_t page_size)
{
	size_t names = names_size(size), columns = columns_size(size, step_max);

	*m = (struct maps){
		.entry = memory,
		.capacity = (uint32_t)((size - names - columns) / sizeof(struct maps_entry)),
		.name_capacity = (uint32_t)(names / sizeof(uint64_t)),
		.page_shift = (uint32_t)__builtin_ctz(page_size),
		.step_max = (uint32_t)(columns + sizeof(m->totals) + STEP_HEADS),
	};
	m->name = (uint64_t *)(m->entry + m->capacity);
	init_columns(m, (uint8_t *)(m->name + m->name_capacity), columns);
	maps_clear(m);
}

void maps_repeat(struct maps *m)
{
	memset(m->name, 0, m->name_capacity * sizeof(*m->name));
	m->names = 0;
	m->count = 0;
	m->unknown = true;
}

void maps_clear(struct maps *m)
{
	maps_repeat(m);
	m->next_name = 1;
}

static uint64_t maps_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static bool maps_has_room(const struct maps *m, enum maps_column from, enum maps_column to)
{
	for (unsigned i = from; i <= to; i++)
		if (m->column[i].capacity - m->column[i].length < VARINT_MAX)
			return false;
	return true;
}

static void put(struct maps *m, unsigned column, uint64_t value)
{
	struct column *c = &m->column[column];

	c->length = (size_t)(varint_put(c->data + c->length, value) - c->data);
}

static void maps_put_start(struct maps *m, enum maps_column column, unsigned group, uint64_t page)
{
	put(m, column, page - m->last[group]);
	m->last[group] = page;
}

static uint32_t name_length(const struct proc_mapping *r)
{
	return r->path_length < MAPS_NAME_MAX ? r->path_length : MAPS_NAME_MAX;
}

bool maps_fits(const struct maps *m, const struct proc_mapping *r)
{
	const struct column *names = &m->column[MAPS_NAMES];

	return maps_has_room(m, MAPS_GONE, MAPS_COLUMNS - 1) &&
	       names->capacity - names->length > name_length(r);
}

void maps_go_on(struct maps *m)
{
	for (unsigned i = 0; i < MAPS_COLUMNS; i++)
		m->column[i].length = 0;
	memset(m->last, 0, sizeof(m->last));
	m->first_name = m->next_name;
}

void maps_begin(struct maps *m)
{
	m->read = m->capacity - m->count;
	m->write = 0;
	memmove(m->entry + m->read, m->entry, m->count * sizeof(*m->entry));
	memset(m->total, 0, sizeof(m->total));
	m->last_start = 0;
	m->part = false;
	maps_go_on(m);
	m->regions = m->cut = m->postponed = 0;
}

static void maps_keep(struct maps *m, struct maps_entry entry)
{
	m->entry[m->write++] = entry;
}

/* Reports that the region at `read` no longer exists. */
static void maps_drop(struct maps *m)
{
	struct maps_entry e = m->entry[m->read++];

	if (maps_has_room(m, MAPS_GONE, MAPS_GONE)) {
		maps_put_start(m, MAPS_GONE, 0, e.start);
		return;
	}
	m->postponed++;
	maps_keep(m, e);
}

static uint64_t hash_name(const struct proc_mapping *r)
{
	uint32_t length = name_length(r);
	uint64_t hash = maps_mix(length, 1);

	for (uint32_t i = 0; i < length; i++)
		hash = maps_mix(hash, (uint8_t)r->path[i]);
	return hash;
}

/* Gets the number of the region's name, which is added to the step if it is new. The number is 0 if
 * the region has no name, or if numbers are used up. Returns false if the name is new and the step
 * has no room for it. */
static bool maps_number_of(struct maps *m, const struct proc_mapping *r, uint64_t hash,
			   uint64_t *ret)
{
	struct column *c = &m->column[MAPS_NAMES];
	uint64_t high = hash & ~(uint64_t)(MAPS_NUMBERS_MAX - 1);
	uint32_t at = places_home(hash, m->name_capacity), length = name_length(r);

	*ret = 0;
	if (!length || m->next_name >= MAPS_NUMBERS_MAX)
		return true;
	for (; m->name[at]; at = places_next(at, m->name_capacity)) {
		if ((m->name[at] & ~(uint64_t)(MAPS_NUMBERS_MAX - 1)) != high)
			continue;
		*ret = m->name[at] & (MAPS_NUMBERS_MAX - 1);
		return true;
	}
	if (c->capacity - c->length < length + 1u)
		return false;
	memcpy(c->data + c->length, r->path, length);
	c->length += length;
	c->data[c->length++] = '\0';
	if (m->names++ >=
	    m->name_capacity / 4 *
		    3) { /* forget all names: they get new numbers when they are used again */
		memset(m->name, 0, m->name_capacity * sizeof(*m->name));
		m->names = 1;
		at = places_home(hash, m->name_capacity);
	}
	*ret = m->next_name++;
	m->name[at] = high | *ret;
	return true;
}

static bool put_region(struct maps *m, const struct proc_mapping *r, uint64_t name_hash)
{
	uint64_t name;

	if (!maps_has_room(m, MAPS_START, MAPS_NAME) || !maps_number_of(m, r, name_hash, &name))
		return false;
	maps_put_start(m, MAPS_START, 1, r->start >> m->page_shift);
	put(m, MAPS_SIZE, (r->end - r->start) >> m->page_shift);
	put(m, MAPS_FLAGS, r->permissions);
	put(m, MAPS_OFFSET, r->offset >> m->page_shift);
	put(m, MAPS_DEVICE, (uint64_t)r->major << DEVICE_SHIFT | (r->minor & MINOR_MAX));
	put(m, MAPS_INODE, r->inode);
	put(m, MAPS_NAME, name);
	return true;
}

static bool maps_put_usage(struct maps *m, const struct proc_mapping *r)
{
	if (!maps_has_room(m, MAPS_USED, MAPS_COLUMNS - 1))
		return false;
	maps_put_start(m, MAPS_USED, 2, r->start >> m->page_shift);
	for (unsigned i = 0; i < PROC_FIGURES; i++)
		put(m, MAPS_FIGURE + i, r->figure[i]);
	return true;
}

static uint32_t hash_usage(const struct proc_mapping *r)
{
	uint64_t hash = 1, any = 0;

	for (unsigned i = 0; i < PROC_FIGURES; i++) {
		hash = maps_mix(hash, r->figure[i]);
		any |= r->figure[i];
	}
	return any ? (uint32_t)(hash >> 32) | 1 : NO_USAGE;
}

static uint32_t hash_identity(const struct proc_mapping *r, uint64_t name)
{
	uint64_t hash = maps_mix(maps_mix(maps_mix(name, r->end), r->permissions), r->offset);

	return (uint32_t)(maps_mix(maps_mix(hash, (uint64_t)r->major << 32 | r->minor), r->inode) >>
			  32);
}

static uint64_t page_mask(const struct maps *m)
{
	return ((uint64_t)1 << m->page_shift) - 1;
}

static void maps_count(struct maps *m, const struct proc_mapping *r)
{
	m->regions++;
	m->total[0] += (r->end - r->start) / 1024;
	for (unsigned i = 0; i < PROC_FIGURES; i++)
		m->total[1 + i] += r->figure[i];
}

static void update_usage(struct maps *m, struct maps_entry *e, const struct proc_mapping *r)
{
	uint32_t usage = hash_usage(r);

	if (usage == e->usage)
		return;
	if (maps_put_usage(m, r))
		e->usage = usage;
	else
		m->postponed++;
}

/* Reports changes of a region whose start the collector knows. If the identity differs, reports the
 * region as a new one. */
static void put_known(struct maps *m, const struct proc_mapping *r, uint64_t name,
		      uint32_t identity)
{
	struct maps_entry e = m->entry[m->read++];

	if (e.identity != identity && put_region(m, r, name)) {
		e.identity = identity;
		e.usage = NO_USAGE;
	}
	if (e.identity == identity)
		update_usage(m, &e, r);
	else
		m->postponed++;
	maps_keep(m, e);
}

static void put_new(struct maps *m, const struct proc_mapping *r, uint64_t name, uint32_t identity)
{
	struct maps_entry e = {r->start >> m->page_shift, identity, NO_USAGE};

	if (m->write >= m->read) {
		m->cut++;
		return;
	}
	if (!put_region(m, r, name)) {
		m->postponed++;
		return;
	}
	update_usage(m, &e, r);
	maps_keep(m, e);
}

void maps_put(struct maps *m, const struct proc_mapping *r)
{
	uint64_t page = r->start >> m->page_shift, name;
	uint32_t identity;

	maps_count(m, r);
	if ((m->regions > 1 && page <= m->last_start) || (r->start | r->end) & page_mask(m))
		return; /* skip invalid data: the kernel reports whole pages, in order */
	m->last_start = page;
	while (m->read < m->capacity && m->entry[m->read].start < page)
		maps_drop(m);
	name = hash_name(r);
	identity = hash_identity(r, name);
	if (m->read < m->capacity && m->entry[m->read].start == page)
		put_known(m, r, name, identity);
	else
		put_new(m, r, name, identity);
}

static void close_step(struct maps *m, bool part, uint64_t time_ns)
{
	m->whole = m->unknown;
	m->unknown = false;
	m->part = part;
	m->time_ns = time_ns;
}

void maps_part(struct maps *m, uint64_t time_ns)
{
	m->totals_length = 0;
	m->took_ns = 0;
	close_step(m, true, time_ns);
}

static void pack_totals(struct maps *m)
{
	uint8_t *at = m->totals;

	for (unsigned i = 0; i < MAPS_TOTALS; i++)
		at = varint_put(at, m->total[i]);
	m->totals_length = (size_t)(at - m->totals);
}

bool maps_end(struct maps *m, uint64_t time_ns, uint64_t took_ns)
{
	bool news = m->unknown || m->part || m->cut || m->postponed;

	while (m->read < m->capacity)
		maps_drop(m);
	pack_totals(m);
	close_step(m, false, time_ns);
	m->count = m->write;
	m->took_ns = took_ns;
	for (unsigned i = 0; i < MAPS_COLUMNS; i++)
		news |= m->column[i].length != 0;
	return news;
}

static ProtobufCBinaryData maps_bytes_of(const struct maps *m, unsigned column)
{
	return (ProtobufCBinaryData){.data = m->column[column].data,
				     .len = m->column[column].length};
}

static void fill_figures(const struct maps *m, Heapcast__Maps *out)
{
	ProtobufCBinaryData *const to[PROC_FIGURES] = {
		[PROC_RSS] = &out->rss,
		[PROC_PSS] = &out->pss,
		[PROC_SHARED_CLEAN] = &out->shared_clean,
		[PROC_SHARED_DIRTY] = &out->shared_dirty,
		[PROC_PRIVATE_CLEAN] = &out->private_clean,
		[PROC_PRIVATE_DIRTY] = &out->private_dirty,
		[PROC_ANONYMOUS] = &out->anonymous,
		[PROC_SWAP] = &out->swap,
	};

	for (unsigned i = 0; i < PROC_FIGURES; i++)
		*to[i] = maps_bytes_of(m, MAPS_FIGURE + i);
}

void maps_fill(const struct maps *m, Heapcast__Maps *out)
{
	heapcast__maps__init(out);
	out->time_ns = m->time_ns;
	out->took_us = (uint32_t)(m->took_ns / 1000 < UINT32_MAX ? m->took_ns / 1000 : UINT32_MAX);
	out->part = m->part;
	if (!m->part) {
		out->regions = m->regions;
		out->cut = m->cut;
		out->postponed = m->postponed;
	}
	out->whole = m->whole;
	out->page_shift = m->page_shift;
	out->first_name = m->column[MAPS_NAMES].length ? m->first_name : 0;
	out->names = maps_bytes_of(m, MAPS_NAMES);
	out->gone = maps_bytes_of(m, MAPS_GONE);
	out->start = maps_bytes_of(m, MAPS_START);
	out->size = maps_bytes_of(m, MAPS_SIZE);
	out->flags = maps_bytes_of(m, MAPS_FLAGS);
	out->offset = maps_bytes_of(m, MAPS_OFFSET);
	out->device = maps_bytes_of(m, MAPS_DEVICE);
	out->inode = maps_bytes_of(m, MAPS_INODE);
	out->name = maps_bytes_of(m, MAPS_NAME);
	out->used = maps_bytes_of(m, MAPS_USED);
	fill_figures(m, out);
	out->total = (ProtobufCBinaryData){.data = (uint8_t *)(uintptr_t)m->totals,
					   .len = m->totals_length};
}
