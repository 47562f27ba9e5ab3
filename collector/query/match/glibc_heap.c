/* Recognizes glibc's arenas by address. See glibc_heap.h. */
#include "collector/query/match/glibc_heap.h"

#include <string.h>

#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"
#include "proto/event.h"

#include "base/ban.h"

#define MAPPED_MIN	 (128u << 10)
#define M_MMAP_THRESHOLD (-3)

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void look_at_module(struct glibc_heap *heap, const char *name)
{
	if (!strcmp(name, "libc.so.6") || begins(name, "libc-2."))
		heap->known = true;
	if (begins(name, "libjemalloc"))
		heap->is_jemalloc = true;
	if (begins(name, "libtcmalloc") || begins(name, "libmimalloc"))
		heap->other = true;
}

/* The brk area begins above the program, and libraries lie far above it. */
static void find_main(struct glibc_heap *heap, const struct recording *recording)
{
	const char *executable = recording_process(recording)->executable;
	uint64_t end = 0, above = UINT64_MAX;

	for (uint32_t n = 1; executable && n <= recording_modules(recording); n++) {
		const struct module_info *m = recording_module(recording, n);

		if (m && m->path && !strcmp(m->path, executable) && m->end > end)
			end = m->end;
	}
	for (uint32_t n = 1; n <= recording_modules(recording); n++) {
		const struct module_info *m = recording_module(recording, n);

		if (m && m->start >= end && m->start < above)
			above = m->start;
	}
	heap->known = heap->known && end && above != UINT64_MAX;
	heap->main_from = end;
	heap->main_to = end + (above - end) / 2;
}

static void find_threshold(struct glibc_heap *heap, const struct recording *recording)
{
	const struct other_event_info *call;

	heap->mapped_min = MAPPED_MIN;
	for (uint32_t i = 0; (call = recording_other_event(recording, i)); i++)
		if (call->kind == HEAPCAST__EVENT_KIND__EVENT_MALLOPT &&
		    event_call_parameter(call->address) == M_MMAP_THRESHOLD &&
		    call->size < heap->mapped_min)
			heap->mapped_min = call->size;
}

void glibc_heap_init(struct glibc_heap *heap, const struct recording *recording)
{
	const struct process_info *process = recording_process(recording);

	*heap = (struct glibc_heap){
		.page = process->page_size ? process->page_size : 4096,
		.word = process->pointer_bits == 32 ? 4 : 8,
	};
	for (uint32_t n = 1; n <= recording_modules(recording); n++) {
		const struct module_info *m = recording_module(recording, n);

		if (m && m->path)
			look_at_module(heap, module_basename(m->path));
	}
	if (heap->is_jemalloc || heap->other)
		heap->known = false;
	find_main(heap, recording);
	find_threshold(heap, recording);
}

enum heap_part glibc_heap_part(const struct glibc_heap *heap, uint64_t address, uint64_t size)
{
	if (!heap->known)
		return HEAP_PART_UNKNOWN;
	if (address >= heap->main_from && address < heap->main_to)
		return HEAP_PART_MAIN;
	/* A chunk is the block plus one word, rounded up to two words. The condition means that the
	 * chunk has mapped_min bytes or more. */
	if (address % heap->page == 2 * heap->word && size + 3 * heap->word > heap->mapped_min)
		return HEAP_PART_MAPPED;
	return HEAP_PART_OTHER;
}
