/* Reads and keeps the sums of a stream. See stream_sums.h. */
#include "collector/sums/stream_sums.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/write.h"
#include "collector/catalogue/store.h"
#include "collector/query/hidden.h"
#include "collector/query/match/view.h"
#include "collector/query/minutes.h"
#include "collector/query/query.h"
#include "collector/recording/file.h"
#include "collector/recording/recording.h"
#include "collector/sums/minute_file_parts.h"
#include "collector/sums/stack_ids.h"
#include "collector/sums/stream_names.h"

#include "base/ban.h"

#define FOLDER "/columns"
#define NAME   "/minutes"

DEFINE_CLEANUP(recording_close, struct recording *)
DEFINE_CLEANUP(view_free, struct view *)

/* A stream whose sums are wanted. */
struct sums_job {
	const struct sums_source *source;
	const struct stream_summary *stream;
	char *recording_path, *folder, *path;
	struct minute_file_fit fit;
	bool keeps; /* the sums may be read from a file, and written */
};

bool stream_sums_can_be_kept(const struct stream_summary *stream)
{
	return stream->state != STREAM_LIVE;
}

static void job_done(struct sums_job *job)
{
	free(job->recording_path);
	free(job->folder);
	free(job->path);
}

/* ---- what a file is made of ---- */

static uint64_t print_of_program(void)
{
	char text[96];
	int length = snprintf(text, sizeof(text), "%s %u %016llx", HEAPCAST_VERSION,
			      recording_rows_version(), (unsigned long long)site_rules_print());

	return XXH3_64bits(text, (size_t)length);
}

static bool look_at_recording(const struct sums_job *job, struct minute_file_fit *ret_fit)
{
	struct stat st;

	if (recording_file_stat(job->recording_path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	*ret_fit = (struct minute_file_fit){
		.stream = job->stream->id,
		.recording_bytes = (uint64_t)st.st_size,
		.recording_mtime_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec,
		.start_wall_ns = job->stream->start_wall_ns,
		.print = print_of_program(),
	};
	return true;
}

static int job_init(struct sums_job *job, const struct sums_source *source,
		    const struct stream_summary *stream)
{
	char *slash;

	*job = (struct sums_job){.source = source, .stream = stream};
	job->recording_path = stream_recording_path(source->store, &stream->id);
	slash = job->recording_path ? strrchr(job->recording_path, '/') : NULL;
	if (!slash || asprintf(&job->folder, "%.*s" FOLDER, (int)(slash - job->recording_path),
			       job->recording_path) < 0) {
		job->folder = NULL;
		return -ENOMEM;
	}
	if (asprintf(&job->path, "%s" NAME, job->folder) < 0) {
		job->path = NULL;
		return -ENOMEM;
	}
	job->keeps = stream_sums_can_be_kept(stream) && look_at_recording(job, &job->fit);
	return 0;
}

/* ---- reading the file ---- */

static int map_file(const char *path, struct stream_sums *s)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > FILE_BYTES_MAX)
		return -EBADMSG;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	s->mapped = at;
	s->mapped_length = (size_t)st.st_size;
	return 0;
}

static bool names_hold(const struct minute_file *file, struct symbols *symbols)
{
	for (uint32_t i = 0; i < file->module_count; i++)
		if (module_signature(symbols, &file->modules[i]) != file->modules[i].signature)
			return false;
	return true;
}

/* Returns 0; -ENOMEM; or another negative errno if there is no file that can be used. */
static int read_kept(const struct sums_job *job, struct stream_sums *s)
{
	int r = map_file(job->path, s);

	if (!r)
		r = minute_file_open(&s->file, s->mapped, s->mapped_length, &job->fit);
	/* With other rules, names come from the recording anyway. */
	if (!r && !job->source->rules && !names_hold(&s->file, job->source->symbols))
		r = -ESTALE;
	if (r)
		stream_sums_close(s);
	s->sites = s->file.sites;
	s->site_count = s->file.site_count;
	return r;
}

/* ---- making sums ---- */

static int open_view(const struct sums_job *job, struct recording **ret_recording,
		     struct view **ret_view, struct err_text *err)
{
	int r = recording_open(job->recording_path, NULL, NULL, ret_recording, err);

	if (!r)
		r = view_new(*ret_recording, job->source->symbols, ret_view, err);
	if (!r)
		view_set_rules(*ret_view, job->source->rules);
	return r;
}

/* Lists the backtraces of the sums by node, and puts their indexes into the sums. */
static int list_stacks(struct minutes *m, const struct stack_ids *ids, struct sums_stack **ret_list,
		       uint32_t *ret_count)
{
	cleanup(cleanup_free) uint32_t *index = calloc(ids->count + 1u, sizeof(*index));
	struct sums_stack *list;
	uint32_t count = 0;

	if (!index)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->count; i++) {
		if (m->list[i].stack > ids->count)
			m->list[i].stack = 0;
		count += !index[m->list[i].stack];
		index[m->list[i].stack] = 1;
	}
	list = calloc(count + 1u, sizeof(*list));
	if (!list)
		return -ENOMEM;
	count = 0;
	for (uint32_t node = 0; node <= ids->count; node++)
		if (index[node]) {
			list[count] =
				(struct sums_stack){.node = node, .id = stack_id_of(ids, node)};
			index[node] = count++;
		}
	for (uint32_t i = 0; i < m->count; i++)
		m->list[i].stack = index[m->list[i].stack];
	*ret_list = list;
	*ret_count = count;
	return 0;
}

static int encode(const struct sums_job *job, struct view *view, struct minutes *m, struct buf *out,
		  struct err_text *err)
{
	cleanup(stack_ids_done) struct stack_ids ids = {0};
	cleanup(stream_names_done) struct stream_names names = {0};
	cleanup(cleanup_free) struct sums_stack *stacks = NULL;
	struct minute_file_content content = {.fit = job->fit};
	int r = stack_ids_init(&ids, view);

	if (!r)
		r = list_stacks(m, &ids, &stacks, &content.stack_count);
	if (!r)
		r = stream_names_of(view, stacks, content.stack_count, &names, err);
	if (r < 0)
		return r;
	content.modules = names.modules;
	content.module_count = names.module_count;
	content.sites = names.sites;
	content.site_count = names.site_count;
	content.stacks = stacks;
	content.sums = m->list;
	content.sum_count = m->count;
	r = minute_file_write(&content, out);
	return r == -EMSGSIZE ? err_set(err, r, "it has too many sums by minute") : r;
}

/* Nothing that the file was made of may have changed meanwhile. */
static bool is_settled(const struct sums_job *job, const struct recording *recording)
{
	struct minute_file_fit now;

	return job->keeps && !job->source->rules && !recording_is_growing(recording) &&
	       look_at_recording(job, &now) && !memcmp(&now, &job->fit, sizeof(now)) &&
	       recording_process(recording)->start_wall_ns == job->fit.start_wall_ns;
}

/* Readers see all of the file or nothing. A failure is ignored: the file is a cache. */
static void write_kept(const struct sums_job *job, const struct buf *bytes)
{
	char temporary[4096];
	int fd, r;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.%d", job->path, (int)getpid()) >=
	    sizeof(temporary))
		return;
	if (mkdir(job->folder, 0700) < 0 && errno != EEXIST)
		return;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	r = write_all(fd, bytes->data, bytes->length);
	if (close(fd) < 0 || r < 0 || rename(temporary, job->path) < 0)
		unlink(temporary);
}

static int make_sums(const struct sums_job *job, struct stream_sums *s, struct err_text *err)
{
	cleanup(cleanup_recording_close) struct recording *recording = NULL;
	cleanup(cleanup_view_free) struct view *view = NULL;
	cleanup(minutes_done) struct minutes minutes = {0};
	cleanup(buf_done) struct buf bytes = {0};
	struct filter filter;
	size_t length = 0;
	int r = open_view(job, &recording, &view, err);

	filter_init(&filter);
	filter.cancel.asked = job->source->cancelled;
	if (!r)
		r = query_minutes(view, &filter, job->stream->start_wall_ns, 0, UINT32_MAX,
				  &minutes, err);
	if (!r)
		r = encode(job, view, &minutes, &bytes, err);
	if (r < 0)
		return r;
	if (is_settled(job, recording))
		write_kept(job, &bytes);
	s->bytes = buf_take(&bytes, &length);
	r = minute_file_open(&s->file, s->bytes, length, &job->fit);
	s->sites = s->file.sites;
	s->site_count = s->file.site_count;
	return r;
}

/* ---- names by other rules ---- */

static int name_by_rules(const struct sums_job *job, struct stream_sums *s, struct err_text *err)
{
	cleanup(stream_names_done) struct stream_names names = {0};
	int r = open_view(job, &s->recording, &s->view, err);

	if (!r)
		r = stream_names_of(s->view, s->file.stacks, s->file.stack_count, &names, err);
	s->own_sites = take_ptr(names.sites);
	s->sites = s->own_sites;
	s->site_count = names.site_count;
	return r;
}

/* ---- all ---- */

void stream_sums_close(struct stream_sums *s)
{
	minute_file_done(&s->file);
	if (s->mapped)
		munmap(s->mapped, s->mapped_length);
	free(s->bytes);
	free(s->own_sites);
	view_free(s->view);
	if (s->recording)
		recording_close(s->recording);
	*s = (struct stream_sums){0};
}

int stream_sums_open(const struct sums_source *source, const struct stream_summary *stream,
		     bool anew, struct stream_sums *ret_sums, struct err_text *err)
{
	struct stream_sums sums = {0};
	struct sums_job job;
	int r = job_init(&job, source, stream);

	if (!r) {
		r = job.keeps && !anew ? read_kept(&job, &sums) : -ENOENT;
		if (r && r != -ENOMEM)
			r = make_sums(&job, &sums, err);
		else if (!r && source->rules)
			r = name_by_rules(&job, &sums, err);
	}
	job_done(&job);
	if (r < 0) {
		stream_sums_close(&sums);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_sums = sums;
	return 0;
}

int stream_sums_keep(const struct sums_source *source, const struct stream_summary *stream,
		     struct minutes *sums, struct err_text *err)
{
	cleanup(cleanup_recording_close) struct recording *recording = NULL;
	cleanup(cleanup_view_free) struct view *view = NULL;
	cleanup(buf_done) struct buf bytes = {0};
	struct sums_job job;
	int r = job_init(&job, source, stream);

	if (!r)
		r = open_view(&job, &recording, &view, err);
	if (!r)
		r = view_prepare(view, err);
	if (!r)
		r = encode(&job, view, sums, &bytes, err);
	if (!r)
		write_kept(&job, &bytes);
	job_done(&job);
	return r;
}
