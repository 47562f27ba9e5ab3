#pragma once
/*
 * The single fields of messages, for anonymise.c: a table says what is done with each that holds
 * text or bytes, and with each number that says who or where. A text that is not in the table is
 * left out, and so is every field that is unknown here: a name that a later version has added does
 * not slip through. Columns that hold addresses, offsets or names are anonymise.c's.
 */
#include "base/buf.h"
#include "collector/rewrite/pseudonym.h"
#include "heapcast.pb-c.h"

struct anonymise_fields {
	struct pseudonyms *names;
	/* Does this file or module keep its name? */
	bool (*keeps)(void *context, const char *path);
	void *context;
	char **texts; /* that the message holds now */
	uint32_t text_count, text_capacity;
};

/* In place; the message then holds texts that anonymise_fields_clear frees. 0 or -ENOMEM. */
int anonymise_message(struct anonymise_fields *fields, ProtobufCMessage *message);
void anonymise_fields_clear(struct anonymise_fields *fields);
void anonymise_fields_done(struct anonymise_fields *fields);
/* Another path for a path, or for the name of a region: what the kernel calls its own ("[heap]")
 * and what is kept stays. Lives until anonymise_fields_clear. NULL: no memory. */
const char *anonymise_path(struct anonymise_fields *fields, const char *path, size_t length);
/* Does the module keep its name, and so its offsets? */
bool anonymise_keeps(struct anonymise_fields *fields, const Heapcast__Module *module);
