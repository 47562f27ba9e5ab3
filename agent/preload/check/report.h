#pragma once
/*
 * What the check build has found: a file that the process maps, so that the counts survive any end
 * of it. Its name is HEAPCAST_CHECK, a dot and the process number; an image that the process execs
 * goes on in the same file. tests/oracle/show.c adds several up and prints them.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_MAGIC   0x6b63656863706168u /* "hapcheck" read as little-endian */
#define REPORT_CLASSES 64
#define REPORT_TEXT    (96u << 10)

/* What was found at the same place and is of the same kind: differences from the other unwinder,
 * stacks that end there truncated. `key` 0: free. */
struct report_class {
	uint64_t key;
	uint64_t count;
	char text[496];
};

struct report {
	uint64_t magic;
	uint64_t events;      /* recorded, with a stack or without */
	uint64_t compared;    /* with a walk in full */
	uint64_t frames;      /* of those, all together */
	uint64_t differences; /* from it */
	uint64_t unsound;     /* records that break a rule of proto/ring.h */
	uint64_t skipped;     /* modules have changed meanwhile */
	uint64_t truncated;   /* stacks that could not be walked to the end */
	uint64_t oracle;      /* compared with the other unwinder */
	uint64_t oracle_equal;
	uint64_t oracle_different;
	uint64_t oracle_busy; /* not compared: another thread was at it */
	uint64_t unclassed;   /* found when there was no free class left */
	uint64_t reserved[3];
	struct report_class classes[REPORT_CLASSES];
	uint64_t text_length;
	char text[REPORT_TEXT]; /* the first differences, in full */
};
static_assert(sizeof(struct report_class) == 512, "layout of struct report_class");

/* Mapped on first use; NULL: no file was asked for, or it cannot be had. */
struct report *report_get(void);

static inline void report_count(uint64_t *counter, uint64_t more)
{
	__atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}

/* Counts one of the class with this key. Not NULL: it is the first, and its text is the caller's to
 * write. */
struct report_class *report_classify(struct report *report, uint64_t key);

/* A text under construction. Ends where the room does. */
struct text {
	char *at;
	size_t left;
};

void text_put(struct text *text, const char *string);
void text_put_number(struct text *text, uint64_t value, unsigned base);
/* "module+offset (symbol+offset)" of a return address, or the name of a pseudo frame. */
void text_put_pc(struct text *text, uint64_t pc);

/* Appends lines to the report's text, if there is still room for all of them. */
void report_append(struct report *report, const char *lines, size_t length);
