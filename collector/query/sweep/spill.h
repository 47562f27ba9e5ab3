#pragma once
/*
 * Bytes that are written one behind the other, once, and then read: the first of them stay in
 * memory, more go to a file without a name (store_temporary), which is mapped to be read. Where
 * there is no room for a file all stays in memory.
 */
#include "base/buf.h"

struct err_text;

struct spill {
	struct buf buf; /* what is not in the file */
	int fd;		/* -1: there is none */
	bool no_file;	/* and there can't be one */
	size_t length;	/* of all */
	void *mapped;	/* NULL: not yet, or all is in memory */
};

void spill_init(struct spill *spill);
void spill_done(struct spill *spill);
/* 0, -ENOMEM, or what writing has failed with. */
int spill_append(struct spill *spill, const void *data, size_t length);
/* All of it, until spill_done; nothing may be appended any more. 0, or a negative errno with the
 * sentence. */
int spill_read(struct spill *spill, const uint8_t **ret_data, struct err_text *err);
