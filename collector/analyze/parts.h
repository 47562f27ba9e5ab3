#pragma once
/* The parts of an analysis. Internal to this folder. */
#include "base/buf.h"
#include "base/map.h"
#include "collector/analyze/analysis.h"

/* Adds, and saturates at UINT64_MAX instead of wrapping. */
static inline void add_capped(uint64_t *to, uint64_t value)
{
	if (__builtin_add_overflow(*to, value, to))
		*to = UINT64_MAX;
}

/* ---- frames.c: what the rules say of a frame, determined when it is first seen ---- */

struct frame_info {
	uint32_t label;	    /* label: number of the name without arguments */
	uint32_t subsystem; /* the first matching subsystem; RULES_NO_SUBSYSTEM: none */
	bool noise, outer, grows;
	bool found; /* matches the search */
};

struct frames {
	struct intern names, labels;
	struct frame_info *infos; /* by frame number */
	uint32_t known, capacity;
	struct buf spare;
};

/* Judges all frames interned since the last call. Returns 0 or -ENOMEM. */
int frames_judge(struct frames *frames, const struct analysis_question *question);
void frames_done(struct frames *frames);

/* Compares the texts of two stacks, joined by ';', like strcmp. */
int stacks_compare(const struct frames *frames, const struct analysis_trace *a,
		   const struct analysis_trace *b);

/* ---- sums.c: values by label ---- */

struct sums {
	struct label_sum {
		uint64_t value, traces, grown;
		uint64_t first; /* number of the first stack with this label, from 1; 0: none */
	} * list;		/* by label */
	uint32_t capacity;
	uint32_t count; /* number of labels with at least one stack */
};

/* `stack` is the stack's number, from 1. Returns 0 or -ENOMEM. */
int sums_add(struct sums *sums, uint32_t label, uint64_t stack, uint64_t value, uint64_t grown);
/* Lists the `most` heaviest labels. Returns 0 or -ENOMEM. */
int sums_rank(const struct sums *sums, const struct frames *frames, uint32_t most,
	      struct analysis_functions *ret_functions);
void sums_done(struct sums *sums);

/* ---- top.c: the heaviest stacks ---- */

struct top {
	struct analysis_traces kept; /* a heap with the lightest trace at the root, until top_end */
	uint32_t most;
};

int top_init(struct top *top, uint32_t most);
int top_add(struct top *top, const struct frames *frames, const struct analysis_trace *trace);
void top_end(struct top *top, const struct frames *frames);
void top_done(struct top *top);
/* Sorts the traces, heaviest first. */
void traces_sort(struct analysis_traces *traces, const struct frames *frames);
void traces_done(struct analysis_traces *traces);

/* ---- search.c ---- */

struct search {
	struct analysis_search result;
	struct top top;
	struct sums callers, callees;
	/* By label, with callers and callees apart: the last stack that counted the label. */
	uint64_t *seen;
	uint32_t seen_capacity;
};

int search_init(struct search *search);
/* Adds a stack that contains a matching frame. */
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
	uint32_t *traces;   /* by key: number of stacks */
	uint32_t capacity;
};

int patterns_add(struct patterns *patterns, uint32_t label, uint64_t value);
void patterns_done(struct patterns *patterns);

/* ---- the whole analysis ---- */

struct analysis {
	struct analysis_question question;
	struct frames frames;
	/* By depth: the state of the previous stack up to this depth. */
	struct level {
		uint32_t subsystem;
		uint32_t outer; /* number of the first frame that is not `outer`, from 1; 0: none so
				   far */
		bool grows, found;
	} * levels;
	uint32_t levels_capacity;
	uint32_t unknown; /* the frame used for stacks without frames */
	struct analysis_result result;
	struct top top;
	struct sums outermost, innermost, callers;
	/* By number; the last entry holds what belongs to no subsystem. */
	struct label_sum *subsystems;
	struct patterns patterns;
	struct search search;
	struct drill drill;
};

/* findings.c: makes the findings. Returns 0 or -ENOMEM. */
int findings_make(struct analysis *analysis);
