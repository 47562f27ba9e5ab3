#pragma once
/*
 * _dl_find_object of glibc 2.35 and later finds the object that holds an address, without a lock.
 * It is looked up by name, so that the library also runs with an older libc. CMake picks
 * find_object.c or find_object_none.c.
 */
#include <link.h>

/* struct dl_find_object of glibc's dlfcn.h, which older headers lack. */
struct found_object {
	unsigned long long flags; /* 0 so far */
	void *start;		  /* of its first segment */
	void *end;
	struct link_map *link;
	void *eh_frame;
	void *rest[32]; /* differs between processors; leaves room for growth */
};

/* Returns 0, or -1 if no object holds the address. */
typedef int find_object_function(void *address, struct found_object *ret);

/* Returns the function, or NULL if libc lacks it. Asks the loader. */
find_object_function *find_object(void);
