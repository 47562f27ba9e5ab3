#pragma once
/* Where questions about the fleet read from: the folder, or the shared store if there is one. */

struct asking;
struct fleet_source;

/* Opens it and asks. Returns what `ask` does, or another negative errno with a sentence. */
int fleet_asked_of_source(struct asking *a,
			  int (*ask)(struct asking *a, const struct fleet_source *source));
