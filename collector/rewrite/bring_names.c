/*
 * Adds function names and files (bring_files.h) to a recording. Every batch stays as it is, and
 * each place gets a row of Batch.names when it is first mentioned (told_names.h). Existing names
 * are rewritten along with the others. A place without a name here gets no row, so that a symbol
 * file may name it later, unless the recording said that it has no name.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "proto/stack_columns.h"
#include "collector/recording/info.h"
#include "collector/rewrite/bring_files.h"
#include "collector/rewrite/bring_names.h"
#include "collector/rewrite/told_names.h"
#include "base/ban.h"

struct bring {
	struct copy copy;
	const struct name_settings *settings;
	struct told_names told;
	struct bring_files files;
	struct name_result result;
};

static int bring_names_tell_place(void *context, uint32_t here, const struct stack_node *node)
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

static int bring_names_put_batch(struct bring *b, struct err_text *err)
{
	/* The batch is in the copy's memory, which no other code uses meanwhile. */
	Heapcast__Batch batch = *b->copy.decoded.item.batch;
	int r;

	told_names_begin(&b->told, batch.incarnation);
	batch.names = NULL;
	r = copy_put(&b->copy, &batch, err);
	if (!r)
		r = bring_files_pass(&b->files, &b->copy, &batch);
	if (!r && batch.stacks)
		r = told_names_of_stacks(&b->told, &b->copy, batch.stacks, &batch,
					 bring_names_tell_place, b, err);
	return r;
}

static int put_files(struct bring *b, struct err_text *err)
{
	const struct name_settings *s = b->settings;
	struct err_text why = {0};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < s->file_count; i++) {
		r = bring_files_put(&b->files, &b->copy, &s->files[i], &why);
		if (r == 1 && s->left_out)
			s->left_out(s->context, &s->files[i], why.text);
	}
	if (r < 0 && err)
		*err = why;
	return r < 0 ? r : 0;
}

int recording_bring_names(const char *path, const struct name_settings *settings,
			  struct name_result *ret_result, struct err_text *err)
{
	struct bring b = {.settings = settings};
	int r = copy_open(&b.copy, path, &settings->copy, err);

	while (!r && (r = copy_next(&b.copy, err)) == 1)
		r = bring_names_put_batch(&b, err);
	if (!r)
		r = put_files(&b, err);
	if (r < 0 && err && !err->text[0])
		err_set(err, r, "packing %s: %s", path, strerror(-r));
	b.result.bytes_before = b.copy.scan.offset;
	b.result.bytes_after = b.copy.written;
	b.result.files = b.files.there.count;
	b.result.file_bytes = b.files.bytes;
	if (!r)
		*ret_result = b.result;
	copy_close(&b.copy);
	told_names_done(&b.told);
	bring_files_done(&b.files);
	return r;
}
