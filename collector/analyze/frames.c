/* Judges frames by the rules, and keeps the results by number. See parts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector/analyze/parts.h"

#include "base/ban.h"

static int judge(struct frames *f, uint32_t number, const struct analysis_question *question)
{
	const char *name = intern_get(&f->names, number);
	struct rules_verdict verdict;
	uint32_t label;

	buf_clear(&f->spare);
	analysis_bare_name(name, &f->spare);
	if (buf_error(&f->spare))
		return -ENOMEM;
	verdict = rules_judge(question->rules, buf_text(&f->spare) ? buf_text(&f->spare) : "");
	buf_clear(&f->spare);
	analysis_name(name, &f->spare);
	if (buf_error(&f->spare))
		return -ENOMEM;
	label = intern_bytes(&f->labels, f->spare.data ? (const void *)f->spare.data : "",
			     f->spare.length);
	if (!label)
		return -ENOMEM;
	f->infos[number] = (struct frame_info){.label = label,
					       .subsystem = verdict.subsystem,
					       .noise = verdict.noise,
					       .outer = verdict.outer,
					       .grows = verdict.grows,
					       .found = question->search &&
							strcasestr(name, question->search)};
	return 0;
}

int frames_judge(struct frames *f, const struct analysis_question *question)
{
	if (array_reserve(&f->infos, &f->capacity, (uint64_t)f->names.count + 1,
			  sizeof(*f->infos)) < 0)
		return -ENOMEM;
	while (f->known < f->names.count) {
		if (judge(f, f->known + 1, question) < 0)
			return -ENOMEM;
		f->known++;
	}
	return 0;
}

void frames_done(struct frames *f)
{
	intern_done(&f->names);
	intern_done(&f->labels);
	buf_done(&f->spare);
	free(f->infos);
	*f = (struct frames){0};
}

/* Returns the byte at position `at` of a frame in the joined text. Behind the frame it returns ';',
 * or -1 behind the last frame. */
static int next_byte(const struct intern_item *item, uint32_t at, bool is_last)
{
	if (at < item->length)
		return (uint8_t)item->data[at];
	return is_last ? -1 : ';';
}

int stacks_compare(const struct frames *f, const struct analysis_trace *a,
		   const struct analysis_trace *b)
{
	uint32_t i = 0, length;
	const struct intern_item *x, *y;
	int order;

	while (i < a->count && i < b->count && a->frames[i] == b->frames[i])
		i++;
	if (i == a->count || i == b->count)
		return (a->count > b->count) - (a->count < b->count);
	x = &f->names.items[a->frames[i]];
	y = &f->names.items[b->frames[i]];
	length = x->length < y->length ? x->length : y->length;
	order = memcmp(x->data, y->data, length);
	return order ? order
		     : next_byte(x, length, i + 1 == a->count) -
			       next_byte(y, length, i + 1 == b->count);
}
