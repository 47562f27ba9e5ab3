/*
 * Allocations as JSON lines: python3 reads every line, and what it adds up is what the store says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collector/export/export.h"
#include "tests/unit/query/recording.h"

struct sums {
	uint64_t rows, size, ended, frames;
};

static int write_out(void *context, struct buf *out)
{
	assert_int_equal(fwrite(out->data, 1, out->length, context), out->length);
	buf_clear(out);
	return 0;
}

static struct sums ask_python(const char *path)
{
	char command[1024];
	unsigned long long rows, size, ended, frames;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "python3 -c 'import json,sys\n"
		 "rows=[json.loads(line) for line in open(sys.argv[1])]\n"
		 "assert [r[\"id\"] for r in rows] == sorted(set(r[\"id\"] for r in rows))\n"
		 "assert all(r[\"address_s\"].startswith(\"0x\") and r[\"kind\"] for r in rows)\n"
		 "assert all(r[\"deallocation\"][\"time_ns\"] >= r[\"time_ns\"] for r in rows if "
		 "\"deallocation\" in r)\n"
		 "print(len(rows), sum(r[\"size\"] for r in rows), sum(\"deallocation\" in r for r "
		 "in rows),"
		 " sum(len(r[\"backtrace\"]) for r in rows))' %s",
		 path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%llu %llu %llu %llu", &rows, &size, &ended, &frames), 4);
	assert_int_equal(pclose(pipe), 0);
	return (struct sums){rows, size, ended, frames};
}

static uint64_t depth_of(const struct recording *recording, uint32_t node)
{
	uint64_t depth = 0;

	for (; node; node = recording_node(recording, node)->parent)
		depth++;
	return depth;
}

static struct sums ask_store(const struct recording *recording)
{
	struct sums sums = {0};
	struct row_reader *reader;

	assert_int_equal(row_reader_new(recording, &reader), 0);
	for (uint32_t k = 0; k < recording_blocks(recording); k++) {
		const struct row_block *b = row_reader_block(reader, k, ROWS_ALL, NULL);

		for (uint32_t i = 0; i < b->count; i++) {
			sums.rows++;
			sums.size += b->size[i];
			sums.ended += b->death_ns[i] != NO_TIME;
			sums.frames += depth_of(recording, b->stack[i]);
		}
	}
	row_reader_free(reader);
	return sums;
}

static void writes_what_the_store_has(void **state)
{
	char path[] = "/tmp/heapcast-rows-XXXXXX";
	struct test_recording t;
	struct filter filter;
	struct buf out = {0};
	struct sums have, want;
	FILE *file = fdopen(mkstemp(path), "w");

	(void)state;
	assert_non_null(file);
	test_random_recording(&t, 7, 5000, false);
	filter_init(&filter);
	assert_int_equal(export_json(t.view, &filter, &out, write_out, file, NULL), 0);
	fclose(file);
	have = ask_python(path);
	want = ask_store(t.recording);
	assert_int_equal(have.rows, want.rows);
	assert_int_equal(have.size, want.size);
	assert_int_equal(have.ended, want.ended);
	assert_int_equal(have.frames, want.frames);
	assert_true(want.rows > 1000 && want.ended > 100);
	print_message("%lu allocations\n", (unsigned long)have.rows);
	filter_done(&filter);
	test_close(&t);
	buf_done(&out);
	unlink(path);
}

static int fail_to_write(void *context, struct buf *out)
{
	(void)context;
	(void)out;
	return -ENOSPC;
}

static void passes_up_what_goes_wrong(void **state)
{
	struct test_recording t;
	struct filter filter;
	struct buf out = {0};

	(void)state;
	test_random_recording(&t, 8, 5000, false);
	filter_init(&filter);
	assert_int_equal(export_json(t.view, &filter, &out, fail_to_write, NULL, NULL), -ENOSPC);
	filter_done(&filter);
	test_close(&t);
	buf_done(&out);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_what_the_store_has),
		cmocka_unit_test(passes_up_what_goes_wrong),
	};

	if (argc == 2 && !strcmp(argv[1], "symbols-worker"))
		return symbols_worker_main();
	if (system("python3 -c 'import json' 2>/dev/null")) {
		print_message("python3 is not here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
