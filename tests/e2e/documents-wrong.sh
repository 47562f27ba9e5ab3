#!/bin/bash
# What e2e.documents has to find, and what it has to allow. It finds a command and an option that are not there, in
# blocks and in the text. It finds a command that fails, an answer of another shape, a block that is no command and does
# not say so, and a link that leads nowhere.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-documents.sh"
[ "$inside" = namespace ] || skip "no network namespace"
mkdir book work
for name in deploy docs tests; do ln -s "$ROOT/$name" "book/$name"; done

# read_it NAME [--check]: looks at book/NAME.md, adds to NAME.out, and to how many lines are wrong.
read_it() {
	# shellcheck disable=SC2086
	python3 "$TEST_SOURCE/documents/run.py" ${2:-} "$BUILD" "$PWD/book" "$T/work/$1" "$1.md" >>"$1.out" 2>&1 || true
}
wrong_lines() { grep -c '^WRONG' "$1.out" || true; }

# ---- names, without running ----

cat >book/names.md <<'END'
    heapcast reprot last

Say `heapcast top last --cuont 3`, or `--nothing-of-the-kind 3`. But `agent was killed` is no command, and `--count` is there.

<!-- not run: why not -->

    board$ heapcast agent serve --spoool x

See [nothing](docs/nothing.md), [nothing](docs/faq.md#nothing), and [something](docs/faq.md#recording).

    deploy/nothing --at all

A text.

    some output
    $ heapcast list
END
sed -i "s/nothing-of-the-kind/nothing-of-$$/" book/names.md # or this file would have it
read_it names --check
assert_contains "names.md" names.out "there is no command 'heapcast reprot'" "'heapcast top' has no option --cuont" \
	"no command has an option --nothing-of-$$" "'heapcast agent serve' has no option --spoool" "the link docs/nothing.md leads nowhere" \
	"docs/faq.md has no heading #nothing" "there is no deploy/nothing" "output stands in front of every command"
assert_eq "lines of names.md that are wrong" 8 "$(wrong_lines names)"

# ---- what is run ----

cat >book/runs.md <<'END'
    heapcast report nowhere

<!-- short: the rest is another matter -->

    $ heapcast leaks last
    Never freed: 8.1 MiB in 16 blox

A text.

    $ printf '%s\n' one more
    one

A text.

    $ echo one
    one
    two

A text.

    a ----> b

A text.

    $ test 1 = 2

A text.

    select nope from allocations;
END
read_it runs
assert_contains "runs.md" runs.out "ends with 2: heapcast report nowhere" 'no line like "Never freed: 7 in 7 blox"' \
	'printed, and not shown: "more"' 'no line like "two"' "is no command; in front of the block, say" "ends with 1: test 1 = 2" \
	"no such column: nope"
assert_eq "blocks of runs.md that are wrong" 7 "$(wrong_lines runs)"

# ---- what is right ----

cat >book/right.md <<'END'
<!-- no command: a drawing -->

    a ----> b

<!-- file: named.rules -->

    my_*

<!-- ends with 1: it does leak -->

    $ heapcast leaks last --hide-rules named.rules 2>&1 | grep -c .
    7
    $ heapcast leaks last --fail-if 'leaked_bytes > 0' >gate

    $ printf '%s\n' 'pid 4, 12.5 MiB in /tmp/x/y' '  1 KiB row' '  22 B row' last
    pid 123, 1 KiB in /home/me
        3 KiB row
    ...
    $ export NAME=kept; cd .
    $ printf '{"a":%d,"b":"%s"}\n' 3 "$NAME"
    {"a":12,
     "b":"kept"}
    board$ test "$(pwd)" != "$NAME" && ls agent
    agent

    select count(*) from allocations;

    $ heapcast gather --http 127.0.0.1:8080
    board$ ./agent run --announce -q -- ./your-program
    $ heapcast list | grep -c your-program
    1
END
read_it right --check
read_it right
[ "$(wrong_lines right)" = 0 ] || fail "right.md: $(cat right.out)"
assert_contains "right.md" right.out "3 blocks run, 0 not run, 2 are no commands"
