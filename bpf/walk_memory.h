#pragma once
/*
 * The stack's memory, read in windows of whole pages that are counted from the innermost frame's: one helper for each, not one
 * for each frame. As much is read as the last walk has needed. A read of which a page is missing fails whole; then the pages
 * are read one by one. Part of walk.h.
 */
#define WALK_PAGE  4096u
#define WALK_PAGES (WALK_WINDOW / WALK_PAGE)

ARCH_INLINE struct walk_slot *walk_slot_of(uint32_t number)
{
	return bpf_map_lookup_elem(&walk_slots, &number);
}

static inline uint64_t walk_window_of(const struct walk_slot *slot, uint64_t address)
{
	return (address - slot->from) / WALK_WINDOW;
}

/* Reads a window, up to where the last walk ended if that is in it, and if `all` or that is not so all of it. Global: the
 * verifier looks at it once. */
__attribute__((noinline)) int walk_window(uint32_t number, uint64_t window, uint32_t all)
{
	struct walk_slot *slot = walk_slot_of(number);
	uint64_t start, size;

	if (!slot)
		return 0;
	start = slot->from + window * WALK_WINDOW;
	size = slot->end - start;
	if (all || size - 1 >= WALK_WINDOW)
		size = WALK_WINDOW;
	slot->window = window;
	slot->bad = 0;
	slot->have = (uint32_t)size;
	if (!bpf_probe_read_user(slot->bytes, (uint32_t)size, (void *)start))
		return 0;
	slot->have = WALK_WINDOW;
#pragma unroll
	for (uint32_t page = 0; page < WALK_PAGES; page++)
		if (bpf_probe_read_user((uint8_t *)slot->bytes + page * WALK_PAGE, WALK_PAGE,
					(void *)(start + page * WALK_PAGE)))
			slot->bad |= 1u << page;
	return 0;
}

/* The word at `address`, a multiple of 8. False: it can't be read. */
ARCH_INLINE bool walk_load(uint32_t number, struct walk_slot *slot, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - slot->from, window = offset / WALK_WINDOW;
	uint32_t at = offset % WALK_WINDOW;

	if (window != slot->window || at >= slot->have)
		walk_window(number, window, window == slot->window);
	if (slot->bad && slot->bad >> (at / WALK_PAGE) & 1)
		return false;
	*ret = slot->bytes[at / 8];
	return true;
}
