#pragma once
/*
 * Chooses the second value of a backtrace in the heap profiles of other tools (pprof, jemalloc,
 * gperftools). The first value is what was allocated. The second is what was in use, or what
 * `--value leaked`, `temporary` or `peak` selects.
 */
#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

static inline enum value heap_value(enum value value)
{
	return value == VALUE_ALLOCATED ? VALUE_IN_USE : value;
}

/* The executable segment of a module, in whole pages and in the file's addresses; the whole module
 * if the segment is unknown. */
struct heap_segment {
	uint64_t start, end, file_offset;
};

static inline struct heap_segment heap_segment_of(const struct recording *recording,
						  const struct module_info *m)
{
	uint64_t page = recording_process(recording)->page_size, before;

	if (!page || page & (page - 1))
		page = 4096;
	if (!m->code_size)
		return (struct heap_segment){m->start - m->bias, m->end - m->bias, 0};
	before = m->code_address & (page - 1);
	return (struct heap_segment){
		.start = m->code_address - before,
		.end = (m->code_address + m->code_size + page - 1) & ~(page - 1),
		.file_offset = m->code_offset > before ? m->code_offset - before : 0,
	};
}
