#pragma once
/*
 * What an answer is made of, declared once: a row a member, with its name, unit and meaning, and
 * where its value lies in a C struct. From the rows the JSON is written (json_members), and they
 * are what /openapi.json says of it.
 *
 *	#define ANSWER_OF struct report
 *	static const struct answer_field report_fields[] = {
 *		ROW("peak", peak, NULL, "the most that was in use"),
 *		ROW("peak_ns", peak_ns, "ns", "when that was first"),
 *		{0}};
 *	#undef ANSWER_OF
 *	const struct answer report_answer = {"report", report_fields};
 *
 * The kind of a member follows from its C type. What is worked out while it is written has a row
 * too (BY_HAND), which says only what it is: tests/e2e/rest-schemas.sh holds all answers against
 * it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

struct json;

enum answer_kind {
	ANSWER_U64,
	ANSWER_U32,
	ANSWER_I64,
	ANSWER_DOUBLE,
	ANSWER_BOOL,
	ANSWER_FLAG,	/* a bit of a uint32_t: `mask` */
	ANSWER_KIB,	/* of KiB, told in bytes */
	ANSWER_TEXT,	/* char * */
	ANSWER_CHARS,	/* char [] */
	ANSWER_WORD,	/* an enum: one of `words` */
	ANSWER_ID,	/* struct stream_id, as 32 hexadecimal digits */
	ANSWER_USAGE,	/* struct usage: json_usage */
	ANSWER_TIME,	/* ns: {"secs", "fract_nsecs"} */
	ANSWER_TIMES,	/* ns since the start: NAME, a time since the epoch, NAME_relative and
			   NAME_relative_p */
	ANSWER_ADDRESS, /* NAME and NAME_s */
	ANSWER_OBJECT,	/* with the members of `of` */
	ANSWER_MEMBERS, /* the members of `of` stand among the others */
	ANSWER_FREE,	/* by hand: whatever a statement asks for */
};

enum answer_shape {
	ANSWER_ONE,
	ANSWER_LIST,  /* an array of all */
	ANSWER_PAGE,  /* an array of those that were asked for */
	ANSWER_ARRAY, /* of `count_at` elements that lie in the object itself */
	ANSWER_PAIRS, /* by hand: an array of arrays of two */
};

/* Whether it is there. */
enum answer_when {
	ALWAYS,
	IF_SET,	   /* neither 0 nor NULL */
	IF_TEXT,   /* neither NULL nor empty */
	IF_NO_MAX, /* not the highest number of its kind, which stands for none */
	IF_TRUE,   /* the bool at `if_at` is */
	IF_FALSE,
	SOMETIMES, /* by hand */
};

struct answer_field {
	const char *name, *unit,
		*about; /* name NULL: the end, or ANSWER_MEMBERS; unit NULL: none */
	enum answer_kind kind;
	enum answer_shape shape;
	enum answer_when when;
	bool may_be_null, by_hand;
	size_t at, if_at;
	size_t count_at, count_size, stride,
		item_at; /* of a list: its number, size of an element, where in it */
	uint32_t mask;
	const struct answer *of;
	const char *const *words; /* ends with NULL */
};

struct answer {
	const char *name;		   /* of its kind of object in the description */
	const struct answer_field *fields; /* ends with {0} */
};

/* What the recording says, and which part was asked for. NULL for the writer: no ANSWER_TIMES, and
 * all. */
struct answer_context {
	uint64_t start_wall_ns, end_ns;
	uint64_t skip, count;
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

#define WHEN(member) .when = IF_TRUE, .if_at = offsetof(ANSWER_OF, member)

/* More can be said behind: .when = IF_SET, WHEN(seen) */
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
#define ROW_OBJECT(label, member, answer, text, ...)                                               \
	{                                                                                          \
		.name = label, .about = text, .kind = ANSWER_OBJECT, .of = &(answer),              \
		.at = offsetof(ANSWER_OF, member), ##__VA_ARGS__                                   \
	}
/* Of `number` elements at `list`: objects, or a member of each; of a page those that were asked
 * for. */
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
#define ROW_COLUMN(label, list, number, item, measure, text)                                       \
	{                                                                                          \
		.name = label, .unit = measure, .about = text, .shape = ANSWER_LIST,               \
		.kind = ANSWER_KIND(ANSWER_AT(list)->item), .at = offsetof(ANSWER_OF, list),       \
		.count_at = offsetof(ANSWER_OF, number), .count_size = sizeof(ANSWER_AT(number)),  \
		.stride = sizeof(*ANSWER_AT(list)),                                                \
		.item_at = offsetof(__typeof__(*ANSWER_AT(list)), item)                            \
	}
/* The members of another answer: of the same object, or of a part of it. */
#define ROWS_OF(answer, member, ...)                                                               \
	{                                                                                          \
		.kind = ANSWER_MEMBERS, .of = &(answer), .at = offsetof(ANSWER_OF, member),        \
		##__VA_ARGS__                                                                      \
	}
#define BY_HAND(label, form, measure, text, ...)                                                   \
	{                                                                                          \
		.name = label, .unit = measure, .about = text, .kind = form, .by_hand = true,      \
		##__VA_ARGS__                                                                      \
	}
#define ROWS_BY_HAND(answer)                                                                       \
	{                                                                                          \
		.kind = ANSWER_MEMBERS, .of = &(answer), .by_hand = true                           \
	}
/* What the recording does not hold. */
#define ROW_INCOMPLETE                                                                             \
	BY_HAND("incomplete", ANSWER_TEXT, NULL,                                                   \
		"what the recording does not hold, in a sentence", .when = SOMETIMES)

/* Where it is in the source; all of them unknown to some. */
#define ROWS_SITE                                                                                  \
	ROW("function", function, NULL, "null: unknown", .may_be_null = true),                     \
		ROW("file", file, NULL, "null: unknown", .may_be_null = true),                     \
		ROW("line", line, NULL, "0: unknown"),                                             \
		ROW("module", module, NULL, "path of the program or library; null: unknown",       \
		    .may_be_null = true)

extern const struct answer time_answer, usage_answer;

/* The members that lie in `object`, those by hand left out, of a JSON object that the caller has
 * opened. */
void json_members(struct json *json, const struct answer *answer, const void *object,
		  const struct answer_context *context);
/* An object of them. */
void json_object_of(struct json *json, const char *key, const struct answer *answer,
		    const void *object, const struct answer_context *context);

/* {"secs":..,"fract_nsecs":..} */
void json_time(struct json *json, const char *key, uint64_t ns);
/* `name`, and with _relative (since the start) and _relative_p (part of the recording, 0 to 1)
 * behind it. */
void json_times_in(struct json *json, const char *name, const struct answer_context *context,
		   uint64_t ns);
/* key and key_s: the latter as 16 hexadecimal digits, for readers whose numbers are floating
 * point. */
void json_address(struct json *json, const char *key, uint64_t address);
