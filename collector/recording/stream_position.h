#pragma once
/* The place in a stream at which an agent goes on. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a stream holds so far: the place where an agent goes on. */
struct stream_position {
	uint32_t incarnation; /* 0: nothing yet */
	uint64_t next;	      /* number of the batch that is expected */
};
