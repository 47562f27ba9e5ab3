/*
 * Finds the peaks of backtraces from rows in the order of birth. What a backtrace has in use is
 * highest after a birth, so the deaths of its blocks matter only then. They wait in a heap of the
 * backtrace's own, with the earliest on top. A row costs a push and a pop in a heap that is usually
 * small, and nothing is sorted.
 *
 * Each part of the work follows its own backtraces through all rows.
 */
#include "collector/columns/row_block.h"
#include "collector/query/sums/group_peaks.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/sweep/parallel.h"
#include "collector/query/time/history_parts.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

#define PARTS	    2
#define RUN	    64	       /* rows */
#define PENDING_MAX (1u << 22) /* maximum number of deaths that wait, per part: 64 to 128 MiB */

struct pending {
	uint64_t death_ns;
	int64_t bytes;
};

struct queue {
	/* bytes: in use at step_ns, ignoring deaths that wait; most: maximum after a step. */
	int64_t bytes, most;
	uint64_t step_ns, most_ns; /* births up to step_ns are in `bytes` */
	struct pending *heap;	   /* a child dies no earlier than its parent */
	uint32_t count, capacity;
	bool begun;
};

struct following {
	const struct node_sums *sums;
	const struct matcher *all;
	uint64_t *peaks;
	pthread_t asking;
	atomic_bool unfit;
	pthread_mutex_t lock; /* protects err */
	struct err_text *err;
};

/* The state of a part. */
struct part {
	struct following *following;
	struct queue *queues; /* by index in the sums */
	unsigned number;
	uint64_t waiting, last_birth;
};

static uint32_t pending_max = PENDING_MAX;

void group_peaks_set_room(uint32_t deaths)
{
	pending_max = deaths ? deaths : PENDING_MAX;
}

/* ---- heap ---- */

static int group_queues_push(struct queue *q, uint64_t death_ns, int64_t bytes)
{
	uint32_t at = q->count;

	if (at == q->capacity) {
		uint32_t capacity = at ? 2 * at : 4;
		struct pending *heap = reallocarray(q->heap, capacity, sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		q->heap = heap;
		q->capacity = capacity;
	}
	q->count++;
	for (; at && q->heap[(at - 1) / 2].death_ns > death_ns; at = (at - 1) / 2)
		q->heap[at] = q->heap[(at - 1) / 2];
	q->heap[at] = (struct pending){death_ns, bytes};
	return 0;
}

static void group_queues_pop(struct queue *q)
{
	struct pending last = q->heap[--q->count];
	uint32_t at = 0, child;

	for (; (child = 2 * at + 1) < q->count; at = child) {
		child += child + 1 < q->count &&
			 q->heap[child + 1].death_ns < q->heap[child].death_ns;
		if (q->heap[child].death_ns >= last.death_ns)
			break;
		q->heap[at] = q->heap[child];
	}
	q->heap[at] = last;
}

/* ---- rows ---- */

/* Ends a step. All births up to step_ns are known, so what was in use after it is known, too. All
 * events of one nanosecond are one step. */
static void end_step(struct part *p, struct queue *q)
{
	while (q->count && q->heap[0].death_ns <= q->step_ns) {
		q->bytes = (int64_t)((uint64_t)q->bytes - (uint64_t)q->heap[0].bytes);
		group_queues_pop(q);
		p->waiting--;
	}
	if (q->bytes > q->most) {
		q->most = q->bytes;
		q->most_ns = q->step_ns;
	}
}

static int group_queues_add_row(struct part *p, struct queue *q, const struct row_block *block,
				uint32_t i)
{
	struct history_event birth = birth_of(block, i);
	uint64_t death = death_time(block, i);

	if (!q->begun) {
		q->begun = true;
		q->step_ns = q->most_ns = birth.time_ns;
	} else if (birth.time_ns > q->step_ns) {
		end_step(p, q);
		q->step_ns = birth.time_ns;
	}
	q->bytes = (int64_t)((uint64_t)q->bytes + (uint64_t)birth.bytes);
	if (death == NO_TIME)
		return 0;
	p->waiting++;
	return group_queues_push(q, death, birth.bytes);
}

/* Finds the rows of a run that belong to the part, and their queues, and prefetches the queues. */
static uint32_t find_queues(const struct part *p, const struct row_block *block, uint32_t first,
			    uint32_t count, uint32_t *rows, struct queue **queues)
{
	const struct node_sums *sums = p->following->sums;
	uint32_t n = 0;

	for (uint32_t i = first; i < first + count; i++) {
		uint32_t node = block->stack[i] <= sums->nodes ? block->stack[i] : 0;
		uint32_t index = sums->by_node[node];

		/* The next row overwrites this entry, unless the row belongs to the part. */
		rows[n] = i;
		queues[n] = p->queues + (index ? index - 1 : 0);
		if (index && index % PARTS == p->number)
			__builtin_prefetch(queues[n++], 1);
	}
	return n;
}

static bool births_in_order(struct part *p, const struct row_block *block, uint32_t count)
{
	uint64_t last = p->last_birth;
	bool rise = true;

	for (uint32_t i = 0; i < count; i++) {
		rise &= block->birth_ns[i] >= last;
		last = block->birth_ns[i];
	}
	p->last_birth = last;
	return rise;
}

static int add_block(struct part *p, const struct row_block *block, uint32_t count)
{
	struct queue *queues[RUN];
	uint32_t rows[RUN];
	int r = 0;

	if (!births_in_order(p, block, count))
		p->following->unfit = true;
	for (uint32_t first = 0; !r && first < count && !p->following->unfit; first += RUN) {
		uint32_t n = find_queues(p, block, first, count - first < RUN ? count - first : RUN,
					 rows, queues);

		for (uint32_t k = 0; !r && k < n; k++)
			r = group_queues_add_row(p, queues[k], block, rows[k]);
		if (p->waiting > pending_max)
			p->following->unfit = true;
	}
	return r;
}

static int follow_block(struct part *p, struct row_reader *reader, uint32_t index,
			struct err_text *err)
{
	const struct matcher *all = p->following->all;
	uint32_t count = matcher_block_rows(all, recording_zone(all->recording, index));
	const struct row_block *block;

	if (!count)
		return 0;
	block = row_reader_block(
		reader, index, ROWS_STACK | ROWS_SIZE | ROWS_WEIGHT | ROWS_BIRTH | ROWS_DEATH, err);
	if (!block)
		return err->text[0] ? -EIO : -ENOMEM;
	return add_block(p, block, count);
}

static int group_queues_follow(struct part *p, struct err_text *err)
{
	const struct matcher *all = p->following->all;
	bool asking = pthread_equal(pthread_self(), p->following->asking);
	uint32_t blocks = recording_blocks(all->recording);
	struct row_reader *reader = NULL;
	int r = row_reader_new(all->recording, &reader);

	for (uint32_t b = 0; !r && b < blocks; b++) {
		r = matcher_cancelled(all, err);
		if (!r && !p->following->unfit)
			r = follow_block(p, reader, b, err);
		matcher_did(all, 1, asking);
	}
	row_reader_free(reader);
	return r;
}

static void end_queues(struct part *p)
{
	const struct following *f = p->following;

	for (uint32_t g = 0; g < f->sums->count; g++) {
		struct queue *q = &p->queues[g];

		if (!q->begun)
			continue;
		end_step(p, q);
		f->peaks[g] = q->most_ns;
	}
}

static int group_queues_run_part(void *context, unsigned number)
{
	struct following *f = context;
	struct part p = {.following = f, .number = number};
	struct err_text err = {0};
	int r;

	p.queues = calloc((size_t)f->sums->count + 1, sizeof(*p.queues));
	r = p.queues ? group_queues_follow(&p, &err) : -ENOMEM;
	if (!r && !f->unfit)
		end_queues(&p);
	for (uint32_t g = 0; p.queues && g < f->sums->count; g++)
		free(p.queues[g].heap);
	free(p.queues);
	if (r < 0 && err.text[0]) {
		pthread_mutex_lock(&f->lock);
		err_set(f->err, r, "%s", err.text);
		pthread_mutex_unlock(&f->lock);
	}
	return r;
}

int group_queues_peaks(const struct node_sums *sums, const struct matcher *all, uint64_t *peaks,
		       struct err_text *err)
{
	struct following f = {
		.sums = sums, .all = all, .peaks = peaks, .asking = pthread_self(), .err = err};
	int r;

	matcher_will_do(all, (uint64_t)PARTS * recording_blocks(all->recording));
	pthread_mutex_init(&f.lock, NULL);
	r = parallel_run(&(struct parallel_work){PARTS, &f, group_queues_run_part, NULL});
	pthread_mutex_destroy(&f.lock);
	return r ? r : f.unfit;
}
