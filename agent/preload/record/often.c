/* The copies that rarely called hooks share; see often.h. */
#include "agent/preload/record/often.h"

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
