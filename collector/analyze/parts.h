#pragma once
/* The parts of an analysis, for the files of this folder. */
#include "base/buf.h"
#include "base/map.h"
#include "collector/analyze/analysis.h"

/* Values stop at the end of 64 bits rather than begin anew. */
static inline void add_capped(uint64_t *to, uint64_t value)
{
	if (__builtin_add_overflow(*to, value, to))
		*to = UINT64_MAX;
}

/* ---- frames.c: what there is to know of a frame, found out when it is first seen ---- */

struct frame_info {
	uint32_t label;	    /* number of its name without arguments */
	uint32_t subsystem; /* the first that it fits; RULES_NO_SUBSYSTEM */
	bool noise, outer, grows;
	bool found; /* by the search */
};

struct frames {
	struct intern names, labels;
	struct frame_info *infos; /* by number */
	uint32_t known, capacity;
	struct buf spare;
};

/* All that were interned since. 0 or -ENOMEM. */
int frames_judge(struct frames *frames, const struct analysis_question *question);
void frames_done(struct frames *frames);

/* How the texts of two stacks, joined by ';', compare; as strcmp. */
int stacks_compare(const struct frames *frames, const struct analysis_trace *a,
		   const struct analysis_trace *b);

/* ---- sums.c: values by label ---- */

struct sums {
	struct label_sum {
		uint64_t value, traces, grown;
		uint64_t first; /* number of the stack that came first, from 1; 0: none */
	} * list;		/* by label */
	uint32_t capacity;
	uint32_t count; /* labels that have any */
};

/* `stack`: its number, from 1. 0 or -ENOMEM. */
int sums_add(struct sums *sums, uint32_t label, uint64_t stack, uint64_t value, uint64_t grown);
/* The heaviest `most` of them. 0 or -ENOMEM. */
int sums_rank(const struct sums *sums, const struct frames *frames, uint32_t most,
	      struct analysis_functions *ret_functions);
void sums_done(struct sums *sums);

/* ---- top.c: the heaviest stacks ---- */

struct top {
	struct analysis_traces kept; /* until top_end a heap, the lightest first */
	uint32_t most;
};

int top_init(struct top *top, uint32_t most);
int top_add(struct top *top, const struct frames *frames, const struct analysis_trace *trace);
void top_end(struct top *top, const struct frames *frames);
void top_done(struct top *top);
/* Puts the heaviest first. */
void traces_sort(struct analysis_traces *traces, const struct frames *frames);
void traces_done(struct analysis_traces *traces);

/* ---- search.c ---- */

struct search {
	struct analysis_search result;
	struct top top;
	struct sums callers, callees;
	uint64_t *seen; /* by label: the stack in which it was last counted; callers and callees
			   apart */
	uint32_t seen_capacity;
};

int search_init(struct search *search);
/* A stack that has such a frame. */
int search_add(struct search *search, const struct frames *frames,
	       const struct analysis_trace *trace, uint64_t stack);
int search_end(struct search *search, const struct frames *frames);
void search_done(struct search *search);

/* ---- drill.c: all stacks of one subsystem ---- */

struct drill {
	struct analysis_drill result;
	uint32_t capacity;
};

int drill_add(struct drill *drill, const struct analysis_trace *trace);
void drill_end(struct drill *drill, const struct frames *frames);
void drill_done(struct drill *drill);

/* ---- patterns.c: many stacks of one function with the same value ---- */

#define PATTERNS_MAX (1u << 18)

struct patterns {
	struct intern keys; /* pairs of label and value */
	uint32_t *traces;   /* by key */
	uint32_t capacity;
};

int patterns_add(struct patterns *patterns, uint32_t label, uint64_t value);
void patterns_done(struct patterns *patterns);

/* ---- the whole ---- */

struct analysis {
	struct analysis_question question;
	struct frames frames;
	/* Of the stack before: what its begin, so many frames long, comes to. */
	struct level {
		uint32_t subsystem;
		uint32_t outer; /* the first frame that is not outer, from 1; 0: none yet */
		bool grows, found;
	} * levels;
	uint32_t levels_capacity;
	uint32_t unknown; /* frame of stacks without any */
	struct analysis_result result;
	struct top top;
	struct sums outermost, innermost, callers;
	struct label_sum *subsystems; /* by number; behind the last: what belongs to none */
	struct patterns patterns;
	struct search search;
	struct drill drill;
};

/* findings.c: what stands out. 0 or -ENOMEM. */
int findings_make(struct analysis *analysis);
