/* The call sites of backtraces. See stream_names.h. */
#include "collector/sums/stream_names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "collector/query/match/view.h"
#include "collector/query/sweep/cursor.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

void stream_names_done(struct stream_names *n)
{
	free(n->sites);
	free(n->modules);
	map_done(&n->site_numbers);
	map_done(&n->module_numbers);
	*n = (struct stream_names){0};
}

static const char *text_or_none(const char *text)
{
	return text ? text : "";
}

/* Finds or adds the site of a frame. Returns 0 or -ENOMEM. */
static int site_number(struct stream_names *n, const struct view *view, const struct frame *frame,
		       uint32_t *ret_site)
{
	uint64_t *place = map_put(&n->site_numbers, frame->site, NULL);

	if (!place || array_reserve(&n->sites, &n->sites_capacity, (uint64_t)n->site_count + 1,
				    sizeof(*n->sites)) < 0)
		return -ENOMEM;
	if (!*place) {
		n->sites[n->site_count] = (struct sums_site){
			.function = text_or_none(intern_get(&view->names, frame->name)),
			.module = module_basename(intern_get(&view->texts, frame->module)),
			.file = text_or_none(intern_get(&view->texts, frame->file)),
			.line = frame->line,
			.known = frame->known,
		};
		*place = ++n->site_count;
	}
	*ret_site = (uint32_t)(*place - 1);
	return 0;
}

uint64_t module_signature(struct symbols *symbols, const struct minute_file_module *m)
{
	const struct symbol_module module = {m->path, m->build_id, m->build_id_length};

	return symbols ? symbols_signature(symbols, &module) : 0;
}

static int add_module(struct stream_names *n, const struct view *view, uint32_t node)
{
	uint32_t number = view_place(view, node)->module;
	const struct module_info *from = number ? recording_module(view->recording, number) : NULL;
	bool new = false;

	if (!from)
		return 0;
	if (!map_put(&n->module_numbers, number, &new))
		return -ENOMEM;
	if (!new)
		return 0;
	if (array_reserve(&n->modules, &n->modules_capacity, (uint64_t)n->module_count + 1,
			  sizeof(*n->modules)) < 0)
		return -ENOMEM;
	n->modules[n->module_count] = (struct minute_file_module){
		.build_id = from->build_id,
		.build_id_length = from->build_id_length,
		.path = text_or_none(from->path),
	};
	n->modules[n->module_count].signature =
		module_signature(view->symbols, &n->modules[n->module_count]);
	n->module_count++;
	return 0;
}

/* The names of all frames up to the call site decide which it is. If all are hidden, it is the
 * innermost. */
static int name_stack(struct stream_names *n, const struct view *view, const struct hiding *hiding,
		      struct sums_stack *stack)
{
	struct cursor site = cursor_at_site(view, hiding, stack->node);
	const struct frame *frame = &view->frames[cursor_frame(view, site)];
	bool all = hiding_hides(hiding, frame);
	int r = site_number(n, view, frame, &stack->site);

	for (uint32_t node = stack->node; !r && node; node = view_parent(view, node)) {
		r = add_module(n, view, node);
		if (node == site.node && !all)
			break;
	}
	return r;
}

int stream_names_of(struct view *view, struct sums_stack *stacks, uint32_t count,
		    struct stream_names *ret_names, struct err_text *err)
{
	struct stream_names names = {0};
	struct hiding hiding;
	struct filter filter;
	int r;

	filter_init(&filter);
	filter.hide = HIDE_RULES;
	r = hiding_of(&hiding, view, &filter, err);
	for (uint32_t i = 0; !r && i < count; i++)
		r = name_stack(&names, view, &hiding, &stacks[i]);
	if (r < 0) {
		stream_names_done(&names);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_names = names;
	return 0;
}
