#pragma once
/*
 * A route: a path of the REST API, what it takes and what it answers, declared once, beside what
 * answers it. Requests are read, answers are written, and /openapi.json is made of this.
 *
 *	const struct route report_route = {
 *		.path = "report",
 *		.about = "totals",
 *		.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
 *		.parameters = report_parameters,
 *		.answer = &report_answer,
 *		ROUTE_ASKS(struct report, report_ask, NULL),
 *	};
 *
 * routes.h lists all routes. The one that is asked for is in the exchange.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer;
struct asking;
struct err_text;
struct exchange;
struct format;
struct view;

/* A step returns 0 if the answer is complete, 1 if more follows, -EAGAIN if it has to be called
 * again soon (or after `again_ms` if that is set), or another negative errno if it failed; then
 * `err` holds the reason and `parameter` the parameter at fault. The client gets a failure before
 * the first byte of the body as a JSON error; a later failure closes the connection. */
typedef int exchange_step(struct exchange *x);

enum parameter_kind {
	PARAMETER_READ, /* as `read` does */
	PARAMETER_IGNORED,
	PARAMETER_NUMBER,   /* uint32_t or uint64_t: a whole number from `least` to `most` */
	PARAMETER_SIZE,	    /* uint64_t: bytes, 4096 or 4K */
	PARAMETER_PERCENT,  /* double: 0 to 100 */
	PARAMETER_DURATION, /* uint64_t: ns */
	PARAMETER_TIME,	    /* uint64_t: ns since the start */
	PARAMETER_WORD,	    /* an enum, or a bool: the value of one of `words` */
	PARAMETER_TEXT,	    /* const char *: as given, at most `most` bytes; the request owns it */
};

struct parameter_word {
	const char *word;
	uint32_t value;
};

/* A parameter beside filters, or a member of the body of an order. */
struct route_parameter {
	const char *name;
	/* Returns 0, or a negative errno with a message in `err`. */
	int (*read)(void *context, const struct view *view, const char *name, const char *value,
		    struct err_text *err);
	const char *takes, *about;
	enum parameter_kind kind;
	size_t at, size;      /* where the value goes in what is read into, and its size */
	uint64_t least, most; /* most 0: no limit */
	const struct parameter_word *words; /* ends with {NULL} */
};
#define PARAMETER(of, label, form, member, text, meaning, ...)                                     \
	{                                                                                          \
		.name = label, .takes = text, .about = meaning, .kind = form,                      \
		.at = offsetof(of, member), .size = sizeof(((of *)NULL)->member), ##__VA_ARGS__    \
	}
/* One that `reads` reads; NULL: it is only described here. */
#define PARAMETER_BY(label, reads, text, meaning)                                                  \
	{                                                                                          \
		.name = label, .read = reads, .takes = text, .about = meaning                      \
	}
/* What a parameter takes that is one of the formats that are read (formats.h). */
#define TAKES_FORMATS "{formats}"

/* How a route is asked. An order may change something, so it is checked more strictly than a
 * question; its text is in the body. A file is an order whose body goes to the disk (import.h). */
enum route_method {
	ROUTE_GET,
	ROUTE_GET_OR_QUESTION,
	ROUTE_QUESTION,
	ROUTE_ORDER,
	ROUTE_FILE,
	ROUTE_LOGIN,
	ROUTE_LOGOUT,
};

enum route_flag {
	ROUTE_OF_RECORDING = 1,	 /* below /data/ID/, whose recording does not grow during a step */
	ROUTE_TAKES_IT = 2,	 /* the steps take that recording themselves, or need none */
	ROUTE_MAY_HAVE_REST = 4, /* a name may follow the path: a file's, a number */
	ROUTE_ARRAY = 8,	 /* the answer is an array of such objects */
	ROUTE_KEPT = 16, /* answers are kept: they depend only on the recording and on parameters,
			    and are computed from many rows */
	ROUTE_ON_LOOP = 32,  /* answered by the loop itself, quickly, also while workers are busy */
	ROUTE_RUNS_SQL = 64, /* that the request brought */
	ROUTE_NEEDS_TOKEN = 128,  /* even on loopback, as orders do */
	ROUTE_TELLS_RIGHTS = 256, /* of who asks */
};

struct route {
	const char *path; /* for paths under /data/ID/ only what follows */
	const char *about;
	const char *rest; /* what has to follow the path, as OpenAPI names it; NULL: nothing */
	const char *rest_about;	  /* and what that is */
	const char *content_type; /* NULL: JSON */
	unsigned flags;		  /* enum route_flag */
	enum route_method method;
	const struct route_parameter *parameters; /* ends with {0}; NULL: none, and no filters */
	bool (*takes_filter)(const char *name);	  /* NULL: all */
	const struct route_parameter *body;	  /* members of the body of an order */
	const struct answer *answer;		  /* NULL: not JSON, or not declared */
	const struct format *format;		  /* of export/FORMAT; else NULL */
	/* What answers: a step that does all, or the parts of asking.h. */
	exchange_step *step;
	int (*ask)(struct asking *a), (*next)(struct asking *a), (*write)(struct asking *a);
	void (*done)(void *result);
	size_t result_bytes;
};
#define ROUTE_ASKS(of, asks, ends) .result_bytes = sizeof(of), .ask = asks, .done = ends

static inline const char *route_type(const struct route *route)
{
	return route->content_type ? route->content_type : "application/json";
}
