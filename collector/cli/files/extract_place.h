#pragma once
/* Writes a file below a folder, at a path that came from outside and may be hostile. The path is
 * split into parts. An absolute path begins at the folder, and ".." is refused. Each folder on the
 * way is opened relative to the previous one, and created if it is missing. No symbolic link is
 * followed, not even one that somebody creates meanwhile. The file is written under another name,
 * and moved to its place when it is complete. An existing file is replaced only on request. */
#include <stdbool.h>

struct err_text;

struct extract_place {
	int folder;	/* descriptor of the path's last folder */
	int fd;		/* descriptor to write the file to */
	char name[256]; /* name of the file in the folder */
	char temporary[32];
};

#define EXTRACT_PLACE_NONE                                                                         \
	{                                                                                          \
		.folder = -1, .fd = -1                                                             \
	}

/* `below` is the descriptor of the folder. Returns 0; -EINVAL if the path is invalid; -ELOOP or
 * -ENOTDIR if something on the way is not a folder; or another negative errno. */
int extract_place_open(struct extract_place *place, int below, const char *path,
		       struct err_text *err);
/* Moves the file to its place. Returns -EEXIST if a file exists and `replace` is false. */
int extract_place_keep(struct extract_place *place, bool replace, struct err_text *err);
/* Removes the file unless it was kept. */
void extract_place_done(struct extract_place *place);
