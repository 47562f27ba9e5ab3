/* What names a shared snapshot. See shared_called.h. */
#include "collector/share/shared_called.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "collector/share/collectors.h"

#include "base/ban.h"

#define ID_DIGITS_MIN	8
#define ID_DIGITS_SHOWN 12

struct calling {
	const struct shared_snapshots *snapshots;
	struct shared_collector *collectors;
	size_t collector_count;
};

static void calling_done(struct calling *c)
{
	shared_collectors_free(c->collectors, c->collector_count);
}

static int calling_init(struct calling *c, struct clickhouse *client,
			const struct shared_snapshots *snapshots, struct err_text *err)
{
	*c = (struct calling){.snapshots = snapshots};
	return shared_collectors(client, &c->collectors, &c->collector_count, err);
}

/* Returns the host of a snapshot's collector. */
static const char *host_of(const struct calling *c, size_t i)
{
	const struct shared_collector *owner =
		shared_collector_find(c->collectors, c->collector_count, c->snapshots->owners[i]);

	return owner ? owner->name : "";
}

/* Marks those that are not the newest of their name in their collector. Snapshots come in the order
 * in which they were taken. */
static int mark_replaced(const struct shared_snapshots *s, bool *replaced)
{
	struct intern keys = {0};
	struct map newest = {0};
	int r = 0;

	for (size_t i = s->count; !r && i-- > 0;) {
		uint32_t name = intern_text(&keys, s->list[i].name),
			 key = name ? intern_pair(&keys, name, s->owners[i]) : 0;
		bool new = false;

		if (!key || !map_put(&newest, key, &new))
			r = -ENOMEM;
		replaced[i] = !new;
	}
	intern_done(&keys);
	map_done(&newest);
	return r;
}

/* ---- finding one ---- */

static bool has_name(const struct calling *c, size_t i, const char *name)
{
	const char *host = strchr(name, '@');
	size_t length = host ? (size_t)(host - name) : strlen(name);

	return strlen(c->snapshots->list[i].name) == length &&
	       !memcmp(c->snapshots->list[i].name, name, length) &&
	       (!host || !strcmp(host_of(c, i), host + 1));
}

static bool has_id(const struct calling *c, size_t i, const char *digits)
{
	char id[STREAM_ID_TEXT];

	stream_id_format(id, &c->snapshots->list[i].stream);
	return strlen(digits) >= ID_DIGITS_MIN && !strncmp(id, digits, strlen(digits));
}

static size_t find_all(const struct calling *c, const bool *replaced, const char *name, bool by_id,
		       size_t *ret_found)
{
	size_t count = 0;

	for (size_t i = 0; i < c->snapshots->count; i++) {
		if (by_id ? !has_id(c, i, name) : replaced[i] || !has_name(c, i, name))
			continue;
		*ret_found = i;
		count++;
	}
	return count;
}

/* "board1 (snapshot 0123456789ab), board2 (snapshot ba9876543210)" */
static void list_owners(struct buf *out, const struct calling *c, const bool *replaced,
			const char *name, bool by_id)
{
	char id[STREAM_ID_TEXT];
	bool any = false;

	for (size_t i = 0; i < c->snapshots->count; i++) {
		if (by_id ? !has_id(c, i, name) : replaced[i] || !has_name(c, i, name))
			continue;
		buf_printf(out, "%s%.100s (%.*s)", any ? ", " : "", host_of(c, i), ID_DIGITS_SHOWN,
			   stream_id_format(id, &c->snapshots->list[i].stream));
		any = true;
	}
}

static int several(const struct calling *c, const bool *replaced, const char *name, bool by_id,
		   struct err_text *err)
{
	cleanup(buf_done) struct buf owners = {0};

	list_owners(&owners, c, replaced, name, by_id);
	return err_set(err, -EEXIST, "several collectors have a snapshot '%.80s': %.300s. %s", name,
		       buf_text(&owners) ? buf_text(&owners) : "?",
		       by_id		   ? "More digits of an id name one"
		       : strchr(name, '@') ? "An id names one"
					   : "NAME@HOST, or an id, names one");
}

int shared_snapshots_find(struct clickhouse *client, const struct shared_snapshots *snapshots,
			  const char *name, size_t *ret_found, struct err_text *err)
{
	cleanup(calling_done) struct calling c = {0};
	cleanup(cleanup_free) bool *replaced = calloc(snapshots->count + 1, sizeof(*replaced));
	bool by_id = false;
	size_t count;
	int r = calling_init(&c, client, snapshots, err);

	if (!r)
		r = replaced ? mark_replaced(snapshots, replaced) : -ENOMEM;
	if (r < 0)
		return r;
	count = find_all(&c, replaced, name, false, ret_found);
	if (!count) {
		by_id = true;
		count = find_all(&c, replaced, name, true, ret_found);
	}
	if (count > 1)
		return several(&c, replaced, name, by_id, err);
	return count ? 0
		     : err_set(err, -ENOENT,
			       "no snapshot in the shared store is called '%.80s': 'collector "
			       "snapshot list --store URL' shows what there is",
			       name);
}

/* ---- calling all ---- */

/* Writes how many snapshots have each key that names one; older ones of the same collector do not
 * count. */
static int count_names(const struct calling *c, const bool *replaced, struct intern *keys,
		       struct map *counts, bool by_host)
{
	for (size_t i = 0; i < c->snapshots->count; i++) {
		uint32_t name = intern_text(keys, c->snapshots->list[i].name),
			 host = by_host ? intern_text(keys, host_of(c, i)) : 1,
			 key = name && host ? intern_pair(keys, name, host) : 0;
		uint64_t *count = key && !replaced[i] ? map_put(counts, key, NULL) : NULL;

		if (!key || (!count && !replaced[i]))
			return -ENOMEM;
		if (count)
			++*count;
	}
	return 0;
}

static bool is_alone(const struct calling *c, size_t i, struct intern *keys,
		     const struct map *counts, bool by_host)
{
	uint32_t name = intern_text(keys, c->snapshots->list[i].name),
		 host = by_host ? intern_text(keys, host_of(c, i)) : 1,
		 key = name && host ? intern_pair(keys, name, host) : 0;
	const uint64_t *count = key ? map_get(counts, key) : NULL;

	return count && *count == 1;
}

static int call(struct snapshot *s, const char *host)
{
	char id[STREAM_ID_TEXT];
	int n = host ? asprintf(&s->called, "%s@%s", s->name, host)
		     : asprintf(&s->called, "%.*s", ID_DIGITS_SHOWN,
				stream_id_format(id, &s->stream));

	if (n < 0)
		s->called = NULL;
	return n < 0 ? -ENOMEM : 0;
}

static int call_all(const struct calling *c, const bool *replaced, struct intern *keys,
		    const struct map *names, const struct map *hosts)
{
	int r = 0;

	for (size_t i = 0; !r && i < c->snapshots->count; i++) {
		struct snapshot *s = &c->snapshots->list[i];

		if (replaced[i])
			r = call(s, NULL);
		else if (!is_alone(c, i, keys, names, false))
			r = call(s, is_alone(c, i, keys, hosts, true) ? host_of(c, i) : NULL);
	}
	return r;
}

int shared_snapshots_call(struct clickhouse *client, struct shared_snapshots *snapshots,
			  struct err_text *err)
{
	cleanup(calling_done) struct calling c = {0};
	cleanup(cleanup_free) bool *replaced = calloc(snapshots->count + 1, sizeof(*replaced));
	struct intern keys = {0};
	struct map names = {0}, hosts = {0};
	int r = calling_init(&c, client, snapshots, err);

	if (!r)
		r = replaced ? mark_replaced(snapshots, replaced) : -ENOMEM;
	if (!r)
		r = count_names(&c, replaced, &keys, &names, false);
	if (!r)
		r = count_names(&c, replaced, &keys, &hosts, true);
	if (!r)
		r = call_all(&c, replaced, &keys, &names, &hosts);
	intern_done(&keys);
	map_done(&names);
	map_done(&hosts);
	return r;
}
