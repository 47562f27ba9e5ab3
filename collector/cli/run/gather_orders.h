#pragma once
/*
 * The part of `collector gather` that gives orders to agents: what `collector ctl` and the page ask
 * by the control socket (collector/control/order.h). A question is answered by a line a stream, as
 * their agents reply.
 */
#include <stdbool.h>

#include "collector/control/control.h"
#include "collector/ingest/ingest.h"

/* What a waiting question is about: the first thing in its control_note. */
enum gather_note { GATHER_NOTE_NONE, GATHER_NOTE_FILE, GATHER_NOTE_ORDERS };

struct gather_orders {
	struct ingest *ingest;
	uint64_t last_id;
};

/* False: it is no order. */
bool gather_orders_question(struct gather_orders *orders, struct control_client *client,
			    const char *line);
/* An INGEST_REPLY has come. */
void gather_orders_reply(struct control *control, const struct ingest_event *event);
