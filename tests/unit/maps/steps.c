/*
 * A process that maps, changes and unmaps at random is observed by the agent's table, which is too
 * small for it now and then; the collector puts the steps together. After each step every region
 * that it has must be as in the process, unless its news are still to come; and once all has been
 * told, it must have all but those that were cut.
 */
#include <stdarg.h>
#include <errno.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/watch/maps.h"
#include "base/error.h"
#include "base/words.h"
#include "collector/recording/maps.h"

#define PLACES 3000
#define PAGE   4096u

struct place {
	bool mapped;
	struct proc_mapping region;
	char name[2 * MAPS_NAME_MAX];
};

static struct place places[PLACES];
static uint64_t seed = 88172645463325252u;

static uint32_t chance(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % below;
}

static void map(unsigned at)
{
	struct place *p = &places[at];
	static const char *const names[] = {"",		  "[heap]",   "/lib/a.so",
					    "/odd\nname", "[anon:x]", "/dev/zero (deleted)"};

	p->mapped = true;
	snprintf(p->name, sizeof(p->name), "%s", names[chance(6)]);
	if (!chance(4)) /* many names, a few of them long */
		snprintf(p->name, sizeof(p->name), "/file/%u%0*u", chance(5000),
			 chance(50) ? 1 : 900 + chance(200), 0u);
	p->region = (struct proc_mapping){
		.start = (uint64_t)(at + 1) << 24,
		.end = ((uint64_t)(at + 1) << 24) + (1 + chance(4096)) * (uint64_t)PAGE,
		.offset = (uint64_t)chance(100) * PAGE,
		.inode = chance(1000000),
		.major = chance(256),
		.minor = chance(1u << 20),
		.permissions = chance(32),
		.path = p->name,
		.path_length = (uint32_t)strlen(p->name),
	};
}

static void use(unsigned at)
{
	for (unsigned i = 0; i < PROC_FIGURES; i++)
		places[at].region.figure[i] = chance(3) ? chance(1u << (4 + chance(20))) : 0;
}

static void change(unsigned how_many)
{
	while (how_many--) {
		unsigned at = chance(PLACES);

		if (!places[at].mapped || !chance(4))
			map(at);
		else if (!chance(3))
			places[at].mapped = false;
		else
			use(at);
	}
}

/* A step as it travels, taken by the collector. */
static void travel(const struct maps *m, struct maps_state *s)
{
	Heapcast__Maps out, *in;
	struct err_text err = {{0}};
	uint8_t *packed;
	size_t length;

	maps_fill(m, &out);
	length = heapcast__maps__get_packed_size(&out);
	assert_true(length <= m->step_max);
	packed = malloc(length + 1);
	heapcast__maps__pack(&out, packed);
	in = heapcast__maps__unpack(NULL, length, packed);
	assert_non_null(in);
	if (maps_state_add(s, in, &err) < 0)
		fail_msg("%s", err.text);
	heapcast__maps__free_unpacked(in, NULL);
	free(packed);
}

/* One reading of the process. `parts`: told in as many steps as it needs. */
static void step(struct maps *m, struct maps_state *s, uint64_t now, bool parts)
{
	maps_begin(m);
	for (unsigned i = 0; i < PLACES; i++) {
		if (!places[i].mapped)
			continue;
		if (parts && !maps_fits(m, &places[i].region)) {
			maps_part(m, now);
			travel(m, s);
			maps_go_on(m);
		}
		maps_put(m, &places[i].region);
	}
	if (!maps_end(m, now, 5000))
		return;
	travel(m, s);
	assert_int_equal(s->took_us, 5);
}

static bool same_region(const struct map_region *a, const struct proc_mapping *b)
{
	char name[MAPS_NAME_MAX + 1];

	words_clean(name, sizeof(name), b->path, strlen(b->path));
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       a->flags == b->permissions && !strcmp(a->name, name);
}

static bool same_usage(const struct map_usage *a, const uint64_t *b)
{
	return a->rss == b[PROC_RSS] && a->pss == b[PROC_PSS] &&
	       a->shared_clean == b[PROC_SHARED_CLEAN] && a->shared_dirty == b[PROC_SHARED_DIRTY] &&
	       a->private_clean == b[PROC_PRIVATE_CLEAN] &&
	       a->private_dirty == b[PROC_PRIVATE_DIRTY] && a->anonymous == b[PROC_ANONYMOUS] &&
	       a->swap == b[PROC_SWAP];
}

static const struct map_region *find(const struct maps_state *s, uint64_t start)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->region[i].start == start)
			return &s->region[i];
	return NULL;
}

/* How many of the process's regions the collector has wrong, or not at all. */
static unsigned wrong(const struct maps_state *s)
{
	unsigned count = 0, known = 0;

	for (unsigned i = 0; i < PLACES; i++) {
		const struct map_region *r = find(s, places[i].region.start);

		known += r && places[i].mapped;
		count += places[i].mapped && (!r || !same_region(r, &places[i].region) ||
					      !same_usage(&r->usage, places[i].region.figure));
	}
	return count + (unsigned)(s->count - known);
}

static void check_totals(const struct maps_state *s)
{
	uint64_t space = 0, rss = 0, swap = 0;
	unsigned mapped = 0;

	for (unsigned i = 0; i < PLACES; i++) {
		if (!places[i].mapped)
			continue;
		mapped++;
		space += (places[i].region.end - places[i].region.start) / 1024;
		rss += places[i].region.figure[PROC_RSS];
		swap += places[i].region.figure[PROC_SWAP];
	}
	assert_int_equal(s->regions, mapped);
	assert_int_equal(s->address_space, space);
	assert_int_equal(s->total.rss, rss);
	assert_int_equal(s->total.swap, swap);
}

static void check_sorted(const struct maps_state *s)
{
	for (size_t i = 1; i < s->count; i++)
		assert_true(s->region[i - 1].start < s->region[i].start);
}

static void play(size_t memory, unsigned steps, unsigned changes, bool parts)
{
	struct maps_state state = {0};
	void *table = aligned_alloc(64, memory);
	unsigned cut = 0, postponed = 0;
	struct maps maps;

	maps_init(&maps, table, memory, memory < (80u << 10) ? MAPS_STEP_MIN : 80u << 10, PAGE);
	for (unsigned n = 1; n <= steps; n++) {
		change(changes);
		if (!chance(20))
			maps_repeat(&maps);
		step(&maps, &state, n, parts);
		check_sorted(&state);
		check_totals(&state);
		/* What is wrong is what the agent says it has not told. */
		assert_true(wrong(&state) <= state.cut + state.postponed);
		cut += state.cut;
		postponed += state.postponed;
		if (chance(10))
			continue;
		for (unsigned quiet = 0; quiet < 2000 && state.postponed; quiet++)
			step(&maps, &state, n, parts);
		assert_int_equal(state.postponed, 0);
		assert_int_equal(wrong(&state), state.cut);
	}
	assert_int_equal(state.unknown, 0);
	if (parts)
		assert_true(postponed <= cut / 10); /* many that go at once */
	print_message("%zu KiB: %u regions cut, %u postponed\n", memory / 1024, cut, postponed);
	maps_state_done(&state);
	free(table);
	memset(places, 0, sizeof(places));
}

static void test_room_for_all(void **state)
{
	(void)state;
	play(1u << 20, 150, 200, false);
}

static void test_little_room(void **state)
{
	(void)state;
	play(MAPS_SIZE_MIN, 60, 60, false);
}

static void test_parts(void **state)
{
	(void)state;
	play(1u << 20, 100, 300, true);
	play(MAPS_SIZE_MIN, 60, 60, true);
}

/* A collector that was not there before gets all of it after maps_repeat. */
static void test_late(void **state)
{
	struct maps_state early = {0}, late = {0};
	void *table = aligned_alloc(64, 1u << 20);
	struct maps maps;

	(void)state;
	maps_init(&maps, table, 1u << 20, 80u << 10, PAGE);
	change(500);
	step(&maps, &early, 1, true);
	assert_int_equal(wrong(&early), 0);
	change(500);
	step(&maps, &late, 2, true); /* news only: about most of it, it knows nothing */
	assert_true(late.unknown > 0 && wrong(&late) > 0);
	maps_repeat(&maps);
	step(&maps, &late, 3, true);
	assert_int_equal(wrong(&late), 0);
	maps_state_done(&early);
	maps_state_done(&late);
	free(table);
	memset(places, 0, sizeof(places));
}

/* There is a bound for what a step holds, which is told of before there is memory for it. */
static void test_too_many(void **state)
{
	static uint8_t ones[MAPS_REGIONS_MAX + 1], zeros[MAPS_REGIONS_MAX + 1];
	Heapcast__Maps m = HEAPCAST__MAPS__INIT;
	struct maps_state s = {0};
	struct err_text err = {{0}};

	(void)state;
	memset(ones, 1, sizeof(ones));
	m.page_shift = 12;
	m.start = m.size = (ProtobufCBinaryData){MAPS_REGIONS_MAX, ones};
	m.flags = m.offset = m.device = m.inode = m.name =
		(ProtobufCBinaryData){MAPS_REGIONS_MAX, zeros};
	assert_int_equal(maps_state_add(&s, &m, &err), 0);
	assert_int_equal(s.count, MAPS_REGIONS_MAX);
	m.start.len = m.size.len = m.flags.len = m.offset.len = m.device.len = m.inode.len =
		m.name.len = MAPS_REGIONS_MAX + 1;
	assert_int_equal(maps_state_add(&s, &m, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "start: too many"));
	maps_state_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_for_all), cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_parts),	     cmocka_unit_test(test_late),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
