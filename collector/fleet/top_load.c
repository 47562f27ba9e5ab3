/* What sources add. See top_load.h. */
#include "collector/fleet/top_load.h"

#include <errno.h>

#include "base/array.h"
#include "collector/sums/minute_file.h"

#include "base/ban.h"

uint32_t fleet_top_site(struct fleet_top_loading *l, const struct sums_site *from)
{
	struct fleet_top_site site = {
		.function = intern_text(&l->texts, from->function),
		.module = intern_text(&l->texts, from->module),
		.file = intern_text(&l->texts, from->file),
		.line = from->line,
		.known = from->known,
	};
	uint32_t numbers[] = {site.function, site.module, site.file, site.line}, number;

	number = site.function && site.module && site.file
			 ? intern_bytes(&l->site_keys, numbers, sizeof(numbers))
			 : 0;
	if (!number || array_reserve(&l->sites, &l->sites_capacity, (uint64_t)number + 1,
				     sizeof(*l->sites)) < 0)
		return 0;
	site.known |= l->sites[number].known;
	l->sites[number] = site;
	return number;
}

static int64_t wrapped(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* A name that is known counts before one that is not. */
int fleet_top_add(struct fleet_top_loading *l, uint64_t id, uint32_t site,
		  const struct fleet_top_use *use)
{
	uint64_t *place = map_put(&l->numbers, id, NULL);
	struct fleet_top_stack *stack;

	if (!place || array_reserve(&l->stacks, &l->stacks_capacity, (uint64_t)l->stack_count + 1,
				    sizeof(*l->stacks)) < 0)
		return -ENOMEM;
	if (!*place) {
		l->stacks[l->stack_count].id = id;
		*place = ++l->stack_count;
	}
	stack = &l->stacks[*place - 1];
	stack->use.bytes = wrapped(stack->use.bytes, use->bytes);
	stack->use.units = wrapped(stack->use.units, use->units);
	stack->use.variance = wrapped(stack->use.variance, use->variance);
	if (site && (!stack->site || (!l->sites[stack->site].known && l->sites[site].known)))
		stack->site = site;
	return 0;
}

int fleet_top_unread(struct fleet_top_loading *l, const char *why)
{
	if (l->top->unread++)
		return 0;
	l->top->unread_why = intern_get(&l->texts, intern_text(&l->texts, why));
	return l->top->unread_why ? 0 : -ENOMEM;
}

int fleet_top_progress(const struct fleet_top_loading *l, uint64_t done)
{
	const struct fleet_top_question *q = l->question;

	if (q->cancelled && atomic_load(q->cancelled))
		return -ECANCELED;
	if (q->progress)
		q->progress(q->progress_context, done, l->count);
	return 0;
}
