/* Work in parts, by several threads: each part is run once, and merged in order. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/query/sweep/parallel.h"
#include "tests/unit/locks.h"

#define PARTS 200

struct job {
	atomic_uint runs[PARTS], running, most_at_once, begun;
	unsigned merged, most_waiting;
	unsigned fails_at, merge_fails_at; /* part + 1; 0: none */
	unsigned together;		   /* parts that wait for each other at first */
	pthread_barrier_t barrier;
};

static int run(void *context, unsigned part)
{
	struct job *job = context;
	unsigned running = atomic_fetch_add(&job->running, 1) + 1, most = job->most_at_once;

	while (running > most && !atomic_compare_exchange_weak(&job->most_at_once, &most, running))
		;
	assert_true(part < PARTS);
	atomic_fetch_add(&job->begun, 1);
	atomic_fetch_add(&job->runs[part], 1);
	if (part < job->together)
		pthread_barrier_wait(&job->barrier);
	atomic_fetch_sub(&job->running, 1);
	return part + 1 == job->fails_at ? -EIO : 0;
}

static int merge(void *context, unsigned part)
{
	struct job *job = context;
	unsigned waiting = atomic_load(&job->begun) - part;

	assert_int_equal(part, job->merged);
	assert_int_equal(job->runs[part], 1);
	job->merged++;
	job->most_waiting = waiting > job->most_waiting ? waiting : job->most_waiting;
	return part + 1 == job->merge_fails_at ? -EBADMSG : 0;
}

static int work(struct job *job, unsigned parts)
{
	return parallel_run(&(struct parallel_work){
		.parts = parts, .context = job, .run = run, .merge = merge});
}

static void each_part_once(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= PARALLEL_MOST + 1; threads++)
		for (unsigned parts = 0; parts <= PARTS; parts = parts * 2 + 1) {
			struct job job = {.merged = 0};

			parallel_limit(threads);
			assert_int_equal(work(&job, parts), 0);
			assert_int_equal(job.merged, parts);
			for (unsigned i = 0; i < PARTS; i++)
				assert_int_equal(job.runs[i], i < parts);
			assert_true(job.most_at_once <= threads);
			/* What waits for merging is bounded. */
			assert_true(job.most_waiting <= 2 * threads);
		}
	parallel_limit(0);
}

/* As many as are allowed work at once: they wait for each other. */
static void work_together(void **state)
{
	(void)state;
	for (unsigned threads = 2; threads <= PARALLEL_MOST; threads++) {
		struct job job = {.together = threads};

		parallel_limit(threads);
		pthread_barrier_init(&job.barrier, NULL, threads);
		assert_int_equal(work(&job, threads), 0);
		assert_int_equal(job.most_at_once, threads);
		pthread_barrier_destroy(&job.barrier);
	}
	parallel_limit(0);
}

/* One for each processor that the program may use. */
static void as_many_as_processors(void **state)
{
	struct job job = {.merged = 0};
	unsigned threads;
	cpu_set_t set;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	threads = (unsigned)CPU_COUNT(&set);
	job.together = threads < PARALLEL_MOST ? threads : PARALLEL_MOST;
	parallel_limit(0);
	pthread_barrier_init(&job.barrier, NULL, job.together);
	assert_int_equal(work(&job, PARTS), 0);
	assert_int_equal(job.most_at_once, job.together);
	pthread_barrier_destroy(&job.barrier);
}

/* No more than that are there at all. */
static void not_too_many(void **state)
{
	struct job job = {.together = PARALLEL_MOST};

	(void)state;
	parallel_limit(PARALLEL_MOST + 1);
	pthread_barrier_init(&job.barrier, NULL, PARALLEL_MOST);
	assert_int_equal(work(&job, PARTS), 0);
	assert_int_equal(job.most_at_once, PARALLEL_MOST);
	pthread_barrier_destroy(&job.barrier);
	parallel_limit(0);
}

static void without_merging(void **state)
{
	struct job job = {.merged = 0};

	(void)state;
	assert_int_equal(
		parallel_run(&(struct parallel_work){.parts = PARTS, .context = &job, .run = run}),
		0);
	for (unsigned i = 0; i < PARTS; i++)
		assert_int_equal(job.runs[i], 1);
}

static void an_error_ends_it(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct job job = {.fails_at = 1}, later = {.fails_at = 50},
			   last = {.fails_at = 100}, merging = {.merge_fails_at = 30};

		parallel_limit(threads);
		assert_int_equal(work(&job, 100), -EIO);
		assert_int_equal(job.merged, 0);
		assert_true(job.begun < 100);
		assert_int_equal(work(&later, 100), -EIO);
		assert_true(later.merged <= 49);
		assert_int_equal(work(&last, 100), -EIO);
		assert_true(last.merged <= 99);
		assert_int_equal(work(&merging, 100), -EBADMSG);
		assert_int_equal(merging.merged, 30);
		assert_true(merging.begun <= 30 + 2 * threads);
		assert_int_equal(job.running + later.running + last.running + merging.running, 0);
	}
	parallel_limit(0);
}

/* With one thread it is the calling one, from part to part. */
static void alone_in_order(void **state)
{
	struct job job = {.fails_at = 7};

	(void)state;
	parallel_limit(1);
	assert_int_equal(work(&job, PARTS), -EIO);
	assert_int_equal(job.begun, 7);
	assert_int_equal(job.merged, 6);
	assert_int_equal(job.most_at_once, 1);
	assert_int_equal(job.most_waiting, 1);
	parallel_limit(0);
}

static void *ask_alone(void *unused)
{
	struct job *job = calloc(1, sizeof(*job));

	(void)unused;
	for (unsigned i = 0; job && i < 20; i++) {
		memset(job, 0, sizeof(*job));
		if (work(job, PARTS) || job->merged != PARTS)
			abort();
	}
	free(job);
	return NULL;
}

static void several_ask_at_once(void **state)
{
	pthread_t thread[4];

	(void)state;
	parallel_limit(4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, ask_alone, NULL), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	parallel_limit(0);
}

/* ---- signals ---- */

static uint64_t blocked_by(const char *thread)
{
	char path[64], line[256];
	unsigned long long mask = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/status", thread);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "SigBlk:", 7))
			mask = strtoull(line + 7, NULL, 16);
	fclose(file);
	return mask;
}

/* Helpers block signals; whoever asks does not. */
static void signals_are_for_others(void **state)
{
	struct job job = {.together = 4};
	unsigned helpers = 0, others = 0;
	sigset_t mask;
	DIR *tasks;

	(void)state;
	parallel_limit(4);
	pthread_barrier_init(&job.barrier, NULL, 4);
	assert_int_equal(work(&job, 4), 0);
	pthread_barrier_destroy(&job.barrier);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_false(sigismember(&mask, SIGTERM));
	tasks = opendir("/proc/self/task");
	assert_non_null(tasks);
	for (struct dirent *e; (e = readdir(tasks));) {
		if (e->d_name[0] == '.')
			continue;
		if (blocked_by(e->d_name) & 1ull << (SIGTERM - 1))
			helpers++;
		else
			others++;
	}
	closedir(tasks);
	assert_int_equal(others, 1);
	assert_true(helpers >= 3);
	parallel_limit(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_are_for_others), cmocka_unit_test(each_part_once),
		cmocka_unit_test(work_together),	  cmocka_unit_test(as_many_as_processors),
		cmocka_unit_test(not_too_many),		  cmocka_unit_test(without_merging),
		cmocka_unit_test(an_error_ends_it),	  cmocka_unit_test(alone_in_order),
		cmocka_unit_test(several_ask_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
