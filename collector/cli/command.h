#pragma once
/*
 * How a subcommand of `collector` declares itself: one file a subcommand, in it one `const struct
 * command command_NAME`, and one line in commands.h. The tables below are all that `--help`, the
 * parser and the environment know of it.
 *
 * Options are written into a struct of the command's own, by offset. It begins with struct
 * common_options, so that tables can be shared: a table made for a struct also fits every struct
 * that begins with it.
 *
 *	struct list_options { struct common_options common; const char *sort; };
 *	static const struct option list_table[] = {
 *		OPTION_TEXT(struct list_options, sort, "sort", "NAME", "sort by NAME: start, size"),
 *		{0},
 *	};
 *	static const struct option_group groups[] = {{NULL, list_table}, {"Common options",
 *	common_table}, {0}}; const struct command command_list = {.name = "list", .groups = groups,
 *	.options_size = sizeof(struct list_options), ...};
 *
 * Every long option is also the variable HEAPCAST_NAME (upper case, '-' as '_'); the command line
 * wins over it. A value may follow as `--name value` or `--name=value`; `--no-flag` takes a flag
 * back; `--` ends the options. Strings point into the command line or the environment; a struct
 * starts as zero bytes, or as `defaults` says.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/catalogue/store.h"

struct buf;
struct err_text;
struct recording;
struct store;

/* What the collector's exit status says. */
enum exit_status {
	EXIT_DONE = 0,	/* done */
	EXIT_NO = 1,	/* the answer is "no": a ledger that does not balance, a gate that fails */
	EXIT_USAGE = 2, /* wrong usage */
	EXIT_FAULT = 3, /* a fault outside */
};

enum option_kind {
	OPTION_KIND_FLAG = 1, /* bool */
	OPTION_KIND_TEXT,     /* const char *, NULL: not given */
	OPTION_KIND_NUMBER,   /* uint64_t */
	OPTION_KIND_SIZE,     /* uint64_t bytes: 8M */
	OPTION_KIND_TIME,     /* uint64_t ns: 10s */
	OPTION_KIND_LIST,     /* struct option_list: may be given more than once; the environment
				 separates the parts by commas */
	OPTION_KIND_PAIR,     /* struct option_pairs: the value is stored with the option's own name
				 (filters) */
};

struct option_list {
	const char **texts;
	size_t count;
};

struct option_pairs {
	struct option_pair {
		const char *name, *value;
	} * list;
	size_t count;
};

struct option {
	const char *name; /* without the dashes */
	char letter;	  /* short form, 0: none */
	enum option_kind kind;
	const char *argument; /* what stands for the value in --help; NULL for a flag */
	const char *help;     /* one or two lines; wrapped when shown */
	size_t offset;
};

#define OPTION_FLAG(type, field, name, help)                                                       \
	{                                                                                          \
		name, 0, OPTION_KIND_FLAG, NULL, help, offsetof(type, field)                       \
	}
#define OPTION_TEXT(type, field, name, arg, help)                                                  \
	{                                                                                          \
		name, 0, OPTION_KIND_TEXT, arg, help, offsetof(type, field)                        \
	}
#define OPTION_NUMBER(type, field, name, arg, help)                                                \
	{                                                                                          \
		name, 0, OPTION_KIND_NUMBER, arg, help, offsetof(type, field)                      \
	}
#define OPTION_SIZE(type, field, name, arg, help)                                                  \
	{                                                                                          \
		name, 0, OPTION_KIND_SIZE, arg, help, offsetof(type, field)                        \
	}
#define OPTION_TIME(type, field, name, arg, help)                                                  \
	{                                                                                          \
		name, 0, OPTION_KIND_TIME, arg, help, offsetof(type, field)                        \
	}
#define OPTION_LIST(type, field, name, arg, help)                                                  \
	{                                                                                          \
		name, 0, OPTION_KIND_LIST, arg, help, offsetof(type, field)                        \
	}
#define OPTION_PAIR(type, field, name, arg, help)                                                  \
	{                                                                                          \
		name, 0, OPTION_KIND_PAIR, arg, help, offsetof(type, field)                        \
	}
#define OPTION_LETTER(l, type, field, kind, name, arg, help)                                       \
	{                                                                                          \
		name, l, OPTION_KIND_##kind, arg, help, offsetof(type, field)                      \
	}

struct option_group {
	const char *heading;	      /* NULL: "Options" */
	const struct option *options; /* ends with {0}; NULL ends the groups */
};

/* One call of a command, as its `run` gets it. */
struct command_call {
	const struct command *command;
	void *options; /* options_size bytes */
	char **arguments;
	int argument_count;
};

struct command {
	const char *name;
	const char *summary;  /* for the table of commands: a few words, no full stop */
	const char *usage;    /* what follows the name: "[OPTION...] STREAM" */
	const char *about;    /* paragraphs for --help, in lines of at most 79 columns; ends with a
				 newline */
	const char *examples; /* lines for --help, indented by two; may be NULL */
	/* `about` and the help of options may have a word like {formats}, for what the command has
	 * in a table. This writes what stands there. NULL: they have none. */
	void (*fill)(const char *word, struct buf *out);
	const struct option_group *groups;
	size_t options_size;
	const void *defaults; /* options_size bytes; NULL: zero */
	int arguments_min,
		arguments_max; /* number of arguments that are not options; max -1: any number */
	bool hidden;	       /* not in the table of commands */
	int (*run)(struct command_call *call); /* returns an enum exit_status */
};

/* The options that nearly every command takes. */
struct common_options {
	const char *data; /* never NULL: DEFAULT_DATA unless given */
	bool json;
};

#define DEFAULT_DATA "./heapcast-data"

extern const struct option data_table[];   /* --data only */
extern const struct option common_table[]; /* --data, --json */

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

/* Finds the path of a recording for a STREAM argument: a path stays as it is, else the store at
 * `data` is asked. The caller frees the path. Returns 0 or a negative errno. */
int command_find_stream(const char *data, const char *stream, char **ret_path,
			struct err_text *err);

/* Shows the progress of recording_open on a terminal, and nothing elsewhere. `context` is a text
 * such as "reading". Clears its line at the end. */
int command_progress(void *context, uint64_t done, uint64_t of);

/* ---- for main.c ---- */

const struct command *command_lookup(const char *name);
/* Parses the arguments behind the command's name, and runs the command. */
int command_main(const struct command *command, int argc, char **argv);
void command_help(const struct command *command);
/* Returns the name most similar to `name` among `count` names, or NULL if none is similar enough.
 */
const char *command_suggestion(const char *name, const char *(*nth)(const void *of, size_t i),
			       const void *of, size_t count);
