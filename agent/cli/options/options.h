#pragma once
/* The agent's options. One table (rows.c) serves the command line, the environment (HEAPCAST_NAME),
 * the seed's variables, the daemon's file and --help. base/cli/options.h says how the table is
 * read. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/tags.h"
#include "base/cli/options.h"

struct err_text;

enum option_command {
	COMMAND_RUN = 1,
	COMMAND_SERVE = 2,
	COMMAND_CTL = 4,
	COMMAND_ATTACH = 8,
	COMMAND_PAIR = 32,
	COMMAND_PROGRAM = 16, /* no command: a program that asks `agent serve` may set the option
			       * for itself */
};

/* Flags of rows, besides the commands that have the option. */
#define OPTION_FIXED                                                                               \
	64 /* a running agent can't change it: it has divided its memory by it,                    \
	    * listens on it, or used it at its start */
#define OPTION_NOT_IN_FILE 128 /* the file itself, and options of a single invocation */

#define OPTIONS_NO_OWNER UINT64_MAX

struct options {
	uint32_t mode; /* enum ring_mode */
	uint64_t sample_interval;
	const char *output;
	const char *collector;
	bool announce;
	const char *interface;
	const char *listen;
	uint64_t memory_limit;
	uint32_t policy; /* enum ring_policy */
	uint64_t block_max_ns;
	uint64_t linger_ns;
	const char *spool;
	uint64_t spool_limit;
	bool follow;
	bool quiet, report, page;
	bool free_stacks;
	bool full_walk;
	uint64_t depth;
	const char *log;
	const char *log_file;
	uint64_t log_limit; /* 0: no limit */
	uint64_t base_port; /* 0: the default */
	uint64_t output_owner;
	const char *socket;
	uint64_t for_pid;
	uint64_t linger_idle_ns;
	uint64_t stop_timeout_ns;
	const char *allow_user;
	const char *allow_group;
	const char *config; /* NULL: the default file, if it exists; "": none */
	bool check_config;
	uint64_t figures_interval_ns; /* 0: no figures */
	bool gather_maps;
	uint64_t maps_interval_ns;
	bool allocator_figures;
	uint32_t send_symbols;			/* enum symbol_policy */
	uint64_t orders;			/* enum order_policy; see options_orders */
	uint64_t cull_ns;			/* 0: no culling */
	uint64_t cull_pending;			/* 0: as many as fit */
	uint64_t cull_memory;			/* 0: the default share */
	const char *key, *cert, *cert_key, *ca; /* names of files */
	const char *keys; /* folder of keys by pairing; NULL: the default; "": none */
	struct tags tags;
	bool paired; /* pairing keys exist and are used (command_secure) */
	const char *pair, *name, *forget;
	bool list;
	uint64_t within_ns;
	uint64_t flight_ns; /* 0: no flight recorder */
	uint64_t flight_after_ns;
	uint64_t flight_memory;	   /* 0: the default share */
	uint64_t flight_rss;	   /* bytes; 0: no trigger */
	const char *flight_growth; /* SIZE/TIME */
	uint64_t flight_pause_ns;
	const char *flight_pressure; /* N% or off */
	bool json;
	const char *control;
	struct option_list pids; /* numbers, and lists of numbers with commas */
	const char *comm, *cgroup;
	bool all;
	uint64_t for_ns; /* 0: until a signal, or until the programs end */
	bool check;
	struct option_sources from; /* by the index of the row */
};

extern const struct option_group options_groups[];
/* Returns a row of the table, or NULL behind the last one. */
const struct option *option_row(size_t index);
/* Returns the options of these commands; 0: of all commands. */
struct option_set options_of(unsigned commands);
/* Returns true if a configuration file may set the option. */
bool option_for_files(const struct option *row);

void options_defaults(struct options *options);
/* Sets an option from a configuration file, which must be allowed to set `name`. Returns 0, or
 * -EINVAL with the reason, which does not name the file. */
int options_file_line(struct options *options, enum option_command command, const char *name,
		      const char *value, struct err_text *err);
/* Returns true if a variable of the environment has set an option other than `config` and `keys`,
 * which only say where further settings are. */
bool options_said(const struct options *options);
enum option_source options_source(const struct options *options, const char *name);
/* Chooses the policy if the user did not. A program that is recorded to a file on this machine may
 * wait as long as necessary. A program of the daemon, or one that is recorded over a network, waits
 * only for a harmless time, and is sampled beyond that. Call this when all other options are
 * set. */
void options_choose_policy(struct options *options, enum option_command command);
/* Returns the policy for orders. If the user did not choose one, collectors that have the key may
 * give orders. */
enum order_policy options_orders(const struct options *options);
/* Corrects a message, which names options: replaces the name of an option that a variable has set
 * with the name of the variable. */
void options_call_variables(const struct options *options, struct err_text *err);
/* Parses arguments from `argv[1]` on. Returns the index of the first argument that is no option
 * (after a "--", if `argv` has one), or -EINVAL with a sentence that says what to type. */
int options_arguments(struct options *options, enum option_command command, int argc, char **argv,
		      struct err_text *err);
/* Prints the command's options for --help. */
void options_help(enum option_command command);
