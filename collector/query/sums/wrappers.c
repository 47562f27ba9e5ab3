/*
 * Finds a program's wrappers: functions such as xmalloc that only pass on the requests of their
 * callers. Nobody has to name them; the distinct backtraces of allocations show them. The innermost
 * function that is not hidden yet is a wrapper if
 *
 *	it hands on	of all backtraces with it, 9 in 10 have nothing but hidden functions below
 *	for many	it is called by MANY functions, or, if it has 9 in 10 of its module's
 *			backtraces, by FEW
 *	a good part	it is innermost in at least 1 in 20 of its module's backtraces
 *	what they want	the sizes differ: a function that always allocates the same size makes
 *			its own objects
 *
 * If a wrapper has a single caller, that caller is judged in its place, at most CHAIN_MAX outwards
 * (sqlite3MemMalloc < mallocWithAlarm < sqlite3Malloc < many); then all of the chain are wrappers.
 * Wrappers are hidden and the rest is judged again, until nothing new is found. In a module half of
 * whose backtraces end in wrappers, a function that allocates beside them for FEW callers is a
 * wrapper, too (xrealloc beside xmalloc). Functions that call themselves again do not hand on, and
 * the outermost function has no callers, so something always remains. The answer follows from the
 * recording alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/match/view.h"
#include "collector/query/hidden.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/query/sweep/cursor.h"

#include "base/ban.h"

#define MANY	   8
#define FEW	   3
#define CHAIN_MAX  4
#define ROUNDS_MAX 16

/* Returns true for at least 9 in 10. */
static bool nearly(uint64_t part, uint64_t whole)
{
	return part * 10 >= whole * 9;
}

/* A backtrace, and the frame of it that is being examined. */
struct trace {
	struct cursor at;
	uint32_t label, sum; /* sum: index in the sums of all rows */
};

struct finding {
	struct view *view;
	const struct node_sums *sums;
	struct hiding hiding;
	uint32_t labels;
	uint8_t *wrapper;	 /* by label */
	uint8_t *found;		 /* by label: it is a wrapper from the next round on */
	uint8_t *direct;	 /* by label: it calls the allocator itself */
	uint32_t *through;	 /* by label: number of backtraces with it */
	uint32_t *start;	 /* by label: index of its first trace; start[labels + 1]: the
				    end */
	uint32_t *module_traces; /* by text */
	struct trace *traces;	 /* innermost frames that are not hidden, by label */
	struct trace *unsorted, *chain, *next;
	uint32_t count;
	uint32_t *callers;
};

static void wrappers_free(struct wrappers *wrappers)
{
	if (!wrappers)
		return;
	free(wrappers->by_label);
	free(wrappers->hidden);
	free(wrappers);
}

DEFINE_CLEANUP(wrappers_free, struct wrappers *)

static void finding_done(struct finding *f)
{
	free(f->wrapper);
	free(f->found);
	free(f->direct);
	free(f->through);
	free(f->start);
	free(f->module_traces);
	free(f->traces);
	free(f->unsorted);
	free(f->chain);
	free(f->next);
	free(f->callers);
}

static const struct frame *frame_at(const struct finding *f, struct cursor at)
{
	return &f->view->frames[cursor_frame(f->view, at)];
}

/* Returns false for [truncated] and the like. */
static bool is_function(const struct frame *frame)
{
	return frame->known || frame->module;
}

/* ---- backtraces by function ---- */

static int finding_init(struct finding *f, struct view *view, const struct node_sums *sums)
{
	size_t labels = (size_t)view->labels.count + 2, traces = (size_t)sums->count + 1;

	*f = (struct finding){.view = view, .sums = sums, .labels = view->labels.count};
	f->wrapper = calloc(labels, sizeof(*f->wrapper));
	f->found = calloc(labels, sizeof(*f->found));
	f->direct = calloc(labels, sizeof(*f->direct));
	f->through = calloc(labels, sizeof(*f->through));
	f->start = calloc(labels, sizeof(*f->start));
	f->module_traces = calloc((size_t)view->texts.count + 1, sizeof(*f->module_traces));
	f->traces = calloc(traces, sizeof(*f->traces));
	f->unsorted = calloc(traces, sizeof(*f->unsorted));
	f->chain = calloc(traces, sizeof(*f->chain));
	f->next = calloc(traces, sizeof(*f->next));
	f->callers = calloc(traces, sizeof(*f->callers));
	f->hiding = (struct hiding){true, f->wrapper, f->labels};
	return f->wrapper && f->found && f->direct && f->through && f->start && f->module_traces &&
			       f->traces && f->unsorted && f->chain && f->next && f->callers
		       ? 0
		       : -ENOMEM;
}

static uint32_t outer_of(const struct view *view, uint32_t n)
{
	uint32_t parent = recording_node(view->recording, n)->parent;

	return parent < n ? parent : 0;
}

/* Counts the backtraces with each function: those that end at a node or below it count once for the
 * node. If a function is its own caller (a part of it that the compiler moved away), only the outer
 * one counts. */
static int count_through(struct finding *f)
{
	const struct view *view = f->view;
	cleanup(cleanup_free) uint32_t *below = calloc((size_t)view->nodes + 1, sizeof(*below));

	if (!below)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->sums->count; i++)
		if (f->sums->list[i].node <= view->nodes)
			below[f->sums->list[i].node]++;
	for (uint32_t n = view->nodes; n > 0; n--) {
		struct cursor at = {n, 0};

		for (; below[n] && at.node == n;) {
			struct cursor out = cursor_out(view, at);
			uint32_t label = frame_at(f, at)->label;

			if (!out.node || frame_at(f, out)->label != label)
				f->through[label] += below[n];
			at = out;
		}
		below[outer_of(view, n)] += below[n];
	}
	return 0;
}

/* Moves outwards to the first frame that is not hidden; its node is 0 if there is none. */
static struct cursor first_shown(const struct finding *f, struct cursor at)
{
	while (at.node && hiding_hides(&f->hiding, frame_at(f, at)))
		at = cursor_out(f->view, at);
	return at;
}

/* Sorts the backtraces by their innermost function that is not hidden. */
static void sort_traces(struct finding *f)
{
	uint32_t n = 0;

	memset(f->start, 0, ((size_t)f->labels + 2) * sizeof(*f->start));
	memset(f->module_traces, 0, ((size_t)f->view->texts.count + 1) * sizeof(*f->module_traces));
	for (uint32_t i = 0; i < f->sums->count; i++) {
		struct cursor at = first_shown(f, (struct cursor){f->sums->list[i].node, 0});

		if (!at.node)
			continue;
		f->unsorted[n++] = (struct trace){at, frame_at(f, at)->label, i};
		f->start[frame_at(f, at)->label + 1]++;
		f->module_traces[frame_at(f, at)->module]++;
	}
	for (uint32_t l = 1; l <= f->labels + 1; l++)
		f->start[l] += f->start[l - 1];
	for (uint32_t i = n; i-- > 0;)
		f->traces[--f->start[f->unsorted[i].label + 1]] = f->unsorted[i];
	/* The counts above were those of label + 1: now start[label + 1] is where label begins. */
	memmove(f->start, f->start + 1, ((size_t)f->labels + 1) * sizeof(*f->start));
	f->start[f->labels + 1] = f->count = n;
}

static uint32_t traces_of(const struct finding *f, uint32_t label)
{
	return f->start[label + 1] - f->start[label];
}

/* ---- judging ---- */

/* Moves outwards to the caller: the first frame of another function that is not hidden. */
static struct cursor caller_of(const struct finding *f, const struct trace *trace)
{
	struct cursor at = trace->at;

	while (at.node && frame_at(f, at)->label == trace->label)
		at = first_shown(f, cursor_out(f->view, at));
	return at;
}

static int wrappers_by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Counts the functions that call `count` traces of f->chain, and finds the one with most of
 * them. */
static uint32_t count_callers(const struct finding *f, uint32_t count, uint32_t *ret_most,
			      uint32_t *ret_its)
{
	uint32_t callers = 0, known = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct cursor at = caller_of(f, &f->chain[i]);

		if (at.node && is_function(frame_at(f, at)))
			f->callers[known++] = frame_at(f, at)->label;
	}
	qsort(f->callers, known, sizeof(*f->callers), wrappers_by_number);
	*ret_most = *ret_its = 0;
	for (uint32_t i = 0, n; i < known; i += n, callers++) {
		for (n = 1; i + n < known && f->callers[i + n] == f->callers[i];)
			n++;
		if (n > *ret_its) {
			*ret_its = n;
			*ret_most = f->callers[i];
		}
	}
	return callers;
}

static bool sizes_differ(const struct finding *f, uint32_t count)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct node_sum *sum = &f->sums->list[f->chain[i].sum];

		least = sum->min_size < least ? sum->min_size : least;
		most = sum->max_size > most ? sum->max_size : most;
	}
	return least < most;
}

/* Moves f->chain to the caller `label`, and adds the traces that end in that caller. */
static uint32_t follow(struct finding *f, uint32_t count, uint32_t label)
{
	uint32_t kept = 0, own = traces_of(f, label);
	struct trace *swap = f->chain;

	for (uint32_t i = 0; i < count; i++) {
		struct cursor at = caller_of(f, &f->chain[i]);

		if (at.node && frame_at(f, at)->label == label)
			f->next[kept++] = (struct trace){at, label, f->chain[i].sum};
	}
	/* No trace is in both: each has one innermost function. */
	memcpy(f->next + kept, f->traces + f->start[label], own * sizeof(*f->next));
	f->chain = f->next;
	f->next = swap;
	return kept + own;
}

static uint32_t module_of(const struct finding *f, const struct trace *trace)
{
	return frame_at(f, trace->at)->module;
}

/* Judges the function `label` and the callers behind it. `beside`: its module has wrappers. Marks
 * those that are wrappers, and returns how many. */
static uint32_t judge(struct finding *f, uint32_t label, bool beside)
{
	uint32_t chain[CHAIN_MAX], count = traces_of(f, label), most, its, callers;
	uint32_t module = module_of(f, &f->traces[f->start[label]]);
	bool all = nearly(count, f->module_traces[module]);

	memcpy(f->chain, f->traces + f->start[label], count * sizeof(*f->chain));
	for (uint32_t k = 0; k < CHAIN_MAX; k++) {
		chain[k] = label;
		if (!nearly(count, f->through[label]) || module_of(f, f->chain) != module)
			return 0;
		callers = count_callers(f, count, &most, &its);
		if (callers >= MANY || (callers >= FEW && (beside || (all && !k)))) {
			if (!sizes_differ(f, count))
				return 0;
			for (uint32_t i = 0; i <= k; i++)
				f->found[chain[i]] = 1;
			return k + 1;
		}
		if (!most || !nearly(its, count))
			return 0;
		count = follow(f, count, most);
		label = most;
	}
	return 0;
}

/* Wrappers count from the next round on, so that the order of functions does not matter. */
static void settle_round(struct finding *f)
{
	for (uint32_t l = 1; l <= f->labels; l++)
		f->wrapper[l] |= f->found[l];
}

static bool is_candidate(const struct finding *f, uint32_t label)
{
	return traces_of(f, label) >= FEW &&
	       is_function(frame_at(f, f->traces[f->start[label]].at));
}

static bool find_round(struct finding *f)
{
	uint32_t found = 0;

	sort_traces(f);
	for (uint32_t l = 1; l <= f->labels; l++)
		if (is_candidate(f, l) &&
		    traces_of(f, l) * UINT64_C(20) >=
			    f->module_traces[module_of(f, &f->traces[f->start[l]])])
			found += judge(f, l, false);
	settle_round(f);
	return found;
}

/* Judges the functions that call the allocator beside wrappers in which half of their module's
 * backtraces end. */
static int find_beside(struct finding *f)
{
	cleanup(cleanup_free) uint32_t *wrapped =
		calloc((size_t)f->view->texts.count + 1, sizeof(*wrapped));
	struct hiding all = f->hiding;

	if (!wrapped)
		return -ENOMEM;
	f->hiding.wrappers = NULL;
	sort_traces(f);
	for (uint32_t i = 0; i < f->count; i++) {
		f->direct[f->traces[i].label] = 1;
		wrapped[module_of(f, &f->traces[i])] += f->wrapper[f->traces[i].label];
	}
	for (uint32_t t = 0; t <= f->view->texts.count; t++)
		wrapped[t] = wrapped[t] && wrapped[t] * UINT64_C(2) >= f->module_traces[t];
	f->hiding = all;
	sort_traces(f);
	for (uint32_t l = 1; l <= f->labels; l++)
		if (f->direct[l] && is_candidate(f, l) &&
		    wrapped[module_of(f, &f->traces[f->start[l]])])
			judge(f, l, true);
	settle_round(f);
	return 0;
}

/* ---- what is hidden ---- */

/* Counts each backtrace once for each function that is hidden in it. Returns the number of these
 * functions. */
static uint32_t count_hidden(const struct finding *f, struct hidden_label *by_label)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->sums->count; i++) {
		struct cursor at = {f->sums->list[i].node, 0};
		bool rules = true;

		for (uint32_t last = 0; at.node; at = cursor_out(f->view, at)) {
			const struct frame *frame = frame_at(f, at);
			struct hidden_label *h = &by_label[frame->label];

			if (!hiding_hides(&f->hiding, frame))
				break;
			rules &= frame->allocator;
			if (frame->label == last)
				continue;
			last = frame->label;
			count += !h->passed++;
			h->passed_by_rules += rules;
			h->label = frame->label;
			h->frame = cursor_frame(f->view, at);
		}
	}
	return count;
}

static int list_hidden(const struct finding *f, struct wrappers *wrappers)
{
	cleanup(cleanup_free) struct hidden_label *by_label =
		calloc((size_t)f->labels + 1, sizeof(*by_label));
	uint32_t count = by_label ? count_hidden(f, by_label) : 0;

	wrappers->hidden = calloc((size_t)count + 1, sizeof(*wrappers->hidden));
	if (!by_label || !wrappers->hidden)
		return -ENOMEM;
	for (uint32_t l = 1; l <= f->labels; l++)
		if (by_label[l].passed)
			wrappers->hidden[wrappers->hidden_count++] = by_label[l];
	return 0;
}

/* ---- public ---- */

void view_forget_wrappers(struct view *view, bool old_only)
{
	const struct wrappers *w = view->wrappers;

	if (w && old_only && recording_is_growing(view->recording) &&
	    recording_nodes(view->recording) <= (uint64_t)w->nodes + w->nodes / 4)
		return;
	wrappers_free(view->wrappers);
	view->wrappers = NULL;
}

static int wrappers_make(struct view *view, const struct node_sums *sums,
			 struct wrappers **ret_wrappers)
{
	cleanup(cleanup_wrappers_free) struct wrappers *wrappers = calloc(1, sizeof(*wrappers));
	cleanup(finding_done) struct finding f;
	int r = finding_init(&f, view, sums);

	if (!wrappers)
		return -ENOMEM;
	if (!r)
		r = count_through(&f);
	for (unsigned i = 0; !r && i < ROUNDS_MAX && find_round(&f); i++)
		;
	if (!r)
		r = find_beside(&f);
	if (!r)
		r = list_hidden(&f, wrappers);
	if (r < 0)
		return r;
	wrappers->by_label = take_ptr(f.wrapper);
	wrappers->labels = f.labels;
	wrappers->nodes = view->nodes;
	*ret_wrappers = take_ptr(wrappers);
	return 0;
}

int view_wrappers(struct view *view, const struct filter *filter,
		  const struct wrappers **ret_wrappers, struct err_text *err)
{
	struct wrappers *made = view->wrappers;
	const struct whole_sums *whole;
	int r = view_prepare(view, err);

	if (!r && !made)
		r = view_whole_sums(view, filter, 0, &whole, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&view->lock);
	made = view->wrappers;
	if (!made)
		r = wrappers_make(view, &whole->sums, &made);
	if (!r)
		view->wrappers = made;
	pthread_mutex_unlock(&view->lock);
	*ret_wrappers = made;
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

int hiding_of(struct hiding *hiding, struct view *view, const struct filter *filter,
	      struct err_text *err)
{
	const struct wrappers *wrappers;
	int r = view_prepare(view, err);

	*hiding = (struct hiding){.rules = filter->hide != HIDE_NONE};
	if (r < 0 || filter->hide == HIDE_NONE || filter->hide == HIDE_RULES)
		return r;
	r = view_wrappers(view, filter, &wrappers, err);
	if (r < 0)
		return r;
	hiding->wrappers = wrappers->by_label;
	hiding->labels = wrappers->labels;
	return 0;
}

int query_find_wrappers(struct view *view, const struct filter *filter, struct err_text *err)
{
	const struct wrappers *wrappers;

	return view_wrappers(view, filter, &wrappers, err);
}

static int most_passed_first(const void *a, const void *b)
{
	const struct hidden_function *x = a, *y = b;

	if (x->is_wrapper != y->is_wrapper)
		return x->is_wrapper ? -1 : 1;
	if (x->backtraces != y->backtraces)
		return x->backtraces > y->backtraces ? -1 : 1;
	return strcmp(x->function, y->function);
}

int query_hidden(struct view *view, const struct filter *filter, struct hidden_function **ret_list,
		 size_t *ret_count, struct err_text *err)
{
	const struct wrappers *w = NULL;
	bool by_rules = filter->hide == HIDE_RULES;
	struct hidden_function *list;
	size_t count = 0;
	int r = filter->hide == HIDE_NONE ? 0 : view_wrappers(view, filter, &w, err);

	if (r < 0)
		return r;
	list = calloc(w ? (size_t)w->hidden_count + 1 : 1, sizeof(*list));
	if (!list)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; w && i < w->hidden_count; i++) {
		const struct hidden_label *h = &w->hidden[i];
		const struct frame *frame = &view->frames[h->frame];

		if (by_rules && !h->passed_by_rules)
			continue;
		list[count++] = (struct hidden_function){
			.function = intern_get(&view->names, frame->name),
			.module = intern_get(&view->texts, frame->module),
			.is_wrapper = w->by_label[h->label] && !frame->allocator,
			.backtraces = by_rules ? h->passed_by_rules : h->passed,
		};
	}
	qsort(list, count, sizeof(*list), most_passed_first);
	*ret_list = list;
	*ret_count = count;
	return 0;
}
