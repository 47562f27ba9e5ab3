/* Shared by the readers of formats. See importer.h. */
#include "collector/formats/read/importer.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "collector/recording/names.h"
#include "collector/symbols/symbols.h"
#include "proto/columns.h"

#include "base/ban.h"

#define PROGRESS_LINES 65536
#define ARGUMENTS_MAX  256

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

/* Splits the line at blanks, in place. Returns the number of words. */
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

static const char *importer_base_name(const char *path)
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
	origin.file = composer_text(importer_base_name(source_name(im->source)));
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

/* Counts an empty block as one byte. */
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

/* Sizes and weights are whole numbers. They are rounded so that they add up to the sums. */
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

static char *importer_skip_blanks(char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

bool text_hex(char **at, uint64_t *ret_value)
{
	char *p = importer_skip_blanks(*at), *begin;
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
	char *p = importer_skip_blanks(*at), *begin = p;
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
	char *p = importer_skip_blanks(*at);
	size_t length = strlen(word);

	if (strncmp(p, word, length) != 0)
		return false;
	*at = p + length;
	return true;
}
