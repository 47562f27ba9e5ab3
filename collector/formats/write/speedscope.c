/*
 * Writes JSON for speedscope (https://www.speedscope.app/file-format-schema.json): a table of
 * frames, and two *sampled* profiles, of bytes and of blocks. A sample is a stack, outermost frame
 * first. Its weight is what its innermost frame allocated itself.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/saturated.h"
#include "collector/formats/write/export.h"
#include "collector/formats/write/writer.h"
#include "collector/answers/json.h"
#include "collector/answers/weight.h"
#include "collector/formats/write/put.h"
#include "collector/answers/walk.h"
#include "collector/query/match/intern.h"
#include "collector/query/match/view.h"
#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

struct speedscope {
	const struct tree *tree;
	struct intern frames; /* by function and module: numbers from 1 */
	uint32_t *frame_of;   /* by node: index of the frame */
	struct json json;
};

static uint64_t self_of(const struct tree_node *n, enum export_weight weight)
{
	return weight == EXPORT_BYTES ? n->self_bytes : n->self_blocks;
}

static void speedscope_put_frame(struct json *json, const struct tree_node *n)
{
	json_object(json, NULL);
	json_string(json, "name", n->function ? n->function : "[unknown]");
	if (n->file)
		json_string(json, "file", n->file);
	else if (n->module)
		json_string(json, "file", n->module);
	if (n->file && n->line)
		json_u64(json, "line", n->line);
	json_end(json, '}');
}

static int speedscope_put_frames(struct speedscope *s)
{
	json_object(&s->json, "shared");
	json_array(&s->json, "frames");
	for (size_t i = 1; i < s->tree->count; i++) {
		const struct tree_node *n = &s->tree->nodes[i];
		uint32_t known = s->frames.count;
		uint32_t number = intern_pair(&s->frames, (uint64_t)(uintptr_t)n->function,
					      (uint64_t)(uintptr_t)n->module);

		if (!number)
			return -ENOMEM;
		s->frame_of[i] = number - 1;
		if (number > known)
			speedscope_put_frame(&s->json, n);
	}
	json_end(&s->json, ']');
	json_end(&s->json, '}');
	return 0;
}

/* Writes all stacks, or the weights of all stacks, in the order of the walk. */
static int put_samples(struct speedscope *s, enum export_weight weight, bool weights)
{
	struct walk walk;
	uint32_t node;
	int error = walk_init(&walk, s->tree);

	json_array(&s->json, weights ? "weights" : "samples");
	while (!error && (node = walk_next(&walk))) {
		uint64_t self = self_of(&s->tree->nodes[node], weight);

		if (self && weights) {
			json_u64(&s->json, NULL, self);
		} else if (self) {
			json_array(&s->json, NULL);
			for (uint32_t depth = 1; depth <= walk.depth; depth++)
				json_u64(&s->json, NULL, s->frame_of[walk.stack[depth]]);
			json_end(&s->json, ']');
		}
	}
	json_end(&s->json, ']');
	walk_done(&walk);
	return error;
}

static int put_profile(struct speedscope *s, const char *name, enum export_weight weight)
{
	uint64_t total = 0;
	int error;

	for (size_t i = 1; i < s->tree->count; i++)
		add_most(&total, self_of(&s->tree->nodes[i], weight));
	json_object(&s->json, NULL);
	json_string(&s->json, "type", "sampled");
	json_string(&s->json, "name", name);
	json_string(&s->json, "unit", weight == EXPORT_BYTES ? "bytes" : "none");
	json_u64(&s->json, "startValue", 0);
	json_u64(&s->json, "endValue", total);
	error = put_samples(s, weight, false);
	if (!error)
		error = put_samples(s, weight, true);
	json_end(&s->json, '}');
	return error;
}

static int speedscope_put_file(struct speedscope *s, const char *name, const char *incomplete,
			       enum export_weight weight)
{
	struct json *json = &s->json;
	cleanup(buf_done) struct buf full_name = {0};
	int error;

	buf_string(&full_name, name);
	put_incomplete_line(&full_name, " (", incomplete, ")");
	json_object(json, NULL);
	if (incomplete && *incomplete)
		json_string(json, "incomplete", incomplete);
	json_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_string(json, "exporter", "heapcast " HEAPCAST_VERSION);
	json_string(json, "name", buf_text(&full_name));
	json_u64(json, "activeProfileIndex", weight == EXPORT_BYTES ? 0 : 1);
	error = speedscope_put_frames(s);
	json_array(json, "profiles");
	if (!error)
		error = put_profile(s, "bytes", EXPORT_BYTES);
	if (!error)
		error = put_profile(s, "blocks", EXPORT_BLOCKS);
	json_end(json, ']');
	json_end(json, '}');
	buf_byte(json->out, '\n');
	return error ? error : buf_error(json->out);
}

int export_speedscope(const struct tree *tree, const char *name, const char *incomplete,
		      enum export_weight weight, struct buf *out, struct err_text *err)
{
	struct speedscope s = {.tree = tree, .frame_of = calloc(tree->count + 1, sizeof(uint32_t))};
	int error = -ENOMEM;

	json_init(&s.json, out);
	if (s.frame_of)
		error = speedscope_put_file(&s, name ? name : "heapcast", incomplete, weight);
	free(s.frame_of);
	intern_done(&s.frames);
	return error ? err_set(err, error, "no memory for the profile") : 0;
}

static int write_speedscope(const struct writing *w, struct buf *out, struct err_text *err)
{
	cleanup(tree_done) struct tree tree = {0};
	int r = query_tree(w->view, w->filter, w->value, w->at_ns, &tree, err);

	return r ? r
		 : export_speedscope(&tree,
				     recording_process(view_recording(w->view))->command_line,
				     w->incomplete, w->weight, out, err);
}

const struct format_writer speedscope_writer = {.write = write_speedscope};
