/* Follows groups over time. See courses.h. */
#include "collector/query/time/courses.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

#include "base/ban.h"

struct courses {
	const struct course_groups *groups;
	struct course *list;
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
	part->groups = whole->groups;
	part->list = calloc((size_t)whole->groups->count + 1, sizeof(*part->list));
	return part->list ? 0 : -ENOMEM;
}

static struct course *course_of(const struct courses *c, const struct history_event *e)
{
	uint32_t group = c->groups->of_node[e->node <= c->groups->nodes ? e->node : 0];

	return group ? &c->list[group - 1] : NULL;
}

/* All events of one nanosecond are one step. */
static void courses_take_step(const struct courses *c, const struct history_event *events,
			      size_t count)
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
		courses_take_step(part, bin->events + i, n);
	}
	return 0;
}

/* A group that never had anything in use (or was culled completely) has its peak at its first
 * event. */
static int courses_merge(void *context, void *part)
{
	const struct courses *whole = context, *c = part;

	for (uint32_t g = 0; g < whole->groups->count; g++) {
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

int courses_follow(const struct history_of *of, const struct course_groups *groups,
		   struct course *list, struct err_text *err)
{
	struct courses whole = {groups, list};
	struct history_bins bins = {0};
	int r = history_visit(of, &bins,
			      &(struct history_visitor){&whole, courses_new, courses_bin,
							courses_merge, courses_free},
			      err);

	history_bins_done(&bins);
	return r;
}
