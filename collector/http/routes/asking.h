#pragma once
/*
 * Answers a question as its route declares (server/route.h): reads the parameters, asks, and writes
 * the JSON from the rows of the route's answer, in steps.
 *
 *	ask      finds what there is to say, and leaves it in `result`. It may return -EAGAIN.
 *	next     for an answer with a list that may be long (ROW_NEXT, or ROUTE_ARRAY): writes the
 *	         next element. Returns 1; or 0 if there is none.
 *	write    writes the members itself, or the whole answer if it is not JSON. Returns 1 if it
 *	         has to be called again, as more follows.
 *	done     frees what `result` holds.
 *
 * Each of them may be NULL. They return a negative errno if they fail, as steps do.
 */
#include "collector/answers/frames.h"
#include "collector/answers/json.h"
#include "collector/http/routes/request_values.h"
#include "collector/http/server/exchange.h"

/* About as much as a step writes. */
#define STEP_BYTES (128u << 10)

struct base;

struct asking {
	struct exchange *x;
	struct view *view; /* of the recording; NULL: the route is about none */
	struct request_values values;
	struct base *base; /* what the recording is held against (base.h); NULL: nothing */
	void (*release)(struct asking *a); /* called at the end of the step; NULL: nothing to do */
	struct json json;
	struct answer_context context;
	void *result; /* the route's result_bytes, zeroed at first */
	bool asked, listing;
	const struct answer_field *field; /* to be written next */
};

/* The list that `next` writes. */
#define ROW_NEXT(label, answer, text)                                                              \
	BY_HAND(label, ANSWER_OBJECT, NULL, text, .shape = ANSWER_LIST, .of = &(answer),           \
		.streamed = true)

/* Says which parameter is at fault. Returns `error`. */
int asking_fault(struct asking *a, const char *parameter, int error);
/* Writes an element of the list. Returns what `next` returns. */
int asking_element(struct asking *a, const struct answer *answer, const void *object);
/* Which elements of so many the request asks for (skip, count). */
void asking_page(const struct asking *a, uint64_t count, uint64_t *ret_at, uint64_t *ret_end);
