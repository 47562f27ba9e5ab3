#pragma once
/* The part of `collector gather` that gives orders to agents: those that `collector ctl` and the
 * page ask for over the control socket (collector/control/order.h). A question is answered by one
 * line a stream, as the agents reply. */
#include <stdbool.h>

#include "collector/control/control.h"
#include "collector/ingest/ingest.h"

/* What a waiting question is about: the first member of its control_note. */
enum gather_note { GATHER_NOTE_NONE, GATHER_NOTE_FILE, GATHER_NOTE_ORDERS };

struct gather_orders {
	struct ingest *ingest;
	uint64_t last_id;
};

/* Returns false if the question is not an order. */
bool gather_orders_question(struct gather_orders *orders, struct control_client *client,
			    const char *line);
/* Call it for each INGEST_REPLY. */
void gather_orders_reply(struct control *control, const struct ingest_event *event);
