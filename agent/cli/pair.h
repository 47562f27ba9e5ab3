#pragma once
/* Pairing: `agent pair`, and `agent run --pair`. */
#include <stdio.h>

#include "agent/cli/options.h"

struct err_text;

#define KEYS_FOLDER "keys" /* see pairs_place */

/* Pairs by CODE or CODE@HOST[:PORT], and says on `out` with whom. 0; -EINVAL: that is none;
 * -ETIMEDOUT, -EINTR: nobody came, or it was stopped; another negative errno. All with a
 * sentence. */
int pair_join(const struct options *options, const char *code, FILE *out, struct err_text *err);
/* What follows the '@'; NULL: nothing does. */
const char *pair_host(const char *code);
