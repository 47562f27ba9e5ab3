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
#include "collector/columns/row_block.h"
#include "collector/formats/write/writer.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "tests/unit/query/recording.h"

struct sums {
	uint64_t rows, size, ended, frames;
};

/* What a line names by its number stands in one line before it, and in no other. */
#define READ                                                                                       \
	"python3 -c 'import json,sys\n"                                                            \
	"frames, stacks, rows, used = {}, {}, [], set()\n"                                         \
	"for line in open(sys.argv[1]):\n"                                                         \
	"    o = json.loads(line)\n"                                                               \
	"    if \"frame_id\" in o:\n"                                                              \
	"        assert frames.setdefault(o.pop(\"frame_id\"), o) is o\n"                          \
	"    elif \"frames\" in o:\n"                                                              \
	"        assert o[\"backtrace_id\"] not in stacks\n"                                       \
	"        stacks[o[\"backtrace_id\"]] = [frames[f] for f in o[\"frames\"]]\n"               \
	"    else:\n"                                                                              \
	"        for part in (o, o.get(\"deallocation\", {})):\n"                                  \
	"            if \"backtrace_id\" in part:\n"                                               \
	"                used.add(part[\"backtrace_id\"])\n"                                       \
	"                part[\"backtrace\"] = stacks[part.pop(\"backtrace_id\")]\n"               \
	"        rows.append(o)\n"                                                                 \
	"assert used == set(stacks)\n"

static struct sums ask_python(const char *path)
{
	char command[2048];
	unsigned long long rows, size, ended, frames;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 READ
		 "assert [r[\"id\"] for r in rows] == sorted(set(r[\"id\"] for r in rows))\n"
		 "assert all(r[\"address_s\"].startswith(\"0x\") and r[\"kind\"] for r in rows)\n"
		 "assert all(r[\"deallocation\"][\"time_ns\"] >= r[\"time_ns\"] for r in rows if "
		 "\"deallocation\" in r)\n"
		 "print(len(rows), sum(r[\"size\"] for r in rows), sum(\"deallocation\" in r for r "
		 "in rows),"
		 " sum(len(r.get(\"backtrace\", [])) for r in rows))' %s",
		 path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%llu %llu %llu %llu", &rows, &size, &ended, &frames), 4);
	assert_int_equal(pclose(pipe), 0);
	return (struct sums){rows, size, ended, frames};
}

/* What is read of one is what the other has in itself. */
static void ask_python_same(const char *path, const char *with_stacks)
{
	char command[2048];

	snprintf(command, sizeof(command),
		 READ "for r in rows:\n"
		      "    r.setdefault(\"backtrace\", [])\n"
		      "assert rows == [json.loads(line) for line in open(sys.argv[2])]' %s %s",
		 path, with_stacks);
	assert_int_equal(system(command), 0);
}

static void write_rows(const struct test_recording *t, uint64_t count, bool with_stacks, char *path)
{
	struct writing writing = {.view = t->view,
				  .value = VALUE_ALLOCATED,
				  .at_ns = NO_TIME,
				  .count = count,
				  .with_stacks = with_stacks};
	void *export = NULL;
	struct filter filter;
	struct buf out = {0};
	FILE *file = fdopen(mkstemp(path), "w");
	int more = 1;

	assert_non_null(file);
	filter_init(&filter);
	writing.filter = &filter;
	assert_int_equal(json_writer.begin(&writing, &export, NULL), 0);
	while (more) {
		more = json_writer.some(export, 1000, &out, NULL);
		assert_true(more >= 0 && out.length < 100000);
		assert_int_equal(fwrite(out.data, 1, out.length, file), out.length);
		buf_clear(&out);
	}
	json_writer.free(export);
	filter_done(&filter);
	buf_done(&out);
	fclose(file);
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
	char path[] = "/tmp/heapcast-rows-XXXXXX", with_stacks[] = "/tmp/heapcast-rows-XXXXXX";
	struct test_recording t;
	struct sums have, want;

	(void)state;
	test_random_recording(&t, 7, 5000, false);
	write_rows(&t, UINT64_MAX, false, path);
	write_rows(&t, UINT64_MAX, true, with_stacks);
	have = ask_python(path);
	want = ask_store(t.recording);
	assert_int_equal(have.rows, want.rows);
	assert_int_equal(have.size, want.size);
	assert_int_equal(have.ended, want.ended);
	assert_int_equal(have.frames, want.frames);
	assert_true(want.rows > 1000 && want.ended > 100);
	ask_python_same(path, with_stacks);
	print_message("%lu allocations\n", (unsigned long)have.rows);
	test_close(&t);
	unlink(path);
	unlink(with_stacks);
}

static void writes_so_many(void **state)
{
	char path[] = "/tmp/heapcast-rows-XXXXXX";
	struct test_recording t;

	(void)state;
	test_random_recording(&t, 8, 5000, false);
	write_rows(&t, 700, false, path);
	assert_int_equal(ask_python(path).rows, 700);
	test_close(&t);
	unlink(path);
}

/* By some lines. */
static void says_how_much_it_will_be(void **state)
{
	void *export = NULL;
	struct test_recording t;
	struct filter filter;
	struct buf out = {0};
	uint64_t bytes;

	(void)state;
	test_random_recording(&t, 9, 5000, false);
	filter_init(&filter);
	for (unsigned with_stacks = 0; with_stacks < 2; with_stacks++) {
		const struct writing writing = {.view = t.view,
						.filter = &filter,
						.value = VALUE_ALLOCATED,
						.at_ns = NO_TIME,
						.tables = ROWS_ALLOCATIONS,
						.with_stacks = with_stacks,
						.count = UINT64_MAX};

		assert_int_equal(json_writer.begin(&writing, &export, NULL), 0);
		assert_int_equal(json_writer.estimate(export, &bytes, NULL), 0);
		buf_clear(&out);
		while (json_writer.some(export, SIZE_MAX, &out, NULL) > 0)
			continue;
		assert_in_range(bytes, out.length * 7 / 10, out.length * 13 / 10);
		json_writer.free(export);
	}
	filter_done(&filter);
	buf_done(&out);
	test_close(&t);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_what_the_store_has),
		cmocka_unit_test(writes_so_many),
		cmocka_unit_test(says_how_much_it_will_be),
	};

	if (argc == 2 && !strcmp(argv[1], "symbols-worker"))
		return symbols_worker_main();
	if (system("python3 -c 'import json' 2>/dev/null")) {
		print_message("python3 is not here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
