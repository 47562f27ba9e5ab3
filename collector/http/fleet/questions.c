/* /questions: the requests that are being answered. The loop writes the answer, because it owns the
 * exchanges, and because it answers even if all workers are busy. */
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"

#include "base/ban.h"

static const char *const states[] = {[EXCHANGE_WAITING] = "waiting",
				     [EXCHANGE_LATER] = "waiting",
				     [EXCHANGE_RUNNING] = "running",
				     [EXCHANGE_SENDING] = "sending",
				     NULL};

struct question {
	const char *path;
	enum exchange_state state;
	double seconds;
	uint64_t done, of;
	bool cancelled;
};

#define ANSWER_OF struct question
static const struct answer_field question_fields[] = {
	ROW("path", path, NULL, "the path that was asked for, without parameters"),
	ROW_AS("state", state, ANSWER_WORD, NULL,
	       "waiting: it waits for a thread; sending: the answer is being sent",
	       .words = states),
	ROW("seconds", seconds, "s", "seconds since it was asked"),
	ROW("blocks_done", done, "blocks of 65,536 allocations",
	    "blocks that were looked at so far"),
	ROW("blocks", of, "blocks of 65,536 allocations",
	    "blocks to be looked at, in all passes that have begun"),
	ROW("cancelled", cancelled, NULL, "true: its connection was closed, so it ends soon"),
	{0},
};
#undef ANSWER_OF
static const struct answer question_answer = {"question", question_fields};

static int write_question(struct asking *a, const struct exchange *x, uint64_t now_ms)
{
	uint64_t done = x->progress.done, of = x->progress.of;

	return json_object_of(&a->json, NULL, &question_answer,
			      &(struct question){.path = x->request.path,
						 .state = x->state,
						 .seconds = (double)(now_ms - x->begun_ms) / 1000,
						 .done = done < of ? done : of,
						 .of = of,
						 .cancelled = x->cancelled},
			      NULL);
}

/* Writes all in one step, because the list may have changed by the next one. */
static int questions_write(struct asking *a)
{
	const struct workers *workers = a->x->workers;
	int r = 0;

	for (const struct exchange *other = workers->all; !r && other; other = other->next_of_all)
		if (other != a->x)
			r = write_question(a, other, uv_now(workers->loop));
	return r;
}

const struct route questions_route = {
	.path = "/questions",
	.about = "the questions that are being answered, and how far each of them is",
	.flags = ROUTE_ARRAY | ROUTE_ON_LOOP,
	.answer = &question_answer,
	.write = questions_write,
};
