#pragma once
/*
 * Analyses an allocation profile by rules. The caller adds stacks of frames one by one, each with a
 * value. The result holds totals, the heaviest traces, the functions that began the work (the
 * outermost frame that means something), the functions that allocated (the innermost such frame),
 * the subsystems, and findings. The analysis does not depend on where the stacks come from (a file
 * of collapsed lines or a recording), nor on how the result is shown.
 *
 *	analysis_new(&question, &analysis)
 *	analysis_add(analysis, &stack)          for each; `frames` are numbers of
 *						analysis_frames(analysis)
 *	analysis_end(analysis, &result)
 *
 * Memory grows with the number of distinct frames, not with the number of stacks: each stack is
 * examined as it is added, and only the heaviest are kept (all stacks of one subsystem if a drill
 * asks for them). Each frame is judged once. The outer frames that a stack shares with the previous
 * stack are not examined again.
 *
 * The definition of noise, the labels and the order of equal values follow ClickHouse's scripts for
 * such profiles, so that figures can be compared.
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
#define ANALYSIS_SUMMARY     15 /* number of them in the summary */
#define ANALYSIS_FULL	     10 /* number of traces whose stacks are shown in full */
#define ANALYSIS_SEARCH_TOP  20
#define ANALYSIS_SEARCH_FULL 5
#define ANALYSIS_DRILL_FULL  5
#define ANALYSIS_NEIGHBOURS  10
#define ANALYSIS_OTHER	     "(other)" /* the name of what belongs to no subsystem */

struct analysis_question {
	const struct rules *rules; /* used until analysis_free */
	uint32_t top;		   /* number of traces and functions to list */
	/* Searched in a frame's text, ignoring case; NULL: no search. Used until analysis_free. */
	const char *search;
	bool drills;
	uint32_t drill; /* the subsystem to list; RULES_NO_SUBSYSTEM: the stacks of no subsystem */
	/* True: stacks carry `grown`. False: the frames decide what is growth. */
	bool growth_known;
	bool blocks_known;
};

struct analysis_stack {
	const uint32_t *frames; /* outermost first */
	uint32_t count, kept;	/* number of outer frames shared with the previous stack */
	uint64_t value;
	uint64_t blocks; /* if blocks_known */
	uint64_t grown;	 /* the part of the value due to growth, if growth_known */
};

/* A trace that is shown. */
struct analysis_trace {
	uint64_t value, blocks;
	uint32_t subsystem; /* RULES_NO_SUBSYSTEM: none */
	uint32_t count;
	uint32_t *frames; /* outermost first */
};

struct analysis_traces {
	/* Heaviest first. Of two equal traces, the one whose text compares greater comes first. */
	struct analysis_trace *list;
	uint32_t count;
};

struct analysis_function {
	const char *name; /* without arguments; long template arguments as <...> */
	uint64_t value, traces, grown;
};

struct analysis_functions {
	/* Heaviest first. Of two equal functions, the one that was seen first comes first. */
	struct analysis_function *list;
	uint32_t count, of; /* number of functions listed; `of`: their total number */
};

struct analysis_subsystem {
	const char *name;
	uint32_t number; /* RULES_NO_SUBSYSTEM: "(other)" */
	uint64_t value, traces;
};

enum finding_kind {
	FINDING_SITE,	   /* one function has more than 5 % of the total */
	FINDING_TRACES,	   /* one or more stacks have more than 5 % each */
	FINDING_DOMINATES, /* one subsystem has half or more, and at least twice as much as the next
			    */
	FINDING_UNKNOWN_PART, /* half or more belongs to no subsystem */
	FINDING_REPEATED,     /* many stacks of one function have the same value */
	FINDING_GROWTH,	      /* a tenth or more is due to growing blocks */
	FINDING_GROWTH_SITE,  /* growth makes up half or more of what this function allocated */
};

struct analysis_finding {
	enum finding_kind kind;
	const char *name; /* function or subsystem; NULL: the finding concerns the whole profile */
	uint64_t value, traces;
	uint64_t each; /* FINDING_REPEATED: the value of each stack */
};

struct analysis_search {
	uint64_t value, traces;
	struct analysis_traces top;
	/* The frames next to a match: one further out (callers), and one further in (callees). */
	struct analysis_functions callers, callees;
};

struct analysis_drill {
	const char *name;
	uint64_t value;
	struct analysis_traces traces; /* all traces of the subsystem */
};

/* The result. Valid until analysis_free. */
struct analysis_result {
	uint64_t total, stacks, blocks, grown;
	bool capped; /* the total exceeds 64 bits: no number is right */
	bool blocks_known;
	uint32_t frames, deepest;
	struct analysis_traces top;
	struct analysis_functions outermost, innermost, callers;
	/* Heaviest first. Subsystems without a stack are left out. */
	struct analysis_subsystem *subsystems;
	uint32_t subsystem_count;
	struct analysis_finding *findings;
	uint32_t finding_count;
	const struct analysis_search *search; /* NULL: no search was asked for */
	const struct analysis_drill *drill;
	const struct analysis *analysis; /* needed for names */
};

/* Returns 0 or -ENOMEM. */
int analysis_new(const struct analysis_question *question, struct analysis **ret_analysis);
void analysis_free(struct analysis *analysis);
/* Returns the table of frames. The caller interns frames there, and uses the numbers in
 * analysis_stack.frames. */
struct intern *analysis_frames(struct analysis *analysis);
/* Returns 0 or -ENOMEM. */
int analysis_add(struct analysis *analysis, const struct analysis_stack *stack);
/* Computes the result, once, after the last stack. Returns 0 or -ENOMEM. */
int analysis_end(struct analysis *analysis, struct analysis_result *ret_result);

/* ---- for renderers ---- */

const char *analysis_frame(const struct analysis *analysis, uint32_t frame);
bool analysis_is_noise(const struct analysis *analysis, uint32_t frame);
/* Returns the search text, or NULL without a search. */
const char *analysis_searched(const struct analysis *analysis);
const char *analysis_subsystem_name(const struct analysis *analysis, uint32_t subsystem);
/* Appends the four innermost frames that mean something, "a <- b <- c <- d", at most 120
 * characters. */
struct buf;
void analysis_brief(const struct analysis *analysis, const struct analysis_trace *trace,
		    struct buf *out);
/* Appends a frame's name with all template arguments, but without parameters. Rules judge this
 * name: a function does not belong to a container because it takes one as a parameter. */
void analysis_bare_name(const char *frame, struct buf *out);
/* Appends the short form of a frame's name (symbols/fold_name.h), at most 120 characters. Template
 * arguments of up to 40 bytes stay: DB::SystemLog<DB::TextLogElement>. */
void analysis_name(const char *frame, struct buf *out);
/* Formats a finding as a headline ("HashTable::resize has 12.3 %") and a sentence that says what to
 * do. Both outputs hold FINDING_TEXT bytes. With `counts`, values are numbers of blocks, not
 * bytes. */
#define FINDING_TEXT 512
void analysis_finding_text(const struct analysis_result *result,
			   const struct analysis_finding *finding, bool counts,
			   char headline[FINDING_TEXT], char sentence[FINDING_TEXT]);
/* Returns the percentage of the total. */
double analysis_percent(const struct analysis_result *result, uint64_t value);
/* Formats "1.5 GiB", or "1,234" for counts. `out` holds 32 bytes, and is returned. */
char *analysis_amount(char *out, uint64_t value, bool counts);
