#pragma once
/* Questions that compare a recording with another one, which the parameter `base` names. */
#include "collector/http/server/exchange.h"
#include "collector/http/routes/what.h"

typedef int base_ask(struct exchange *x, const struct what *what, const struct diff_side *base,
		     const struct diff_side *now);

/* Opens what->base ("ID" or "ID@TIME") and calls `ask`. The parameters in `table` apply to the base
 * as to this recording, unless the base names its own time. Returns -EAGAIN if it is not ready. */
int base_ask_both(struct exchange *x, const struct route_parameter *table, struct what *what,
		  base_ask *ask);
