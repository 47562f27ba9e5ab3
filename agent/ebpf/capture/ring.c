/* Reads the kernel's ring buffer. See ring.h. */
#include "agent/ebpf/capture/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/ban.h"

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int ring_open(struct ring *r, size_t size)
{
	size_t page = page_size();
	void *consumer, *producer;

	*r = (struct ring){.size = size};
	r->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "heapcast_ring", 0, 0, (uint32_t)size, NULL);
	if (r->fd < 0)
		return -errno;
	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	producer = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, r->fd, (off_t)page);
	r->consumer = consumer == MAP_FAILED ? NULL : consumer;
	r->producer = producer == MAP_FAILED ? NULL : producer;
	if (r->consumer && r->producer)
		return 0;
	ring_close(r);
	return -ENOMEM;
}

void ring_close(struct ring *r)
{
	size_t page = page_size();

	if (r->consumer)
		munmap(r->consumer, page);
	if (r->producer)
		munmap(r->producer, page + 2 * r->size);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct ring){.fd = -1};
}

uint64_t ring_end(const struct ring *r)
{
	return __atomic_load_n((unsigned long *)(void *)r->producer, __ATOMIC_ACQUIRE);
}

int ring_peek(const struct ring *r, uint64_t position, const uint8_t **ret_data,
	      uint32_t *ret_length, uint64_t *ret_next)
{
	uint64_t end = ring_end(r), at = position & (r->size - 1);
	const uint8_t *head = r->producer + page_size() + at;
	uint32_t word, length;

	if (position >= end)
		return 0;
	word = __atomic_load_n((const uint32_t *)(const void *)head, __ATOMIC_ACQUIRE);
	if (word & BPF_RINGBUF_BUSY_BIT)
		return 0;
	length = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
	if (length > end - position || length > r->size)
		return -EBADMSG;
	*ret_data = head + BPF_RINGBUF_HDR_SZ;
	*ret_length = word & BPF_RINGBUF_DISCARD_BIT ? 0 : length;
	*ret_next = position + (((uint64_t)length + BPF_RINGBUF_HDR_SZ + 7) & ~7ull);
	return 1;
}

uint64_t ring_waiting(const struct ring *r)
{
	return ring_end(r) - r->released;
}

void ring_release(struct ring *r, uint64_t position)
{
	if (position == r->released)
		return;
	r->released = position;
	__atomic_store_n((unsigned long *)(void *)r->consumer, position, __ATOMIC_RELEASE);
}
