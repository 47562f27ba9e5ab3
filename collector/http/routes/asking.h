#pragma once
/*
 * Answers a question as its route declares it (server/route.h). It reads the parameters, calls the
 * route's functions below, and writes the JSON from the rows of the route's answer, in steps.
 *
 *	ask      computes the answer into `result`. May return -EAGAIN.
 *	next     for a list that may be long (ROW_NEXT or ROUTE_ARRAY): writes the next element.
 *	         Returns 1, or 0 if there is none.
 *	write    writes the members itself, or the whole answer if it is not JSON. Returns 1 if
 *	         more follows; it is called again then.
 *	done     frees what `result` holds.
 *
 * Each function may be NULL. Each returns a negative errno on failure, as steps do.
 */
#include "collector/answers/frames.h"
#include "collector/answers/json.h"
#include "collector/http/routes/request_values.h"
#include "collector/http/server/exchange.h"

/* A step writes about this many bytes. */
#define STEP_BYTES (128u << 10)

struct base;

struct asking {
	struct exchange *x;
	struct view *view; /* view of the recording; NULL: the route needs none */
	struct request_values values;
	struct base *base;		   /* the other side of a difference (base.h); NULL: none */
	void (*release)(struct asking *a); /* called at the end of the step; may be NULL */
	struct json json;
	struct answer_context context;
	void *result; /* the route's result_bytes, initially zero */
	bool asked, listing;
	const struct answer_field *field; /* the next row to write */
};

/* A row for the list that `next` writes. */
#define ROW_NEXT(label, answer, text)                                                              \
	BY_HAND(label, ANSWER_OBJECT, NULL, text, .shape = ANSWER_LIST, .of = &(answer),           \
		.streamed = true)

/* Records which parameter is at fault. Returns `error`. */
int asking_fault(struct asking *a, const char *parameter, int error);
/* Writes an element of the list. Returns what `next` has to return. */
int asking_element(struct asking *a, const struct answer *answer, const void *object);
/* Sets the range of elements, of `count` in total, that the request asks for (skip, count). */
void asking_page(const struct asking *a, uint64_t count, uint64_t *ret_at, uint64_t *ret_end);
