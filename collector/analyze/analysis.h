#pragma once
/*
 * What a person looks for in a profile of allocations, found by rules: stacks of frames with a
 * value go in one by one, totals, the heaviest traces, who began it (the outermost frame that means
 * something), whose code it was (the innermost), parts of the program and findings come out. Where
 * the stacks come from, a file of collapsed lines or a recording, makes no difference; nor does how
 * the result is shown.
 *
 *	analysis_new(&question, &analysis)
 *	analysis_add(analysis, &stack)          for each; `frames` are numbers of
 *						analysis_frames(analysis)
 *	analysis_end(analysis, &result)
 *
 * Memory grows with distinct frames, not with stacks: they are looked at as they pass, and only the
 * heaviest are kept (all of one subsystem where a drill asks for them). What is asked of a frame is
 * found out once, and a stack's begin that is the same as the one before is not looked at again.
 *
 * Noise, labels and what wins a tie are those of ClickHouse's scripts for such profiles, so that
 * figures can be compared.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/analyze/rules.h"
#include "collector/query/match/intern.h"

struct err_text;
struct analysis;

#define ANALYSIS_TOP	     25
#define ANALYSIS_TOP_MAX     10000
#define ANALYSIS_SUMMARY     15 /* of those, in the summary */
#define ANALYSIS_FULL	     10 /* whose stacks are shown in full */
#define ANALYSIS_SEARCH_TOP  20
#define ANALYSIS_SEARCH_FULL 5
#define ANALYSIS_DRILL_FULL  5
#define ANALYSIS_NEIGHBOURS  10
#define ANALYSIS_OTHER	     "(other)" /* name of what belongs to no subsystem */

struct analysis_question {
	const struct rules *rules; /* used until analysis_free */
	uint32_t top;		   /* traces and functions that are listed */
	const char *search;	   /* part of a frame, whatever its case; NULL: none. Used until
				      analysis_free */
	bool drills;
	uint32_t drill;	   /* a subsystem; RULES_NO_SUBSYSTEM: what belongs to none */
	bool growth_known; /* stacks say what of them came of growing; else frames tell */
	bool blocks_known;
};

struct analysis_stack {
	const uint32_t *frames; /* the outermost first */
	uint32_t count, kept;	/* so many outer ones are those of the stack before */
	uint64_t value;
	uint64_t blocks; /* if blocks_known */
	uint64_t grown;	 /* part of the value, if growth_known */
};

/* A stack that is shown. */
struct analysis_trace {
	uint64_t value, blocks;
	uint32_t subsystem; /* RULES_NO_SUBSYSTEM: none */
	uint32_t count;
	uint32_t *frames; /* the outermost first */
};

struct analysis_traces {
	struct analysis_trace
		*list; /* the heaviest first; of equal ones the one whose text is larger */
	uint32_t count;
};

struct analysis_function {
	const char *name; /* without arguments, long template arguments as <...> */
	uint64_t value, traces, grown;
};

struct analysis_functions {
	struct analysis_function
		*list;	    /* the heaviest first; of equal ones the one that came first */
	uint32_t count, of; /* shown, and how many there are */
};

struct analysis_subsystem {
	const char *name;
	uint32_t number; /* RULES_NO_SUBSYSTEM: "(other)" */
	uint64_t value, traces;
};

enum finding_kind {
	FINDING_SITE,	      /* one function allocated more than 5 % */
	FINDING_TRACES,	      /* so many stacks did, each of them */
	FINDING_DOMINATES,    /* one subsystem has more than the others together */
	FINDING_UNKNOWN_PART, /* most belongs to no subsystem */
	FINDING_REPEATED,     /* many stacks of one function with the same value */
	FINDING_GROWTH,	      /* much came of making blocks larger */
	FINDING_GROWTH_SITE,  /* and most of it there */
};

struct analysis_finding {
	enum finding_kind kind;
	const char *name; /* function or subsystem; NULL: of all */
	uint64_t value, traces;
	uint64_t each; /* FINDING_REPEATED */
};

struct analysis_search {
	uint64_t value, traces;
	struct analysis_traces top;
	struct analysis_functions callers,
		callees; /* next to a frame that was found: one further out, one further in */
};

struct analysis_drill {
	const char *name;
	uint64_t value;
	struct analysis_traces traces; /* all of it */
};

/* Valid until analysis_free. */
struct analysis_result {
	uint64_t total, stacks, blocks, grown;
	bool capped; /* the total is beyond 64 bits: no number is right */
	bool blocks_known;
	uint32_t frames, deepest;
	struct analysis_traces top;
	struct analysis_functions outermost, innermost, callers;
	struct analysis_subsystem
		*subsystems; /* the heaviest first, those without a stack left out */
	uint32_t subsystem_count;
	struct analysis_finding *findings;
	uint32_t finding_count;
	const struct analysis_search *search; /* NULL: not asked for */
	const struct analysis_drill *drill;
	const struct analysis *analysis; /* for names */
};

/* 0 or -ENOMEM. */
int analysis_new(const struct analysis_question *question, struct analysis **ret_analysis);
void analysis_free(struct analysis *analysis);
/* Where frames get their numbers. */
struct intern *analysis_frames(struct analysis *analysis);
/* 0 or -ENOMEM. */
int analysis_add(struct analysis *analysis, const struct analysis_stack *stack);
/* Once, after the last. 0 or -ENOMEM. */
int analysis_end(struct analysis *analysis, struct analysis_result *ret_result);

/* ---- for renderers ---- */

const char *analysis_frame(const struct analysis *analysis, uint32_t frame);
bool analysis_is_noise(const struct analysis *analysis, uint32_t frame);
/* What was searched for; NULL: nothing. */
const char *analysis_searched(const struct analysis *analysis);
const char *analysis_subsystem_name(const struct analysis *analysis, uint32_t subsystem);
/* The four innermost frames that mean something, "a <- b <- c <- d", at most 120 characters.
 * Appends. */
struct buf;
void analysis_brief(const struct analysis *analysis, const struct analysis_trace *trace,
		    struct buf *out);
/* A frame as stacks show it: long template arguments as <...>. Appends. */
void analysis_shorten(const char *frame, struct buf *out);
/* A frame as functions are listed: also without arguments, at most 120 characters. Appends. */
void analysis_label(const char *frame, struct buf *out);
/* What was found, as a headline ("HashTable::resize allocated 12.3 %") and a sentence that says
 * what to do. `out`s of FINDING_TEXT bytes. `counts`: the values are no bytes. */
#define FINDING_TEXT 512
void analysis_finding_text(const struct analysis_result *result,
			   const struct analysis_finding *finding, bool counts,
			   char headline[FINDING_TEXT], char sentence[FINDING_TEXT]);
/* Percent of the total. */
double analysis_percent(const struct analysis_result *result, uint64_t value);
/* "1.5 GiB", or of counts "1,234". `out` has room for 32 bytes; returns it. */
char *analysis_amount(char *out, uint64_t value, bool counts);
