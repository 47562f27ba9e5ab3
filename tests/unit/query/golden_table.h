#pragma once
/*
 * Numbers that stay as they are: lines of a name and a number in TEST.expect, which a test goes
 * through in their order, or writes anew.
 *
 *	unit.query.golden --update	writes the numbers as they are now
 *	unit.query.golden --show LINE	shows all that this line's number is made of (ask_digest.h):
 *					for diff, with the program of another commit
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/query/ask_digest.h"

static struct {
	FILE *file;
	const char *path, *shows; /* the line; NULL: none */
	bool writes;
} golden_table;

/* All that is added up from here on belongs to this line. */
static inline void golden_begin(const char *name)
{
	bool shown = golden_table.shows && !strcmp(golden_table.shows, name);

	ask_shown = shown ? stdout : NULL;
}

static inline void golden_end(const char *name, uint64_t number)
{
	uint64_t wanted;
	char line[80];

	ask_shown = NULL;
	if (golden_table.shows)
		return;
	if (golden_table.writes) {
		fprintf(golden_table.file, "%s %016" PRIx64 "\n", name, number);
		return;
	}
	if (fscanf(golden_table.file, "%79s %" SCNx64, line, &wanted) != 2 || strcmp(line, name))
		fail_msg("%s has no %s", golden_table.path, name);
	if (number != wanted)
		fail_msg("%s is another one: what has changed tells --show %s before and after; if "
			 "it is meant, --update",
			 name, name);
}

static inline int golden_main(int argc, char **argv, const char *path, void (*all)(void **state))
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all)};
	int r = 0;

	golden_table.path = path;
	golden_table.writes = argc == 2 && !strcmp(argv[1], "--update");
	golden_table.shows = argc == 3 && !strcmp(argv[1], "--show") ? argv[2] : NULL;
	golden_table.file = fopen(path, golden_table.writes ? "w" : "r");
	if (!golden_table.file)
		return 1;
	if (golden_table.writes || golden_table.shows)
		all(NULL);
	else
		r = cmocka_run_group_tests(tests, NULL, NULL);
	return fclose(golden_table.file) || r;
}
