/* Numbers backtraces by their contents. See stack_ids.h. */
#include "collector/sums/stack_ids.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* Another way to number needs another seed, so that old and new numbers never mean the same. */
#define SEED 1

void stack_ids_done(struct stack_ids *ids)
{
	free(ids->frame);
	free(ids->stack);
	*ids = (struct stack_ids){0};
}

static void append_names(struct buf *key, struct view *view, uint32_t node)
{
	uint32_t count = view_frame_count(view, node);

	for (uint32_t i = 0; i < count; i++) {
		struct view_frame f = view_frame(view, node, i);

		buf_string(key, f.function ? f.function : "");
		buf_byte(key, 0);
	}
}

static void append_module(struct buf *key, const struct module_info *module)
{
	if (module && module->build_id_length) {
		buf_byte(key, 'b');
		buf_varint(key, module->build_id_length);
		buf_append(key, module->build_id, module->build_id_length);
		return;
	}
	buf_byte(key, 'p');
	buf_string(key, module ? module->path : "");
	buf_byte(key, 0);
	buf_u32le(key, module ? module->print : 0);
}

/* No hash is 0, which stands for "no backtrace", or MAP_NO_KEY. */
static uint64_t hash_of(const void *data, size_t length)
{
	uint64_t hash = XXH3_64bits_withSeed(data, length, SEED);

	return hash && hash != MAP_NO_KEY ? hash : 1;
}

static int number_frame(struct stack_ids *ids, struct view *view, uint32_t number,
			const struct stack_node *node, struct buf *key)
{
	const struct module_info *module =
		node->module ? recording_module(view_recording(view), node->module) : NULL;

	buf_clear(key);
	append_module(key, module);
	buf_u64le(key, node->offset);
	if (!module || !module->build_id_length)
		append_names(key, view, number);
	ids->frame[number] = hash_of(key->data, key->length);
	return buf_error(key);
}

/* A node's callers have lower numbers. */
static void number_stack(struct stack_ids *ids, uint32_t number, const struct stack_node *node)
{
	uint64_t pair[2] = {htole64(ids->frame[number]),
			    htole64(node->parent < number ? ids->stack[node->parent] : 0)};

	ids->stack[number] = hash_of(pair, sizeof(pair));
}

int stack_ids_init(struct stack_ids *ids, struct view *view)
{
	const struct recording *recording = view_recording(view);
	cleanup(buf_done) struct buf key = {0};
	int r = 0;

	ids->count = recording_nodes(recording);
	ids->frame = calloc((size_t)ids->count + 1, sizeof(*ids->frame));
	ids->stack = calloc((size_t)ids->count + 1, sizeof(*ids->stack));
	if (!ids->frame || !ids->stack)
		return -ENOMEM;
	for (uint32_t n = 1; !r && n <= ids->count; n++) {
		const struct stack_node *node = recording_node(recording, n);

		if (!node)
			continue;
		r = number_frame(ids, view, n, node, &key);
		number_stack(ids, n, node);
	}
	return r;
}
