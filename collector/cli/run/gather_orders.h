#pragma once
/* The part of `collector gather` that passes orders to agents. `collector ctl` and the page send
 * them over the control socket (collector/control/order.h). The answer has one line per stream, as
 * the agents reply. */
#include <stdbool.h>

#include "collector/control/control.h"
#include "collector/ingest/ingest.h"

/* What a waiting question is about. It is the first member of the question's control_note. */
enum gather_note { GATHER_NOTE_NONE, GATHER_NOTE_FILE, GATHER_NOTE_ORDERS };

struct gather_orders {
	struct ingest *ingest;
	uint64_t last_id;
};

/* Returns false if the question is not an order. */
bool gather_orders_question(struct gather_orders *orders, struct control_client *client,
			    const char *line);
/* The caller calls this for each INGEST_REPLY. */
void gather_orders_reply(struct control *control, const struct ingest_event *event);
