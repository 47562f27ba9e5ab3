#pragma once
/*
 * Answers about one recording that were given before: who asks the same again, or comes back to a
 * view, has them at once. They are dropped when the recording has grown or names have come
 * (kept_answers_clear). Few, and of a bounded size together: the one that was asked for longest ago
 * makes room.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collector/http/server/request.h"

#define KEPT_ANSWERS	       32
#define KEPT_ANSWER_BYTES_MAX  (1u << 20) /* of one */
#define KEPT_ANSWERS_BYTES_MAX (4u << 20) /* of all of a recording */

struct kept_answers {
	pthread_mutex_t lock;
	struct kept_answer {
		char *question; /* NULL: none */
		struct buf body;
		uint64_t used; /* counts up */
	} list[KEPT_ANSWERS];
	unsigned count;
	size_t bytes;
	uint64_t uses;
};

void kept_answers_init(struct kept_answers *kept);
void kept_answers_done(struct kept_answers *kept);
void kept_answers_clear(struct kept_answers *kept);

/* `route` with the request's parameters, in the order in which they were given; the caller frees
 * it. NULL: no memory. */
char *kept_question(const char *route, const struct request *request);
/* Puts the answer behind *out. False: it is not kept. */
bool kept_answers_get(struct kept_answers *kept, const char *question, struct buf *out);
/* Keeps a copy, if it is not too large. */
void kept_answers_put(struct kept_answers *kept, const char *question, const struct buf *body);
