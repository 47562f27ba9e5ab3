/* The spool in memory. See spool.h. */
#include "agent/streamer/spool.h"

#include <errno.h>
#include <string.h>

#include "base/ban.h"

#define BYTES_A_SLOT 2048

int spool_init(struct spool *s, struct arena *arena, size_t size)
{
	*s = (struct spool){.frame_slots = (uint32_t)(size / BYTES_A_SLOT)};
	s->size = size - s->frame_slots * sizeof(*s->frame) - 128;
	s->frame = arena_take(arena, s->frame_slots * sizeof(*s->frame));
	s->memory = arena_take(arena, s->size);
	spool_clear(s);
	return s->frame && s->memory ? 0 : -ENOMEM;
}

void spool_clear(struct spool *s)
{
	s->first = s->next = 1;
	s->acked = 0;
	s->evicted = (struct spool_account){0};
	s->bytes_total = 0;
}

static struct spool_frame *frame_of(const struct spool *s, uint64_t number)
{
	return &s->frame[number % s->frame_slots];
}

/* Where `length` bytes could go now; SIZE_MAX: nowhere. */
static size_t place_for(const struct spool *s, size_t length)
{
	size_t begin, end;

	if (s->first == s->next)
		return 0;
	if (s->next - s->first == s->frame_slots)
		return SIZE_MAX;
	begin = frame_of(s, s->first)->offset;
	end = frame_of(s, s->next - 1)->offset + frame_of(s, s->next - 1)->length;
	if (end > begin)
		return length <= s->size - end ? end : length <= begin ? 0 : SIZE_MAX;
	return length <= begin - end ? end : SIZE_MAX;
}

static void evict(struct spool *s)
{
	s->evicted = frame_of(s, s->first)->account;
	s->first++;
}

int spool_put(struct spool *s, const void *data, size_t length, const struct spool_account *account)
{
	size_t place;

	if (length > s->size)
		return -EMSGSIZE;
	while ((place = place_for(s, length)) == SIZE_MAX) {
		if (s->first > s->acked)
			return -ENOSPC;
		evict(s);
	}
	memcpy(s->memory + place, data, length);
	*frame_of(s, s->next) =
		(struct spool_frame){.offset = place, .length = length, .account = *account};
	s->next++;
	s->bytes_total += length;
	return 0;
}

const uint8_t *spool_get(const struct spool *s, uint64_t number, size_t *ret_length)
{
	if (number < s->first || number >= s->next)
		return NULL;
	*ret_length = frame_of(s, number)->length;
	return s->memory + frame_of(s, number)->offset;
}

int spool_ack(struct spool *s, uint64_t number)
{
	if (number >= s->next)
		return -EINVAL;
	if (number > s->acked)
		s->acked = number;
	return 0;
}

struct spool_account spool_account_at(const struct spool *s, uint64_t number)
{
	return number >= s->first && number < s->next ? frame_of(s, number)->account : s->evicted;
}
