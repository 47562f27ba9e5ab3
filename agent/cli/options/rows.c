/* Has the table of the agent's options, and reads the kinds of values that only they have. See
 * options.h. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/options/options.h"
#include "agent/net/symbol_place.h"
#include "agent/stream/orders.h"
#include "agent/spool/spool_disk.h"
#include "base/parse.h"
#include "proto/mode.h"
#include "proto/ring.h"
#include "base/ban.h"

#define BOTH	       (COMMAND_RUN | COMMAND_SERVE)
#define EACH	       (BOTH | COMMAND_ATTACH)
#define BOTH_OWN       (BOTH | COMMAND_PROGRAM)
#define EACH_OWN       (EACH | COMMAND_PROGRAM)
#define FIXED	       OPTION_FIXED
#define NOT_IN_FILE    OPTION_NOT_IN_FILE
#define SAMPLE_DEFAULT (512u << 10)

/* ---- own kinds ---- */

static const char *const policy_words[] = {
	[RING_BLOCK] = "block", [RING_THIN] = "thin", [RING_COUNT] = "count", NULL};
static const char *const symbols_words[] = {
	[SYMBOLS_PUBLIC] = "public", [SYMBOLS_ALL] = "yes", [SYMBOLS_NONE] = "no", NULL};

static int mode_read(void *options, const char *text)
{
	struct options *o = options;
	uint64_t interval;
	int mode;

	if (mode_parse(text, &mode, &interval) < 0)
		return -EINVAL;
	o->mode = (uint32_t)mode;
	if (interval)
		o->sample_interval = interval;
	return 0;
}

static void mode_write(const void *options, char *out, size_t size)
{
	const struct options *o = options;

	mode_text(out, size, (int)o->mode, o->sample_interval);
}

/* Takes a switch or an interval. */
static int maps_read(void *options, const char *text)
{
	struct options *o = options;

	if (parse_switch(text, &o->gather_maps) == 0)
		return 0;
	if (parse_duration(text, &o->maps_interval_ns) < 0)
		return -EINVAL;
	o->gather_maps = o->maps_interval_ns != 0;
	return 0;
}

static void maps_write(const void *options, char *out, size_t size)
{
	const struct options *o = options;

	snprintf(out, size, "%s", o->gather_maps ? "yes" : "no");
}

static int orders_read(void *options, const char *text)
{
	bool all = false, local = !strcmp(text, order_policy_name(ORDERS_LOCAL));
	int r = local ? 0 : parse_switch(text, &all);
	struct options *o = options;

	if (!r)
		o->orders = local ? ORDERS_LOCAL : all ? ORDERS_YES : ORDERS_NO;
	return r;
}

static void orders_write(const void *options, char *out, size_t size)
{
	snprintf(out, size, "%s", order_policy_name(options_orders(options)));
}

static int tags_read(void *options, const char *text)
{
	return tags_add(&((struct options *)options)->tags, text, NULL);
}

static void tags_write(const void *options, char *out, size_t size)
{
	tags_text(&((const struct options *)options)->tags, out, size);
}

/* Given again by the same source, the list gets longer. A text that was made stays for good,
 * because settings of an earlier reading may refer to it. */
static int collector_read(void *options, const char *text)
{
	struct options *o = options;
	const struct option_set all = options_of(0);
	int index = options_find(&all, "collector", strlen("collector"));
	bool more = index >= 0 && o->from.of[index] == (uint8_t)o->from.now && o->collector &&
		    *o->collector && *text;
	char *list;

	if (!more) {
		o->collector = text;
		return 0;
	}
	if (asprintf(&list, "%s,%s", o->collector, text) < 0)
		return -ENOMEM;
	o->collector = list;
	return 0;
}

static void collector_write(const void *options, char *out, size_t size)
{
	const struct options *o = options;

	snprintf(out, size, "%s", o->collector ? o->collector : "");
}

static const struct option_own collector_kind = {
	.parse = collector_read, .text = collector_write, .size = sizeof(const char *)};
static const struct option_own tags_kind = {
	.parse = tags_read,
	.text = tags_write,
	.size = sizeof(((struct options *)0)->tags),
	.takes = "KEY=VALUE, such as site=berlin (letters, digits, '_', '-' and '.' in KEY, 32 at "
		 "most; 96 bytes in VALUE; 16 tags and 256 bytes in all)"};
static const struct option_own mode_kind = {
	.parse = mode_read, .text = mode_write, .size = sizeof(((struct options *)0)->mode)};
static const struct option_own maps_kind = {.parse = maps_read,
					    .text = maps_write,
					    .size = sizeof(((struct options *)0)->gather_maps),
					    .takes = "0, 1 or a time"};
static const struct option_own orders_kind = {
	.parse = orders_read, .text = orders_write, .size = sizeof(((struct options *)0)->orders)};

/* ---- rows ---- */

#define ROW(marks, kind, field, name, argument, help)                                              \
	{                                                                                          \
		name, 0, OPTION_KIND_##kind, argument, help, offsetof(struct options, field),      \
			marks, NULL, NULL                                                          \
	}
#define CHOICE(marks, field, words, name, argument, help)                                          \
	{                                                                                          \
		name, 0, OPTION_KIND_CHOICE, argument, help, offsetof(struct options, field),      \
			marks, words, NULL                                                         \
	}
#define OWN(marks, field, own, name, argument, help)                                               \
	{                                                                                          \
		name, 0, OPTION_KIND_OWN, argument, help, offsetof(struct options, field), marks,  \
			NULL, &own                                                                 \
	}

static const struct option rows[] = {
	{.name = "pid",
	 .kind = OPTION_KIND_LIST,
	 .argument = "PID[,PID...]",
	 .help = "record these processes; may be given more than once",
	 .offset = offsetof(struct options, pids),
	 .marks = COMMAND_ATTACH},
	ROW(COMMAND_ATTACH, TEXT, comm, "comm", "NAME",
	    "record those of this name (as `ps -o comm` shows it), and those that start later, "
	    "too"),
	ROW(COMMAND_ATTACH, TEXT, cgroup, "cgroup", "PATH",
	    "record those in this control group (a container's, a service's) or below it, and "
	    "those "
	    "that come into it; a folder below /sys/fs/cgroup, or as /proc/PID/cgroup shows it"),
	ROW(COMMAND_ATTACH, FLAG, all, "all", NULL,
	    "record every process, as far as there are places: one for each 2 MiB of "
	    "--memory-limit, "
	    "64 at most; never an agent or its collector"),
	ROW(COMMAND_ATTACH, FLAG, check, "check", NULL, "say what this machine permits, and end"),
	ROW(COMMAND_ATTACH, TIME, for_ns, "for", "TIME",
	    "detach from the programs after this time (until they end, or a signal)"),
	OWN(EACH_OWN, mode, mode_kind, "mode", "full|sample[=BYTES]|off",
	    "full: every event (default); sample: one allocation in so many bytes (512K); off: "
	    "nothing until it is switched on"),
	ROW(EACH_OWN, TEXT, output, "output", "PATTERN",
	    "write a file; %e program, %t time, %p pid, %n counter, %% (default without a "
	    "collector: "
	    "heapcast_%e_%t_%p.heapcast)"),
	OWN(EACH, collector, collector_kind, "collector", "HOST[:PORT][,...]",
	    "connect to this collector (port 43513), and serve no other. Several (a list, the "
	    "option "
	    "again, a name with several addresses): one of them, which the agent chooses by its "
	    "own "
	    "name, and the next one when that is away"),
	ROW(EACH | FIXED, FLAG, announce, "announce", NULL,
	    "listen, and be found by `collector gather` on the same network"),
	ROW(EACH | COMMAND_PAIR | FIXED, TEXT, interface, "interface", "NAME",
	    "announce and listen there only; lo stays on this machine"),
	ROW(EACH | FIXED, TEXT, listen, "listen", "[ADDR]:PORT",
	    "listen there (default: first free port from 8100 to 8200)"),
	ROW(EACH | FIXED, NUMBER, base_port, "base-server-port", "PORT",
	    "listen on the first free port from here, 101 are tried (8100)"),
	ROW(EACH_OWN, NUMBER, output_owner, "chown-output-to", "UID", "give files to this user"),
	ROW(EACH | COMMAND_PAIR | FIXED, SIZE, memory_limit, "memory-limit", "SIZE",
	    "all memory of the agent, rings included (8M, at least 2M; attach: 32M, at least "
	    "3.7M)"),
	CHOICE(EACH_OWN, policy, policy_words, "policy", "block|thin|count",
	       "when the agent does not keep up: block: the program waits (default of run into a "
	       "file, and of attach, for up to 0.1 ms a call); thin: it waits 10 ms in any 100 ms, "
	       "and is sampled beyond that (default of serve, and with a collector; not for "
	       "attach); count: it does not wait, and what is not recorded is counted"),
	ROW(BOTH_OWN, TIME, block_max_ns, "block-max", "TIME",
	    "with --policy block: the longest wait at a time (10s); beyond it, as with count"),
	ROW(EACH, TIME, linger_ns, "linger", "TIME",
	    "after the program has ended, wait so long for a collector; then what is left goes "
	    "to a file (30s). The same time holds for a collector that left with only a part, "
	    "and, with --follow, for children that outlive the program"),
	ROW(EACH, TIME, stop_timeout_ns, "stop-timeout", "TIME",
	    "after SIGTERM, deliver for so long (10s). A collector that takes nothing for half "
	    "of this time is not waited for: the rest goes to a file. A second signal ends the "
	    "waiting"),
	ROW(COMMAND_SERVE | FIXED, TEXT, spool, "spool", "DIR",
	    "when memory is full, write batches that a collector has not received yet to files "
	    "in this folder; if an agent is killed, the next one sends what is there"),
	ROW(COMMAND_SERVE | FIXED, SIZE, spool_limit, "spool-limit", "SIZE",
	    "bytes of these files (64M; at least 1M)"),
	ROW(EACH_OWN, FLAG, follow, "follow", NULL,
	    "record children, too, whether they exec or not, each as a stream of its own; each "
	    "takes 200 KiB of --memory-limit as it begins, and more as it needs it"),
	ROW(EACH_OWN, FLAG, free_stacks, "free-stacks", "yes|no",
	    "record the stack of frees, too (yes)"),
	ROW(BOTH_OWN, FLAG, full_walk, "full-walk", NULL,
	    "walk every stack in full (slower; to compare with)"),
	ROW(EACH_OWN | FIXED, NUMBER, depth, "depth", "FRAMES",
	    "frames kept of a stack, the outer ones (256; at most 1000)"),
	ROW(EACH_OWN | FIXED, TIME, figures_interval_ns, "figures-interval", "TIME",
	    "how often resident memory, page faults and the like are recorded (1s; 0: never)"),
	OWN(EACH_OWN | FIXED, gather_maps, maps_kind, "gather-maps", NULL,
	    "record what is mapped, and how much of it is in memory; =TIME: how often"),
	ROW(EACH_OWN | FIXED, TIME, maps_interval_ns, "maps-interval", "TIME",
	    "how often maps are read (1s); less often if a process has so many that reading "
	    "takes long"),
	ROW(BOTH_OWN | FIXED, FLAG, allocator_figures, "allocator-figures", NULL,
	    "have the program ask glibc's mallinfo2 once a second; not for programs that allocate "
	    "in "
	    "the handlers of signals"),
	CHOICE(EACH, send_symbols, symbols_words, "send-symbols", "no|public|yes",
	       "give collectors the files of recorded programs and their libraries, so that "
	       "functions have names: no; public: those that every user of this host may read "
	       "(default); yes: all that the program's own user may read"),
	OWN(EACH, orders, orders_kind, "orders", "no|local|yes",
	    "take orders of collectors: no; local: start, stop and mode from this host, snapshot "
	    "and mark from all (default without a key); yes: all of them (default with a key). "
	    "`agent ctl` works in any case"),
	ROW(EACH_OWN | FIXED, TIME, cull_ns, "short-lived", "TIME",
	    "send blocks that live shorter than this as sums: totals stay exact, and the timeline "
	    "leaves them out; what lives longer is sent that much later (0: everything is sent)"),
	ROW(EACH | FIXED, NUMBER, cull_pending, "short-lived-pending", "N",
	    "at most so many blocks wait for their end (as many as there is room for)"),
	ROW(EACH | FIXED, SIZE, cull_memory, "short-lived-memory", "SIZE",
	    "the memory in which they wait, a part of --memory-limit (an eighth of it)"),
	ROW(EACH | FIXED, TIME, flight_ns, "flight", "TIME",
	    "flight recorder: keep only what is in use and the events of the last TIME, and send "
	    "these on a trigger: a signal (SIGUSR1 to the agent), an order, memory pressure, the "
	    "options below, or the program's end (0: everything is sent as it comes)"),
	ROW(EACH | FIXED, TIME, flight_after_ns, "flight-after", "TIME",
	    "send everything for so long after a trigger (10s)"),
	ROW(EACH | FIXED, SIZE, flight_memory, "flight-memory", "SIZE",
	    "room to keep it in, of --memory-limit (half of it)"),
	ROW(EACH | FIXED, SIZE, flight_rss, "flight-rss", "SIZE",
	    "a trigger: more than this is resident"),
	ROW(EACH | FIXED, TEXT, flight_growth, "flight-growth", "SIZE/TIME",
	    "a trigger: what is resident has grown by SIZE within TIME"),
	ROW(EACH | FIXED, TEXT, flight_pressure, "flight-pressure", "PERCENT|off",
	    "a trigger: tasks waited for memory for this share of a second, where the kernel "
	    "tells (10%); and, unless off, a cgroup that is throttled or has used 90% of its "
	    "limit"),
	ROW(EACH | FIXED, TIME, flight_pause_ns, "flight-pause", "TIME",
	    "the least time between two of these triggers (1m)"),
	OWN(EACH_OWN, tags, tags_kind, "tag", "KEY=VALUE[,KEY=VALUE...]",
	    "tags of what is recorded, such as site=berlin,version=1.4, by which --select chooses "
	    "streams; may be given more than once. A program can have HEAPCAST_TAG of its own"),
	ROW(COMMAND_RUN | COMMAND_ATTACH, FLAG, quiet, "quiet", NULL, "no summary at the end"),
	ROW(COMMAND_RUN | NOT_IN_FILE, FLAG, report, "report", NULL,
	    "print the whole report at the end (`heapcast run`, into a file)"),
	ROW(COMMAND_RUN | NOT_IN_FILE, FLAG, page, "page", NULL,
	    "open the page at the end (`heapcast run`, into a file)"),
	ROW(COMMAND_SERVE | COMMAND_CTL | FIXED, TEXT, socket, "socket", "PATH",
	    "where programs ask to be recorded; a name that begins with @ is no file (default: see "
	    "above)"),
	ROW(COMMAND_RUN | COMMAND_ATTACH, TEXT, control, "control", "PATH",
	    "take orders of `agent ctl --socket PATH`"),
	ROW(COMMAND_CTL, FLAG, json, "json", NULL, "answer in JSON"),
	ROW(COMMAND_SERVE | FIXED | NOT_IN_FILE, NUMBER, for_pid, "for-pid", "PID",
	    "started by libheapcast.so for this process"),
	ROW(COMMAND_SERVE, TEXT, allow_user, "allow-user", "USER[,USER...]",
	    "record programs of these users, too, by name or number; * is every user (always: "
	    "those "
	    "of the agent's own user, and of root)"),
	ROW(COMMAND_SERVE, TEXT, allow_group, "allow-group", "GROUP[,GROUP...]",
	    "and of users in these groups"),
	ROW(COMMAND_SERVE | FIXED | NOT_IN_FILE, TEXT, config, "config", "FILE",
	    "lines of NAME = VALUE with the names of these options; # begins a comment (default: "
	    "/etc/heapcast/agent.conf if it is there; empty: none). The command line counts more "
	    "than "
	    "variables, these more than the file. SIGHUP reads it again"),
	ROW(COMMAND_SERVE | FIXED | NOT_IN_FILE, FLAG, check_config, "check-config", NULL,
	    "print the settings that hold and where each comes from, then end"),
	ROW(COMMAND_SERVE, TIME, linger_idle_ns, "linger-idle", "TIME",
	    "end when nothing was recorded for so long"),
	ROW(EACH, TEXT, log, "log", "error|warn|info|debug|off",
	    "what to tell (run: warn, serve: info)"),
	ROW(EACH | FIXED, TEXT, log_file, "logfile", "PATH",
	    "where to (standard error); %e, %t and %p as in --output"),
	ROW(EACH, SIZE, log_limit, "logfile-limit", "SIZE",
	    "begin a new log file at this size; the first one is kept as PATH.initial, the one "
	    "before "
	    "as PATH.old"),
	ROW(EACH | FIXED, TEXT, key, "key", "FILE",
	    "talk to collectors that have this key, too, and to nobody else, by TLS: a file of "
	    "mode "
	    "0600, made by 'openssl rand -hex 32'"),
	ROW(EACH | FIXED, TEXT, cert, "cert", "FILE",
	    "instead of a key: talk by TLS to collectors whose certificate is signed by --ca, "
	    "and show them this one (PEM)"),
	ROW(EACH | FIXED, TEXT, cert_key, "cert-key", "FILE",
	    "its private key, a file of mode 0600"),
	ROW(EACH | FIXED, TEXT, ca, "ca", "FILE", "who signs the certificates of members"),
	ROW(EACH | COMMAND_PAIR | FIXED, TEXT, keys, "keys", "DIR",
	    "the folder of keys made by pairing (agent pair). Once it has a key, agents talk to "
	    "nobody who has none, unless --key or --cert is given (default: as root "
	    "/etc/heapcast/keys, else ~/.config/heapcast/keys; empty: none)"),
	ROW(COMMAND_RUN | NOT_IN_FILE, TEXT, pair, "pair", "CODE[@HOST]",
	    "pair first, as agent pair does; then announce, or dial HOST"),
	ROW(COMMAND_RUN | COMMAND_PAIR, TIME, within_ns, "within", "TIME",
	    "how long to wait for the collector with which to pair (10m)"),
	ROW(COMMAND_PAIR, TEXT, name, "name", "NAME",
	    "what the pair is called here (as the collector's host calls itself)"),
	ROW(COMMAND_PAIR, FLAG, list, "list", NULL,
	    "list the pairs: the name of each here, since when it exists, and with whom"),
	ROW(COMMAND_PAIR, TEXT, forget, "forget", "NAME",
	    "remove a key: agents here no longer talk to whoever has it"),
	{0},
};

static_assert(sizeof(rows) / sizeof(rows[0]) <= OPTIONS_MAX + 1, "options_put has room for each");

const struct option_group options_groups[] = {{NULL, rows}, {0}};

const struct option *option_row(size_t index)
{
	return index < sizeof(rows) / sizeof(rows[0]) - 1 ? &rows[index] : NULL;
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
