/* Importing: which format, and what all have in common. See import.h. */
#include "collector/formats/read/import.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "proto/columns.h"
#include "collector/formats/read/importer.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/names.h"
#include "collector/recording/stream_id.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

#define PROGRESS_LINES 65536
#define ARGUMENTS_MAX  256

DEFINE_CLEANUP(source_close, struct source *)
DEFINE_CLEANUP(composer_free, struct composer *)
DEFINE_CLEANUP(new_stream_free, struct new_stream *)
DEFINE_CLEANUP(stream_writer_close, struct stream_writer *)

/* In the order in which they are tried. */
static const struct import_format *const formats[] = {
	&format_jemalloc, &format_gperftools, &format_heaptrack, &format_pprof, &format_collapsed,
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static const struct import_format *format_of(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

bool import_knows(const char *format)
{
	return format_of(format);
}

/* ---- for the readers ---- */

void importer_note(struct importer *im, const char *format, ...)
{
	char *note = im->result->note;
	size_t length = strlen(note), size = sizeof(im->result->note);
	va_list args;

	if (length && length + 2 < size)
		length += (size_t)snprintf(note + length, size - length, "; ");
	va_start(args, format);
	vsnprintf(note + length, size - length, format, args);
	va_end(args);
	names_make_showable(note + length, strlen(note + length));
}

bool importer_counts_blocks(struct importer *im)
{
	const char *unit = im->options->unit;
	bool blocks = unit && !strcmp(unit, "blocks");

	if (blocks)
		importer_note(im, "numbers of blocks, whose bytes are not known");
	else if (!unit || !strcmp(unit, "bytes"))
		importer_note(im, "how many blocks there were is not known: one a line");
	else
		importer_note(im, "what stands here as bytes are %.40s", unit);
	importer_note(im, "whether they are in use or were freed is not known, nor when");
	return blocks;
}

int importer_bad_line(struct importer *im, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	names_make_showable(what, strlen(what));
	return err_set(im->err, -EBADMSG, "%s: %s %llu: %s", source_name(im->source),
		       im->place_name ? im->place_name : "line",
		       (unsigned long long)(im->place ? im->place : source_line_number(im->source)),
		       what);
}

int importer_line(struct importer *im, char **ret_line, size_t *ret_length)
{
	uint64_t done, of;

	if (im->options->progress && ++im->lines % PROGRESS_LINES == 0) {
		source_done_of(im->source, &done, &of);
		if (im->options->progress(im->options->context, done, of ? of : done))
			return err_set(im->err, -ECANCELED, "stopped");
	}
	return source_line(im->source, ret_line, ret_length, im->err);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Splits at blanks, in place. */
static size_t split(char *line, ProtobufCBinaryData *words, size_t most)
{
	size_t count = 0;

	while (*line && count < most) {
		size_t length = strcspn(line, " ");

		if (length)
			words[count++] = (ProtobufCBinaryData){length, (uint8_t *)line};
		line += length + (line[length] == ' ');
	}
	return count;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

int importer_begin(struct importer *im, const struct importer_process *p)
{
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Origin origin = HEAPCAST__ORIGIN__INIT;
	cleanup(cleanup_free) char *line = strdup(p->command_line ? p->command_line : "");
	ProtobufCBinaryData words[ARGUMENTS_MAX];

	if (!line)
		return err_set(im->err, -ENOMEM, "no memory to import");
	if (p->note)
		importer_note(im, "%s", p->note);
	snprintf(im->result->tool, sizeof(im->result->tool), "%s", p->tool ? p->tool : "");
	origin.format = (char *)(uintptr_t)im->result->format;
	origin.tool = im->result->tool;
	origin.file = composer_text(base_name(source_name(im->source)));
	origin.exact = !p->sampled;
	origin.note = im->result->note;
	origin.wall_ns = p->wall_ns;
	process.origin = &origin;
	process.capture = HEAPCAST__CAPTURE__CAPTURE_IMPORT;
	process.mode = p->sampled ? HEAPCAST__MODE__MODE_SAMPLE : HEAPCAST__MODE__MODE_FULL;
	process.sample_interval = p->sampled ? p->interval : 0;
	process.start_wall_ns = now_ns();
	process.n_argument = split(line, words, ARGUMENTS_MAX);
	process.argument = words;
	process.executable = composer_text(p->executable);
	if (!p->executable)
		process.executable = process.n_argument ? words[0] : origin.file;
	im->noted = strlen(im->result->note);
	return composer_new(im->fd, &im->result->id, &process, &im->composer, im->err);
}

static int count_bytes(struct importer *im, uint64_t bytes)
{
	if (bytes > IMPORT_BYTES_MAX - im->bytes)
		return importer_bad_line(im,
					 "%llu bytes, with the %llu before them, are more than "
					 "can be counted (2^63 - 1)",
					 (unsigned long long)bytes, (unsigned long long)im->bytes);
	im->bytes += bytes;
	return 0;
}

int importer_event(struct importer *im, const struct event *event)
{
	int r = count_bytes(im, event->weight > event->size ? event->weight : event->size);

	return r ? r : composer_event(im->composer, event);
}

/* Empty blocks count as one byte each. */
int importer_blocks(struct importer *im, uint32_t thread, uint32_t stack, uint64_t blocks,
		    uint64_t bytes, bool freed)
{
	int r = count_bytes(im, bytes > blocks ? bytes : blocks);

	return r ? r : composer_blocks(im->composer, thread, stack, blocks, bytes, freed);
}

double importer_unsample(uint64_t count, uint64_t bytes, double interval)
{
	double mean = count ? (double)bytes / (double)count : 0;

	return 1 / -expm1(-(mean > 1 ? mean : 1) / interval);
}

int importer_name(struct importer *im, uint32_t module, uint64_t offset,
		  struct composer_frame *frames, unsigned count)
{
	char *words[NAMES_FRAMES_MAX];
	int r;

	count = count < NAMES_FRAMES_MAX ? count : NAMES_FRAMES_MAX;
	for (unsigned i = 0; i < count; i++) {
		const char *name = frames[i].function;

		words[i] = name && name[0] == '_' &&
					   (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D')
				   ? symbols_demangle(name)
				   : NULL;
		if (words[i])
			frames[i].function = words[i];
	}
	r = composer_name(im->composer, module, offset, frames, count);
	for (unsigned i = 0; i < count; i++)
		free(words[i]);
	return r;
}

static int put_sample(struct importer *im, const struct event *born, bool freed)
{
	struct event e = *born;
	int r = importer_event(im, &e);

	if (r < 0 || !freed)
		return r;
	e.kind = HEAPCAST__EVENT_KIND__EVENT_FREE;
	e.size = e.weight = e.stack = 0;
	return importer_event(im, &e);
}

/* Sizes and weights are whole numbers that add up to what they are parts of. */
int importer_samples(struct importer *im, uint32_t thread, uint32_t stack, uint64_t count,
		     uint64_t bytes, double weight, bool freed)
{
	uint64_t most = im->options->samples_max ? im->options->samples_max : IMPORT_SAMPLES_MAX;
	double each = count ? weight / (double)count : 0;
	uint64_t larger = count ? bytes % count : 0, done = 0;
	int r = 0;

	if (count > most - im->samples)
		return importer_bad_line(im, "more than %llu sampled blocks",
					 (unsigned long long)most);
	if (weight > (double)IMPORT_BYTES_MAX)
		return importer_bad_line(
			im, "samples that stand for %.3g bytes, more than can be counted", weight);
	im->samples += count;
	for (uint64_t i = 0; !r && i < count; i++) {
		uint64_t size = bytes / count + (i < larger),
			 upto = (uint64_t)(each * (double)(i + 1) + 0.5);
		const struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
					.thread = thread,
					.address = composer_address(im->composer, size),
					.size = size,
					.stack = stack,
					.weight = upto > done ? upto - done : 1};

		r = put_sample(im, &e, freed);
		done = upto;
	}
	return r;
}

bool importer_is_binary(const uint8_t *head, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (head[i] < 0x20 && !strchr("\t\n\v\f\r\x1b", head[i] ? head[i] : 1))
			return true;
	return false;
}

static char *skip_blanks(char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

bool text_hex(char **at, uint64_t *ret_value)
{
	char *p = skip_blanks(*at), *begin;
	uint64_t value = 0;

	if (p[0] == '0' && p[1] == 'x')
		p += 2;
	for (begin = p;; p++) {
		unsigned c = (unsigned char)*p, digit = c - '0';

		if (digit > 9) {
			digit = (c | 0x20) - 'a' + 10;
			if (digit < 10 || digit > 15)
				break;
		}
		if (value >> 60)
			return false;
		value = value << 4 | digit;
	}
	if (p == begin)
		return false;
	*at = p;
	*ret_value = value;
	return true;
}

bool text_decimal(char **at, uint64_t *ret_value)
{
	char *p = skip_blanks(*at), *begin = p;
	uint64_t value = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return false;
	if (p == begin)
		return false;
	*at = p;
	*ret_value = value;
	return true;
}

bool text_word(char **at, const char *word)
{
	char *p = skip_blanks(*at);
	size_t length = strlen(word);

	if (strncmp(p, word, length) != 0)
		return false;
	*at = p + length;
	return true;
}

/* ---- a file ---- */

static const struct import_format *find_format(struct importer *im)
{
	const uint8_t *head;
	size_t length;

	/* Also tells how it is packed. */
	if (source_head(im->source, &head, &length, im->err) < 0)
		return NULL;
	if (im->options->format)
		return format_of(im->options->format);
	for (size_t i = 0; i < FORMATS; i++)
		if (formats[i]->is(head, length))
			return formats[i];
	err_set(im->err, -EBADMSG, "%s is %s: --format takes " IMPORT_FORMATS,
		source_name(im->source), length ? "of no format that is known here" : "empty");
	return NULL;
}

static int finish(struct importer *im)
{
	Heapcast__End end = HEAPCAST__END__INIT;
	uint64_t done, of;
	int r;

	end.time_ns = im->end_ns;
	if (strlen(im->result->note) > im->noted)
		composer_note(im->composer, im->result->note);
	r = composer_end(im->composer, im->end_ns ? &end : NULL, im->err);
	if (r < 0)
		return r;
	im->result->events = composer_events(im->composer);
	source_done_of(im->source, &done, &of);
	if (im->options->progress)
		im->options->progress(im->options->context, done, done);
	return 0;
}

static int choose_id(const struct stream_id *id, struct stream_id *ret_id, struct err_text *err)
{
	if (id)
		*ret_id = *id;
	else if (getrandom(ret_id->bytes, sizeof(ret_id->bytes), 0) != sizeof(ret_id->bytes))
		return err_set(err, -EIO, "no random number for the stream's id");
	return 0;
}

/* The source is taken over. */
static int import_source(struct source *taken, int fd, const struct stream_id *id,
			 const struct import_options *options, struct import_result *ret_result,
			 struct err_text *err)
{
	cleanup(cleanup_source_close) struct source *source = taken;
	cleanup(cleanup_composer_free) struct composer *composer = NULL;
	struct importer im = {
		.options = options, .result = ret_result, .err = err, .fd = fd, .source = source};
	const struct import_format *format;
	int r;

	*ret_result = (struct import_result){0};
	r = choose_id(id, &ret_result->id, err);
	if (r < 0)
		return r;
	format = find_format(&im);
	if (!format)
		return -EBADMSG;
	ret_result->format = format->name;
	r = format->read(&im);
	composer = im.composer;
	/* What composing failed of says more than that it did. */
	if (r < 0 && !err->text[0] && composer)
		composer_end(composer, NULL, err);
	if (r < 0)
		return err->text[0] ? r
				    : err_set(err, r, "%s: %s", source_name(source), strerror(-r));
	return finish(&im);
}

int import_file(const char *path, int fd, const struct stream_id *id,
		const struct import_options *options, struct import_result *ret_result,
		struct err_text *err)
{
	struct source *source;
	struct err_text unused;
	int r;

	if (!err)
		err = &unused;
	err->text[0] = 0;
	r = source_open(path, &source, err);
	return r < 0 ? r : import_source(source, fd, id, options, ret_result, err);
}

/* ---- into a store ---- */

/* Rows are derived, and the catalogue knows it. */
static int finish_stream(struct store *store, const struct stream_id *id, struct err_text *err)
{
	cleanup(cleanup_stream_writer_close) struct stream_writer *writer = NULL;
	uint64_t cut = 0;
	int r = stream_writer_open(store, id, &writer, &cut, err);

	return r ? r : stream_writer_finish(writer, err);
}

static int source_to_store(struct source *source, struct store *store,
			   const struct import_options *options, struct import_result *ret_result,
			   struct err_text *err)
{
	cleanup(cleanup_new_stream_free) struct new_stream *draft = NULL;
	int r = new_stream_new(store, &draft, err);

	if (r < 0) {
		source_close(source);
		return r;
	}
	r = import_source(source, new_stream_fd(draft), new_stream_id(draft), options, ret_result,
			  err);
	if (!r)
		r = new_stream_sync(draft, err);
	if (!r)
		r = new_stream_place(draft, err);
	if (r < 0)
		return r;
	new_stream_close(draft);
	r = finish_stream(store, &ret_result->id, err);
	if (r < 0)
		new_stream_withdraw(draft);
	return r;
}

int import_to_store(const char *path, struct store *store, const struct import_options *options,
		    struct import_result *ret_result, struct err_text *err)
{
	struct source *source;
	int r = source_open(path, &source, err);

	return r < 0 ? r : source_to_store(source, store, options, ret_result, err);
}

int import_fd_to_store(int file, const char *name, struct store *store,
		       const struct import_options *options, struct import_result *ret_result,
		       struct err_text *err)
{
	struct source *source;
	int r = source_open_fd(file, name, &source, err);

	return r < 0 ? r : source_to_store(source, store, options, ret_result, err);
}
