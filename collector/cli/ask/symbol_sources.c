/* Opens symbols as the options say. See symbol_sources.h. */
#include "collector/cli/ask/symbol_sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

#define NS_PER_S 1000000000ull

static const char **terminated(const struct option_list *list)
{
	const char **texts = calloc(list->count + 1, sizeof(*texts));

	for (size_t i = 0; texts && i < list->count; i++)
		texts[i] = list->texts[i];
	return texts;
}

int symbol_sources_init(struct symbol_sources *sources, const struct symbol_choice *choice)
{
	*sources = (struct symbol_sources){
		.folders = terminated(&choice->folders),
		.servers = terminated(&choice->servers),
		.seconds = (choice->timeout_ns + NS_PER_S - 1) / NS_PER_S,
	};
	if (sources->folders && sources->servers)
		return 0;
	symbol_sources_close(sources);
	return -ENOMEM;
}

int symbol_sources_open(struct symbol_sources *sources, const char *data,
			const struct symbol_choice *choice, struct symbols **ret_symbols,
			struct err_text *err)
{
	cleanup(cleanup_free) char *files = NULL;
	struct symbols_options options = {0};
	int r = symbol_sources_init(sources, choice);

	if (r < 0)
		return r;
	options.folders = sources->folders;
	options.debuginfod = sources->servers;
	options.debuginfod_seconds = sources->seconds;
	if (asprintf(&files, "%s/" STORE_SYMBOLS, data) < 0) {
		files = NULL;
		return -ENOMEM;
	}
	if (!store_open(data, STORE_READ, &sources->store, NULL))
		options.cache = store_symbol_cache(sources->store);
	/* Symbol files may have been added to a folder that has no stream yet. */
	if (sources->store || !access(files, F_OK))
		options.store = files;
	return symbols_new(&options, ret_symbols, err);
}

void symbol_sources_close(struct symbol_sources *sources)
{
	store_close(sources->store);
	free(sources->folders);
	free(sources->servers);
	*sources = (struct symbol_sources){0};
}
