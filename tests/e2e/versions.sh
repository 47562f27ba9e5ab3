#!/bin/bash
# `--version`: the first line is what scripts and completion look for; then what the build can do and its libraries.
. "$(dirname "$0")/lib.sh"

"$AGENT" --version >agent
assert_eq "the agent's first line" "heapcast agent" "$(head -n 1 agent | sed 's/ [0-9.]*$//')"
assert_contains "the agent's libraries" agent "TLS: " "eBPF (attach): " "libuv 1." "protobuf-c 1." "lz4 1."
"$COLLECTOR" --version >collector
assert_eq "the collector's first line" "heapcast collector" "$(head -n 1 collector | sed 's/ [0-9.]*$//')"
assert_contains "the collector's libraries" collector "TLS: " "page: " "sqlite 3." "libwebsockets " "libuv 1."
"$BUILD/bin/heapcast" --version >both
cat agent collector | cmp - <(tail -n +2 both) || fail "heapcast does not say what both say"
