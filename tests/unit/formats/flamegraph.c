/*
 * The flame graph as a file: it is XML whatever the names are, nothing of a name becomes markup,
 * its size is bounded. `--write FILE` writes the sample that the browser test opens.
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
#include "collector/formats/write/export.h"
#include "collector/answers/weight.h"
#include "tests/unit/answers/trees.h"

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
	       ">::operator[](std::string const&);" CXX "operator new(unsigned long);" LIBC
	       "malloc",
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

#define MANY 50000

/* A tree of MANY frames: each hangs below one of the last `reach` before it, and has up to `most`
 * bytes itself. */
static void grow_tree(struct tree *tree, uint32_t reach, uint32_t most)
{
	uint32_t *parent = calloc(MANY + 1, sizeof(*parent)),
		 *last = calloc(MANY + 1, sizeof(*last));
	uint64_t random = 1;

	tree->nodes = calloc(MANY + 1, sizeof(*tree->nodes));
	tree->count = MANY + 1;
	for (uint32_t i = 1; i <= MANY; i++) {
		uint32_t nearest = i > reach ? i - reach : 0;
		char name[64];

		random = random * 6364136223846793005u + 1442695040888963407u;
		parent[i] = nearest + (uint32_t)(random >> 33) % (i - nearest);
		snprintf(name, sizeof(name), "%s_fun%u", i % 7 ? "parse" : "std::vector<int>::load",
			 i % 3000);
		tree->nodes[i] = (struct tree_node){
			.function = strdup(name),
			.module = strdup(i % 3 ? "/usr/bin/program" : "/usr/lib/libpart.so.1"),
			.self_bytes = 1 + (random >> 40) % most,
			.self_blocks = 1};
		if (last[parent[i]])
			tree->nodes[last[parent[i]]].next_sibling = i;
		else
			tree->nodes[parent[i]].first_child = i;
		last[parent[i]] = i;
	}
	for (uint32_t i = MANY + 1; i-- > 0;) {
		tree->nodes[i].bytes += tree->nodes[i].self_bytes;
		tree->nodes[i].blocks += tree->nodes[i].self_blocks;
		if (i) {
			tree->nodes[parent[i]].bytes += tree->nodes[i].bytes;
			tree->nodes[parent[i]].blocks += tree->nodes[i].blocks;
		}
	}
	free(parent);
	free(last);
}

/* MANY frames in 50 rows, each as wide as the next. */
static void pave_tree(struct tree *tree)
{
	const uint32_t across = MANY / 50;

	tree->nodes = calloc(MANY + 1, sizeof(*tree->nodes));
	tree->count = MANY + 1;
	tree->nodes[0] =
		(struct tree_node){.bytes = across * 1000, .blocks = across, .first_child = 1};
	for (uint32_t i = 1; i <= MANY; i++) {
		char name[32];

		snprintf(name, sizeof(name), "fun%u", i);
		tree->nodes[i] =
			(struct tree_node){.function = strdup(name),
					   .module = strdup("/usr/bin/program"),
					   .bytes = 1000,
					   .blocks = 1,
					   .first_child = i + across <= MANY ? i + across : 0,
					   .next_sibling = i < across ? i + 1 : 0};
	}
}

static int write_sample(const char *path, const char *kind)
{
	struct flamegraph_options options = {.title = "sqlite3 --batch bench.db",
					     .subtitle =
						     "allocated in 12.4 s, process 4711 on board-7",
					     .inverted = !strcmp(kind, "inverted")};
	struct tree tree = {0};
	struct buf out = {0};
	int error;

	if (!strcmp(kind, "many"))
		grow_tree(&tree, 900, 1000);
	else if (!strcmp(kind, "wide"))
		pave_tree(&tree);
	else
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
		"print(len(list(r.iter(N+\"script\"))), len([f for f in r.iter(N+\"g\") if "
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
		"r.iter(N+\"rect\") if f.get(\"y\") and f.get(\"x\",\"\")[-1:]==\"%\") <= 100.001)",
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
	struct tree trees[] = {{0}, {.nodes = &root, .count = 1}};
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

/* Frames that are too narrow at first are there as JSON, whatever their names are; `total` is the
 * whole, and texts are numbered. */
static void keeps_narrow_frames(void **state)
{
	struct flamegraph_options options = {0};
	struct tree tree = {0};
	struct buf out = {0};
	char text[512];

	(void)state;
	if (system("python3 -c 'import xml.etree' 2>/dev/null"))
		skip();
	tree_add(&tree, "main;wide", 100000000, 1);
	tree_add(&tree, "main;/lib/a.so!narrow]]><b>&\"\\ \xff;below", 9, 3);
	assert_int_equal(export_flamegraph(&tree, &options, &out, NULL), 0);
	ask_xml(&out,
		"import json\nm=json.loads(r.find(N+\"metadata\").text)\nf=m[\"frames\"]\n"
		"print(m[\"total\"], *[m[\"texts\"][f[i+4]].encode(\"unicode_escape\").decode() "
		"for i in (0,10)], f[0:3], "
		"f[8:10], f[10:13], "
		"len([e for e in r.iter(N+\"g\") if e.get(\"class\")]))",
		text, sizeof(text));
	assert_string_equal(text, "100000009 narrow]]><b>&\"\\\\ \\ufffd below "
				  "[2, 100000000, 9] [9, 3] [3, 100000000, 9] 3\n");
	tree_release(&tree);
	buf_done(&out);
}

static void shows_what_has_changed(void **state)
{
	/* root, main, grown, shrunk */
	struct tree_change changes[] = {
		{70, 2, 90, 3}, {70, 2, 90, 3}, {10, 1, 60, 2}, {60, 1, 30, 1}};
	struct flamegraph_options options = {.changes = changes};
	struct tree tree = {0};
	struct buf out = {0};
	const char *text;

	(void)state;
	tree_add(&tree, "main;grown", 60, 2);
	tree_add(&tree, "main;shrunk", 60, 1);
	assert_int_equal(export_flamegraph(&tree, &options, &out, NULL), 0);
	text = buf_text(&out);
	assert_non_null(strstr(
		text,
		"<title>grown\n+50 B\nnow 60 B (60 bytes) in 2 blocks\nbefore "
		"10 B (10 bytes) in 1 block</title>"
		"<rect x=\"0.0000%\" width=\"50.0000%\" y=\"88\" height=\"16\" class=\"d7\"/>"));
	assert_non_null(strstr(
		text,
		"<title>shrunk\n-30 B\nnow 30 B (30 bytes) in 1 block\nbefore "
		"60 B (60 bytes) in 1 block</title>"
		"<rect x=\"50.0000%\" width=\"50.0000%\" y=\"88\" height=\"16\" class=\"d2\"/>"));
	assert_non_null(strstr(
		text, "before 70 B (70 bytes) in 2 blocks, now 90 B (90 bytes) in 3 blocks"));
	tree_release(&tree);
	buf_done(&out);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_xml_without_foreign_markup),
		cmocka_unit_test(needs_nothing_from_outside),
		cmocka_unit_test(shows_an_empty_tree),
		cmocka_unit_test(bounds_its_size),
		cmocka_unit_test(keeps_narrow_frames),
		cmocka_unit_test(shows_what_has_changed),
	};

	if (argc >= 3 && !strcmp(argv[1], "--write"))
		return write_sample(argv[2], argc > 3 ? argv[3] : "");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
