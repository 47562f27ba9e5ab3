/* collector gather: finds agents, stores what they send, and reports what happens. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "base/cli/program.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/catalogue/store.h"
#include "collector/cli/build_id.h"
#include "collector/cli/commands.h"
#include "collector/cli/run/endpoint.h"
#include "collector/cli/run/gather_files.h"
#include "collector/cli/run/gather_pairs.h"
#include "collector/cli/run/gather_ready.h"
#include "collector/cli/run/gather_share.h"
#include "collector/cli/run/key_options.h"
#include "collector/http/server/http.h"
#include "collector/ingest/ingest.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

#define NOBODY_MS    10000
#define PROGRESS_MS  500
#define MAPPED_BYTES (128 << 10) /* malloc maps larger blocks, and can return them */
#define ARENAS_MAX   4
/* Below this memory limit nothing could be derived. */
#define MEMORY_LEAST  (4u << 20)
#define IMPORT_MEMORY (512u << 20) /* minimum for a file that is dropped on the page */
#define AS_MANY	      UINT64_MAX   /* agents: as many as there is room for */
#define NEVER	      UINT64_MAX

struct gather_options {
	struct common_options common;
	uint64_t for_ns, keep_ns, keep_bytes, compress_after_ns, store_keep_ns, memory_limit,
		agents_max;
	bool once, quiet, fetch_symbols;
	const char *interface, *listen, *store, *page_address;
	struct http_choice http;
	bool no_discovery;
	struct key_choice keys;
};

struct gather {
	const struct gather_options *options;
	struct ingest *ingest;
	uv_loop_t loop;
	uv_signal_t interrupt, terminate;
	uv_timer_t until, nobody, progress;
	bool found, told_nobody, stopping, terminal, line_open;
	struct stream_id first; /* --once: the stream whose end is awaited */
	bool has_first;
	struct gather_files files;
	struct gather_ready ready;
	struct gather_pairs pairs;
	struct gather_share *share;
};

/* ---- messages ---- */

static void gather_clear_line(struct gather *g)
{
	if (g->line_open)
		fprintf(stderr, "\r\033[K");
	g->line_open = false;
}

static const char *gather_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void say_stream(const struct ingest_event *e, const char *what)
{
	char id[STREAM_ID_TEXT], events[32], size[32];

	stream_id_format(id, e->stream);
	printf("%.12s  %s (pid %u)  %s", id, gather_base_name(e->executable), e->pid, what);
	if (e->events || e->bytes)
		printf("  %s events, %s", format_count(events, e->events),
		       format_size(size, (double)e->bytes));
	putchar('\n');
}

static void say_file(const struct ingest_event *e)
{
	char id[BUILD_ID_TEXT];

	build_id_format(id, e->file->build_id, e->file->build_id_length);
	if (e->complete)
		program_printf(stdout, "symbol file %s came%s%s\n", id, *e->text ? "; " : "",
			       e->text);
	else
		program_printf(stdout, "no symbol file %s: %s\n", id, e->text);
}

static void gather_say(struct gather *g, const struct ingest_event *e)
{
	if (e->kind == INGEST_WARNING) {
		program_printf(stderr, "collector gather: %s\n", e->text);
		return;
	}
	if (g->options->quiet)
		return;
	switch (e->kind) {
	case INGEST_FOUND:
		printf("found an agent at %s\n", e->address);
		break;
	case INGEST_CONNECTED:
		printf("connected to %s (%s, version %s%s)\n", e->address, e->host, e->version,
		       e->key && *e->key ? ", by its key" : "");
		break;
	case INGEST_DISCONNECTED:
		program_printf(stdout, "disconnected from %s: %s\n", e->address, e->text);
		break;
	case INGEST_STREAM_BEGAN:
		say_stream(e, e->complete ? "is here already" : e->events ? "goes on" : "began");
		break;
	case INGEST_STREAM_ENDED:
		if (!e->complete)
			say_stream(e, "ended");
		break;
	case INGEST_STREAM_LEFT:
		say_stream(e, "left; it goes on if its agent comes back");
		break;
	case INGEST_FILE:
		say_file(e);
		break;
	default:
		break;
	}
	fflush(stdout);
}

static void on_progress(uv_timer_t *timer)
{
	struct gather *g = timer->data;
	struct ingest_totals t = ingest_totals(g->ingest);
	char events[32], size[32];

	if (!t.links)
		return;
	fprintf(stderr, "\r%u agents, %u live streams, %s events, %s", t.links, t.live_streams,
		format_count(events, t.events), format_size(size, (double)t.bytes));
	if (t.turned_away)
		fprintf(stderr, ", %u agents without a place", t.turned_away);
	fprintf(stderr, "\033[K");
	fflush(stderr);
	g->line_open = true;
}

static void say_nobody(struct gather *g)
{
	struct ingest_totals t = ingest_totals(g->ingest);

	if (g->found || g->told_nobody)
		return;
	g->told_nobody = true;
	gather_clear_line(g);
	program_printf(
		stderr,
		"No agent has been found. Listening on %s.\n"
		"Check that:\n"
		"  - the program runs under 'agent run --announce -- CMD', or an 'agent serve' "
		"runs on the board;\n"
		"  - board and collector are on the same network (broadcasts and link-local "
		"multicasts do not pass routers); "
		"else name the board:\n"
		"    collector gather HOST[:PORT]\n"
		"  - no firewall stops UDP 43513 here, or TCP 8100 to 8200 on the board.\n",
		ingest_where(g->ingest));
	if (t.beacons_refused)
		program_printf(
			stderr,
			"%llu datagrams came that were no beacon, or from a network that is not "
			"asked for.\n",
			(unsigned long long)t.beacons_refused);
	if (t.beacons_unproven)
		program_printf(
			stderr,
			"%llu beacons came from agents that were skipped: they and this collector "
			"do not have the same key ('collector pair' makes one, or --key FILE).\n",
			(unsigned long long)t.beacons_unproven);
}

static void on_nobody(uv_timer_t *timer)
{
	say_nobody(timer->data);
}

/* ---- the end ---- */

static void close_timer(uv_timer_t *timer)
{
	if (!uv_is_closing((uv_handle_t *)timer))
		uv_close((uv_handle_t *)timer, NULL);
}

static void gather_stop(struct gather *g)
{
	if (g->stopping)
		return;
	g->stopping = true;
	gather_clear_line(g);
	ingest_stop(g->ingest, NULL, NULL);
	gather_files_close(&g->files);
	gather_pairs_stop(&g->pairs);
	close_timer(&g->until);
	close_timer(&g->nobody);
	close_timer(&g->progress);
	uv_close((uv_handle_t *)&g->interrupt, NULL);
	uv_close((uv_handle_t *)&g->terminate, NULL);
}

static void stop_now(struct gather *g)
{
	gather_ready_cancel(&g->ready);
	gather_stop(g);
}

static void gather_on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	say_nobody(handle->data);
	stop_now(handle->data);
}

static void on_until(uv_timer_t *timer)
{
	say_nobody(timer->data);
	stop_now(timer->data);
}

static void on_none_left(void *context)
{
	gather_stop(context);
}

static void gather_on_event(void *context, const struct ingest_event *e)
{
	struct gather *g = context;
	bool stream = e->kind == INGEST_STREAM_BEGAN || e->kind == INGEST_STREAM_ENDED;

	gather_clear_line(g);
	g->found |= e->kind == INGEST_FOUND || e->kind == INGEST_CONNECTED;
	gather_say(g, e);
	gather_files_event(&g->files, e);
	gather_ready_event(&g->ready, e);
	gather_pairs_event(&g->pairs, e);
	if (!g->options->once || !stream || e->complete)
		return;
	if (e->kind == INGEST_STREAM_BEGAN && !g->has_first) {
		g->first = *e->stream;
		g->has_first = true;
	}
	if (e->kind == INGEST_STREAM_ENDED && g->has_first &&
	    !memcmp(&g->first, e->stream, sizeof(g->first)))
		gather_files_await(&g->files, on_none_left, g);
}

static bool file_wanted(void *context, const struct ingest_file *file, const char *path)
{
	struct gather *g = context;

	return gather_files_wanted(&g->files, file, path);
}

static int file_came(void *context, const struct ingest_file *file, const char *path,
		     struct err_text *err)
{
	struct gather *g = context;

	return gather_files_came(&g->files, file, path, err);
}

static bool stream_waits(void *context, const struct stream_id *stream)
{
	const struct gather *g = context;

	return gather_share_waits(g->share, stream);
}

/* ---- the beginning ---- */

static void start_handles(struct gather *g)
{
	uv_signal_init(&g->loop, &g->interrupt);
	uv_signal_init(&g->loop, &g->terminate);
	uv_timer_init(&g->loop, &g->until);
	uv_timer_init(&g->loop, &g->nobody);
	uv_timer_init(&g->loop, &g->progress);
	g->interrupt.data = g->terminate.data = g->until.data = g->nobody.data = g->progress.data =
		g;
	uv_signal_start(&g->interrupt, gather_on_signal, SIGINT);
	uv_signal_start(&g->terminate, gather_on_signal, SIGTERM);
	if (g->options->for_ns)
		uv_timer_start(&g->until, on_until, g->options->for_ns / 1000000, 0);
	uv_timer_start(&g->nobody, on_nobody, NOBODY_MS, 0);
	if (g->terminal)
		uv_timer_start(&g->progress, on_progress, PROGRESS_MS, PROGRESS_MS);
}

/* Some file systems do not support sockets. Recording works without the socket, so this is only a
 * note. */
static void say_no_control(const struct gather *g, int error, const struct err_text *err)
{
	if (error < 0 && !g->options->quiet)
		program_printf(
			stderr,
			"collector gather: 'collector ctl' and 'symbols fetch' can't reach it: "
			"%s\n",
			err_get(err, error));
}

static int gather(struct gather *g, struct store *store, char **peers, int peer_count,
		  struct err_text *err)
{
	struct ingest_options options = {
		.discover = !g->options->no_discovery,
		.interface = g->options->interface,
		.listen = g->options->listen,
		.peers = (const char *const *)peers,
		.peer_count = (size_t)peer_count,
		.file_wanted = file_wanted,
		.file_came = file_came,
		.agents_max = g->options->agents_max == AS_MANY ? 0
			      : g->options->agents_max > UINT32_MAX
				      ? UINT32_MAX
				      : (uint32_t)g->options->agents_max,
		.memory_limit = g->options->memory_limit,
		.keep_ns = g->options->keep_ns,
		.keep_bytes = g->options->keep_bytes,
		.compress = g->options->compress_after_ns != NEVER,
		.compress_after_ns = g->options->compress_after_ns,
		.waits = stream_waits,
		.event = gather_on_event,
		.context = g,
	};
	struct secret *secrets = NULL;
	size_t given;
	int r = key_options_read(&g->options->keys, &secrets, &options, err);

	if (r < 0)
		return r;
	given = options.secret_count;
	r = gather_pairs_init(&g->pairs, &g->options->keys, &options, err);
	if (r < 0)
		return r;
	r = uv_loop_init(&g->loop);
	if (r < 0)
		return err_set(err, r, "cannot make an event loop: %s", uv_strerror(r));
	gather_ready_init(&g->ready, &g->loop, store_path(store));
	r = gather_files_init(&g->files, store_path(store), g->options->fetch_symbols, &options);
	if (!r)
		r = ingest_start(&g->loop, store, &options, &g->ingest, err);
	if (!r) {
		start_handles(g);
		gather_pairs_start(&g->pairs, &g->loop, g->ingest);
		say_no_control(
			g,
			gather_files_open(&g->files, &g->loop, store_path(store), g->ingest, err),
			err);
		if (!g->options->quiet)
			printf("storing in %s; listening on %s\n", store_path(store),
			       ingest_where(g->ingest));
		fflush(stdout);
	}
	uv_run(&g->loop, UV_RUN_DEFAULT);
	uv_loop_close(&g->loop);
	gather_files_done(&g->files);
	gather_ready_done(&g->ready);
	gather_pairs_done(&g->pairs);
	key_options_free(secrets, given);
	return r;
}

/* --http: a separate thread serves the page beside the recording, and only reads. Its options are
 * checked before a folder is created. Both are used until http_stop. */
static struct http_place place;
static struct http_options http_options;

static int check_http(const struct gather_options *options, struct err_text *err)
{
	int r;

	if (!options->http.http)
		return 0;
	r = http_place_read(&options->http, &place, err);
	if (r < 0)
		return r;
	http_options = (struct http_options){.address = place.host,
					     .port = place.port,
					     .token = place.token,
					     .tls_cert = place.tls_cert,
					     .tls_key = place.tls_key,
					     .allow_hosts = place.allow_hosts,
					     .source_folders = place.sources,
					     .import_bytes = options->keep_bytes,
					     .import_memory = options->memory_limit > IMPORT_MEMORY
								      ? options->memory_limit
								      : IMPORT_MEMORY,
					     .store = options->store,
					     .data = options->common.data};
	return http_may_start(&http_options, err);
}

static int gather_serve(const struct gather_options *options, struct http **ret_http,
			struct err_text *err)
{
	int r;

	if (!options->http.http)
		return 0;
	r = http_start(&http_options, ret_http, err);
	if (!r)
		printf("serving %s\n", http_url(*ret_http));
	return r;
}

static struct gather_share_options share_options(const struct gather_options *options,
						 const char *address)
{
	return (struct gather_share_options){.url = options->store,
					     .data = options->common.data,
					     .address = address,
					     .keep_ns = options->store_keep_ns,
					     .quiet = options->quiet};
}

/* --store: a separate thread sends sums. */
static int start_share(const struct gather_options *options, uint16_t http_port,
		       struct gather_share *share, struct err_text *err)
{
	cleanup(cleanup_free) char *address = NULL;
	int r = http_port && !options->page_address
			? http_place_address(&place, http_port, &address)
			: 0;
	struct gather_share_options wanted =
		share_options(options, address ? address : options->page_address);

	return r ? r : gather_share_start(share, &wanted, err);
}

static bool is_wrong_use(int r)
{
	return r == -EINVAL || r == -ENODEV || r == -EPERM || r == -ENOENT;
}

/* Deriving rows takes large blocks of memory, which must go back to the system when they are freed.
 * By default malloc keeps up to 32 MiB of each size. */
static void give_memory_back(void)
{
	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	mallopt(M_TRIM_THRESHOLD, MAPPED_BYTES);
	mallopt(M_ARENA_MAX, ARENAS_MAX);
}

static int gather_run(struct command_call *call)
{
	const struct gather_options *options = call->options;
	struct gather_share_options shared = share_options(options, options->page_address);
	struct gather_share share = {0};
	struct gather g = {.options = options,
			   .terminal = isatty(STDERR_FILENO) && !options->quiet,
			   .share = &share};
	struct err_text err = {0};
	struct http *http = NULL;
	struct store *store;
	int r;

	if (options->no_discovery && !call->argument_count && !options->listen)
		return command_usage_error(
			call->command,
			"without discovery, name agents (HOST:PORT) or give --listen");
	if (options->memory_limit < MEMORY_LEAST)
		return command_usage_error(call->command,
					   "--memory-limit takes 4M at least: one stream at a time "
					   "is derived whatever it says");
	if (gather_share_check(call->command, &shared))
		return EXIT_USAGE;
	if (!options->agents_max)
		return command_usage_error(call->command, "--agents-max takes 1 at least");
	r = check_http(options, &err);
	if (r < 0)
		return is_wrong_use(r) ? command_usage_error(call->command, "%s", err_get(&err, r))
				       : command_fault(call->command, r, &err);
	give_memory_back();
	r = store_open(options->common.data, STORE_WRITE, &store, &err);
	if (r < 0)
		return command_fault(call->command, r, &err);
	if (store_was_rebuilt(store))
		command_note(call->command,
			     "the catalogue of %s was damaged or of another version: it was made "
			     "anew from the recordings there",
			     options->common.data);
	r = gather_serve(options, &http, &err);
	if (!r)
		r = start_share(options, http ? http_port(http) : 0, &share, &err);
	if (!r)
		r = gather(&g, store, call->arguments, call->argument_count, &err);
	if (http)
		http_stop(http);
	store_close(store);
	gather_share_stop(&share);
	if (is_wrong_use(r))
		return command_usage_error(call->command, "%s", err_get(&err, r));
	if (r < 0)
		return command_fault(call->command, r, &err);
	return options->once && !g.found ? EXIT_NO : EXIT_DONE;
}

static const struct option table[] = {
	OPTION_TIME(struct gather_options, for_ns, "for", "TIME", "end after this time (10s, 5m)"),
	OPTION_FLAG(struct gather_options, once, "once",
		    "end when the first stream found has ended and is safe"),
	OPTION_TEXT(struct gather_options, interface, "interface", "NAME",
		    "listen to the networks of this interface only; lo: this host only"),
	OPTION_TEXT(struct gather_options, listen, "listen", "ADDR:PORT",
		    "where agents can dial in ([::]:43513, by IPv4 and IPv6); 'off': nowhere"),
	STORE_OPTION(struct gather_options, store),
	STORE_KEEP_OPTION(struct gather_options, store_keep_ns),
	PAGE_ADDRESS_OPTION(struct gather_options, page_address,
			    "that of --http, if it is beyond loopback"),
	HTTP_OPTIONS(struct gather_options, http,
		     "serve the REST API and the page, too (127.0.0.1:8080)"),
	OPTION_FLAG(struct gather_options, fetch_symbols, "fetch-symbols",
		    "ask agents for the files of programs and libraries that are not on this "
		    "machine"),
	OPTION_FLAG(struct gather_options, no_discovery, "no-discovery",
		    "neither ask for agents nor listen for their beacons"),
	OPTION_TIME(struct gather_options, keep_ns, "keep-for", "TIME",
		    "remove streams that ended longer ago (48h)"),
	OPTION_SIZE(struct gather_options, keep_bytes, "keep-size", "SIZE",
		    "remove the oldest ended ones when all take more (20G)"),
	OPTION_TIME(struct gather_options, compress_after_ns, "compress-after", "TIME",
		    "compress recordings of streams that ended longer ago, such as 1h; 0: at once "
		    "(off). They take about half, the rows beside them as much as before. Every "
		    "command reads them; 'collector decompress' restores them"),
	OPTION_NUMBER(struct gather_options, agents_max, "agents-max", "N",
		      "agents that are connected at a time (as many as memory and 'ulimit -n' "
		      "allow: 4096); one with nothing to "
		      "send gives way to one that has"),
	OPTION_SIZE(struct gather_options, memory_limit, "memory-limit", "SIZE",
		    "memory for the streams that are received (512M, at least 4M): rows are "
		    "derived from them in half of it, whatever their number"),
	OPTION_FLAG(struct gather_options, quiet, "quiet", "say nothing but warnings"),
	{0},
};

static const struct option key_table[] = {
	KEY_OPTIONS(struct gather_options, keys),
	{0},
};

static const struct option_group groups[] = {
	{NULL, table}, {"Who may", key_table}, {"Where", data_table}, {0}};

static const struct gather_options defaults = {
	.memory_limit = INGEST_MEMORY, .agents_max = AS_MANY, .compress_after_ns = NEVER};

const struct command command_gather = {
	.name = "gather",
	.summary = "find agents, store what they record",
	.usage = "[OPTION...] [HOST[:PORT]...]",
	.about = "Waits for agents that announce themselves in this network (UDP 43513), connects\n"
		 "to each, and stores what they record until it is told to stop (Ctrl-C), "
		 "--for a\n"
		 "time, or --once. Agents named as HOST[:PORT] are tried again and again; agents\n"
		 "can also dial in ('agent run --collector HOST:43513').\n"
		 "\n"
		 "What an agent has sent is acknowledged when it is safe on the disk; until then\n"
		 "the agent keeps it, and after an interruption it goes on where it stopped.\n",
	.examples =
		"  collector gather --once                     record the next program that runs\n"
		"  collector gather --data /srv/heaps board7   one board, by name\n"
		"  collector gather --interface lo --for 5m    this host only, five minutes\n",
	.groups = groups,
	.options_size = sizeof(struct gather_options),
	.defaults = &defaults,
	.arguments_max = -1,
	.run = gather_run,
};
