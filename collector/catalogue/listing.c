/* store_list and store_find. store.h describes the interface. */
#include "collector/catalogue/listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/recording/completeness.h"
#include "collector/catalogue/folder.h"
#include "collector/derive/recording_parts.h"
#include "collector/catalogue/snapshots.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/tag_rules.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

#define SUGGESTIONS 5
#define STALE_MAX   4096
#define NEWEST	    64 /* candidates for the last stream, as some may be snapshots */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool stream_id_parse(const char *text, struct stream_id *ret_id)
{
	if (strlen(text) != STREAM_ID_TEXT - 1)
		return false;
	for (size_t i = 0; i < STREAM_ID_SIZE; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret_id->bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int listing_ids(struct store *store, struct stream_id **ret_ids, size_t *ret_count,
		struct err_text *err)
{
	cleanup(cleanup_free) struct stream_id *ids = NULL;
	cleanup(cleanup_closedir) DIR *dir = NULL;
	size_t count = 0, capacity = 0;
	const struct dirent *entry;
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/streams", store->path) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return err_set(err, -errno, "cannot read the folder %s: %s", path, strerror(errno));
	while ((entry = readdir(dir))) {
		if (count == capacity) {
			struct stream_id *more =
				realloc(ids, (capacity = capacity * 2 + 16) * sizeof(*ids));

			if (!more)
				return -ENOMEM;
			ids = more;
		}
		if (stream_id_parse(entry->d_name, &ids[count]))
			count++;
	}
	*ret_ids = take_ptr(ids);
	*ret_count = count;
	return 0;
}

void store_list_drop(struct stream_summary *list, size_t from, size_t count)
{
	for (size_t i = from; list && i < count; i++) {
		free(list[i].name);
		free(list[i].executable);
		free(list[i].command_line);
		free(list[i].host);
		free(list[i].architecture);
		labels_done(&list[i].labels);
		free(list[i].began_on);
		free(list[i].incomplete);
	}
}

void store_list_free(struct stream_summary *list, size_t count)
{
	store_list_drop(list, 0, count);
	free(list);
}

static char *text_or_empty(char *text)
{
	return text ? text : strdup("");
}

/* Moves the strings out of the totals. */
static void summary_fill(struct stream_summary *s, const struct stream_id *id, struct totals *t,
			 bool live)
{
	*s = (struct stream_summary){
		.id = *id,
		.name = text_or_empty(take_ptr(t->name)),
		.executable = text_or_empty(take_ptr(t->executable)),
		.command_line = text_or_empty(take_ptr(t->command_line)),
		.host = text_or_empty(take_ptr(t->host)),
		.architecture = text_or_empty(take_ptr(t->architecture)),
		.labels = {text_or_empty(take_ptr(t->labels.board)),
			   text_or_empty(take_ptr(t->labels.cgroup)),
			   text_or_empty(take_ptr(t->labels.build)),
			   text_or_empty(take_ptr(t->labels.tags))},
		.began_on = text_or_empty(take_ptr(t->began_on)),
		.pid = t->pid,
		.start_wall_ns = t->start_wall_ns,
		.last_ns = t->last_ns,
		.position = t->position,
		.events = t->events,
		.recording_bytes = t->bytes,
		.in_use_bytes = t->in_use_bytes,
		.in_use_blocks = t->in_use_blocks,
		.incomplete = text_or_empty(take_ptr(t->incomplete)),
		.state = t->ended ? STREAM_ENDED
			 : live	  ? STREAM_LIVE
				  : STREAM_INTERRUPTED,
	};
}

static int listing_by_start(const void *a, const void *b)
{
	const struct stream_summary *x = a, *y = b;

	if (x->start_wall_ns != y->start_wall_ns)
		return x->start_wall_ns < y->start_wall_ns ? -1 : 1;
	return memcmp(x->id.bytes, y->id.bytes, sizeof(x->id.bytes));
}

static int by_id(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct stream_id));
}

static void listing_sum_up(struct store *store, const struct stream_id *id, struct totals *totals)
{
	cleanup(cleanup_free) char *path = stream_recording_path(store, id);

	if (path)
		recording_sum_up_of(path, totals, NULL);
}

/*
 * Tells whether the sums cover the whole recording, and not only the rows that were derived at some
 * time.
 */
static bool is_summed(const struct totals *t)
{
	return t->summed_up && t->summed_bytes == t->bytes;
}

/*
 * Completes the line of a stream that broke off. What else is missing was recorded while it was
 * growing.
 */
static void tell_break(struct totals *t)
{
	char line[COMPLETENESS_LINE];

	if (!completeness_broken_off(t->incomplete, t->last_ns, line))
		return;
	free(t->incomplete);
	t->incomplete = strdup(line);
}

/* A list that is being made. */
struct listing {
	struct store *store;
	struct stream_id *ids; /* sorted */
	bool *told;	       /* parallel to `ids`: already listed */
	size_t id_count;
	struct stream_id *snapshots;
	size_t snapshot_count;
	bool in_use;
	struct stream_summary *list;
	size_t count;
};

static void listing_add_line(struct listing *l, const struct stream_id *id, struct totals *totals,
			     bool live)
{
	struct stream_summary *line = &l->list[l->count++];

	summary_fill(line, id, totals, live);
	line->is_snapshot = stream_id_among(id, l->snapshots, l->snapshot_count);
}

/* Adds ended streams, which the catalogue knows completely, without reading their folders. */
static int add_known(void *context, const struct stream_id *id, struct totals *totals)
{
	struct listing *l = context;
	const struct stream_id *found = bsearch(id, l->ids, l->id_count, sizeof(*id), by_id);

	if (!found || !totals->ended || !is_summed(totals))
		return 0;
	l->told[found - l->ids] = true;
	listing_add_line(l, id, totals, false);
	return 0;
}

/* Tells whether the first frame has not arrived yet, or found no room on the disk. */
static bool is_empty(const struct listing *l, const struct stream_id *id,
		     const struct totals *totals)
{
	cleanup(cleanup_free) char *path =
		totals->bytes ? NULL : stream_recording_path(l->store, id);
	struct stat st;

	return path && stat(path, &st) == 0 && !st.st_size;
}

size_t store_list_left_out(const struct store *store)
{
	return store->left_out;
}

/* Adds the other streams. Unreadable ones are left out. If memory is short the list fails, because
 * it would be incomplete. */
static int add_others(struct listing *l)
{
	l->store->left_out = 0;
	for (size_t i = 0; i < l->id_count; i++) {
		struct totals totals = {0};
		bool live = false;
		int r = l->told[i] ? 1 : folder_totals(l->store, &l->ids[i], &totals, &live, NULL);

		if (r == -ENOMEM)
			return r;
		if (r) {
			l->store->left_out += r < 0;
			continue;
		}
		if (is_empty(l, &l->ids[i], &totals)) {
			totals_done(&totals);
			continue;
		}
		/*
		 * With a catalogue, the sums of a growing stream are a few seconds old, which is
		 * sufficient.
		 */
		if (l->in_use && !(live && l->store->catalogue) && !is_summed(&totals))
			listing_sum_up(l->store, &l->ids[i], &totals);
		else if (!live && !totals.ended)
			tell_break(&totals);
		listing_add_line(l, &l->ids[i], &totals, live);
		totals_done(&totals);
	}
	return 0;
}

static int make_list(struct listing *l, struct err_text *err)
{
	int r = listing_ids(l->store, &l->ids, &l->id_count, err);

	/*
	 * The list of snapshots may be damaged. Users of snapshots are told; streams can be listed
	 * without it.
	 */
	if (!r && store_snapshot_ids(l->store, &l->snapshots, &l->snapshot_count, NULL) == -ENOMEM)
		r = -ENOMEM;
	if (r < 0)
		return r;
	l->list = calloc(l->id_count + 1, sizeof(*l->list));
	l->told = calloc(l->id_count + 1, sizeof(*l->told));
	if (!l->list || !l->told)
		return -ENOMEM;
	qsort(l->ids, l->id_count, sizeof(*l->ids), by_id);
	catalogue_each(l->store->catalogue, add_known, l);
	r = add_others(l);
	qsort(l->list, l->count, sizeof(*l->list), listing_by_start);
	/* Without the collector's own tags, streams can still be listed. */
	if (!r && tag_rules_apply(l->store->path, l->list, l->count, NULL) == -ENOMEM)
		r = -ENOMEM;
	return r;
}

static int list_streams(struct store *store, bool in_use, struct stream_summary **ret_list,
			size_t *ret_count, struct err_text *err)
{
	struct listing l = {.store = store, .in_use = in_use};
	int r = make_list(&l, err);

	free(l.ids);
	free(l.told);
	free(l.snapshots);
	if (r < 0) {
		store_list_free(l.list, l.count);
		return r;
	}
	*ret_list = l.list;
	*ret_count = l.count;
	return 0;
}

struct stale {
	struct stream_id *ids;
	size_t count, capacity;
};

static int note_stale(void *context, const struct stream_id *id, struct totals *totals)
{
	struct stale *s = context;

	if (is_summed(totals) || s->count == s->capacity)
		return 0;
	s->ids[s->count++] = *id;
	return 0;
}

void store_sum_up_some(struct store *store, bool (*stop)(void *context), void *context)
{
	struct stream_id ids[STALE_MAX];
	struct stale stale = {.ids = ids, .capacity = STALE_MAX};

	catalogue_each(store->catalogue, note_stale, &stale);
	for (size_t i = 0; i < stale.count && !stop(context); i++) {
		struct totals totals = {0};
		bool live = false;

		if (folder_totals(store, &ids[i], &totals, &live, NULL) == 0 && !live &&
		    !is_summed(&totals)) {
			listing_sum_up(store, &ids[i], &totals);
			/* A writer that continues the stream meanwhile writes its own row. */
			if (is_summed(&totals) && folder_is_idle(store, &ids[i]))
				catalogue_put(store->catalogue, &ids[i], &totals, NULL);
		}
		totals_done(&totals);
	}
}

int store_list(struct store *store, struct stream_summary **ret_list, size_t *ret_count,
	       struct err_text *err)
{
	return list_streams(store, true, ret_list, ret_count, err);
}

int store_list_quickly(struct store *store, struct stream_summary **ret_list, size_t *ret_count,
		       struct err_text *err)
{
	return list_streams(store, false, ret_list, ret_count, err);
}

/* ---- finding ---- */

static int find_path(const char *name, char **ret_path, struct err_text *err)
{
	struct stat st;
	char *path;

	if (stat(name, &st) < 0)
		return err_set(err, -errno, "cannot open %s: %s", name, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		if (asprintf(&path, "%s/recording.heapcast", name) < 0)
			return -ENOMEM;
		if (access(path, F_OK) < 0) {
			free(path);
			return err_set(err, -EISDIR, "%s is a folder without a recording", name);
		}
	} else {
		path = strdup(name);
	}
	if (!path)
		return -ENOMEM;
	*ret_path = path;
	return 0;
}

/* Formats "ID (program), ID (program)..." for the newest streams whose ids begin with `prefix`. */
static void listing_describe(const struct stream_summary *list, size_t count, const char *prefix,
			     char *out, size_t size)
{
	size_t used = 0, shown = 0;

	out[0] = 0;
	for (size_t i = count; i-- && shown < SUGGESTIONS;) {
		char id[STREAM_ID_TEXT];
		int n;

		if (strncmp(stream_id_format(id, &list[i].id), prefix, strlen(prefix)))
			continue;
		n = snprintf(out + used, size - used, "%s%.12s (%.20s)", shown ? ", " : "", id,
			     list[i].name);
		if (n < 0 || used + (size_t)n >= size)
			break;
		used += (size_t)n;
		shown++;
	}
}

static int find_in_list(const struct store *store, const struct stream_summary *list, size_t count,
			const char *name, struct stream_id *ret_id, struct err_text *err)
{
	const struct stream_summary *match = NULL;
	size_t matches = 0;
	char known[256];

	while (!strcmp(name, "last") && count && list[count - 1].is_snapshot)
		count--;
	if (!count)
		return err_set(err, -ENOENT, "there is no recording in %s yet", store->path);
	if (!strcmp(name, "last")) {
		*ret_id = list[count - 1].id;
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		char id[STREAM_ID_TEXT];

		if (strncmp(stream_id_format(id, &list[i].id), name, strlen(name)))
			continue;
		match = &list[i];
		matches++;
	}
	if (matches == 1) {
		*ret_id = match->id;
		return 0;
	}
	listing_describe(list, count, matches ? name : "", known, sizeof(known));
	if (matches)
		return err_set(err, -EEXIST, "'%.40s' is the beginning of %zu streams' ids: %s",
			       name, matches, known);
	return err_set(err, -ENOENT, "no stream in %s is called '%.40s'; the newest are %s",
		       store->path, name, known);
}

static bool is_snapshot_name(const char *name)
{
	return !strncmp(name, SNAPSHOT_PREFIX, strlen(SNAPSHOT_PREFIX));
}

static int find_snapshot(struct store *store, const char *name, struct stream_id *ret_id,
			 enum stream_state *ret_state, struct err_text *err)
{
	cleanup(snapshot_done) struct snapshot snapshot = {0};
	int r = store_snapshot_get(store, name + strlen(SNAPSHOT_PREFIX), &snapshot, err);

	if (r < 0)
		return r;
	*ret_id = snapshot.stream;
	*ret_state = STREAM_ENDED;
	return 0;
}

bool store_name_is_path(const char *name)
{
	return !is_snapshot_name(name) && (strpbrk(name, "/.") || !access(name, F_OK));
}

/* Finds the stream's state. Returns false if the stream no longer exists. */
static bool state_of(struct store *store, const struct stream_id *id, enum stream_state *ret_state)
{
	struct totals totals = {0};
	bool live = false;

	if (folder_totals(store, id, &totals, &live, NULL) < 0)
		return false;
	*ret_state = totals.ended ? STREAM_ENDED : live ? STREAM_LIVE : STREAM_INTERRUPTED;
	totals_done(&totals);
	return true;
}

static bool find_last(struct store *store, struct stream_id *ret_id, enum stream_state *ret_state)
{
	cleanup(cleanup_free) struct stream_id *snapshots = NULL;
	struct stream_id ids[NEWEST];
	size_t snapshot_count = 0, count;

	if (store_snapshot_ids(store, &snapshots, &snapshot_count, NULL) < 0)
		return false;
	count = catalogue_newest(store->catalogue, ids, NEWEST);
	for (size_t i = 0; i < count; i++) {
		*ret_id = ids[i];
		if (!stream_id_among(&ids[i], snapshots, snapshot_count))
			return state_of(store, ret_id, ret_state);
	}
	return false;
}

/*
 * Searches only the catalogue. Returns false if the catalogue cannot tell, and all folders have to
 * be read.
 */
static bool find_quickly(struct store *store, const char *name, struct stream_id *ret_id,
			 enum stream_state *ret_state)
{
	struct stream_id ids[2];

	if (!strcmp(name, "last"))
		return find_last(store, ret_id, ret_state);
	if (strspn(name, "0123456789abcdef") != strlen(name) ||
	    catalogue_find(store->catalogue, name, ids, 2) != 1)
		return false;
	*ret_id = ids[0];
	return state_of(store, ret_id, ret_state);
}

int store_find_id(struct store *store, const char *name, struct stream_id *ret_id,
		  enum stream_state *ret_state, struct err_text *err)
{
	struct stream_summary *list;
	size_t count;
	int r;

	if (!*name)
		return err_set(err, -ENOENT, "an empty name is no stream");
	if (is_snapshot_name(name))
		return find_snapshot(store, name, ret_id, ret_state, err);
	if (find_quickly(store, name, ret_id, ret_state))
		return 0;
	r = list_streams(store, false, &list, &count, err);
	if (r < 0)
		return r;
	r = find_in_list(store, list, count, name, ret_id, err);
	for (size_t i = 0; !r && i < count; i++)
		if (!memcmp(&list[i].id, ret_id, sizeof(*ret_id)))
			*ret_state = list[i].state;
	store_list_free(list, count);
	return r;
}

int store_find(struct store *store, const char *name, char **ret_path, struct err_text *err)
{
	enum stream_state state;
	struct stream_id id;
	int r;

	if (!store || store_name_is_path(name))
		return find_path(name, ret_path, err);
	r = store_find_id(store, name, &id, &state, err);
	if (r < 0)
		return r;
	*ret_path = stream_recording_path(store, &id);
	return *ret_path ? 0 : -ENOMEM;
}
