#pragma once
/* Tags of a program: "site=berlin", "version=1.4". They come from the agent's options and from the
 * program's own HEAPCAST_TAG, and travel with its stream, so that people can select streams by
 * them. */
#include <stddef.h>

struct err_text;

#define TAGS_MAX      16  /* tags of a program */
#define TAGS_BYTES    256 /* of all together, each with its NUL */
#define TAG_KEY_MAX   32
#define TAG_VALUE_MAX 96

struct tags {
	char text[TAGS_BYTES]; /* "KEY=VALUE" NUL "KEY=VALUE" NUL ... */
	size_t length;
};

/*
 * Adds "KEY=VALUE[,KEY=VALUE...]". A key replaces an earlier tag of the same key; an empty value
 * removes it. Blanks beside a comma do not count. A key has letters, digits, '_', '-' and '.'; a
 * value has printable UTF-8 without commas. Returns 0, -EINVAL or -ENOSPC, with a sentence; then
 * the tags are as before.
 */
int tags_add(struct tags *tags, const char *list, struct err_text *err);
/* Writes them as tags_add takes them; cut if there is no room. */
void tags_text(const struct tags *tags, char *out, size_t size);
/* Adds the tags of `more` whose keys are not there yet. Returns how many had no room. */
unsigned tags_add_missing(struct tags *tags, const struct tags *more);
/* Returns the first tag, and the one after `tag`; NULL behind the last. */
const char *tags_next(const struct tags *tags, const char *tag);
