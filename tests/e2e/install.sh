#!/bin/bash
# What `cmake --install` puts where, and that it works from there. Programs and library find each other, man finds the
# pages, the shells the completion, and systemd a unit with the program's path.
# ctest: RESOURCE_LOCK install
. "$(dirname "$0")/lib.sh"
need cmake
[ -w "$BUILD" ] || skip "the build folder may not be written to"

DESTDIR=$T/root cmake --install "$BUILD" --prefix /opt/heapcast >out 2>err || fail "cmake --install: $(tail -n 3 out err)"
P=$T/root/opt/heapcast
value() { sed -nE "s/^CMAKE_INSTALL_$1:PATH=(.+)/\1/p" "$BUILD/CMakeCache.txt"; }
lib=$(value LIBDIR)
library=$P/${lib:-lib}/libheapcast.so

for file in bin/heapcast bin/heapcast-agent bin/heapcast-collector bin/agent bin/collector include/heapcast.h share/doc/heapcast/examples/agent.conf \
	lib/systemd/system/heapcast-agent.service lib/systemd/system/heapcast-agent.socket share/zsh/site-functions/_heapcast \
	share/heapcast/rules/general.rules share/heapcast/rules/clickhouse.rules; do
	[ -s "$P/$file" ] || fail "$file is not installed: $(cd "$P" && find .)"
done
[ -s "$library" ] || fail "$library is not installed"

# Every page, in the folder of its section.
for page in "$ROOT"/docs/man/*.[1-9]; do
	cmp "$page" "$P/share/man/man${page##*.}/${page##*/}"
done
if command -v man >/dev/null; then
	for page in "heapcast run" "agent run" heapcast-run agent-run; do
		# shellcheck disable=SC2086
		MANPATH=$P/share/man MANPAGER=cat PAGER=cat man -E UTF-8 $page >page 2>err || true
		[ ! -s page ] || assert_contains "man $page" page "--memory-limit"
	done
fi

# The former names are links beside what they stand for.
leads() { # LINK FILE
	[ "$(readlink "$P/$1")" = "$2" ] && [ -s "$P/$1" ] || fail "$1: $(ls -l "$P/$1")"
}
leads bin/agent heapcast-agent
leads bin/collector heapcast-collector
leads share/man/man1/agent.1 heapcast-agent.1
leads share/man/man1/agent-run.1 heapcast-run.1
leads share/man/man1/agent-attach.1 heapcast-attach.1
leads share/man/man1/agent-serve.1 heapcast-agent-serve.1
leads share/man/man1/collector.1 heapcast.1
leads share/man/man1/collector-serve.1 heapcast-serve.1
leads share/man/man1/collector-top.1 heapcast-top.1
[ "$(find "$P/share/man/man1" -type l | wc -l)" = "$(find "$P/share/man/man1" -type f | wc -l)" ] || fail "$(ls "$P/share/man/man1")"

# A package leaves them out: they are all that the component former-names has, and nothing else has one.
find "$P" -type l | sed "s|^$P/||" | grep -v /heapcast | sort >links
DESTDIR=$T/links-only cmake --install "$BUILD" --prefix /opt/heapcast --component former-names >out 2>err || fail "cmake --install --component: $(tail -n 3 out err)"
(cd "$T/links-only/opt/heapcast" && find . ! -type d) | sed 's|^\./||' | sort >former
cmp links former || fail "$(diff links former)"
DESTDIR=$T/package cmake --install "$BUILD" --prefix /opt/heapcast --component Unspecified >out 2>err || fail "cmake --install --component: $(tail -n 3 out err)"
{
	cat former
	(cd "$T/package/opt/heapcast" && find . ! -type d) | sed 's|^\./||'
} | sort >parts
(cd "$P" && find . ! -type d) | sed 's|^\./||' | sort >whole
cmp parts whole || fail "$(diff parts whole)"

# The unit starts the program that was installed.
assert_contains "the unit" "$P/lib/systemd/system/heapcast-agent.service" "ExecStart=/opt/heapcast/bin/heapcast-agent serve"
sed 's|/opt/heapcast/bin|/usr/bin|' "$P/lib/systemd/system/heapcast-agent.service" | cmp - "$ROOT/deploy/systemd/heapcast-agent.service"

# Completion by the name of each program, as bash-completion loads it; the links stay within the folder.
for name in heapcast heapcast-agent heapcast-collector agent collector; do
	bash -c '. "$1" && complete -p "$2"' - "$P/share/bash-completion/completions/$name" $name >out || fail "no completion for $name"
	[ "$(dirname "$(realpath "$P/share/bash-completion/completions/$name")")" = "$P/share/bash-completion/completions" ] ||
		fail "the completion of $name is a link to the build"
	cmp "$P/share/fish/vendor_completions.d/$name.fish" "$ROOT/deploy/completion/heapcast.fish"
done

# They work from there: heapcast finds the programs, the agent finds the library.
PATH=$P/bin:$PATH
heapcast run --output r.heapcast -- sort /etc/passwd >out 2>err
assert_contains "heapcast run" err "heapcast report"
heapcast report r.heapcast >out
assert_contains "heapcast report" out "sort"
heapcast-agent run --quiet --output r2.heapcast -- sort /etc/passwd >out
heapcast-collector ledger r2.heapcast >out

# By the former names, and these alone, too.
agent run --output r3.heapcast -- sort /etc/passwd >out 2>err
assert_contains "agent run" err "collector report"
collector ledger r3.heapcast >out

# The library alone finds heapcast-agent.
rm "$P/bin/agent" "$P/bin/collector"
LD_PRELOAD=$library sort /etc/passwd >out
recorded() { heapcast ledger heapcast_sort_*.heapcast; }
wait_for 10 "the recording of the library alone" recorded
