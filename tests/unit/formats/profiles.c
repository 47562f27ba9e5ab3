/* Call graphs and speedscope's files from trees made by hand: hostile names stay names, recursion
 * counts once, few functions are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collector/formats/write/export.h"
#include "collector/answers/weight.h"
#include "tests/unit/answers/trees.h"

#define HOSTILE "a\"]:b\\N\\\xff\x01}</script>"

/* Texts of a view are one each, which a tree made by hand has to imitate. */
static void share_texts(struct tree *tree)
{
	for (size_t i = 1; i < tree->count; i++)
		for (size_t k = 1; k < i; k++)
			if (tree->nodes[i].function != tree->nodes[k].function &&
			    !strcmp(tree->nodes[i].function, tree->nodes[k].function)) {
				free((void *)(uintptr_t)tree->nodes[i].function);
				tree->nodes[i].function = tree->nodes[k].function;
			}
}

static void release_shared(struct tree *tree)
{
	for (size_t i = tree->count; i-- > 1;)
		for (size_t k = 1; k < i; k++)
			if (tree->nodes[i].function == tree->nodes[k].function)
				tree->nodes[i].function = NULL;
	tree_release(tree);
}

static const char *callgraph(const struct tree *tree, uint32_t count, double percent_min,
			     struct buf *out)
{
	struct callgraph_options options = {
		.title = HOSTILE, .count = count, .percent_min = percent_min};

	buf_clear(out);
	assert_int_equal(export_callgraph(tree, &options, out, NULL), 0);
	return buf_text(out);
}

static unsigned count_of(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void draws_calls(void **state)
{
	struct tree tree = {0};
	struct buf out = {0};
	const char *text;

	(void)state;
	tree_add(&tree, "main;walk;walk;walk", 100, 1);
	tree_add(&tree, "main;walk;leaf", 50, 2);
	tree_add(&tree, "main;rare;leaf", 1, 1);
	share_texts(&tree);
	text = callgraph(&tree, 80, 0, &out);
	assert_non_null(strstr(text, "tooltip=\"walk: 100 itself, 150 in all\""));
	assert_non_null(strstr(text, "tooltip=\"leaf: 51 itself, 51 in all\""));
	assert_non_null(strstr(text, "tooltip=\"main: 0 itself, 151 in all\""));
	assert_int_equal(count_of(text, " -> "), 5);
	assert_non_null(strstr(text, "tooltip=\"100\"];")); /* walk -> walk */
	assert_int_equal(count_of(text, "style=dotted"), 0);
	text = callgraph(&tree, 80, 5, &out);
	assert_null(strstr(text, "rare"));
	assert_int_equal(count_of(text, "style=dotted"), 1); /* main ..> leaf */
	text = callgraph(&tree, 2, 0, &out);
	assert_int_equal(count_of(text, "\nN0 [") + count_of(text, "\nN1 [") +
				 count_of(text, "\nN2 [") + count_of(text, "\nN3 ["),
			 2);
	release_shared(&tree);
	buf_done(&out);
}

/* Of each line, the quotes that no backslash takes the meaning from come in pairs. */
static void quotes_names(void **state)
{
	struct tree tree = {0};
	struct buf out = {0};
	const char *text;
	bool open = false;

	(void)state;
	tree_add(&tree, HOSTILE "!" HOSTILE ";" HOSTILE, 100, 1);
	for (text = callgraph(&tree, 80, 0, &out); *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (*text == '"')
			open = !open;
		if (*text == '\n')
			assert_false(open);
		assert_true(*text == '\n' || (uint8_t)*text >= ' ');
	}
	assert_null(strstr(buf_text(&out), "b\\N"));
	tree_release(&tree);
	buf_done(&out);
}

static void of_nothing(void **state)
{
	struct tree_node root = {0};
	struct tree trees[] = {{0}, {.nodes = &root, .count = 1}};
	struct buf out = {0};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_non_null(strstr(callgraph(&trees[i], 80, 0.5, &out), "digraph"));
		buf_clear(&out);
		assert_int_equal(export_speedscope(&trees[i], NULL, NULL, EXPORT_BYTES, &out, NULL),
				 0);
		assert_non_null(strstr(buf_text(&out), "\"endValue\":0"));
	}
	buf_done(&out);
}

static void speedscope_is_json(void **state)
{
	char path[] = "/tmp/heapcast-speedscope-XXXXXX", command[1024], text[256];
	struct tree tree = {0};
	struct buf out = {0};
	FILE *pipe, *file;

	(void)state;
	if (system("python3 -c 'import json' 2>/dev/null"))
		skip();
	tree_add(&tree, HOSTILE ";leaf", 100, 1);
	tree_add(&tree, HOSTILE, 20, 3);
	assert_int_equal(export_speedscope(&tree, HOSTILE, "", EXPORT_BLOCKS, &out, NULL), 0);
	file = fdopen(mkstemp(path), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(out.data, 1, out.length, file), out.length);
	fclose(file);
	snprintf(command, sizeof(command),
		 "python3 -c 'import "
		 "sys,json\nf=json.load(open(sys.argv[1]))\nprint(f[\"activeProfileIndex\"], "
		 "[(p[\"samples\"],p[\"weights\"],p[\"endValue\"]) for p in f[\"profiles\"]], "
		 "len(f[\"shared\"][\"frames\"]), f[\"name\"][:3])' %s",
		 path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	text[fread(text, 1, sizeof(text) - 1, pipe)] = 0;
	assert_int_equal(pclose(pipe), 0);
	unlink(path);
	assert_string_equal(
		text, "1 [([[0], [0, 1]], [20, 100], 120), ([[0], [0, 1]], [3, 1], 4)] 2 a\"]\n");
	tree_release(&tree);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_calls),
		cmocka_unit_test(quotes_names),
		cmocka_unit_test(of_nothing),
		cmocka_unit_test(speedscope_is_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
