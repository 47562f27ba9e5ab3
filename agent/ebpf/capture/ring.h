#pragma once
/*
 * A ring buffer of the kernel (BPF_MAP_TYPE_RINGBUF, Documentation/bpf/ringbuf.rst), read in place.
 * Records keep the order in which their places were reserved; one that is not filled in yet holds
 * up those behind it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	int fd; /* of the map */
	size_t size;
	uint8_t *consumer, *producer; /* mapped: a page each, behind the latter the data, twice */
	uint64_t position; /* read so far; what lies before `released` is the kernel's again */
	uint64_t released;
};

/* `size` is a power of two, and of whole pages. 0 or a negative errno. */
int ring_open(struct ring *ring, size_t size);
void ring_close(struct ring *ring);
/* The record at `position`: its bytes, and in `ret_next` where the next one begins. 1; 0: none is
 * complete; -EBADMSG: it makes no sense. One that was discarded has length 0. */
int ring_peek(const struct ring *ring, uint64_t position, const uint8_t **ret_data,
	      uint32_t *ret_length, uint64_t *ret_next);
/* Behind all that there is. */
uint64_t ring_end(const struct ring *ring);
/* Bytes that the kernel has written and that were not released. */
uint64_t ring_waiting(const struct ring *ring);
/* Everything up to `position` may be written over. */
void ring_release(struct ring *ring, uint64_t position);
