/* Applies steps to regions. maps.h describes the interface. */
#include "collector/recording/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/recording/file.h"
#include "collector/recording/maps_step.h"
#include "collector/recording/scan.h"
#include "proto/columns.h"
#include "collector/recording/totals.h"
#include "base/ban.h"

#define DEVICE_SHIFT 20

static void forget_names(struct maps_state *s)
{
	for (uint32_t i = 0; i < s->name_count; i++)
		free(s->names[i]);
	s->name_count = 0;
	s->name_bytes = 0;
}

void maps_state_done(struct maps_state *s)
{
	forget_names(s);
	free(s->names);
	free(s->region);
	*s = (struct maps_state){0};
}

static void maps_tell(const struct maps_state *s, enum map_news what,
		      const struct map_region *region, uint64_t time_ns)
{
	if (s->news)
		s->news(s->context, what, region, time_ns);
}

static void unmap_all(struct maps_state *s, uint64_t time_ns)
{
	for (size_t i = 0; i < s->count; i++)
		maps_tell(s, MAP_NEWS_UNMAPPED, &s->region[i], time_ns);
	s->count = 0;
}

void maps_state_restart(struct maps_state *s, uint64_t time_ns)
{
	unmap_all(s, time_ns);
	forget_names(s);
}

/* ---- applying a step ---- */

/* Stores the reported names. Numbers that were skipped stay NULL. */
static int take_names(struct maps_state *s, const Heapcast__Maps *m, const struct maps_step *step)
{
	const char *at = (const char *)m->names.data;
	uint32_t last = step->first_name - 1 + step->name_count;

	if (!step->name_count)
		return 0;
	if (last > s->name_count) {
		if (array_reserve(&s->names, &s->name_capacity, last, sizeof(*s->names)) < 0)
			return -ENOMEM;
		memset(s->names + s->name_count, 0, (last - s->name_count) * sizeof(*s->names));
		s->name_count = last;
	}
	for (uint32_t i = step->first_name - 1; i < last; i++) {
		size_t length = strlen(at);

		if (!s->names[i] && s->name_bytes + length < MAPS_NAMES_BYTES) {
			s->names[i] = outside_text(at, length); /* the first meaning is final */
			s->name_bytes += length;
			if (!s->names[i])
				return -ENOMEM;
		}
		at += length + 1;
	}
	return 0;
}

static const char *maps_name_of(const struct maps_state *s, uint64_t number)
{
	return number && number <= s->name_count && s->names[number - 1] ? s->names[number - 1]
									 : "";
}

static struct map_region region_of(const struct maps_state *s, const struct maps_region_row *row,
				   uint64_t now)
{
	return (struct map_region){
		.start = row->start,
		.end = row->end,
		.offset = row->offset,
		.inode = row->inode,
		.major = (uint32_t)(row->device >> DEVICE_SHIFT),
		.minor = (uint32_t)(row->device & ((1u << DEVICE_SHIFT) - 1)),
		.flags = row->flags,
		.name = maps_name_of(s, row->name),
		.mapped_ns = now,
		.changed_ns = now,
	};
}

/*
 * Tells whether the region is the same mapping, grown, shrunk or with other permissions. Otherwise
 * a new mapping has replaced it.
 */
static bool continues(const struct map_region *old, const struct map_region *new)
{
	return old->major == new->major && old->minor == new->minor && old->inode == new->inode &&
	       old->offset == new->offset && !strcmp(old->name, new->name) &&
	       !((old->flags ^ new->flags) & HEAPCAST__MAP_FLAG__MAP_SHARED);
}

static void change(struct maps_state *s, struct map_region *region, struct map_region with)
{
	bool same = continues(region, &with);

	if (!same)
		maps_tell(s, MAP_NEWS_UNMAPPED, region, with.changed_ns);
	if (same) {
		with.mapped_ns = region->mapped_ns;
		with.peak_rss = region->peak_rss;
	}
	*region = with;
	maps_tell(s, same ? MAP_NEWS_CHANGED : MAP_NEWS_MAPPED, region, with.changed_ns);
}

/* Both lists are sorted, so one pass removes the regions. */
static void take_gone(struct maps_state *s, const struct maps_step *step, uint64_t now)
{
	size_t kept = 0, g = 0;

	for (size_t i = 0; i < s->count; i++) {
		for (; g < step->gone_count && step->gone[g] < s->region[i].start; g++)
			s->unknown++;
		if (g < step->gone_count && step->gone[g] == s->region[i].start) {
			maps_tell(s, MAP_NEWS_UNMAPPED, &s->region[i], now);
			g++;
		} else {
			s->region[kept++] = s->region[i];
		}
	}
	s->unknown += step->gone_count - g;
	s->count = kept;
}

/* Merges in place, from the end. The decoder has limited the number of rows. */
static int take_regions(struct maps_state *s, const struct maps_step *step, uint64_t now)
{
	size_t fresh = 0, from = s->count, to;

	for (size_t i = 0, k = 0; i < step->region_count; i++) {
		while (k < s->count && s->region[k].start < step->region[i].start)
			k++;
		if (k < s->count && s->region[k].start == step->region[i].start)
			change(s, &s->region[k], region_of(s, &step->region[i], now));
		else
			fresh++;
	}
	if (s->count + fresh > MAPS_REGIONS_MAX)
		return 0; /* no real process has so many regions; new ones are dropped */
	if (array_reserve(&s->region, &s->capacity, s->count + fresh, sizeof(*s->region)) < 0)
		return -ENOMEM;
	to = s->count += fresh;
	for (size_t i = step->region_count; i-- > 0 && to > from;) {
		uint64_t start = step->region[i].start;

		while (from && s->region[from - 1].start > start)
			s->region[--to] = s->region[--from];
		if (from && s->region[from - 1].start == start)
			continue;
		s->region[--to] = region_of(s, &step->region[i], now);
		maps_tell(s, MAP_NEWS_MAPPED, &s->region[to], now);
	}
	return 0;
}

static void take_used(struct maps_state *s, const struct maps_step *step, uint64_t now)
{
	size_t k = 0;

	for (size_t i = 0; i < step->used_count; i++) {
		struct map_region *region;

		while (k < s->count && s->region[k].start < step->used[i].start)
			k++;
		if (k == s->count || s->region[k].start != step->used[i].start) {
			s->unknown++;
			continue;
		}
		region = &s->region[k];
		region->usage = step->used[i].usage;
		region->used_ns = now;
		if (region->usage.rss > region->peak_rss)
			region->peak_rss = region->usage.rss;
		maps_tell(s, MAP_NEWS_USED, region, now);
	}
}

static void take_total(struct maps_state *s, const Heapcast__Maps *m, const struct maps_step *step)
{
	const uint64_t *t = step->total;

	s->any = true;
	s->steps++;
	s->time_ns = m->time_ns;
	s->took_us = m->took_us;
	s->regions = m->regions;
	s->cut = m->cut;
	s->postponed = m->postponed;
	s->address_space = t[0];
	s->total = (struct map_usage){t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]};
}

int maps_state_add(struct maps_state *s, const Heapcast__Maps *m, struct err_text *err)
{
	cleanup(maps_step_done) struct maps_step step = {0};
	int r = maps_step_decode(m, &step, err);

	if (r < 0)
		return r;
	if (m->whole)
		unmap_all(s, m->time_ns);
	if (take_names(s, m, &step) < 0)
		return -ENOMEM;
	take_gone(s, &step, m->time_ns);
	r = take_regions(s, &step, m->time_ns);
	if (r < 0)
		return r;
	take_used(s, &step, m->time_ns);
	if (m->part)
		return 0;
	take_total(s, m, &step);
	return s->complete ? s->complete(s->context, s) : 0;
}

/* ---- reading a recording ---- */

static int maps_walk(struct scan *scan, uint64_t size, uint64_t at_ns, const struct cancel *cancel,
		     struct maps_state *s, uint64_t *damaged_steps)
{
	uint32_t incarnation = 0;
	struct scan_item item;
	int r;

	while ((r = scan_next(scan, size, &item)) == 1) {
		const Heapcast__Batch *b = item.batch;

		r = cancel_check(cancel);
		if (r < 0)
			return r;
		if ((b->maps ? b->maps->time_ns : b->time_ns) > at_ns)
			return 0;
		if (b->incarnation != incarnation)
			maps_state_restart(s, b->time_ns);
		incarnation = b->incarnation;
		if (!b->maps)
			continue;
		r = maps_state_add(s, b->maps, NULL);
		if (r == -ENOMEM)
			return r;
		*damaged_steps += r < 0;
	}
	return r;
}

int maps_follow(const char *path, uint64_t at_ns, const struct cancel *cancel,
		struct maps_state *state, uint64_t *ret_damaged, struct err_text *err)
{
	cleanup(cleanup_close) int fd = recording_file(path, err);
	uint64_t steps = 0;
	struct scan scan;
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	r = scan_init(&scan, fd, 0, NULL);
	if (!r)
		r = maps_walk(&scan, (uint64_t)st.st_size, at_ns, cancel, state, &steps);
	if (ret_damaged)
		*ret_damaged = steps + scan.damaged_places;
	scan_done(&scan);
	return r < 0 ? err_set(err, r, "reading the maps in %s: %s", path, strerror(-r)) : 0;
}

int maps_at(const char *path, uint64_t at_ns, struct maps_state *ret_state, uint64_t *ret_damaged,
	    struct err_text *err)
{
	struct maps_state state = {0};
	int r = maps_follow(path, at_ns, NULL, &state, ret_damaged, err);

	if (r < 0) {
		maps_state_done(&state);
		return r;
	}
	*ret_state = state;
	return 0;
}
