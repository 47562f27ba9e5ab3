/* The table of options, and the code that reads it. See options.h. */
#include "agent/cli/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/option_row.h"
#include "agent/cli/variables.h"
#include "base/error.h"
#include "base/parse.h"
#include "proto/mode.h"
#include "proto/ring.h"
#include "agent/core/budget.h"
#include "agent/serve/orders.h"
#include "agent/spool/spool_disk.h"
#include "agent/net/symbol_place.h"
#include "base/ban.h"

#define BOTH	       (COMMAND_RUN | COMMAND_SERVE)
#define EACH	       (BOTH | COMMAND_ATTACH)
#define BOTH_OWN       (BOTH | COMMAND_PROGRAM)
#define EACH_OWN       (EACH | COMMAND_PROGRAM)
#define SAMPLE_DEFAULT (512u << 10)
#define NAME_COLUMN    28
#define HELP_WIDTH     80

static const struct option_row rows[] = {
#define AT(field) offsetof(struct options, field)
	{"pid", "PID[,PID...]", COMMAND_ATTACH, TEXT, AT(pids),
	 "record these processes; also -p PID, and more than once"},
	{"comm", "NAME", COMMAND_ATTACH, TEXT, AT(comm),
	 "record those of this name (as `ps -o comm` shows it), and those that start later, too"},
	{"cgroup", "PATH", COMMAND_ATTACH, TEXT, AT(cgroup),
	 "record those in this control group (a container's, a service's) or below it, and those "
	 "that come into it; a folder below /sys/fs/cgroup, or as /proc/PID/cgroup shows it"},
	{"all", NULL, COMMAND_ATTACH, FLAG, AT(all),
	 "record every process, as far as there are places: one for each 2 MiB of --memory-limit, "
	 "64 at most; never an agent or its collector"},
	{"check", NULL, COMMAND_ATTACH, FLAG, AT(check), "say what this machine permits, and end"},
	{"for", "TIME", COMMAND_ATTACH, DURATION, AT(for_ns),
	 "detach from the programs after this time (until they end, or a signal)"},
	{"mode", "full|sample[=BYTES]|off", EACH_OWN, MODE, AT(mode),
	 "full: every event (default); sample: one allocation in so many bytes (512K); off: "
	 "nothing until it is switched on"},
	{"output", "PATTERN", EACH_OWN, TEXT, AT(output),
	 "write a file; %e program, %t time, %p pid, %n counter, %% (default without a collector: "
	 "heapcast_%e_%t_%p.heapcast)"},
	{"collector", "HOST[:PORT]", EACH, TEXT, AT(collector),
	 "connect to this collector (port 43513), and serve no other"},
	{"announce", NULL, EACH, FLAG, AT(announce),
	 "listen, and be found by `collector gather` on the same network"},
	{"interface", "NAME", EACH | COMMAND_PAIR, TEXT, AT(interface),
	 "announce and listen there only; lo stays on this machine"},
	{"listen", "[ADDR]:PORT", EACH, TEXT, AT(listen),
	 "listen there (default: first free port from 8100 to 8200)"},
	{"base-server-port", "PORT", EACH, NUMBER, AT(base_port),
	 "listen on the first free port from here, 101 are tried (8100)"},
	{"chown-output-to", "UID", EACH_OWN, NUMBER, AT(output_owner), "give files to this user"},
	{"memory-limit", "SIZE", EACH | COMMAND_PAIR, SIZE, AT(memory_limit),
	 "all memory of the agent, rings included (8M, at least 2M; attach: 32M, at least 3.7M)"},
	{"policy", "block|thin|count", EACH_OWN, POLICY, AT(policy),
	 "when the agent does not keep up: block: the program waits (default of run into a "
	 "file, and of attach, for up to 0.1 ms a call); thin: it waits 10 ms in any 100 ms, "
	 "and is sampled beyond that (default of serve, and with a collector; not for "
	 "attach); count: it does not wait, and what is not recorded is counted"},
	{"block-max", "TIME", BOTH_OWN, DURATION, AT(block_max_ns),
	 "with --policy block: the longest wait at a time (10s); beyond it, as with count"},
	{"linger", "TIME", EACH, DURATION, AT(linger_ns),
	 "after the program has ended, wait so long for a collector; then what is left goes "
	 "to a file (30s). The same time holds for a collector that left with only a part, "
	 "and, with --follow, for children that outlive the program"},
	{"stop-timeout", "TIME", EACH, DURATION, AT(stop_timeout_ns),
	 "after SIGTERM, deliver for so long (10s). A collector that takes nothing for half "
	 "of this time is not waited for: the rest goes to a file. A second signal ends the "
	 "waiting"},
	{"spool", "DIR", COMMAND_SERVE, TEXT, AT(spool),
	 "when memory is full, write batches that a collector has not received yet to files "
	 "in this folder; if an agent is killed, the next one sends what is there"},
	{"spool-limit", "SIZE", COMMAND_SERVE, SIZE, AT(spool_limit),
	 "bytes of these files (64M; at least 1M)"},
	{"follow", NULL, EACH_OWN, FLAG, AT(follow),
	 "record children, too, whether they exec or not, each as a stream of its own; each "
	 "takes 200 KiB of --memory-limit as it begins, and more as it needs it"},
	{"free-stacks", "yes|no", EACH_OWN, SWITCH, AT(free_stacks),
	 "record the stack of frees, too (yes)"},
	{"full-walk", NULL, BOTH_OWN, FLAG, AT(full_walk),
	 "walk every stack in full (slower; to compare with)"},
	{"depth", "FRAMES", EACH_OWN, NUMBER, AT(depth),
	 "frames kept of a stack, the outer ones (256; at most 1000)"},
	{"figures-interval", "TIME", EACH_OWN, DURATION, AT(figures_interval_ns),
	 "how often resident memory, page faults and the like are recorded (1s; 0: never)"},
	{"gather-maps", NULL, EACH_OWN, MAPS, AT(gather_maps),
	 "record what is mapped, and how much of it is in memory; =TIME: how often"},
	{"maps-interval", "TIME", EACH_OWN, DURATION, AT(maps_interval_ns),
	 "how often maps are read (1s); less often if a process has so many that reading "
	 "takes long"},
	{"allocator-figures", NULL, BOTH_OWN, FLAG, AT(allocator_figures),
	 "have the program ask glibc's mallinfo2 once a second; not for programs that allocate in "
	 "the handlers of signals"},
	{"send-symbols", "no|public|yes", EACH, SYMBOLS, AT(send_symbols),
	 "give collectors the files of recorded programs and their libraries, so that "
	 "functions have names: no; public: those that every user of this host may read "
	 "(default); yes: all that the program's own user may read"},
	{"orders", "no|local|yes", EACH, ORDERS, AT(orders),
	 "take orders of collectors: no; local: start, stop and mode from this host, snapshot "
	 "and mark from all (default without a key); yes: all of them (default with a key). "
	 "`agent ctl` works in any case"},
	{"short-lived", "TIME", EACH_OWN, DURATION, AT(cull_ns),
	 "send blocks that live shorter than this as sums: totals stay exact, and the timeline "
	 "leaves them out; what lives longer is sent that much later (0: everything is sent)"},
	{"short-lived-pending", "N", EACH, NUMBER, AT(cull_pending),
	 "at most so many blocks wait for their end (as many as there is room for)"},
	{"short-lived-memory", "SIZE", EACH, SIZE, AT(cull_memory),
	 "the memory in which they wait, a part of --memory-limit (an eighth of it)"},
	{"flight", "TIME", EACH, DURATION, AT(flight_ns),
	 "flight recorder: keep only what is in use and the events of the last TIME, and send "
	 "these on a trigger: a signal (SIGUSR1 to the agent), an order, memory pressure, the "
	 "options below, or the program's end (0: everything is sent as it comes)"},
	{"flight-after", "TIME", EACH, DURATION, AT(flight_after_ns),
	 "send everything for so long after a trigger (10s)"},
	{"flight-memory", "SIZE", EACH, SIZE, AT(flight_memory),
	 "room to keep it in, of --memory-limit (half of it)"},
	{"flight-rss", "SIZE", EACH, SIZE, AT(flight_rss), "a trigger: more than this is resident"},
	{"flight-growth", "SIZE/TIME", EACH, TEXT, AT(flight_growth),
	 "a trigger: what is resident has grown by SIZE within TIME"},
	{"flight-pressure", "PERCENT|off", EACH, TEXT, AT(flight_pressure),
	 "a trigger: tasks waited for memory for this share of a second, where the kernel "
	 "tells (10%); and, unless off, a cgroup that is throttled or has used 90% of its "
	 "limit"},
	{"flight-pause", "TIME", EACH, DURATION, AT(flight_pause_ns),
	 "the least time between two of these triggers (1m)"},
	{"quiet", NULL, COMMAND_RUN | COMMAND_ATTACH, FLAG, AT(quiet), "no summary at the end"},
	{"socket", "PATH", COMMAND_SERVE | COMMAND_CTL, TEXT, AT(socket),
	 "where programs ask to be recorded; a name that begins with @ is no file (default: see "
	 "above)"},
	{"control", "PATH", COMMAND_RUN | COMMAND_ATTACH, TEXT, AT(control),
	 "take orders of `agent ctl --socket PATH`"},
	{"json", NULL, COMMAND_CTL, FLAG, AT(json), "answer in JSON"},
	{"for-pid", "PID", COMMAND_SERVE, NUMBER, AT(for_pid),
	 "started by libheapcast.so for this process"},
	{"allow-user", "USER[,USER...]", COMMAND_SERVE, TEXT, AT(allow_user),
	 "record programs of these users, too, by name or number; * is every user (always: those "
	 "of the agent's own user, and of root)"},
	{"allow-group", "GROUP[,GROUP...]", COMMAND_SERVE, TEXT, AT(allow_group),
	 "and of users in these groups"},
	{"config", "FILE", COMMAND_SERVE, TEXT, AT(config),
	 "lines of NAME = VALUE with the names of these options; # begins a comment (default: "
	 "/etc/heapcast/agent.conf if it is there; empty: none). The command line counts more than "
	 "variables, these more than the file. SIGHUP reads it again"},
	{"check-config", NULL, COMMAND_SERVE, FLAG, AT(check_config),
	 "print the settings that hold and where each comes from, then end"},
	{"linger-idle", "TIME", COMMAND_SERVE, DURATION, AT(linger_idle_ns),
	 "end when nothing was recorded for so long"},
	{"log", "error|warn|info|debug|off", EACH, TEXT, AT(log),
	 "what to tell (run: warn, serve: info)"},
	{"logfile", "PATH", EACH, TEXT, AT(log_file),
	 "where to (standard error); %e, %t and %p as in --output"},
	{"logfile-limit", "SIZE", EACH, SIZE, AT(log_limit),
	 "begin a new log file at this size; the first one is kept as PATH.initial, the one before "
	 "as PATH.old"},
	{"key", "FILE", EACH, TEXT, AT(key),
	 "talk to collectors that have this key, too, and to nobody else, by TLS: a file of mode "
	 "0600, made by 'openssl rand -hex 32'"},
	{"cert", "FILE", EACH, TEXT, AT(cert),
	 "instead of a key: talk by TLS to collectors whose certificate is signed by --ca, "
	 "and show them this one (PEM)"},
	{"cert-key", "FILE", EACH, TEXT, AT(cert_key), "its private key, a file of mode 0600"},
	{"ca", "FILE", EACH, TEXT, AT(ca), "who signs the certificates of members"},
	{"keys", "DIR", EACH | COMMAND_PAIR, TEXT, AT(keys),
	 "the folder of keys made by pairing (agent pair). Once it has a key, agents talk to "
	 "nobody who has none, unless --key or --cert is given (default: as root "
	 "/etc/heapcast/keys, else ~/.config/heapcast/keys; empty: none)"},
	{"pair", "CODE[@HOST]", COMMAND_RUN, TEXT, AT(pair),
	 "pair first, as agent pair does; then announce, or dial HOST"},
	{"within", "TIME", COMMAND_RUN | COMMAND_PAIR, DURATION, AT(within_ns),
	 "how long to wait for the collector with which to pair (10m)"},
	{"name", "NAME", COMMAND_PAIR, TEXT, AT(name),
	 "what the pair is called here (as the collector's host calls itself)"},
	{"list", NULL, COMMAND_PAIR, FLAG, AT(list),
	 "list the pairs: the name of each here, since when it exists, and with whom"},
	{"forget", "NAME", COMMAND_PAIR, TEXT, AT(forget),
	 "remove a key: agents here no longer talk to whoever has it"},
#undef AT
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static_assert(ROWS <= OPTIONS_MAX, "room in struct options for where each value comes from");

/* Options that a configuration file must not set: the file itself, and options of a single
 * invocation. */
static const char *const not_for_files[] = {"config", "check-config", "for-pid", "pair"};

const struct option_row *option_row(unsigned index)
{
	return index < ROWS ? &rows[index] : NULL;
}

void options_defaults(struct options *o)
{
	*o = (struct options){
		.mode = RING_FULL,
		.sample_interval = SAMPLE_DEFAULT,
		.memory_limit = 8u << 20,
		.policy = RING_BLOCK,
		.block_max_ns = 10000000000,
		.linger_ns = 30000000000,
		.stop_timeout_ns = 10000000000,
		.spool_limit = SPOOL_LIMIT_USUAL,
		.free_stacks = true,
		.orders = ORDERS_LOCAL,
		.depth = 256,
		.output_owner = OPTIONS_NO_OWNER,
		.figures_interval_ns = 1000000000,
		.maps_interval_ns = 1000000000,
		.flight_after_ns = 10000000000,
		.flight_pause_ns = 60000000000,
		.within_ns = 600000000000,
	};
}

static int parse_mode(struct options *o, const char *text)
{
	uint64_t interval;
	int mode;

	if (mode_parse(text, &mode, &interval) < 0)
		return -EINVAL;
	o->mode = (uint32_t)mode;
	if (interval)
		o->sample_interval = interval;
	return 0;
}

/* Returns the index of `text` among the words, or -EINVAL. */
static int parse_word(const char *const *words, unsigned count, const char *text)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(text, words[i]))
			return (int)i;
	return -EINVAL;
}

static int parse_policy(uint32_t *ret, const char *text)
{
	static const char *const names[] = {
		[RING_BLOCK] = "block", [RING_THIN] = "thin", [RING_COUNT] = "count"};
	int r = parse_word(names, sizeof(names) / sizeof(names[0]), text);

	*ret = r < 0 ? *ret : (uint32_t)r;
	return r;
}

static int parse_orders(uint64_t *ret, const char *text)
{
	bool all = false, local = !strcmp(text, order_policy_name(ORDERS_LOCAL));
	int r = local ? 0 : options_switch(&all, text);

	if (!r)
		*ret = local ? ORDERS_LOCAL : all ? ORDERS_YES : ORDERS_NO;
	return r;
}

static int parse_symbols(uint64_t *ret, const char *text)
{
	static const char *const names[] = {
		[SYMBOLS_PUBLIC] = "public", [SYMBOLS_ALL] = "yes", [SYMBOLS_NONE] = "no"};
	int r = parse_word(names, sizeof(names) / sizeof(names[0]), text);

	*ret = r < 0 ? *ret : (uint64_t)r;
	return r;
}

int options_switch(bool *ret, const char *text)
{
	static const char *const yes[] = {"1", "yes", "true", "on", ""}, *const no[] = {"0", "no",
											"false",
											"off"};

	for (unsigned i = 0; i < 5; i++)
		if (!strcmp(text, yes[i])) {
			*ret = true;
			return 0;
		}
	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(text, no[i])) {
			*ret = false;
			return 0;
		}
	return -EINVAL;
}

/* Takes a switch or an interval. */
static int parse_maps(struct options *o, const char *text)
{
	if (options_switch(&o->gather_maps, text) == 0)
		return 0;
	if (parse_duration(text, &o->maps_interval_ns) < 0)
		return -EINVAL;
	o->gather_maps = o->maps_interval_ns != 0;
	return 0;
}

/* Stores a value in its field. `what` is the option or variable as the user wrote it. */
static int set(struct options *o, const struct option_row *row, const char *value, const char *what,
	       struct err_text *err)
{
	void *field = (char *)o + row->offset;
	int r = 0;

	switch (row->type) {
	case TEXT:
		*(const char **)field = value;
		break;
	case FLAG:
	case SWITCH:
		r = options_switch(field, value);
		break;
	case SIZE:
		r = parse_size(value, field);
		break;
	case DURATION:
		r = parse_duration(value, field);
		break;
	case NUMBER:
		r = parse_u64(value, field);
		break;
	case MODE:
		r = parse_mode(o, value);
		break;
	case POLICY:
		r = parse_policy(field, value);
		break;
	case MAPS:
		r = parse_maps(o, value);
		break;
	case SYMBOLS:
		r = parse_symbols(field, value);
		break;
	case ORDERS:
		r = parse_orders(field, value);
		break;
	}
	if (r < 0)
		return err_set(err, -EINVAL, "%s takes %s, not '%s'", what,
			       row->argument	   ? row->argument
			       : row->type == MAPS ? "0, 1 or a time"
						   : "0 or 1",
			       value);
	o->source[row - rows] = (uint8_t)o->reading;
	o->line[row - rows] = (uint16_t)o->reading_line;
	return 0;
}

static const struct option_row *options_find_row(const char *name, size_t length, unsigned command)
{
	const char *present = option_present_name(name, length);

	if (present) {
		name = present;
		length = strlen(present);
	}
	for (unsigned i = 0; i < ROWS; i++)
		if (rows[i].commands & command && strlen(rows[i].name) == length &&
		    !strncmp(rows[i].name, name, length))
			return &rows[i];
	return NULL;
}

void options_variable(const char *option, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "HEAPCAST_");

	for (; *option && n < size - 1; option++)
		out[n++] = *option == '-' ? '_' : (char)toupper((unsigned char)*option);
	out[n] = '\0';
}

int options_set(struct options *o, enum option_command command, const char *option,
		const char *value, const char *what, struct err_text *err)
{
	const struct option_row *row = options_find_row(option, strlen(option), command);

	return row ? set(o, row, value, what, err) : 0;
}

static const char *own_variable(const void *context, const char *name)
{
	(void)context;
	return getenv(name);
}

const struct option_environment options_own_environment = {.get = own_variable};

int options_environment(struct options *o, enum option_command command,
			const struct option_environment *from, struct err_text *err)
{
	char name[64];
	int r;

	o->reading = OPTION_VARIABLE;
	r = variables_take(o, command, from, err);

	for (unsigned i = 0; !r && i < ROWS; i++) {
		const char *old = option_old_name(rows[i].name), *value;

		if (!(rows[i].commands & command))
			continue;
		options_variable(rows[i].name, name, sizeof(name));
		value = from->get(from->context, name);
		if (!value && old) {
			options_variable(old, name, sizeof(name));
			value = from->get(from->context, name);
		}
		if (value)
			r = set(o, &rows[i], value, name, err);
	}
	return r;
}

bool options_said(const struct options *o)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (o->source[i] == OPTION_VARIABLE && strcmp(rows[i].name, "config") &&
		    strcmp(rows[i].name, "keys"))
			return true;
	return false;
}

static size_t name_length(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz-");
}

void options_call_variables(const struct options *o, struct err_text *err)
{
	struct err_text said = *err;
	char variable[64];
	size_t n = 0;

	for (const char *at = said.text; *at && n < sizeof(err->text) - 1;) {
		size_t length = strncmp(at, "--", 2) ? 0 : name_length(at + 2);
		const struct option_row *row =
			length ? options_find_row(at + 2, length, ~0u) : NULL;

		if (row && o->source[row - rows] == OPTION_VARIABLE) {
			options_variable(row->name, variable, sizeof(variable));
			n += (size_t)snprintf(err->text + n, sizeof(err->text) - n, "%s", variable);
			at += 2 + length;
		} else {
			err->text[n++] = *at++;
		}
	}
	err->text[n < sizeof(err->text) ? n : sizeof(err->text) - 1] = '\0';
}

static int unknown(const char *name, size_t length, unsigned command, struct err_text *err)
{
	unsigned other = command == COMMAND_RUN ? COMMAND_SERVE : COMMAND_RUN;
	const char *meant = option_nearest(name, length, command);

	if (options_find_row(name, length, other))
		return err_set(err, -EINVAL, "--%.*s is an option of `agent %s` only", (int)length,
			       name, other == COMMAND_RUN ? "run" : "serve");
	if (meant)
		return err_set(err, -EINVAL, "there is no option --%.*s; did you mean --%s?",
			       (int)length, name, meant);
	return err_set(err, -EINVAL, "there is no option --%.*s (--help lists them)", (int)length,
		       name);
}

static int one_option(struct options *o, unsigned command, const char *argument, const char *next,
		      bool *ret_used_next, struct err_text *err)
{
	const char *name = argument + 2, *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = options_find_row(name, length, command);
	const char *value = equals ? equals + 1 : NULL;
	char what[64];

	*ret_used_next = false;
	if (!row)
		return unknown(name, length, command, err);
	snprintf(what, sizeof(what), "--%s", row->name);
	if (!row->argument)
		value = value ? value : "1";
	if (!value) {
		if (!next)
			return err_set(err, -EINVAL, "--%s needs a value: --%s %s", row->name,
				       row->name, row->argument);
		value = next;
		*ret_used_next = true;
	}
	return set(o, row, value, what, err);
}

bool option_for_files(const struct option_row *row)
{
	for (size_t i = 0; i < sizeof(not_for_files) / sizeof(not_for_files[0]); i++)
		if (!strcmp(row->name, not_for_files[i]))
			return false;
	return row->help != NULL;
}

int options_file_line(struct options *o, enum option_command command, const char *name,
		      const char *value, struct err_text *err)
{
	const struct option_row *row = options_find_row(name, strlen(name), command);

	if (!strncmp(name, "--", 2))
		return err_set(err, -EINVAL, "names stand here without dashes: %s = %s", name + 2,
			       value);
	if (!row)
		return unknown(name, strlen(name), command, err);
	if (!option_for_files(row))
		return err_set(err, -EINVAL, "%s can only be said on the command line", name);
	if (o->source[row - rows] == OPTION_FILE)
		return err_set(err, -EINVAL, "%s is set in line %u already", name,
			       o->line[row - rows]);
	if (row->type == FLAG && !*value)
		return err_set(err, -EINVAL, "%s needs a value: %s = yes", name, name);
	return set(o, row, value, name, err);
}

enum order_policy options_orders(const struct options *o)
{
	bool keyed = (o->key && *o->key) || (o->cert && *o->cert) || o->paired;

	return keyed && options_source(o, "orders") == OPTION_DEFAULT
		       ? ORDERS_YES
		       : (enum order_policy)o->orders;
}

void options_choose_policy(struct options *o, enum option_command command)
{
	bool network = o->announce || o->collector || o->listen;

	if (options_source(o, "policy") != OPTION_DEFAULT || command == COMMAND_ATTACH)
		return;
	/* A daemon that libheapcast.so started records one program, and a person waits for this
	 * recording. */
	o->policy = network || (command == COMMAND_SERVE && !o->for_pid) ? RING_THIN : RING_BLOCK;
}

enum option_source options_source(const struct options *o, const char *name)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return (enum option_source)o->source[i];
	return OPTION_DEFAULT;
}

int options_arguments(struct options *o, enum option_command command, int argc, char **argv,
		      struct err_text *err)
{
	int i = 1;

	o->reading = OPTION_ARGUMENT;
	while (i < argc && argv[i][0] == '-') {
		bool used_next;
		int r;

		if (!strcmp(argv[i], "--"))
			return i + 1;
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			o->help = true;
			return i;
		}
		if (argv[i][1] != '-')
			return err_set(err, -EINVAL, "there is no option %s (--help lists them)",
				       argv[i]);
		r = one_option(o, command, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used_next,
			       err);
		if (r < 0)
			return r;
		i += used_next ? 2 : 1;
	}
	return i;
}

/* Prints the words of `text` in lines that end before HELP_WIDTH. The cursor is at column `indent`,
 * which later lines are indented to. */
static void print_wrapped(const char *text, int indent)
{
	int at = indent;

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (at > indent && at + 1 + word >= HELP_WIDTH) {
			printf("\n%*s", indent, "");
			at = indent;
		}
		at += printf("%s%.*s", at > indent ? " " : "", word, text);
		text += word + (text[word] == ' ');
	}
	putchar('\n');
}

void options_help(enum option_command command)
{
	char left[96];

	for (unsigned i = 0; i < ROWS; i++) {
		if (!(rows[i].commands & command) || !rows[i].help)
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", rows[i].name, rows[i].argument ? " " : "",
			 rows[i].argument ? rows[i].argument : "");
		if (strlen(left) > NAME_COLUMN - 4)
			printf("  %s\n%*s", left, NAME_COLUMN, "");
		else
			printf("  %-*s", NAME_COLUMN - 2, left);
		print_wrapped(rows[i].help, NAME_COLUMN);
	}
	printf("\nEach is also a variable: --memory-limit 4M is HEAPCAST_MEMORY_LIMIT=4M. More\n"
	       "variables: agent --variables.\n");
}
