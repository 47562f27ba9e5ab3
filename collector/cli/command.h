#pragma once
/*
 * Declares the subcommands of `collector`. Each one is a file with one `const struct command
 * command_NAME`, and has a line in commands.h. --help, the parser and the environment know a
 * command only by its tables.
 *
 * The struct of a command's options begins with struct common_options, so that tables can be shared
 * (base/cli/options.h). It starts as zero bytes, or as `defaults` says.
 *
 *	static const struct option_group groups[] = {{NULL, list_table}, {"Common options",
 *	common_table}, {0}}; const struct command command_list = {.name = "list", .groups = groups,
 *	.options_size = sizeof(struct list_options), ...};
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cli/options.h"
#include "collector/catalogue/store.h"

struct answer;
struct buf;
struct err_text;
struct question_kind;
struct recording;
struct store;

/* The exit status of the collector. */
enum exit_status {
	EXIT_DONE = 0,	/* done */
	EXIT_NO = 1,	/* the answer is "no": a ledger that does not balance, a check that fails */
	EXIT_USAGE = 2, /* wrong usage */
	EXIT_FAULT = 3, /* something outside failed */
};

/* A call of a command, the argument of `run`. */
struct command_call {
	const struct command *command;
	void *options; /* options_size bytes */
	char **arguments;
	int argument_count;
};

#define COMMAND_ANSWERS_MAX 4

struct command {
	const char *name;
	const char *summary;  /* for the table of commands: a few words, no full stop */
	const char *usage;    /* what follows the name: "[OPTION...] STREAM" */
	const char *about;    /* paragraphs for --help, in lines of at most 79 columns; ends with a
				 newline */
	const char *work;     /* what progress.h shows while the command runs; NULL: nothing */
	const char *examples; /* lines for --help, indented by two; may be NULL */
	/* `about` and the help of options may contain words like {formats}, which stand for text
	 * from the command's tables. This function writes that text. NULL: no such words. */
	void (*fill)(const char *word, struct buf *out);
	const struct option_group *groups;
	size_t options_size;
	const void *defaults; /* options_size bytes; NULL: zero */
	int arguments_min,
		arguments_max; /* number of arguments without options; max -1: unlimited */
	bool is_file;	       /* the answer is a file, and --json describes it */
	bool hidden;	       /* not in the list of commands */
	int (*run)(struct command_call *call);	 /* returns an enum exit_status */
	const struct question_kind *question;	 /* that it asks (ask/question.h); NULL: none */
	const struct question_kind *question_by; /* with --by, where that is another; or NULL */
	/* The possible answers with --json, behind output_head_answer. A command with a question
	 * has the question's answer. */
	const struct answer *answers[COMMAND_ANSWERS_MAX];
};

/* Options that nearly every command takes. */
struct common_options {
	const char *data; /* never NULL: DEFAULT_DATA unless given */
	bool data_only;	  /* --data was given: `last` is searched there only */
	bool json, full_names, wide, no_pager;
	const char *pager;  /* NULL: as the environment says */
	const char *select; /* NULL: all streams; see catalogue/select.h */
	bool select_typed;  /* on the command line; what a variable says gives way to a file, and
			       to streams that are named otherwise */
	bool store_typed;   /* the same of --store, where the command has it */
};

#define DEFAULT_DATA "./heapcast-data"

/* Where a question is answered from the data base that collectors share (collector/share). */
#define STORE_OPTION(type, field)                                                                  \
	OPTION_TEXT(type, field, "store", "URL",                                                   \
		    "the data base that collectors share: clickhouse://[USER@]HOST/DATABASE, and " \
		    "more in docs/shared-store.md")

/* For questions that either a folder or that data base answers: returns the URL, or NULL if the
 * folder is asked. What a variable says gives way to a folder that was typed. */
const char *command_store(const struct common_options *options, const char *store);
/* Ends such a question if both were typed. Returns EXIT_DONE or EXIT_USAGE. */
int command_store_check(const struct command *command, const struct common_options *options);

#define STORE_KEEP_OPTION(type, field)                                                             \
	OPTION_TIME(                                                                               \
		type, field, "store-keep", "TIME",                                                 \
		"drop what is older from that data base, in whole days (30d); what is in use is "  \
		"kept (all is kept)")

#define PAGE_ADDRESS_OPTION(type, field, usual)                                                    \
	OPTION_TEXT(type, field, "page-address", "URL",                                            \
		    "where the page of this collector is, for the other collectors' links and "    \
		    "redirects: https://desk1:8443 (" usual ")")

#define PAGE_ADDRESS_WRONG                                                                         \
	"--page-address takes an address such as https://desk1:8443, without a slash at its end"

extern const struct option data_table[];   /* --data only */
extern const struct option folder_table[]; /* --data, --json */
extern const struct option common_table[]; /* and --select, where streams are named */
extern const struct option answer_table[]; /* and --pager, --no-pager, for long answers */
extern const struct option asking_table[]; /* and --full-names, --wide */

/* Prints a note on standard error, beside the answer. */
void command_note(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints a note on what opening the recording had to leave out or derive again. */
void command_note_opening(const struct command *command, const struct recording *recording);
/* Print a message on standard error, and return the exit status for `run`: EXIT_USAGE, or the
 * status of the error. */
int command_usage_error(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int command_fault(const struct command *command, int error, const struct err_text *err);
/* Does the same as command_fault, but returns EXIT_USAGE if what the user named is missing or is of
 * the wrong kind. */
int command_input_fault(const struct command *command, int error, const struct err_text *err);

/* Finds the path of a recording by a STREAM argument. A path stays as it is. `last` is the newest
 * recording (last.h). Other names are searched in the data folder. The caller frees the path.
 * Returns 0 or a negative errno. */
int command_find_stream(const struct common_options *options, const char *stream, char **ret_path,
			struct err_text *err);

/* ---- for main.c ---- */

/* Parses the arguments behind the command's name, and runs the command. Returns an exit status. */
int command_main(const struct command *command, int argc, char **argv);
void command_help(const struct command *command);
