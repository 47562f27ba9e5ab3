#pragma once
/* The place in a stream where an agent continues. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far a stream is stored, and so where the agent continues. */
struct stream_position {
	uint32_t incarnation; /* 0: nothing is stored */
	uint64_t next;	      /* number of the next batch */
};
