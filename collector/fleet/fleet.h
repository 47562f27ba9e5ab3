#pragma once
/*
 * Compares the boards of a fleet: which functions grow, on which boards, in which build, and since
 * when.
 *
 *	streams -> what each function of each process had in use at moments   (load.c)
 *		-> for each program, board and build: a course for each function (matrix.h)
 *		-> findings, and a row for each function			 (compare.c)
 *
 * A *unit* is one program on one host in one build; its processes are added up. The moments are
 * multiples of a step, by the wall clock. (By age, each process is a unit.) The same streams give
 *the same report, byte for byte: it has integers only, and every order is complete.
 *
 * What is told, strongest first (the rules stand in outliers.c, builds.c and growth.c):
 *   FLEET_LEAK_ON_BOARDS   a function grows on some boards, and not on the others
 *   FLEET_GROWTH_IN_BUILD  a function grows in a build, and less or not at all in earlier ones
 *   FLEET_GROWTH	    a function grows on most boards
 *   FLEET_MORE_IN_BUILD    a function holds more in a build than in earlier ones
 *   FLEET_MORE_ON_BOARDS   a function holds more on some boards than on the others
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/fleet/clocks.h"

struct err_text;
struct site_rules;

#define FLEET_MOMENTS_MAX 48
#define FLEET_STEP_NS                                                                              \
	60000000000u /* a minute; steps are multiples of it, but for recordings of                 \
			some minutes */

#define FLEET_BOARDS_LEAST 5 /* of a program, to tell that one differs */
#define FLEET_BUILD_LEAST  3 /* of each of two builds, to compare them */

enum fleet_kind {
	FLEET_LEAK_ON_BOARDS,
	FLEET_GROWTH_IN_BUILD,
	FLEET_GROWTH,
	FLEET_MORE_IN_BUILD,
	FLEET_MORE_ON_BOARDS,
	FLEET_KINDS,
};

struct fleet_question {
	const char *select; /* the streams (catalogue/select.h); NULL: all */
	uint64_t last_ns;   /* only so long a time before the last data; 0: all */
	uint64_t step_ns;   /* whole seconds; 0: the smallest number of minutes that gives at most
			       FLEET_MOMENTS_MAX moments, or of seconds if all is shorter than eight
			       minutes */
	bool by_age; /* moments are times since the start of each process, not of the clock, and
			each process is a unit of its own */
	const char *build_tag; /* the tag whose value is the build of a stream that has it; NULL:
				  the build id is */
	const struct site_rules *rules; /* view_set_rules; may be NULL */
	const atomic_bool *cancelled;	/* may be NULL */
	/* Is told how many of `of` streams were read. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

/* A board that a finding is about. */
struct fleet_board {
	const char *host;
	int64_t bytes; /* how much it has grown, or how much more it holds */
};

struct fleet_finding {
	enum fleet_kind kind;
	const char *program, *function, *module;
	const char *build, *earlier; /* build ids; NULL: not about builds. earlier: the build before
					it */
	struct fleet_board *boards;  /* of which it holds, most bytes first */
	size_t count;
	size_t of;	   /* number of boards that were compared */
	uint64_t since_ns; /* when it began, since the epoch; 0: before the first moment, or not
			      known */
	int64_t bytes;	   /* of all those boards together */
	int64_t median;	   /* of one of those boards */
	int64_t others_median,
		others_p95; /* of the other boards, or of those with earlier builds */
};

/* A function over all boards of its program. Growth is that of the whole time, in bytes. */
struct fleet_function {
	const char *program, *function, *module;
	int64_t in_use;		      /* at the last moment, on all boards */
	int64_t growth;		      /* on all boards */
	int64_t median, median_error; /* of a board; error: half of the interval that holds the
					 median with 95 % */
	int64_t p95;
	uint64_t growing;      /* boards on which it grows, and goes on growing */
	const char *most_host; /* the board on which it grows most of all that grow; NULL: none */
	uint64_t boards;       /* boards that were long enough to tell */
};

struct fleet_report {
	bool by_age;			  /* times are since the start of the process */
	uint64_t from_ns, to_ns, step_ns; /* the first and the last moment */
	uint32_t moments;
	uint64_t streams, boards, programs, builds;
	uint64_t too_short; /* boards with too few moments to tell growth */
	uint64_t unread;    /* streams that could not be read */
	bool cut; /* there is older data than of FLEET_MOMENTS_MAX moments, or there was */
	/* Boards of one program; boards of the second largest build of one program. Only those with
	 * enough moments to tell growth. */
	uint64_t most_boards, most_of_build;
	const char *unread_why;	      /* of the first of them; NULL: none */
	struct fleet_clocks left_out; /* boards whose clocks are wrong; by age, none is */
	struct fleet_finding *findings;
	size_t finding_count;
	struct fleet_function *functions; /* most growth first */
	size_t function_count;
	void *owned; /* the texts */
};

/* Where streams are read from (source.h). */
struct fleet_source;

/* Reads the streams and compares. Returns 0, -EINVAL with a sentence for a wrong selector or a step
 * that the source does not know, -ENODATA if no stream has data in that time, or another negative
 * errno. Snapshots are left out. */
int fleet_compare(const struct fleet_source *source, const struct fleet_question *question,
		  struct fleet_report *ret_report, struct err_text *err);
void fleet_report_done(struct fleet_report *report);
