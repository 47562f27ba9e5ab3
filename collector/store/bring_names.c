/*
 * A recording that brings the names of its functions along: every batch as it was, and for each place that it tells first a row of
 * Batch.names (told_names.h). Names that it had are told with the others. Of places that have none here it says nothing, so that a
 * symbol file may, unless it said before that nobody can.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "collector/store/told_names.h"
#include "base/ban.h"

struct bring {
	struct copy copy;
	const struct name_settings *settings;
	struct told_names told;
	struct name_result result;
};

static int tell_place(void *context, uint32_t here, const struct stack_node *node)
{
	struct bring *b = context;
	struct name_frame frames[NAMES_FRAMES_MAX];
	struct named_frame frame;
	uint32_t count = 0;
	bool named;

	b->result.places++;
	while (count < NAMES_FRAMES_MAX &&
	       b->settings->frame(b->settings->context, here, count, &frame))
		frames[count++] =
			(struct name_frame){told_names_text(&b->told, frame.function),
					    told_names_text(&b->told, frame.file), frame.line};
	named = count && frames[0].function;
	if (!named && (!b->settings->said || !b->settings->said(b->settings->context, here)))
		return 0;
	if (!named && count && !frames[0].file)
		count = 0;
	b->result.named += named;
	return told_names_place(&b->told, node->module, node->offset, frames, count);
}

static int put_batch(struct bring *b, struct err_text *err)
{
	/* The batch lies in memory of the copy's, and nobody else looks at it. */
	Heapcast__Batch batch = *b->copy.decoded.item.batch;
	int r;

	told_names_begin(&b->told, batch.incarnation);
	batch.names = NULL;
	r = copy_put(&b->copy, &batch, err);
	if (!r && batch.stacks)
		r = told_names_of_stacks(&b->told, &b->copy, batch.stacks, &batch, tell_place, b,
					 err);
	return r;
}

int recording_bring_names(const char *path, const struct name_settings *settings,
			  struct name_result *ret_result, struct err_text *err)
{
	struct bring b = {.settings = settings};
	int r = copy_open(&b.copy, path, &settings->copy, err);

	while (!r && (r = copy_next(&b.copy, err)) == 1)
		r = put_batch(&b, err);
	if (r < 0 && err && !err->text[0])
		err_set(err, r, "packing %s: %s", path, strerror(-r));
	b.result.bytes_before = b.copy.scan.offset;
	b.result.bytes_after = b.copy.written;
	if (!r)
		*ret_result = b.result;
	copy_close(&b.copy);
	told_names_done(&b.told);
	return r;
}
