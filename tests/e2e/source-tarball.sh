#!/bin/bash
# ctest: LABELS full TIMEOUT 1200 COST 200
# The sources of a release hold the page: they are built without node, npm and a network, and the page is the same.
. "$(dirname "$0")/lib.sh"
need git cmake ninja curl
assets=$BUILD/collector/page/out/assets.c
[ -e "$assets" ] || skip "the collector was built without its page"
git -C "$ROOT" rev-parse --verify --quiet HEAD >"$T/said" || skip "these sources are no git repository"
"$ROOT/deploy/source-tarball" heapcast "$assets" "$T/heapcast.tar.gz" >"$T/said" 2>&1
tar -xzf "$T/heapcast.tar.gz" -C "$T"
cmp "$assets" "$T/heapcast/collector/page/built/assets.c"

# Who asks for node or npm is seen.
mkdir "$T/bin"
for name in node nodejs npm; do
	printf '#!/bin/sh\necho "$0 $*" >>%s\nexit 1\n' "$T/asked" >"$T/bin/$name"
	chmod +x "$T/bin/$name"
done
PATH=$T/bin:$PATH cmake -S "$T/heapcast" -B "$T/build" -G Ninja -DHEAPCAST_AGENT=OFF -DHEAPCAST_TESTS=OFF -DCMAKE_C_FLAGS=-O0 >"$T/said" 2>&1 ||
	fail "configuring: $(tail "$T/said")"
PATH=$T/bin:$PATH ninja -C "$T/build" -j2 collector >"$T/said" 2>&1 || fail "building: $(tail "$T/said")"
[ ! -e "$T/asked" ] || fail "node was asked for: $(cat "$T/asked")"

mkdir "$T/data"
"$T/build/bin/collector" serve --http 127.0.0.1:18086 --data "$T/data" >"$T/serve.out" 2>"$T/serve.err" &
wait_for 10 "collector serve" grep -q Serving "$T/serve.out"
curl -sf http://127.0.0.1:18086/ >"$T/page"
assert_contains "the page" "$T/page" '<script'
cmp "${assets%/*}/files/index.html" "$T/page"
