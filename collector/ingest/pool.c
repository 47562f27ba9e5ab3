/* Thread pools. pool.h describes them. */
#include "collector/ingest/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/ban.h"

#define YIELDING 10 /* nice value added for low priority */

struct row {
	struct pool_work *first, **end;
};

struct pool {
	uv_async_t async;
	pthread_mutex_t mutex; /* guards the queues and `stop` */
	pthread_cond_t more;
	struct row waiting, ready;
	bool stop, yields;
	unsigned thread_count;
	pthread_t *threads;
	/* Used by the loop's thread only. */
	unsigned queued; /* not done yet */
	bool closing;
	void (*closed)(void *);
	void *context;
};

static void pool_put(struct row *row, struct pool_work *work)
{
	work->next = NULL;
	*row->end = work;
	row->end = &work->next;
}

static struct pool_work *pool_take(struct row *row)
{
	struct pool_work *work = row->first;

	if (work) {
		row->first = work->next;
		if (!row->first)
			row->end = &row->first;
	}
	return work;
}

static void *work_on(void *argument)
{
	struct pool *pool = argument;

	if (pool->yields)
		setpriority(PRIO_PROCESS, 0,
			    getpriority(PRIO_PROCESS, 0) +
				    YIELDING); /* on Linux this changes only the calling thread */
	pthread_mutex_lock(&pool->mutex);
	while (!pool->stop) {
		struct pool_work *work = pool_take(&pool->waiting);

		if (!work) {
			pthread_cond_wait(&pool->more, &pool->mutex);
			continue;
		}
		pthread_mutex_unlock(&pool->mutex);
		work->run(work);
		pthread_mutex_lock(&pool->mutex);
		pool_put(&pool->ready, work);
		uv_async_send(&pool->async);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

static void stop_threads(struct pool *pool)
{
	pthread_mutex_lock(&pool->mutex);
	pool->stop = true;
	pthread_cond_broadcast(&pool->more);
	pthread_mutex_unlock(&pool->mutex);
	while (pool->thread_count)
		pthread_join(pool->threads[--pool->thread_count], NULL);
}

static void pool_on_closed(uv_handle_t *handle)
{
	struct pool *pool = handle->data;
	void (*closed)(void *) = pool->closed;
	void *context = pool->context;

	pthread_mutex_destroy(&pool->mutex);
	pthread_cond_destroy(&pool->more);
	free(pool->threads);
	free(pool);
	if (closed)
		closed(context);
}

static void end_if_done(struct pool *pool)
{
	if (!pool->closing || pool->queued || uv_is_closing((uv_handle_t *)&pool->async))
		return;
	stop_threads(pool);
	uv_close((uv_handle_t *)&pool->async, pool_on_closed);
}

static void on_ready(uv_async_t *async)
{
	struct pool *pool = async->data;
	struct row row;

	pthread_mutex_lock(&pool->mutex);
	row = pool->ready;
	pool->ready = (struct row){NULL, &pool->ready.first};
	pthread_mutex_unlock(&pool->mutex);
	for (struct pool_work *work = row.first, *next; work; work = next) {
		next = work->next;
		pool->queued--;
		work->done(work);
	}
	end_if_done(pool);
}

/* Signals are blocked in the threads, so that the main thread handles them. */
static int start_threads(struct pool *pool, unsigned count)
{
	sigset_t all, before;
	int r = 0;

	pool->threads = calloc(count, sizeof(*pool->threads));
	if (!pool->threads)
		return -ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!r && pool->thread_count < count) {
		r = -pthread_create(&pool->threads[pool->thread_count], NULL, work_on, pool);
		pool->thread_count += !r;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int pool_new(uv_loop_t *loop, unsigned threads, bool yields, struct pool **ret_pool)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	int r;

	if (!pool)
		return -ENOMEM;
	pool->waiting.end = &pool->waiting.first;
	pool->ready.end = &pool->ready.first;
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->more, NULL);
	r = uv_async_init(loop, &pool->async, on_ready);
	if (r < 0) {
		free(pool);
		return r;
	}
	pool->async.data = pool;
	pool->yields = yields;
	r = start_threads(pool, threads);
	if (r < 0) {
		pool_close(pool, NULL, NULL);
		return r;
	}
	*ret_pool = pool;
	return 0;
}

void pool_queue(struct pool *pool, struct pool_work *work, void (*run)(struct pool_work *),
		void (*done)(struct pool_work *))
{
	work->run = run;
	work->done = done;
	pool->queued++;
	pthread_mutex_lock(&pool->mutex);
	pool_put(&pool->waiting, work);
	pthread_cond_signal(&pool->more);
	pthread_mutex_unlock(&pool->mutex);
}

void pool_close(struct pool *pool, void (*closed)(void *), void *context)
{
	if (!pool)
		return;
	pool->closing = true;
	pool->closed = closed;
	pool->context = context;
	end_if_done(pool);
}
