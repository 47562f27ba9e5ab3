/* Parses lines of frames and a value. See collapsed_read.h. */
#include "collector/formats/read/collapsed_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/formats/read/source.h"
#include "collector/query/match/intern.h"

#include "base/ban.h"

#define CHUNK_BYTES  (256u << 10)
#define BUFFER_BYTES (2 * COLLAPSED_LINE_MAX + CHUNK_BYTES)

/*
 * The buffer holds the previous stack, and what was read but not parsed yet:
 *
 * 	| before ... | ... at | to be parsed | filled | room for a chunk |
 */
struct reader {
	char *buffer;
	size_t at, filled;
	size_t before, before_length; /* stack of the line passed last */
	bool skipping;		      /* inside a line that is too long */
	struct intern *frames;
	uint32_t *numbers,
		*ends; /* of the line before: its frames, and where each ends in its text */
	uint32_t count, numbers_capacity, ends_capacity;
	const struct collapsed_to *to;
	struct collapsed_counts counts;
};

/* Tells whether Python's str.strip removes this ASCII character. */
static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

/* ---- the value ---- */

enum number { NUMBER_FINE, NUMBER_NONE, NUMBER_NEGATIVE, NUMBER_TOO_LARGE };

/* Parses digits with single underscores between them. */
static enum number read_digits(const char *p, const char *end, uint64_t *ret_value)
{
	uint64_t value = 0;
	bool too_large = false;

	if (p == end || end[-1] == '_')
		return NUMBER_NONE;
	for (bool digit_before = false; p < end; p++) {
		if (*p == '_' && digit_before) {
			digit_before = false;
			continue;
		}
		if (*p < '0' || *p > '9')
			return NUMBER_NONE;
		digit_before = true;
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			too_large = true;
	}
	*ret_value = value;
	return too_large ? NUMBER_TOO_LARGE : NUMBER_FINE;
}

static enum number collapsed_read_number(const char *p, const char *end, uint64_t *ret_value)
{
	bool minus;
	enum number number;

	while (p < end && is_blank(*p))
		p++;
	minus = p < end && *p == '-';
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	number = read_digits(p, end, ret_value);
	if (minus && (number == NUMBER_TOO_LARGE || (number == NUMBER_FINE && *ret_value)))
		return NUMBER_NEGATIVE;
	return number;
}

/* ---- frames ---- */

/* Returns the length of the common beginning of two texts. */
static size_t common(const char *a, const char *b, size_t most)
{
	size_t n = 0;

	for (; n + sizeof(uint64_t) <= most; n += sizeof(uint64_t)) {
		uint64_t x, y;

		memcpy(&x, a + n, sizeof(x));
		memcpy(&y, b + n, sizeof(y));
		if (x != y)
			break;
	}
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

static int add_frame(struct reader *r, const char *frame, size_t length, size_t end)
{
	uint32_t number = intern_bytes(r->frames, frame, length);

	if (!number ||
	    array_reserve(&r->numbers, &r->numbers_capacity, (uint64_t)r->count + 1,
			  sizeof(*r->numbers)) < 0 ||
	    array_reserve(&r->ends, &r->ends_capacity, (uint64_t)r->count + 1, sizeof(*r->ends)) <
		    0)
		return -ENOMEM;
	r->numbers[r->count] = number;
	r->ends[r->count++] = (uint32_t)end;
	return 0;
}

/* Splits `stack`, which lies in the buffer, into frames. Returns how many frames it shares with the
 * previous stack, or -ENOMEM. */
static long split_frames(struct reader *r, const char *stack, size_t length)
{
	size_t most = length < r->before_length ? length : r->before_length, at;
	size_t alike = r->count ? common(stack, r->buffer + r->before, most) : 0;
	uint32_t kept = r->count;

	while (kept && r->ends[kept - 1] >= alike)
		kept--;
	r->count = kept;
	at = kept ? r->ends[kept - 1] + 1 : 0;
	while (at < length) {
		const char *end = memchr(stack + at, ';', length - at);
		size_t frame = end ? (size_t)(end - stack) - at : length - at;

		if (frame && add_frame(r, stack + at, frame, at + frame) < 0)
			return -ENOMEM;
		at += frame + 1;
	}
	r->before = (size_t)(stack - r->buffer);
	r->before_length = length;
	return kept;
}

/* ---- lines ---- */

static void leave_out(struct reader *r, uint64_t *count)
{
	++*count;
	if (!r->counts.first_left_out)
		r->counts.first_left_out = r->counts.lines;
}

static int collapsed_read_give(struct reader *r, const char *stack, size_t length, uint64_t value)
{
	long kept = split_frames(r, stack, length);

	if (kept < 0)
		return (int)kept;
	r->counts.stacks++;
	return r->to->line(r->to->context, &(struct collapsed_line){.frames = r->numbers,
								    .count = r->count,
								    .kept = (uint32_t)kept,
								    .value = value,
								    .number = r->counts.lines});
}

/* Parses one line without its end. */
static int collapsed_read_take_line(struct reader *r, const char *line, const char *end)
{
	const char *blank;
	uint64_t value;

	r->counts.lines++;
	while (line < end && is_blank(*line))
		line++;
	while (line < end && is_blank(end[-1]))
		end--;
	if (line == end)
		return 0;
	blank = memrchr(line, ' ', (size_t)(end - line));
	if (!blank) {
		leave_out(r, &r->counts.without_value);
		return 0;
	}
	switch (collapsed_read_number(blank + 1, end, &value)) {
	case NUMBER_FINE:
		return collapsed_read_give(r, line, (size_t)(blank - line), value);
	case NUMBER_NEGATIVE:
		leave_out(r, &r->counts.negative);
		return 0;
	case NUMBER_TOO_LARGE:
		leave_out(r, &r->counts.too_large);
		return 0;
	case NUMBER_NONE:
		break;
	}
	leave_out(r, &r->counts.no_number);
	return 0;
}

/* Parses the text between two newlines. Files from old Macs end lines with '\r' alone; CRLF leaves
 * a '\r' at the end of the text. */
static int take_lines(struct reader *r, const char *line, const char *end)
{
	const char *cr;
	int error;

	while ((cr = memchr(line, '\r', (size_t)(end - line))) && cr + 1 < end) {
		error = collapsed_read_take_line(r, line, cr);
		if (error)
			return error;
		line = cr + 1;
	}
	return collapsed_read_take_line(r, line, cr ? cr : end);
}

static int take_or_skip(struct reader *r, const char *line, const char *end)
{
	if (!r->skipping && end - line <= (ptrdiff_t)COLLAPSED_LINE_MAX)
		return take_lines(r, line, end);
	r->counts.lines++;
	leave_out(r, &r->counts.too_long);
	r->skipping = false;
	return 0;
}

/* Parses all complete lines in the buffer, and at the end of the file also the incomplete one. */
static int take_buffer(struct reader *r, bool is_end)
{
	const char *newline;
	int error = 0;

	while (!error && (newline = memchr(r->buffer + r->at, '\n', r->filled - r->at))) {
		error = take_or_skip(r, r->buffer + r->at, newline);
		r->at = (size_t)(newline - r->buffer) + 1;
	}
	if (error)
		return error;
	if (is_end && (r->skipping || r->at < r->filled)) {
		error = take_or_skip(r, r->buffer + r->at, r->buffer + r->filled);
		r->at = r->filled;
	} else if (r->filled - r->at > COLLAPSED_LINE_MAX) {
		r->skipping = true;
	}
	if (r->skipping)
		r->at = r->filled;
	return error;
}

/* ---- the file ---- */

/* Moves what is still needed to the front of the buffer. */
static void collapsed_read_make_room(struct reader *r)
{
	size_t from = r->count && r->before < r->at ? r->before : r->at;

	if (BUFFER_BYTES - r->filled >= CHUNK_BYTES)
		return;
	/* Drops the previous stack where it keeps too much of the buffer: it may be as long as the
	 * next line. */
	if (from < r->at && r->at - from > COLLAPSED_LINE_MAX) {
		from = r->at;
		r->count = 0;
	}
	memmove(r->buffer, r->buffer + from, r->filled - from);
	r->before -= r->count ? from : r->before;
	r->at -= from;
	r->filled -= from;
}

static int read_chunks(struct reader *r, struct source *source, struct err_text *err)
{
	uint64_t done, of;
	long n;
	int error;

	do {
		collapsed_read_make_room(r);
		n = source_read(source, r->buffer + r->filled, CHUNK_BYTES, err);
		if (n < 0)
			return (int)n;
		r->filled += (size_t)n;
		error = take_buffer(r, n == 0);
		source_done_of(source, &done, &of);
		if (!error && n && r->to->progress)
			error = r->to->progress(r->to->context, done, of);
	} while (!error && n);
	return error;
}

int collapsed_read(struct source *source, struct intern *frames, const struct collapsed_to *to,
		   struct collapsed_counts *ret_counts, struct err_text *err)
{
	struct reader r = {.frames = frames, .to = to, .buffer = malloc(BUFFER_BYTES)};
	int error = r.buffer ? read_chunks(&r, source, err) : -ENOMEM;

	if (error == -ENOMEM)
		err_set(err, error, "no memory for the frames of %s", source_name(source));
	free(r.buffer);
	free(r.numbers);
	free(r.ends);
	*ret_counts = r.counts;
	return error;
}

/* ---- lines left out ---- */

uint64_t collapsed_left_out(const struct collapsed_counts *c)
{
	return c->without_value + c->no_number + c->negative + c->too_large + c->too_long;
}

char *collapsed_left_out_text(const struct collapsed_counts *c, char *out, size_t size)
{
	const struct {
		uint64_t count;
		const char *text;
	} kinds[] = {
		{c->without_value, "without a value"},
		{c->no_number, "whose value is no number"},
		{c->negative, "with a value below 0"},
		{c->too_large, "with a value beyond 64 bits"},
		{c->too_long, "longer than 1 MiB"},
	};
	const char *comma = ": ";
	size_t n;

	*out = 0;
	if (!collapsed_left_out(c))
		return out;
	n = (size_t)snprintf(
		out, size, "left out %" PRIu64 " of %" PRIu64 " lines, the first is line %" PRIu64,
		collapsed_left_out(c), c->lines, c->first_left_out);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].count || n >= size)
			continue;
		n += (size_t)snprintf(out + n, size - n, "%s%" PRIu64 " %s", comma, kinds[i].count,
				      kinds[i].text);
		comma = ", ";
	}
	return out;
}
