/* Takes a snapshot step by step. snapshot.h describes it. */
#include "collector/snapshot/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/snapshot/state.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "proto/ring.h"
#include "base/ban.h"

#define ANSWER_NS    2000000000u /* extra time for the collector, beyond the agents' timeout */
#define LATE_LOOK_NS 1000000000u

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t taking_ns(const struct snapshot_taking *t)
{
	return clock_ns(CLOCK_MONOTONIC) - t->begun_ns;
}

/* ---- start ---- */

static int take_begin(struct snapshot_taking *t, struct err_text *err)
{
	const struct snapshot_request *q = t->request;
	int r = store_open(q->data, STORE_READ, &t->store, err);

	if (!r)
		r = members_find_name(t, err);
	if (!r)
		r = members_list(t, err);
	if (!r)
		r = new_stream_new(t->store, &t->draft, err);
	if (r < 0)
		return r;
	t->begun_ns = clock_ns(CLOCK_MONOTONIC);
	t->begun_wall_ns = clock_ns(CLOCK_REALTIME);
	r = snapshot_asking_init(&t->asking, q->data, q->timeout_ns / 1000000, t->named,
				 t->named_count, err);
	t->asks = true;
	return r;
}

int snapshot_take(const struct snapshot_request *request, struct snapshot_taking **ret_taking,
		  struct err_text *err)
{
	struct snapshot_taking *t;
	int r;

	if (request->timeout_ns / 1000000 > CONTROL_WAIT_MAX_MS)
		return err_set(err, -EINVAL, "nobody is waited for for more than a minute");
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->request = request;
	t->snapshot.wall_ns = clock_ns(CLOCK_REALTIME);
	r = take_begin(t, err);
	if (r < 0) {
		snapshot_taking_free(t);
		return r;
	}
	*ret_taking = t;
	return 0;
}

void snapshot_taking_free(struct snapshot_taking *t)
{
	if (!t)
		return;
	look_end(t);
	if (t->asks)
		snapshot_asking_done(&t->asking);
	merge_free(t->merge);
	new_stream_free(t->draft);
	snapshot_done(&t->snapshot);
	store_close(t->store);
	free(t->named);
	free(t->places);
	free(t);
}

/* ---- replies ---- */

static void take_done(struct snapshot_taking *t, struct snapshot_member *m,
		      const struct control_reply *reply)
{
	struct place *p = place_of(t, m);

	p->state = PLACE_MARKED;
	p->replied_ns = taking_ns(t);
	p->order = t->replies++;
	m->mark = reply->snapshot;
	m->time_ns = reply->time_ns;
	t->snapshot.took_ns = p->replied_ns;
	t->sampled |= reply->mode == RING_SAMPLE;
}

static void take_reply(void *context, const struct control_reply *reply)
{
	struct snapshot_taking *t = context;
	struct stream_id id;
	struct snapshot_member *m;

	if (!stream_id_parse(reply->stream, &id))
		return;
	m = members_find(t, &id);
	if (!m)
		m = members_add(t, &id); /* it began after the members were listed */
	if (!m || place_of(t, m)->state != PLACE_ASKED)
		return;
	if (reply->code == CONTROL_DONE)
		take_done(t, m, reply);
	else if (reply->code == CONTROL_ENDED && !place_of(t, m)->named)
		place_of(t, m)->state = PLACE_LEFT;
	else
		member_set_missing(t, m,
				   *reply->text ? reply->text : control_code_word(reply->code));
}

static int read_replies(struct snapshot_taking *t, struct err_text *err)
{
	uint64_t rounds = t->named_count / ASKED_AT_ONCE + 1;
	int r = snapshot_asking_read(&t->asking, take_reply, t, err);

	if (!r && taking_ns(t) > rounds * t->request->timeout_ns + ANSWER_NS)
		return err_set(err, -ETIMEDOUT,
			       "the collector of %.300s does not answer: has it been stopped?",
			       t->request->data);
	if (r <= 0)
		return r;
	t->answered = true;
	for (size_t i = 0; i < t->snapshot.count; i++)
		if (t->places[i].state == PLACE_ASKED)
			member_set_missing(t, &t->snapshot.members[i],
					   "its agent is not connected");
	return 0;
}

/* ---- markers ---- */

#define LOOKED_AT_ONCE 64 /* members of a step */

struct marked {
	uint32_t order, member;
};

static int by_order(const void *a, const void *b)
{
	const struct marked *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

/*
 * Finds the marked members that replied first. Events in the merged recording follow that order.
 * Returns their number, or -ENOMEM.
 */
static int find_marked(const struct snapshot_taking *t, uint32_t members[LOOKED_AT_ONCE])
{
	cleanup(cleanup_free) struct marked *marked =
		calloc(t->snapshot.count + 1, sizeof(*marked));
	unsigned count = 0;

	if (!marked)
		return -ENOMEM;
	for (size_t i = 0; i < t->snapshot.count; i++)
		if (t->places[i].state == PLACE_MARKED)
			marked[count++] = (struct marked){t->places[i].order, (uint32_t)i};
	qsort(marked, count, sizeof(*marked), by_order);
	count = count < LOOKED_AT_ONCE ? count : LOOKED_AT_ONCE;
	for (unsigned i = 0; i < count; i++)
		members[i] = marked[i].member;
	return (int)count;
}

/* ---- who joins late ---- */

static void give_up_late(struct snapshot_taking *t)
{
	for (size_t i = 0; i < t->snapshot.count; i++)
		if (t->places[i].state == PLACE_LATE)
			t->places[i].state = PLACE_MISSING;
}

/* Looks at the late streams, once a second. Returns 1 if none is waited for any more, -EAGAIN, or
 * another negative errno. */
static int take_late(struct snapshot_taking *t, struct err_text *err)
{
	uint64_t now = taking_ns(t);
	bool last = now >= t->request->late_ns, waiting = false;
	int r = 0;

	if (!last && now < t->looked_ns + LATE_LOOK_NS)
		return -EAGAIN;
	t->looked_ns = now;
	for (size_t i = 0; !r && i < t->snapshot.count; i++)
		if (t->places[i].state == PLACE_LATE)
			r = look_at_late(t, &t->snapshot.members[i], err);
	if (r < 0)
		return r;
	if (last)
		give_up_late(t);
	for (size_t i = 0; i < t->snapshot.count; i++)
		waiting |= t->places[i].state == PLACE_LATE || t->places[i].state == PLACE_MARKED;
	return waiting ? -EAGAIN : 1;
}

/* ---- completion ---- */

static int by_member(const void *a, const void *b)
{
	const struct snapshot_member *x = a, *y = b;
	int order = (x->missing != NULL) - (y->missing != NULL);

	order = order ? order : strcmp(x->host, y->host);
	order = order ? order : strcmp(x->executable, y->executable);
	order = order ? order : (x->pid > y->pid) - (x->pid < y->pid);
	return order ? order : memcmp(&x->stream, &y->stream, sizeof(x->stream));
}

/* Sorts the members. `places` is not valid afterwards. */
static void sort_members(struct snapshot_taking *t)
{
	struct snapshot *s = &t->snapshot;
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (t->places[i].state == PLACE_LEFT) {
			snapshot_member_done(&s->members[i]);
			continue;
		}
		s->missing += t->places[i].state == PLACE_MISSING;
		s->members[kept++] = s->members[i];
	}
	s->count = kept;
	if (kept)
		qsort(s->members, kept, sizeof(*s->members), by_member);
}

static int take_keep(struct snapshot_taking *t, struct err_text *err)
{
	struct snapshot_sums sums;
	int r;

	sort_members(t);
	if (t->snapshot.count == t->snapshot.missing)
		return err_set(
			err, -ENODATA,
			"there is nobody to take a snapshot of: no stream that was asked has "
			"answered with its marker");
	r = merge_end(t->merge, t->snapshot.took_ns, &sums, err);
	if (!r)
		r = store_snapshot_keep(t->store, t->draft, &t->snapshot, &sums, err);
	return r ? r : 1;
}

int snapshot_take_step(struct snapshot_taking *t, struct err_text *err)
{
	uint32_t members[LOOKED_AT_ONCE];
	int count, r = t->answered ? 0 : read_replies(t, err);

	if (r < 0)
		return r;
	count = find_marked(t, members);
	if (count < 0)
		return err_set(err, count, "out of memory");
	if (count)
		return look_at_members(t, members, (unsigned)count, err);
	r = t->answered ? take_late(t, err) : -EAGAIN;
	return r == 1 ? take_keep(t, err) : r;
}

const struct snapshot *snapshot_taken(const struct snapshot_taking *t)
{
	return &t->snapshot;
}

void snapshot_take_progress(const struct snapshot_taking *t, uint64_t *ret_done, uint64_t *ret_of)
{
	*ret_done = 0;
	*ret_of = t->snapshot.count;
	for (size_t i = 0; i < t->snapshot.count; i++)
		*ret_done += t->places[i].state > PLACE_LATE;
}
