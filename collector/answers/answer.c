/* Writes rows of answers as JSON. See answer.h. */
#include "collector/answers/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/answers/json.h"
#include "collector/recording/stream_id.h"

#include "base/ban.h"

#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u

static const struct answer_field time_fields[] = {
	BY_HAND("secs", ANSWER_U64, "s", ""),
	BY_HAND("fract_nsecs", ANSWER_U64, "ns", ""),
	{0},
};
const struct answer time_answer = {"time", time_fields};

static const struct answer_field usage_fields[] = {
	BY_HAND("bytes", ANSWER_U64, "bytes", "estimated where sampled"),
	BY_HAND("blocks", ANSWER_U64, "blocks", "estimated where sampled"),
	BY_HAND("bytes_error", ANSWER_DOUBLE, "bytes", "half of the 95 % interval",
		.when = SOMETIMES),
	BY_HAND("blocks_error", ANSWER_DOUBLE, "blocks", "half of the 95 % interval",
		.when = SOMETIMES),
	BY_HAND("samples", ANSWER_U64, "blocks", "sampled blocks, which stand for others, too",
		.when = SOMETIMES),
	{0},
};
const struct answer usage_answer = {"usage", usage_fields};

/* ---- the API's forms of values ---- */

void json_time(struct json *json, const char *key, uint64_t ns)
{
	json_object(json, key);
	json_u64(json, "secs", ns / NS_PER_S);
	json_u64(json, "fract_nsecs", ns % NS_PER_S);
	json_end(json, '}');
}

void json_times_in(struct json *json, const char *name, const struct answer_context *context,
		   uint64_t ns)
{
	uint64_t end = context->end_ns;
	char key[64];

	json_time(json, name, context->start_wall_ns + ns);
	snprintf(key, sizeof(key), "%s_relative", name);
	json_time(json, key, ns);
	snprintf(key, sizeof(key), "%s_relative_p", name);
	json_double(json, key, end ? (double)ns / (double)end : 0);
}

void json_address(struct json *json, const char *key, uint64_t address)
{
	char text[24], name[32];

	json_u64(json, key, address);
	snprintf(name, sizeof(name), "%s_s", key);
	snprintf(text, sizeof(text), "%016" PRIX64, address);
	json_string(json, name, text);
}

void json_usage(struct json *json, const char *key, const struct usage *usage)
{
	json_object(json, key);
	json_u64(json, "bytes", usage->bytes);
	json_u64(json, "blocks", usage->blocks);
	if (usage->bytes_error > 0 || usage->blocks_error > 0) {
		json_double(json, "bytes_error", usage->bytes_error);
		json_double(json, "blocks_error", usage->blocks_error);
		json_u64(json, "samples", usage->samples);
	}
	json_end(json, '}');
}

/* ---- members ---- */

static uint64_t u64_at(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t u32_at(const void *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static double double_at(const void *at)
{
	double value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static const void *pointer_at(const void *at)
{
	const void *value;

	memcpy(&value, at, sizeof(value));
	return value;
}

uint64_t answer_number(const struct answer_field *f, const void *at)
{
	switch (f->kind) {
	case ANSWER_U32:
		return u32_at(at);
	case ANSWER_BOOL:
		return *(const bool *)at;
	case ANSWER_FLAG:
		return (u32_at(at) & f->mask) != 0;
	case ANSWER_USAGE:
		return ((const struct usage *)at)->bytes;
	default:
		return u64_at(at);
	}
}

const char *answer_hex(char room[ANSWER_TEXT_MOST], const uint8_t *bytes, uint32_t count)
{
	for (uint32_t i = 0; i < count && 2 * i + 2 < ANSWER_TEXT_MOST; i++)
		snprintf(room + (size_t)2 * i, 3, "%02x", bytes[i]);
	return count ? room : NULL;
}

const char *answer_text(const struct answer_field *f, const void *at, char room[ANSWER_TEXT_MOST])
{
	switch (f->kind) {
	case ANSWER_TEXT:
		return pointer_at(at);
	case ANSWER_CHARS:
		return at;
	case ANSWER_WORD:
		return f->words[u32_at(at)];
	case ANSWER_ID:
		return stream_id_format(room, at);
	case ANSWER_HEX:
		return answer_hex(room, at, u32_at((const char *)at - f->at + f->count_at));
	default:
		return NULL;
	}
}

static int answer_put(struct json *json, const char *key, const struct answer_field *f,
		      const void *at, const struct answer_context *context)
{
	char room[ANSWER_TEXT_MOST];

	switch (f->kind) {
	case ANSWER_U64:
	case ANSWER_U32:
		json_u64(json, key, answer_number(f, at));
		break;
	case ANSWER_I64:
		json_i64(json, key, (int64_t)u64_at(at));
		break;
	case ANSWER_DOUBLE:
		json_double(json, key, double_at(at));
		break;
	case ANSWER_BOOL:
	case ANSWER_FLAG:
		json_bool(json, key, answer_number(f, at));
		break;
	case ANSWER_KIB:
		json_u64(json, key, u64_at(at) * 1024);
		break;
	case ANSWER_TEXT:
	case ANSWER_CHARS:
	case ANSWER_WORD:
	case ANSWER_ID:
	case ANSWER_HEX:
		json_string(json, key, answer_text(f, at, room));
		break;
	case ANSWER_USAGE:
		json_usage(json, key, at);
		break;
	case ANSWER_TIME:
		json_time(json, key, u64_at(at));
		break;
	case ANSWER_WALL:
		json_time(json, key, context->start_wall_ns + u64_at(at));
		break;
	case ANSWER_MS:
		json_u64(json, key, (context->start_wall_ns + u64_at(at)) / NS_PER_MS);
		break;
	case ANSWER_TIMES:
		json_times_in(json, key, context, u64_at(at));
		break;
	case ANSWER_ADDRESS:
		json_address(json, key, u64_at(at));
		break;
	case ANSWER_OBJECT:
		return json_object_of(json, key, f->of, f->behind ? pointer_at(at) : at, context);
	case ANSWER_MEMBERS:
		return json_members(json, f->of, f->behind ? pointer_at(at) : at, context);
	case ANSWER_FREE:
	case ANSWER_VALUE:
		break;
	}
	return 0;
}

static bool is_set(const struct answer_field *f, const void *at)
{
	switch (f->kind) {
	case ANSWER_U32:
		return u32_at(at) != 0;
	case ANSWER_DOUBLE:
		return double_at(at) > 0;
	case ANSWER_TEXT:
	case ANSWER_OBJECT:
		return pointer_at(at) != NULL;
	case ANSWER_BOOL:
		return *(const bool *)at;
	default:
		return u64_at(at) != 0;
	}
}

static bool answer_is_there(const struct answer_field *f, const char *object)
{
	const char *at = object + f->at;

	switch (f->when) {
	case ALWAYS:
		return true;
	case IF_SET:
		return is_set(f, at);
	case IF_TEXT:
		if (f->kind == ANSWER_CHARS)
			return *at;
		return pointer_at(at) && *(const char *)pointer_at(at);
	case IF_NO_MAX:
	case NO_MAX_OR_NULL:
		return f->kind == ANSWER_U32 ? u32_at(at) != UINT32_MAX : u64_at(at) != UINT64_MAX;
	case IF_TRUE:
	case TRUE_OR_NULL:
		return *(const bool *)(object + f->if_at);
	case IF_FALSE:
		return !*(const bool *)(object + f->if_at);
	case IF_TIME:
		return u64_at(object + f->if_at) != NO_TIME;
	case SOMETIMES:
	case COLUMN_ONLY:
		break;
	}
	return f->write;
}

static int put_list(struct json *json, const struct answer_field *f, const char *object,
		    const struct answer_context *context)
{
	bool inside = f->shape == ANSWER_ARRAY;
	const char *list = inside ? object + f->at : pointer_at(object + f->at);
	const char *number = object + f->count_at;
	uint64_t count = inside				     ? f->count_at
			 : f->count_size == sizeof(uint32_t) ? u32_at(number)
							     : u64_at(number);
	bool page = f->shape == ANSWER_PAGE && context;
	uint64_t first = page ? context->skip : 0, most = page ? context->count : UINT64_MAX;
	int r = 0;

	json_array(json, f->name);
	for (uint64_t i = first; !r && i < count && i - first < most; i++)
		r = answer_put(json, NULL, f, list + i * f->stride + f->item_at, context);
	json_end(json, ']');
	return r;
}

int json_member(struct json *json, const struct answer_field *f, const void *object,
		const struct answer_context *context)
{
	bool there = !f->by_hand && answer_is_there(f, object);

	if (!there && (f->when == TRUE_OR_NULL || f->when == NO_MAX_OR_NULL))
		json_string(json, f->name, NULL);
	if (!there)
		return 0;
	if (f->write)
		return f->write(json, f, object, context);
	if (f->shape == ANSWER_ONE)
		return answer_put(json, f->name, f, (const char *)object + f->at, context);
	return put_list(json, f, object, context);
}

int json_members(struct json *json, const struct answer *answer, const void *object,
		 const struct answer_context *context)
{
	int r = 0;

	for (const struct answer_field *f = answer->fields; !r && (f->name || f->of); f++)
		r = json_member(json, f, object, context);
	return r;
}

int json_object_of(struct json *json, const char *key, const struct answer *answer,
		   const void *object, const struct answer_context *context)
{
	int r;

	json_object(json, key);
	r = json_members(json, answer, object, context);
	json_end(json, '}');
	return r;
}
