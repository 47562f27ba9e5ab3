#pragma once
/*
 * Reads a ring buffer of the kernel in place (BPF_MAP_TYPE_RINGBUF, Documentation/bpf/ringbuf.rst).
 * Records are in the order of their reservation. A record that is not committed yet blocks those
 * after it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	int fd; /* of the map */
	size_t size;
	uint8_t *consumer, *producer; /* mappings of one page each; the data follows the producer's
				       * page, twice in a row */
	uint64_t position; /* read position; the kernel may reuse everything before `released` */
	uint64_t released;
};

/* Creates and maps a ring. `size` is a power of two and a multiple of the page size. Returns 0 or a
 * negative errno. */
int ring_open(struct ring *ring, size_t size);
void ring_close(struct ring *ring);
/* Peeks at the record at `position`, and returns in *ret_next where the next one starts. Returns 1;
 * 0 if no record is complete; -EBADMSG if it is malformed. A discarded record has length 0. */
int ring_peek(const struct ring *ring, uint64_t position, const uint8_t **ret_data,
	      uint32_t *ret_length, uint64_t *ret_next);
/* Returns the position after all records. */
uint64_t ring_end(const struct ring *ring);
/* Returns the number of bytes that the kernel has written and that were not released yet. */
uint64_t ring_waiting(const struct ring *ring);
/* Lets the kernel overwrite everything up to `position`. */
void ring_release(struct ring *ring, uint64_t position);
