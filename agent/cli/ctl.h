#pragma once
/* Shows the answer that `agent ctl` gets from a running agent, as text or as JSON. */
#include <stdbool.h>

#include "agent/serve/order_line.h"

struct ctl_show {
	bool json;
	bool began; /* something was printed */
	bool whole; /* the last line has arrived */
	bool ok;    /* the last line was "ok" */
	unsigned programs;
	struct order_agent agent;
	char why[300]; /* the reason of a "no" */
};

/* Shows a line of the answer, which has no newline. Returns 0, or -EBADMSG if the line is
 * malformed. */
int ctl_show_line(struct ctl_show *show, const char *line);
/* Prints the end of the output. Call this when the answer is complete. */
void ctl_show_end(struct ctl_show *show);
