/* /data/ID/backtrace/BACKTRACE_ID: the frames of one backtrace. */
#include <errno.h>

#include "base/parse.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

struct told_backtrace {
	uint32_t node;
};

#define ANSWER_OF struct told_backtrace
static const struct answer_field backtrace_fields[] = {
	ROW_BACKTRACE("frames", node, "frames, the outermost first, inlined ones included"),
	{0},
};
#undef ANSWER_OF
static const struct answer backtrace_answer = {"backtrace", backtrace_fields};

static int backtrace_ask(struct asking *a)
{
	struct told_backtrace *told = a->result;
	uint32_t nodes = recording_nodes(a->x->source->recording);
	uint64_t node;

	if (parse_u64(a->x->rest, &node) < 0 || !node || node > nodes)
		return asking_fault(a, "backtrace_id",
				    err_set(&a->x->err, -ENOENT,
					    "backtrace takes the id of a backtrace, here 1 to %u, "
					    "not \"%.60s\"",
					    nodes, a->x->rest));
	told->node = (uint32_t)node;
	return 0;
}

const struct route backtrace_route = {
	.path = "backtrace",
	.about = "the frames of one backtrace",
	.rest = "backtrace_id",
	.rest_about = "id of the backtrace",
	.flags = ROUTE_OF_RECORDING,
	.answer = &backtrace_answer,
	ROUTE_ASKS(struct told_backtrace, backtrace_ask, NULL),
};
