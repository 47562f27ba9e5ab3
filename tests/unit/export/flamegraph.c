/*
 * The flame graph as a file: it is XML whatever the names are, nothing of a name becomes markup, its size is bounded.
 * `--write FILE` writes the sample that the browser test opens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collector/export/export.h"
#include "tests/unit/export/trees.h"

#define SQLITE "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0!"
#define LIBC   "/usr/lib/x86_64-linux-gnu/libc.so.6!"
#define CXX    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6!"
#define SHELL  "/usr/bin/sqlite3!"
#define RUN    SHELL "main;" SHELL "process_input;" SHELL "runOneSqlLine;" SHELL "shell_exec;" SQLITE

static const struct stack sample[] = {
	{RUN "sqlite3_step;" SQLITE "sqlite3VdbeExec;" SQLITE "sqlite3BtreeInsert;" SQLITE
	     "allocateBtreePage;" SQLITE "getPageNormal;" SQLITE "sqlite3PcacheFetchStress;" SQLITE
	     "pcache1FetchStage2;" SQLITE "pcache1AllocPage;" SQLITE "sqlite3Malloc;" SQLITE
	     "sqlite3MemMalloc",
	 5400000, 1318},
	{RUN "sqlite3_step;" SQLITE "sqlite3VdbeExec;" SQLITE "sqlite3VdbeSorterWrite;" SQLITE
	     "vdbeSorterSort;" SQLITE "sqlite3Malloc;" SQLITE "sqlite3MemMalloc",
	 2100000, 64},
	{RUN "sqlite3_step;" SQLITE "sqlite3VdbeExec;" SQLITE "sqlite3VdbeMemGrow;" SQLITE
	     "sqlite3DbMallocRaw;" SQLITE "sqlite3MemMalloc",
	 830000, 12009},
	{RUN "sqlite3_step;" SQLITE "sqlite3VdbeExec;" SQLITE "sqlite3_value_text;" SQLITE
	     "valueToText",
	 410000, 5008},
	{RUN "sqlite3_prepare_v2;" SQLITE "sqlite3LockAndPrepare;" SQLITE "sqlite3RunParser;" SQLITE
	     "yy_reduce;" SQLITE "sqlite3Select;" SQLITE "sqlite3WhereBegin;" SQLITE
	     "whereLoopAddBtree;" SQLITE "sqlite3DbMallocZero",
	 640000, 1604},
	{RUN "sqlite3_prepare_v2;" SQLITE "sqlite3LockAndPrepare;" SQLITE "sqlite3RunParser;" SQLITE
	     "parserStackRealloc",
	 120000, 210},
	{SHELL "main;" SHELL "process_input;" SHELL "local_getline;" LIBC "getline;" LIBC "realloc",
	 310000, 88},
	{SHELL "main;" SHELL "open_db;" SQLITE "sqlite3_open_v2;" SQLITE "openDatabase;" SQLITE
	       "sqlite3BtreeOpen;" SQLITE "sqlite3PagerOpen",
	 240000, 31},
	{SHELL "main;" CXX "std::map<std::__cxx11::basic_string<char>, std::vector<int> "
			   ">::operator[](std::string const&);" CXX
	       "operator new(unsigned long);" LIBC "malloc",
	 190000, 4100},
	{SHELL "main;" SHELL "<script>alert(1)</script>;" LIBC "strdup", 330000, 900},
	{SHELL "main;" SHELL "\"/><script>alert(2)</script>]]>&amp'%s%n", 260000, 90},
	{SHELL "main;bad \xff\xc0 and \x01\x1b[31m and \xef\xbf\xbf;[unknown+0x12]", 170000, 3},
	{LIBC "__libc_start_main;" LIBC "_IO_file_doallocate", 66000, 2},
	{"[truncated];" LIBC "calloc", 420000, 77},
};

static void make_sample(struct tree *tree)
{
	for (size_t i = 0; i < sizeof(sample) / sizeof(*sample); i++)
		tree_add(tree, sample[i].frames, sample[i].bytes, sample[i].blocks);
}

static void write_file(const char *path, const struct buf *out)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(out->data, 1, out->length, file), out->length);
	fclose(file);
}

static int write_sample(const char *path, bool inverted)
{
	struct flamegraph_options options = {.title = "sqlite3 --batch bench.db",
					     .subtitle =
						     "allocated in 12.4 s, process 4711 on board-7",
					     .inverted = inverted};
	struct tree tree = {0};
	struct buf out = {0};
	int error;

	make_sample(&tree);
	error = export_flamegraph(&tree, &options, &out, NULL);
	if (!error)
		write_file(path, &out);
	tree_release(&tree);
	buf_done(&out);
	return error;
}

/* Reads the file with python3's XML parser and prints what the script tells it to. */
static void ask_xml(const struct buf *out, const char *script, char *ret_text, size_t size)
{
	char path[] = "/tmp/heapcast-flamegraph-XXXXXX", command[4096];
	FILE *pipe;
	size_t length;

	close(mkstemp(path));
	write_file(path, out);
	snprintf(command, sizeof(command),
		 "python3 -c 'import sys,xml.etree.ElementTree as "
		 "E\nr=E.parse(sys.argv[1]).getroot()\nN=\"{http://www.w3.org/2000/svg}\"\n%s' %s",
		 script, path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	length = fread(ret_text, 1, size - 1, pipe);
	ret_text[length] = 0;
	assert_int_equal(pclose(pipe), 0);
	unlink(path);
}

static void is_xml_without_foreign_markup(void **state)
{
	struct flamegraph_options options = {.title = "<b>&\"'", .subtitle = "]]></text><script/>"};
	struct tree tree = {0};
	struct buf out = {0};
	char text[4096], want[32];

	(void)state;
	make_sample(&tree);
	snprintf(want, sizeof(want), "1 %zu\n", tree.count);
	assert_int_equal(export_flamegraph(&tree, &options, &out, NULL), 0);
	if (system("python3 -c 'import xml.etree' 2>/dev/null"))
		skip();
	ask_xml(&out,
		"print(len(list(r.iter(N+\"script\"))), len([f for f in r.iter(N+\"svg\") if "
		"f.get(\"class\")==\"f\"]))",
		text, sizeof(text));
	assert_string_equal(text, want);
	ask_xml(&out,
		"print([t.text.split(chr(10))[0] for t in r.iter(N+\"title\") if \"alert\" in "
		"t.text])",
		text, sizeof(text));
	assert_string_equal(
		text,
		"['<script>alert(1)</script>', '\"/><script>alert(2)</script>]]>&amp\\'%s%n']\n");
	ask_xml(&out,
		"print([ascii(t.text.split(chr(10))[0]) for t in r.iter(N+\"title\") if \"bad\" in "
		"t.text][0])",
		text, sizeof(text));
	assert_string_equal(text, "'bad \\ufffd\\ufffd and \\ufffd\\ufffd[31m and \\ufffd'\n");
	ask_xml(&out,
		"print(max(abs(float(f.get(\"x\")[:-1])+float(f.get(\"width\")[:-1])) for f in "
		"r.iter(N+\"svg\") if f.get(\"class\")) <= 100.001)",
		text, sizeof(text));
	assert_string_equal(text, "True\n");
	tree_release(&tree);
	buf_done(&out);
}

static void needs_nothing_from_outside(void **state)
{
	struct flamegraph_options options = {0};
	struct tree tree = {0};
	struct buf out = {0};
	const char *text;

	(void)state;
	tree_add(&tree, "f", 1, 1);
	assert_int_equal(export_flamegraph(&tree, &options, &out, NULL), 0);
	text = buf_text(&out);
	assert_null(strstr(text, "href"));
	assert_null(strstr(text, "url("));
	assert_null(strstr(text, "@import"));
	for (const char *at = text; (at = strstr(at, "http")); at++)
		assert_true(!strncmp(at, "http://www.w3.org/2000/svg\"", 27) ||
			    !strncmp(at, "http://www.w3.org/2000/svg'", 27) ||
			    !strncmp(at, "http://www.w3.org/1999/xhtml\"", 29));
	tree_release(&tree);
	buf_done(&out);
}

static void shows_an_empty_tree(void **state)
{
	struct flamegraph_options options = {
		.weight = EXPORT_BLOCKS, .width = 600, .inverted = true};
	struct tree_node root = {0};
	struct tree trees[] = {{0}, {&root, 1}};
	struct buf out = {0};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		buf_clear(&out);
		assert_int_equal(export_flamegraph(&trees[i], &options, &out, NULL), 0);
		assert_non_null(strstr(buf_text(&out), "nothing to show"));
	}
	buf_done(&out);
}

/* Appends a child by hand: the helper's search would take long here. */
static uint32_t put_node(struct tree *tree, uint32_t *last, uint32_t parent, const char *name,
			 uint64_t bytes)
{
	uint32_t node = (uint32_t)tree->count++;

	tree->nodes[node] = (struct tree_node){
		.function = name, .module = "/bin/program", .bytes = bytes, .blocks = 1};
	if (last[parent])
		tree->nodes[last[parent]].next_sibling = node;
	else
		tree->nodes[parent].first_child = node;
	last[parent] = node;
	return node;
}

static void write_and_weigh(const struct tree *tree, const char *what, size_t most_bytes)
{
	struct flamegraph_options options = {0};
	struct timespec start, end;
	struct buf out = {0};

	clock_gettime(CLOCK_MONOTONIC, &start);
	assert_int_equal(export_flamegraph(tree, &options, &out, NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	print_message("%s, %zu nodes: %zu bytes in %.3f s\n", what, tree->count, out.length,
		      (double)(end.tv_sec - start.tv_sec) +
			      (double)(end.tv_nsec - start.tv_nsec) / 1e9);
	assert_true(out.length < most_bytes);
	buf_done(&out);
}

/* 100,000 nodes of equal width, 1,000,000 in a row of their own, and a stack of 100,000. */
static void bounds_its_size(void **state)
{
	const size_t count = 1000001;
	struct tree tree = {.nodes = calloc(count, sizeof(*tree.nodes)), .count = 1};
	uint32_t *last = calloc(count, sizeof(*last));
	static const char name[] = "std::vector<some::name, std::allocator<some::name> "
				   ">::push_back(some::name const&)";

	(void)state;
	tree.nodes[0] = (struct tree_node){.bytes = 1000000, .blocks = 1};
	for (unsigned i = 0; i < 316; i++) {
		uint32_t node = put_node(&tree, last, 0, name, 3164);

		for (unsigned k = 0; k < 316; k++)
			put_node(&tree, last, node, name, 10);
	}
	write_and_weigh(&tree, "bushy", 8 << 20);
	memset(last, 0, count * sizeof(*last));
	tree.count = 1;
	for (size_t i = 1; i < count; i++)
		put_node(&tree, last, 0, name, 1);
	write_and_weigh(&tree, "flat", 1 << 20);
	memset(last, 0, count * sizeof(*last));
	tree.count = 1;
	for (uint32_t i = 0; i < 100000; i++)
		put_node(&tree, last, i, name, 1000000);
	write_and_weigh(&tree, "deep", 1 << 20);
	free(tree.nodes);
	free(last);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_xml_without_foreign_markup),
		cmocka_unit_test(needs_nothing_from_outside),
		cmocka_unit_test(shows_an_empty_tree),
		cmocka_unit_test(bounds_its_size),
	};

	if (argc >= 3 && !strcmp(argv[1], "--write"))
		return write_sample(argv[2], argc > 3);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
