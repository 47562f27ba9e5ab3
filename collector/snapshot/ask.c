/* Sends the orders for a snapshot. ask.h describes the interface. */
#include "collector/snapshot/ask.h"

#include <errno.h>

#include "base/error.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

static int ask_begin(struct snapshot_asking *a, unsigned slot, const struct stream_id *stream,
		     struct err_text *err)
{
	struct control_order order = {.wait_ms = a->wait_ms, .action = CONTROL_SNAPSHOT};
	char line[CONTROL_LINE];
	int r;

	if (stream)
		stream_id_format(order.target, stream);
	r = control_order_format(line, sizeof(line), &order);
	if (!r)
		r = control_ask_begin(&a->connection[slot], a->data, line, err);
	a->open[slot] = !r;
	return r;
}

/* Opens as many connections as allowed. */
static int begin_some(struct snapshot_asking *a, struct err_text *err)
{
	int r = 0;

	if (!a->streams && !a->begun)
		r = ask_begin(a, 0, NULL, err);
	a->begun = true;
	for (unsigned i = 0; !r && a->streams && i < ASKED_AT_ONCE; i++)
		if (!a->open[i] && a->next < a->stream_count)
			r = ask_begin(a, i, &a->streams[a->next++], err);
	return r;
}

int snapshot_asking_init(struct snapshot_asking *a, const char *data, uint64_t wait_ms,
			 const struct stream_id *streams, size_t stream_count, struct err_text *err)
{
	*a = (struct snapshot_asking){
		.data = data, .wait_ms = wait_ms, .streams = streams, .stream_count = stream_count};
	return begin_some(a, err);
}

void snapshot_asking_done(struct snapshot_asking *a)
{
	for (unsigned i = 0; i < ASKED_AT_ONCE; i++)
		if (a->open[i])
			control_ask_end(&a->connection[i]);
}

/* Returns 1 if the answer is complete, 0 if not, or a negative errno. */
static int read_one(struct snapshot_asking *a, unsigned slot,
		    void (*reply)(void *context, const struct control_reply *reply), void *context,
		    struct err_text *err)
{
	struct control_reply told;
	char line[CONTROL_LINE];
	int r;

	while ((r = control_ask_line(&a->connection[slot], 0, line, err)) == 0)
		if (control_reply_parse(line, &told) == 0)
			reply(context, &told);
	if (r == -EAGAIN)
		return 0;
	control_ask_end(&a->connection[slot]);
	a->open[slot] = false;
	return r < 0 ? r : 1;
}

int snapshot_asking_read(struct snapshot_asking *a,
			 void (*reply)(void *context, const struct control_reply *reply),
			 void *context, struct err_text *err)
{
	bool open = false;
	int r = begin_some(a, err);

	for (unsigned i = 0; r >= 0 && i < ASKED_AT_ONCE; i++) {
		if (a->open[i])
			r = read_one(a, i, reply, context, err);
		open |= a->open[i];
	}
	if (r < 0)
		return r;
	return !open && a->next >= a->stream_count;
}
