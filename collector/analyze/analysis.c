/* Analyses stacks one by one. See analysis.h. */
#include "collector/analyze/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/parse.h"
#include "collector/analyze/parts.h"

#include "base/ban.h"

#define NO_FRAMES "(unknown)"

int analysis_new(const struct analysis_question *question, struct analysis **ret_analysis)
{
	struct analysis *a = calloc(1, sizeof(*a));
	int r = a ? 0 : -ENOMEM;

	if (!r) {
		a->question = *question;
		a->subsystems = calloc((size_t)rules_subsystems(question->rules) + 1,
				       sizeof(*a->subsystems));
		if (!a->subsystems)
			r = -ENOMEM;
	}
	if (!r)
		r = top_init(&a->top, question->top);
	if (!r && question->search)
		r = search_init(&a->search);
	if (r < 0) {
		analysis_free(a);
		return r;
	}
	*ret_analysis = a;
	return 0;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	frames_done(&a->frames);
	top_done(&a->top);
	sums_done(&a->outermost);
	sums_done(&a->innermost);
	sums_done(&a->callers);
	patterns_done(&a->patterns);
	search_done(&a->search);
	drill_done(&a->drill);
	free(a->result.outermost.list);
	free(a->result.innermost.list);
	free(a->result.callers.list);
	free(a->result.subsystems);
	free(a->result.findings);
	free(a->subsystems);
	free(a->levels);
	free(a);
}

struct intern *analysis_frames(struct analysis *a)
{
	return &a->frames.names;
}

/* ---- one stack ---- */

static struct level level_below(const struct level *above, const struct frame_info *info,
				uint32_t i)
{
	struct level level = *above;

	if (info->subsystem < level.subsystem)
		level.subsystem = info->subsystem;
	if (!level.outer && !info->outer)
		level.outer = i + 1;
	level.grows |= info->grows;
	level.found |= info->found;
	return level;
}

/* Returns the level of the whole stack. The levels of frames shared with the previous stack are
 * reused. */
static const struct level *levels_of(struct analysis *a, const struct analysis_stack *stack)
{
	if (array_reserve(&a->levels, &a->levels_capacity, (uint64_t)stack->count + 1,
			  sizeof(*a->levels)) < 0)
		return NULL;
	a->levels[0] = (struct level){.subsystem = RULES_NO_SUBSYSTEM};
	for (uint32_t i = stack->kept; i < stack->count; i++)
		a->levels[i + 1] =
			level_below(&a->levels[i], &a->frames.infos[stack->frames[i]], i);
	return &a->levels[stack->count];
}

/* Returns the position, from 1, of the innermost frame before `end` that is not noise, or 0 if
 * there is none. */
static uint32_t meaningful(const struct analysis *a, const struct analysis_stack *stack,
			   uint32_t end)
{
	while (end && a->frames.infos[stack->frames[end - 1]].noise)
		end--;
	return end;
}

/* Returns the frame used for stacks without frames, or 0 without memory. */
static uint32_t unknown_frame(struct analysis *a)
{
	if (!a->unknown) {
		a->unknown = intern_text(&a->frames.names, NO_FRAMES);
		if (!a->unknown || frames_judge(&a->frames, &a->question) < 0)
			return 0;
	}
	return a->unknown;
}

static int add_functions(struct analysis *a, const struct analysis_stack *stack, uint32_t outer,
			 uint64_t grown)
{
	uint32_t inner = meaningful(a, stack, stack->count);
	uint32_t caller = inner ? meaningful(a, stack, inner - 1) : 0, outer_frame, inner_frame;
	uint64_t number = a->result.stacks;
	int r;

	if (!outer) /* every frame is outer: the allocating function says more than _start */
		outer = inner ? inner : 1;
	outer_frame = stack->count ? stack->frames[outer - 1] : unknown_frame(a);
	inner_frame =
		stack->count ? stack->frames[(inner ? inner : stack->count) - 1] : outer_frame;
	if (!outer_frame)
		return -ENOMEM;
	r = sums_add(&a->outermost, a->frames.infos[outer_frame].label, number, stack->value,
		     grown);
	if (!r)
		r = sums_add(&a->innermost, a->frames.infos[inner_frame].label, number,
			     stack->value, grown);
	if (!r && caller)
		r = sums_add(&a->callers, a->frames.infos[stack->frames[caller - 1]].label, number,
			     stack->value, grown);
	return r ? r : patterns_add(&a->patterns, a->frames.infos[inner_frame].label, stack->value);
}

static void add_subsystem(struct analysis *a, uint32_t subsystem, uint64_t value)
{
	uint32_t last = rules_subsystems(a->question.rules);
	struct label_sum *sum = &a->subsystems[subsystem < last ? subsystem : last];

	if (!sum->first)
		sum->first = a->result.stacks;
	add_capped(&sum->value, value);
	sum->traces++;
}

static void add_totals(struct analysis *a, const struct analysis_stack *stack, uint64_t grown)
{
	struct analysis_result *r = &a->result;

	r->stacks++;
	if (__builtin_add_overflow(r->total, stack->value, &r->total)) {
		r->total = UINT64_MAX;
		r->capped = true;
	}
	add_capped(&r->blocks, stack->blocks);
	add_capped(&r->grown, grown);
	if (stack->count > r->deepest)
		r->deepest = stack->count;
}

int analysis_add(struct analysis *a, const struct analysis_stack *stack)
{
	struct analysis_trace trace = {.value = stack->value,
				       .blocks = stack->blocks,
				       .count = stack->count,
				       .frames = (uint32_t *)(uintptr_t)stack->frames};
	const struct level *level;
	uint64_t grown;
	int r = frames_judge(&a->frames, &a->question);

	level = r ? NULL : levels_of(a, stack);
	if (!level)
		return -ENOMEM;
	trace.subsystem = level->subsystem;
	grown = a->question.growth_known ? stack->grown : level->grows ? stack->value : 0;
	add_totals(a, stack, grown);
	add_subsystem(a, level->subsystem, stack->value);
	if (level->found)
		r = search_add(&a->search, &a->frames, &trace, a->result.stacks);
	if (!r && a->question.drills && a->question.drill == level->subsystem)
		r = drill_add(&a->drill, &trace);
	if (!r)
		r = add_functions(a, stack, level->outer, grown);
	return r ? r : top_add(&a->top, &a->frames, &trace);
}

/* ---- the end ---- */

static int heaviest_subsystem_first(const void *left, const void *right)
{
	const struct analysis_subsystem *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int list_subsystems(struct analysis *a)
{
	uint32_t last = rules_subsystems(a->question.rules);
	struct analysis_result *r = &a->result;

	r->subsystems = calloc((size_t)last + 1, sizeof(*r->subsystems));
	if (!r->subsystems)
		return -ENOMEM;
	for (uint32_t i = 0; i <= last; i++) {
		uint32_t number = i < last ? i : RULES_NO_SUBSYSTEM;

		if (a->subsystems[i].first)
			r->subsystems[r->subsystem_count++] = (struct analysis_subsystem){
				.name = analysis_subsystem_name(a, number),
				.number = number,
				.value = a->subsystems[i].value,
				.traces = a->subsystems[i].traces,
			};
	}
	qsort(r->subsystems, r->subsystem_count, sizeof(*r->subsystems), heaviest_subsystem_first);
	return 0;
}

int analysis_end(struct analysis *a, struct analysis_result *ret_result)
{
	struct analysis_result *result = &a->result;
	int r = sums_rank(&a->outermost, &a->frames, a->question.top, &result->outermost);

	if (!r)
		r = sums_rank(&a->innermost, &a->frames, a->question.top, &result->innermost);
	if (!r)
		r = sums_rank(&a->callers, &a->frames, a->question.top, &result->callers);
	if (!r)
		r = list_subsystems(a);
	if (!r && a->question.search)
		r = search_end(&a->search, &a->frames);
	if (r)
		return r;
	top_end(&a->top, &a->frames);
	drill_end(&a->drill, &a->frames);
	a->drill.result.name = analysis_subsystem_name(a, a->question.drill);
	result->top = a->top.kept;
	result->frames = a->frames.names.count;
	result->blocks_known = a->question.blocks_known;
	result->search = a->question.search ? &a->search.result : NULL;
	result->drill = a->question.drills ? &a->drill.result : NULL;
	result->analysis = a;
	r = findings_make(a);
	*ret_result = *result;
	return r;
}

/* ---- for renderers ---- */

const char *analysis_frame(const struct analysis *a, uint32_t frame)
{
	const char *name = intern_get(&a->frames.names, frame);

	return name ? name : NO_FRAMES;
}

bool analysis_is_noise(const struct analysis *a, uint32_t frame)
{
	return a->frames.infos[frame].noise;
}

const char *analysis_searched(const struct analysis *a)
{
	return a->question.search;
}

const char *analysis_subsystem_name(const struct analysis *a, uint32_t subsystem)
{
	const char *name = rules_subsystem(a->question.rules, subsystem);

	return name ? name : ANALYSIS_OTHER;
}

double analysis_percent(const struct analysis_result *result, uint64_t value)
{
	return result->total ? 100.0 * (double)value / (double)result->total : 0;
}

char *analysis_amount(char *out, uint64_t value, bool counts)
{
	return counts ? format_count(out, value) : format_size(out, (double)value);
}
