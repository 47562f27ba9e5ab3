/* Divides the agent's memory limit, and takes all memory from the system. See agent.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/serve/agent.h"
#include "base/error.h"
#include "base/log.h"
#include "base/ban.h"

#define LINK_MESSAGE   (48u << 10)
#define LINK_SCRATCH   (96u << 10)
#define LEFT_FRAME_MAX (1u << 20) /* bytes of a frame in the spool of an earlier agent */

/* Chooses the spool folder. Data recorded under a key gets a folder of its own, so that an agent
 * without this key never sends it. */
static int spool_by_key(struct agent *a)
{
	const struct home home = agent_home(&a->settings);
	char key[HOME_KEY_DIGITS + 1];
	struct err_text err = {{0}};
	int r = home_key(&home, key, &err);

	if (r < 0) {
		log_warn("can't spool to %s: %s", a->settings.spool, err_get(&err, r));
		return r;
	}
	if (*key)
		mkdir(a->settings.spool, 0700); /* orphans and spools report the error if this
						 * fails */
	snprintf(a->spool_path, sizeof(a->spool_path), "%s%s%s", a->settings.spool, *key ? "/" : "",
		 key);
	return 0;
}

/* Takes `bytes` from the common room or the spools, for memory that all slots share and that the
 * budget has not planned. */
static void take_off(struct budget *b, size_t bytes)
{
	if (b->virtual)
		b->room.size -= bytes;
	else
		b->spool -= (bytes / b->slots + 4096) & ~(size_t)4095;
}

/* Opens the folder for batches that wait for a collector when memory is full. A failure is logged
 * and does not stop recording. The search for orphans runs now, while the memory for everything
 * else is still free. */
static void agent_open_folder(struct agent *a)
{
	struct budget *b = &a->budget;

	if (!a->settings.spool)
		return;
	if (spool_by_key(a) == 0 &&
	    spool_folder_open(&a->spool, a->spool_path, a->settings.spool_limit) == 0)
		orphans_open(&a->orphans, &a->spool, b->links,
			     b->limit / 4 < LEFT_FRAME_MAX ? (size_t)b->limit / 4 : LEFT_FRAME_MAX);
	/* A second output buffer, for definitions; the spools in memory pay for it. */
	take_off(b, b->link_out + orphans_memory(&a->orphans));
}

bool agent_has_links(const struct agent_settings *s)
{
	return s->announce || s->listen || s->listen_fd || s->collector;
}

int agent_divide(const struct agent_settings *s, uint32_t slots, struct budget *ret,
		 struct err_text *err)
{
	size_t limit = (size_t)s->memory_limit;

	if (s->cull.time_ns)
		return budget_divide_holding(ret, s->memory_limit, slots,
					     s->cull.memory ? s->cull.memory : limit / 8,
					     "short-lived blocks", err);
	if (s->flight.window_ns)
		return budget_divide_holding(ret, s->memory_limit, slots,
					     s->flight.memory ? s->flight.memory : limit / 2,
					     "the flight recorder", err);
	if (!slots && !s->no_rings)
		return budget_divide_elastic(ret, s->memory_limit, s->each.ring.depth_limit + 2,
					     agent_has_links(s), s->each.observe.maps_ns, err);
	return budget_divide(ret, s->memory_limit, slots, err);
}

/* Reserves address space for sessions and for slots that grow. */
static int open_places(struct agent *a)
{
	const struct budget *b = &a->budget;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t sessions = (b->slots * sizeof(*a->session) + page - 1) & ~(page - 1);
	int r = arena_open_sparse(&a->places, sessions + b->slots * b->virtual);

	if (r < 0)
		return r;
	a->session = arena_take(&a->places, sessions);
	return 0;
}

/* Takes the memory of fixed slots of equal size. */
static int open_slots(struct agent *a)
{
	const struct budget *b = &a->budget;
	int r = 0;

	a->session = arena_take(&a->arena, b->slots * sizeof(*a->session));
	if (!a->session)
		return -ENOMEM;
	for (uint32_t i = 0; !r && i < b->slots; i++) {
		struct stream *stream = &a->session[i].stream;

		r = session_init(a, &a->session[i]);
		if (!r && a->settings.cull.time_ns)
			r = stream_use_culling(stream, &a->arena, b, &a->settings.cull);
		if (!r && a->settings.flight.window_ns)
			r = stream_use_flight(stream, &a->arena, b, &a->settings.flight);
	}
	return r;
}

static int agent_memory_reserve(struct agent *a, struct err_text *err)
{
	const struct budget *b = &a->budget;
	size_t own;
	int r = agent_divide(&a->settings, a->settings.many ? 0 : 1, &a->budget, err);

	if (r < 0)
		return r;
	a->budget.alike = a->settings.no_rings;
	agent_open_folder(a);
	take_off(&a->budget, SYMBOL_FILES_SIZE);
	if (b->virtual)
		take_off(&a->budget, CELLS_BYTES);
	if (a->settings.announce)
		take_off(&a->budget, BEACON_MEMORY);
	if (a->settings.each.observe.maps_ns && !b->virtual)
		budget_maps(&a->budget);
	own = SYMBOL_FILES_SIZE + (b->virtual ? 0 : b->slots * (sizeof(struct session) + 64)) +
	      b->links * b->slots * sizeof(struct subscription) +
	      b->links * (sizeof(struct link) + 64) + PENDING_PLACES * sizeof(struct pending_peer) +
	      64 + LINK_MESSAGE + LINK_SCRATCH + (a->settings.spool ? 2 : 1) * b->link_out + 4096;
	r = arena_open(&a->arena, budget_private(b) + own);
	if (!r)
		r = packer_init(&a->drain_packer, &a->arena, b->message, b->scratch);
	if (!r)
		r = packer_init(&a->link_packer, &a->arena, LINK_MESSAGE, LINK_SCRATCH);
	a->file_out = r ? NULL : arena_take(&a->arena, b->link_out);
	a->link = r ? NULL : arena_take(&a->arena, b->links * sizeof(*a->link));
	if (!r && (!a->link || !a->file_out))
		r = -ENOMEM;
	if (!r)
		r = b->virtual ? open_places(a) : open_slots(a);
	for (uint32_t i = 0; !r && i < b->slots; i++)
		a->stream[i] = &a->session[i].stream;
	for (uint32_t i = 0; !r && i < b->links; i++)
		r = link_init(&a->link[i], &a->host, &a->arena, b);
	return r < 0 ? err_set(err, r, "can't set %llu bytes of memory aside: %s",
			       (unsigned long long)a->settings.memory_limit, strerror(-r))
		     : 0;
}

static void use_folder(struct agent *a)
{
	if (a->spool.fd < 0)
		return;
	a->spool.out_size = a->budget.link_out;
	a->spool.out = arena_take(&a->arena, a->spool.out_size);
	for (uint32_t i = 0; a->spool.out && !a->budget.virtual && i < a->budget.slots; i++)
		stream_use_spool(a->stream[i], &a->spool);
}

static void log_budget(const struct agent *a)
{
	const struct budget *b = &a->budget;

	if (b->virtual) {
		log_debug("memory limit %llu: room of %zu, of which growing may take %zu; %u "
			  "levels, from %zu "
			  "(ring %zu) to %zu; %u processes at a time at most, each with %zu of "
			  "address space",
			  (unsigned long long)b->limit, b->room.size, b->room.growth, b->levels,
			  b->place[0].cost, ring_backed(&b->shape, 1), b->place[b->levels - 1].cost,
			  b->slots, b->virtual);
		return;
	}
	log_debug("memory limit %llu: own %zu, %u links of %zu, message %zu, scratch %zu, %u slots "
		  "of ring %zu + tables %zu "
		  "+ batch %zu + spool %zu + maps %zu + held back %zu (%u events); %u slices, %u "
		  "stack nodes in a slot",
		  (unsigned long long)b->limit, b->own, b->links,
		  b->link_out + b->link_in + 2 * b->socket_buffer, b->message, b->scratch, b->slots,
		  b->ring, b->tables, b->batch, b->spool, b->maps, b->hold,
		  a->session[0].stream.flight.slots + a->session[0].stream.cull.slots,
		  ring_slice_count(&b->shape, 1), a->session[0].stream.stacks.nodes_max);
}

int agent_open_memory(struct agent *a, struct err_text *err)
{
	int r = agent_memory_reserve(a, err);

	if (r < 0)
		return r;
	log_budget(a);
	use_folder(a);
	return 0;
}
