#pragma once
/* Finds libheapcast.so, and tests before a program is started if the library can be loaded into
 * it. */
#include <stddef.h>

struct err_text;

/* Finds the absolute path of libheapcast.so: from HEAPCAST_PRELOAD, next to the agent, or in
 * ../lib. Returns 0, or -ENOENT with a sentence that says which places were searched. */
int preload_path(char *out, size_t size, struct err_text *err);
/* Finds `command` as a shell would, and checks that it exists and is executable, dynamically
 * linked, without a sanitizer, and not setuid. Returns 0 with the path, or a negative errno with
 * a sentence that says what to do. *ret_exit is the exit status of a shell in this case (126,
 * 127). */
int preload_check(const char *command, char *ret_path, size_t size, int *ret_exit,
		  struct err_text *err);
