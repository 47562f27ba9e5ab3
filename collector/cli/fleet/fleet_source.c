/* Where `collector fleet` reads from. See fleet_source.h. */
#include "collector/cli/fleet/fleet_source.h"

#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/catalogue/store.h"
#include "collector/cli/progress.h"
#include "collector/cli/terminal.h"
#include "collector/clickhouse/client.h"
#include "collector/fleet/clocks.h"
#include "collector/fleet/source.h"
#include "collector/query/query.h"
#include "collector/share/shared_fleet.h"
#include "collector/share/shared_open.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

DEFINE_CLEANUP(store_close, struct store *)
DEFINE_CLEANUP(site_rules_free, struct site_rules *)

#define LEFT_OUT_SHOWN 5 /* boards */

typedef int fleet_asker(const struct fleet_source *source, const struct fleet_options *o,
			const struct site_rules *rules, void *ret, struct err_text *err);

const char *fleet_time_text(char out[32], uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	bool minutes = seconds % 60 == 0;
	struct tm tm;

	if (!localtime_r(&seconds, &tm) ||
	    !strftime(out, 32, minutes ? "%Y-%m-%d %H:%M" : "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(out, 32, "?");
	return out;
}

void fleet_left_out_print(const struct fleet_clocks *c)
{
	char streams[FORMAT_COUNTED];

	for (uint32_t i = 0; i < c->count && i < LEFT_OUT_SHOWN; i++)
		terminal_say(STYLE_YELLOW, 0, "%s left out: %s",
			     format_counted(streams, c->list[i].streams, "stream"), c->list[i].why);
	if (c->count > LEFT_OUT_SHOWN)
		terminal_say(STYLE_YELLOW, 0,
			     "%u more boards left out, whose clocks are wrong (--json names them)",
			     c->count - LEFT_OUT_SHOWN);
}

void fleet_progress(void *context, uint64_t done, uint64_t of)
{
	static char what[] = "reading streams";

	(void)context;
	progress_show(what, done, of);
}

static int ask_recordings(const struct fleet_options *o, fleet_asker *ask,
			  const struct site_rules *rules, void *ret, struct err_text *err)
{
	struct symbol_sources sources = {0};
	cleanup(cleanup_store_close) struct store *store = NULL;
	struct symbols *symbols = NULL;
	int r = store_open(o->common.data, STORE_READ, &store, err);

	if (!r)
		r = symbol_sources_open(&sources, o->common.data, &o->symbols, &symbols, err);
	if (!r) {
		struct fleet_recordings recordings = {store, symbols};
		struct fleet_source source = fleet_source_recordings(&recordings);

		r = ask(&source, o, rules, ret, err);
	}
	symbols_free(symbols);
	symbol_sources_close(&sources);
	return r;
}

static int ask_shared(const struct fleet_options *o, fleet_asker *ask,
		      const struct site_rules *rules, void *ret, struct err_text *err)
{
	struct clickhouse *client = NULL;
	int r = shared_open(o->store, NULL, &client, err);

	if (!r) {
		struct fleet_source source = fleet_source_shared(client);

		r = ask(&source, o, rules, ret, err);
	}
	clickhouse_close(client);
	return r;
}

int fleet_source_ask(const struct fleet_options *o, fleet_asker *ask, void *ret,
		     struct err_text *err)
{
	cleanup(cleanup_site_rules_free) struct site_rules *rules = NULL;
	int r = o->hide_rules ? site_rules_read(o->hide_rules, &rules, err) : 0;

	if (r < 0)
		return r;
	return command_store(&o->common, o->store) ? ask_shared(o, ask, rules, ret, err)
						   : ask_recordings(o, ask, rules, ret, err);
}
