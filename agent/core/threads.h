#pragma once
/*
 * The threads of a stream: their numbers, names and accounts. A thread keeps its place after its
 * end, so that a collector that joins late learns its name; when the table is full, the longest
 * dead gives its place to a new one, and its counts go into `retired`.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/budget.h"

#define THREAD_NAME_MAX 16

struct thread_counts {
	uint64_t produced; /* events begun */
	uint64_t not_sampled;
	uint64_t delivered; /* in batches, the one under construction included */
	uint64_t culled;    /* in sums, or on their way into one */
	uint64_t lost;	    /* in gaps, likewise */
};

struct thread {
	uint32_t number; /* 0: the place is free */
	uint32_t tid;
	bool alive;
	bool news;	  /* its definition has changed since it was last sent */
	bool counts_news; /* its counts have */
	uint32_t lanes;	  /* of the ring that are its */
	uint32_t held;	  /* events that are held back (cull.h) */
	char name[THREAD_NAME_MAX];
	uint64_t started_ns, ended_ns;
	uint64_t earlier_delivered, earlier_lost; /* of `counts`, by the agents before this one */
	struct thread_counts counts;
};

/* How many of its events have been taken from the source, or are known to be lost: the next one has
 * this number and one. */
static inline uint64_t thread_taken(const struct thread *t)
{
	return t->counts.delivered + t->counts.culled + t->held + t->counts.lost;
}

struct threads {
	struct thread *entry;
	uint32_t capacity;
	uint32_t last_number;
	uint32_t news; /* how many have news of their definition */
	struct thread_counts retired;
};

int threads_init(struct threads *threads, struct arena *arena, uint32_t capacity);
void threads_clear(struct threads *threads);
/* A place with a new number; NULL: all are taken by living threads, or by such that have a lane, or
 * events that are held back, or whose end was not sent yet. */
struct thread *threads_add(struct threads *threads, uint32_t tid, uint64_t time_ns);
/* The same for a thread that another agent has numbered (one that makes no sense, or is taken: a
 * new number). */
struct thread *threads_resume(struct threads *threads, uint32_t tid, uint32_t number);
/* The living thread with this tid; NULL: none. */
struct thread *threads_find(struct threads *threads, uint32_t tid);
void threads_end(struct threads *threads, struct thread *thread, uint64_t time_ns);
/* Ends those that live and have no lane, until `most` threads have news. A thread has none only
 * while it goes from one slice to the next; a program that lies can make any number of those. */
void threads_end_left(struct threads *threads, uint32_t most, uint64_t time_ns);
/* Takes a name; true if it is another than before. */
bool threads_name(struct threads *threads, struct thread *thread, const char *name);
/* Sum of all, dead ones included. */
struct thread_counts threads_total(const struct threads *threads);

#define threads_each(t, x)                                                                         \
	for (struct thread *x = (t)->entry; x < (t)->entry + (t)->capacity; x++)                   \
		if (x->number)
