#pragma once
/* The number by which others know a collector. It is in a file of its folder and stays with the
 * folder: what was sent is known by it. */
#include <stdint.h>

struct err_text;

/* Folder below a store's folder: what sharing has to remember. */
#define SHARE_FOLDER "share"

/* Reads the number that `folder` (DATA/share) has, or gives it a random one. Returns 0, or a
 * negative errno with a sentence. */
int share_number_keep(const char *folder, uint64_t *ret_number, struct err_text *err);
/* Returns the number of the store in the folder `data`; 0: it has none, or can't be read. */
uint64_t share_number_read(const char *data);
