/* Opens what questions about the fleet read from. See source.h. */
#include "collector/http/fleet/source.h"

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

static int of_shared(struct asking *a, fleet_asker *ask)
{
	struct clickhouse *client = NULL;
	int r = shared_open(sources_shared(a->x->sources), &a->x->cancelled, &client, &a->x->err);

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
