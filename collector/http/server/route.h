#pragma once
/*
 * Declares a route: a path of the REST API, its parameters and its answer, beside the code that
 * answers it. The same declaration reads requests, writes answers, and makes /openapi.json.
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
 * routes.h lists all routes. The exchange holds the route of a request.
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

/* A step returns 0 if the answer is complete, 1 if more follows, and -EAGAIN if it has to be called
 * again soon (or after `again_ms` if that is set). On failure it returns another negative errno;
 * `err` holds the reason, and `parameter` the parameter at fault. The client gets a failure before
 * the first byte of the body as a JSON error. A later failure closes the connection. */
typedef int exchange_step(struct exchange *x);

enum parameter_kind {
	PARAMETER_READ, /* read by the function `read` */
	PARAMETER_IGNORED,
	PARAMETER_NUMBER,   /* uint32_t or uint64_t: a whole number from `least` to `most` */
	PARAMETER_SIZE,	    /* uint64_t: bytes, 4096 or 4K */
	PARAMETER_PERCENT,  /* double: 0 to 100 */
	PARAMETER_DURATION, /* uint64_t: ns */
	PARAMETER_TIME,	    /* uint64_t: ns since the start */
	PARAMETER_WORD,	    /* an enum, or a bool: the value of one of `words` */
	PARAMETER_TEXT,	    /* const char *: as given, at most `most` bytes; owned by the request */
};

struct parameter_word {
	const char *word;
	uint32_t value;
};

/* A parameter besides filters, or a member of the body of an order. */
struct route_parameter {
	const char *name;
	/* Returns 0, or a negative errno with a message in `err`. */
	int (*read)(void *context, const struct view *view, const char *name, const char *value,
		    struct err_text *err);
	const char *takes, *about;
	enum parameter_kind kind;
	size_t at, size;      /* offset and size of the value in the struct that is filled in */
	uint64_t least, most; /* most 0: no limit */
	const struct parameter_word *words; /* ends with {NULL} */
};
#define PARAMETER(of, label, form, member, text, meaning, ...)                                     \
	{                                                                                          \
		.name = label, .takes = text, .about = meaning, .kind = form,                      \
		.at = offsetof(of, member), .size = sizeof(((of *)NULL)->member), ##__VA_ARGS__    \
	}
/* A parameter that the function `reads` reads. NULL: it is only described here. */
#define PARAMETER_BY(label, reads, text, meaning)                                                  \
	{                                                                                          \
		.name = label, .read = reads, .takes = text, .about = meaning                      \
	}
/* Value of `takes` for a format that can be imported (formats.h). */
#define TAKES_FORMATS "{formats}"

/* How a route is called. A question only reads. An order may change something, so it is checked
 * more strictly, and its parameters are in the body. A file is an order whose body goes to disk
 * (import.h). */
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
	ROUTE_OF_RECORDING = 1,	 /* below /data/ID/; the recording does not grow during a step */
	ROUTE_TAKES_IT = 2,	 /* the steps take the recording themselves, or need none */
	ROUTE_MAY_HAVE_REST = 4, /* a name may follow the path: a file name or a number */
	ROUTE_ARRAY = 8,	 /* the answer is an array of objects of this kind */
	ROUTE_KEPT = 16,	 /* answers are cached: they depend only on the recording and the
				    parameters, and are computed from many rows */
	ROUTE_ON_LOOP = 32, /* answered by the loop itself: quickly, even if all workers are busy */
	ROUTE_RUNS_SQL = 64,	  /* runs SQL that the request contains */
	ROUTE_NEEDS_TOKEN = 128,  /* even on loopback, like orders */
	ROUTE_TELLS_RIGHTS = 256, /* tells the rights of the client */
	ROUTE_ASKS_SHARED = 512,  /* asks the data base that collectors share, if there is one: one
				     such step runs at a time, beside all others, because it may wait
				     for long */
};

struct route {
	const char *path; /* of paths below /data/ID/ only the rest */
	const char *about;
	const char *rest; /* what has to follow the path, named as in OpenAPI; NULL: nothing */
	const char *rest_about;	  /* description of `rest` */
	const char *content_type; /* NULL: JSON */
	unsigned flags;		  /* enum route_flag */
	enum route_method method;
	const struct route_parameter *parameters; /* ends with {0}; NULL: none, and no filters */
	bool (*takes_filter)(const char *name);	  /* NULL: takes all filters */
	const struct route_parameter *body;	  /* members of the order's body */
	const struct answer *answer;		  /* NULL: not JSON, or not declared */
	const struct format *format;		  /* for export/FORMAT; else NULL */
	/* The code that answers: a step that does everything, or the functions of asking.h. */
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
