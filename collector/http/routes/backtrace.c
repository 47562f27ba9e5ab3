/* /data/ID/backtrace/N: the frames of one backtrace. */
#include <errno.h>
#include <stdio.h>

#include "base/parse.h"
#include "collector/answers/json.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/values.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

static const struct answer_field backtrace_fields[] = {
	BY_HAND("frames", ANSWER_OBJECT, NULL, "the outermost first, inlined ones among them",
		.shape = ANSWER_LIST, .of = &frame_answer),
	{0},
};
const struct answer backtrace_answer = {"backtrace", backtrace_fields};

int backtrace_step(struct exchange *x)
{
	const char *rest = route_rest(x);
	uint32_t nodes = recording_nodes(x->source->recording);
	struct json json;
	uint64_t node;
	int r = no_parameters(x);

	if (r < 0)
		return r;
	if (parse_u64(rest, &node) < 0 || !node || node > nodes) {
		snprintf(x->parameter, sizeof(x->parameter), "backtrace_id");
		return err_set(&x->err, -ENOENT,
			       "backtrace takes the id of a backtrace, here 1 to %u, not \"%.60s\"",
			       nodes, rest);
	}
	json_answer(&json, x);
	r = json_backtrace(&json, "frames", x->source->view, (uint32_t)node, false, &x->err);
	json_end(&json, '}');
	return r ? r : buf_error(&x->out);
}
