#pragma once
/*
 * Anonymises single fields of messages, for anonymise.c. A table says what happens to each field
 * that holds text or bytes, and to each number that identifies a user or a place. Texts that are
 * not in the table are removed, and so are unknown fields, so a name that a later version adds
 * cannot slip through. anonymise.c handles the columns that hold addresses, offsets or names.
 */
#include "base/buf.h"
#include "collector/rewrite/pseudonym.h"
#include "heapcast.pb-c.h"

struct anonymise_fields {
	struct pseudonyms *names;
	/* Tells whether this file or module keeps its name. */
	bool (*keeps)(void *context, const char *path);
	void *context;
	char **texts; /* owned by the present message */
	uint32_t text_count, text_capacity;
};

/*
 * Anonymises a message in place. The message then refers to texts that anonymise_fields_clear
 * frees. Returns 0 or -ENOMEM.
 */
int anonymise_message(struct anonymise_fields *fields, ProtobufCMessage *message);
void anonymise_fields_clear(struct anonymise_fields *fields);
void anonymise_fields_done(struct anonymise_fields *fields);
/*
 * Returns a pseudonym for a path or for the name of a region. Names of the kernel ("[heap]") and
 * names to be kept stay. The result is valid until anonymise_fields_clear. Returns NULL if memory
 * is short.
 */
const char *anonymise_path(struct anonymise_fields *fields, const char *path, size_t length);
/* Tells whether the module keeps its name, and therefore its offsets. */
bool anonymise_keeps(struct anonymise_fields *fields, const Heapcast__Module *module);
