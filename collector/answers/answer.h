#pragma once
/*
 * Describes an answer once: one row per member, with its name, unit, meaning and the place of its
 * value in a C struct. json_members writes the JSON from these rows, and /openapi.json describes
 * the answer from the same rows.
 *
 *	#define ANSWER_OF struct report
 *	static const struct answer_field report_fields[] = {
 *		ROW("peak", peak, NULL, "the most that was in use"),
 *		ROW("peak_ns", peak_ns, "ns", "when that was first"),
 *		{0}};
 *	#undef ANSWER_OF
 *	const struct answer report_answer = {"report", report_fields};
 *
 * The kind of a member follows from its C type. A member that is computed while it is written has a
 * row, too. Either the row names a function that writes it (ROW_WRITTEN), or the caller of
 * json_members writes it before or after that call (BY_HAND). tests/e2e/rest-schemas.sh checks all
 * answers against their descriptions.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

struct answer_context;
struct answer_field;
struct json;
struct view;

enum answer_kind {
	ANSWER_U64,
	ANSWER_U32,
	ANSWER_I64,
	ANSWER_DOUBLE,
	ANSWER_BOOL,
	ANSWER_FLAG,	/* a bit of a uint32_t: `mask` */
	ANSWER_KIB,	/* stored in KiB, written in bytes */
	ANSWER_TEXT,	/* char * */
	ANSWER_CHARS,	/* char [] */
	ANSWER_WORD,	/* an enum: one of `words` */
	ANSWER_ID,	/* struct stream_id, as 32 hexadecimal digits */
	ANSWER_HEX,	/* bytes in the object, their count at `count_at`; 0 bytes: null */
	ANSWER_USAGE,	/* struct usage: json_usage */
	ANSWER_TIME,	/* ns, written as {"secs", "fract_nsecs"} */
	ANSWER_WALL,	/* ns since the start, written as a time since the epoch */
	ANSWER_MS,	/* ns since the start, written as ms since the epoch */
	ANSWER_TIMES,	/* ns since the start: NAME, a time since the epoch, NAME_relative and
			   NAME_relative_p */
	ANSWER_ADDRESS, /* written twice: NAME and NAME_s */
	ANSWER_OBJECT,	/* an object with the members of `of` */
	ANSWER_MEMBERS, /* the members of `of`, inserted among the others */
	ANSWER_FREE,	/* by hand: any value that a statement selects */
	ANSWER_VALUE,	/* by hand: any JSON */
};

enum answer_shape {
	ANSWER_ONE,
	ANSWER_LIST,  /* an array of all elements */
	ANSWER_PAGE,  /* an array of the requested elements */
	ANSWER_ARRAY, /* an array of `count_at` elements stored in the object itself */
	ANSWER_PAIRS, /* by hand: an array of pairs, each an array of two */
	ANSWER_LISTS, /* by hand: an array of arrays */
	ANSWER_NAMED, /* by hand: an object whose member names are data */
};

/* Says when a member is present. */
enum answer_when {
	ALWAYS,
	IF_SET,	   /* neither 0 nor NULL */
	IF_TEXT,   /* neither NULL nor empty */
	IF_NO_MAX, /* not the highest number of its type, which means "none" */
	IF_TIME,   /* the time at `if_at` is not NO_TIME */
	IF_TRUE,   /* the bool at `if_at` is true */
	IF_FALSE,
	TRUE_OR_NULL,	/* always present; null if the bool at `if_at` is false */
	NO_MAX_OR_NULL, /* always present; null if it is the highest number of its type */
	SOMETIMES,	/* decided by the caller (by hand), or by `write` */
	COLUMN_ONLY,	/* a column of the table only, not a member */
};

/* Says how a member is shown in the table of a command (collector/cli/table.h). The member's unit
 * decides how its number is written: as a size, a duration or a count. */
struct answer_column {
	const char *title;
	uint8_t place; /* column number from the left, from 1; 0: not a column */
	uint8_t gap;   /* additional blanks between it and the column before it */
	int16_t width; /* negative: aligned left; 0: the last column, of any width */
	uint8_t form;  /* bits of enum column_form */
	size_t known_at;
};
enum column_form {
	COLUMN_PLAIN = 1, /* digits only, without a unit */
	COLUMN_DATE = 2,  /* ns since the epoch, up to the minute */
	COLUMN_DASH = 4,  /* 0, false and "" are "-" */
	COLUMN_CUT = 8,	  /* a longer text is truncated without an ellipsis */
	COLUMN_KNOWN = 16 /* "-" if the bool at known_at is false */
};

/* Writes one member of `object`, or none. Returns 0 or a negative errno. */
typedef int answer_writer(struct json *json, const struct answer_field *field, const void *object,
			  const struct answer_context *context);

struct answer_field {
	/* `name` NULL: the end, or ANSWER_MEMBERS; `unit` NULL: none. */
	const char *name, *unit, *about;
	enum answer_kind kind;
	enum answer_shape shape;
	enum answer_when when;
	bool may_be_null, by_hand;
	bool behind;   /* `at` is a pointer to the object */
	bool streamed; /* by hand: the caller writes each element with json_member */
	size_t at, if_at;
	answer_writer *write; /* NULL: written as its kind says */
	/* For lists: the offset and the size of their count, the size of an element, and the offset
	 * of the item in an element. */
	size_t count_at, count_size, stride, item_at;
	uint32_t mask;
	const struct answer *of;
	const char *const *words; /* ends with NULL */
	struct answer_column column;
};

struct answer {
	const char *name;		   /* the name of this kind of object in the description */
	const struct answer_field *fields; /* ends with {0} */
};

/* The recording's times, and the requested part of a page. A writer that gets NULL instead writes
 * no times of the recording, and all elements. */
struct answer_context {
	uint64_t start_wall_ns, end_ns;
	uint64_t skip, count;
	/* For the rows of frames.h, and for other writers. */
	struct view *view;
	bool strip; /* write functions without template arguments */
	struct err_text *err;
	void *asked; /* private to the writers */
};

#define ANSWER_KIND(value)                                                                         \
	_Generic((value),                                                                          \
		uint64_t: ANSWER_U64,                                                              \
		uint32_t: ANSWER_U32,                                                              \
		int64_t: ANSWER_I64,                                                               \
		double: ANSWER_DOUBLE,                                                             \
		bool: ANSWER_BOOL,                                                                 \
		char *: ANSWER_TEXT,                                                               \
		const char *: ANSWER_TEXT,                                                         \
		struct usage: ANSWER_USAGE)
#define ANSWER_AT(member) ((ANSWER_OF *)NULL)->member

#define WHEN(member)	  .when = IF_TRUE, .if_at = offsetof(ANSWER_OF, member)
#define WHEN_TIME(member) .when = IF_TIME, .if_at = offsetof(ANSWER_OF, member)

#define SHOWN(order, heading, columns, ...)                                                        \
	.column = {.title = heading, .place = order, .width = columns, ##__VA_ARGS__}
#define KNOWN(member) .form = COLUMN_KNOWN, .known_at = offsetof(ANSWER_OF, member)

/* More designated initializers can follow: .when = IF_SET, WHEN(seen), SHOWN(1, "BYTES", 10) */
#define ROW(label, member, measure, text, ...)                                                     \
	{                                                                                          \
		.name = label, .unit = measure, .about = text,                                     \
		.kind = ANSWER_KIND(ANSWER_AT(member)), .at = offsetof(ANSWER_OF, member),         \
		##__VA_ARGS__                                                                      \
	}
#define ROW_AS(label, member, form, measure, text, ...)                                            \
	{                                                                                          \
		.name = label, .unit = measure, .about = text, .kind = form,                       \
		.at = offsetof(ANSWER_OF, member), ##__VA_ARGS__                                   \
	}
#define ROW_HEX(label, member, number, text, ...)                                                  \
	{                                                                                          \
		.name = label, .about = text, .kind = ANSWER_HEX, .may_be_null = true,             \
		.at = offsetof(ANSWER_OF, member), .count_at = offsetof(ANSWER_OF, number),        \
		##__VA_ARGS__                                                                      \
	}
#define ROW_OBJECT(label, member, answer, text, ...)                                               \
	{                                                                                          \
		.name = label, .about = text, .kind = ANSWER_OBJECT, .of = &(answer),              \
		.at = offsetof(ANSWER_OF, member), ##__VA_ARGS__                                   \
	}
/* A row for the object that `member` points to. */
#define ROW_BEHIND(label, member, answer, text, ...)                                               \
	ROW_OBJECT(label, member, answer, text, .behind = true, ##__VA_ARGS__)
/* A row for the whole struct, written again as an object of its own. */
#define ROW_AGAIN(label, answer, text, ...)                                                        \
	{                                                                                          \
		.name = label, .about = text, .kind = ANSWER_OBJECT, .of = &(answer), __VA_ARGS__  \
	}
/* A row for `number` elements at `list`: objects, or one member of each. A page holds the requested
 * elements. */
#define ROW_LISTED(form, label, list, number, answer, text, ...)                                   \
	{                                                                                          \
		.name = label, .about = text, .kind = ANSWER_OBJECT, .of = &(answer),              \
		.shape = form, .at = offsetof(ANSWER_OF, list),                                    \
		.count_at = offsetof(ANSWER_OF, number), .count_size = sizeof(ANSWER_AT(number)),  \
		.stride = sizeof(*ANSWER_AT(list)), ##__VA_ARGS__                                  \
	}
#define ROW_LIST(label, list, number, answer, text, ...)                                           \
	ROW_LISTED(ANSWER_LIST, label, list, number, answer, text, ##__VA_ARGS__)
#define ROW_PAGE(label, list, number, answer, text)                                                \
	ROW_LISTED(ANSWER_PAGE, label, list, number, answer, text)
#define ROW_COLUMN(label, list, number, item, measure, text, ...)                                  \
	ROW_COLUMN_AS(label, list, number, item, ANSWER_KIND(ANSWER_AT(list)->item), measure,      \
		      text, ##__VA_ARGS__)
#define ROW_COLUMN_AS(label, list, number, item, form, measure, text, ...)                         \
	{                                                                                          \
		.name = label, .unit = measure, .about = text, .shape = ANSWER_LIST, .kind = form, \
		.at = offsetof(ANSWER_OF, list), .count_at = offsetof(ANSWER_OF, number),          \
		.count_size = sizeof(ANSWER_AT(number)), .stride = sizeof(*ANSWER_AT(list)),       \
		.item_at = offsetof(__typeof__(*ANSWER_AT(list)), item), ##__VA_ARGS__             \
	}
/* A row for `number` numbers at `list`. */
#define ROW_NUMBERS(label, list, number, measure, text)                                            \
	{                                                                                          \
		.name = label, .unit = measure, .about = text, .shape = ANSWER_LIST,               \
		.kind = ANSWER_KIND(*ANSWER_AT(list)), .at = offsetof(ANSWER_OF, list),            \
		.count_at = offsetof(ANSWER_OF, number), .count_size = sizeof(ANSWER_AT(number)),  \
		.stride = sizeof(*ANSWER_AT(list))                                                 \
	}
/* Inserts the members of another answer, which describes a part of the struct. */
#define ROWS_OF(answer, member, ...)                                                               \
	{                                                                                          \
		.kind = ANSWER_MEMBERS, .of = &(answer), .at = offsetof(ANSWER_OF, member),        \
		##__VA_ARGS__                                                                      \
	}
/* Inserts the members of another answer, which describes the whole struct. */
#define ROWS_SAME(answer, ...)                                                                     \
	{                                                                                          \
		.kind = ANSWER_MEMBERS, .of = &(answer), ##__VA_ARGS__                             \
	}
#define BY_HAND(label, form, measure, text, ...)                                                   \
	{                                                                                          \
		.name = label, .unit = measure, .about = text, .kind = form, .by_hand = true,      \
		##__VA_ARGS__                                                                      \
	}
#define ROW_WRITTEN(label, form, measure, text, writer, ...)                                       \
	{                                                                                          \
		.name = label, .unit = measure, .about = text, .kind = form, .write = writer,      \
		##__VA_ARGS__                                                                      \
	}
#define ROWS_BY_HAND(answer)                                                                       \
	{                                                                                          \
		.kind = ANSWER_MEMBERS, .of = &(answer), .by_hand = true                           \
	}
/* A row for what the recording does not hold. */
#define ROW_INCOMPLETE                                                                             \
	BY_HAND("incomplete", ANSWER_TEXT, NULL,                                                   \
		"what the recording does not hold, in a sentence", .when = SOMETIMES)

/* A row for the short form of a function's name. The member is absent if the name cannot be
 * shortened (names.h). */
#define ROW_SHORT(label, member)                                                                   \
	ROW(label, member, NULL,                                                                   \
	    "the function without template arguments and parameters; absent if that is the same",  \
	    .when = SOMETIMES, .write = write_short_name)

/* Rows for the source location. Each part may be unknown. */
#define ROWS_SITE                                                                                  \
	ROW("function", function, NULL, "null: unknown", .may_be_null = true),                     \
		ROW_SHORT("function_short", function),                                             \
		ROW("file", file, NULL, "null: unknown", .may_be_null = true),                     \
		ROW("line", line, NULL, "0: unknown"),                                             \
		ROW("module", module, NULL, "path of the program or library; null: unknown",       \
		    .may_be_null = true)

/* Defines FUNCTION_result, the `done` of a route or of a kind of question. It frees the result with
 * `function`. */
#define DEFINE_DONE(function)                                                                      \
	static void function##_result(void *result)                                                \
	{                                                                                          \
		function(result);                                                                  \
	}

extern const struct answer time_answer, usage_answer;

/* Writes the members whose values lie in `object`, without the BY_HAND members, into a JSON object
 * that the caller has opened. Returns 0, or the error of a row's writer. */
int json_members(struct json *json, const struct answer *answer, const void *object,
		 const struct answer_context *context);
/* Does the same for one row. */
int json_member(struct json *json, const struct answer_field *field, const void *object,
		const struct answer_context *context);
/* Does the same as json_members, and puts the members into an object of their own. */
int json_object_of(struct json *json, const char *key, const struct answer *answer,
		   const void *object, const struct answer_context *context);

/* Writes "key": {"bytes", "blocks"}. Estimates also have errors and samples. */
void json_usage(struct json *json, const char *key, const struct usage *usage);
/* Return the value of a field that is a number, and of a field that is a text. */
uint64_t answer_number(const struct answer_field *field, const void *at);
#define ANSWER_TEXT_MOST 136
const char *answer_text(const struct answer_field *field, const void *at,
			char room[ANSWER_TEXT_MOST]);
/* Returns the bytes of ANSWER_HEX as digits, or NULL if there are none. */
const char *answer_hex(char room[ANSWER_TEXT_MOST], const uint8_t *bytes, uint32_t count);

/* Writes "key": {"secs": ..., "fract_nsecs": ...}. */
void json_time(struct json *json, const char *key, uint64_t ns);
/* Writes `name`, `name`_relative (since the start) and `name`_relative_p (part of the recording, 0
 * to 1). */
void json_times_in(struct json *json, const char *name, const struct answer_context *context,
		   uint64_t ns);
/* Writes key and key_s. The latter is a string of 16 hexadecimal digits, for readers whose numbers
 * are floating point. */
void json_address(struct json *json, const char *key, uint64_t address);

/* Rows for a member of type struct labels: what a stream is known by beside its name and host. */
#define ROWS_OF_LABELS(labels)                                                                     \
	ROW("board", labels.board, NULL, "the machine's model, as its maker calls it",             \
	    .when = IF_TEXT),                                                                      \
		ROW("cgroup", labels.cgroup, NULL, "path of the program's control group",          \
		    .when = IF_TEXT),                                                              \
		ROW("build_id", labels.build, NULL, "build id of the program's file",              \
		    .when = IF_TEXT),                                                              \
		ROW("tags", labels.tags, NULL, "KEY=VALUE, separated by commas", .when = IF_TEXT)
