#pragma once
/* Before a program is started: where libheapcast.so is, and whether it can be loaded into that
 * program. */
#include <stddef.h>

struct err_text;

/* The absolute path of libheapcast.so: HEAPCAST_PRELOAD, else beside the agent, else in ../lib. 0;
 * -ENOENT with a sentence that says where it was looked for. */
int preload_path(char *out, size_t size, struct err_text *err);
/* Finds `command` as a shell would and looks into it: is it there, executable, dynamically linked,
 * without a sanitizer, and not setuid? 0 with the path; a negative errno with a sentence that says
 * what to do. ret_exit: the status that a shell would end with (126, 127). */
int preload_check(const char *command, char *ret_path, size_t size, int *ret_exit,
		  struct err_text *err);
