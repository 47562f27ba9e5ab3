/* Events that do not concern heap blocks; see apart.h. */
#include "agent/preload/system/apart.h"

#include "agent/preload/poison.h"

void rare_enter(struct hook *hook, struct ring_header *ring, uintptr_t frame)
{
	hook_enter(hook, ring, frame);
}

void rare_leave(const struct hook *hook)
{
	hook_leave(hook);
}

void rare_note(const struct hook *hook, const struct event *event)
{
	note(hook, event);
}

void rare_allocation(struct hook *hook, unsigned kind, const void *p, size_t size)
{
	struct event event = {
		.kind = kind, .address = (uintptr_t)p, .size = size, .stamp = stamp_now()};

	if (p)
		rare_note(hook, &event);
	rare_leave(hook);
}

void apart_event(struct hook *hook, const struct event *event)
{
	if (hook->kind != HOOK_RECORD || tls.frame != hook->frame)
		note_slow(hook->thread, hook->kind, hook_aside(hook), event);
	else
		record_event(hook->thread, event, hook->frame);
}

void apart_note(struct hook *hook, unsigned kind, uint64_t address, uint64_t size)
{
	struct event event = {.kind = kind, .address = address, .size = size, .stamp = stamp_now()};

	apart_event(hook, &event);
	rare_leave(hook);
}
