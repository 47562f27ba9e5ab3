#pragma once
/* Questions that hold a recording against another one, the parameter `base`. */
#include "collector/http/server/exchange.h"
#include "collector/http/routes/what.h"

typedef int base_ask(struct exchange *x, const struct what *what, const struct diff_side *base,
		     const struct diff_side *now);

/* Takes what->base ("ID" or "ID@TIME") and asks. The base is asked as this recording is, by the
 * parameters in `table`, unless it names a moment of its own. -EAGAIN: not ready yet. */
int base_ask_both(struct exchange *x, const struct route_parameter *table, struct what *what,
		  base_ask *ask);
