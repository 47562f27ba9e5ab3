/*
 * Imports heap profiles of allocators. A profile has sums for each stack, stacks as program
 * counters (innermost first), and the mapped files. gperftools has one format, and jemalloc another
 * that descends from it. Lines and the scaling of samples follow the formats' own readers (pprof
 * and jeprof, perl, ReadHeapProfile and AdjustSamples).
 *
 * 	heap profile:    2: 3072 [ 5: 8192] @ heapprofile gperftools: in use, allocated so far; how
 * 			 it was counted
 * 	     1:   2048 [     2:   4096] @ 0x55e1 0x55f2			blocks: bytes, of this stack
 *
 * 	heap_v2/524288							jemalloc: bytes between
 * 									samples
 * 	  t*: 2: 3072 [0: 0]
 * 	  t0: 2: 3072 [0: 0] main					a thread and its name
 * 	@ 0x55e1 0x55f2
 * 	  t*: 1: 2048 [2: 4096]						all threads, and then each
 * 	  t0: 1: 2048 [2: 4096]
 *
 * 	MAPPED_LIBRARIES:						both
 * 	55e1000-55e2000 r-xp 00001000 08:01 1234 /bin/cat
 *
 * Names may precede either format (symbol_section.h). Behind names, the sums may be words instead
 * of text (cpu_profile.h). A file is read twice, because the mapped files stand at its end and are
 * needed first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "collector/formats/read/cpu_profile.h"
#include "collector/formats/read/heap_parts.h"
#include "collector/formats/read/importer.h"
#include "base/ban.h"

#define WORDS_MAX (256u << 20) /* limit for a binary profile */
/* The interval of remote heap profiles, which do not state theirs. */
#define GPERFTOOLS_INTERVAL (128u << 10)

static void heap_done(struct heap *h)
{
	mapped_done(&h->mapped);
	symbol_section_done(&h->symbols);
	map_done(&h->named);
	map_done(&h->threads);
	buf_done(&h->words);
	free(h->counters);
}

/* ---- sums ---- */

static bool read_sums(char **at, struct sums *s)
{
	return text_decimal(at, &s->live_blocks) && text_word(at, ":") &&
	       text_decimal(at, &s->live_bytes) && text_word(at, "[") &&
	       text_decimal(at, &s->blocks) && text_word(at, ":") && text_decimal(at, &s->bytes) &&
	       text_word(at, "]");
}

/* ---- mapped files ---- */

static bool is_maps_head(const char *line)
{
	return !strncmp(line, "MAPPED_LIBRARIES:", 17) || !strncmp(line, "--- Memory map:", 15);
}

/* Reads jemalloc's sum of all stacks, which precedes the first stack. The sum tells whether the
 * profile counts freed blocks: without prof_accum, only blocks in use count as allocated. */
static void note_freed(struct heap *h, char *line)
{
	struct sums s;
	char *at = line;

	if (h->jemalloc && text_word(&at, "t*:") && read_sums(&at, &s) && !s.blocks)
		importer_note(h->im, "what was freed is not told (prof_accum)");
}

/* ---- jemalloc ---- */

/* Parses "tN:" and returns N + 1. "t*:", all threads, is 0. */
static bool read_thread(char **at, uint64_t *ret_id)
{
	if (!text_word(at, "t"))
		return false;
	if (**at == '*') {
		++*at;
		*ret_id = 0;
		return text_word(at, ":");
	}
	return text_decimal(at, ret_id) && *ret_id < MAP_NO_KEY - 1 && ++*ret_id &&
	       text_word(at, ":");
}

/* Finds or adds a thread. Threads are numbered in the order of their first use. */
static int heap_thread_of(struct heap *h, uint64_t id, const char *name, uint32_t *ret_number)
{
	Heapcast__Thread thread = HEAPCAST__THREAD__INIT;
	uint64_t *number = map_put(&h->threads, id, NULL);

	if (!number)
		return err_set(h->im->err, -ENOMEM, "no memory to import");
	if (!*number)
		*number = h->threads.count;
	*ret_number = (uint32_t)*number;
	if (!name || !*name)
		return 0;
	thread.number = *ret_number;
	thread.name = composer_text(name);
	return composer_thread(h->im->composer, &thread);
}

/* Adds the rest, which no thread's own sum includes. It belongs to threads that have ended. */
static int heap_put_rest(struct heap *h)
{
	uint32_t thread;
	int r;

	if (!h->in_stack || !(h->rest.live_blocks || h->rest.blocks))
		return 0;
	r = heap_thread_of(h, 0, "(ended threads)", &thread);
	return r ? r : heap_put_sums(h, thread, &h->rest);
}

/* Parses the sums of a thread. All threads are scaled by the factor of the sum of all threads, so
 * that the sums agree with jeprof's. */
static int read_thread_sums(struct heap *h, char *at)
{
	struct sums s;
	uint64_t id;
	uint32_t thread;
	int r;

	if (!read_thread(&at, &id) || !read_sums(&at, &s))
		return importer_bad_line(h->im, "no sums of a thread");
	if (!h->in_stack)
		return id ? heap_thread_of(h, id, at + strspn(at, " "), &thread) : 0;
	if (!id) {
		h->rest = s;
		h->live_factor = heap_factor(h, s.live_blocks, s.live_bytes);
		h->factor = heap_factor(h, s.blocks, s.bytes);
		return 0;
	}
	/* The thread has more than all threads together. Only the sum of all threads is used
	 * then. */
	if (s.live_blocks > h->rest.live_blocks || s.blocks > h->rest.blocks ||
	    s.live_bytes > h->rest.live_bytes || s.bytes > h->rest.bytes)
		return 0;
	h->rest.live_blocks = less(h->rest.live_blocks, s.live_blocks);
	h->rest.live_bytes = less(h->rest.live_bytes, s.live_bytes);
	h->rest.blocks = less(h->rest.blocks, s.blocks);
	h->rest.bytes = less(h->rest.bytes, s.bytes);
	r = heap_thread_of(h, id, NULL, &thread);
	return r ? r : heap_put_sums(h, thread, &s);
}

static int read_jemalloc_line(struct heap *h, char *line)
{
	char *at = line;
	int r;

	if (text_word(&at, "@")) {
		r = heap_put_rest(h);
		h->rest = (struct sums){0};
		h->in_stack = true;
		return r ? r : heap_read_stack(h, at);
	}
	at = line + strspn(line, " \t");
	return *at ? read_thread_sums(h, at) : 0;
}

/* ---- gperftools ---- */

static int read_gperftools_line(struct heap *h, char *line)
{
	char *at = line + strspn(line, " \t");
	struct sums s;
	int r;

	if (!*at)
		return 0;
	if (!read_sums(&at, &s) || !text_word(&at, "@"))
		return importer_bad_line(h->im, "no sums of a stack");
	h->live_factor = heap_factor(h, s.live_blocks, s.live_bytes);
	h->factor = heap_factor(h, s.blocks, s.bytes);
	r = heap_read_stack(h, at);
	return r ? r : heap_put_sums(h, 1, &s);
}

/* Parses how blocks were counted: "@ heapprofile", "@ heap_v2/524288". */
static void read_kind(struct heap *h, char *at)
{
	char *slash;

	h->scaling = SCALING_NONE;
	at += strspn(at, " \t");
	slash = strchr(at, '/');
	if (slash)
		*slash = 0;
	if (!strcmp(at, "heapprofile") || !strstr(at, "heap"))
		return;
	h->scaling = strstr(at, "_v2") ? SCALING_POISSON : SCALING_LINEAR;
	if (slash) {
		slash++;
		text_decimal(&slash, &h->interval);
	}
	if (h->scaling == SCALING_LINEAR)
		h->interval /= 2;
	if (!h->interval)
		h->interval = GPERFTOOLS_INTERVAL;
}

static int read_gperftools_head(struct heap *h, char *line)
{
	char *at = line;
	struct sums all;

	if (!text_word(&at, "heap profile:") || !read_sums(&at, &all))
		return importer_bad_line(h->im, "no head of a heap profile");
	/* An old profile does not say how it was counted. It was sampled if both sums are the
	 * same. */
	if (text_word(&at, "@")) {
		read_kind(h, at);
	} else if (all.blocks == all.live_blocks && all.bytes == all.live_bytes) {
		h->scaling = SCALING_LINEAR;
		h->interval = GPERFTOOLS_INTERVAL;
	}
	return 0;
}

/* ---- all ---- */

static int read_jemalloc_head(struct heap *h, char *line)
{
	char *at = line;

	if (!text_word(&at, "heap_v2/") || !text_decimal(&at, &h->interval))
		return importer_bad_line(h->im, "no interval of sampling");
	/* An interval of 1 byte means that every allocation was counted. 0 means that the numbers
	 * are final, as in our own export. */
	h->scaling = h->interval > 1 ? SCALING_POISSON : SCALING_NONE;
	return 0;
}

static int heap_begin(struct heap *h)
{
	struct importer_process process = {
		.executable = h->symbols.binary ? h->symbols.binary : mapped_program(&h->mapped),
		.tool = h->jemalloc ? "jemalloc" : "gperftools",
		.sampled = h->scaling != SCALING_NONE,
		.interval = h->interval,
	};

	importer_note(h->im,
		      "sums a backtrace, no times: what was in use at the peak is not known");
	if (!h->mapped.count && !h->symbols.texts.count)
		importer_note(h->im, "it does not say what was mapped: addresses have no names");
	mapped_note(&h->mapped, h->im);
	h->im->result->format = h->jemalloc ? "jemalloc" : "gperftools";
	return importer_begin(h->im, &process);
}

/* ---- a binary profile ---- */

static int put_words(void *context, const uint64_t *addresses, uint32_t depth, uint64_t number)
{
	struct heap *h = context;
	int r;

	h->im->place++;
	if (array_reserve(&h->counters, &h->capacity, depth, sizeof(*h->counters)) < 0)
		return err_set(h->im->err, -ENOMEM, "no memory to import");
	memcpy(h->counters, addresses, depth * sizeof(*addresses));
	h->count = depth;
	r = heap_put_stack(h);
	return r ? r
		 : importer_blocks(h->im, 1, h->stack, h->words_blocks ? number : number != 0,
				   h->words_blocks ? 0 : number, false);
}

/* Parses the lines of /proc/PID/maps behind the words. */
static int read_words_maps(struct heap *h, size_t at)
{
	char *line, *end;

	buf_byte(&h->words, 0);
	if (buf_error(&h->words))
		return err_set(h->im->err, -ENOMEM, "no memory to import");
	for (line = (char *)h->words.data + at; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		line[strcspn(line, "\r")] = 0;
		if (mapped_add_line(&h->mapped, line) < 0)
			return err_set(h->im->err, -ENOMEM, "no memory to import");
	}
	return mapped_sort(&h->mapped);
}

static int read_words(struct heap *h)
{
	size_t length, end;
	int r = source_all(h->im->source, WORDS_MAX, &h->words, h->im->err);

	if (r < 0)
		return r;
	length = h->words.length;
	r = cpu_profile_read(h->words.data, length, NULL, NULL, &end);
	if (r < 0)
		return err_set(h->im->err, r, "%s: the profile behind its names is damaged or cut",
			       source_name(h->im->source));
	h->words_blocks = importer_counts_blocks(h->im);
	r = read_words_maps(h, end);
	if (!r)
		r = heap_begin(h);
	h->im->place_name = "stack";
	return r ? r : cpu_profile_read(h->words.data, length, put_words, h, &end);
}

/* ---- sums as text ---- */

/* Reads up to the first line that is not a command. pprof obeys commands in front of a profile. The
 * text of "%warn" becomes a note. Returns what importer_line returns. */
static int read_command(struct heap *h, char **ret_line, size_t *ret_length)
{
	int r;

	while ((r = importer_line(h->im, ret_line, ret_length)) == 1 && **ret_line == '%') {
		(*ret_line)[strcspn(*ret_line, "\r\n")] = 0;
		if (!strncmp(*ret_line, "%warn ", 6))
			importer_note(h->im, "%.400s", *ret_line + 6);
	}
	return r;
}

/* Reads up to the head of the sums, and reads the names before it. Returns what importer_line
 * returns, or 2 if binary words follow. */
static int read_front(struct heap *h, char **ret_line, size_t *ret_length)
{
	const uint8_t *head;
	size_t length;
	int r = read_command(h, ret_line, ret_length);

	if (r == 1 && symbol_section_begins(*ret_line, *ret_length)) {
		r = symbol_section_read(&h->symbols, h->im);
		if (!r)
			r = read_command(h, ret_line, ret_length);
	}
	if (r != 1 || strncmp(*ret_line, "---", 3) != 0)
		return r;
	r = source_head(h->im->source, &head, &length, h->im->err);
	if (r < 0)
		return r;
	return cpu_profile_begins(head, length) ? 2 : read_command(h, ret_line, ret_length);
}

static int read_sums_head(struct heap *h, char *line)
{
	h->head_line = source_line_number(h->im->source);
	h->jemalloc = !strncmp(line, "heap_v2/", 8);
	return h->jemalloc ? read_jemalloc_head(h, line) : read_gperftools_head(h, line);
}

/* Reads the mapped files, which follow the sums, and rewinds the source. */
static int heap_read_maps(struct heap *h)
{
	bool within = false;
	size_t length;
	char *line;
	int r;

	while ((r = importer_line(h->im, &line, &length)) == 1) {
		while (length && line[length - 1] == '\r')
			line[--length] = 0;
		if (source_line_number(h->im->source) == h->head_line + 1)
			note_freed(h, line);
		if (within && mapped_add_line(&h->mapped, line) < 0)
			return err_set(h->im->err, -ENOMEM, "no memory to import");
		within |= is_maps_head(line);
	}
	if (r < 0)
		return r;
	if (mapped_sort(&h->mapped) < 0)
		return err_set(h->im->err, -ENOMEM, "no memory to import");
	return source_rewind(h->im->source, h->im->err);
}

static int heap_read_text(struct heap *h)
{
	size_t length;
	char *line;
	int r = heap_read_maps(h);

	if (!r)
		r = heap_begin(h);
	while (!r && (r = importer_line(h->im, &line, &length)) == 1) {
		r = 0;
		if (source_line_number(h->im->source) <= h->head_line)
			continue;
		while (length && strchr("\r \t", line[length - 1]))
			line[--length] = 0;
		if (is_maps_head(line))
			break;
		r = h->jemalloc ? read_jemalloc_line(h, line) : read_gperftools_line(h, line);
	}
	return !r && h->jemalloc ? heap_put_rest(h) : r;
}

static int read_heap(struct heap *h)
{
	size_t length;
	char *line;
	int r = read_front(h, &line, &length);

	if (r == 2)
		return read_words(h);
	if (!r)
		return err_set(h->im->err, -EBADMSG, "%s is empty", source_name(h->im->source));
	r = r == 1 ? read_sums_head(h, line) : r;
	return r ? r : heap_read_text(h);
}

/* Reads either format. The head of the sums decides which one it is. */
static int read_either(struct importer *im)
{
	cleanup(heap_done) struct heap h = {.im = im};
	int r = read_heap(&h);

	if (h.strange)
		importer_note(im,
			      "left out are %llu sums that can't be: bytes of no block, or less "
			      "allocated than in use",
			      (unsigned long long)h.strange);
	return r;
}

static bool begins_with(const uint8_t *head, size_t length, const char *text)
{
	size_t n = strlen(text);
	const uint8_t *end;

	while (length && *head == '%' && (end = memchr(head, '\n', length))) {
		length -= (size_t)(end + 1 - head);
		head = end + 1;
	}
	return length >= n && !memcmp(head, text, n);
}

/* Also accepts a profile that begins with names, of either format: only the head behind the names
 * tells which one it is. */
static bool is_jemalloc(const uint8_t *head, size_t length)
{
	return begins_with(head, length, "heap_v2/") || begins_with(head, length, "--- symbol");
}

static bool is_gperftools(const uint8_t *head, size_t length)
{
	return begins_with(head, length, "heap profile:");
}

const struct format_reader jemalloc_reader = {is_jemalloc, read_either};
const struct format_reader gperftools_reader = {is_gperftools, read_either};
