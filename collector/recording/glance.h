#pragma once
/*
 * A glance at a recording: what its first and its last frame say. It reads the two ends of the file
 * and never the frames between them, so a list of 1,000 files does not take long. Sums over all
 * events, such as the peak of the heap, are not available here.
 */
#include <stdbool.h>
#include <stdint.h>

enum glance_state {
	GLANCE_GROWING,	   /* a process on this host still writes it (written.h) */
	GLANCE_BROKEN_OFF, /* it has no end, and no process writes it */
	GLANCE_ENDED,
	GLANCE_IMPORTED,
};

struct glance {
	char program[32]; /* the program's usual name when recording began, cut; an exec does not
			     change it */
	uint32_t pid;
	uint64_t start_wall_ns; /* 0: unknown */
	uint64_t last_ns;	/* stream time of the last frame found; 0: unknown */
	uint64_t rss_peak;	/* in bytes, from the kernel; 0: neither frame has it */
	enum glance_state state;
	uint32_t end_kind, end_status; /* if ended; as in struct process_info */
};

/* Returns 0; -EBADMSG if the file is no recording or has no whole frame yet; or another negative
 * errno. */
int glance_at(const char *path, struct glance *ret_glance);
