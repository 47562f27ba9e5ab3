/* Implements the spool in memory. See spool.h. */
#include "agent/spool/spool.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/ban.h"

#define BYTES_A_SLOT 2048

static uint32_t slots_of(size_t size)
{
	return (uint32_t)(size / BYTES_A_SLOT);
}

/* Returns the bytes of `size` that the frame table leaves for the frames. */
static size_t memory_of(size_t size)
{
	return size - slots_of(size) * sizeof(struct spool_frame) - 128;
}

int spool_init(struct spool *s, struct arena *arena, size_t most, size_t size)
{
	*s = (struct spool){.frame_slots = slots_of(size), .size = memory_of(size)};
	s->frame = arena_take(arena, slots_of(most) * sizeof(*s->frame));
	s->memory = arena_take(arena, memory_of(most));
	spool_clear(s);
	return s->frame && s->memory ? 0 : -ENOMEM;
}

void spool_clear(struct spool *s)
{
	spool_disk_clear(&s->disk);
	s->first = s->next = 1;
	s->kept = s->acked = 0;
	s->held = UINT64_MAX;
	s->evicted = (struct spool_account){0};
	s->bytes_total = 0;
}

static struct spool_frame *spool_frame_of(const struct spool *s, uint64_t number)
{
	return &s->frame[number % s->frame_slots];
}

/* The new number of slots is a multiple of the old one, so a frame keeps its slot or moves to an
 * unused one. The buffer of bytes just gets longer at its end. */
void spool_grow(struct spool *s, size_t size)
{
	uint32_t before = s->frame_slots, slots = slots_of(size) / before * before;

	if (memory_of(size) <= s->size)
		return;
	s->frame_slots = slots;
	for (uint64_t number = s->first; number < s->next; number++)
		if (number % slots != number % before)
			s->frame[number % slots] = s->frame[number % before];
	s->size = memory_of(size);
}

/* Returns the offset where `length` bytes fit now, or SIZE_MAX. */
static size_t place_for(const struct spool *s, size_t length)
{
	size_t begin, end;

	if (s->first == s->next)
		return 0;
	if (s->next - s->first == s->frame_slots)
		return SIZE_MAX;
	begin = spool_frame_of(s, s->first)->offset;
	end = spool_frame_of(s, s->next - 1)->offset + spool_frame_of(s, s->next - 1)->length;
	if (end > begin)
		return length <= s->size - end ? end : length <= begin ? 0 : SIZE_MAX;
	return length <= begin - end ? end : SIZE_MAX;
}

static void evict(struct spool *s)
{
	s->evicted = spool_frame_of(s, s->first)->account;
	s->first++;
}

/* Moves the oldest frame to the disk. Returns 0 or -ENOSPC. */
static int spill(struct spool *s)
{
	const struct spool_frame *f = spool_frame_of(s, s->first);
	struct spool_account before = spool_account_at(s, s->first - 1);
	int r = spool_disk_put(&s->disk, s->first, s->memory + f->offset, f->length, &before,
			       &f->account);

	if (!r)
		s->first++;
	return r;
}

uint64_t spool_droppable(const struct spool *s)
{
	uint64_t last, begun_ns;

	last = spool_disk_oldest(&s->disk, &begun_ns);
	return last && last <= s->acked && last < s->held ? begun_ns : 0;
}

void spool_drop_oldest(struct spool *s)
{
	spool_disk_drop(&s->disk, &s->evicted);
}

/* Makes room in the order of spool.h. Frames on the disk are older and go first. */
static int spool_make_room(struct spool *s)
{
	if (s->first <= s->kept && s->first < s->held && !s->disk.count) {
		evict(s);
		return 0;
	}
	if (spill(s) == 0)
		return 0;
	if (spool_droppable(s))
		spool_drop_oldest(s);
	else if (s->first <= s->acked && s->first < s->held && !s->disk.count)
		evict(s);
	else
		return -ENOSPC;
	return 0;
}

void spool_leave(struct spool *s)
{
	bool room = s->disk.folder;

	while (room && s->first < s->next)
		room = spool_make_room(s) == 0;
	s->evicted = spool_account_at(s, s->first - 1);
	spool_disk_leave(&s->disk);
}

int spool_put(struct spool *s, const void *data, size_t length, const struct spool_account *account)
{
	size_t place;

	if (length > s->size)
		return -EMSGSIZE;
	while ((place = place_for(s, length)) == SIZE_MAX)
		if (spool_make_room(s) < 0) {
			spool_disk_want(&s->disk);
			return -ENOSPC;
		}
	memcpy(s->memory + place, data, length);
	*spool_frame_of(s, s->next) =
		(struct spool_frame){.offset = place, .length = length, .account = *account};
	s->next++;
	s->bytes_total += length;
	return 0;
}

const uint8_t *spool_get(const struct spool *s, uint64_t number, size_t *ret_length)
{
	if (number < s->first || number >= s->next)
		return NULL;
	*ret_length = spool_frame_of(s, number)->length;
	return s->memory + spool_frame_of(s, number)->offset;
}

size_t spool_waiting(const struct spool *s)
{
	uint64_t number = s->acked + 1 > s->first ? s->acked + 1 : s->first;
	size_t bytes = 0;

	for (; number < s->next; number++)
		bytes += spool_frame_of(s, number)->length;
	return bytes;
}

uint64_t spool_oldest(const struct spool *s)
{
	uint64_t first = spool_disk_first(&s->disk);

	return first ? first : s->first;
}

int spool_find(const struct spool *s, uint64_t number, struct spool_place *ret)
{
	struct spool_account account;

	*ret = (struct spool_place){.fd = -1};
	ret->data = spool_get(s, number, &ret->length);
	if (ret->data)
		return 0;
	return spool_disk_find(&s->disk, number, &ret->fd, &ret->offset, &ret->length, &account);
}

int spool_ack(struct spool *s, uint64_t number, uint64_t kept)
{
	if (number >= s->next || kept > number)
		return -EINVAL;
	if (number > s->acked)
		s->acked = number;
	s->kept = kept;
	spool_disk_ack(&s->disk, kept < s->held ? kept : s->held - 1, &s->evicted);
	return 0;
}

struct spool_account spool_account_at(const struct spool *s, uint64_t number)
{
	struct spool_place place;
	struct spool_account account;

	if (number >= s->first && number < s->next)
		return spool_frame_of(s, number)->account;
	if (spool_disk_find(&s->disk, number, &place.fd, &place.offset, &place.length, &account) ==
	    0)
		return account;
	return s->evicted;
}
