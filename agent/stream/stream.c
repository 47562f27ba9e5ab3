/* Manages the stream of one recorded process. See stream.h. */
#include "agent/stream/stream.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define MODULE_ROOM 400 /* typical memory of a module, with path and segments */
#define MODULES_MIN 112
#define MODULES_MAX 1024
/* Smaller differences are noise: the two clocks are read one after the other. */
#define SLEEP_LEAST_NS 10000000
/* Number of ended threads whose names are kept for late collectors. */
#define DEAD_THREADS (4 * BATCH_THREADS_MAX)
/* The least number of lanes. Lanes beyond it give way to deeper stacks. */
#define LANES_ALIKE 64

/* Returns the number of frames of a lane. */
static uint32_t path_most(const struct stream *s, uint32_t lane)
{
	uint32_t most = budget_frames(s->budget, lane);

	return most < s->depth_max ? most : s->depth_max;
}

static size_t path_total(const struct stream *s)
{
	size_t total = 0;

	for (uint32_t i = 0; i < s->lane_count; i++)
		total += path_most(s, i);
	return total;
}

struct stacks_path stream_lane(const struct stream *s, uint32_t lane)
{
	return (struct stacks_path){.node = lane ? s->lane[lane - 1].node + s->lane[lane - 1].most
						 : s->path,
				    .most = path_most(s, lane)};
}

/* Reserves the lanes of all possible slices. In a slot of fixed size they take at most a quarter of
 * its tables. */
static int init_lanes(struct stream *s, struct arena *tables)
{
	const struct budget *b = s->budget;
	const bool fixed = b->levels == 1;
	size_t most = b->tables / 4 / sizeof(uint32_t);

	/* Having fewer threads is better than cutting stacks. */
	if (b->alike && s->lane_count > LANES_ALIKE)
		s->lane_count = most / s->depth_max > LANES_ALIKE ? (uint32_t)(most / s->depth_max)
								  : LANES_ALIKE;
	if (s->lane_count > budget_lanes(b, b->levels))
		s->lane_count = budget_lanes(b, b->levels);
	while (fixed && s->depth_max > 16 && path_total(s) > most)
		s->depth_max = s->depth_max * 3 / 4;
	s->lane = arena_take(tables, (s->lane_count + 1) * sizeof(*s->lane));
	s->lane_thread = arena_take(tables, s->lane_count * sizeof(struct thread *));
	s->saved.depth = s->lane_count * RUN_SAVED_MAX;
	s->saved.node = arena_take(tables, s->saved.depth * sizeof(*s->saved.node));
	s->path = arena_take(tables, path_total(s) * sizeof(*s->path));
	if (!s->lane || !s->lane_thread || !s->path || !s->saved.node)
		return -ENOMEM;
	if (!fixed)
		s->lane_count = budget_lanes(b, 1);
	for (uint32_t i = 0; i < s->lane_count; i++)
		s->lane[i] = stream_lane(s, i);
	return 0;
}

static uint32_t most_modules(const struct budget *b)
{
	uint32_t modules = (uint32_t)(b->tables / 16 / MODULE_ROOM);

	return b->levels > 1	       ? b->place[b->levels - 1].modules
	       : modules < MODULES_MIN ? MODULES_MIN
	       : modules < MODULES_MAX ? modules
				       : MODULES_MAX;
}

static uint32_t most_threads(const struct stream *s)
{
	const struct budget *b = s->budget;

	return b->levels > 1 ? b->place[b->levels - 1].threads : s->lane_count + DEAD_THREADS;
}

static int init_tables(struct stream *s, struct arena *tables)
{
	return modules_init(&s->modules, tables, most_modules(s->budget)) < 0 ||
			       threads_init(&s->threads, tables, most_threads(s)) < 0 ||
			       init_lanes(s, tables) < 0
		       ? -ENOMEM
		       : 0;
}

/* A batch must fit into the new generation of the stack table. */
void stream_fit_batch(struct stream *s)
{
	if (s->batch.nodes_max > s->stacks.nodes_max / 8)
		s->batch.nodes_max = s->stacks.nodes_max / 8;
}

/* Initializes the stack table with the rest of the tables' memory. */
static void init_stacks_fixed(struct stream *s, struct arena *tables)
{
	tables->used = (tables->used + 63) & ~(size_t)63;
	stacks_init(&s->stacks, tables->memory + tables->used, tables->size - tables->used);
	stream_fit_batch(s);
}

static int init_stacks(struct stream *s, struct arena *arena)
{
	const struct budget_place *most = &s->budget->place[s->budget->levels - 1];

	for (unsigned i = 0; i < 2; i++) {
		s->stacks_room[i] = arena_take(arena, most->stacks);
		if (!s->stacks_room[i])
			return -ENOMEM;
	}
	stacks_init(&s->stacks, s->stacks_room[0], s->budget->place[0].stacks);
	modules_limit(&s->modules, s->budget->place[0].modules);
	s->threads.capacity = s->budget->place[0].threads;
	return 0;
}

static int set_up(struct stream *s, struct arena *arena, struct budget *b, uint32_t depth_limit,
		  struct packer *packer)
{
	const struct budget_place *most, *first = b->place;
	const bool fixed = b->levels <= 1;
	struct arena tables;

	if (fixed)
		budget_fix(b);
	most = &b->place[b->levels - 1];
	tables = fixed ? arena_part(arena, b->tables - b->source) : (struct arena){0};
	s->packer = packer;
	s->budget = b;
	s->lane_count = budget_lanes(b, b->levels);
	if (most->maps) {
		void *memory = arena_take(arena, most->maps);

		if (!memory)
			return -ENOMEM;
		/* If `maps` is initialized, the observer may still be reading for the previous
		 * process. */
		if (!s->maps.entry)
			maps_init(&s->maps, memory, most->maps, first->definitions - MAPS_BESIDE,
				  (uint32_t)sysconf(_SC_PAGESIZE));
	}
	if ((fixed && !tables.memory) || batch_init(&s->batch, arena, most) < 0 ||
	    spool_init(&s->spool, arena, most->spool, first->spool) < 0)
		return -ENOMEM;
	batch_shape(&s->batch, first);
	s->depth_max = depth_limit + 2;
	if (fixed && s->depth_max > s->batch.nodes_max / 2)
		s->depth_max = s->batch.nodes_max / 2;
	if (init_tables(s, fixed ? &tables : arena) < 0)
		return -ENOMEM;
	if (!fixed)
		return init_stacks(s, arena);
	init_stacks_fixed(s, &tables);
	return 0;
}

int stream_init(struct stream *s, struct arena *arena, struct budget *b, uint32_t depth_limit,
		struct packer *packer)
{
	*s = (struct stream){0};
	pthread_mutex_init(&s->lock, NULL);
	return set_up(s, arena, b, depth_limit, packer);
}

/* Takes the lock, because other threads may be about to lock the stream to find out that it is
 * FREE. */
int stream_init_place(struct stream *s, struct arena *arena, struct budget *b, uint32_t depth_limit,
		      struct packer *packer)
{
	int r;

	pthread_mutex_lock(&s->lock);
	memset(s->id, 0, sizeof(*s) - offsetof(struct stream, id));
	r = set_up(s, arena, b, depth_limit, packer);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void stream_done(struct stream *s)
{
	if (s->state != STREAM_FREE)
		stream_close(s);
	pthread_mutex_destroy(&s->lock);
}

static void clear_tables(struct stream *s)
{
	stacks_init(&s->stacks, s->stacks.cache, s->stacks.size);
	s->renewal_wanted = false;
	s->renewal_rest = s->nodes_until = 0;
	modules_clear(&s->modules);
	threads_clear(&s->threads);
	batch_clear(&s->batch);
	cull_clear(&s->cull);
	flight_clear(&s->flight, 0);
	sums_clear(&s->sums);
	spool_clear(&s->spool);
	for (uint32_t i = 0; i < s->lane_count; i++) {
		s->lane[i].depth = 0;
		s->lane_thread[i] = NULL;
	}
	memset(s->saved.node, 0, s->saved.depth * sizeof(*s->saved.node));
	s->run = (struct run){0};
	s->delivered = (struct spool_account){0};
	s->lost = (struct run_losses){0};
	s->no_thread = s->stacks_cut = s->samples_refused = s->watermark_ns = s->named_ns =
		s->ledger_told = s->turn_ns = s->earlier_delivered = s->earlier_lost =
			s->watermark_told = s->order_ns = 0;
	s->stacks_unknown = s->namespaces = 0;
	s->before = 0;
	s->unready = false;
	s->frame_pending = 0;
	s->parts = 0;
	s->image = 0;
	s->exec_pending = false;
	s->figures_count = s->allocator_told = 0;
	s->unrecorded_count = s->uncounted = 0;
	s->unrecorded_sum = (struct unrecorded){0};
	s->allocator_took_ns = 0;
	s->maps_ready = false;
	s->maps_known = STREAM_MAPS_NEW;
	s->snapshots = 0;
	s->stopped_itself = false;
}

/* An eighth of the stack table is for numbered stacks, which it can't forget. */
#define SAVED_PART 8

void stream_allow_saved(struct stream *s)
{
	if (s->source->ops->allow_saved)
		s->source->ops->allow_saved(s->source, s->stacks.nodes_max / SAVED_PART);
}

void stream_begin(struct stream *s, struct capture_source *source, uint32_t incarnation)
{
	s->source = source;
	s->incarnation = s->spool.disk.incarnation = incarnation;
	source->thread = s->lane_thread;
	source->threads = &s->threads;
	s->process_news = true;
	s->slept_ns = clock_slept_ns();
	s->closed_ns = clock_monotonic_ns();
	stream_allow_saved(s);
	__atomic_store_n(&s->state, STREAM_LIVE, __ATOMIC_RELEASE);
}

/* Returns how long the program has run, at least 1 ns: 0 means that it was recorded from its
 * start. */
static uint64_t age_of(const struct target_info *target)
{
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK), age = clock_boot_ns(), start;

	start = target->start_ticks / ticks * 1000000000 +
		target->start_ticks % ticks * (1000000000 / ticks);
	return age > start ? age - start : 1;
}

static void describe(struct stream *s, const struct target_info *target,
		     const struct target_said *said, const uint8_t *agent_id)
{
	clear_tables(s);
	s->agent_id = agent_id;
	s->target = *target;
	s->said = *said;
	target_believe(&s->target, &s->said);
	s->ran_before_ns = s->marked_ns = s->marked_by = 0;
}

int stream_prepare(struct stream *s, const struct target_info *target,
		   const struct stream_settings *settings)
{
	if (getrandom(s->id, sizeof(s->id), 0) != sizeof(s->id))
		return -EIO;
	s->start_ns = clock_monotonic_ns();
	s->start_wall_ns = clock_wall_ns();
	describe(s, target, &settings->said, settings->agent_id);
	s->mode = (int)settings->mode;
	s->sample_interval = settings->sample_interval;
	s->resume_mode = settings->mode == RING_OFF ? RING_FULL : s->mode;
	s->frees_have_stacks = settings->frees_have_stacks;
	s->has_parent = settings->parent_stream;
	if (s->has_parent)
		memcpy(s->parent_stream, settings->parent_stream, sizeof(s->parent_stream));
	s->parent_event = settings->parent_event;
	if (settings->runs && !s->has_parent)
		s->ran_before_ns = age_of(target);
	return 0;
}

static void take_counts(struct stream *s, const struct stream_past *past)
{
	const struct capture_account *a = &past->account;

	s->threads.last_number = past->threads;
	s->threads.retired = past->finished;
	s->no_thread = past->no_thread;
	s->earlier_delivered = s->delivered.events = past->events;
	s->delivered.allocations = a->allocations;
	s->delivered.frees = a->frees;
	s->delivered.bytes = a->bytes;
	s->earlier_lost = a->lost.events;
	s->lost = a->lost;
	s->stacks_cut = a->stacks_cut;
	s->watermark_ns = s->delivered.time_ns = a->watermark_ns;
	flight_clear(&s->flight, stream_now(s));
	s->spool.evicted = s->delivered;
}

int stream_resume(struct stream *s, const struct target_info *target,
		  const struct stream_past *past, const uint8_t *agent_id,
		  struct capture_source *source)
{
	int r;

	s->source = source;
	r = stream_set_level(s, past->level);
	if (r < 0) {
		s->source = NULL;
		return r;
	}
	describe(s, target, &past->said, agent_id);
	memcpy(s->id, past->id, sizeof(s->id));
	s->start_ns = past->start_ns;
	s->start_wall_ns = past->start_wall_ns;
	s->image = past->account.image;
	s->has_parent = past->has_parent;
	memcpy(s->parent_stream, past->parent_stream, sizeof(s->parent_stream));
	s->parent_event = past->parent_event;
	s->mode = (int)past->orders.mode;
	s->resume_mode = (int)past->orders.resume;
	s->sample_interval = past->orders.sample_interval;
	s->frees_have_stacks = past->frees_have_stacks;
	take_counts(s, past);
	stream_begin(s, source, past->incarnation);
	return 0;
}

void stream_settle(struct stream *s, const struct observer_settings *observe, uint64_t cull_ns)
{
	s->observe = *observe;
	if (s->cull.slot)
		s->cull.time_ns = cull_ns;
}

void stream_tag(struct stream *s, const struct tags *tags)
{
	s->process_news |= s->tags.length != tags->length ||
			   memcmp(s->tags.text, tags->text, tags->length) != 0;
	s->tags = *tags;
}

void stream_close(struct stream *s)
{
	s->source->ops->close(s->source);
	s->source = NULL;
	__atomic_store_n(&s->state, STREAM_FREE, __ATOMIC_RELEASE);
}

void stream_put_figures(struct stream *s, const struct figures *figures)
{
	s->figures_count -= s->figures_count == STREAM_FIGURES_MAX;
	s->figures[s->figures_count++] = *figures;
}

static void add_unrecorded(struct unrecorded *to, const struct unrecorded *more)
{
	to->events += more->events;
	to->allocations += more->allocations;
	to->frees += more->frees;
	to->bytes += more->bytes;
}

/* The ledger counts the process even if no entry is free for it. */
void stream_tell_unrecorded(struct stream *s, const struct unrecorded *u)
{
	if (s->unrecorded_count < STREAM_UNRECORDED_MAX)
		s->unrecorded[s->unrecorded_count++] = *u;
	add_unrecorded(&s->unrecorded_sum, u);
	s->unrecorded_sum.pid++;
	s->uncounted += !u->counted;
}

uint64_t stream_now(const struct stream *s)
{
	return clock_monotonic_ns() - s->start_ns;
}

void stream_tell_sleep(struct stream *s, uint64_t slept_ns)
{
	if (s->state != STREAM_LIVE || slept_ns < s->slept_ns + SLEEP_LEAST_NS)
		return;
	if (stream_put_mark(s, HEAPCAST__MARK_KIND__MARK_SUSPENDED, slept_ns - s->slept_ns,
			    stream_now(s), NULL))
		s->slept_ns = slept_ns; /* else the batch is full: the next call tries again */
}

void stream_end(struct stream *s, const struct target_end *end)
{
	if (s->state != STREAM_LIVE)
		return;
	s->end = *end;
	s->end_ns = stream_now(s);
	__atomic_store_n(&s->state, STREAM_ENDING, __ATOMIC_RELEASE);
}

struct stream_ledger stream_ledger(const struct stream *s)
{
	struct thread_counts total = threads_total(&s->threads);
	struct stream_ledger l = {
		.produced = total.produced + s->no_thread,
		.delivered = s->delivered.events,
		.culled = s->delivered.culled,
		.not_sampled = total.not_sampled,
		.lost = s->lost.events,
	};
	uint64_t known = l.delivered + l.culled + l.not_sampled + l.lost;

	if (l.produced < known) /* happens only if the program's counters are wrong */
		l.produced = known;
	l.pending = l.produced - known;
	return l;
}

void stream_obey(struct stream *s)
{
	const struct capture_orders orders = {.mode = (uint32_t)s->mode,
					      .resume = (uint32_t)s->resume_mode,
					      .sample_interval = s->sample_interval};

	s->source->ops->obey(s->source, &orders);
}
