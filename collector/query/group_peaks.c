/*
 * When backtraces had most in use. Rows are nearly always in the order of birth (group_queues.c); where they are not, births and
 * deaths are followed in the order of time (history.h) for all backtraces at once: a part of the time tells for each how its bytes
 * changed, and how far above what it was at the part's start it got; parts are put together in order.
 */
#include "collector/query/group_peaks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/history.h"

#include "base/ban.h"

/* Of a group, in a part of the time. */
struct course {
	bool begun;
	int64_t bytes;	   /* since the part began */
	int64_t most;	   /* the highest that it was after a step; INT64_MIN: nothing happened */
	uint64_t most_ns;  /* when first */
	uint64_t first_ns; /* first step of all */
};

struct courses {
	const struct node_sums *sums;
	struct course *list; /* by group */
};

static void courses_free(void *part)
{
	free(((struct courses *)part)->list);
	free(part);
}

static int courses_new(void *context, void **ret_part)
{
	const struct courses *whole = context;
	struct courses *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*ret_part = part;
	part->sums = whole->sums;
	part->list = calloc((size_t)whole->sums->count + 1, sizeof(*part->list));
	return part->list ? 0 : -ENOMEM;
}

static struct course *course_of(const struct courses *c, const struct history_event *e)
{
	const struct node_sum *sum =
		node_sums_get(c->sums, e->node <= c->sums->nodes ? e->node : 0);

	return sum ? &c->list[sum - c->sums->list] : NULL;
}

/* All that happens in a nanosecond is one step. */
static void take_step(const struct courses *c, const struct history_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct course *course = course_of(c, &events[i]);

		if (!course)
			continue;
		if (!course->begun)
			*course = (struct course){
				.begun = true, .most = INT64_MIN, .first_ns = events[i].time_ns};
		course->bytes = (int64_t)((uint64_t)course->bytes + (uint64_t)events[i].bytes);
	}
	for (size_t i = 0; i < count; i++) {
		struct course *course = course_of(c, &events[i]);

		if (course && course->bytes > course->most) {
			course->most = course->bytes;
			course->most_ns = events[i].time_ns;
		}
	}
}

static int courses_bin(void *part, const struct history_bin *bin)
{
	for (size_t i = 0, n; i < bin->count; i += n) {
		for (n = 1;
		     i + n < bin->count && bin->events[i + n].time_ns == bin->events[i].time_ns;)
			n++;
		take_step(part, bin->events + i, n);
	}
	return 0;
}

/* A group of which nothing was ever in use (or all of which was culled) had its peak when it began. */
static int courses_merge(void *context, void *part)
{
	const struct courses *whole = context, *c = part;

	for (uint32_t g = 0; g < whole->sums->count; g++) {
		struct course *into = &whole->list[g];
		const struct course *from = &c->list[g];
		int64_t most;

		if (!from->begun)
			continue;
		if (!into->begun)
			*into = (struct course){.begun = true, .most_ns = from->first_ns};
		most = (int64_t)((uint64_t)into->bytes + (uint64_t)from->most);
		if (most > into->most) {
			into->most = most;
			into->most_ns = from->most_ns;
		}
		into->bytes = (int64_t)((uint64_t)into->bytes + (uint64_t)from->bytes);
	}
	return 0;
}

static int follow_courses(const struct node_sums *sums, const struct matcher *all, uint64_t *peaks,
			  struct err_text *err)
{
	cleanup(cleanup_free) struct course *list = calloc((size_t)sums->count + 1, sizeof(*list));
	struct courses whole = {sums, list};
	struct history_bins bins = {0};
	int r;

	if (!list)
		return -ENOMEM;
	r = history_visit(&(struct history_of){.matcher = all, .nodes = true}, &bins,
			  &(struct history_visitor){&whole, courses_new, courses_bin, courses_merge,
						    courses_free},
			  err);
	history_bins_done(&bins);
	for (uint32_t g = 0; !r && g < sums->count; g++)
		if (list[g].begun)
			peaks[g] = list[g].most_ns;
	return r;
}

int group_peaks_find(const struct node_sums *sums, const struct matcher *all, uint64_t *peaks,
		     struct err_text *err)
{
	struct matcher seeing = *all;
	int r;

	seeing.hides_survivors = false;
	r = group_queues_peaks(sums, &seeing, peaks, err);
	if (r == 1)
		r = follow_courses(sums, &seeing, peaks, err);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}
