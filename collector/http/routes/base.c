/* See base.h. */
#include "collector/http/routes/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

static int parameter_fault(struct exchange *x, int error)
{
	snprintf(x->parameter, sizeof(x->parameter), "base");
	return error;
}

static int ask_base(struct exchange *x, const struct route_parameter *table,
		    const struct what *what, struct source *base, const char *time, base_ask *ask)
{
	cleanup(what_done) struct what of_base = {.at_ns = NO_TIME};
	int r;

	filter_init(&of_base.filter);
	of_base.filter.cancel.asked = &x->cancelled;
	of_base.filter.progress = &x->progress;
	r = read_parameters_of(x, base->view, table, &of_base, &of_base.filter, NULL);
	if (!r && time) {
		r = what_at(&of_base, base->view, "base", time, &x->err);
		if (r < 0)
			return parameter_fault(x, r);
	}
	if (r < 0)
		return r;
	return ask(x, what,
		   &(struct diff_side){base->view, &of_base.filter, of_base.value, of_base.at_ns},
		   &(struct diff_side){x->source->view, &what->filter, what->value, what->at_ns});
}

/* Says what is missing in either recording. */
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

int base_ask_both(struct exchange *x, const struct route_parameter *table, struct what *what,
		  base_ask *ask)
{
	struct source *base;
	char *at = strchr(what->base, '@');
	int r;

	if (at)
		*at++ = 0;
	r = sources_take(x->sources, what->base, &base, NULL, &x->err);
	if (r < 0)
		return r == -EAGAIN ? r : parameter_fault(x, r);
	source_lock(base);
	tell_both(x, base->recording);
	r = ask_base(x, table, what, base, at, ask);
	source_unlock(base);
	sources_release(x->sources, base);
	return r;
}
