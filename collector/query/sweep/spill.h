#pragma once
/*
 * A sequence of bytes that is written once and then read. The first bytes stay in memory; more go
 * to a nameless file (unnamed_file), which is mapped for reading. If no file can be made,
 * everything stays in memory.
 */
#include "base/buf.h"

struct err_text;

struct spill {
	struct buf buf; /* bytes that are not in the file */
	int fd;		/* -1: none */
	bool no_file;	/* no file can be made */
	size_t length;	/* number of all bytes */
	void *mapped;	/* NULL: not yet, or everything is in memory */
};

void spill_init(struct spill *spill);
void spill_done(struct spill *spill);
/* Returns 0, -ENOMEM, or the error of the write. */
int spill_append(struct spill *spill, const void *data, size_t length);
/* Returns all bytes, valid until spill_done. Nothing may be appended afterwards. Returns 0, or a
 * negative errno with an error text. */
int spill_read(struct spill *spill, const uint8_t **ret_data, struct err_text *err);
