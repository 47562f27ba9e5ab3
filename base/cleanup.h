#pragma once
/*
 * Local variables that own what they point to. `cleanup(f) T *x = NULL;` calls f(&x) when x goes
 * out of scope. take_ptr(x) moves the value out.
 */
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>

#define cleanup(f) __attribute__((cleanup(f)))

#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#define take_fd(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

/*
 * DEFINE_CLEANUP(x_free, struct x *) defines cleanup_x_free, which
 * `cleanup(cleanup_x_free) struct x *` names.
 */
#define DEFINE_CLEANUP(function, type)                                                             \
	static inline void cleanup_##function(type *p)                                             \
	{                                                                                          \
		if (*p)                                                                            \
			function(*p);                                                              \
	}
