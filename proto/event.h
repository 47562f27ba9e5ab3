#pragma once
/*
 * What the kinds of events mean: one table for all who write or read them. The numbers are those of enum EventKind in
 * heapcast.proto.
 */
#include <stdint.h>
#include <stdbool.h>
#include <stddef.h>

enum event_class {
	EVENT_CLASS_NONE,
	EVENT_CLASS_ALLOCATION,
	EVENT_CLASS_REALLOCATION, /* an allocation that also ends the block at its old address, unless it failed */
	EVENT_CLASS_FREE,
};

/* X(number, suffix of EVENT_, class, function as people know it) */
#define EVENT_KINDS(X)                                                                                                 \
	X(1, MALLOC, ALLOCATION, "malloc")                                                                             \
	X(2, CALLOC, ALLOCATION, "calloc")                                                                             \
	X(3, REALLOC, REALLOCATION, "realloc")                                                                         \
	X(4, REALLOCARRAY, REALLOCATION, "reallocarray")                                                               \
	X(5, POSIX_MEMALIGN, ALLOCATION, "posix_memalign")                                                             \
	X(6, ALIGNED_ALLOC, ALLOCATION, "aligned_alloc")                                                               \
	X(7, MEMALIGN, ALLOCATION, "memalign")                                                                         \
	X(8, VALLOC, ALLOCATION, "valloc")                                                                             \
	X(9, PVALLOC, ALLOCATION, "pvalloc")                                                                           \
	X(10, NEW, ALLOCATION, "operator new")                                                                         \
	X(11, NEW_ARRAY, ALLOCATION, "operator new[]")                                                                 \
	X(12, MMAP, ALLOCATION, "mmap")                                                                                \
	X(13, MREMAP, REALLOCATION, "mremap")                                                                          \
	X(14, POOL_ALLOCATE, ALLOCATION, "pool allocate")                                                              \
	X(15, LOADER, ALLOCATION, "loader")                                                                            \
	X(32, FREE, FREE, "free")                                                                                      \
	X(33, REALLOC_FREE, FREE, "realloc to 0")                                                                      \
	X(34, DELETE, FREE, "operator delete")                                                                         \
	X(35, DELETE_ARRAY, FREE, "operator delete[]")                                                                 \
	X(36, MUNMAP, FREE, "munmap")                                                                                  \
	X(37, POOL_FREE, FREE, "pool free")                                                                            \
	X(38, FREE_SIZED, FREE, "free_sized")                                                                          \
	X(39, FREE_ALIGNED_SIZED, FREE, "free_aligned_sized")

#define EVENT_KIND_LIMIT 64

/* EVENT_CLASS_NONE for numbers that name nothing. */
static inline enum event_class event_class(unsigned kind)
{
	switch (kind) {
#define X(number, suffix, class_, name)                                                                                \
	case number:                                                                                                   \
		return EVENT_CLASS_##class_;
		EVENT_KINDS(X)
#undef X
	default:
		return EVENT_CLASS_NONE;
	}
}

/* The function's name; NULL for numbers that name nothing. */
static inline const char *event_kind_name(unsigned kind)
{
	switch (kind) {
#define X(number, suffix, class_, name)                                                                                \
	case number:                                                                                                   \
		return name;
		EVENT_KINDS(X)
#undef X
	default:
		return NULL;
	}
}
