#pragma once
/*
 * Options, each declared once as a row of a table. The parser of command lines, the reader of the
 * environment, --help, and what is made of --help (the manual, completion) know nothing else.
 *
 * A command has a set of options: groups of rows, each under a heading of --help. Values are
 * written into a struct of the command's own, by offset. A table made for a struct also fits every
 * struct that begins with it.
 *
 *	struct list_options { const char *sort; bool all; };
 *	static const struct option list_table[] = {
 *		OPTION_TEXT(struct list_options, sort, "sort", "NAME", "sort by NAME: start, size"),
 *		OPTION_FLAG(struct list_options, all, "all", "list what has ended, too"),
 *		{0},
 *	};
 *
 * A long name may be cut where only one option begins so (--mem).
 *
 * A value follows as `--name value` or `--name=value`, of a letter also as `-nvalue`; `--no-flag`
 * takes a flag back; `--` ends the options. Every option is also the variable HEAPCAST_NAME (upper
 * case, '-' as '_'); the command line counts more, and an empty variable of a flag says nothing.
 * Texts point into what was read, and must outlive the struct.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

#define OPTIONS_MAX 128 /* rows of a set */

enum option_kind {
	OPTION_KIND_FLAG = 1, /* bool; has no value unless `argument` says which */
	OPTION_KIND_TEXT,     /* const char *, NULL: not given */
	OPTION_KIND_NUMBER,   /* uint64_t */
	OPTION_KIND_SIZE,     /* uint64_t bytes: 8M */
	OPTION_KIND_TIME,     /* uint64_t ns: 10s */
	OPTION_KIND_CHOICE,   /* uint32_t: the index of one of `words` */
	OPTION_KIND_LIST,     /* struct option_list: may be given more than once; the environment
				 separates the parts by commas */
	OPTION_KIND_PAIR,     /* struct option_pairs: the value is stored with the option's own name
				 (filters) */
	OPTION_KIND_OWN,      /* what `own` says */
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

/* A kind of value that only one program has. */
struct option_own {
	/* Returns 0 or a negative number. */
	int (*parse)(void *options, const char *text);
	/* Writes the value as `parse` takes it. */
	void (*text)(const void *options, char *out, size_t size);
	size_t size;	   /* of the field, in bytes */
	const char *takes; /* for the message about a wrong value; NULL: `argument` says it */
};

struct option {
	const char *name; /* without the dashes */
	char letter;	  /* short form, 0: none */
	enum option_kind kind;
	const char *argument; /* what stands for the value in --help; NULL: none follows */
	const char *help;     /* wrapped when shown; NULL: an option that is not for people */
	unsigned offset;
	unsigned marks;		  /* bits of the program's own */
	const char *const *words; /* of a choice; NULL behind the last one */
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

/* A former name. Scripts and environments that use it go on working; help and completion know the
 * present names only. */
struct option_renamed {
	const char *old, *name; /* NULL ends the list */
};

struct option_set {
	const struct option_group *groups;
	unsigned marks; /* only rows that have one of these; 0: all rows */
	const struct option_renamed *renamed;
	bool stops; /* the first argument that is no option ends the options */
	/* Names the command that has an option which this one lacks; NULL: none has it. */
	const char *(*elsewhere)(const struct option_set *set, const char *name, size_t length);
	/* Completes a help text that has words like {formats}, in new memory. May be NULL, and
	 * return NULL. */
	char *(*filled)(const void *context, const char *text);
	const void *context;
};

/* Where a value comes from, in ascending precedence. */
enum option_source { OPTION_DEFAULT, OPTION_FILE, OPTION_VARIABLE, OPTION_ARGUMENT };

struct option_sources {
	enum option_source now; /* what is being read; in a file also `line_now` */
	unsigned line_now;
	uint8_t of[OPTIONS_MAX]; /* of each row: enum option_source */
	uint16_t line[OPTIONS_MAX];
	bool help; /* --help was read */
};

/* Where values go. */
struct option_target {
	const struct option_set *set;
	void *options;
	struct option_sources *sources;
};

/* The place to look up variables; `get` returns NULL for a variable that is not set. */
struct option_environment {
	const char *(*get)(const void *context, const char *name);
	const void *context;
};
/* The environment of this process. */
extern const struct option_environment options_own_environment;

/* Returns a row of the set's groups, or NULL behind the last one. It may be none of the set: see
 * options_has. */
const struct option *options_at(const struct option_set *set, size_t index);
bool options_has(const struct option_set *set, const struct option *option);
/* Returns the index of the option of the set with this name, present or former, or -ENOENT. */
int options_find(const struct option_set *set, const char *name, size_t length);

/*
 * These return 0, or -EINVAL with a sentence that says what to type; or -ENOMEM.
 *
 * options_put stores a value, unless the option has one from a stronger source than
 * `sources->now`. Messages name the option by `what`, as the user wrote it.
 */
int options_put(const struct option_target *target, int index, const char *value, const char *what,
		struct err_text *err);
/* Reads the variables of all options. */
int options_variables(const struct option_target *target, const struct option_environment *from,
		      struct err_text *err);
/*
 * Reads argv[0] to argv[argc - 1]. Returns the index of the first argument that is no option;
 * options that stand behind it have been moved before it, if the set does not stop there. Ends at
 * --help.
 */
int options_parse(const struct option_target *target, int argc, char **argv, struct err_text *err);
/* Says that there is no such option, and which one was probably meant. Returns -EINVAL. */
int options_unknown(const struct option_set *set, const char *name, size_t length,
		    struct err_text *err);
/* Frees lists. */
void options_done(const struct option_set *set, void *options);

/* Returns the short form, or 0: the row's own, or the usual one of its name (-o of --output). */
char options_letter(const struct option *option);
/* Returns the name of the option that was probably meant, or NULL. */
const char *options_nearest(const struct option_set *set, const char *name, size_t length);
/* Returns the former name of an option, or NULL if it has none. */
const char *options_old_name(const struct option_set *set, const char *name);
/* Writes the name of the option's variable. */
void options_variable(const char *name, char *out, size_t size);

/* Prints the set for --help. */
void options_print_help(const struct option_set *set);
/* Prints `text` with line breaks at blanks. The first line already holds `used` columns; the others
 * begin at `indent`. */
void options_print_wrapped(const char *text, int used, int indent);
