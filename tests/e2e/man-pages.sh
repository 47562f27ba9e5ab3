#!/bin/bash
# The manual says what the programs say of themselves, no more and no less. It renders without a warning in 80 columns.
# Its references lead somewhere, and its examples work.
. "$(dirname "$0")/lib.sh"
need groff perl col
export LC_ALL=C.UTF-8
MAN=$ROOT/docs/man

unescaped() { sed -E 's/\\-/-/g; s/\\f.//g; s/\\\(aq/'"'"'/g; s/\\\(dq/"/g; s/\\\(ha/^/g; s/\\\(ti/~/g; s/\\e/\\/g' "$@"; }
same() { cmp -s "$2" "$3" || fail "$1: $(diff "$2" "$3")"; }

mkdir rendered
for page in "$MAN"/*.[1-9]; do
	groff -Kutf8 -mandoc -Tutf8 -ww -rLL=80n "$page" 2>warnings | col -bx >"rendered/${page##*/}"
	[ ! -s warnings ] || fail "groff: $(cat warnings)"
done

# ---- what programs say and pages do not, and the other way round ----

"$MAN/update" --check "$BUILD" >stale || fail "$(cat stale)"

commands_of() { "$@" --help | awk '/^(To begin|First steps)/ { exit } /^  [a-z]+  +/ && !/not in this version/ { print $1 }'; }
options_in() { sed -nE 's/^ {2,6}(-[a-z], )?--([a-z0-9-]+).*/\2/p' "$1" | sort -u; }
narrow() { [ "$(wc -L <help)" -le 80 ] || fail "$* --help is wider than 80 columns: $(grep -E '.{81}' help)"; }

# A page for each command of `heapcast`, and of `heapcast agent`, where `heapcast` does not have it under the same name.
HEAPCAST=$BUILD/bin/heapcast
"$HEAPCAST" --help >help
narrow heapcast
"$HEAPCAST" agent --help >help
narrow heapcast agent
{
	commands_of "$HEAPCAST"
	commands_of "$HEAPCAST" agent | sed -E '/^(run|attach)$/d; s/^/agent /'
} | sort >commands
[ "$(grep -c . commands)" -ge 30 ] || fail "heapcast --help lists few commands: $(cat commands)"
find "$MAN" -name "heapcast-*.1" | sed -E 's/.*heapcast-(.*)\.1/\1/; s/^agent-/agent /' | sort >pages
same "commands of heapcast and their pages" commands pages
mkdir options-of
while read -r -a command; do
	[ "${command[*]}" != agent ] || continue
	what="heapcast ${command[*]}" name=heapcast-$(tr ' ' - <<<"${command[*]}")
	page=$MAN/$name.1 options=options-of/$name
	"$HEAPCAST" "${command[@]}" --help >help
	options_in help >"$options"
	sed -n '/^\.Sh OPTIONS/,/^\.Sh [^O]/p' "$page" | unescaped | sed -nE 's/^\.It "(-[a-z], )?--([a-z0-9-]+).*/\2/p' | sort -u >described
	[ -s "$options" ] || fail "$what --help lists no options"
	same "options of $what" "$options" described
	narrow "$what"
	if grep -n ' $' help >&2; then fail "$what --help has blanks at the end of a line"; fi
	sed '/^$/,$d' help | tr -s ' \n' ' ' | sed -E 's/^(Usage: )?//; s/ $//' >usage
	sed -n '/^SYNOPSIS/,/^DESCRIPTION/p' "rendered/$name.1" | sed '1d;$d' | tr -s ' \n' ' ' | sed 's/^ //; s/ $//' >synopsis
	same "synopsis of $what" usage synopsis
done <commands

# The title of a page is its file's name.
for page in "$MAN"/*.[1-9]; do
	name=${page##*/}
	grep -qixF ".Dt ${name%.*} ${name##*.}" "$page" || fail "$name: $(grep '^\.Dt' "$page")"
done

# The header and its page.
sed -nE '/^[a-z].*HEAPCAST_WEAK;$/{s/ HEAPCAST_WEAK;//p}' "$ROOT/agent/preload/heapcast.h" | sort >prototypes
[ "$(wc -l <prototypes)" -ge 12 ] || fail "heapcast.h: too few prototypes were found"
sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESC/p' "$MAN/libheapcast.3" | perl -ne '$type = $1 if /^\.Ft (.*)/; next unless /^\.Fn (\w+) (.*)/;
	my ($name, $rest) = ($1, $2); my @a = $rest =~ /"/ ? $rest =~ /"([^"]*)"/g : $rest;
	print "$type $name(", join(", ", @a), ")\n"' | sort >described
same "heapcast.h and libheapcast.3" prototypes described
while read -r name; do
	grep -q "^\.It.* Fn $name\b" "$MAN/libheapcast.3" || fail "libheapcast.3 does not explain $name"
done < <(sed -E 's/.* (\w+)\(.*/\1/' prototypes)

# Options and variables that a text speaks of are there.
{ cat options-of/*; printf '%s\n' help version variables name no-name; } | sort -u >options
named_in() { # the options that a page speaks of
	unescaped "$@" | perl -ne 'next unless /^\.(It|Pq|Nm|Op|Sh|Fl)?.*Fl /; s/.*Fl //; print map { /^-([a-z][a-z-]*)/ ? "$1\n" : () } split / , /' | sort -u
}
named_in "$MAN"/*.[1-9] | comm -23 - options >unknown
[ ! -s unknown ] || fail "pages speak of options that are not there: $(paste -sd' ' unknown)"
variables() { grep -ohE '\bHEAPCAST_[A-Z0-9_]*[A-Z0-9]\b' | sort -u; }
sed -nE 's/^\.It Ev ([A-Z0-9_]+)$/\1/p; /\\fBHEAPCAST_/{s/\\f[BR]/ /g; p}' "$MAN/heapcast-environment.7" | variables >explained
cat "$MAN"/*.[1-9] | variables | comm -23 - explained >unknown
[ ! -s unknown ] || fail "heapcast-environment.7 does not explain $(paste -sd' ' unknown), pages speak of them"

# References lead to a page, here or in the usual system.
grep -hE '^\.(It )?Xr |No of Xr ' "$MAN"/*.[1-9] | sed -E 's/.*Xr ([^ ]+) ([0-9]).*/\1.\2/' | sort -u >references
while read -r page; do
	case $page in clone.2 | execve.2 | futex.2 | prctl.2 | seccomp.2 | syscall.2 | wait4.2 | proc.5 | ld.so.8 | systemctl.1) ;; *) [ -e "$MAN/$page" ] || fail "there is no page $page" ;; esac
done <references

# ---- how they look ----

for page in "$MAN"/*.[1-9]; do
	name=${page##*/}
	[ "$(wc -L <"rendered/$name")" -le 80 ] || fail "$name is wider than 80 columns: $(grep -E '.{81}' "rendered/$name")"
	if command -v mandoc >/dev/null; then
		mandoc -T lint -W style "$page" 2>&1 | grep -vE 'referenced manual not found|mandoc\.db' >warnings || true
		[ ! -s warnings ] || fail "$(cat warnings)"
	fi
	# A dash that is no minus can't be copied from a terminal.
	sed -n '/^\.Bd -literal/,/^\.Ed/p' "$page" | grep -v '^\.' | grep -nE "(^|[^\\])[-'\`^~]" >wrong && fail "$name: write \\-, \\(aq, \\(ga, \\(ha, \\(ti in: $(cat wrong)"
done

# ---- examples ----

PATH=$BUILD/bin:$PATH
unset HEAPCAST_CONFIG
start_collector
"$AGENT" run --announce --interface lo --quiet --gather-maps -- sort < <(sleep 0.5; cat /etc/passwd) >out # long enough for a look at its maps
wait_collector
mv data heapcast-data
cp heapcast-data/streams/*/recording.heapcast first.heapcast
cp first.heapcast heapcast_sort_1_1.heapcast
cp first.heapcast maps.heapcast

known_options() { # NAME WORD...
	local word name=$1
	shift
	for word; do
		case $word in
		--) return 0 ;; # behind it is a command of its own
		--[a-z]*) grep -qx -e "$(sed -E 's/^--([a-z0-9-]+).*/\1/' <<<"$word")" "options-of/$name" || fail "$name has no $word" ;;
		esac
	done
}

# One line of an example, without its prompt.
try() {
	local words i
	eval "words=(${1%%[|>&]*})"
	case "${words[0]} ${words[1]:-} ${words[2]:-}" in
	"heapcast run "*)
		for ((i = 0; i < ${#words[@]}; i++)); do [ "${words[i]}" != -- ] || break; done
		assert_status 0 "${words[@]:0:i}" --help >out
		case $1 in *--announce* | *--collector* | *--pair*) ;; *) assert_status 0 "${words[@]}" >out 2>err ;; esac
		;;
	"heapcast attach "*) assert_status 0 "${words[@]}" --help >out ;;
	"heapcast agent serve") assert_status 0 "${words[@]}" --check-config >out ;;
	"heapcast agent "*) known_options "heapcast-agent-${words[2]}" "${words[@]}" ;;
	"heapcast decompress "* | "heapcast gather "* | "heapcast serve "* | "heapcast page "* | "heapcast ctl "* | "heapcast snapshot "* | "heapcast pair "* | "heapcast pairs "*)
		known_options "heapcast-${words[1]}" "${words[@]}"
		;;
	heapcast\ *)
		case $1 in *" snapshot:"* | *" --live"* | *" fleet "* | *" --store "*) known_options "heapcast-${words[1]}" "${words[@]}" ;; *) assert_status 0 "${words[@]}" >out ;; esac
		;;
	agent\ * | collector\ *) fail "an example by a former name: $1" ;;
	*) return 0 ;;
	esac
	tried=$((tried + 1))
}
tried=0
for page in "$MAN"/*.[1-9]; do
	find . -name 'heapcast_sort_*' ! -name heapcast_sort_1_1.heapcast -delete # what the page before has recorded
	touch heapcast-data/streams/*/recording.heapcast                          # is not `last` for this one
	sed -n '/^\.Bd -literal/,/^\.Ed/p' "$page" | grep -v '^\.' | unescaped | sed -E ':a; /\\$/{N; s/\\\n */ /; ba}' >literal || true
	while IFS= read -r line; do
		case $line in
		*'$ LD_PRELOAD='*) ;;
		[a-z]*'$ '* | '$ '* | '# '*) try "${line#*[\$#] }" </dev/null ;;
		esac
	done <literal
done
[ $tried -ge 30 ] || fail "only $tried examples were found"

# The example of agent.conf is a file that is understood, that of libheapcast a program.
sed -n '/^\.Sh EXAMPLES/,$p' "$MAN/agent.conf.5" | sed -n '/^\.Bd/,/^\.Ed/p' | grep -v '^\.' | unescaped >agent.conf
assert_status 0 "$AGENT" serve --config agent.conf --check-config >out
assert_contains "agent serve --check-config" out "agent.conf:"
if command -v cc >/dev/null; then
	sed -n '/^\.Sh EXAMPLES/,$p' "$MAN/libheapcast.3" | sed -n '/^\.Bd/,/^\.Ed/p' | grep -vE '^\.|^\$' | unescaped >example.c
	cc -Wall -Wextra -Werror -I "$ROOT/agent/preload" -c example.c -o example.o
fi
