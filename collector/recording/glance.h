#pragma once
/*
 * A glance at a recording: what its first and its last frame say. It reads the two ends of the file
 * and never what lies between, so a list of 1,000 files does not take long. What only a sum over
 * all events can tell, such as the peak of the heap, is not here.
 */
#include <stdbool.h>
#include <stdint.h>

enum glance_state {
	GLANCE_GROWING,	   /* somebody on this host still writes it (written.h) */
	GLANCE_BROKEN_OFF, /* it has no end, and nobody writes it */
	GLANCE_ENDED,
	GLANCE_IMPORTED,
};

struct glance {
	char program[32]; /* what people called it when recording began, cut: not after an exec */
	uint32_t pid;
	uint64_t start_wall_ns; /* 0: unknown */
	uint64_t last_ns;	/* stream time of the last frame that was found; 0: unknown */
	uint64_t rss_peak;	/* bytes, as these frames have it from the kernel; 0: they don't */
	enum glance_state state;
	uint32_t end_kind, end_status; /* of an ended one, as in struct process_info */
};

/* Returns 0, -EBADMSG if it is no recording (or has no whole frame yet), or another negative errno.
 */
int glance_at(const char *path, struct glance *ret_glance);
