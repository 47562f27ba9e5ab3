#pragma once
/* Where questions about the fleet read from: the folder, or the shared store if there is one. */

#include <stdint.h>

struct asking;
struct clickhouse;
struct err_text;
struct exchange;
struct fleet_source;

/* Opens the shared store for questions that wait for `question_ms` at most (shared_open_for). If it
 * did not answer somebody else after `since_ns` (uv_hrtime), this one fails at once, likewise. */
int fleet_open_shared(struct exchange *x, uint64_t question_ms, uint64_t since_ns,
		      struct clickhouse **ret_client, struct err_text *err);

/* Opens it and asks. Returns what `ask` does, or another negative errno with a sentence. */
int fleet_asked_of_source(struct asking *a,
			  int (*ask)(struct asking *a, const struct fleet_source *source));
