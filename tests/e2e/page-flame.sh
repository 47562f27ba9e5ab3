#!/bin/bash
# ctest: LABELS full TIMEOUT 600
# The page's flame graph: callers and callees, a window of time, pictures; and as a file of its own, which needs no collector.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
need objcopy curl
mark='</script><img src=x onerror=alert(1)><!--'
"$AGENT" run --quiet --output "$T/before.heapcast" -- "$BUILD/tests/e2e-planted" >"$T/said"
"$AGENT" run --quiet --output "$T/after.heapcast" -- "$BUILD/tests/other/e2e-planted" >"$T/said"
objcopy --strip-debug --redefine-sym "forget_session=$mark" "$BUILD/tests/e2e-planted" "$T/hostile"
"$AGENT" run --quiet --output "$T/hostile.heapcast" -- "$T/hostile" "$mark" >"$T/said"

# ---- files ----
"$COLLECTOR" flamegraph --html "$T/one.html" "$T/after.heapcast" >"$T/said"
"$COLLECTOR" flamegraph --html "$T/hostile.html" "$T/hostile.heapcast" >"$T/said"
"$COLLECTOR" flamegraph --base "$T/before.heapcast" --html - "$T/after.heapcast" >"$T/changed.html"
[ "$(grep -c '</script>' "$T/hostile.html")" -eq 2 ] || fail "a name ended a script in $T/hostile.html"
grep -qE '<(img|!--)' "$T/hostile.html" && fail "a name is markup in $T/hostile.html"
if "$COLLECTOR" flamegraph --html x --width 800 "$T/after.heapcast" 2>"$T/said"; then fail "--width went with --html"; fi
grep -q -- "--width is about the SVG" "$T/said" || fail "--width with --html: $(cat "$T/said")"

serve_page "$T/after.heapcast"
id=$(curl -s "$page/list" | sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p')
page=file: play alone "$T/one.html" forget_session "$T/hostile.html" "$mark" "$T/changed.html"
play flame "$id" forget_session
