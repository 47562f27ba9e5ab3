#pragma once
/* The agent's options: one table for the command line, the environment (HEAPCAST_NAME), the seed's
 * variables and --help. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

enum option_command {
	COMMAND_RUN = 1,
	COMMAND_SERVE = 2,
	COMMAND_CTL = 4,
	COMMAND_ATTACH = 8,
	COMMAND_PAIR = 32,
	COMMAND_PROGRAM =
		16, /* no command: a program that asks `agent serve` may say it for itself */
};

#define OPTIONS_NO_OWNER UINT64_MAX
#define OPTIONS_MAX	 80 /* rows of the table */

/* Where a value comes from; each counts more than the one before. */
enum option_source { OPTION_DEFAULT, OPTION_FILE, OPTION_VARIABLE, OPTION_ARGUMENT };

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
	bool quiet;
	bool free_stacks;
	bool full_walk;
	uint64_t depth;
	const char *log;
	const char *log_file;
	uint64_t log_limit; /* 0: none */
	uint64_t base_port; /* 0: the usual one */
	uint64_t output_owner;
	const char *socket;
	uint64_t for_pid;
	uint64_t linger_idle_ns;
	uint64_t stop_timeout_ns;
	const char *allow_user;
	const char *allow_group;
	const char *config; /* NULL: the usual file, if it is there; "": none */
	bool check_config;
	uint64_t figures_interval_ns; /* 0: none */
	bool gather_maps;
	uint64_t maps_interval_ns;
	bool allocator_figures;
	uint64_t send_symbols;			/* enum symbol_policy */
	uint64_t orders;			/* enum order_policy; see options_orders */
	uint64_t cull_ns;			/* 0: nothing is culled */
	uint64_t cull_pending;			/* 0: as many as there is room for */
	uint64_t cull_memory;			/* 0: the usual share */
	const char *key, *cert, *cert_key, *ca; /* files */
	const char *keys; /* folder of keys by pairing; NULL: the usual one; "": none */
	bool paired;	  /* there are some, and they are used (command_secure) */
	const char *pair, *name, *forget;
	bool list;
	uint64_t within_ns;
	uint64_t flight_ns; /* 0: no flight recorder */
	uint64_t flight_after_ns;
	uint64_t flight_memory;	   /* 0: the usual share */
	uint64_t flight_rss;	   /* bytes; 0: no trigger */
	const char *flight_growth; /* SIZE/TIME */
	uint64_t flight_pause_ns;
	const char *flight_pressure; /* N% or off */
	bool json;
	const char *control;
	const char *pids; /* numbers with commas in between */
	const char *comm, *cgroup;
	bool all;
	uint64_t for_ns; /* 0: until a signal, or the end of the programs */
	bool check;
	bool help;
	enum option_source reading; /* of what is being set now; `reading_line` in a file */
	unsigned reading_line;
	uint8_t source[OPTIONS_MAX]; /* of each row: enum option_source */
	uint16_t line[OPTIONS_MAX];
};

void options_defaults(struct options *options);
/* Where variables are looked up; NULL: not set. */
struct option_environment {
	const char *(*get)(const void *context, const char *name);
	const void *context;
};
/* The one of this process. */
extern const struct option_environment options_own_environment;

/* From an environment; the command line comes after it. 0; -EINVAL with the variable's name. */
int options_environment(struct options *options, enum option_command command,
			const struct option_environment *from, struct err_text *err);
/* Sets one, as if it were given; `what` is what the person wrote. One that the command does not
 * have is passed over. 0; -EINVAL. */
int options_set(struct options *options, enum option_command command, const char *option,
		const char *value, const char *what, struct err_text *err);
/* Sets one from a file, where `name` must be an option that a file may set. 0; -EINVAL with the
 * reason, which does not name the file. */
int options_file_line(struct options *options, enum option_command command, const char *name,
		      const char *value, struct err_text *err);
/* Has anything been said in the environment, beside where more is said? */
bool options_said(const struct options *options);
enum option_source options_source(const struct options *options, const char *name);
/* Whether: 1, yes, true, on, and nothing; 0, no, false, off. 0; -EINVAL. */
int options_switch(bool *ret, const char *text);
/* Where nobody has said it: a program waits as long as it takes for a file of this machine; the
 * daemon's, and whoever is recorded over a network, for a time that does not hurt, and is sampled
 * beyond that. Called when all other options are known. */
void options_choose_policy(struct options *options, enum option_command command);
/* Where nobody has said it, whoever has the key may order. */
enum order_policy options_orders(const struct options *options);
/* The variable that means this option: HEAPCAST_NAME. */
void options_variable(const char *option, char *out, size_t size);
/* Messages name options: one that came by a variable is called by that in them. */
void options_call_variables(const struct options *options, struct err_text *err);
/* From `argv[1]` on; returns the index of the first argument that is no option (behind a "--", if
 * there is one), or -EINVAL with a sentence that says what to type. */
int options_arguments(struct options *options, enum option_command command, int argc, char **argv,
		      struct err_text *err);
/* The list of the command's options, for --help. */
void options_help(enum option_command command);
