#pragma once
/* Finds recordings that lie as files in a folder, as `heapcast run` leaves them: *.heapcast. */
#include <stddef.h>
#include <time.h>

struct here_file {
	char *path; /* as a user types it: NAME in the working folder, else FOLDER/NAME */
	struct timespec changed;
};

struct here_list {
	struct here_file *list; /* the most recently written one first */
	size_t count;
};

/* Lists the files that are readable and not empty (an agent that was stopped at once leaves an
 * empty one). An unreadable folder yields an empty list. Returns 0 or -ENOMEM. The caller calls
 * here_done. */
int here_find(const char *folder, struct here_list *ret_list);
void here_done(struct here_list *list);
/* Returns the newest file whose name has this pid, as `heapcast run` names files (NAME_TIME_PID),
 * or NULL if there is none. */
const char *here_of_pid(const struct here_list *list, const char *pid);
/* Formats the first few paths, separated by blanks, and the number of further ones. */
void here_names(const struct here_list *list, char *out, size_t size);

/* Prints the files as a table, the oldest first. Looks into the newest 1,000 (glance.h). */
void here_print(const struct here_list *list);
