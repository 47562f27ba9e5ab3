#pragma once
/*
 * DIR/tags.sqlite: tags that the collector adds, each with a selector (select.h). A rule holds for
 * all streams that match, also for those that run and for later ones. Rules are applied in the
 * order of their numbers, and a rule sees the tags of those before it.
 */
#include <stddef.h>
#include <stdint.h>

struct err_text;
struct stream_summary;

struct tag_rule {
	uint64_t number;
	char *tags;	/* KEY=VALUE, separated by commas; an empty value removes the tag */
	char *selector; /* "": all streams */
};

/* Adds a rule. Returns its number in *ret_number, or -EINVAL with a sentence. */
int tag_rules_add(const char *folder, const char *tags, const char *selector, uint64_t *ret_number,
		  struct err_text *err);
/* Returns -ENOENT if there is no such rule. */
int tag_rules_remove(const char *folder, uint64_t number, struct err_text *err);
/* Reads all rules; a folder without rules has none. Free them with tag_rules_free. */
int tag_rules_read(const char *folder, struct tag_rule **ret_rules, size_t *ret_count,
		   struct err_text *err);
void tag_rules_free(struct tag_rule *rules, size_t count);
/* Gives the streams of a list their tags. Returns 0, -ENOMEM, or -EBADMSG if the file is damaged;
 * the streams then have only their own. */
int tag_rules_apply(const char *folder, struct stream_summary *list, size_t count,
		    struct err_text *err);
