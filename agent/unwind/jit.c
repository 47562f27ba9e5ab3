/* Tables of code generated at run time. See jit.h. */
#include "agent/unwind/jit.h"

#include <errno.h>
#include <string.h>

#include "agent/unwind/eh_frame.h"
#include "agent/unwind/rows.h"
#include "agent/unwind/ban.h"

#define PLACES_MAX  4096  /* functions */
#define RECORDS_MAX 65536 /* of one registration */
#define RECORD_SIZE (64u << 10)
#define CIE_REACH   (64u << 20) /* maximum distance of an entry (FDE) from its CIE */

struct place {
	uint64_t owner; /* the registered address; 0: free; 1: being written */
	uint64_t start;
	uint64_t end;
	uint64_t entry;
};
#define BUSY 1

/* All of these are accessed through __atomic builtins. */
static struct place *places;
static uint32_t places_used; /* one past the last place that was ever used */
static uint64_t turned_away;

static uint32_t read_word(uint64_t address)
{
	uint32_t value;

	memcpy(&value, (const void *)(uintptr_t)address, sizeof(value));
	return value;
}

static uint64_t record_size(uint64_t address)
{
	uint64_t size = read_word(address);

	return size <= RECORD_SIZE ? size : 0;
}

/* Builds a module that covers the memory of an entry and of its CIE. */
static bool module_of_entry(uint64_t entry, struct unwind_module *ret_module)
{
	uint64_t shared = entry + 4 - (uint64_t)(int64_t)(int32_t)read_word(entry + 4), size;
	uint64_t distance = shared < entry ? entry - shared : shared - entry;

	if (distance > CIE_REACH)
		return false;
	size = record_size(shared);
	if (!size)
		return false;
	*ret_module = (struct unwind_module){
		.load_start = entry, .load_end = entry + 4 + record_size(entry), .entry = entry};
	if (shared < entry)
		ret_module->load_start = shared;
	else
		ret_module->load_end = shared + 4 + size;
	return true;
}

static struct place *place_take(void)
{
	for (uint32_t i = 0; i < PLACES_MAX; i++) {
		uint64_t is_free = 0;

		if (__atomic_load_n(&places[i].owner, __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&places[i].owner, &is_free, BUSY, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		if (i >= __atomic_load_n(&places_used, __ATOMIC_RELAXED))
			__atomic_store_n(&places_used, i + 1, __ATOMIC_RELEASE);
		return &places[i];
	}
	return NULL;
}

static int add_entry(uint64_t owner, uint64_t address)
{
	struct unwind_module module;
	struct eh_entry entry;
	struct place *place;

	if (!module_of_entry(address, &module) || eh_frame_find(&module, 0, &entry) != -ENOENT ||
	    entry.start >= entry.end)
		return 0; /* damaged, or of a discarded function */
	place = place_take();
	if (!place) {
		__atomic_fetch_add(&turned_away, 1, __ATOMIC_RELAXED);
		return -ENOSPC;
	}
	__atomic_store_n(&place->start, entry.start, __ATOMIC_RELAXED);
	__atomic_store_n(&place->end, entry.end, __ATOMIC_RELAXED);
	__atomic_store_n(&place->entry, address, __ATOMIC_RELAXED);
	__atomic_store_n(&place->owner, owner, __ATOMIC_RELEASE);
	return 0;
}

/* The first registration allocates the memory. If two register at the same time, one allocation is
 * wasted. */
static bool have_places(void)
{
	struct place *none = NULL, *memory;

	if (__atomic_load_n(&places, __ATOMIC_ACQUIRE))
		return true;
	memory = unwind_host && unwind_host->pages
			 ? unwind_host->pages(unwind_host->context, PLACES_MAX * sizeof(*memory))
			 : NULL;
	if (!memory)
		return false;
	__atomic_compare_exchange_n(&places, &none, memory, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	return true;
}

int unwind_register_frame(const void *begin, bool single)
{
	uint64_t at = (uintptr_t)begin, size;
	int error = 0;

	if (at <= BUSY)
		return -EINVAL;
	if (!have_places())
		return -ENOMEM;
	for (unsigned i = 0; i < RECORDS_MAX && !error; i++) {
		size = record_size(at);
		if (size < 4)
			break;
		if (read_word(at + 4))
			error = add_entry((uintptr_t)begin, at);
		if (single)
			break;
		at += 4 + size;
	}
	unwind_modules_changed(); /* the caches may hold rows that were made for these addresses
				   * before they had a table */
	return error;
}

void unwind_deregister_frame(const void *begin)
{
	uint32_t used = __atomic_load_n(&places_used, __ATOMIC_ACQUIRE);
	uint64_t owner = (uintptr_t)begin;

	if (owner <= BUSY)
		return;
	for (uint32_t i = 0; i < used; i++)
		if (__atomic_load_n(&places[i].owner, __ATOMIC_RELAXED) == owner)
			__atomic_store_n(&places[i].owner, 0, __ATOMIC_RELEASE);
	if (used)
		unwind_modules_changed();
}

uint64_t unwind_frames_turned_away(void)
{
	return __atomic_load_n(&turned_away, __ATOMIC_RELAXED);
}

bool jit_find(uint64_t pc, struct unwind_module *ret_module)
{
	uint32_t used = __atomic_load_n(&places_used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < used; i++) {
		struct place *place = &places[i];
		uint64_t owner = __atomic_load_n(&place->owner, __ATOMIC_ACQUIRE);
		uint64_t start = __atomic_load_n(&place->start, __ATOMIC_RELAXED);
		uint64_t end = __atomic_load_n(&place->end, __ATOMIC_RELAXED);
		uint64_t entry = __atomic_load_n(&place->entry, __ATOMIC_RELAXED);

		if (owner <= BUSY || pc < start || pc >= end)
			continue;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&place->owner, __ATOMIC_RELAXED) != owner ||
		    !module_of_entry(entry, ret_module))
			continue;
		ret_module->start = start;
		ret_module->end = end;
		return true;
	}
	return false;
}
