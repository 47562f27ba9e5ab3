/* Questions about a recording that another collector has. See routes.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <uv.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collector/answers/json.h"
#include "collector/catalogue/snapshots.h"
#include "collector/clickhouse/client.h"
#include "collector/http/fleet/source.h"
#include "collector/http/routes/values.h"
#include "collector/http/server/exchange.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/share/share_number.h"
#include "collector/share/shared_open.h"
#include "collector/share/shared_place.h"

#include "base/ban.h"

DEFINE_CLEANUP(clickhouse_close, struct clickhouse *)

/* For so long after it did not answer, nobody waits for it again. */
#define AGAIN_NS 10000000000u

/* Returns the name of the snapshot that is asked about, or NULL. */
static const char *snapshot_name(const struct exchange *x)
{
	return strncmp(x->id, SNAPSHOT_PREFIX, strlen(SNAPSHOT_PREFIX)) != 0
		       ? NULL
		       : x->id + strlen(SNAPSHOT_PREFIX);
}

static int find_place(struct exchange *x, struct shared_place *place, struct err_text *err)
{
	cleanup(cleanup_clickhouse_close) struct clickhouse *client = NULL;
	uint64_t now = uv_hrtime();
	int r = fleet_open_shared(x, LOOK_UP_MS, now > AGAIN_NS ? now - AGAIN_NS : 0, &client, err);

	if (r < 0)
		return r;
	return snapshot_name(x) ? shared_place_find_snapshot(client, snapshot_name(x), place, err)
				: shared_place_find(client, x->id, place, err);
}

static bool is_ours(const struct exchange *x, const struct shared_place *place)
{
	const char *data = sources_data(x->sources);

	return data && share_number_read(data) == place->collector;
}

/*
 * Appends the path and the parameters of the request. The client sends the body of a POST again. A
 * snapshot is called by its id there: NAME@HOST is no name in the folder of its collector, and NAME
 * may be another one there by then.
 */
static void put_target(struct buf *to, const struct exchange *x, const struct shared_place *place)
{
	const struct request *asked = &x->request;

	if (snapshot_name(x))
		buf_printf(to, "/data/%s", place->id);
	encode_path(to, snapshot_name(x) ? asked->path + strlen("/data/") + strlen(x->id)
					 : asked->path);
	for (size_t i = 0; i < asked->parameter_count; i++) {
		buf_byte(to, i ? '&' : '?');
		encode_parameter(to, &asked->parameters[i]);
	}
}

/* Status 307 (RFC 9110, 15.4.8): the client asks the same of the other collector, with the token
 * that it has for that one. */
static int send_there(struct exchange *x, const struct shared_place *place)
{
	cleanup(buf_done) struct buf location = {0};
	struct json json;

	buf_string(&location, place->address);
	put_target(&location, x, place);
	buf_byte(&location, 0);
	if (buf_error(&location))
		return buf_error(&location);
	x->location = strdup((const char *)location.data);
	if (!x->location)
		return -ENOMEM;
	x->status = 307;
	x->content_type = "application/json";
	json_init(&json, &x->out);
	json_object(&json, NULL);
	json_string(&json, "collector", place->name);
	json_string(&json, "collector_address", place->address);
	json_end(&json, '}');
	buf_byte(&x->out, '\n');
	return buf_error(&x->out);
}

static const char *what(const struct exchange *x)
{
	return snapshot_name(x) ? "snapshot" : "recording";
}

static int say_away(struct exchange *x, const struct shared_place *place)
{
	time_t seconds = (time_t)(place->away_since_ns / 1000000000u);
	char since[32] = "?";
	struct tm parts;

	if (gmtime_r(&seconds, &parts))
		strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", &parts);
	return err_set(&x->err, -EHOSTUNREACH, "the %s is on %s, away since %s", what(x),
		       place->name, since);
}

static int say_gone(struct exchange *x, const struct shared_place *place)
{
	return err_set(&x->err, -ENOENT,
		       "the %s %s is no longer here; its sums are in the shared store (%s)",
		       what(x), place->id,
		       snapshot_name(x) ? "heapcast snapshot show --store" : "/fleet");
}

/* A snapshot of this collector may have been asked about by NAME@HOST, which is no name in its
 * folder. */
static int take_ours(struct exchange *x, const struct shared_place *place)
{
	struct err_text err = {0};
	int r = -ENOENT;

	if (snapshot_name(x)) {
		r = sources_take(x->sources, place->id, &x->source, &x->find_ns, &err);
		if (r != -ENOENT)
			snprintf(x->id, sizeof(x->id), "%s", place->id);
	}
	return r == -ENOENT ? say_gone(x, place) : r < 0 ? err_set(&x->err, r, "%s", err.text) : r;
}

/* Whoever follows such an address comes back, again and again. */
static bool leads_here(const struct exchange *x, const struct shared_place *place)
{
	const char *host = strstr(place->address, "://");

	return host && *x->host && !strcasecmp(host + strlen("://"), x->host);
}

static int say_circle(struct exchange *x, const struct shared_place *place)
{
	return err_set(&x->err, -ENOENT,
		       "the %s is on %s, and the address of that one's page, %s, leads here: its "
		       "--page-address is wrong",
		       what(x), *place->name ? place->name : "a collector that is not known",
		       place->address);
}

static int say_place(struct exchange *x, const struct shared_place *place)
{
	if (is_ours(x, place))
		return take_ours(x, place);
	if (place->away_since_ns)
		return say_away(x, place);
	if (leads_here(x, place))
		return say_circle(x, place);
	if (*place->address)
		return send_there(x, place);
	return err_set(&x->err, -ENOENT,
		       "the %s is on %s, whose page has no address for others (gather "
		       "--page-address gives it one)",
		       what(x), *place->name ? place->name : "a collector that is not known");
}

int elsewhere_find(struct exchange *x)
{
	struct shared_place place = {0};
	struct err_text err = {0};
	int r;

	if (!sources_shared(x->sources))
		return -ENOENT;
	r = find_place(x, &place, &err);
	if (r == -ENOENT && !snapshot_name(x))
		return r;
	if ((r == -ENOENT || r == -EEXIST) && snapshot_name(x))
		return err_set(&x->err, r, "%s", err_get(&err, r));
	if (r < 0) /* perhaps another collector has it */
		return err_set(&x->err, r,
			       "the recording %s is not here, and which collector has it "
			       "can't be found out: %s",
			       x->id, err_get(&err, r));
	r = say_place(x, &place);
	shared_place_done(&place);
	return r;
}
