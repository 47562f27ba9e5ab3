/* Opens the other side of a difference. See base.h. */
#include "collector/http/routes/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/columns/row_block.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

struct base {
	char name[BASE_MAX];
	struct source *source;
	struct request_values values;
};

/* Unlocks and releases the base at the end of the step. The lock belongs to this thread, so it
 * cannot be held until another step. */
static void base_release(struct asking *a)
{
	if (a->base->source) {
		request_values_done(&a->base->values);
		source_unlock(a->base->source);
		sources_release(a->x->sources, a->base->source);
	}
	free(a->base);
	a->base = NULL;
	a->release = NULL;
}

/* Says what either recording lacks. */
static void tell_both(struct exchange *x, const struct recording *base)
{
	char own[COMPLETENESS_LINE];
	struct completeness c;

	recording_completeness(base, &c);
	if (!c.line[0])
		return;
	snprintf(own, sizeof(own), "%.*s", (int)sizeof(own) - 1, x->incomplete);
	snprintf(x->incomplete, sizeof(x->incomplete), "base: %s%s%s", c.line,
		 own[0] ? " new: " : "", own);
}

static int read_side(struct asking *a, struct base *base, const char *time)
{
	struct view *view = base->source->view;
	int r;

	request_values_init(&base->values, a->x);
	r = read_parameters_of(a->x, view, a->x->route.parameters, &base->values,
			       &base->values.filter, NULL);
	if (r < 0 || !time)
		return r;
	r = request_values_at(&base->values, view, "base", time, &a->x->err);
	return r < 0 ? asking_fault(a, "base", r) : 0;
}

int base_take(struct asking *a, struct diff_side *ret_base, struct diff_side *ret_now)
{
	struct base *base = calloc(1, sizeof(*base));
	char *at;
	int r;

	if (!base)
		return err_set(&a->x->err, -ENOMEM, "out of memory");
	a->base = base;
	a->release = base_release;
	snprintf(base->name, sizeof(base->name), "%s", a->values.base);
	at = strchr(base->name, '@');
	if (at)
		*at++ = 0;
	r = sources_take(a->x->sources, base->name, &base->source, NULL, &a->x->err);
	if (r < 0)
		return r == -EAGAIN ? r : asking_fault(a, "base", r);
	source_lock(base->source);
	tell_both(a->x, base->source->recording);
	r = read_side(a, base, at);
	if (r < 0)
		return r;
	*ret_base = (struct diff_side){base->source->view, &base->values.filter, base->values.value,
				       base->values.at_ns};
	*ret_now = (struct diff_side){a->view, &a->values.filter, a->values.value, a->values.at_ns};
	return 0;
}
