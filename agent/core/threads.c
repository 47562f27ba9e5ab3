/* Implements the thread table of a stream. See threads.h. */
#include "agent/core/threads.h"

#include <errno.h>
#include <string.h>

#include "base/ban.h"

int threads_init(struct threads *t, struct arena *arena, uint32_t capacity)
{
	*t = (struct threads){.capacity = capacity};
	t->entry = arena_take(arena, capacity * sizeof(*t->entry));
	return t->entry ? 0 : -ENOMEM;
}

void threads_clear(struct threads *t)
{
	memset(t->entry, 0, t->capacity * sizeof(*t->entry));
	t->last_number = t->news = 0;
	t->retired = (struct thread_counts){0};
}

static void add_counts(struct thread_counts *to, const struct thread_counts *from)
{
	to->produced += from->produced;
	to->not_sampled += from->not_sampled;
	to->delivered += from->delivered;
	to->culled += from->culled;
	to->lost += from->lost;
}

static void has_news(struct threads *t, struct thread *x)
{
	t->news += !x->news;
	x->news = true;
}

struct thread *threads_add(struct threads *t, uint32_t tid, uint64_t time_ns)
{
	struct thread *place = NULL;

	for (struct thread *x = t->entry; x < t->entry + t->capacity; x++) {
		if (!x->number) {
			place = x;
			break;
		}
		if (!x->alive && !x->lanes && !x->held && !x->news && !x->counts_news &&
		    (!place || x->ended_ns < place->ended_ns))
			place = x;
	}
	if (!place)
		return NULL;
	add_counts(&t->retired, &place->counts);
	*place = (struct thread){
		.number = ++t->last_number, .tid = tid, .alive = true, .started_ns = time_ns};
	has_news(t, place);
	return place;
}

struct thread *threads_resume(struct threads *t, uint32_t tid, uint32_t number)
{
	struct thread *place;
	bool is_free = number && number <= t->last_number;

	threads_each(t, x) is_free &= x->number != number;
	place = threads_add(t, tid, 0);
	if (place && is_free) {
		t->last_number--;
		place->number = number;
	}
	return place;
}

struct thread *threads_find(struct threads *t, uint32_t tid)
{
	threads_each(t, x) if (x->alive && x->tid == tid) return x;
	return NULL;
}

void threads_end(struct threads *t, struct thread *x, uint64_t time_ns)
{
	if (!x->alive)
		return;
	x->alive = false;
	/* 0 would mean that the thread is alive. */
	x->ended_ns = time_ns ? time_ns : 1;
	has_news(t, x);
}

void threads_end_left(struct threads *t, uint32_t most, uint64_t time_ns)
{
	threads_each(t, x) if (x->alive && !x->lanes && (x->news || t->news < most))
		threads_end(t, x, time_ns);
}

bool threads_name(struct threads *t, struct thread *x, const char *name)
{
	if (!strncmp(x->name, name, THREAD_NAME_MAX - 1))
		return false;
	strncpy(x->name, name, THREAD_NAME_MAX - 1);
	has_news(t, x);
	return true;
}

struct thread_counts threads_total(const struct threads *t)
{
	struct thread_counts sum = t->retired;

	threads_each(t, x) add_counts(&sum, &x->counts);
	return sum;
}
