/* /questions: what is being answered. Made by the loop, which owns the exchanges, so that it is
 * there while workers are busy. */
#include "collector/answers/json.h"
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
	ROW("path", path, NULL, "as it was asked for, without parameters"),
	ROW_AS("state", state, ANSWER_WORD, NULL, "waiting: for a thread; sending: so far",
	       .words = states),
	ROW("seconds", seconds, "s", "since it was asked"),
	ROW("blocks_done", done, "blocks of 65,536 allocations", "that were looked at"),
	ROW("blocks", of, "blocks of 65,536 allocations",
	    "to be looked at in all passes that have begun"),
	ROW("cancelled", cancelled, NULL, "its connection was closed: it ends soon"),
	{0},
};
#undef ANSWER_OF
const struct answer question_answer = {"question", question_fields};

static void write_question(struct json *json, const struct exchange *x, uint64_t now_ms)
{
	uint64_t done = x->progress.done, of = x->progress.of;

	json_object_of(json, NULL, &question_answer,
		       &(struct question){.path = x->request.path,
					  .state = x->state,
					  .seconds = (double)(now_ms - x->begun_ms) / 1000,
					  .done = done < of ? done : of,
					  .of = of,
					  .cancelled = x->cancelled},
		       NULL);
}

int questions_step(struct exchange *x)
{
	const struct workers *workers = x->workers;
	struct json json;
	int r = no_parameters(x);

	if (r < 0)
		return r;
	x->content_type = "application/json";
	json_init(&json, &x->out);
	json_array(&json, NULL);
	for (const struct exchange *other = workers->all; other; other = other->next_of_all)
		if (other != x)
			write_question(&json, other, uv_now(workers->loop));
	json_end(&json, ']');
	return buf_error(&x->out);
}
