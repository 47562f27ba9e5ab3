#pragma once
/*
 * How a subcommand of `collector` declares itself: one file a subcommand, in it one `const struct
 * command command_NAME`, and one line in commands.h. The tables below are all that `--help`, the
 * parser and the environment know of it.
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

/* What the collector's exit status says. */
enum exit_status {
	EXIT_DONE = 0,	/* done */
	EXIT_NO = 1,	/* the answer is "no": a ledger that does not balance, a gate that fails */
	EXIT_USAGE = 2, /* wrong usage */
	EXIT_FAULT = 3, /* a fault outside */
};

/* One call of a command, as its `run` gets it. */
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
	const char *work;     /* that progress.h shows while it runs; NULL: nothing */
	const char *examples; /* lines for --help, indented by two; may be NULL */
	/* `about` and the help of options may have a word like {formats}, for what the command has
	 * in a table. This writes what stands there. NULL: they have none. */
	void (*fill)(const char *word, struct buf *out);
	const struct option_group *groups;
	size_t options_size;
	const void *defaults; /* options_size bytes; NULL: zero */
	int arguments_min,
		arguments_max; /* number of arguments that are not options; max -1: any number */
	bool is_file;	       /* it answers with a file: --json says so */
	bool hidden;	       /* not in the table of commands */
	int (*run)(struct command_call *call);	 /* returns an enum exit_status */
	const struct question_kind *question;	 /* that it asks (ask/question.h); NULL: none */
	const struct question_kind *question_by; /* with --by, where that is another; or NULL */
	/* What it answers with --json, behind output_head_answer: one of these. Commands with a
	 * question have the question's. */
	const struct answer *answers[COMMAND_ANSWERS_MAX];
};

/* The options that nearly every command takes. */
struct common_options {
	const char *data; /* never NULL: DEFAULT_DATA unless given */
	bool data_only;	  /* it was given on the command line: `last` is not looked for elsewhere */
	bool json, full_names, wide, no_pager;
	const char *pager; /* NULL: as the environment says */
};

#define DEFAULT_DATA "./heapcast-data"

extern const struct option data_table[];   /* --data only */
extern const struct option common_table[]; /* --data, --json */
extern const struct option answer_table[]; /* and --pager, --no-pager: answers may be long */
extern const struct option asking_table[]; /* and --full-names, --wide */

/* Prints a note beside the answer, on standard error. */
void command_note(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints a note that says what opening the recording had to leave out or make anew. */
void command_note_opening(const struct command *command, const struct recording *recording);
/* Print one sentence on standard error and return what `run` has to return. */
int command_usage_error(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int command_fault(const struct command *command, int error, const struct err_text *err);
/* As command_fault, but returns EXIT_USAGE if what the user named is not there or is not what it
 * should be. */
int command_input_fault(const struct command *command, int error, const struct err_text *err);

/* Finds the path of a recording for a STREAM argument: a path stays as it is, `last` is the newest
 * (last.h), else the data folder is asked. The caller frees the path. Returns 0 or a negative
 * errno. */
int command_find_stream(const struct common_options *options, const char *stream, char **ret_path,
			struct err_text *err);

/* ---- for main.c ---- */

/* Parses the arguments behind the command's name, and runs the command. */
int command_main(const struct command *command, int argc, char **argv);
void command_help(const struct command *command);
