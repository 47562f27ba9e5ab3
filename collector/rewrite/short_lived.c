/* Finds short-lived blocks. short_lived.h describes the rules. */
#include "collector/rewrite/short_lived.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "proto/columns.h"
#include "collector/derive/pairing.h"
#include "base/unnamed_file.h"
#include "base/ban.h"

#define ROOM_LEAST ((uint64_t)1 << 22) /* initial capacity of the flags, in events */

/* What is known about an address. */
struct short_block {
	uint64_t event;	  /* number of the last birth */
	uint64_t time_ns; /* time of the last birth */
	uint32_t thread;
	uint16_t births; /* births without a death; 0: an unexplained death came */
	bool stays;
	uint32_t next; /* free entries: index + 1 of the next */
};

int short_lived_init(struct short_lived *s, uint64_t threshold_ns)
{
	*s = (struct short_lived){.threshold_ns = threshold_ns, .fd = unnamed_file()};
	return s->fd < 0 ? -errno : 0;
}

void short_lived_done(struct short_lived *s)
{
	if (s->flags)
		munmap(s->flags, s->room / 4);
	if (s->fd >= 0)
		close(s->fd);
	s->flags = NULL;
	s->fd = -1;
	map_done(&s->live);
	free(s->blocks);
	free(s->last);
	s->blocks = NULL;
	s->last = NULL;
}

/* ---- flags ---- */

static int short_lived_make_room(struct short_lived *s, uint64_t events)
{
	uint64_t room = s->room ? s->room : ROOM_LEAST;
	void *at;
	int r;

	while (room < events)
		room *= 2;
	if (room == s->room)
		return 0;
	r = posix_fallocate(s->fd, 0, (off_t)(room / 4)); /* reports a full disk as an error rather
							   * than by SIGBUS */
	if (r)
		return -r;
	at = s->flags ? mremap(s->flags, s->room / 4, room / 4, MREMAP_MAYMOVE)
		      : mmap(NULL, room / 4, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	s->flags = at;
	s->room = room;
	return 0;
}

static void flag(struct short_lived *s, uint64_t event, unsigned flags)
{
	s->flags[event / 4] |= (uint8_t)(flags << event % 4 * 2);
}

static void unflag(struct short_lived *s, uint64_t event, unsigned flags)
{
	s->flags[event / 4] &= (uint8_t) ~(flags << event % 4 * 2);
}

/* ---- pairs that were dropped last ---- */

static void recent_add(struct short_lived *s, const struct short_pair *pair)
{
	s->recent[s->next] = *pair;
	s->next = (s->next + 1) % SHORT_RECENT;
}

/* ---- addresses ---- */

static void short_lived_forget(struct short_lived *s, uint64_t address)
{
	uint64_t index;

	if (!map_remove(&s->live, address, &index))
		return;
	s->blocks[index].next = s->spare;
	s->spare = (uint32_t)index + 1;
}

static void forget_all(struct short_lived *s)
{
	if (s->live.count)
		map_clear(&s->live);
	s->block_count = s->spare = 0;
}

/*
 * Keeps all live blocks when another agent begins. Its sums cannot refer to the earlier agent's
 * nodes, and the ends of any of these blocks may be lost.
 */
static void leave_all(struct short_lived *s)
{
	for (uint32_t i = 0; i < s->block_count; i++)
		s->blocks[i].stays = true;
}

static struct short_block *short_lived_known(const struct short_lived *s, uint64_t address)
{
	const uint64_t *index = map_get(&s->live, address);

	return index ? &s->blocks[*index] : NULL;
}

/* Adds an unknown address. Returns NULL if memory is short. */
static struct short_block *short_lived_note(struct short_lived *s, uint64_t address)
{
	uint64_t *index = map_put(&s->live, address, NULL);
	uint32_t at = s->spare;

	if (!index)
		return NULL;
	if (at) {
		s->spare = s->blocks[at - 1].next;
	} else {
		if (array_reserve(&s->blocks, &s->block_capacity, (uint64_t)s->block_count + 1,
				  sizeof(*s->blocks)) < 0)
			return NULL;
		at = ++s->block_count;
	}
	*index = at - 1;
	s->blocks[at - 1] = (struct short_block){0};
	return &s->blocks[at - 1];
}

/* ---- pairs that are taken back ---- */

static void pair_take_back(struct short_lived *s, struct short_pair *pair);

/* Keeps the block that event `birth` put at `address`. */
static void keep_block(struct short_lived *s, uint64_t address, uint64_t birth)
{
	struct short_block *b = short_lived_known(s, address);

	if (b && b->event == birth)
		b->stays = true;
	for (unsigned i = 0; i < SHORT_RECENT; i++)
		if (s->recent[i].address == address && s->recent[i].birth == birth)
			pair_take_back(s, &s->recent[i]);
}

/*
 * A reallocation that is not cut needs its new block. If that was dropped, its pair is newer than
 * this one, so it is still in the ring.
 */
static void pair_take_back(struct short_lived *s, struct short_pair *pair)
{
	const struct short_pair p = *pair;

	pair->address = 0;
	unflag(s, p.birth, SHORT_DROP);
	unflag(s, p.death, p.became ? SHORT_CUT : SHORT_DROP);
	if (p.became)
		keep_block(s, p.became, p.death);
}

/* Keeps blocks at `address` that ended after `time_ns`. */
static void recent_take_back(struct short_lived *s, uint64_t address, uint64_t time_ns)
{
	for (unsigned i = 0; i < SHORT_RECENT; i++)
		if (s->recent[i].address == address && s->recent[i].time_ns > time_ns)
			pair_take_back(s, &s->recent[i]);
}

/* ---- events ---- */

/* The current event. */
struct at_hand {
	const struct event *e;
	uint64_t number;
	bool counts; /* its thread and stack are known, and its batch has no exec */
};

static int short_lived_take_birth(struct short_lived *s, const struct at_hand *h, bool may)
{
	const struct event *e = h->e;
	struct short_block *b;

	if (e->address == MAP_NO_KEY)
		return 0;
	b = short_lived_known(s, e->address);
	if (b)
		may = false;
	else if (!(b = short_lived_note(s, e->address)))
		return -ENOMEM;
	b->event = h->number;
	b->time_ns = e->time_ns;
	b->thread = e->thread;
	b->births = b->births < UINT16_MAX ? (uint16_t)(b->births + 1) : b->births;
	b->stays |= !may || !h->counts || e->time_ns < s->exec_ns || e->weight < e->size ||
		    e->size >= SHORT_SIZE_MOST || e->weight >= SHORT_SIZE_MOST;
	return 0;
}

/* Handles the death of a block that stays, or of one of several that may be at the address. */
static void take_doubtful(struct short_lived *s, const struct at_hand *h, uint64_t address,
			  struct short_block *b, uint64_t time_ns)
{
	bool surely_last =
		h->e->thread == b->thread || time_ns > b->time_ns + REPAIR_NS + s->tick_ns;

	if (time_ns < b->time_ns)
		recent_take_back(s, address, time_ns);
	b->stays = true;
	if (b->births > 1 && !surely_last)
		b->births--;
	else if (b->births && time_ns >= b->time_ns)
		short_lived_forget(s, address);
}

/*
 * `until_ns` is the end of the block's life in the rows. Returns 1 if the block is dropped, 0 if
 * not, or -ENOMEM.
 */
static int short_lived_take_death(struct short_lived *s, const struct at_hand *h, uint64_t address,
				  uint64_t time_ns, uint64_t until_ns)
{
	struct short_block *b;

	if (!address || address == MAP_NO_KEY)
		return 0;
	b = short_lived_known(s, address);
	if (!b) {
		recent_take_back(s, address, time_ns);
		b = short_lived_note(s, address);
		if (b)
			b->stays = true;
		return b ? 0 : -ENOMEM;
	}
	if (b->stays || b->births != 1 || time_ns < b->time_ns) {
		take_doubtful(s, h, address, b, time_ns);
		return 0;
	}
	if (!h->counts || until_ns - b->time_ns >= s->threshold_ns ||
	    s->in_batch == SHORT_BATCH_MOST) {
		short_lived_forget(s, address);
		return 0;
	}
	flag(s, b->event, SHORT_DROP);
	recent_add(s, &(struct short_pair){address, time_ns, b->event, h->number,
					   h->e->class == EVENT_CLASS_FREE ? 0 : h->e->address});
	short_lived_forget(s, address);
	s->in_batch++;
	return 1;
}

static int take_reallocation(struct short_lived *s, const struct at_hand *h)
{
	const struct event *e = h->e;
	uint64_t call_ns = e->time_ns > e->call_time_ns ? e->time_ns - e->call_time_ns : 0;
	int r;

	if (!e->old_address)
		return short_lived_take_birth(s, h, true);
	r = short_lived_take_death(s, h, e->old_address, call_ns, e->time_ns);
	if (r < 0)
		return r;
	if (r)
		flag(s, h->number, SHORT_CUT);
	return short_lived_take_birth(s, h, r == 1);
}

static int short_lived_take_event(struct short_lived *s, const struct at_hand *h)
{
	const struct event *e = h->e;
	int r;

	if (event_space(e->kind) != EVENT_SPACE_HEAP || !e->address)
		return 0;
	if (e->class == EVENT_CLASS_REALLOCATION)
		return take_reallocation(s, h);
	if (e->class != EVENT_CLASS_FREE)
		return short_lived_take_birth(s, h, true);
	r = short_lived_take_death(s, h, e->address, e->time_ns, e->time_ns);
	if (r == 1)
		flag(s, h->number, SHORT_DROP);
	return r < 0 ? r : 0;
}

/* ---- batches ---- */

/* Tells whether the program executes another image in this batch. */
static bool has_exec(struct short_lived *s, const Heapcast__Batch *batch)
{
	bool any = batch->process && s->images && batch->process->image + 1 > s->images;

	for (size_t i = 0; i < batch->n_mark; i++)
		any |= batch->mark[i]->kind == HEAPCAST__MARK_KIND__MARK_EXEC;
	if (batch->process)
		s->images = batch->process->image + 1;
	return any;
}

static int note_last(struct short_lived *s, const struct copy *copy)
{
	if (copy->position.incarnation != s->incarnation || !s->last_count) {
		if (array_reserve(&s->last, &s->last_capacity, (uint64_t)s->last_count + 1,
				  sizeof(*s->last)) < 0)
			return -ENOMEM;
		s->last_count++;
	}
	s->last[s->last_count - 1] = copy->batches;
	return 0;
}

/* Returns 1 if thread and stack of the event are known, 0 if not, or -ENOMEM. */
static int short_lived_is_known(struct copy *copy, const struct event *e)
{
	struct thread_info *thread;
	int r = definitions_thread(&copy->definitions, e->thread, &thread);

	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	return !e->stack || nodes_of_wire(&copy->definitions.nodes, e->stack);
}

int short_lived_add(struct short_lived *s, struct copy *copy)
{
	const struct decoded *d = &copy->decoded;
	const Heapcast__Batch *batch = d->item.batch;
	bool exec = has_exec(s, batch);
	int r = 0;

	if (!batch->catch_up) {
		bool another = batch->incarnation != s->incarnation;

		r = note_last(s, copy);
		s->incarnation = batch->incarnation;
		if (another)
			leave_all(s);
	}
	if (exec) {
		forget_all(s);
		s->exec_ns = batch->time_ns;
	}
	if (batch->time_ns > s->last_ns)
		s->last_ns = batch->time_ns;
	if (!r)
		r = short_lived_make_room(s, copy->events_ahead + d->event_count);
	s->tick_ns = batch->events ? batch->events->tick_ns : 1;
	s->in_batch = 0;
	for (uint32_t i = 0; !r && i < d->event_count; i++) {
		int known = exec ? 0 : short_lived_is_known(copy, &d->events[i]);

		r = known < 0 ? known
			      : short_lived_take_event(s, &(struct at_hand){&d->events[i],
									    copy->events_ahead + i,
									    known == 1});
	}
	return r;
}

bool short_lived_is_last(const struct short_lived *s, uint64_t batch, uint32_t *at)
{
	if (*at >= s->last_count || s->last[*at] != batch)
		return false;
	++*at;
	return true;
}
