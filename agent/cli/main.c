/* The program `agent`: a table of commands. */
#include <errno.h>
#include <limits.h>
#include <lz4.h>
#include <protobuf-c/protobuf-c.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "agent/cli/command.h"
#include "agent/cli/pair.h"
#include "agent/cli/options/variables.h"
#include "agent/core/naming.h"
#include "agent/net/pending_peers.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/log.h"
#include "base/secure/pairs.h"
#include "base/secure/secure.h"
#include "base/standard.h"
#include "base/ban.h"

#define CULL_MOST_NS 86400000000000ull

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv); /* NULL: not in this version */
	const char *help;
} commands[] = {
	{"run", command_run, "start a program and record it"},
	{"serve", command_serve, "record every program of this host that preloads libheapcast.so"},
	{"attach", command_attach, "record programs that run already"},
	{"ctl", command_ctl, "ask or order a running agent"},
	{"pair", command_pair,
	 "get a key in common with a collector, by a code that is pasted once"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

int command_fail(int status, const struct err_text *err, int error)
{
	program_printf(stderr, "%s: %s\n", program_title(), err_get(err, error));
	return status;
}

int command_log_level(const struct options *o, const char *level, struct err_text *err)
{
	return log_open(o->log ? o->log : level, NULL) < 0
		       ? err_set(err, -EINVAL,
				 "--log takes error|warn|info|debug|trace|off, not '%s'", o->log)
		       : 0;
}

int command_log(const struct options *o, const char *level, const char *program, pid_t pid,
		struct err_text *err)
{
	const char *slash = strrchr(program, '/');
	char path[PATH_MAX];
	int r = 0;

	if (o->log_file)
		r = naming_expand(path, sizeof(path), o->log_file, slash ? slash + 1 : program,
				  (uint64_t)time(NULL), pid, 0);
	if (!r)
		r = log_open(o->log ? o->log : level, o->log_file ? path : NULL);
	if (r < 0 && o->log && r == -EINVAL)
		return command_log_level(o, level, err);
	if (r < 0)
		return err_set(err, r, "can't log to %s: %s", o->log_file, strerror(-r));
	log_limit(o->log_limit);
	variables_notices();
	return 0;
}

static int check_flight(const struct options *o, struct pressure_settings *ret,
			struct err_text *err)
{
	*ret = (struct pressure_settings){.rss_bytes = o->flight_rss,
					  .pause_ns = o->flight_pause_ns};
	if (o->flight_ns && o->cull_ns)
		return err_set(
			err, -EINVAL,
			"--flight and --short-lived can't be used together: the flight "
			"recorder sends everything that ended before its window as sums anyway");
	if (o->flight_ns > FLIGHT_WINDOW_MAX_NS)
		return err_set(err, -EINVAL, "--flight takes an hour at most");
	return pressure_parse(ret, o->flight_growth, o->flight_pressure, err);
}

static struct ring_settings ring_settings(const struct options *o)
{
	uint64_t block_max_ms = o->block_max_ns / 1000000;

	return (struct ring_settings){
		.mode = o->mode,
		.policy = o->policy,
		.block_max_ms = (uint32_t)(block_max_ms < UINT32_MAX ? block_max_ms : UINT32_MAX),
		.sample_interval = o->sample_interval,
		.frees_have_stacks = o->free_stacks,
		.depth_limit = (uint32_t)o->depth,
		.verify = !o->full_walk,
	};
}

int command_settings(const struct options *o, struct agent_settings *ret, struct err_text *err)
{
	struct pressure_settings pressure;
	struct access access;
	struct budget budget;
	int r = budget_divide(&budget, o->memory_limit, 1, err);

	if (r < 0)
		return err_prefix(err, -EINVAL, "--memory-limit");
	if (o->cull_ns > CULL_MOST_NS)
		return err_set(err, -EINVAL, "--short-lived takes a day at most");
	r = check_flight(o, &pressure, err);
	if (r < 0)
		return r;
	if (o->depth < 8 || o->depth > 1000)
		return err_set(err, -EINVAL, "--depth takes 8 to 1000, not %llu",
			       (unsigned long long)o->depth);
	if (o->base_port > UINT16_MAX)
		return err_set(err, -EINVAL, "--base-server-port takes 1 to 65535, not %llu",
			       (unsigned long long)o->base_port);
	if (o->spool_limit < SPOOL_LIMIT_MIN)
		return err_set(err, -EINVAL, "--spool-limit takes 1M at least");
	r = access_parse(&access, o->allow_user, o->allow_group, err);
	if (r < 0)
		return r;
	*ret = (struct agent_settings){
		.access = access,
		.stop_ns = o->stop_timeout_ns,
		.memory_limit = o->memory_limit,
		.each = {.output = o->output && *o->output ? o->output : NULL,
			 .output_owner = o->output_owner == OPTIONS_NO_OWNER
						 ? (uid_t)-1
						 : (uid_t)o->output_owner,
			 .follow = o->follow,
			 .cull_ns = o->cull_ns,
			 .tags = o->tags,
			 .observe = {.figures_ns = o->figures_interval_ns,
				     .maps_ns = o->gather_maps ? o->maps_interval_ns : 0,
				     .allocator = o->allocator_figures},
			 .ring = ring_settings(o)},
		.announce = o->announce,
		.collector = o->collector,
		.interface = o->interface,
		.listen = o->listen,
		.linger_ns = o->linger_ns,
		.idle_ns = o->linger_idle_ns,
		.spool = o->spool && *o->spool ? o->spool : NULL,
		.spool_limit = o->spool_limit,
		.orders = options_orders(o),
		.base_port = (uint16_t)o->base_port,
		.symbols = (enum symbol_policy)o->send_symbols,
		.cull = {.time_ns = o->cull_ns,
			 .pending_max = o->cull_pending,
			 .memory = (size_t)o->cull_memory},
		.flight = {.window_ns = o->flight_ns,
			   .after_ns = o->flight_after_ns,
			   .memory = (size_t)o->flight_memory},
		.pressure = pressure,
	};
	r = agent_divide(ret, 1, &budget, err);
	if (r < 0)
		return err_prefix(err, -EINVAL, o->cull_ns ? "--short-lived" : "--flight");
	return agent_check(ret, err);
}

static const char *given(const char *text)
{
	return text && *text ? text : NULL;
}

/* Uses the keys by pairing. An agent that was paired once talks to no collector without a key, even
 * when all keys are forgotten. */
static int use_pairs(const struct options *o, struct pairs *pairs, struct agent_settings *settings,
		     struct err_text *err)
{
	static struct secret installation;
	int r = pairs_installation(pairs->folder, true, &installation, err);

	if (r < 0)
		return err_prefix(err, r, "this agent is paired (--keys '' leaves that alone)");
	settings->secret = &installation;
	settings->secure = (struct secure_options){
		.secrets = pairs->secret, .secret_count = pairs->count, .paired = true};
	if (options_source(o, "orders") == OPTION_DEFAULT)
		settings->orders = ORDERS_YES;
	return 0;
}

static int look_for_pairs(const struct options *o, struct agent_settings *settings,
			  struct err_text *err)
{
	static struct pairs pairs;
	struct err_text remark = {{0}};
	char folder[PATH_MAX];
	int r = pairs_place(o->keys, KEYS_FOLDER, folder);

	if (r < 0 || !*folder)
		return r;
	r = pairs_open(&pairs, folder, PAIRS_AGENT, &remark, err);
	settings->pairs = &pairs;
	if (r < 0 && !agent_has_links(settings)) { /* an agent without links needs no keys */
		pairs.begun = true;		   /* a reload must not add plain links either */
		err->text[0] = '\0';
		return 0;
	}
	if (r < 0)
		return err_prefix(err, r, "keys by pairing (--keys '' leaves them alone)");
	if (*remark.text)
		log_warn("%s", remark.text);
	if (o->keys && options_source(o, "keys") == OPTION_ARGUMENT && access(folder, F_OK))
		return err_set(
			err, -EINVAL,
			"there is no folder of keys %s: 'agent pair' makes it, --keys '' does "
			"without",
			folder);
	if (agent_has_links(settings) && !pairs.begun && !pairs.count)
		log_info("not paired: what this agent sends goes in plain, to any collector that "
			 "asks");
	return agent_has_links(settings) && (pairs.begun || pairs.count)
		       ? use_pairs(o, &pairs, settings, err)
		       : 0;
}

static int read_key(const struct options *o, struct agent_settings *settings, struct err_text *err)
{
	static struct secret secret;
	int r = secret_read(o->key, &secret, err);

	settings->secret = &secret;
	settings->secure.secrets = &secret;
	settings->secure.secret_count = 1;
	return r < 0 ? -EINVAL : 0; /* the given key can't be used */
}

int command_secure(const struct options *o, struct agent_settings *settings, struct err_text *err)
{
	uint64_t limit = o->memory_limit;
	int r = 0;

	settings->secure = (struct secure_options){
		.cert = given(o->cert), .cert_key = given(o->cert_key), .ca = given(o->ca)};
	if (given(o->key))
		r = read_key(o, settings, err);
	else if (!secure_wanted(&settings->secure))
		r = look_for_pairs(o, settings, err);
	if (r < 0)
		return r;
	r = secure_wanted(&settings->secure) ? budget_secure(&limit, PENDING_PEERS_SESSIONS, err)
					     : 0;
	return r < 0 ? err_prefix(
			       err, r,
			       settings->secure.paired
				       ? "--memory-limit (this agent is paired; --keys '' leaves "
					 "that alone)"
				       : "--memory-limit")
		     : 0;
}

static void main_help(void)
{
	program_printf(
		stdout,
		"agent COMMAND [OPTION...]\n\n"
		"Records the heap of programs, every allocation with its stack, and sends it to a\n"
		"collector or a file.\n\n");
	for (unsigned i = 0; i < COMMANDS; i++)
		printf("  %-8s %s%s\n", commands[i].name, commands[i].help,
		       commands[i].main ? "" : " (not in this version)");
	program_printf(stdout,
		       "\nTo begin: agent run -- CMD [ARG...], then: collector report FILE\n"
		       "agent COMMAND --help says more about each,\n"
		       "agent --variables what the environment can say.\n");
}

/* Prints what this build can do, and the libraries that it uses here. */
static int main_version(void)
{
	printf("heapcast agent %s\n", HEAPCAST_VERSION);
	printf("  TLS: %s\n", secure_library());
	printf("  eBPF (attach): %s\n", attach_library());
	printf("  libraries: libuv %s, protobuf-c %s, lz4 %s\n", uv_version_string(),
	       protobuf_c_version(), LZ4_versionString());
	return fflush(stdout) ? EXIT_FAULT : 0;
}

int main(int argc, char **argv)
{
	struct err_text err;
	const char *name = argc > 1 ? argv[1] : "--help";

	standard_reserve();
	program_started(argv[0], "agent");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit then is an ordinary error
				   * (EFBIG) */
	if (!strcmp(name, "--version")) {
		return main_version();
	}
	if (!strcmp(name, "--variables")) {
		variables_document();
		return 0;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		main_help();
		return argc > 1 ? 0 : EXIT_USAGE;
	}
	for (unsigned i = 0; i < COMMANDS; i++) {
		if (strcmp(name, commands[i].name))
			continue;
		if (commands[i].main)
			return commands[i].main(argc - 1, argv + 1);
		return command_fail(EXIT_USAGE, &err,
				    err_set(&err, -EINVAL,
					    "'%s' is not available in this version (%s)", name,
					    HEAPCAST_VERSION));
	}
	return command_fail(
		EXIT_USAGE, &err,
		err_set(&err, -EINVAL, "there is no command '%s' (agent --help lists them)", name));
}
