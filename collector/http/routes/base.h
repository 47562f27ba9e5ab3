#pragma once
/* Opens the other recording, or the other moment, of a question about differences. */
#include "collector/http/routes/asking.h"

/* Takes the recording that values.base names, reads the request's filters for it, and says what it
 * lacks. The recording stays locked until the end of the step, so the step must be the last one.
 * Returns 0, -EAGAIN if the recording is being opened, or another negative errno. */
int base_take(struct asking *a, struct diff_side *ret_base, struct diff_side *ret_now);
