/* Parses and formats recording modes. mode.h describes the interface. */
#include "proto/mode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "proto/ring.h"
#include "base/ban.h"

int mode_parse(const char *text, int *ret_mode, uint64_t *ret_interval)
{
	uint64_t interval = 0;
	int mode;

	if (!strcmp(text, "full"))
		mode = RING_FULL;
	else if (!strcmp(text, "off"))
		mode = RING_OFF;
	else if (!strcmp(text, "sample") || !strncmp(text, "sample=", 7))
		mode = RING_SAMPLE;
	else
		return -EINVAL;
	if (text[0] == 's' && text[6] &&
	    (parse_size(text + 7, &interval) < 0 || !interval || interval > RING_INTERVAL_MAX))
		return -EINVAL;
	*ret_mode = mode;
	*ret_interval = interval;
	return 0;
}

const char *mode_text(char *out, size_t size, int mode, uint64_t interval)
{
	static const char *const units[] = {"", "K", "M", "G"};
	unsigned unit = 0;

	for (; interval && interval % 1024 == 0 && unit < 3; unit++)
		interval /= 1024;
	if (mode == RING_SAMPLE && interval)
		snprintf(out, size, "sample=%" PRIu64 "%s", interval, units[unit]);
	else
		snprintf(out, size, "%s",
			 mode == RING_OFF    ? "off"
			 : mode == RING_FULL ? "full"
					     : "sample");
	return out;
}
