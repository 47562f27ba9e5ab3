/* Lists and finds the streams that a selector chooses. store.h describes the interface. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "collector/catalogue/select.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/tag_rules.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

int store_list_selected(struct store *store, const char *select, bool in_use,
			struct stream_summary **ret_list, size_t *ret_count, struct err_text *err)
{
	struct stream_summary *list = NULL, other;
	struct selector *selector = NULL;
	size_t count = 0, kept = 0;
	struct tag_rule *rules = NULL;
	size_t rule_count = 0;
	int r = selector_parse(select, &selector, err);

	if (!r) /* a list without the collector's own tags would be another choice */
		r = tag_rules_read(store_path(store), &rules, &rule_count, err);
	if (!r)
		tag_rules_free(rules, rule_count);
	if (!r)
		r = (in_use ? store_list : store_list_quickly)(store, &list, &count, err);
	for (size_t i = 0; !r && i < count; i++) {
		if (!selector_matches(selector, &list[i]))
			continue;
		other = list[kept];
		list[kept++] = list[i];
		list[i] = other;
	}
	selector_free(selector);
	if (r < 0)
		return r;
	store_list_drop(list, kept, count);
	*ret_list = list;
	*ret_count = kept;
	return 0;
}

/* Counts the streams that `name` means: an id's beginning, or `last`. Returns the newest. */
static size_t find_among(const struct stream_summary *list, size_t count, const char *name,
			 const struct stream_summary **ret_found)
{
	bool last = !strcmp(name, "last"), programs = false;
	size_t matches = 0;

	for (size_t i = 0; i < count; i++)
		programs |= !list[i].is_snapshot;
	for (size_t i = 0; i < count; i++) {
		char id[STREAM_ID_TEXT];

		/* A snapshot is the last one only among snapshots. */
		if (last ? programs && list[i].is_snapshot
			 : strncmp(stream_id_format(id, &list[i].id), name, strlen(name)) != 0)
			continue;
		*ret_found = &list[i];
		matches++;
	}
	return last && matches ? 1 : matches;
}

int store_find_selected(struct store *store, const char *select, const char *name, char **ret_path,
			struct err_text *err)
{
	const struct stream_summary *found = NULL;
	struct stream_summary *list;
	size_t count, matches;
	int r = store_list_selected(store, select, false, &list, &count, err);

	if (r < 0)
		return r;
	matches = find_among(list, count, name, &found);
	if (!count)
		r = err_set(
			err, -ENOENT,
			"no stream in %s matches --select '%.200s': 'collector list --json' shows "
			"what they are known by",
			store_path(store), select);
	else if (!matches)
		r = err_set(
			err, -ENOENT,
			"no stream that matches --select '%.200s' is called '%.40s' (%zu match)",
			select, name, count);
	else if (matches > 1)
		r = err_set(err, -EEXIST,
			    "'%.40s' is the beginning of %zu streams' ids, also with --select",
			    name, matches);
	else
		r = (*ret_path = stream_recording_path(store, &found->id)) ? 0 : -ENOMEM;
	store_list_free(list, count);
	return r;
}
