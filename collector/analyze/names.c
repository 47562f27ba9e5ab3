/* Formats frames for people: names in short form, and stack traces in a line. */
#include <string.h>

#include "base/buf.h"
#include "collector/analyze/analysis.h"
#include "collector/symbols/fold_name.h"

#include "base/ban.h"

#define NAME_MAX_CHARACTERS 120
#define ARGUMENTS_KEPT	    40 /* bytes */
#define BRIEF_FRAMES	    4

/* Truncates the text that starts at `from` to `most` characters. */
static void names_cut(struct buf *out, size_t from, size_t most)
{
	for (size_t i = from, count = 0; i < out->length; i++) {
		if ((out->data[i] & 0xc0) != 0x80 && count++ == most) {
			out->length = i;
			return;
		}
	}
}

static void put_folded(const char *frame, size_t kept, struct buf *out)
{
	size_t size = strlen(frame) + 1;
	uint8_t *room = buf_reserve(out, size);

	if (room)
		out->length += fold_long_name((char *)room, size, frame, kept);
}

void analysis_bare_name(const char *frame, struct buf *out)
{
	put_folded(frame, strlen(frame), out);
}

void analysis_name(const char *frame, struct buf *out)
{
	size_t from = out->length;

	put_folded(frame, ARGUMENTS_KEPT, out);
	names_cut(out, from, NAME_MAX_CHARACTERS);
}

/* Picks the innermost frames that are not noise, or with `all` the innermost frames. */
static uint32_t pick_frames(const struct analysis *a, const struct analysis_trace *t, bool all,
			    uint32_t ret_frames[BRIEF_FRAMES])
{
	uint32_t count = 0;

	for (uint32_t i = t->count; i && count < BRIEF_FRAMES; i--)
		if (all || !analysis_is_noise(a, t->frames[i - 1]))
			ret_frames[count++] = t->frames[i - 1];
	return count;
}

void analysis_brief(const struct analysis *a, const struct analysis_trace *t, struct buf *out)
{
	uint32_t frames[BRIEF_FRAMES], count = pick_frames(a, t, false, frames);
	size_t from = out->length;

	if (!count)
		count = pick_frames(a, t, true, frames);
	for (uint32_t i = 0; i < count; i++) {
		buf_string(out, i ? " <- " : "");
		analysis_name(analysis_frame(a, frames[i]), out);
	}
	names_cut(out, from, NAME_MAX_CHARACTERS);
}
