/* What tests ask of a result (ring_agent.h): sums by tag, what the program said, where things
 * are. */
#include "tests/unit/preload/support/ring_agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/event.h"

/* Tallies: births and deaths, each address in the order of its stamps, which for a thread's own is
 * that of its records where a clock does not tell them apart. */

struct change {
	uint64_t address;
	uint64_t stamp;
	uint64_t size; /* of a birth */
	size_t number; /* of its record */
	uint32_t tid;
	unsigned tag; /* of a birth */
	bool birth;
};

static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->stamp != b->stamp)
		return a->stamp < b->stamp ? -1 : 1;
	if (a->tid == b->tid && a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (int)a->birth - (int)b->birth;
}

static bool is_its_birth(const struct change *birth, const struct change *death)
{
	return birth->birth && birth->address == death->address && birth->stamp == death->stamp &&
	       birth->tid != death->tid;
}

static size_t changes_of(const struct agent_result *r, struct change *to)
{
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct agent_event *e = &r->events[i];
		enum event_class class = event_class(e->kind);

		if (event_space(e->kind) != EVENT_SPACE_HEAP)
			continue;
		if (class == EVENT_CLASS_FREE)
			to[count++] = (struct change){.address = e->address,
						      .stamp = e->stamp,
						      .number = i,
						      .tid = e->tid};
		if (class == EVENT_CLASS_REALLOCATION && e->old_address && e->address)
			to[count++] = (struct change){.address = e->old_address,
						      .stamp = e->call_stamp,
						      .number = i,
						      .tid = e->tid};
		if (class != EVENT_CLASS_FREE && e->address)
			to[count++] = (struct change){.address = e->address,
						      .stamp = e->stamp,
						      .size = e->size,
						      .number = i,
						      .tid = e->tid,
						      .tag = e->tag,
						      .birth = true};
	}
	return count;
}

void agent_tally(const struct agent_result *result, unsigned tag, struct agent_tally *ret_tally)
{
	struct change *changes = malloc((result->count * 2 + 1) * sizeof(*changes));
	size_t count = changes_of(result, changes);
	struct agent_tally t = {0};
	const struct change *living = NULL;

	qsort(changes, count, sizeof(*changes), compare_changes);
	for (size_t i = 0; i < count; i++) {
		const struct change *c = &changes[i];

		/* One thread's block that another one has freed within the same tick. */
		if (!c->birth && i + 1 < count && (!living || living->address != c->address) &&
		    is_its_birth(c + 1, c)) {
			struct change death = *c;

			changes[i] = changes[i + 1];
			changes[i + 1] = death;
		}
		if (living && living->address != c->address)
			living = NULL;
		if (c->birth) {
			t.twice += living != NULL;
			t.allocations += c->tag == tag;
			t.bytes += c->tag == tag ? c->size : 0;
			living = c;
			continue;
		}
		t.orphans += living == NULL;
		t.frees += living && living->tag == tag;
		living = NULL;
	}
	t.live = t.allocations - t.frees;
	free(changes);
	*ret_tally = t;
}

unsigned long agent_said(const struct agent_result *result, const char *name)
{
	const char *at = result->output;
	size_t length = strlen(name);

	while (at && *at) {
		if (!strncmp(at, name, length) && at[length] == ' ')
			return strtoul(at + length, NULL, 10);
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	fprintf(stderr, "the program did not say \"%s\", but:\n%s\n", name, result->output);
	abort();
}

const char *target_path(const char *name)
{
	static char path[8][512];
	static unsigned turn;
	char *to = path[turn++ % 8];

	snprintf(to, sizeof(path[0]), "%s/targets/%s", BUILD_FOLDER, name);
	return to;
}

const char *preload_path(void)
{
	return BUILD_FOLDER "/lib/libheapcast.so";
}
