/* Reads the kernel's reports about processes. See hub.h. */
#include "agent/ebpf/capture/hub.h"

#include "base/ban.h"

void hub_news(struct hub *hub, void (*told)(void *context, const struct capture_news *news),
	      void *context)
{
	struct ring *ring = &hub->news;
	const uint8_t *data;
	uint32_t length;
	uint64_t next;

	while (ring_peek(ring, ring->position, &data, &length, &next) > 0) {
		if (length >= sizeof(struct capture_news))
			told(context, (const struct capture_news *)(const void *)data);
		ring->position = next;
	}
	ring_release(ring, ring->position);
}
