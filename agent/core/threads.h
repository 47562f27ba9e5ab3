#pragma once
/*
 * The threads of a stream: their numbers, names and counts. A thread keeps its entry after its end,
 * so that a collector that joins late learns its name. When the table is full, a new thread takes
 * the entry of the thread that ended first, whose counts move to `retired`.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/arena.h"

#define THREAD_NAME_MAX 16

struct thread_counts {
	uint64_t produced; /* events begun */
	uint64_t not_sampled;
	uint64_t delivered; /* in batches, including the one under construction */
	uint64_t culled;    /* in sums, sent or under construction */
	uint64_t lost;	    /* in gaps, sent or under construction */
};

struct thread {
	uint32_t number; /* 0: the entry is free */
	uint32_t tid;
	bool alive;
	bool news;	  /* its definition has changed since it was last sent */
	bool counts_news; /* its counts have changed since they were last sent */
	uint32_t lanes;	  /* number of ring lanes that belong to it */
	uint32_t held;	  /* events that are held back (cull.h) */
	char name[THREAD_NAME_MAX];
	uint64_t started_ns, ended_ns;
	/* The part of `counts` that earlier agents have accounted for. */
	uint64_t earlier_delivered, earlier_lost;
	struct thread_counts counts;
};

/* Returns how many of the thread's events were taken from the source or are known to be lost. The
 * next event's number is one more. */
static inline uint64_t thread_taken(const struct thread *t)
{
	return t->counts.delivered + t->counts.culled + t->held + t->counts.lost;
}

struct threads {
	struct thread *entry;
	uint32_t capacity;
	uint32_t last_number;
	uint32_t news; /* how many threads have `news` */
	struct thread_counts retired;
};

/* Takes the memory from `arena`. Returns 0 or -ENOMEM. */
int threads_init(struct threads *threads, struct arena *arena, uint32_t capacity);
void threads_clear(struct threads *threads);
/* Returns an entry with a new number, or NULL if the table is full. Living threads keep their
 * entries, and so do ended threads that still have a lane, held events, or news that were not sent
 * yet. */
struct thread *threads_add(struct threads *threads, uint32_t tid, uint64_t time_ns);
/* Like threads_add, for a thread that another agent has numbered. If the number is invalid or in
 * use, the thread gets a new one. */
struct thread *threads_resume(struct threads *threads, uint32_t tid, uint32_t number);
/* Returns the living thread with this tid, or NULL. */
struct thread *threads_find(struct threads *threads, uint32_t tid);
/* Marks the thread as ended. Its entry stays. */
void threads_end(struct threads *threads, struct thread *thread, uint64_t time_ns);
/* Ends living threads without a lane, until `most` threads have news. An honest program has such
 * threads only while they move from one slice to the next; a faulty program may create any
 * number. */
void threads_end_left(struct threads *threads, uint32_t most, uint64_t time_ns);
/* Sets the name. Returns true if it differs from the old one. */
bool threads_name(struct threads *threads, struct thread *thread, const char *name);
/* Returns the sum of all counts, including those of ended threads. */
struct thread_counts threads_total(const struct threads *threads);

#define threads_each(t, x)                                                                         \
	for (struct thread *x = (t)->entry; x < (t)->entry + (t)->capacity; x++)                   \
		if (x->number)
