/* Watches all recordings for changes. See fleet.h. */
#include "collector/http/server/fleet.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "collector/catalogue/store.h"
#include "collector/answers/json.h"
#include "collector/answers/answer.h"
#include "collector/http/server/sources.h"
#include "collector/recording/stream_id.h"

#include "base/ban.h"

#define INTERVAL_MS 1000
#define SHARE	    10 /* a look takes at most a tenth of the time */

struct gone {
	struct stream_id id;
	uint64_t look;
};

struct fleet {
	pthread_mutex_t lock;
	bool looking; /* only the looking thread changes the members below, with the lock held */
	uint64_t begun_ms,
		next_ms;	   /* when the last look began; the earliest time of the next one */
	uint64_t look;		   /* number of the last look with news; 0: none yet */
	struct source_line *lines; /* sorted by id */
	uint64_t *changed;	   /* for each line: the look that saw its last change */
	size_t count;
	struct gone *gone; /* removed recordings that some watcher has not been told about */
	uint32_t gone_count, gone_capacity;
	bool taken[WATCHERS_MAX];
	uint64_t told[WATCHERS_MAX];
};

struct fleet *fleet_new(void)
{
	struct fleet *fleet = calloc(1, sizeof(*fleet));

	if (fleet)
		pthread_mutex_init(&fleet->lock, NULL);
	return fleet;
}

static void fleet_forget(struct fleet *fleet)
{
	sources_list_free(fleet->lines, fleet->count);
	free(fleet->changed);
	free(fleet->gone);
	fleet->lines = NULL;
	fleet->changed = NULL;
	fleet->gone = NULL;
	fleet->count = fleet->gone_count = fleet->gone_capacity = 0;
	fleet->look = fleet->next_ms = 0;
}

void fleet_free(struct fleet *fleet)
{
	if (!fleet)
		return;
	fleet_forget(fleet);
	pthread_mutex_destroy(&fleet->lock);
	free(fleet);
}

/* ---- watchers ---- */

void fleet_join(struct fleet *fleet, struct fleet_watcher *ret_watcher)
{
	unsigned place = 0;

	pthread_mutex_lock(&fleet->lock);
	while (fleet->taken[place]) /* some slot is free: there are as many as watchers */
		place++;
	fleet->taken[place] = true;
	fleet->told[place] = 0;
	pthread_mutex_unlock(&fleet->lock);
	*ret_watcher = (struct fleet_watcher){.place = place};
}

void fleet_leave(struct fleet *fleet, struct fleet_watcher *watcher)
{
	pthread_mutex_lock(&fleet->lock);
	fleet->taken[watcher->place] = false;
	if (!memchr(fleet->taken, true, sizeof(fleet->taken)))
		fleet_forget(fleet); /* the last watcher has left, so no more looks happen */
	pthread_mutex_unlock(&fleet->lock);
}

/* ---- looks ---- */

static int by_id(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return memcmp(&x->summary.id, &y->summary.id, sizeof(x->summary.id));
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool fleet_same(const struct source_line *a, const struct source_line *b)
{
	const struct stream_summary *x = &a->summary, *y = &b->summary;

	return x->events == y->events && x->recording_bytes == y->recording_bytes &&
	       x->last_ns == y->last_ns && x->state == y->state &&
	       x->in_use_bytes == y->in_use_bytes && x->in_use_blocks == y->in_use_blocks &&
	       x->pid == y->pid && x->start_wall_ns == y->start_wall_ns &&
	       a->is_open == b->is_open && a->backtraces == b->backtraces && a->depth == b->depth &&
	       a->watched_from_start == b->watched_from_start &&
	       a->watched_to_end == b->watched_to_end && a->has_rate == b->has_rate &&
	       a->events_per_second == b->events_per_second &&
	       same_text(x->incomplete, y->incomplete) && same_text(x->name, y->name) &&
	       same_text(x->executable, y->executable) &&
	       same_text(x->command_line, y->command_line) && same_text(x->host, y->host) &&
	       same_text(x->architecture, y->architecture) && labels_same(&x->labels, &y->labels);
}

/* A look in progress. */
struct look {
	struct source_line *lines;
	uint64_t *changed;
	size_t count;
	uint64_t number; /* its number, if anything has changed */
	bool news;
	struct gone *gone;
	uint32_t gone_count, gone_capacity;
};

static void look_done(struct look *look)
{
	sources_list_free(look->lines, look->count);
	free(look->changed);
	free(look->gone);
}

static int add_gone(struct gone **list, uint32_t *count, uint32_t *capacity,
		    const struct gone *gone)
{
	if (array_reserve(list, capacity, (uint64_t)*count + 1, sizeof(**list)) < 0)
		return -ENOMEM;
	(*list)[(*count)++] = *gone;
	return 0;
}

static void fleet_compare(const struct fleet *fleet, struct look *look, size_t was, size_t is,
			  uint64_t passed_ms)
{
	const struct source_line *before = &fleet->lines[was];
	struct source_line *now = &look->lines[is];

	if (now->summary.state == STREAM_LIVE && passed_ms) {
		uint64_t more = now->summary.events - before->summary.events;

		now->has_rate = now->summary.events >= before->summary.events;
		now->events_per_second = now->has_rate ? more * 1000 / passed_ms : 0;
	}
	if (fleet_same(before, now))
		look->changed[is] = fleet->changed[was];
	else
		look->news = true;
}

/* Compares both lists, which are sorted by id. */
static int compare_all(const struct fleet *fleet, struct look *look, uint64_t passed_ms)
{
	size_t was = 0, is = 0;

	while (was < fleet->count || is < look->count) {
		int order = was == fleet->count ? 1
			    : is == look->count ? -1
						: by_id(&fleet->lines[was], &look->lines[is]);

		if (order < 0) {
			const struct gone gone = {fleet->lines[was++].summary.id, look->number};

			look->news = true;
			if (add_gone(&look->gone, &look->gone_count, &look->gone_capacity, &gone))
				return -ENOMEM;
			continue;
		}
		look->changed[is] = look->number;
		if (order)
			look->news = true;
		else
			fleet_compare(fleet, look, was++, is, passed_ms);
		is++;
	}
	return 0;
}

/* Keeps the removed recordings that some watcher still has to be told about. */
static int keep_gone(struct fleet *fleet, const struct look *look)
{
	uint64_t told = UINT64_MAX;
	uint32_t kept = 0;
	int r = 0;

	for (unsigned i = 0; i < WATCHERS_MAX; i++)
		if (fleet->taken[i] && fleet->told[i] < told)
			told = fleet->told[i];
	for (uint32_t i = 0; i < fleet->gone_count; i++)
		if (fleet->gone[i].look > told)
			fleet->gone[kept++] = fleet->gone[i];
	fleet->gone_count = kept;
	for (uint32_t i = 0; i < look->gone_count && !r; i++)
		r = add_gone(&fleet->gone, &fleet->gone_count, &fleet->gone_capacity,
			     &look->gone[i]);
	return r;
}

/* Publishes the result of the look. `look` gets the previous result. */
static int fleet_show(struct fleet *fleet, struct look *look)
{
	struct source_line *lines = fleet->lines;
	uint64_t *changed = fleet->changed;
	size_t count = fleet->count;
	int r = keep_gone(fleet, look);

	if (r < 0)
		return r;
	if (look->news || !fleet->look)
		fleet->look = look->number;
	fleet->lines = look->lines;
	fleet->changed = look->changed;
	fleet->count = look->count;
	look->lines = lines;
	look->changed = changed;
	look->count = count;
	return 0;
}

static int see(struct sources *sources, struct fleet *fleet, uint64_t passed_ms, struct look *look,
	       struct err_text *err)
{
	int r = sources_list(sources, &look->lines, &look->count, err);

	if (r < 0)
		return r;
	qsort(look->lines, look->count, sizeof(*look->lines), by_id);
	look->changed = calloc(look->count + 1, sizeof(*look->changed));
	r = look->changed ? compare_all(fleet, look, passed_ms) : -ENOMEM;
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

static uint64_t fleet_now_ms(void)
{
	return uv_hrtime() / 1000000;
}

/* Begins a look. Returns false if no look is due, or if another thread is looking. */
static bool begin_look(struct fleet *fleet, uint64_t begun_ms, bool *ret_first)
{
	bool looks;

	pthread_mutex_lock(&fleet->lock);
	looks = !fleet->looking && begun_ms >= fleet->next_ms;
	fleet->looking |= looks;
	*ret_first = !fleet->look;
	pthread_mutex_unlock(&fleet->lock);
	return looks;
}

int fleet_look(struct sources *sources, struct err_text *err)
{
	struct fleet *fleet = sources_fleet(sources);
	cleanup(look_done) struct look look = {0};
	uint64_t begun_ms = fleet_now_ms(), took_ms;
	bool first;
	int r;

	if (!begin_look(fleet, begun_ms, &first))
		return first ? -EAGAIN : 0;
	look.number = fleet->look + 1;
	r = see(sources, fleet, first ? 0 : begun_ms - fleet->begun_ms, &look, err);
	took_ms = fleet_now_ms() - begun_ms;
	pthread_mutex_lock(&fleet->lock);
	if (!r)
		r = fleet_show(fleet, &look);
	if (!r)
		fleet->begun_ms = begun_ms;
	fleet->next_ms = begun_ms + (took_ms * SHARE > INTERVAL_MS ? took_ms * SHARE : INTERVAL_MS);
	fleet->looking = false;
	pthread_mutex_unlock(&fleet->lock);
	return r;
}

/* ---- reporting to watchers ---- */

bool fleet_has_news(struct fleet *fleet, const struct fleet_watcher *watcher)
{
	bool news;

	pthread_mutex_lock(&fleet->lock);
	news = fleet->look > watcher->told;
	pthread_mutex_unlock(&fleet->lock);
	return news;
}

static size_t first_behind(const struct fleet *fleet, const struct stream_id *id)
{
	size_t low = 0, high = fleet->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (memcmp(&fleet->lines[middle].summary.id, id, sizeof(*id)) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Tells whether the recording exists now: a removed one may have come back. */
static bool fleet_is_there(const struct fleet *fleet, const struct stream_id *id)
{
	size_t behind = first_behind(fleet, id);

	return behind && !memcmp(&fleet->lines[behind - 1].summary.id, id, sizeof(*id));
}

static bool tell_changed(struct fleet *fleet, struct fleet_watcher *watcher, struct json *json,
			 size_t bytes)
{
	size_t i = watcher->in_midst ? first_behind(fleet, &watcher->behind) : 0;

	for (; i < fleet->count; i++) {
		if (fleet->changed[i] <= watcher->told)
			continue;
		if (json->out->length >= bytes)
			return false;
		json_object_of(json, NULL, &list_answer, &fleet->lines[i], NULL);
		watcher->behind = fleet->lines[i].summary.id;
		watcher->in_midst = true;
	}
	return true;
}

static void tell_gone(const struct fleet *fleet, const struct fleet_watcher *watcher,
		      struct json *json)
{
	char id[STREAM_ID_TEXT];

	json_array(json, "gone");
	for (uint32_t i = 0; i < fleet->gone_count; i++)
		if (watcher->told && fleet->gone[i].look > watcher->told &&
		    !fleet_is_there(fleet, &fleet->gone[i].id))
			json_string(json, NULL, stream_id_format(id, &fleet->gone[i].id));
	json_end(json, ']');
}

int fleet_tell(struct fleet *fleet, struct fleet_watcher *watcher, struct json *json, size_t bytes)
{
	bool all;

	pthread_mutex_lock(&fleet->lock);
	if (!watcher->telling) {
		watcher->telling = fleet->look;
		json_array(json, "changed");
	}
	all = tell_changed(fleet, watcher, json, bytes);
	if (all) {
		json_end(json, ']');
		tell_gone(fleet, watcher, json);
		fleet->told[watcher->place] = watcher->told = watcher->telling;
		watcher->telling = 0;
		watcher->in_midst = false;
	}
	pthread_mutex_unlock(&fleet->lock);
	return !all;
}
