#pragma once
/*
 * The table of event kinds, for all code that writes or reads events. The numbers are those of enum
 * EventKind in heapcast.proto.
 */
#include <stdint.h>
#include <stdbool.h>
#include <stddef.h>

enum event_class {
	EVENT_CLASS_NONE,
	EVENT_CLASS_ALLOCATION,
	EVENT_CLASS_REALLOCATION, /* an allocation that also ends the block at its old address,
				   * unless it failed */
	EVENT_CLASS_FREE,
	EVENT_CLASS_CALL, /* changes a setting of the allocator or gives it a command; concerns no
			   * block */
};

/* X(number, suffix of EVENT_, class, the function's usual name) */
#define EVENT_KINDS(X)                                                                             \
	X(1, MALLOC, ALLOCATION, "malloc")                                                         \
	X(2, CALLOC, ALLOCATION, "calloc")                                                         \
	X(3, REALLOC, REALLOCATION, "realloc")                                                     \
	X(4, REALLOCARRAY, REALLOCATION, "reallocarray")                                           \
	X(5, POSIX_MEMALIGN, ALLOCATION, "posix_memalign")                                         \
	X(6, ALIGNED_ALLOC, ALLOCATION, "aligned_alloc")                                           \
	X(7, MEMALIGN, ALLOCATION, "memalign")                                                     \
	X(8, VALLOC, ALLOCATION, "valloc")                                                         \
	X(9, PVALLOC, ALLOCATION, "pvalloc")                                                       \
	X(10, NEW, ALLOCATION, "operator new")                                                     \
	X(11, NEW_ARRAY, ALLOCATION, "operator new[]")                                             \
	X(12, MMAP, ALLOCATION, "mmap")                                                            \
	X(13, MREMAP, REALLOCATION, "mremap")                                                      \
	X(14, POOL_ALLOCATE, ALLOCATION, "pool allocate")                                          \
	X(16, SBRK, ALLOCATION, "sbrk")                                                            \
	X(32, FREE, FREE, "free")                                                                  \
	X(33, REALLOC_FREE, FREE, "realloc to 0")                                                  \
	X(34, DELETE, FREE, "operator delete")                                                     \
	X(35, DELETE_ARRAY, FREE, "operator delete[]")                                             \
	X(36, MUNMAP, FREE, "munmap")                                                              \
	X(37, POOL_FREE, FREE, "pool free")                                                        \
	X(38, FREE_SIZED, FREE, "free_sized")                                                      \
	X(39, FREE_ALIGNED_SIZED, FREE, "free_aligned_sized")                                      \
	X(40, SBRK_BACK, FREE, "sbrk back")                                                        \
	X(48, MALLOPT, CALL, "mallopt")                                                            \
	X(49, MALLOC_TRIM, CALL, "malloc_trim")

#define EVENT_KIND_LIMIT 64

/* Returns EVENT_CLASS_NONE for an unknown number. */
static inline enum event_class event_class(unsigned kind)
{
	switch (kind) {
#define X(number, suffix, class_, name)                                                            \
	case number:                                                                               \
		return EVENT_CLASS_##class_;
		EVENT_KINDS(X)
#undef X
	default:
		return EVENT_CLASS_NONE;
	}
}

/* Returns the function's name, or NULL for an unknown number. */
static inline const char *event_kind_name(unsigned kind)
{
	switch (kind) {
#define X(number, suffix, class_, name)                                                            \
	case number:                                                                               \
		return name;
		EVENT_KINDS(X)
#undef X
	default:
		return NULL;
	}
}

/*
 * Address spaces. An address has a meaning only within its space: the same address may be a heap
 * block, part of a mapping and part of a pool block. A block ends in the space in which it was
 * born.
 *
 * Mappings are ranges. A death gives the number of bytes that disappear from its address on; they
 * may be part of one mapping or of several. A birth replaces older mappings in its range
 * (MAP_FIXED). An mremap
 * is recorded as two events: the MUNMAP of the old range, with the time of the call, and an MREMAP
 * of the new range, whose old_address is the start of the old range.
 */
enum event_space {
	EVENT_SPACE_HEAP,
	EVENT_SPACE_MAPPED, /* mapped by the program's own mmap, sbrk and so on, not by an
			     * allocator */
	EVENT_SPACE_POOL,   /* heapcast_pool_allocate */
	EVENT_SPACE_NONE,   /* calls */
};

static inline enum event_space event_space(unsigned kind)
{
	switch (kind) {
	case 12: /* MMAP */
	case 13: /* MREMAP */
	case 16: /* SBRK */
	case 36: /* MUNMAP */
	case 40: /* SBRK_BACK */
		return EVENT_SPACE_MAPPED;
	case 14: /* POOL_ALLOCATE */
	case 37: /* POOL_FREE */
		return EVENT_SPACE_POOL;
	default:
		return event_class(kind) == EVENT_CLASS_CALL ||
				       event_class(kind) == EVENT_CLASS_NONE
			       ? EVENT_SPACE_NONE
			       : EVENT_SPACE_HEAP;
	}
}

/* Frees of heap blocks have no size; the end of a mapping has one. */
static inline bool event_has_size(unsigned kind)
{
	return event_class(kind) != EVENT_CLASS_FREE || event_space(kind) == EVENT_SPACE_MAPPED;
}

/*
 * The address of a CALL holds its parameter (0 for malloc_trim) and its result; the size holds its
 * value.
 *
 *        63      40 39       8 7      4 3 0
 *        |    0    | parameter | result | 0 |
 */
static inline uint64_t event_call_pack(int parameter, int result)
{
	return (uint64_t)(uint32_t)parameter << 8 | (unsigned)(result & 15) << 4;
}

static inline int event_call_parameter(uint64_t address)
{
	return (int)(uint32_t)(address >> 8);
}

static inline int event_call_result(uint64_t address)
{
	return (int)(address >> 4 & 15);
}
