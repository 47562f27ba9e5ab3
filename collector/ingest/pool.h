#pragma once
/*
 * Threads for one kind of work, so that no other kind can take them: libuv has four for everything
 * in the process. Work is begun in the order in which it was queued. Everything but `run` happens
 * on the loop's thread.
 */
#include <stdbool.h>

#include <uv.h>

struct pool;

struct pool_work {
	void (*run)(struct pool_work *work);  /* in one of the pool's threads */
	void (*done)(struct pool_work *work); /* on the loop, afterwards; may queue it again */
	void *data;			      /* the caller's */
	struct pool_work *next;
};

/* `yields`: its threads give way to all others (nice). 0 or a negative errno. */
int pool_new(uv_loop_t *loop, unsigned threads, bool yields, struct pool **ret_pool);
void pool_queue(struct pool *pool, struct pool_work *work, void (*run)(struct pool_work *work),
		void (*done)(struct pool_work *work));
/* After all that was queued is done: ends the threads, frees the pool, and calls `closed`. */
void pool_close(struct pool *pool, void (*closed)(void *context), void *context);
