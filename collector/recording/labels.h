#pragma once
/*
 * What a recorded program is known by, beside its name and its host: the machine's model, the
 * control group, the build, and tags. Streams are selected by them (collector/catalogue/select.h).
 * All texts are safe to show; unknown ones are "".
 */
#include <stdbool.h>
#include <stddef.h>

#include "proto/columns.h"

struct labels {
	char *board;  /* as its maker calls the machine */
	char *cgroup; /* path of the control group */
	char *build;  /* build id of the program's file, in hexadecimal digits */
	char *tags;   /* KEY=VALUE, separated by commas; a key occurs once, and values have none */
};

/* Makes labels without a build. Returns 0 or -ENOMEM. */
int labels_of(const Heapcast__Process *process, struct labels *ret_labels);
/* Takes the build from the module that is the program's file. Returns 0 or -ENOMEM. */
int labels_take_build(struct labels *labels, const Heapcast__Batch *batch, const char *executable);
/* Returns 0, or -ENOMEM with empty labels. Texts of `from` may be NULL. */
int labels_copy(const struct labels *from, struct labels *ret_to);
void labels_done(struct labels *labels);
bool labels_same(const struct labels *a, const struct labels *b);

/* Finds the value of a tag. Returns its beginning and its length, or NULL. */
const char *labels_tag(const char *tags, const char *key, size_t key_length, size_t *ret_length);
/*
 * Adds tags, which replace those of the same key; an empty value removes it. Returns new text, or
 * NULL if memory is short.
 */
char *labels_add_tags(const char *tags, const char *more);
/* Returns the systemd service that the control group belongs to, and its length without
 * ".service"; NULL if it belongs to none. */
const char *labels_service(const char *cgroup, size_t *ret_length);
