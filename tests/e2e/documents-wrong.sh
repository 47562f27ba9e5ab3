#!/bin/bash
# What e2e.documents is to find: a command and an option that are not there, in blocks and in the text, a command that fails, an
# answer of another shape, a block that is no command and does not say so, a mark of a block that is gone. And what it is to allow.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-documents.sh"
[ "$inside" = namespace ] || skip "no network namespace"
mkdir book work
for name in deploy docs tests; do ln -s "$ROOT/$name" "book/$name"; done

# said TEXT: document D of the standard input is found wrong, with this text; right: it is not.
read_it() {
	local how
	cat >"book/$1.md"
	status=0
	for how in --check ""; do
		# shellcheck disable=SC2086
		python3 "$TEST_SOURCE/documents/run.py" $how "$BUILD" "$PWD/book" "$T/work/$1" "$1.md" >>"$1.out" 2>&1 || status=1
	done
}
wrong() {
	read_it "$1"
	assert_eq "status of $1" 1 $status
	assert_contains "$1" "$1.out" "$2"
}
right() {
	read_it "$1"
	[ "$status" = 0 ] || fail "$1: $(cat "$1.out")"
}

wrong command "there is no command 'heapcast reprot'" <<'END'
    heapcast reprot last
END
wrong option "'heapcast top' has no option --cuont" <<'END'
Say `heapcast top last --cuont 3`.
END
wrong lone "no command has an option --nothing-of-the-kind-$$" <<END
Say \`--nothing-of-the-kind-$$ 3\`.
END
wrong not-run "'heapcast agent serve' has no option --spoool" <<'END'
<!-- not run: why not -->

    board$ heapcast agent serve --spoool x
END
wrong script "there is no deploy/nothing" <<'END'
    deploy/nothing --at all
END
wrong fails "ends with 2: heapcast report nowhere" <<'END'
    heapcast report nowhere
END
wrong shape 'no line like "Never freed: 7 in 7 blox"' <<'END'
<!-- short: the rest is another matter -->

    $ heapcast leaks last
    Never freed: 8.1 MiB in 16 blox
END
wrong more 'printed, and not shown: "more"' <<'END'
    $ printf '%s\n' one more
    one
END
wrong less 'no line like "two"' <<'END'
    $ echo one
    one
    two
END
wrong drawing "is no command; in front of the block, say" <<'END'
    a ----> b
END
wrong answer "output stands in front of every command" <<'END'
    some output
    $ heapcast list
END
wrong question "no such column: nope" <<'END'
    select nope from allocations;
END

right allowed <<'END'
`heapcast top last -n 3`, `--count`; `agent was killed` is no command.

<!-- no command: a drawing -->

    a ----> b

<!-- file: named.rules -->

    my_*

<!-- ends with 1: it does leak -->

    $ heapcast leaks last --hide-rules named.rules 2>&1 | grep -c .
    7
    $ heapcast leaks last --fail-if 'leaked_bytes > 0' >gate

    $ printf '%s\n' 'pid 4, 12.5 MiB in /tmp/x/y' '  1 KiB row' '  22 B row' last '{"a":3}'
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
assert_contains "what was run" allowed.out "3 blocks run, 0 not run, 2 are no commands"
wrong status "ends with 1: test 1 = 2" <<'END'
    $ test 1 = 2
END
