#pragma once
/*
 * The preload library is a foreign country: nobody in here calls the allocator, stdio, or a
 * function that may be cancelled. Included last. (hooks.c and next.c, which are the allocator to
 * others, include poison_io.h.)
 */
#include "agent/preload/poison_io.h"
#pragma GCC poison malloc calloc realloc reallocarray free posix_memalign aligned_alloc memalign   \
	valloc pvalloc
