#pragma once
/* Pairs this agent with a collector, for `agent pair` and `agent run --pair`. */
#include <stdio.h>

#include "agent/cli/options/options.h"

struct err_text;

#define KEYS_FOLDER "keys" /* see pairs_place */

/* Pairs by CODE or CODE@HOST[:PORT], and prints the collector's name to `out`. Returns 0; -EINVAL
 * if the code is malformed; -ETIMEDOUT if no collector answered; -EINTR if a signal stopped it; or
 * another negative errno. Errors come with a sentence. */
int pair_join(const struct options *options, const char *code, FILE *out, struct err_text *err);
/* Returns the text after the '@', or NULL if the code has no '@'. */
const char *pair_host(const char *code);
