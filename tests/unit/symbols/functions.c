/*
 * Code without names, against binutils: this program is stripped, and every range of its .eh_frame
 * that readelf shows must be the function of the addresses within it. What a symbol still names
 * (exported functions) keeps its name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "base/error.h"
#include "collector/symbols/elfid.h"
#include "collector/symbols/symbols.h"

#define RANGES_MAX 20000
#define PLACES	   3 /* of each range: behind its first byte, in the middle, at its end */

static char path[] = "/tmp/heapcast-functions-XXXXXX";
static uint64_t starts[RANGES_MAX], ends[RANGES_MAX];
static size_t count;

static void run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (system(command) != 0)
		fail_msg("%s", command);
}

/* "00000018 0000000000000014 0000001c FDE cie=00000000 pc=00001060..00001086" */
static void list_ranges(void)
{
	char command[256], line[512];
	FILE *pipe;

	snprintf(command, sizeof(command), "readelf --debug-dump=frames '%s' 2>/dev/null", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		const char *pc = strstr(line, " FDE ") ? strstr(line, " pc=") : NULL;
		unsigned long start, end;

		if (pc && sscanf(pc, " pc=%lx..%lx", &start, &end) == 2 && end > start &&
		    count < RANGES_MAX) {
			starts[count] = start;
			ends[count++] = end;
		}
	}
	pclose(pipe);
}

static int prepare(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	run("strip --strip-all -o '%s' /proc/%d/exe", path, (int)getpid());
	list_ranges();
	return 0;
}

static int clean(void **state)
{
	(void)state;
	return unlink(path);
}

static size_t check(sqlite3 *cache)
{
	struct symbols_options options = {.debug_root = "/no-such", .cache = cache};
	static uint64_t offsets[PLACES * RANGES_MAX];
	static const struct symbol *symbols[PLACES * RANGES_MAX];
	struct symbol_module module = {.path = path};
	struct symbols *s;
	struct elf_id id;
	size_t nameless = 0;

	assert_int_equal(elf_id_read(path, &id), 0);
	module.build_id = id.file.build_id;
	module.build_id_length = id.file.build_id_length;
	for (size_t i = 0; i < count; i++) { /* return addresses: the code before them is meant */
		offsets[PLACES * i] = starts[i] + 1;
		offsets[PLACES * i + 1] = starts[i] + 1 + (ends[i] - starts[i]) / 2;
		offsets[PLACES * i + 2] = ends[i];
	}
	assert_int_equal(symbols_new(&options, &s, NULL), 0);
	assert_int_equal(symbols_lookup(s, &module, offsets, PLACES * count, symbols, NULL), 0);
	for (size_t i = 0; i < PLACES * count; i++) {
		assert_int_equal(symbols[i]->count, 1);
		if (symbols[i]->frames[0].function) {
			assert_int_equal(symbols[i]->start, 0);
			continue;
		}
		nameless++;
		assert_int_equal(symbols[i]->start, starts[i / PLACES]);
		assert_int_equal(symbols[i]->frames[0].line, 0);
		assert_int_equal(symbols[i]->frames[0].column, 0);
	}
	symbols_free(s);
	return nameless;
}

static void test_starts(void **state)
{
	(void)state;
	assert_true(count > 200);
	assert_true(check(NULL) > 500);
}

/* The catalogue keeps beginnings; a row of a version that did not know them is made anew. */
static void test_kept(void **state)
{
	sqlite3 *cache;
	size_t nameless;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &cache), SQLITE_OK);
	nameless = check(cache);
	assert_int_equal(check(cache), nameless);
	assert_int_equal(sqlite3_exec(cache,
				      "UPDATE symbol_frame SET line = 0, column = 0 WHERE "
				      "quality = 0",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_true(sqlite3_changes(cache) > 500);
	assert_int_equal(check(cache), nameless);
	sqlite3_close(cache);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_kept),
	};

	if (argc == 2 && !strcmp(argv[1], "symbols-worker"))
		return symbols_worker_main();
	return cmocka_run_group_tests(tests, prepare, clean);
}
