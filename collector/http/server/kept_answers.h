#pragma once
/* Caches recent answers about one recording. A client that asks the same again, or returns to a
 * view, gets its answer without delay. All answers are dropped when the recording has grown or
 * names have arrived (kept_answers_clear). Number and total size are limited; the least recently
 * used answer is evicted. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collector/http/server/request.h"

#define KEPT_ANSWERS	       32
#define KEPT_ANSWER_BYTES_MAX  (1u << 20) /* limit for one answer */
#define KEPT_ANSWERS_BYTES_MAX (4u << 20) /* limit for all answers of a recording */

struct kept_answers {
	pthread_mutex_t lock;
	struct kept_answer {
		char *question; /* NULL: a free slot */
		struct buf body;
		uint64_t used; /* value of a counter at the last use */
	} list[KEPT_ANSWERS];
	unsigned count;
	size_t bytes;
	uint64_t uses;
};

void kept_answers_init(struct kept_answers *kept);
void kept_answers_done(struct kept_answers *kept);
void kept_answers_clear(struct kept_answers *kept);

/* Returns the key: `route` with the request's parameters in the order in which they were given. The
 * caller frees it. Returns NULL without memory. */
char *kept_question(const char *route, const struct request *request);
/* Appends the kept answer to `out`. Returns false if there is none. */
bool kept_answers_get(struct kept_answers *kept, const char *question, struct buf *out);
/* Keeps a copy, unless the answer is too large. */
void kept_answers_put(struct kept_answers *kept, const char *question, const struct buf *body);
