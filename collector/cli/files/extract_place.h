#pragma once
/*
 * Puts a file below a folder under a path that came from outside. The path is taken apart, and no
 * part of it is believed: an absolute one begins at the folder, ".." is refused, each folder on the
 * way is opened from the one before and made if it is not there, and no symbolic link is followed,
 * not even one that was put there meanwhile. The file is written under another name and moved to
 * its place when it is whole; what is there is replaced only if that was asked for.
 */
#include <stdbool.h>

struct err_text;

struct extract_place {
	int folder;	/* the last one of the path */
	int fd;		/* to be written to */
	char name[256]; /* in the folder */
	char temporary[32];
};

#define EXTRACT_PLACE_NONE                                                                         \
	{                                                                                          \
		.folder = -1, .fd = -1                                                             \
	}

/* `below` is a descriptor of the folder. -EINVAL: no path that can be; -ELOOP, -ENOTDIR: something
 * on the way is no folder. */
int extract_place_open(struct extract_place *place, int below, const char *path,
		       struct err_text *err);
/* -EEXIST: there is a file already, and `replace` is false. */
int extract_place_keep(struct extract_place *place, bool replace, struct err_text *err);
/* What was not kept is removed. */
void extract_place_done(struct extract_place *place);
