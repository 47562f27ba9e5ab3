#pragma once
/*
 * Reads the stack's memory in windows of whole pages, counted from the innermost frame's page. This
 * takes one helper call per window, not per frame. A walk reads as much as the last walk has
 * needed. If one page is missing, the whole read fails, and the pages are read one by one. Part of
 * walk.h.
 */
#define WALK_PAGE  4096u
#define WALK_PAGES (WALK_WINDOW / WALK_PAGE)

ARCH_INLINE struct walk_slot *walk_slot_of(uint32_t number)
{
	return bpf_map_lookup_elem(&walk_slots, &number);
}

/*
 * Reads the window that contains `address`. Reads only up to the end of the last walk if that end
 * lies in the window and is far enough, else the whole window. Returns 1 if the word at `address`
 * was read. While a page of the window is missing, slot->have is 0, so that every word is checked
 * here. A global function, so that the verifier checks it only once.
 */
__attribute__((noinline)) int walk_window(uint32_t number, uint64_t address)
{
	struct walk_slot *slot = walk_slot_of(number);
	uint64_t base, size;

	if (!slot)
		return 0;
	base = address - (address - slot->from) % WALK_WINDOW;
	if (slot->bad && base == slot->base)
		return !(slot->bad >> ((address - base) / WALK_PAGE) & 1);
	size = slot->end - base;
	if (base == slot->base || size > WALK_WINDOW || address - base >= size)
		size = WALK_WINDOW;
	__asm__ volatile("" : "+r"(size));
	if (size > WALK_WINDOW) /* the verifier of Linux 5.10 does not conclude this from the
				 * above */
		return 0;
	slot->base = base;
	slot->bad = 0;
	slot->have = size;
	if (!bpf_probe_read_user(slot->bytes, (uint32_t)size, (void *)base))
		return 1;
	slot->have = 0;
#pragma unroll
	for (uint32_t page = 0; page < WALK_PAGES; page++)
		if (bpf_probe_read_user((uint8_t *)slot->bytes + page * WALK_PAGE, WALK_PAGE,
					(void *)(base + page * WALK_PAGE)))
			slot->bad |= 1u << page;
	return !(slot->bad >> ((address - base) / WALK_PAGE) & 1);
}

/* Reads the word at `address`, a multiple of 8. Returns false if it cannot be read. */
ARCH_INLINE bool walk_load(uint32_t number, struct walk_slot *slot, uint64_t address, uint64_t *ret)
{
	if (address - slot->base >= slot->have && !walk_window(number, address))
		return false;
	*ret = slot->bytes[(address - slot->base) / 8 % (WALK_WINDOW / 8)];
	return true;
}
