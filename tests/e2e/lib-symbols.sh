# For the tests of symbols: a program whose allocating lines are all known, and what its backtraces say.
#
#   make_app            makes $T/app (stripped; with an argument it reads a byte before it ends), $T/app.full, and app.c beside them.
#                       Sets LINE_INNER LINE_MIDDLE LINE_OUTER LINE_MAIN
#   record_app          records $T/app as the last stream of $T/data
#   app_frames [ARG...] the frames of the app's 1000 blocks of 48 bytes, innermost first, as `ask export` with ARG has them:
#                       FUNCTION FILE:LINE [inline]
#   assert_named WHAT [ARG...]    they are those of the source, line by line; assert_nameless: none has a function
#   build_id FILE

make_app() {
	need gcc objcopy python3
	cat >"$T/app.c" <<-'C'
		#include <stdlib.h>
		#include <unistd.h>
		static void *blocks[1000];
		static inline __attribute__((always_inline)) void *inner(size_t size)
		{
			return malloc(size); /* INNER */
		}
		static inline __attribute__((always_inline)) void *middle(size_t size)
		{
			return inner(size); /* MIDDLE */
		}
		static __attribute__((noinline)) void outer(unsigned i)
		{
			blocks[i] = middle(48); /* OUTER */
		}
		int main(int argc, char **argv)
		{
			for (unsigned i = 0; i < 1000; i++)
				outer(i); /* MAIN */
			for (unsigned i = 0; i < 500; i++)
				free(blocks[i]);
			return argc > 1 && read(0, argv[1], 1) < 0;
		}
	C
	local mark
	for mark in INNER MIDDLE OUTER MAIN; do
		printf -v "LINE_$mark" %s "$(grep -n "/\* $mark \*/" "$T/app.c" | cut -d: -f1)"
	done
	gcc -g -O2 -fno-optimize-sibling-calls -Wl,--build-id "$T/app.c" -o "$T/app.full"
	objcopy --strip-all "$T/app.full" "$T/app"
}

record_app() {
	start_collector
	record "$T/app"
	wait_collector
}

app_frames() {
	ask export --format json --with-stacks last --size-min 48 --size-max 48 "$@" >"$T/app.json" 2>"$T/export.err" ||
		fail "export: $(cat "$T/export.err")"
	python3 - "$T/app.json" <<-'PYTHON'
		import json, sys
		seen = {}
		for line in open(sys.argv[1]):
		    a = json.loads(line)
		    app = [f for f in a["backtrace"] if f.get("library", "").endswith("/app")]
		    if len(app) < 2:
		        continue
		    text = "\n".join("%s %s:%s%s" % (f.get("function") or "-", f.get("source") or "-", f.get("line", 0),
		                                    " inline" if f.get("is_inline") else "") for f in app)
		    seen[text] = seen.get(text, 0) + 1
		text, count = max(seen.items(), key=lambda e: e[1])
		assert count == 1000, seen
		print(text)
	PYTHON
}

assert_named() {
	local what=$1 expected
	shift
	expected="inner $T/app.c:$LINE_INNER inline
middle $T/app.c:$LINE_MIDDLE inline
outer $T/app.c:$LINE_OUTER
main $T/app.c:$LINE_MAIN"
	assert_eq "frames $what" "$expected" "$(app_frames "$@" | grep -v -e '^_start ' -e '^- ')"
}

assert_nameless() {
	local what=$1
	shift
	assert_eq "named frames $what" "" "$(app_frames "$@" | grep -v '^- ' || true)"
}

build_id() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}
