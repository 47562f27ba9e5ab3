#pragma once
/*
 * Command-line options. Each option is declared once, as a row of a table. The command-line parser,
 * the environment reader and --help use only that table; the manual and shell completion are made
 * from --help.
 *
 * A command has a set of options: groups of rows, each under a heading of --help. The parser writes
 * values by offset into a struct that the command defines. A table made for a struct also fits
 * every struct that begins with it.
 *
 *	struct list_options { const char *sort; bool all; };
 *	static const struct option list_table[] = {
 *		OPTION_TEXT(struct list_options, sort, "sort", "NAME", "sort by NAME: start, size"),
 *		OPTION_FLAG(struct list_options, all, "all", "list what has ended, too"),
 *		{0},
 *	};
 *
 * A long name may be abbreviated (--mem) if only one option begins that way.
 *
 * A value is written `--name value` or `--name=value`, or `-nvalue` after a letter. `--no-flag`
 * clears a flag, and `--` ends the options. Every option can also be set by the variable
 * HEAPCAST_NAME (upper case, '-' as '_'). The command line overrides the variable. An empty
 * variable leaves a flag unchanged. Text values are not copied: they point into argv or the
 * environment, which must outlive the struct.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

#define OPTIONS_MAX 128 /* rows of a set */

enum option_kind {
	OPTION_KIND_FLAG = 1, /* bool; takes a value only if `argument` names it */
	OPTION_KIND_TEXT,     /* const char *, NULL: not given */
	OPTION_KIND_NUMBER,   /* uint64_t */
	OPTION_KIND_SIZE,     /* uint64_t bytes: 8M */
	OPTION_KIND_TIME,     /* uint64_t ns: 10s */
	OPTION_KIND_CHOICE,   /* uint32_t: the index of one of `words` */
	OPTION_KIND_LIST,     /* struct option_list: may be given more than once; the environment
				 separates the parts by commas */
	OPTION_KIND_PAIR,     /* struct option_pairs: the value is stored with the option's own name
				 (filters) */
	OPTION_KIND_OWN,      /* parsed and printed by the functions in `own` */
};

struct option_list {
	const char **texts;
	size_t count;
};

struct option_pair {
	const char *name, *value;
};

struct option_pairs {
	struct option_pair *list;
	size_t count;
};

/* A kind of value that only one program uses. */
struct option_own {
	/* Returns 0 or a negative number. */
	int (*parse)(void *options, const char *text);
	/* Writes the value as `parse` takes it. */
	void (*text)(const void *options, char *out, size_t size);
	size_t size;	   /* of the field, in bytes */
	const char *takes; /* names valid values in error messages; NULL: use `argument` */
};

struct option {
	const char *name; /* without the dashes */
	char letter;	  /* short form, 0: none */
	enum option_kind kind;
	const char *argument; /* the value's placeholder in --help; NULL: takes no value */
	const char *help;     /* wrapped when shown; NULL hides the option from --help */
	unsigned offset;
	unsigned marks;		  /* bits that the program defines */
	const char *const *words; /* of a choice; a NULL follows the last one */
	const struct option_own *own;
};

#define OPTION_FLAG(type, field, name, help)                                                       \
	{                                                                                          \
		name, 0, OPTION_KIND_FLAG, NULL, help, offsetof(type, field), 0, NULL, NULL        \
	}
#define OPTION_TEXT(type, field, name, arg, help)                                                  \
	OPTION_LETTER(0, type, field, TEXT, name, arg, help)
#define OPTION_NUMBER(type, field, name, arg, help)                                                \
	OPTION_LETTER(0, type, field, NUMBER, name, arg, help)
#define OPTION_SIZE(type, field, name, arg, help)                                                  \
	OPTION_LETTER(0, type, field, SIZE, name, arg, help)
#define OPTION_TIME(type, field, name, arg, help)                                                  \
	OPTION_LETTER(0, type, field, TIME, name, arg, help)
#define OPTION_LIST(type, field, name, arg, help)                                                  \
	OPTION_LETTER(0, type, field, LIST, name, arg, help)
#define OPTION_PAIR(type, field, name, arg, help)                                                  \
	OPTION_LETTER(0, type, field, PAIR, name, arg, help)
#define OPTION_LETTER(letter, type, field, kind, name, arg, help)                                  \
	{                                                                                          \
		name, letter, OPTION_KIND_##kind, arg, help, offsetof(type, field), 0, NULL, NULL  \
	}

struct option_group {
	const char *heading;	      /* NULL: "Options" */
	const struct option *options; /* ends with {0}; NULL ends the groups */
};

/* A former name. Scripts and environments that use it keep working; help and completion show only
 * the current names. */
struct option_renamed {
	const char *old, *name; /* NULL ends the list */
};

struct option_set {
	const struct option_group *groups;
	unsigned marks; /* the set contains only rows with one of these; 0: all rows */
	const struct option_renamed *renamed;
	bool stops; /* the first argument that is not an option ends the options */
	/* Names another command that has an option which this set lacks, or returns NULL. */
	const char *(*elsewhere)(const struct option_set *set, const char *name, size_t length);
	/* Replaces words like {formats} in a help text. Returns new memory that the caller frees,
	 * or NULL. The pointer may be NULL. */
	char *(*filled)(const void *context, const char *text);
	const void *context;
};

/* The sources of values, in ascending precedence. */
enum option_source { OPTION_DEFAULT, OPTION_FILE, OPTION_VARIABLE, OPTION_ARGUMENT };

struct option_sources {
	enum option_source now; /* the source being read; for a file, `line_now` is its line */
	unsigned line_now;
	uint8_t of[OPTIONS_MAX]; /* enum option_source of each row's value */
	uint16_t line[OPTIONS_MAX];
	bool help; /* --help was read */
};

/* The destination of values. */
struct option_target {
	const struct option_set *set;
	void *options;
	struct option_sources *sources;
};

/* A source of variables; `get` returns NULL for a variable that is not set. */
struct option_environment {
	const char *(*get)(const void *context, const char *name);
	const void *context;
};
/* The environment of this process. */
extern const struct option_environment options_own_environment;

/* Returns a row of the set's groups, or NULL after the last one. The set's `marks` may exclude the
 * row; options_has tells. */
const struct option *options_at(const struct option_set *set, size_t index);
bool options_has(const struct option_set *set, const struct option *option);
/* Returns the index of the option with this current or former name, or -ENOENT. */
int options_find(const struct option_set *set, const char *name, size_t length);

/*
 * options_put and options_variables return 0, -EINVAL with a sentence that says what to type, or
 * -ENOMEM.
 *
 * options_put stores a value, unless the option already has one from a source that takes precedence
 * over `sources->now`. `what` is the option as the user wrote it, for messages.
 */
int options_put(const struct option_target *target, int index, const char *value, const char *what,
		struct err_text *err);
/* Reads the variables of all options. */
int options_variables(const struct option_target *target, const struct option_environment *from,
		      struct err_text *err);
/*
 * Reads argv[0] to argv[argc - 1], up to --help. Returns the index of the first argument that is
 * not an option, or a negative errno as above. Unless the set has `stops`, the function moves later
 * options in front of that argument.
 */
int options_parse(const struct option_target *target, int argc, char **argv, struct err_text *err);
/* Reports an unknown option and suggests a similar one. Returns -EINVAL. */
int options_unknown(const struct option_set *set, const char *name, size_t length,
		    struct err_text *err);
/* Frees lists. */
void options_done(const struct option_set *set, void *options);

/* Returns the row's letter, else the letter that is usual for its name (-o for --output), else 0.
 */
char options_letter(const struct option *option);
/* Returns the most similar option name, or NULL if none is similar. */
const char *options_nearest(const struct option_set *set, const char *name, size_t length);
/* Returns the former name of an option, or NULL if it has none. */
const char *options_old_name(const struct option_set *set, const char *name);
/* Writes the name of the option's variable. */
void options_variable(const char *name, char *out, size_t size);

/* Prints the set for --help. */
void options_print_help(const struct option_set *set);
/* Prints `text` with line breaks at blanks. `used` columns of the first line are already taken; the
 * other lines begin at column `indent`. */
void options_print_wrapped(const char *text, int used, int indent);
