#pragma once
/*
 * What the program itself mapped, followed through its calls: mmap, mremap and sbrk begin a range, munmap and a mapping on top of it
 * (MAP_FIXED) end it or cut a part off. What is left of a range that was cut in the middle is two ranges of one call.
 */
#include <stddef.h>
#include <stdint.h>

struct apart_info;
struct recording;

/* Ranges at a time; the kernel's own bound (vm.max_map_count) is 65530. More are passed over. */
#define RANGES_LIVE_MAX (1u << 17)

struct range {
	uint64_t start, end;
	const struct apart_info *source;
	const struct apart_info *ended; /* NULL: it is there */
};

struct ranges {
	const struct recording *recording;
	uint32_t next; /* call */
	struct range *list; /* in the order of their beginning */
	size_t count, capacity;
	uint32_t *live; /* indices, by start, without overlap */
	size_t live_count, live_capacity;
};

/* Before the first call. ranges_done in any case. */
void ranges_init(struct ranges *ranges, const struct recording *recording);
void ranges_done(struct ranges *ranges);
/* Takes the calls up to `until_ns`, that time included. 0 or -ENOMEM. */
int ranges_advance(struct ranges *ranges, uint64_t until_ns);
/* Index of the live range that holds the address; SIZE_MAX: none does. */
size_t ranges_find(const struct ranges *ranges, uint64_t address);
