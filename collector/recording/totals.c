/* Totals of a stream for the catalogue. totals.h describes them. */
#include "collector/recording/totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/words.h"
#include "proto/columns.h"
#include "proto/stack_columns.h"
#include "collector/recording/culled.h"
#include "collector/recording/names.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "base/ban.h"

void totals_done(struct totals *t)
{
	free(t->name);
	free(t->executable);
	free(t->command_line);
	free(t->host);
	free(t->architecture);
	labels_done(&t->labels);
	free(t->began_on);
	free(t->incomplete);
	*t = (struct totals){0};
}

char *outside_text(const void *data, size_t length)
{
	return words_copy(data, length, CATALOGUE_TEXT);
}

char *program_name(const Heapcast__Process *process)
{
	const ProtobufCBinaryData *file = &process->executable;
	const uint8_t *slash = file->len ? memrchr(file->data, '/', file->len) : NULL;
	const uint8_t *from = slash ? slash + 1 : file->data;

	if (process->name.len)
		return outside_text(process->name.data, process->name.len);
	return outside_text(from, file->len - (slash ? (size_t)(from - file->data) : 0));
}

char *join_arguments(const Heapcast__Process *process)
{
	struct buf line = {0};
	char *text;

	for (size_t i = 0; i < process->n_argument && line.length < CATALOGUE_TEXT; i++) {
		if (i)
			buf_byte(&line, ' ');
		buf_append(&line, process->argument[i].data, process->argument[i].len);
	}
	text = buf_error(&line)
		       ? NULL
		       : outside_text(line.data ? line.data : (const uint8_t *)"", line.length);
	buf_done(&line);
	return text;
}

static int set_process(struct totals *t, const Heapcast__Process *p)
{
	struct totals fresh = {
		.name = program_name(p),
		.executable = outside_text(p->executable.data, p->executable.len),
		.command_line = join_arguments(p),
		.host = outside_text(p->host, strlen(p->host)),
		.architecture = outside_text(p->architecture, strlen(p->architecture)),
	};

	if (labels_of(p, &fresh.labels) < 0 || !fresh.name || !fresh.executable ||
	    !fresh.command_line || !fresh.host || !fresh.architecture) {
		totals_done(&fresh);
		return -ENOMEM;
	}
	if (t->executable && !strcmp(t->executable, fresh.executable)) {
		free(fresh.labels.build);
		fresh.labels.build = t->labels.build ? take_ptr(t->labels.build) : strdup("");
	}
	free(t->name);
	free(t->executable);
	free(t->command_line);
	free(t->host);
	free(t->architecture);
	labels_done(&t->labels);
	t->labels = fresh.labels;
	t->name = fresh.name;
	t->executable = fresh.executable;
	t->command_line = fresh.command_line;
	t->host = fresh.host;
	t->architecture = fresh.architecture;
	t->pid = p->pid;
	if (!t->start_wall_ns)
		t->start_wall_ns = p->start_wall_ns;
	return 0;
}

/* Decodes every column to its end, so that everything stored can be read. */
static int check_columns(const Heapcast__Batch *batch, struct err_text *err)
{
	struct stacks_decoder stacks;
	struct events_decoder events;
	struct stack_node node;
	uint32_t number;
	int r = 0;

	if (batch->stacks) {
		r = stacks_decoder_init(&stacks, batch->stacks, err);
		while (!r && (r = stacks_decoder_next(&stacks, &number, &node, err)) == 1)
			r = 0;
	}
	if (!r && batch->events) {
		r = events_decoder_init(&events, batch->events, err);
		if (r < 0)
			return r;
		r = events_decoder_all(&events, NULL, err);
		events_decoder_done(&events);
	}
	if (!r && batch->names)
		r = names_check(batch->names, err);
	if (!r && batch->culled)
		r = culled_check(batch->culled, err);
	return r;
}

/* Takes who has the beginning, unless it is here. */
static int set_beginning(struct totals *t, const Heapcast__Batch *batch)
{
	if (t->position.incarnation || t->began_on || !batch->n_part)
		return 0;
	t->began_on = outside_text(batch->part[0]->host, strlen(batch->part[0]->host));
	return t->began_on ? 0 : -ENOMEM;
}

int totals_add(struct totals *t, const struct stream_id *id, const Heapcast__Batch *batch,
	       struct err_text *err)
{
	struct stream_position *position = &t->position;
	int r;

	if (batch->stream.len != STREAM_ID_SIZE ||
	    memcmp(batch->stream.data, id->bytes, STREAM_ID_SIZE))
		return err_set(err, -EBADMSG, "a batch of another stream");
	if (!batch->incarnation || (!batch->number && !batch->catch_up))
		return err_set(err, -EBADMSG, "a batch without a number");
	if (batch->catch_up && (batch->number || batch->events || batch->culled))
		return err_set(err, -EBADMSG, "a catch-up with events or a number");
	if (batch->number == UINT64_MAX)
		return err_set(err, -EBADMSG, "a batch with an impossible number");
	if (batch->number &&
	    (batch->incarnation < position->incarnation ||
	     (batch->incarnation == position->incarnation && batch->number < position->next)))
		return 1;
	r = check_columns(batch, err);
	if (r < 0)
		return r;
	if (batch->process) {
		r = set_process(t, batch->process);
		if (r < 0)
			return r;
	}
	r = labels_take_build(&t->labels, batch, t->executable);
	if (!r)
		r = set_beginning(t, batch);
	if (r < 0)
		return r;
	if (batch->number)
		*position = (struct stream_position){batch->incarnation, batch->number + 1};
	if (batch->events)
		t->events += batch->events->count;
	if (batch->time_ns > t->last_ns)
		t->last_ns = batch->time_ns;
	if (batch->end)
		t->ended = true;
	return 0;
}

int totals_scan(struct totals *t, const struct stream_id *id, int fd, uint64_t size,
		struct err_text *err)
{
	struct scan scan;
	struct scan_item item;
	int r = scan_init(&scan, fd, t->bytes, NULL);

	while (!r && (r = scan_next(&scan, size, &item)) == 1) {
		r = totals_add(t, id, item.batch, NULL);
		if (r == -EBADMSG || r == 1)
			r = 0;
	}
	t->bytes = scan.offset;
	scan_done(&scan);
	if (r < 0)
		return err_set(err, r, "cannot read the recording: %s", strerror(-r));
	return 0;
}

/* Replaces the string by a copy. Returns false if memory is short. */
static bool copy_text(char **text)
{
	bool there = *text;

	*text = there ? strdup(*text) : NULL;
	return *text || !there;
}

int totals_copy(const struct totals *from, struct totals *ret_to)
{
	struct totals to = *from;
	bool labelled = labels_copy(&from->labels, &to.labels) == 0;
	bool copied = labelled & copy_text(&to.name) & copy_text(&to.executable) &
		      copy_text(&to.command_line) & copy_text(&to.host) &
		      copy_text(&to.architecture) & copy_text(&to.incomplete) &
		      copy_text(&to.began_on);

	if (!copied) {
		totals_done(&to);
		return -ENOMEM;
	}
	*ret_to = to;
	return 0;
}

int totals_copy_sums(const struct totals *from, struct totals *to)
{
	free(to->incomplete);
	to->incomplete = from->incomplete;
	to->in_use_bytes = from->in_use_bytes;
	to->in_use_blocks = from->in_use_blocks;
	to->summed_bytes = from->summed_bytes;
	to->summed_up = true;
	if (copy_text(&to->incomplete))
		return 0;
	totals_done(to);
	return -ENOMEM;
}
