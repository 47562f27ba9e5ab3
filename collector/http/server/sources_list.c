/* Lists all recordings with what is known without reading them, for /list. See sources.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/http/server/sources_state.h"
#include "collector/query/query.h"
#include "collector/recording/completeness.h"
#include "collector/catalogue/watched.h"
#include "collector/recording/file.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

static char *copied(const char *text)
{
	return strdup(text ? text : "");
}

static void summarize(struct source *source, const struct report *report,
		      struct stream_summary *out)
{
	const struct process_info *process = recording_process(source->recording);
	const struct ledger_info *ledger = recording_ledger(source->recording);
	struct completeness completeness;
	struct stat file;

	recording_completeness(source->recording, &completeness);
	*out = (struct stream_summary){
		.id = *recording_id(source->recording),
		.name = copied(process->name),
		.executable = copied(process->executable),
		.command_line = copied(process->command_line),
		.host = copied(process->host),
		.architecture = copied(process->architecture),
		.labels = {copied(process->labels.board), copied(process->labels.cgroup),
			   copied(process->labels.build), copied(process->labels.tags)},
		.began_on = copied(recording_began_on(source->recording)),
		.pid = process->pid,
		.start_wall_ns = process->start_wall_ns,
		.last_ns = recording_end_ns(source->recording),
		.events = ledger->stored,
		.recording_bytes =
			recording_file_stat(source->path, &file) == 0 ? (uint64_t)file.st_size : 0,
		.in_use_bytes = report->leaked.bytes,
		.in_use_blocks = report->leaked.blocks,
		.incomplete = copied(completeness.line),
		.state = process->ended ? STREAM_ENDED : STREAM_INTERRUPTED,
	};
}

/* Describes an open recording. `summarized` means that the catalogue knows the rest. */
static int sources_list_describe(struct source *source, bool summarized, struct source_line *line,
				 struct err_text *err)
{
	const struct process_info *process;
	struct filter filter;
	struct report report;
	int r;

	filter_init(&filter);
	source_lock(source);
	process = recording_process(source->recording);
	r = query_report(source->view, &filter, &report, err);
	if (!r) {
		line->is_open = true;
		line->backtraces = (uint32_t)report.distinct_stacks;
		line->depth = view_depth_max(source->view);
		line->rows = recording_rows(source->recording);
		line->watched_from_start = !process->ran_before_ns;
		line->watched_to_end = process->ended && !watched_left(process);
		if (!summarized)
			summarize(source, &report, &line->summary);
	}
	source_unlock(source);
	return r;
}

/* The open recordings, each with a reference, so that no lock is held. */
struct held {
	struct source **sources;
	size_t count, files;
};

static int hold_open_ones(struct sources *sources, struct held *held)
{
	size_t most = 0;
	int r = 0;

	pthread_mutex_lock(&sources->lock);
	for (struct source *s = sources->list; s; s = s->next)
		most++;
	held->sources = calloc(most + 1, sizeof(*held->sources));
	if (!held->sources)
		r = -ENOMEM;
	for (struct source *s = sources->list; !r && s; s = s->next) {
		if (s->opening)
			continue;
		s->users++;
		held->files += s->is_file;
		held->sources[held->count++] = s;
	}
	pthread_mutex_unlock(&sources->lock);
	return r;
}

static void sources_list_let_go(struct sources *sources, struct held *held)
{
	for (size_t i = 0; i < held->count; i++)
		sources_release(sources, held->sources[i]);
	free(held->sources);
}

static struct source *find_held(const struct held *held, const char *id)
{
	for (size_t i = 0; i < held->count; i++)
		if (!strcmp(held->sources[i]->id, id))
			return held->sources[i];
	return NULL;
}

/* Adds the streams as lines, and takes over their texts. */
static int add_streams(const struct held *held, struct stream_summary *streams, size_t count,
		       struct source_line *lines, size_t *ret_count, struct err_text *err)
{
	int r = 0;

	for (size_t i = 0; i < count && !r; i++) {
		char id[STREAM_ID_TEXT];
		struct source *open = find_held(held, stream_id_format(id, &streams[i].id));

		if (open && open->is_file)
			continue;
		lines[*ret_count].summary = streams[i];
		streams[i] = (struct stream_summary){0};
		if (open)
			r = sources_list_describe(open, true, &lines[*ret_count], err);
		++*ret_count;
	}
	return r;
}

static int add_files(const struct held *held, struct source_line *lines, size_t *ret_count,
		     struct err_text *err)
{
	int r = 0;

	for (size_t i = 0; i < held->count && !r; i++) {
		if (!held->sources[i]->is_file)
			continue;
		r = sources_list_describe(held->sources[i], false, &lines[*ret_count], err);
		++*ret_count;
	}
	return r;
}

static int sources_list_by_start(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return x->summary.start_wall_ns < y->summary.start_wall_ns
		       ? -1
		       : x->summary.start_wall_ns > y->summary.start_wall_ns;
}

static int make_lines(const struct held *held, struct stream_summary *streams, size_t stream_count,
		      struct source_line **ret_lines, size_t *ret_count, struct err_text *err)
{
	int r;

	*ret_lines = calloc(stream_count + held->files + 1, sizeof(**ret_lines));
	if (!*ret_lines)
		return err_set(err, -ENOMEM, "out of memory");
	r = add_files(held, *ret_lines, ret_count, err);
	return r ? r : add_streams(held, streams, stream_count, *ret_lines, ret_count, err);
}

int sources_list(struct sources *sources, struct source_line **ret_lines, size_t *ret_count,
		 struct err_text *err)
{
	struct stream_summary *streams = NULL;
	struct source_line *lines = NULL;
	struct held held = {0};
	size_t stream_count = 0, count = 0;
	int r;

	pthread_mutex_lock(&sources->lock);
	r = sources_open_store(sources, NULL);
	pthread_mutex_unlock(&sources->lock);
	if (!r)
		r = store_list(sources->store, &streams, &stream_count, err);
	if (!r || r == -ENOENT)
		r = hold_open_ones(sources, &held);
	if (!r)
		r = make_lines(&held, streams, stream_count, &lines, &count, err);
	sources_list_let_go(sources, &held);
	store_list_free(streams, stream_count);
	if (r < 0) {
		sources_list_free(lines, count);
		return r;
	}
	qsort(lines, count, sizeof(*lines), sources_list_by_start);
	*ret_lines = lines;
	*ret_count = count;
	return 0;
}

bool sources_note(struct sources *sources, char out[STORE_NOTE_MAX])
{
	bool open;

	pthread_mutex_lock(&sources->lock);
	open = sources_open_store(sources, NULL) == 0;
	pthread_mutex_unlock(&sources->lock);
	return open && store_note(sources->store, out);
}

void sources_list_free(struct source_line *lines, size_t count)
{
	for (size_t i = 0; lines && i < count; i++) {
		free(lines[i].summary.name);
		free(lines[i].summary.executable);
		free(lines[i].summary.command_line);
		free(lines[i].summary.host);
		free(lines[i].summary.architecture);
		labels_done(&lines[i].summary.labels);
		free(lines[i].summary.incomplete);
		free(lines[i].summary.began_on);
	}
	free(lines);
}
