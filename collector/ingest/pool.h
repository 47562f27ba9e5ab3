#pragma once
/*
 * A thread pool for one kind of work, so that no other kind can occupy its threads; libuv has only
 * four for the whole process. Work starts in the order in which it was queued. Everything but `run`
 * happens on the loop's thread.
 */
#include <stdbool.h>

#include <uv.h>

struct pool;

struct pool_work {
	void (*run)(struct pool_work *work);  /* in a thread of the pool */
	void (*done)(struct pool_work *work); /* on the loop, afterwards; may requeue the work */
	void *data;			      /* for the caller */
	struct pool_work *next;
};

/* `yields`: the threads run at low priority (nice). Returns 0 or a negative errno. */
int pool_new(uv_loop_t *loop, unsigned threads, bool yields, struct pool **ret_pool);
void pool_queue(struct pool *pool, struct pool_work *work, void (*run)(struct pool_work *work),
		void (*done)(struct pool_work *work));
/* When all queued work is done, ends the threads, frees the pool and calls `closed`. */
void pool_close(struct pool *pool, void (*closed)(void *context), void *context);
