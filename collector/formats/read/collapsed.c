/* Imports collapsed stacks: lines such as "main;parse;malloc 4096", as flamegraph.pl, jeprof,
 * heaptrack_print and our own export write them. A line has one number for its stack: bytes, or
 * blocks, or what --unit says. The file does not say whether these were in use or allocated. Each
 * line becomes one block, and each distinct frame a place with a name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "collector/formats/read/collapsed_read.h"
#include "collector/formats/read/importer.h"
#include "base/ban.h"

#define NEARLY_ALL 10 /* as many lines left out per line taken: another format */

struct collapsed {
	struct importer *im;
	struct intern frames;
	uint32_t named;	 /* number of frames that already have names in the recording */
	uint32_t *nodes; /* nodes of the current line, outermost first */
	uint32_t node_capacity, node_count;
	bool blocks; /* the numbers count blocks */
};

static void collapsed_done(struct collapsed *c)
{
	intern_done(&c->frames);
	free(c->nodes);
}

static uint64_t offset_of(uint32_t frame)
{
	return COMPOSER_FIRST_PLACE + (uint64_t)frame;
}

/* Names the new frames in the recording. Frames are numbered in the order of their first use. */
static int name_frames(struct collapsed *c)
{
	int r = 0;

	while (!r && c->named < c->frames.count) {
		struct composer_frame frame = {.function = intern_get(&c->frames, ++c->named)};

		r = importer_name(c->im, 0, offset_of(c->named), &frame, 1);
	}
	return r;
}

static int collapsed_put_line(void *context, const struct collapsed_line *line)
{
	struct collapsed *c = context;
	uint32_t kept = line->kept < c->node_count ? line->kept : c->node_count, node;
	int r = name_frames(c);

	c->im->place = line->number;
	if (!r && line->count > IMPORT_STACK_MAX)
		return importer_bad_line(c->im, "a stack of more than %u frames", IMPORT_STACK_MAX);
	if (!r && array_reserve(&c->nodes, &c->node_capacity, (uint64_t)line->count + 1,
				sizeof(*c->nodes)) < 0)
		return err_set(c->im->err, -ENOMEM, "no memory to import");
	node = kept ? c->nodes[kept - 1] : 0;
	for (uint32_t i = kept; !r && i < line->count; i++) {
		r = composer_node(c->im->composer, node, 0, offset_of(line->frames[i]), &node);
		c->nodes[i] = node;
	}
	c->node_count = line->count;
	if (r < 0)
		return r;
	return importer_blocks(c->im, 1, node, c->blocks ? line->value : line->value != 0,
			       c->blocks ? 0 : line->value, false);
}

static int collapsed_tell_progress(void *context, uint64_t done, uint64_t of)
{
	const struct collapsed *c = context;
	const struct import_options *o = c->im->options;

	if (!o->progress || !o->progress(o->context, done, of ? of : done))
		return 0;
	return err_set(c->im->err, -ECANCELED, "stopped");
}

static int read_collapsed(struct importer *im)
{
	cleanup(collapsed_done) struct collapsed c = {.im = im};
	const struct collapsed_to to = {
		.line = collapsed_put_line, .progress = collapsed_tell_progress, .context = &c};
	struct collapsed_counts counts = {0};
	int r;

	c.blocks = importer_counts_blocks(im);
	r = importer_begin(im, &(const struct importer_process){0});
	if (!r)
		r = collapsed_read(im->source, &c.frames, &to, &counts, im->err);
	if (r < 0)
		return r;
	if (counts.stacks && collapsed_left_out(&counts) / NEARLY_ALL >= counts.stacks)
		return err_set(im->err, -EBADMSG,
			       "%s is not of collapsed stacks: %llu of %llu lines are no stack and "
			       "a number",
			       source_name(im->source),
			       (unsigned long long)collapsed_left_out(&counts),
			       (unsigned long long)counts.lines);
	if (collapsed_left_out(&counts)) {
		char text[256];

		importer_note(im, "%s", collapsed_left_out_text(&counts, text, sizeof(text)));
	}
	return counts.stacks ? 0
			     : err_set(im->err, -EBADMSG, "%s has no line of a stack and a number",
				       source_name(im->source));
}

/* Recognizes the format: some complete line ends with a blank and digits. */
static bool is_collapsed(const uint8_t *head, size_t length)
{
	const uint8_t *end;
	size_t i;

	if (importer_is_binary(head, length))
		return false;
	for (; length && (end = memchr(head, '\n', length)) != NULL;
	     length -= i + 1, head += i + 1) {
		size_t digits = 0;

		i = (size_t)(end - head);
		while (digits < i && head[i - 1 - digits] >= '0' && head[i - 1 - digits] <= '9')
			digits++;
		if (digits && digits + 1 < i && head[i - 1 - digits] == ' ')
			return true;
	}
	return false;
}

const struct format_reader collapsed_reader = {is_collapsed, read_collapsed};
