#pragma once
/* Recordings that lie as files in a folder, as `heapcast run` leaves them: *.heapcast. */
#include <stddef.h>
#include <time.h>

struct here_file {
	char *path; /* as it can be typed: NAME in the working folder, else FOLDER/NAME */
	struct timespec changed;
};

struct here_list {
	struct here_file *list; /* the one that was written last comes first */
	size_t count;
};

/* Lists those that can be read and are not empty (an agent that was stopped at once leaves such a
 * file). A folder that can't be read has none. Returns 0 or -ENOMEM; free with here_done. */
int here_find(const char *folder, struct here_list *ret_list);
void here_done(struct here_list *list);
/* Returns the newest whose name has this pid, as `heapcast run` names files: NAME_TIME_PID. NULL:
 * there is none. */
const char *here_of_pid(const struct here_list *list, const char *pid);
/* Formats the paths of the first few, with blanks between them, and how many more there are. */
void here_names(const struct here_list *list, char *out, size_t size);

/* Prints them as a table, the oldest first. It looks into the newest 1,000 (glance.h). */
void here_print(const struct here_list *list);
