#pragma once
/*
 * _dl_find_object of glibc 2.35 and later: which object holds an address, without a lock. Looked up
 * by its name, so that an older libc will do. CMake picks find_object.c or find_object_none.c.
 */
#include <link.h>

/* struct dl_find_object of its dlfcn.h: headers may be older. */
struct found_object {
	unsigned long long flags; /* 0 so far */
	void *start;		  /* of its first segment */
	void *end;
	struct link_map *link;
	void *eh_frame;
	void *rest[32]; /* differs between processors, and has room to grow */
};

/* 0; -1: no object holds it. */
typedef int find_object_function(void *address, struct found_object *ret);

/* NULL: there is none. Asks the loader. */
find_object_function *find_object(void);
