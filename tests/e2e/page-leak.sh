#!/bin/bash
# ctest: LABELS full
# The page: a planted leak in three clicks, a planted regression between two builds, and hostile names.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
need objcopy curl
mark='<img src=x onerror=alert(1)>'
"$AGENT" run --quiet --output "$T/before.heapcast" -- "$BUILD/tests/e2e-planted" >"$T/said"
"$AGENT" run --quiet --output "$T/after.heapcast" -- "$BUILD/tests/other/e2e-planted" >"$T/said"
objcopy --strip-debug --redefine-sym "forget_session=$mark" "$BUILD/tests/e2e-planted" "$T/$mark"
"$AGENT" run --quiet --output "$T/hostile.heapcast" -- "$T/$mark" "<b>$mark" >"$T/said"
serve_page "$T/before.heapcast" "$T/after.heapcast" "$T/hostile.heapcast"
mapfile -t ids < <(curl -s "$page/list" | python3 -c 'import json, sys; [print(s["id"]) for s in json.load(sys.stdin)]')
play diff "${ids[0]}" "${ids[1]}"
play hostile "${ids[2]}" "$mark"
play leak "${ids[0]}"
