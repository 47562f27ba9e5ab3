/* Sends orphans to links, and removes delivered ones. See orphans.h. */
#include "agent/spool/orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "agent/spool/spool_files.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/ban.h"

bool orphans_is_last(const struct orphans *os, uint32_t index)
{
	for (uint32_t i = index + 1; i < os->count; i++)
		if (os->orphan[i].segments &&
		    !memcmp(os->orphan[i].id, os->orphan[index].id, STREAM_ID_SIZE))
			return false;
	return os->orphan[index].segments;
}

static uint32_t entries(const struct orphan *o)
{
	return o->definitions + (uint32_t)(o->next - o->first[0]);
}

/* ---- links ---- */

static uint32_t begin_at(const struct orphan *o, uint32_t incarnation, uint64_t next)
{
	if (incarnation > o->incarnation || (incarnation == o->incarnation && next >= o->next))
		return entries(o);
	if (incarnation < o->incarnation || next < o->first[0])
		return 0;
	return o->definitions + (uint32_t)(next - o->first[0]);
}

bool orphans_subscribe(struct orphans *os, uint32_t link, const uint8_t *id, uint32_t incarnation,
		       uint64_t next)
{
	bool some = false;

	for (uint32_t i = 0; i < os->count; i++) {
		struct orphan_reader *r = orphans_reader(os, link, i);
		const struct orphan *o = &os->orphan[i];

		if (!o->segments || memcmp(o->id, id, STREAM_ID_SIZE))
			continue;
		if (!r->sent)
			*r = (struct orphan_reader){.active = true,
						    .at = begin_at(o, incarnation, next)};
		some |= r->at < entries(o);
	}
	return some;
}

bool orphans_pending(const struct orphans *os, uint32_t link, const uint8_t *id, uint32_t index)
{
	for (uint32_t i = 0; i < os->count && i < index; i++) {
		const struct orphan_reader *r = orphans_reader(os, link, i);
		const struct orphan *o = &os->orphan[i];

		if (o->segments && r->active && r->at < entries(o) &&
		    !memcmp(o->id, id, STREAM_ID_SIZE))
			return true;
	}
	return false;
}

bool orphans_half_sent(const struct orphans *os, uint32_t link)
{
	for (uint32_t i = 0; i < os->count; i++)
		if (orphans_reader(os, link, i)->sent)
			return true;
	return false;
}

static int orphans_open_file(const struct orphans *os, const struct orphan *o, uint32_t segment,
			     enum spool_file kind)
{
	char name[SPOOL_NAME_MAX];
	int fd = openat(os->folder->fd,
			spool_file_name(name, o->id, o->incarnation, o->first[segment], kind),
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

int orphans_find(const struct orphans *os, uint32_t link, uint32_t index, struct spool_place *ret)
{
	const struct orphan_reader *r = orphans_reader(os, link, index);
	const struct orphan *o = &os->orphan[index];
	struct orphan_entry e;
	int fd;

	if (!o->segments || !r->active || r->at >= entries(o) ||
	    orphans_pending(os, link, o->id, index))
		return -ENOENT;
	if (pread(os->index, &e, sizeof(e), (off_t)((o->entry + r->at) * sizeof(e))) != sizeof(e))
		return -EIO;
	fd = orphans_open_file(os, o, e.file / 2, e.file & 1 ? SPOOL_DEFINITIONS : SPOOL_FRAMES);
	if (fd < 0)
		return fd == -ENOENT ? -EIO : fd; /* somebody else has removed the file */
	*ret = (struct spool_place){.fd = fd, .offset = (off_t)e.offset, .length = e.length};
	return 0;
}

/* Returns true if the link has sent the whole orphan and the collector has acknowledged all of
 * it. */
static bool has_all(const struct orphan *o, const struct orphan_reader *r, uint32_t incarnation,
		    uint64_t number)
{
	return r->active && r->at == entries(o) &&
	       (incarnation > o->incarnation ||
		(incarnation == o->incarnation && number >= o->next - 1));
}

void orphans_acknowledged(struct orphans *os, uint32_t link, const uint8_t *id,
			  uint32_t incarnation, uint64_t number)
{
	for (uint32_t i = 0; i < os->count; i++) {
		const struct orphan_reader *r = orphans_reader(os, link, i);
		struct orphan *o = &os->orphan[i];

		if (!o->segments || memcmp(o->id, id, STREAM_ID_SIZE) ||
		    !has_all(o, r, incarnation, number))
			continue;
		if (!o->acked_ns)
			o->acked_ns = clock_monotonic_ns();
	}
}

bool orphans_owed(const struct orphans *os, uint32_t link)
{
	for (uint32_t i = 0; i < os->count; i++)
		if (os->orphan[i].segments && !os->orphan[i].acked_ns &&
		    orphans_reader(os, link, i)->active)
			return true;
	return false;
}

void orphans_forget(struct orphans *os, uint32_t link)
{
	for (uint32_t i = 0; i < os->count; i++)
		*orphans_reader(os, link, i) = (struct orphan_reader){0};
}

/* ---- removing ---- */

static void remove_file(struct orphans *os, const struct orphan *o, uint32_t segment,
			enum spool_file kind)
{
	char name[SPOOL_NAME_MAX];
	uint64_t bytes =
		spool_file_remove(os->folder->fd, spool_file_name(name, o->id, o->incarnation,
								  o->first[segment], kind));

	__atomic_sub_fetch(&os->folder->used, bytes, __ATOMIC_RELAXED);
}

static void cut_short(struct orphans *os, uint32_t index)
{
	for (uint32_t i = 0; i < os->links; i++)
		orphans_reader(os, i, index)->active = false;
}

bool orphans_wait(const struct orphans *os)
{
	for (uint32_t i = 0; i < os->count; i++)
		if (os->orphan[i].segments)
			return true;
	return false;
}

bool orphans_tick(struct orphans *os, uint64_t linger_ns, bool now)
{
	bool any = false;

	for (uint32_t i = 0; i < os->count; i++) {
		struct orphan *o = &os->orphan[i];

		if (!o->segments || !o->acked_ns ||
		    (!now && clock_monotonic_ns() - o->acked_ns <= linger_ns))
			continue;
		for (uint32_t k = 0; k < o->segments; k++) {
			remove_file(os, o, k, SPOOL_FRAMES);
			remove_file(os, o, k, SPOOL_DEFINITIONS);
		}
		log_info("a collector has all that an earlier agent had left of pid %u (%s)",
			 o->pid, o->executable);
		o->segments = 0;
		cut_short(os, i);
		any = true;
	}
	return any;
}
