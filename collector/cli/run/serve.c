/* collector serve, collector page: serve the REST API and the page until Ctrl-C. `page` also opens
 * it in the browser. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/command.h"
#include "collector/cli/commands.h"
#include "collector/cli/last.h"
#include "collector/cli/run/endpoint.h"
#include "collector/cli/ask/symbol_sources.h"
#include "collector/cli/progress.h"
#include "collector/http/server/http.h"
#include "collector/query/query.h"

#include "base/ban.h"

#define USUAL_PORT 8080

struct serve_options {
	struct common_options common;
	struct http_choice http;
	struct symbol_choice symbols;
	const char *hide_rules, *store;
};

static void wait_for_the_end(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t set;
	int signal_number;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	sigwait(&set, &signal_number);
}

/* Blocks the signals before any thread starts, so that they interrupt no thread. */
static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Opens the address in the browser, if there is one. Leaves out the token, which other users could
 * read among the arguments of processes. The page says where it needs the token. */
static void serve_show(const char *url)
{
	char plain[256];
	const char *browser = getenv("BROWSER");
	const char *const argv[] = {browser && *browser ? browser : "xdg-open", plain, NULL};
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;

	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY") && !(browser && *browser))
		return;
	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(url, "#"), url);
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	if (posix_spawnp(&pid, argv[0], NULL, &attributes, (char *const *)(uintptr_t)argv, environ))
		printf("No browser was found (%s): open the address yourself.\n", argv[0]);
	posix_spawnattr_destroy(&attributes);
}

/* Starts the server. If its port is taken, `page` uses another one. */
static int serve_start(const struct command_call *call, struct http_options *options,
		       struct http **ret_http, struct err_text *err)
{
	int r = http_start(options, ret_http, err);

	if (r != -EADDRINUSE || call->command != &command_page || options->port != USUAL_PORT)
		return r;
	options->port = 0;
	err->text[0] = '\0';
	return http_start(options, ret_http, err);
}

/* Returns the folders whose source files may be shown. The person who looks at the page has started
 * `page`, mostly in the folder of the sources, so it shows the files below that folder. In / it
 * shows none, because they would be all files of the machine. */
static const char *const *serve_sources(const struct command_call *call,
					const struct http_place *place)
{
	static const char *const here[] = {".", NULL};
	cleanup(cleanup_free) char *folder = realpath(".", NULL);
	bool named = place->sources[0] != NULL;

	if (named || call->command != &command_page || !folder || !strcmp(folder, "/"))
		return place->sources;
	return here;
}

static int serve(struct command_call *call, const struct symbol_sources *symbols,
		 const struct http_place *place)
{
	const struct serve_options *o = call->options;
	static char reading[] = "reading the recordings";
	struct http_options options = {
		.address = place->host,
		.port = place->port,
		.token = place->token,
		.tls_cert = place->tls_cert,
		.tls_key = place->tls_key,
		.allow_hosts = place->allow_hosts,
		.source_folders = serve_sources(call, place),
		.store = o->store && *o->store ? o->store : NULL, /* HEAPCAST_STORE= */
		.data = access(o->common.data, F_OK) == 0 ? o->common.data : NULL,
		.files = (const char *const *)call->arguments,
		.symbol_folders = symbols->folders,
		.debuginfod = symbols->servers,
		.debuginfod_seconds = symbols->seconds,
		.progress = progress_show,
		.progress_context = reading,
	};
	struct err_text err = {0};
	struct site_rules *rules = NULL;
	struct http *http = NULL;
	int r;

	if (!options.data && !call->argument_count && !options.store)
		return command_usage_error(
			call->command,
			"there is no folder %s and no FILE was given: --data DIR names the folder "
			"that 'collector gather' fills",
			o->common.data);
	r = o->hide_rules ? site_rules_read(o->hide_rules, &rules, &err) : 0;
	options.rules = rules;
	if (!r) {
		hold_signals();
		r = serve_start(call, &options, &http, &err);
	}
	if (r < 0) {
		site_rules_free(rules);
		return r == -EPERM ? command_usage_error(call->command, "%s", err_get(&err, r))
				   : command_input_fault(call->command, r, &err);
	}
	printf("Serving %s\n", http_url(http));
	if (call->command == &command_page)
		serve_show(http_url(http));
	if (isatty(STDOUT_FILENO))
		printf("Ctrl-C ends.\n");
	fflush(stdout);
	wait_for_the_end();
	http_stop(http);
	site_rules_free(rules);
	return EXIT_DONE;
}

/* Finds the newest recording of this folder, which is shown beside those of the data folder if no
 * argument is given. */
static int page_last(struct command_call *call, char **newest, struct err_text *err)
{
	const struct serve_options *o = call->options;
	int r = last_find(o->common.data, o->common.data_only, newest, err);

	if (!r && !strchr(*newest, '/')) /* a file here; a stream lies in a folder */
		call->arguments[call->argument_count++] = *newest;
	return r;
}

static int serve_run(struct command_call *call)
{
	const struct serve_options *o = call->options;
	struct symbol_sources symbols;
	cleanup(cleanup_free) char **files =
		calloc((size_t)call->argument_count + 1, sizeof(*files));
	struct http_place place;
	cleanup(cleanup_free) char *newest = NULL;
	struct err_text err = {0};
	int r = 0;

	if (!files)
		return command_fault(call->command, -ENOMEM, NULL);
	for (int i = 0; i < call->argument_count; i++)
		files[i] = call->arguments[i];
	call->arguments = files;
	if (call->command == &command_page && !call->argument_count)
		r = page_last(call, &newest, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	r = http_place_read(&o->http, &place, &err);
	if (r < 0)
		return command_usage_error(call->command, "%s", err_get(&err, r));
	if (symbol_sources_init(&symbols, &o->symbols) < 0)
		return command_fault(call->command, -ENOMEM, NULL);
	r = serve(call, &symbols, &place);
	symbol_sources_close(&symbols);
	return r;
}

static const struct option serve_table[] = {
	HTTP_OPTIONS(struct serve_options, http, "where to listen (127.0.0.1:8080)"),
	STORE_OPTION(struct serve_options, store),
	SYMBOL_OPTIONS(struct serve_options, symbols),
	OPTION_TEXT(struct serve_options, hide_rules, "hide-rules", "FILE",
		    "functions that only pass allocations on, beside the ones that are known"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, serve_table}, {"Common options", data_table}, {0}};

static const struct serve_options defaults = {.common.data = DEFAULT_DATA,
					      .http.http = "127.0.0.1:8080"};

const struct command command_serve = {
	.name = "serve",
	.summary = "REST API and page for the browser",
	.usage = "[OPTION...] [FILE...]",
	.about =
		"Serves the streams of the data folder, while they grow, and the recordings named\n"
		"as FILE: the page for the browser, and the REST API. Ctrl-C ends it.\n",
	.examples = "  collector serve\n"
		    "  collector serve --http 127.0.0.1:9000 heapcast_app_1700000000_42.heapcast\n"
		    "  curl 'http://localhost:8080/data/last/allocations?sort_by=size&count=3'\n",
	.groups = groups,
	.options_size = sizeof(struct serve_options),
	.defaults = &defaults,
	.arguments_max = -1,
	.run = serve_run,
};

const struct command command_page = {
	.name = "page",
	.summary = "opens the page in the browser",
	.usage = "[OPTION...] [FILE...]",
	.about = "Serves the page on this machine, as serve does, and opens it in the browser\n"
		 "($BROWSER, else xdg-open). Without FILE it shows the newest recording in this\n"
		 "folder and those of the data folder. Source files are those below this folder,\n"
		 "or below the folders of --source. Ctrl-C ends it.\n",
	.examples = "  collector page\n"
		    "  collector page heapcast_app_1700000000_42.heapcast\n",
	.groups = groups,
	.options_size = sizeof(struct serve_options),
	.defaults = &defaults,
	.arguments_max = -1,
	.run = serve_run,
};
