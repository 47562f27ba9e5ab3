#!/bin/bash
# What `cmake --install` puts where, and that it works from there: programs and library find each other, man finds the pages,
# the shells the completion, systemd a unit with the program's path.
# ctest: RESOURCE_LOCK install
. "$(dirname "$0")/lib.sh"
need cmake
[ -w "$BUILD" ] || skip "the build folder may not be written to"

DESTDIR=$T/root cmake --install "$BUILD" --prefix /opt/heapcast >out 2>err || fail "cmake --install: $(tail -n 3 out err)"
P=$T/root/opt/heapcast
value() { sed -nE "s/^CMAKE_INSTALL_$1:PATH=(.+)/\1/p" "$BUILD/CMakeCache.txt"; }
lib=$(value LIBDIR)
library=$P/${lib:-lib}/libheapcast.so

for file in bin/agent bin/collector include/heapcast.h share/doc/heapcast/examples/agent.conf \
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
	MANPATH=$P/share/man MANPAGER=cat PAGER=cat man -E UTF-8 agent run >page 2>err || true
	[ ! -s page ] || assert_contains "man agent run" page "--memory-limit"
fi

# The unit starts the program that was installed.
assert_contains "the unit" "$P/lib/systemd/system/heapcast-agent.service" "ExecStart=/opt/heapcast/bin/agent serve"
sed 's|/opt/heapcast/bin|/usr/bin|' "$P/lib/systemd/system/heapcast-agent.service" | cmp - "$ROOT/deploy/systemd/heapcast-agent.service"

# Completion by the name of each program, as bash-completion loads it; the links stay within the folder.
for name in agent collector heapcast-agent heapcast-collector; do
	bash -c '. "$1" && complete -p "$2"' - "$P/share/bash-completion/completions/$name" $name >out || fail "no completion for $name"
	[ "$(dirname "$(realpath "$P/share/bash-completion/completions/$name")")" = "$P/share/bash-completion/completions" ] ||
		fail "the completion of $name is a link to the build"
done

# They work from there: the agent finds the library; the library alone finds the agent.
"$P/bin/agent" run --quiet --output "$T/r.heapcast" -- sort /etc/passwd >out
"$P/bin/collector" ledger "$T/r.heapcast" >out
LD_PRELOAD=$library sort /etc/passwd >out
recorded() { "$P/bin/collector" ledger heapcast_sort_*.heapcast; }
wait_for 10 "the recording of the library alone" recorded
