#pragma once
/*
 * Chooses streams by what is known of them:
 *
 *	board=gw-* version!=1.4 tag:site=berlin
 *
 * Terms are separated by blanks or tabs, and all must hold. NAME=PATTERN holds if the value
 *matches; NAME!=PATTERN if it does not, or if there is none. tag:KEY alone holds if there is such a
 *tag, !tag:KEY if there is none. '*' stands for any characters, '?' for one; "a,b" is a or b.
 *Double quotes take blanks and commas into a pattern: board="Raspberry Pi*".
 *
 * Names: id (or its beginning), name, executable, host, architecture, board, cgroup, service,
 * build, pid, state, version (the tag of that key), tag:KEY.
 */
#include <stdbool.h>

struct err_text;
struct selector;
struct stream_summary;

/* Returns -EINVAL with a sentence, also for an empty text, or -ENOMEM. Free the selector with
 * selector_free. */
int selector_parse(const char *text, struct selector **ret_selector, struct err_text *err);
void selector_free(struct selector *selector);
bool selector_matches(const struct selector *selector, const struct stream_summary *stream);
