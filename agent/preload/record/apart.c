/* Events that do not concern heap blocks; see apart.h. */
#include "agent/preload/record/apart.h"

#include "agent/preload/record/often.h"

#include "agent/preload/poison.h"

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
