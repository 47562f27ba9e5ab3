/* /data/ID/mallopts: the settings that the program gave its allocator. /data/ID/mmaps: what it
 * mapped by itself. */
#include <stdlib.h>

#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"
#include "proto/event.h"

#include "base/ban.h"

struct calls {
	uint32_t at; /* the next call to write */
};

static const struct other_event_info *next_call(struct asking *a)
{
	struct calls *calls = a->result;

	return recording_other_event(a->x->source->recording, calls->at++);
}

#define ROWS_OF_CALLER(call)                                                                       \
	ROW_AS("timestamp", call time_ns, ANSWER_WALL, "since the epoch", ""),                     \
		ROW_THREAD("thread", call thread, "number of the thread; 0: unknown"),             \
		ROW("backtrace_id", call stack, "id", "id of the backtrace; 0: there is none"),    \
		ROW_BACKTRACE("backtrace", call stack, "frames, the outermost first")

/* ---- mallopt ---- */

/* Returns the parameter's name in glibc's malloc.h. Other C libraries have some of the names, with
 * the same numbers. */
static const char *parameter_name(int parameter)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		{1, "M_MXFAST"},	  {2, "M_NLBLKS"},
		{3, "M_GRAIN"},		  {4, "M_KEEP"},
		{-1, "M_TRIM_THRESHOLD"}, {-2, "M_TOP_PAD"},
		{-3, "M_MMAP_THRESHOLD"}, {-4, "M_MMAP_MAX"},
		{-5, "M_CHECK_ACTION"},	  {-6, "M_PERTURB"},
		{-7, "M_ARENA_TEST"},	  {-8, "M_ARENA_MAX"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == parameter)
			return names[i].name;
	return NULL;
}

struct told_mallopt {
	struct other_event_info call;
	int64_t parameter, value, result;
	const char *name;
};

#define ANSWER_OF struct told_mallopt
static const struct answer_field mallopt_fields[] = {
	ROWS_OF_CALLER(call.),
	ROW("raw_param", parameter, NULL, "number of the parameter, as the program gave it"),
	ROW("param", name, NULL, "its name in malloc.h, if it is known", .when = IF_SET),
	ROW("value", value, NULL, ""),
	ROW("result", result, NULL, "what mallopt returned; 1: the value was taken"),
	{0},
};
#undef ANSWER_OF
static const struct answer mallopt_answer = {"mallopt", mallopt_fields};

static int mallopts_next(struct asking *a)
{
	const struct other_event_info *call = next_call(a);
	int parameter;

	if (!call || call->kind != HEAPCAST__EVENT_KIND__EVENT_MALLOPT)
		return call != NULL;
	parameter = event_call_parameter(call->address);
	return asking_element(a, &mallopt_answer,
			      &(struct told_mallopt){
				      .call = *call,
				      .parameter = parameter,
				      .name = parameter_name(parameter),
				      .value = (int32_t)(uint32_t)call->size,
				      .result = event_call_result(call->address),
			      });
}

const struct route mallopts_route = {
	.path = "mallopts",
	.about = "calls of mallopt",
	.flags = ROUTE_OF_RECORDING | ROUTE_ARRAY,
	.answer = &mallopt_answer,
	ROUTE_ASKS(struct calls, NULL, NULL),
	.next = mallopts_next,
};

/* ---- mmap ---- */

#define ANSWER_OF struct other_event_info
static const struct answer_field mapping_fields[] = {
	ROW_AS("pointer", address, ANSWER_ADDRESS, "address", ""),
	ROW("length", size, "bytes", ""),
	ROW_AS("old_pointer", old_address, ANSWER_ADDRESS, "address",
	       "for mremap, where the mapping lay before", .when = IF_SET),
	ROWS_OF_CALLER(),
	{0},
};
#undef ANSWER_OF
static const struct answer mapping_answer = {"mapping_call", mapping_fields};

/* An mremap is recorded as the end of one mapping and the beginning of another. */
static const uint8_t operations[] = {
	HEAPCAST__EVENT_KIND__EVENT_MMAP,      HEAPCAST__EVENT_KIND__EVENT_MREMAP,
	HEAPCAST__EVENT_KIND__EVENT_MUNMAP,    HEAPCAST__EVENT_KIND__EVENT_SBRK,
	HEAPCAST__EVENT_KIND__EVENT_SBRK_BACK,
};
#define OPERATION(name)                                                                            \
	BY_HAND(name, ANSWER_OBJECT, NULL, "", .of = &mapping_answer, .when = SOMETIMES)
static const struct answer_field operation_fields[] = {
	OPERATION("mmap"), OPERATION("mremap"),	   OPERATION("munmap"),
	OPERATION("sbrk"), OPERATION("sbrk_back"), {0},
};
static const struct answer operation_answer = {"operation", operation_fields};

static const struct answer_field mmaps_fields[] = {
	ROW_NEXT("operations", operation_answer, "calls in order; each object has one member"),
	{0},
};
static const struct answer mmaps_answer = {"mmaps", mmaps_fields};

static int mmaps_next(struct asking *a)
{
	const struct other_event_info *call = next_call(a);
	int r = 0;

	if (!call)
		return 0;
	for (size_t i = 0; !r && i < sizeof(operations); i++) {
		if (operations[i] != call->kind)
			continue;
		json_object(&a->json, NULL);
		r = json_object_of(&a->json, operation_fields[i].name, &mapping_answer, call,
				   &a->context);
		json_end(&a->json, '}');
	}
	return r ? r : 1;
}

const struct route mmaps_route = {
	.path = "mmaps",
	.about = "what the program itself mapped and unmapped",
	.flags = ROUTE_OF_RECORDING,
	.answer = &mmaps_answer,
	ROUTE_ASKS(struct calls, NULL, NULL),
	.next = mmaps_next,
};
