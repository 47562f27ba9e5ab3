/*
 * Imports heaptrack's text, as heaptrack_interpret writes it and heaptrack_print reads it
 * (KDE/heaptrack, src/analyze/accumulatedtracedata.cpp, file versions 1 to 3). All numbers are
 * hexadecimal.
 *
 *	v 10400 3			heaptrack 1.4.0, file version 3
 *	X /bin/cat file			command line
 *	s 4 main			string 1, with its length (before version 3 without)
 *	i 401000 1 2 3 a ...		instruction pointer 1: address, module; function, file,
 *					line, and of those it is inlined into
 *	t 1 0				trace 1: instruction pointer, parent trace (0: none)
 *	a 40 2				allocation info 0: size, trace
 *	+ 0				a block of info 0 is allocated
 *	- 0				one of them is freed; heaptrack does not say which, so the
 *					importer takes the last one
 *	c 64				milliseconds since the start
 *	R 100				resident pages
 *
 * The text is read twice: first to find out where files lay, which it does not say
 * (heaptrack_see.c). Blocks have no addresses in it. The importer gives the k-th live block of an
 * info an address of its own, so that nothing has to be stored per block.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proto/columns.h"
#include "collector/formats/read/heaptrack_parts.h"
#include "collector/formats/read/importer.h"
#include "base/ban.h"

#define INFO_BITS 24
#define LIVE_BITS 30

static void heaptrack_done(struct heaptrack *h)
{
	free(h->command_line);
	buf_done(&h->text);
	free(h->strings);
	free(h->modules);
	free(h->base_numbers);
	free(h->bases);
	free(h->pointers);
	free(h->traces);
	free(h->infos);
}

int heaptrack_no_memory(struct heaptrack *h)
{
	return err_set(h->im->err, -ENOMEM, "no memory to import");
}

/* Begins the recording, if that is not done yet. It precedes all use of the composer. */
static int heaptrack_begin(struct heaptrack *h)
{
	const struct importer_process process = {.command_line = h->command_line, .tool = h->tool};
	int r = h->im->composer ? 0 : importer_begin(h->im, &process);

	/* The file's times are in milliseconds, and its lines are in order. Each event gets a time
	 * 1 ns after the one before, which keeps the order. So the unit of times must be 1 ns. */
	return r || composer_events(h->im->composer) ? r : composer_tick(h->im->composer, 1);
}

/* ---- definitions ---- */

int heaptrack_version(struct heaptrack *h, char *at)
{
	uint64_t of_tool;

	if (!text_hex(&at, &of_tool) || !text_hex(&at, &h->version))
		return importer_bad_line(h->im, "no version");
	if (h->version < 1 || h->version > 3)
		return importer_bad_line(h->im, "file version %llu: 1 to 3 are known",
					 (unsigned long long)h->version);
	snprintf(h->tool, sizeof(h->tool), "heaptrack %u.%u.%u", (unsigned)(of_tool >> 16 & 0xff),
		 (unsigned)(of_tool >> 8 & 0xff), (unsigned)(of_tool & 0xff));
	return 0;
}

static int read_command(struct heaptrack *h, const char *at)
{
	char *copy = strdup(at + strspn(at, " "));

	if (!copy)
		return heaptrack_no_memory(h);
	free(h->command_line);
	h->command_line = copy;
	return 0;
}

int heaptrack_string(struct heaptrack *h, char *at, size_t length)
{
	char *begin_at = at;
	uint64_t stated;

	if (h->string_count >= ROWS_MAX)
		return importer_bad_line(h->im, "more than %u strings", ROWS_MAX);
	if (*at == ' ')
		at++;
	if (h->version > 2) {
		if (!text_hex(&at, &stated) || (*at && *at != ' '))
			return importer_bad_line(h->im, "a string without its length");
		at += *at == ' ';
	}
	length -= (size_t)(at - begin_at);
	if (array_reserve(&h->strings, &h->string_capacity, (uint64_t)h->string_count + 1,
			  sizeof(*h->strings)) < 0)
		return heaptrack_no_memory(h);
	h->strings[h->string_count++] = h->text.length;
	buf_append(&h->text, at, strnlen(at, length));
	buf_byte(&h->text, 0);
	return buf_error(&h->text) ? heaptrack_no_memory(h) : 0;
}

/* Sets *ret_text to the string, or to NULL for number 0. Returns -EBADMSG if the string was never
 * defined. */
int heaptrack_string_at(struct heaptrack *h, uint64_t number, const char **ret_text)
{
	if (number > h->string_count)
		return importer_bad_line(h->im, "string %llu is not defined",
					 (unsigned long long)number);
	*ret_text = number ? (const char *)h->text.data + h->strings[number - 1] : NULL;
	return 0;
}

/* Returns what was found out about a file. If nothing was, the bias is 0 and `exact` is false. */
static const struct base *base_of(const struct heaptrack *h, uint64_t string)
{
	static const struct base none;
	uint32_t number =
		string && string <= h->base_number_capacity ? h->base_numbers[string - 1] : 0;

	return number ? &h->bases[number - 1] : &none;
}

static int heaptrack_module_of(struct heaptrack *h, uint64_t string, uint32_t *ret_module)
{
	Heapcast__Module module = HEAPCAST__MODULE__INIT;
	const struct base *base = base_of(h, string);
	const char *path = NULL;
	int r = heaptrack_string_at(h, string, &path);

	*ret_module = 0;
	if (r < 0 || !path || !*path)
		return r;
	if (array_reserve(&h->modules, &h->module_capacity, string, sizeof(*h->modules)) < 0)
		return heaptrack_no_memory(h);
	if (!h->modules[string - 1]) {
		module.path = composer_text(path);
		module.bias = base->bias;
		module.build_id = (ProtobufCBinaryData){base->build_id_length,
							(uint8_t *)(uintptr_t)base->build_id};
		r = composer_module(h->im->composer, &module, &h->modules[string - 1]);
	}
	*ret_module = h->modules[string - 1];
	return r;
}

/* Parses function, file and line, then the same for the functions into which it was inlined. */
static int read_frames(struct heaptrack *h, char *at, struct composer_frame *frames,
		       unsigned *ret_count)
{
	uint64_t function, file, line;
	unsigned count = 0;
	int r = 0;

	while (!r && count < NAMES_FRAMES_MAX && text_hex(&at, &function)) {
		struct composer_frame *f = &frames[count++];

		file = line = 0;
		if (text_hex(&at, &file))
			text_hex(&at, &line);
		r = heaptrack_string_at(h, function, &f->function);
		if (!r)
			r = heaptrack_string_at(h, file, &f->file);
		f->line = (uint32_t)line;
	}
	*ret_count = count;
	return r;
}

static int read_pointer(struct heaptrack *h, char *at)
{
	struct composer_frame frames[NAMES_FRAMES_MAX];
	uint64_t address, module = 0;
	struct pointer *p;
	unsigned count = 0;
	int r = heaptrack_begin(h);

	if (r < 0)
		return r;
	if (h->pointer_count >= ROWS_MAX)
		return importer_bad_line(h->im, "more than %u instruction pointers", ROWS_MAX);
	if (!text_hex(&at, &address))
		return importer_bad_line(h->im, "an instruction pointer without an address");
	text_hex(&at, &module);
	if (array_reserve(&h->pointers, &h->pointer_capacity, (uint64_t)h->pointer_count + 1,
			  sizeof(*h->pointers)) < 0)
		return heaptrack_no_memory(h);
	p = &h->pointers[h->pointer_count++];
	/* The address lies in the call. A place in a recording is the return address. */
	p->offset = address + 1 - base_of(h, module)->bias;
	r = heaptrack_module_of(h, module, &p->module);
	if (!r)
		r = read_frames(h, at, frames, &count);
	if (r < 0)
		return r;
	if (!p->module && p->offset < COMPOSER_FIRST_PLACE)
		p->offset += COMPOSER_FIRST_PLACE;
	if (base_of(h, module)->exact && !(count && frames[count - 1].function))
		return 0; /* our own symbols may know the name */
	return importer_name(h->im, p->module, p->offset, frames, count);
}

static int read_trace(struct heaptrack *h, char *at)
{
	uint64_t pointer, parent;
	struct trace above = {0}, *trace;
	const struct pointer *p;
	int r = heaptrack_begin(h);

	if (r < 0)
		return r;
	if (!text_hex(&at, &pointer) || !text_hex(&at, &parent))
		return importer_bad_line(h->im, "a trace without pointer and parent");
	if (!pointer || pointer > h->pointer_count || parent > h->trace_count ||
	    h->trace_count >= 2 * ROWS_MAX)
		return importer_bad_line(h->im, "a trace of what is not defined");
	if (array_reserve(&h->traces, &h->trace_capacity, (uint64_t)h->trace_count + 1,
			  sizeof(*h->traces)) < 0)
		return heaptrack_no_memory(h);
	if (parent)
		above = h->traces[parent - 1];
	if (above.depth == IMPORT_STACK_MAX)
		return importer_bad_line(h->im, "a stack of more than %u frames", IMPORT_STACK_MAX);
	p = &h->pointers[pointer - 1];
	trace = &h->traces[h->trace_count++];
	trace->depth = above.depth + 1;
	return composer_node(h->im->composer, above.node, p->module, p->offset, &trace->node);
}

static int read_info(struct heaptrack *h, char *at)
{
	uint64_t size, trace;

	if (!text_hex(&at, &size) || !text_hex(&at, &trace))
		return importer_bad_line(h->im, "an allocation without size and trace");
	if (trace > h->trace_count || h->info_count >= 1u << INFO_BITS)
		return importer_bad_line(h->im, "an allocation of a trace that is not defined");
	if (array_reserve(&h->infos, &h->info_capacity, (uint64_t)h->info_count + 1,
			  sizeof(*h->infos)) < 0)
		return heaptrack_no_memory(h);
	h->infos[h->info_count++] = (struct info){size, trace ? h->traces[trace - 1].node : 0, 0};
	return 0;
}

/* ---- events ---- */

static int info_of(struct heaptrack *h, char *at, uint64_t *ret_index)
{
	if (!text_hex(&at, ret_index) || *ret_index >= h->info_count)
		return importer_bad_line(h->im, "a block of an allocation that is not defined");
	return 0;
}

/* Returns the address of the k-th live block of an info. */
static uint64_t heaptrack_address_of(uint64_t info, uint32_t k)
{
	return (info << LIVE_BITS | k) * 16 + (1u << 20);
}

static uint64_t next_time(struct heaptrack *h)
{
	h->now_ns = h->now_ns + 1 > h->clock_ns ? h->now_ns + 1 : h->clock_ns;
	return h->now_ns;
}

static int read_birth(struct heaptrack *h, char *at)
{
	uint64_t index = 0;
	int r = info_of(h, at, &index);
	struct info *info = r ? NULL : &h->infos[index];

	if (!r && info->live >= (1u << LIVE_BITS) - 1)
		r = importer_bad_line(h->im, "more than %u live blocks of one kind",
				      (1u << LIVE_BITS) - 1);
	if (!r)
		r = heaptrack_begin(h);
	if (r < 0)
		return r;
	return importer_event(h->im,
			      &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
					      .thread = 1,
					      .time_ns = next_time(h),
					      .address = heaptrack_address_of(index, info->live++),
					      .size = info->size,
					      .stack = info->node});
}

static int read_death(struct heaptrack *h, char *at)
{
	uint64_t index = 0;
	int r = info_of(h, at, &index);
	struct info *info = r ? NULL : &h->infos[index];

	if (r < 0)
		return r;
	if (!info->live) { /* the agent was attached later: the block is older */
		h->unmatched++;
		return 0;
	}
	return importer_event(
		h->im, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_FREE,
				       .thread = 1,
				       .time_ns = next_time(h),
				       .address = heaptrack_address_of(index, --info->live)});
}

static int read_clock(struct heaptrack *h, char *at)
{
	uint64_t ms;

	if (!text_hex(&at, &ms) || ms > INT64_MAX / 2000000)
		return importer_bad_line(h->im, "a time that is none");
	h->clock_ns = ms * 1000000;
	return 0;
}

static int read_resident(struct heaptrack *h, char *at)
{
	Heapcast__Figures figures = HEAPCAST__FIGURES__INIT;
	uint64_t pages;
	int r = heaptrack_begin(h);

	if (!r && !text_hex(&at, &pages))
		r = importer_bad_line(h->im, "resident pages without a number");
	if (r < 0)
		return r;
	if (__builtin_mul_overflow(pages, h->page_size ? h->page_size : 4096, &figures.rss))
		return importer_bad_line(h->im, "more resident pages than can be");
	figures.time_ns = h->clock_ns;
	h->resident_peak = figures.rss > h->resident_peak ? figures.rss : h->resident_peak;
	figures.rss_peak = h->resident_peak;
	return composer_observed(h->im->composer, &figures, NULL, NULL);
}

static int read_line(struct heaptrack *h, char *line, size_t length)
{
	if (!length || line[0] == '#')
		return 0;
	if (!h->version && line[0] != 'v')
		return importer_bad_line(h->im, "it does not begin with its version");
	switch (line[0]) {
	case 'v':
		return heaptrack_version(h, line + 1);
	case 'X':
		return read_command(h, line + 1);
	case 'I':
		line++;
		text_hex(&line, &h->page_size);
		return 0;
	case 's':
		return heaptrack_string(h, line + 1, length - 1);
	case 'i':
		return read_pointer(h, line + 1);
	case 't':
		return read_trace(h, line + 1);
	case 'a':
		return read_info(h, line + 1);
	case '+':
		return read_birth(h, line + 1);
	case '-':
		return read_death(h, line + 1);
	case 'c':
		return read_clock(h, line + 1);
	case 'R':
		return read_resident(h, line + 1);
	case 'A': /* attaching; suppressions; embedding: not needed */
	case 'S':
		return 0;
	default:
		return importer_bad_line(h->im, "it begins with '%.1s', which means nothing",
					 (unsigned char)line[0] >= 0x20 ? line : "?");
	}
}

static int read_heaptrack(struct importer *im)
{
	cleanup(heaptrack_done) struct heaptrack h = {.im = im};
	size_t length;
	char *line;
	int r = heaptrack_see(&h);

	while (!r && (r = importer_line(im, &line, &length)) == 1)
		r = read_line(&h, line, length);
	if (r < 0)
		return r;
	if (!h.version)
		return err_set(im->err, -EBADMSG, "%s has no version of heaptrack's text",
			       source_name(im->source));
	if (h.unmatched)
		importer_note(im, "%llu frees of blocks that were allocated before it began",
			      (unsigned long long)h.unmatched);
	im->end_ns = h.now_ns > h.clock_ns ? h.now_ns : h.clock_ns;
	return heaptrack_begin(&h);
}

/* Recognizes the first line, "v HEX HEX". */
static bool is_heaptrack(const uint8_t *head, size_t length)
{
	size_t i = 2, words = 0;

	if (length < 6 || head[0] != 'v' || head[1] != ' ')
		return false;
	for (; i < length && i < 40 && head[i] != '\n'; i++) {
		bool hex = (head[i] >= '0' && head[i] <= '9') || (head[i] >= 'a' && head[i] <= 'f');

		if (!hex && head[i] != ' ' && head[i] != '\r')
			return false;
		words += hex && head[i - 1] == ' ';
	}
	return words == 2 && i < length && head[i] == '\n';
}

const struct format_reader heaptrack_reader = {is_heaptrack, read_heaptrack};
