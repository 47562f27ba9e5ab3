/* Culls short-lived blocks. See cull.h. */
#include "agent/hold/cull.h"

#include <errno.h>
#include <string.h>

#include "agent/core/run.h"
#include "base/places.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define DIVIDE_SLACK 1024 /* for alignment, and for the unused slot 0 */

/* The hash table has four entries for each three slots. */
int cull_init(struct cull *c, const struct cull_settings *settings, const struct hold_host *host,
	      struct arena *arena, struct stacks_path *path)
{
	size_t rest = arena->size - arena->used - DIVIDE_SLACK;

	*c = (struct cull){.host = *host, .time_ns = settings->time_ns, .path = path};
	c->slots = (uint32_t)(rest /
			      (3 * (sizeof(*c->slot) + sizeof(uint32_t)) + 4 * sizeof(*c->at)) * 3);
	c->places = c->slots / 3 * 4;
	c->at = arena_take(arena, c->places * sizeof(*c->at));
	c->slot = arena_take(arena, (c->slots + 1) * sizeof(*c->slot));
	c->path->node = arena_take(arena, (c->slots + 1) * sizeof(*c->path->node));
	if (!c->at || !c->slot || !c->path->node)
		return -ENOMEM;
	c->path->depth = c->path->most = c->slots + 1;
	c->pending_max = settings->pending_max && settings->pending_max < c->slots
				 ? (uint32_t)settings->pending_max
				 : c->slots;
	cull_clear(c);
	return 0;
}

void cull_clear(struct cull *c)
{
	if (!c->time_ns)
		return;
	for (uint32_t i = 1; i <= c->slots; i++)
		c->slot[i].newer = i < c->slots ? i + 1 : 0;
	c->spare = 1;
	c->oldest = c->newest = c->held = c->pending = 0;
	memset(c->at, 0, c->places * sizeof(*c->at));
	memset(c->path->node, 0, (c->slots + 1) * sizeof(*c->path->node));
	c->now_ns = 0;
	c->has_late = c->flush = false;
}

/* ---- addresses ---- */

static uint32_t at_home(const struct cull *c, uint64_t address)
{
	return places_home(places_hash(address), c->places);
}

/* Returns the entry of the address, or the free entry for it. */
static struct cull_at *at_find(const struct cull *c, uint64_t address)
{
	uint32_t i = at_home(c, address);

	while (c->at[i].address && c->at[i].address != address)
		i = places_next(i, c->places);
	return &c->at[i];
}

static void at_put(struct cull *c, uint64_t address, uint32_t slot)
{
	*at_find(c, address) = (struct cull_at){.address = address, .slot = slot};
}

/* Moves the following entries of the same probe sequence into the hole. */
static void at_remove(struct cull *c, struct cull_at *at)
{
	uint32_t hole = (uint32_t)(at - c->at);

	for (uint32_t i = places_next(hole, c->places); c->at[i].address;
	     i = places_next(i, c->places)) {
		if (!places_may_fill(hole, i, at_home(c, c->at[i].address), c->places))
			continue;
		c->at[hole] = c->at[i];
		hole = i;
	}
	c->at[hole].address = 0;
}

/* ---- the list ---- */

/* Returns true if the event is about a heap block. Calls and mappings have other addresses. */
static bool is_heap(uint8_t kind)
{
	return event_space(kind) == EVENT_SPACE_HEAP;
}

static void unlink_slot(struct cull *c, uint32_t index)
{
	struct cull_slot *x = &c->slot[index];
	struct cull_at *at = is_heap(x->kind) && x->address ? at_find(c, x->address) : NULL;

	if (at && at->address && at->slot == index)
		at_remove(c, at);
	*(x->older ? &c->slot[x->older].newer : &c->oldest) = x->newer;
	*(x->newer ? &c->slot[x->newer].older : &c->newest) = x->older;
	c->pending -= x->pending;
	c->held--;
	c->host.threads->entry[x->thread].held--;
	c->path->node[index] = 0;
	x->newer = c->spare;
	c->spare = index;
}

/* Lets the block and its whole chain be sent: none of them is pending any more. */
static void cull_keep(struct cull *c, uint32_t index)
{
	uint32_t i = index;

	do {
		struct cull_slot *x = &c->slot[i];

		i = x->chain;
		c->pending -= x->pending;
		x->pending = false;
		x->chain = 0;
	} while (i && i != index);
}

static int send_oldest(struct cull *c)
{
	const struct cull_slot *x = &c->slot[c->oldest];
	struct thread *thread = &c->host.threads->entry[x->thread];
	const struct event event = {
		.kind = x->kind,
		.class = (enum event_class)event_traits[x->kind].class,
		.thread = thread->number,
		.time_ns = x->time_ns,
		.address = x->address,
		.size = x->size,
		.stack = stacks_number(c->host.stacks, c->path->node[c->oldest]),
		.old_address = x->old_address,
		.call_time_ns = (uint64_t)x->call_ticks * RUN_TICK_NS,
		.weight = x->weight,
	};

	if (c->host.send(c->host.context, thread, &event) < 0)
		return -EAGAIN;
	cull_keep(c, c->oldest);
	unlink_slot(c, c->oldest);
	return 0;
}

static bool cull_is_due(const struct cull *c, const struct cull_slot *x)
{
	return c->flush || !x->pending || c->now_ns >= x->time_ns + c->time_ns;
}

static int send_due(struct cull *c)
{
	int r = 0;

	while (!r && c->oldest && cull_is_due(c, &c->slot[c->oldest]))
		r = send_oldest(c);
	if (!r)
		c->flush = false;
	return r;
}

/* Makes room for one more event. */
static int cull_make_room(struct cull *c)
{
	int r = sums_full(c->host.sums, CULL_CHAIN_MOST) ? -EAGAIN : 0;

	while (!r && (!c->spare || c->pending >= c->pending_max)) {
		bool early = c->slot[c->oldest].pending;

		r = send_oldest(c);
		if (!r && early)
			sums_add_early(c->host.sums);
	}
	return r;
}

/* Returns true if the list holds the last event that was out of order, or an event that came before
 * it. */
static bool late_held(const struct cull *c)
{
	return c->has_late && c->oldest && (int32_t)(c->slot[c->oldest].serial - c->late) <= 0;
}

/* Forgets the block at this address, because it is no longer alive. */
static void cull_forget(struct cull *c, uint64_t address)
{
	struct cull_at *at = at_find(c, address);

	if (at->address)
		at_remove(c, at);
}

enum hold { HOLD_PENDING, HOLD_PLAIN, HOLD_UNNOTED };

/* Appends the event. The caller has made room. */
static void cull_hold(struct cull *c, struct thread *thread, const struct event *e, uint32_t node,
		      enum hold how)
{
	uint32_t index = c->spare;
	struct cull_slot *x = &c->slot[index];
	uint64_t ticks = e->call_time_ns / RUN_TICK_NS;

	c->spare = x->newer;
	*x = (struct cull_slot){
		.time_ns = e->time_ns,
		.address = e->address,
		.size = e->size,
		.weight = e->weight,
		.old_address = e->old_address,
		.call_ticks = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX,
		.thread = (uint32_t)(thread - c->host.threads->entry),
		.older = c->newest,
		.serial = ++c->serial,
		.kind = e->kind,
		.pending = how == HOLD_PENDING,
	};
	if (c->newest && e->time_ns < c->slot[c->newest].time_ns) {
		if (!late_held(c) || e->time_ns < c->late_ns)
			c->late_ns = e->time_ns;
		c->late = x->serial;
		c->has_late = true;
	}
	*(c->newest ? &c->slot[c->newest].newer : &c->oldest) = index;
	c->newest = index;
	c->path->node[index] = node;
	c->pending += x->pending;
	c->held++;
	thread->held++;
	if (!is_heap(e->kind) || !e->address ||
	    how == HOLD_UNNOTED) /* the event must not change what is alive at the address */
		return;
	if (e->class == EVENT_CLASS_FREE)
		cull_forget(c, e->address);
	if (e->old_address)
		cull_forget(c, e->old_address);
	if (e->class != EVENT_CLASS_FREE)
		at_put(c, e->address, index);
}

uint64_t cull_watermark(const struct cull *c, uint64_t watermark_ns)
{
	if (!c->time_ns || !c->oldest)
		return watermark_ns;
	if (c->slot[c->oldest].time_ns < watermark_ns)
		watermark_ns = c->slot[c->oldest].time_ns;
	if (late_held(c) && c->late_ns < watermark_ns)
		watermark_ns = c->late_ns;
	return watermark_ns;
}

/* ---- what is culled ---- */

/* Culls a pending block. `lived_ns` is the time until its death, by a free or a reallocation. (As
 * without culling, a reallocated block lives until the new block is born; pairing.c.) */
static void cull_block(struct cull *c, uint32_t index, uint64_t lived_ns, bool freed)
{
	const struct cull_slot *x = &c->slot[index];
	struct thread *thread = &c->host.threads->entry[x->thread];

	sums_add(c->host.sums, &(struct sums_block){.thread = thread->number,
						    .node = c->path->node[index],
						    .time_ns = x->time_ns,
						    .size = x->size,
						    .weight = x->weight,
						    .lived_ns = lived_ns,
						    .freed = freed});
	thread->counts.culled++;
	thread->counts_news = true;
	unlink_slot(c, index);
}

static uint64_t lived(const struct cull_slot *x, uint64_t time_ns)
{
	return time_ns > x->time_ns ? time_ns - x->time_ns : 0;
}

/* Returns the first block of the chain that ends with this one. */
static uint32_t first_of(const struct cull *c, uint32_t last)
{
	return c->slot[last].chain ? c->slot[last].chain : last;
}

/* Culls the chain of pending blocks that ends with this one, which was freed. */
static void cull_chain(struct cull *c, uint32_t last, uint64_t freed_ns)
{
	const struct cull_slot *slot = c->slot;

	for (uint32_t i = first_of(c, last); i != last;) {
		uint32_t next = slot[i].chain;

		cull_block(c, i, lived(&slot[i], slot[next].time_ns), false);
		i = next;
	}
	cull_block(c, last, lived(&slot[last], freed_ns), true);
}

/* The block that a death at an address belongs to. */
enum owner { OWNER_UNKNOWN, OWNER_PENDING, OWNER_EARLIER };

/*
 * The order of events is trusted, with two exceptions between different threads. A death that is
 * older than the birth came late. And within the clock's error, a death after a birth where a block
 * was alive may belong to that first block: its death may appear behind the birth that reused its
 * address (pairing.h has the same rule).
 */
static enum owner owner_of(struct cull *c, const struct cull_slot *x, const struct thread *thread,
			   uint64_t time_ns)
{
	if (x->thread == (uint32_t)(thread - c->host.threads->entry))
		return OWNER_PENDING;
	if (time_ns < x->time_ns || (x->doubled && time_ns < x->time_ns + CULL_DOUBT_NS))
		return OWNER_EARLIER;
	return OWNER_PENDING;
}

/* Finds the block that dies at this address, and sets *ret_index if the block is pending. A block
 * whose chain has lived too long is no longer pending. */
static enum owner find_owner(struct cull *c, uint64_t address, const struct thread *thread,
			     uint64_t time_ns, uint32_t *ret_index)
{
	const struct cull_at *at = at_find(c, address);
	struct cull_slot *x = &c->slot[at->slot];
	enum owner owner;

	if (!at->address || !x->pending)
		return OWNER_UNKNOWN;
	owner = owner_of(c, x, thread, time_ns);
	x->doubled &= owner != OWNER_EARLIER;
	*ret_index = at->slot;
	if (owner != OWNER_PENDING || lived(&c->slot[first_of(c, at->slot)], time_ns) < c->time_ns)
		return owner;
	cull_keep(c, at->slot);
	return OWNER_UNKNOWN;
}

/* Handles the birth of a block at an address. If another block seems to be alive there, the end of
 * that block is unknown, so it will be sent. Returns true in that case. */
static bool takes_place(struct cull *c, uint64_t address)
{
	const struct cull_at *at = at_find(c, address);

	if (!at->address)
		return false;
	cull_keep(c, at->slot);
	return true;
}

static void cull_take_birth(struct cull *c, struct thread *thread, const struct event *e,
			    uint32_t node)
{
	bool doubled = takes_place(c, e->address);

	cull_hold(c, thread, e, node, e->size < SUMS_SIZE_MOST ? HOLD_PENDING : HOLD_PLAIN);
	c->slot[c->newest].doubled = doubled;
}

/* Takes the reallocation of a pending block: the new block joins its chain and is pending. */
static void take_growth(struct cull *c, struct thread *thread, const struct event *e, uint32_t node,
			uint32_t old)
{
	uint32_t first = first_of(c, old);

	cull_forget(c, e->old_address);
	cull_take_birth(c, thread, e, node);
	c->slot[c->newest].position = (uint8_t)(c->slot[old].position + 1);
	c->slot[c->newest].chain = first;
	c->slot[old].chain = c->newest;
}

static void cull_take_death(struct cull *c, struct thread *thread, const struct event *e,
			    uint32_t node)
{
	uint32_t index;

	switch (find_owner(c, e->address, thread, e->time_ns, &index)) {
	case OWNER_PENDING:
		cull_chain(c, index, e->time_ns);
		sums_add_free(c->host.sums);
		thread->counts.culled++;
		thread->counts_news = true;
		return;
	case OWNER_EARLIER:
		cull_hold(c, thread, e, node, HOLD_UNNOTED);
		return;
	case OWNER_UNKNOWN:
		cull_hold(c, thread, e, node, HOLD_PLAIN);
	}
}

static void take_reallocation(struct cull *c, struct thread *thread, const struct event *e,
			      uint32_t node)
{
	uint64_t call_ns = e->time_ns > e->call_time_ns ? e->time_ns - e->call_time_ns : 0;
	uint32_t index;

	if (!e->old_address) {
		cull_take_birth(c, thread, e, node);
		return;
	}
	if (find_owner(c, e->old_address, thread, call_ns, &index) == OWNER_PENDING) {
		if (e->size < SUMS_SIZE_MOST && c->slot[index].position + 1 < CULL_CHAIN_MOST) {
			take_growth(c, thread, e, node, index);
			return;
		}
		cull_keep(c, index);
	}
	takes_place(c, e->address);
	cull_hold(c, thread, e, node, HOLD_PLAIN);
}

static void cull_take(struct cull *c, struct thread *thread, const struct event *e, uint32_t node)
{
	if (!is_heap(e->kind) || !e->address)
		cull_hold(c, thread, e, node, HOLD_PLAIN);
	else if (e->class == EVENT_CLASS_FREE)
		cull_take_death(c, thread, e, node);
	else if (e->class == EVENT_CLASS_REALLOCATION)
		take_reallocation(c, thread, e, node);
	else
		cull_take_birth(c, thread, e, node);
}

int cull_event(struct cull *c, struct thread *thread, const struct event *e, uint32_t node)
{
	int r;

	if (e->time_ns > c->now_ns)
		c->now_ns = e->time_ns;
	r = send_due(c);
	if (!r)
		r = cull_make_room(c);
	if (r < 0)
		return r;
	cull_take(c, thread, e, node);
	return 0;
}

int cull_advance(struct cull *c, uint64_t watermark_ns, bool all)
{
	if (watermark_ns > c->now_ns)
		c->now_ns = watermark_ns;
	c->flush |= all;
	return send_due(c);
}

void cull_mark(struct cull *c, int kind)
{
	switch (kind) {
	case HEAPCAST__MARK_KIND__MARK_START:
	case HEAPCAST__MARK_KIND__MARK_STOP:
	case HEAPCAST__MARK_KIND__MARK_MODE:
	case HEAPCAST__MARK_KIND__MARK_SNAPSHOT:
		cull_flush(c);
		break;
	default:
		break;
	}
}
