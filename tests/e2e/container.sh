#!/bin/bash
# The image of deploy/container is built by buildah, with a bare Debian 12 of mmdebstrap's as its base, from packages of deploy/package.
# A container of it records, reports and serves the page.
# ctest: LABELS full TIMEOUT 1800
HEAPCAST_TEST_INSIDE=loopback # Debian's archive is asked
export HEAPCAST_TEST_INSIDE
. "$(dirname "$0")/lib.sh"
need buildah mmdebstrap dh curl
[ "$(id -u)" = 0 ] || skip "a bare system is made by root only"
. "$ROOT/deploy/lib-apt.sh"
archive=$(debian_archive)
[ -n "$archive" ] || skip "apt knows no archive of Debian here"

# Images and containers lie in this folder, and go with it.
printf '[storage]\ndriver = "vfs"\nrunroot = "%s/run"\ngraphroot = "%s/graph"\n' "$T" "$T" >storage.conf
export CONTAINERS_STORAGE_CONF=$T/storage.conf STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot TMPDIR=$T
container=$(buildah from scratch 2>said) || skip "buildah can't make a container here: $(tail -n 1 said)"
mmdebstrap --variant=minbase bookworm base.tar "$archive" >said 2>&1 || skip "no bare system can be made: $(tail -n 1 said)"
buildah add "$container" base.tar / >said 2>&1 || skip "buildah can't fill a container here: $(tail -n 1 said)"
buildah commit "$container" heapcast-base >said 2>&1 || fail "$(tail -n 5 said)"
"$ROOT/deploy/package" --from "$BUILD" --into packages >said 2>&1 || fail "$(tail -n 5 said)"
buildah build --build-arg BASE=localhost/heapcast-base -t heapcast -f "$ROOT/deploy/container/Containerfile" packages >said 2>&1 ||
	fail "the image can't be built: $(tail -n 8 said)"

container=$(buildah from localhost/heapcast)
inside() { buildah run "$container" -- "$@"; }
inside heapcast --version >version
assert_contains "the version" version "heapcast agent " "heapcast collector "
inside heapcast run -o /data/ls.heapcast -- ls / >ran 2>&1 || fail "heapcast run: $(tail -n 5 ran)"
assert_contains "what run says" ran "peak"
inside heapcast report /data/ls.heapcast >report
assert_contains "the report" report "leaked"
assert_eq "what is started" "heapcast" "$(buildah inspect --format '{{index .OCIv1.Config.Entrypoint 0}}' "$container")"
inside heapcast page --http 127.0.0.1:18099 >served 2>&1 &
serving=$!
wait_for 20 "the page" curl -sf -o page http://127.0.0.1:18099/
assert_contains "the page" page "<title>"
kill "$serving"
wait "$serving" || true
pkill -f 'heapcast-collector page --http 127.0.0.1:18099' || true
buildah rm --all >said 2>&1 || true
