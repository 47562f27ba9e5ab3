/*
 * Frames for people: long template arguments become <...>, and lists omit arguments. The result is
 * the same as that of the regular expressions in ClickHouse's scripts, which count characters, not
 * bytes:
 *
 *	re.sub(r'<[^>]{40,}>', '<...>', frame)
 *	s.replace('(anonymous namespace)', '{anon}'); re.sub(r'\(.*', '', s); s.replace('{anon}',
 *	'(anonymous namespace)'); s[:120]
 */
#include <string.h>

#include "base/buf.h"
#include "collector/analyze/analysis.h"

#include "base/ban.h"

#define ARGUMENTS_LONG 40  /* characters */
#define LABEL_MAX      120 /* characters */
#define BRIEF_FRAMES   4
#define ANONYMOUS      "(anonymous namespace)"
#define ANON	       "{anon}"

static size_t characters(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += ((uint8_t)text[i] & 0xc0) != 0x80;
	return count;
}

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

void analysis_shorten(const char *frame, struct buf *out)
{
	const char *open, *close;

	while ((open = strchr(frame, '<')) && (close = strchr(open, '>'))) {
		buf_append(out, frame, (size_t)(open - frame));
		if (characters(open + 1, (size_t)(close - open) - 1) < ARGUMENTS_LONG) {
			buf_byte(out, '<');
			frame = open + 1;
			continue;
		}
		buf_string(out, "<...>");
		frame = close + 1;
	}
	buf_string(out, frame);
}

void analysis_label(const char *frame, struct buf *out)
{
	struct buf whole = {0};
	size_t from = out->length;
	const char *p;

	analysis_shorten(frame, &whole);
	p = buf_text(&whole);
	while (p && *p) {
		if (*p == '(' && strncmp(p, ANONYMOUS, sizeof(ANONYMOUS) - 1))
			break;
		if (*p == '(' || !strncmp(p, ANON, sizeof(ANON) - 1)) {
			buf_string(out, ANONYMOUS);
			p += *p == '(' ? sizeof(ANONYMOUS) - 1 : sizeof(ANON) - 1;
		} else {
			buf_byte(out, (uint8_t)*p++);
		}
	}
	if (buf_error(&whole))
		out->error = buf_error(&whole);
	buf_done(&whole);
	names_cut(out, from, LABEL_MAX);
}

/* Picks the innermost frames that are not noise; with `all`, the innermost of all. */
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
		analysis_shorten(analysis_frame(a, frames[i]), out);
	}
	names_cut(out, from, LABEL_MAX);
}
