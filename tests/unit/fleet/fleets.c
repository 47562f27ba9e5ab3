/* Comparisons of made-up fleets: what is planted is told first, and nothing where nothing is. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "tests/unit/fleet/seeded.h"
#include "tests/unit/full.h"

static void make(const struct seeded *s, struct fleet_matrix *m, struct fleet_report *report)
{
	*report = (struct fleet_report){0};
	assert_int_equal(seeded_make(s, m), 0);
	assert_int_equal(fleet_report_of(m, report), 0);
}

static void done(struct fleet_matrix *m, struct fleet_report *report)
{
	fleet_report_done(report);
	fleet_matrix_done(m);
}

static const char *const kinds[] = {"leak on boards", "growth in build", "growth", "more in build",
				    "more on boards"};

static void tell(const struct seeded *s, const struct fleet_report *report)
{
	for (size_t i = 0; i < report->finding_count && i < 3; i++) {
		const struct fleet_finding *f = &report->findings[i];

		print_message("seed %llu, %u boards: %s, %s, %zu of %zu boards (%s), %lld bytes\n",
			      (unsigned long long)s->seed, s->boards, kinds[f->kind], f->function,
			      f->count, f->of, f->boards[0].host, (long long)f->median);
	}
}

/* Of 100 fleets without a plant at most one is told anything. */
static void test_nothing(void **state)
{
	static const unsigned boards[] = {200, 40, 12, 100, 6};
	unsigned told = 0, fleets = test_full() ? 100 : 20;

	(void)state;
	for (uint64_t seed = 1; seed <= fleets; seed++) {
		struct seeded s = {seed, boards[seed % 5], 64, seed % 3 ? 25 : 48, PLANT_NONE, 0,
				   false};
		struct fleet_matrix m;
		struct fleet_report report;

		make(&s, &m, &report);
		told += report.finding_count > 0;
		tell(&s, &report);
		done(&m, &report);
	}
	print_message("%u of %u fleets without a plant are told something\n", told, fleets);
	assert_true(told <= 1);
}

/* Tells whether what was planted is the first finding. */
static bool is_found(const struct seeded *s)
{
	struct fleet_matrix m;
	struct fleet_report report;
	const struct fleet_finding *f;
	char host[32];
	bool found;

	make(s, &m, &report);
	snprintf(host, sizeof(host), "gw-%03u", s->boards / 3);
	f = report.findings;
	found = report.finding_count && !strcmp(f->function, "function_0") &&
		(s->plant == PLANT_BOARD ? f->kind == FLEET_LEAK_ON_BOARDS && f->count == 1 &&
						   !strcmp(f->boards[0].host, host)
		 : s->plant == PLANT_BUILD
			 ? f->kind == FLEET_GROWTH_IN_BUILD && !strcmp(f->build, "b2b2b2b2b2b2")
			 : f->kind == FLEET_MORE_IN_BUILD && !strcmp(f->build, "b2b2b2b2b2b2"));
	done(&m, &report);
	return found;
}

static unsigned count_found(enum seeded_plant plant, bool steady, double bytes, unsigned fleets)
{
	unsigned found = 0;

	for (uint64_t seed = 1001; seed < 1001 + fleets; seed++)
		found += is_found(&(struct seeded){seed, 200, 64, 25, plant, bytes, steady});
	return found;
}

/* `bytes` are found in 19 of 20 fleets (docs/fleet.md says so), and so are all greater plants. */
static void check_smallest(enum seeded_plant plant, bool steady, double bytes)
{
	double most = test_full() ? 64 << 20 : bytes;
	unsigned fleets = test_full() ? 20 : 6;

	for (; bytes <= most; bytes *= 4) {
		unsigned found = count_found(plant, steady, bytes, fleets);

		print_message("plant %d of %.0f KiB in %s function: found in %u of %u\n", plant,
			      bytes / 1024, steady ? "a steady" : "any", found, fleets);
		assert_true(fleets - found <= 1);
	}
}

static void test_board(void **state)
{
	(void)state;
	check_smallest(PLANT_BOARD, true, 1 << 20);
	check_smallest(PLANT_BOARD, false, 4 << 20);
}

static void test_build(void **state)
{
	(void)state;
	check_smallest(PLANT_BUILD, true, 256 << 10);
	check_smallest(PLANT_BUILD, false, 512 << 10);
}

static void test_build_level(void **state)
{
	(void)state;
	check_smallest(PLANT_BUILD_LEVEL, true, 512 << 10);
	check_smallest(PLANT_BUILD_LEVEL, false, 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_board),
		cmocka_unit_test(test_build),
		cmocka_unit_test(test_build_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
