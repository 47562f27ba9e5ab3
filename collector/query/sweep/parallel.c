/* See parallel.h. A job lives on the stack of the thread that asked. That thread leaves only when
 * no other thread works on the job any more. */
#include "collector/query/sweep/parallel.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"

#include "base/ban.h"

struct job {
	const struct parallel_work *work;
	struct job *next;
	unsigned begun, merged, helpers;
	bool merging;
	bool *done; /* by part */
	int error;
	pthread_cond_t changed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;
static struct job *jobs;
static unsigned started, limit; /* limit 0: not determined yet */

static unsigned processors(void)
{
	cpu_set_t set;
	unsigned count = 1;

	if (!sched_getaffinity(0, sizeof(set), &set))
		count = (unsigned)CPU_COUNT(&set);
	return count < 1 ? 1 : count > PARALLEL_MOST ? PARALLEL_MOST : count;
}

static void parallel_fail(struct job *job, int error)
{
	if (error < 0 && !job->error)
		job->error = error;
}

static void merge_ready(struct job *job)
{
	while (!job->merging && !job->error && job->merged < job->work->parts &&
	       job->done[job->merged]) {
		if (job->work->merge) {
			int r;

			job->merging = true;
			pthread_mutex_unlock(&lock);
			r = job->work->merge(job->work->context, job->merged);
			pthread_mutex_lock(&lock);
			job->merging = false;
			parallel_fail(job, r);
		}
		job->merged++;
	}
	pthread_cond_broadcast(&job->changed);
}

/* Bounds the number of results that wait for merging while one thread is slow at its part. */
static bool too_far_ahead(const struct job *job)
{
	return job->begun - job->merged >= 2 * limit;
}

/* Called with the lock held. The lock is released while a part runs. */
static void work_on(struct job *job)
{
	while (!job->error && job->begun < job->work->parts) {
		unsigned part;
		int r;

		if (too_far_ahead(job)) {
			pthread_cond_wait(&job->changed, &lock);
			continue;
		}
		part = job->begun++;
		pthread_mutex_unlock(&lock);
		r = job->work->run(job->work->context, part);
		pthread_mutex_lock(&lock);
		job->done[part] = true;
		parallel_fail(job, r);
		merge_ready(job);
	}
}

static struct job *find_job(void)
{
	for (struct job *job = jobs; job; job = job->next)
		if (!job->error && job->begun < job->work->parts && job->helpers + 1 < limit)
			return job;
	return NULL;
}

static void *parallel_help(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		struct job *job = find_job();

		if (!job) {
			pthread_cond_wait(&wanted, &lock);
			continue;
		}
		job->helpers++;
		work_on(job);
		job->helpers--;
		pthread_cond_broadcast(&job->changed);
	}
	return unused;
}

/* The helper threads block all signals, so that the program's other threads handle them. If a
 * thread cannot be created, fewer threads do the work. */
static void start_helpers(unsigned count)
{
	sigset_t all, before;
	pthread_t thread;

	if (started >= count)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; started < count && !pthread_create(&thread, NULL, parallel_help, NULL); started++)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void parallel_put(struct job *job)
{
	if (!limit)
		limit = processors();
	job->next = jobs;
	jobs = job;
	if (job->work->parts < 2 || limit < 2)
		return;
	start_helpers(limit - 1);
	pthread_cond_broadcast(&wanted);
}

static void take_out(struct job *job)
{
	struct job **at = &jobs;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	while (job->helpers || job->merging)
		pthread_cond_wait(&job->changed, &lock);
}

int parallel_run(const struct parallel_work *work)
{
	cleanup(cleanup_free) bool *done = calloc((size_t)work->parts + 1, sizeof(*done));
	struct job job = {.work = work, .done = done};

	if (!done)
		return -ENOMEM;
	pthread_cond_init(&job.changed, NULL);
	pthread_mutex_lock(&lock);
	parallel_put(&job);
	work_on(&job);
	take_out(&job);
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(&job.changed);
	return job.error;
}

void parallel_limit(unsigned threads)
{
	pthread_mutex_lock(&lock);
	limit = threads > PARALLEL_MOST ? PARALLEL_MOST : threads;
	pthread_mutex_unlock(&lock);
}
