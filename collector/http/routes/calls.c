/* What the program told its allocator, and mapped by itself: /data/ID/mallopts, /data/ID/mmaps; and
 * the bare backtraces of /data/ID/raw_allocations. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/what.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "collector/answers/json.h"
#include "heapcast.pb-c.h"
#include "proto/event.h"

#include "base/ban.h"

#define STEP_BYTES   (128u << 10)
#define ROWS_AT_ONCE 64

DEFINE_CLEANUP(row_reader_free, struct row_reader *)

struct calls {
	struct json json;
	uint32_t at;
};

typedef void call_writer(struct json *json, struct exchange *x, const struct other_event_info *call,
			 int *ret_error);

/* Writes all calls, some in each step. `key`: the array's name; NULL: the array stands alone. */
static int list_calls(struct exchange *x, const char *key, call_writer *write)
{
	struct calls *calls = x->work;
	const struct other_event_info *call = NULL;
	int r = 0;

	if (!calls) {
		r = no_parameters(x);
		if (r < 0)
			return r;
		calls = calloc(1, sizeof(*calls));
		if (!calls)
			return err_set(&x->err, -ENOMEM, "out of memory");
		x->work = calls;
		x->work_free = free;
		if (key)
			json_answer(&calls->json, x);
		else
			json_init(&calls->json, &x->out);
		x->content_type = "application/json";
		json_array(&calls->json, key);
	}
	while (!r && x->out.length < STEP_BYTES &&
	       (call = recording_other_event(x->source->recording, calls->at))) {
		calls->at++;
		write(&calls->json, x, call, &r);
	}
	if (r < 0)
		return r;
	if (call)
		return buf_error(&x->out) ? buf_error(&x->out) : 1;
	json_end(&calls->json, ']');
	if (key)
		json_end(&calls->json, '}');
	return buf_error(&x->out);
}

static const struct answer_field who_fields[] = {
	BY_HAND("timestamp", ANSWER_TIME, "since the epoch", ""),
	BY_HAND("thread", ANSWER_U32, "tid", "0: unknown"),
	BY_HAND("backtrace_id", ANSWER_U32, "id", "0: there is none"),
	BY_HAND("backtrace", ANSWER_OBJECT, NULL, "the outermost frame first", .of = &frame_answer,
		.shape = ANSWER_LIST),
	{0},
};
static const struct answer who_answer = {"caller", who_fields};

static void write_who(struct json *json, struct exchange *x, const struct other_event_info *call,
		      int *ret_error)
{
	json_time(json, "timestamp",
		  recording_process(x->source->recording)->start_wall_ns + call->time_ns);
	json_u64(json, "thread", thread_tid(x->source->recording, call->thread));
	json_u64(json, "backtrace_id", call->stack);
	*ret_error =
		json_backtrace(json, "backtrace", x->source->view, call->stack, false, &x->err);
}

/* ---- mallopt ---- */

/* The names are from glibc's malloc.h; other C libraries have some of them, with the same numbers.
 */
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

static const struct answer_field mallopt_fields[] = {
	ROWS_BY_HAND(who_answer),
	BY_HAND("raw_param", ANSWER_I64, NULL, "as it was called with"),
	BY_HAND("param", ANSWER_TEXT, NULL, "its name in malloc.h, if it is known",
		.when = SOMETIMES),
	BY_HAND("value", ANSWER_I64, NULL, ""),
	BY_HAND("result", ANSWER_I64, NULL, "1: it was taken"),
	{0},
};
const struct answer mallopt_answer = {"mallopt", mallopt_fields};

static void write_mallopt(struct json *json, struct exchange *x,
			  const struct other_event_info *call, int *ret_error)
{
	int parameter = event_call_parameter(call->address);
	const char *name = parameter_name(parameter);

	if (call->kind != HEAPCAST__EVENT_KIND__EVENT_MALLOPT)
		return;
	json_object(json, NULL);
	write_who(json, x, call, ret_error);
	json_i64(json, "raw_param", parameter);
	if (name)
		json_string(json, "param", name);
	json_i64(json, "value", (int32_t)(uint32_t)call->size);
	json_i64(json, "result", event_call_result(call->address));
	json_end(json, '}');
}

int mallopts_step(struct exchange *x)
{
	return list_calls(x, NULL, write_mallopt);
}

/* ---- mmap ---- */

#define ANSWER_OF struct other_event_info
static const struct answer_field mapping_fields[] = {
	ROW_AS("pointer", address, ANSWER_ADDRESS, "address", ""),
	ROW("length", size, "bytes", ""),
	ROW_AS("old_pointer", old_address, ANSWER_ADDRESS, "address",
	       "of mremap, where it lay before", .when = IF_SET),
	ROWS_BY_HAND(who_answer),
	{0},
};
#undef ANSWER_OF
static const struct answer mapping_answer = {"mapping_call", mapping_fields};

/* An mremap is on record as the end of one mapping and the beginning of another. */
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
	BY_HAND("operations", ANSWER_OBJECT, NULL, "in order; each has one member",
		.shape = ANSWER_LIST, .of = &operation_answer),
	{0},
};
const struct answer mmaps_answer = {"mmaps", mmaps_fields};

static void write_operation(struct json *json, struct exchange *x,
			    const struct other_event_info *call, int *ret_error)
{
	for (size_t i = 0; i < sizeof(operations); i++) {
		if (operations[i] != call->kind)
			continue;
		json_object(json, NULL);
		json_object(json, operation_fields[i].name);
		json_members(json, &mapping_answer, call, NULL);
		write_who(json, x, call, ret_error);
		json_end(json, '}');
		json_end(json, '}');
	}
}

int mmaps_step(struct exchange *x)
{
	return list_calls(x, "operations", write_operation);
}

/* ---- backtraces of allocations, as addresses ---- */

struct raw {
	struct what what;
	struct query_page *scan;
	struct json json;
	uint64_t skip, left;
};

struct raw_row {
	uint32_t stack;
};

#define ANSWER_OF struct raw_row
static const struct answer_field raw_fields[] = {
	ROW_ADDRESSES("backtrace", stack, "16 hexadecimal digits each, the outermost first"),
	{0},
};
#undef ANSWER_OF
const struct answer raw_allocation_answer = {"raw_allocation", raw_fields};

const struct route_parameter raw_allocations_parameters[] = {
	{"skip", what_number, "whole number", "leave out so many"},
	{"count", what_number, "whole number", "give at most so many"},
	{0},
};

static void raw_free(void *work)
{
	struct raw *raw = work;

	query_page_free(raw->scan);
	what_done(&raw->what);
	free(raw);
}

static int raw_begin(struct exchange *x)
{
	struct raw *raw = calloc(1, sizeof(*raw));
	int r;

	if (!raw)
		return err_set(&x->err, -ENOMEM, "out of memory");
	x->work = raw;
	x->work_free = raw_free;
	r = what_read(x, raw_allocations_parameters, &raw->what);
	if (!r)
		r = query_page_new(x->source->view, &raw->what.filter, PAGE_BY_TIME, false,
				   &raw->scan, &x->err);
	if (r < 0)
		return r;
	raw->skip = raw->what.skip;
	raw->left = raw->what.count;
	x->content_type = "application/json";
	json_init(&raw->json, &x->out);
	json_array(&raw->json, NULL);
	return 0;
}

static int raw_some(struct exchange *x, struct raw *raw, struct row_reader *reader)
{
	const struct answer_context context = frames_context(x->source->view, &x->err);
	uint64_t rows[ROWS_AT_ONCE];
	uint64_t wanted = raw->skip ? raw->skip : raw->left;
	long n = query_page_next(raw->scan, rows, wanted < ROWS_AT_ONCE ? wanted : ROWS_AT_ONCE,
				 &x->err);
	int r = 0;

	if (n < 0)
		return (int)n;
	if (!n)
		raw->left = raw->skip = 0;
	if (raw->skip) {
		raw->skip -= (uint64_t)n;
		return 0;
	}
	raw->left -= (uint64_t)n;
	for (long i = 0; !r && i < n; i++) {
		const struct row_block *block = row_reader_block(
			reader, (uint32_t)(rows[i] / ROWS_PER_BLOCK), ROWS_STACK, &x->err);

		if (!block)
			return -EIO;
		r = json_object_of(
			&raw->json, NULL, &raw_allocation_answer,
			&(struct raw_row){.stack = block->stack[rows[i] % ROWS_PER_BLOCK]},
			&context);
	}
	return r;
}

int raw_allocations_step(struct exchange *x)
{
	cleanup(cleanup_row_reader_free) struct row_reader *reader = NULL;
	struct raw *raw = x->work;
	int r = 0;

	if (!raw) {
		r = raw_begin(x);
		raw = x->work;
	}
	if (!r)
		r = row_reader_new(x->source->recording, &reader);
	while (!r && raw->left && x->out.length < STEP_BYTES)
		r = raw_some(x, raw, reader);
	if (r < 0)
		return r;
	if (raw->left)
		return buf_error(&x->out) ? buf_error(&x->out) : 1;
	json_end(&raw->json, ']');
	return buf_error(&x->out);
}
