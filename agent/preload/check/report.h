#pragma once
/*
 * The results of the check build: a file that the process maps, so that the counts survive any end
 * of the process. Its name is HEAPCAST_CHECK, a dot and the process id. An image that the process
 * execs continues in the same file. tests/oracle/show.c sums up several files and prints them.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_MAGIC   0x6b63656863706168u /* "hapcheck" read as little-endian */
#define REPORT_CLASSES 64
#define REPORT_TEXT    (96u << 10)

/* Findings at the same place and of the same kind: differences from the other unwinder, or stacks
 * truncated there. `key` 0: unused. */
struct report_class {
	uint64_t key;
	uint64_t count;
	char text[496];
};

struct report {
	uint64_t magic;
	uint64_t events;      /* recorded, with or without a stack */
	uint64_t compared;    /* compared with a full walk */
	uint64_t frames;      /* total frames of these walks */
	uint64_t differences; /* from the full walk */
	uint64_t unsound;     /* records that break a rule of proto/ring.h */
	uint64_t skipped;     /* the modules changed meanwhile */
	uint64_t truncated;   /* stacks that could not be walked to the end */
	uint64_t oracle;      /* compared with the other unwinder */
	uint64_t oracle_equal;
	uint64_t oracle_different;
	uint64_t oracle_busy; /* not compared because another thread was comparing */
	uint64_t unclassed;   /* findings when no class was free */
	uint64_t numbered;    /* stacks that were recorded as a number */
	uint64_t reserved[2];
	struct report_class classes[REPORT_CLASSES];
	uint64_t text_length;
	char text[REPORT_TEXT]; /* the first differences, in full */
};
static_assert(sizeof(struct report_class) == 512, "layout of struct report_class");

/* Maps the file on first use. Returns NULL if no file was asked for, if it cannot be mapped, or
 * while another thread maps it. */
struct report *report_get(void);

static inline void report_count(uint64_t *counter, uint64_t more)
{
	__atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}

/* Counts a finding of the class with this key. If the result is not NULL, it is the first of its
 * class, and the caller writes its text. */
struct report_class *report_classify(struct report *report, uint64_t key);

/* A text under construction. It is cut where the room ends. */
struct text {
	char *at;
	size_t left;
};

void text_put(struct text *text, const char *string);
void text_put_number(struct text *text, uint64_t value, unsigned base);
/* Appends "module+offset (symbol+offset)" of a return address, or the name of a pseudo frame. */
void text_put_pc(struct text *text, uint64_t pc);

/* Appends lines to the report's text, if there is still room for all of them. */
void report_append(struct report *report, const char *lines, size_t length);
