/*
 * The tree as columns: JSON whatever the names are, each string and frame once, and what is left
 * out stays in the sums of those above. python3 reads what is written.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collector/answers/json.h"
#include "collector/answers/results.h"
#include "tests/unit/answers/trees.h"

#define HOSTILE "a\"]:b\\N\\\xff\xc0\x01\x1b[31m\xef\xbf\xbf}</script>"

static const struct stack sample[] = {
	{"app!main;app!load;libc!malloc", 500, 5},
	{"app!main;app!load", 100, 1},
	{"app!main;app!" HOSTILE ";libc!malloc", 300, 3},
	{"app!main;app!load;app!main;libc!malloc", 40, 2},
	{"app!main;app!\xf0\x9f\x98\x80;\xed\xa0\x80", 40, 2},
	{HOSTILE "!start;[truncated]", 7, 7},
};

static const atomic_bool never;

/* Reads the answer as `d`, with lists of `parent` and `name` by node, runs the script, and expects
 * "good". */
static void check(uint64_t count, const char *script)
{
	static const char head[] =
		"import json,sys\n"
		"d=json.load(open(sys.argv[1],encoding=\"utf-8\"))\n"
		"n=d[\"nodes\"];f=d[\"frames\"];s=d[\"strings\"];path=[];parent=[];name=[]\n"
		"for i,depth in enumerate(n[\"depth\"]):\n"
		" path[depth:]=[i];parent.append(path[depth-1] if depth else -1)\n"
		" name.append(s[f[\"function\"][n[\"frame\"][i]]] if i else None)\n"
		"own=[b-sum(c for c,p in zip(n[\"bytes\"],parent) if p==i) for i,b in "
		"enumerate(n[\"bytes\"])]\n"
		"assert min(own)>=0 and sum(own)==n[\"bytes\"][0]==987,own\n"
		"assert s[0]==\"\" and len(set(s))==len(s),s\n"
		"rows=list(zip(*(f[k] for k in "
		"(\"function\",\"file\",\"line\",\"module\",\"inline\"))))\n"
		"assert len(set(rows))==len(rows)==len(set(n[\"frame\"]))-1,rows\n";
	char path[] = "/tmp/heapcast-flame.XXXXXX", command[4096], said[64] = "";
	const struct usage total = {.bytes = 987, .blocks = 20};
	struct flame_options options = {.total = &total, .count = count, .cancelled = &never};
	struct tree tree = {0};
	struct buf out = {0};
	struct json json;
	FILE *pipe;
	int fd = mkstemp(path);

	for (size_t i = 0; i < sizeof(sample) / sizeof(*sample); i++)
		tree_add(&tree, sample[i].frames, sample[i].bytes, sample[i].blocks);
	json_init(&json, &out);
	json_object(&json, NULL);
	assert_int_equal(json_flame(&json, &tree, &options), 0);
	json_end(&json, '}');
	assert_int_equal(write(fd, out.data, out.length), (ssize_t)out.length);
	close(fd);
	snprintf(command, sizeof(command), "python3 -c '%s%s\nprint(\"good\")' %s", head, script,
		 path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(said, sizeof(said), pipe));
	assert_string_equal(said, "good\n");
	pclose(pipe);
	unlink(path);
	buf_done(&out);
	tree_release(&tree);
}

static void has_all(void **state)
{
	(void)state;
	check(UINT64_MAX, "assert d[\"cut\"]==0 and len(name)==12,d\n"
			  "assert n[\"depth\"][:4]==[0,1,2,3] and n[\"frame\"][0]==-1,n\n"
			  "assert sum(1 for x in name if x and \"</script>\" in x)==1,name\n"
			  "assert name.count(\"main\")==2 and \"\\U0001f600\" in name,name\n"
			  "assert d[\"total\"]=={\"bytes\":987,\"blocks\":20},d[\"total\"]");
}

static void leaves_out_the_lightest(void **state)
{
	(void)state;
	/* Of those with 40 bytes there are four, two in two ways: the first ones are kept. */
	check(7, "assert d[\"cut\"]==5 and len(name)==7 and min(n[\"bytes\"])==40,(d[\"cut\"],n)\n"
		 "assert name.count(\"main\")==2,name");
	check(2, "assert d[\"cut\"]==10 and name==[None,\"main\"] and n[\"bytes\"]==[987,980],n");
	check(1, "assert d[\"cut\"]==11 and name==[None] and s==[\"\"],d");
	check(0, "assert d[\"cut\"]==11 and name==[None],d");
}

static void says_what_has_no_callers_yet(void **state)
{
	struct tree tree = {0}, reversed;
	const struct usage total = {0};
	struct flame_options options = {.total = &total, .count = 3, .cancelled = &never};
	struct buf out = {0};
	struct json json;

	(void)state;
	tree_add(&tree, "main;read;take", 300, 1);
	tree_add(&tree, "main;write", 20, 1);
	/* The root and `take` are walked, `write` has its caller left. */
	assert_int_equal(tree_reversed(&tree, 1, 1, 1, &reversed), 0);
	json_init(&json, &out);
	json_object(&json, NULL);
	assert_int_equal(json_flame(&json, &reversed, &options), 0);
	json_end(&json, '}');
	/* take, read; left out: write, and callers of read and of write. */
	assert_non_null(strstr(buf_text(&out), "\"cut\":3,"));
	assert_non_null(strstr(buf_text(&out), "\"bytes\":[320,300,300]"));
	tree_done(&reversed);
	tree_release(&tree);
	buf_done(&out);
}

static void ends_when_nobody_asks(void **state)
{
	const atomic_bool asked = true;
	const struct usage total = {0};
	struct flame_options options = {.total = &total, .count = 1u << 20, .cancelled = &asked};
	struct tree tree = {.nodes = calloc(5001, sizeof(*tree.nodes)), .count = 5001};
	struct buf out = {0};
	struct json json;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		tree.nodes[i] = (struct tree_node){.first_child = i + 1, .bytes = 1};
	json_init(&json, &out);
	json_object(&json, NULL);
	assert_int_equal(json_flame(&json, &tree, &options), -ECANCELED);
	free(tree.nodes);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_all),
		cmocka_unit_test(leaves_out_the_lightest),
		cmocka_unit_test(says_what_has_no_callers_yet),
		cmocka_unit_test(ends_when_nobody_asks),
	};

	if (system("python3 -c 'import json' 2>/dev/null")) {
		print_message("no python3\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
