/* Numbers groups. See parted.h. */
#include "collector/query/series/parted.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "collector/query/sums/groups.h"
#include "collector/query/sweep/cursor.h"

#include "base/ban.h"

void parted_done(struct parted *p)
{
	free(p->of_node);
	free(p->example);
}

static uint64_t parted_key(struct group_keys *keys, const struct view *view,
			   const struct hiding *hiding, uint32_t node)
{
	if (keys->grouping == GROUP_BY_BACKTRACE)
		return (uint64_t)node + 1;
	return group_key(keys, view,
			 &view->frames[cursor_frame(view, cursor_at_site(view, hiding, node))]);
}

int parted_init(struct parted *p, const struct view *view, const struct hiding *hiding,
		const struct node_sums *sums, enum grouping grouping)
{
	cleanup(group_keys_done) struct group_keys keys = {.grouping = grouping};
	cleanup(map_done) struct map groups = {0};

	p->nodes = view->nodes;
	p->of_node = calloc((size_t)p->nodes + 1, sizeof(*p->of_node));
	p->example = calloc((size_t)sums->count + 1, sizeof(*p->example));
	if (!p->of_node || !p->example)
		return -ENOMEM;
	for (uint32_t i = 0; i < sums->count; i++) {
		uint32_t node = sums->list[i].node <= p->nodes ? sums->list[i].node : 0;
		uint64_t key = parted_key(&keys, view, hiding, node);
		uint64_t *group = key ? map_put(&groups, key, NULL) : NULL;

		if (!group)
			return -ENOMEM;
		if (!*group) {
			p->example[p->groups] = node;
			*group = ++p->groups;
		}
		p->of_node[node] = (uint32_t)*group;
	}
	return 0;
}
