/*
 * Writes collapsed stacks, the common input format of flame graph tools: `outer;inner;innermost
 * VALUE`. A line holds what its innermost frame allocated itself. The values of stacks with the
 * same text (two lines of one function) are added up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/saturated.h"
#include "collector/formats/write/export.h"
#include "collector/formats/write/writer.h"
#include "collector/answers/weight.h"
#include "collector/answers/walk.h"
#include "collector/query/query.h"

#include "base/ban.h"

struct line {
	size_t offset; /* of the stack's text in `text`, NUL-terminated */
	uint64_t value;
};

struct collapsed {
	struct buf text, path;
	size_t *ends; /* length of `path` up to each depth */
	struct line *lines;
	size_t count, capacity;
};

void export_collapsed_name(const char *name, struct buf *out)
{
	for (; *name; name++)
		buf_byte(out, *name == ';'			       ? ':'
			      : (uint8_t)*name < 0x20 || *name == 0x7f ? ' '
								       : (uint8_t)*name);
}

static int collapsed_add_line(struct collapsed *c, uint64_t value)
{
	if (c->count == c->capacity) {
		size_t capacity = c->capacity ? c->capacity * 2 : 256;
		struct line *lines = reallocarray(c->lines, capacity, sizeof(*lines));

		if (!lines)
			return -ENOMEM;
		c->lines = lines;
		c->capacity = capacity;
	}
	c->lines[c->count++] = (struct line){c->text.length, value};
	buf_append(&c->text, c->path.data, c->path.length);
	buf_byte(&c->text, 0);
	return buf_error(&c->text) ? buf_error(&c->text) : buf_error(&c->path);
}

static int collapsed_collect(struct collapsed *c, const struct tree *tree,
			     enum export_weight weight)
{
	struct walk walk;
	uint32_t node;
	int error = walk_init(&walk, tree);

	c->ends = calloc((size_t)walk.deepest + 2, sizeof(*c->ends));
	if (!c->ends)
		error = -ENOMEM;
	while (!error && (node = walk_next(&walk))) {
		const struct tree_node *n = &tree->nodes[node];
		uint64_t self = weight == EXPORT_BYTES ? n->self_bytes : n->self_blocks;

		c->path.length = c->ends[walk.depth - 1];
		if (walk.depth > 1)
			buf_byte(&c->path, ';');
		export_collapsed_name(n->function ? n->function : "[unknown]", &c->path);
		c->ends[walk.depth] = c->path.length;
		if (self)
			error = collapsed_add_line(c, self);
	}
	walk_done(&walk);
	return error;
}

static int collapsed_compare(const void *left, const void *right, void *text)
{
	const struct line *a = left, *b = right;

	return strcmp((const char *)text + a->offset, (const char *)text + b->offset);
}

static void write_lines(struct collapsed *c, struct buf *out)
{
	if (c->count)
		qsort_r(c->lines, c->count, sizeof(*c->lines), collapsed_compare, c->text.data);
	for (size_t i = 0; i < c->count; i++) {
		const char *stack = (const char *)c->text.data + c->lines[i].offset;

		if (i + 1 < c->count &&
		    !collapsed_compare(&c->lines[i], &c->lines[i + 1], c->text.data)) {
			add_most(&c->lines[i + 1].value, c->lines[i].value);
			continue;
		}
		buf_string(out, stack);
		buf_printf(out, " %llu\n", (unsigned long long)c->lines[i].value);
	}
}

int export_collapsed(const struct tree *tree, enum export_weight weight, struct buf *out,
		     struct err_text *err)
{
	struct collapsed c = {0};
	int error = collapsed_collect(&c, tree, weight);

	if (!error) {
		write_lines(&c, out);
		error = buf_error(out);
	}
	buf_done(&c.text);
	buf_done(&c.path);
	free(c.ends);
	free(c.lines);
	return error ? err_set(err, error, "no memory for the stacks") : 0;
}

static int write_collapsed(const struct writing *w, struct buf *out, struct err_text *err)
{
	cleanup(tree_done) struct tree tree = {0};
	int r = query_tree(w->view, w->filter, w->value, w->at_ns, &tree, err);

	return r ? r : export_collapsed(&tree, w->weight, out, err);
}

const struct format_writer collapsed_writer = {.write = write_collapsed};
