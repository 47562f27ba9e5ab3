#pragma once
/* The other recording, or moment, of a question about differences. */
#include "collector/http/routes/asking.h"

/* Takes the recording that what.base names, reads the same filters for it, and says what is missing
 * in it. Nothing changes in it until the end of the step, which has to be the last. */
int base_take(struct asking *a, struct diff_side *ret_base, struct diff_side *ret_now);
