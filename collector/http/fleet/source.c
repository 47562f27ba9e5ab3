/* Opens what questions about the fleet read from. See source.h. */
#include "collector/http/fleet/source.h"

#include <errno.h>
#include <uv.h>

#include "collector/catalogue/store.h"
#include "collector/clickhouse/client.h"
#include "collector/fleet/source.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/sources.h"
#include "collector/share/shared_fleet.h"
#include "collector/share/shared_open.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

typedef int fleet_asker(struct asking *a, const struct fleet_source *source);

static int of_recordings(struct asking *a, fleet_asker *ask)
{
	struct symbols *symbols = NULL;
	struct store *store = NULL;
	int r = sources_open_symbols(a->x->sources, &store, &symbols, &a->x->err);

	if (!r && store) {
		struct fleet_recordings recordings = {store, symbols};
		struct fleet_source source = fleet_source_recordings(&recordings);

		r = ask(a, &source);
	}
	symbols_free(symbols);
	store_close(store);
	return r;
}

/* A failure that takes so long is kept for those who wait meanwhile. */
#define SLOW_NS 500000000u

int fleet_open_shared(struct exchange *x, uint64_t question_ms, uint64_t since_ns,
		      struct clickhouse **ret_client, struct err_text *err)
{
	uint64_t begun_ns = uv_hrtime();
	int r = sources_shared_failed(x->sources, since_ns, err);

	if (r)
		return r;
	r = shared_open_for(sources_shared(x->sources), question_ms, &x->cancelled, ret_client,
			    err);
	if ((r == -ETIMEDOUT || r == -EHOSTUNREACH) && uv_hrtime() - begun_ns > SLOW_NS)
		sources_shared_fail(x->sources, r, err);
	return r;
}

static int of_shared(struct asking *a, fleet_asker *ask)
{
	struct clickhouse *client = NULL;
	int r = fleet_open_shared(a->x, QUESTION_MS, a->x->begun_ns, &client, &a->x->err);

	if (!r) {
		struct fleet_source source = fleet_source_shared(client);

		r = ask(a, &source);
	}
	clickhouse_close(client);
	return r;
}

int fleet_asked_of_source(struct asking *a, fleet_asker *ask)
{
	return sources_shared(a->x->sources) ? of_shared(a, ask) : of_recordings(a, ask);
}
