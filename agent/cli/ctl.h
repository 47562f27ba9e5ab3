#pragma once
/* `agent ctl`: what a running agent answered, shown to a person or as JSON. */
#include <stdbool.h>

#include "agent/serve/order_line.h"

struct ctl_show {
	bool json;
	bool began; /* something was shown */
	bool whole; /* the last line came */
	bool ok;    /* and was "ok" */
	unsigned programs;
	struct order_agent agent;
	char why[300]; /* of a "no" */
};

/* A line of the answer, without newline. 0; -EBADMSG: it makes no sense. */
int ctl_show_line(struct ctl_show *show, const char *line);
/* There are no more. */
void ctl_show_end(struct ctl_show *show);
