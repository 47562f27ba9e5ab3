/* Read-ahead of batches. ahead.h describes it. */
#include "collector/recording/ahead.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/message.h"
#include "base/ban.h"

/*
 * Unused slots, with their memory. Without them, a stream that is read in pieces would request the
 * memory from the kernel each time.
 */
static struct {
	pthread_mutex_t mutex;
	struct ahead_slot slots[AHEAD_SLOTS];
	unsigned count;
} spare = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void slot_done(struct ahead_slot *slot)
{
	decoded_done(&slot->decoded);
	message_reader_free(slot->messages);
	*slot = (struct ahead_slot){0};
}

static void take_slots(struct ahead *a)
{
	pthread_mutex_lock(&spare.mutex);
	for (unsigned i = 0; i < AHEAD_SLOTS && spare.count; i++)
		a->slots[i] = spare.slots[--spare.count];
	pthread_mutex_unlock(&spare.mutex);
}

static void leave_slots(struct ahead *a)
{
	pthread_mutex_lock(&spare.mutex);
	for (unsigned i = 0; i < AHEAD_SLOTS; i++) {
		if (spare.count < AHEAD_SLOTS && a->slots[i].memory < AHEAD_BYTES / AHEAD_SLOTS)
			spare.slots[spare.count++] = a->slots[i];
		else
			slot_done(&a->slots[i]);
	}
	pthread_mutex_unlock(&spare.mutex);
}

/* ---- events ---- */

static int ahead_make_room(struct decoded *d, uint32_t count)
{
	if (count <= d->event_capacity)
		return 0;
	free(d->events);
	d->event_capacity = 0;
	d->events = malloc(count * sizeof(*d->events));
	if (!d->events)
		return -ENOMEM;
	d->event_capacity = count;
	return 0;
}

static int ahead_decode(struct decoded *d, const Heapcast__Events *events)
{
	struct events_decoder decoder;
	int r = events_decoder_init(&decoder, events, &d->reason);

	if (r < 0)
		return r;
	r = ahead_make_room(d, events->count);
	if (!r)
		r = events_decoder_all(&decoder, d->events, &d->reason);
	d->event_count = r ? 0 : events->count;
	events_decoder_done(&decoder);
	return r;
}

int decoded_events(struct decoded *d, struct err_text *err)
{
	if (!d->tried) {
		d->tried = true;
		d->event_count = 0;
		d->reason.text[0] = 0;
		d->error = d->item.batch->events ? ahead_decode(d, d->item.batch->events) : 0;
	}
	if (d->error && err)
		*err = d->reason;
	return d->error;
}

void decoded_done(struct decoded *d)
{
	free(d->events);
	*d = (struct decoded){0};
}

/* ---- the helper's side ---- */

/* Returns 1 if the slot holds a batch, else the same values as scan_next. */
static int read_one(struct ahead *a, struct ahead_slot *slot)
{
	struct message_reader *messages;
	int r;

	if (!slot->messages && !(slot->messages = message_reader_new()))
		return -ENOMEM;
	r = scan_next(a->scan, a->size, &slot->decoded.item);
	if (r != 1)
		return r;
	messages = slot->messages;
	slot->messages = a->scan->messages;
	a->scan->messages = messages;
	slot->decoded.tried = false;
	decoded_events(&slot->decoded, NULL);
	scan_tell(a->scan, &slot->after);
	slot->memory = message_reader_memory(slot->messages) +
		       slot->decoded.event_capacity * sizeof(*slot->decoded.events);
	return 1;
}

static bool is_full(const struct ahead *a)
{
	return a->count == AHEAD_SLOTS || (a->count && a->memory >= AHEAD_BYTES);
}

static void *read_ahead(void *argument)
{
	struct ahead *a = argument;

	pthread_mutex_lock(&a->mutex);
	while (!a->done) {
		struct ahead_slot *slot = &a->slots[(a->first + a->count) % AHEAD_SLOTS];
		int r;

		if (!a->stop && is_full(a)) {
			pthread_cond_wait(&a->room, &a->mutex);
			continue;
		}
		if (a->stop)
			break;
		pthread_mutex_unlock(&a->mutex);
		r = read_one(a, slot);
		pthread_mutex_lock(&a->mutex);
		a->done = r != 1;
		a->result = r;
		a->count += r == 1;
		a->memory += r == 1 ? slot->memory : 0;
		pthread_cond_signal(&a->ready);
	}
	pthread_mutex_unlock(&a->mutex);
	return NULL;
}

/* ---- the caller's side ---- */

void ahead_begin(struct ahead *a, struct scan *scan, uint64_t size, struct decoded *own,
		 bool may_help)
{
	*a = (struct ahead){.scan = scan,
			    .size = size,
			    .own = own,
			    .mutex = PTHREAD_MUTEX_INITIALIZER,
			    .room = PTHREAD_COND_INITIALIZER,
			    .ready = PTHREAD_COND_INITIALIZER};
	if (!may_help || size < scan->offset || size - scan->offset < AHEAD_LEAST)
		return;
	take_slots(a);
	if (!helper_start(&a->helper, read_ahead, a))
		leave_slots(a);
}

/* Returns the caller's slot to the helper. A slot that an unusual batch has made large is freed. */
static void give_back(struct ahead *a)
{
	struct ahead_slot *slot = &a->slots[a->first];

	a->got = false;
	a->memory -= slot->memory;
	if (slot->memory >= AHEAD_BYTES / AHEAD_SLOTS)
		slot_done(slot);
	a->first = (a->first + 1) % AHEAD_SLOTS;
	a->count--;
	pthread_cond_signal(&a->room);
}

int ahead_next(struct ahead *a, struct decoded **ret_decoded)
{
	int r = 1;

	if (!a->helper.running) {
		a->own->tried = false;
		*ret_decoded = a->own;
		return scan_next(a->scan, a->size, &a->own->item);
	}
	pthread_mutex_lock(&a->mutex);
	if (a->got)
		give_back(a);
	while (!a->count && !a->done)
		pthread_cond_wait(&a->ready, &a->mutex);
	a->got = a->count != 0;
	if (!a->got)
		r = a->result;
	pthread_mutex_unlock(&a->mutex);
	*ret_decoded = &a->slots[a->first].decoded;
	return r;
}

void ahead_end(struct ahead *a)
{
	if (!a->helper.running)
		return;
	pthread_mutex_lock(&a->mutex);
	a->stop = true;
	pthread_cond_signal(&a->room);
	pthread_mutex_unlock(&a->mutex);
	helper_join(&a->helper);
	if (a->got)
		scan_return(a->scan, &a->slots[a->first].after);
	leave_slots(a);
}
