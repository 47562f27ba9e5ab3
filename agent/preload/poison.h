#pragma once
/*
 * Forbids what code of the preload library must not call: the allocator, stdio, and functions that
 * are cancellation points. A file includes this header last. (hooks.c and next.c implement the
 * allocator for others; they include poison_io.h.)
 */
#include "agent/preload/poison_io.h"
#pragma GCC poison malloc calloc realloc reallocarray free posix_memalign aligned_alloc memalign   \
	valloc pvalloc
