/* /questions: what is being answered. Made by the loop, which owns the exchanges, so that it is there while workers are busy. */
#include "collector/export/export.h"
#include "collector/http/routes.h"

#include "base/ban.h"

static const char *const states[] = {
	[EXCHANGE_WAITING] = "waiting",
	[EXCHANGE_LATER] = "waiting",
	[EXCHANGE_RUNNING] = "running",
	[EXCHANGE_SENDING] = "sending",
};

static void write_question(struct json *json, const struct exchange *x, uint64_t now_ms)
{
	uint64_t done = x->progress.done, of = x->progress.of;

	json_object(json, NULL);
	json_string(json, "path", x->request.path);
	json_string(json, "state", states[x->state]);
	json_double(json, "seconds", (double)(now_ms - x->begun_ms) / 1000);
	json_u64(json, "blocks_done", done < of ? done : of);
	json_u64(json, "blocks", of);
	json_bool(json, "cancelled", x->cancelled);
	json_end(json, '}');
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
