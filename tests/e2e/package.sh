#!/bin/bash
# deploy/package makes the same bytes in another folder, on another day and by another umask. In a bare Debian 12 the
# packages are installed, record, report, show the page, and leave nothing when they are purged.
# ctest: LABELS full TIMEOUT 1800
HEAPCAST_TEST_INSIDE=loopback # Debian's archive is asked
export HEAPCAST_TEST_INSIDE
. "$(dirname "$0")/lib.sh"
need dh mmdebstrap unshare
[ "$(id -u)" = 0 ] || skip "a bare system is made by root only"
. "$ROOT/deploy/lib-apt.sh"
archive=$(debian_archive)
[ -n "$archive" ] || skip "apt knows no archive of Debian here"

"$ROOT/deploy/package" --from "$BUILD" --into one >said
(umask 077 && mkdir two && cp -r "$BUILD/bin" "$BUILD/lib" two && TMPDIR=$T/two "$ROOT/deploy/package" --from two --into two/made >/dev/null)
for deb in one/*.deb; do
	cmp "$deb" "two/made/${deb##*/}" || fail "$deb differs when it is made again"
done
assert_eq "packages" 4 "$(find one -name '*.deb' | wc -l)"
assert_status 2 "$ROOT/deploy/package" vax >out 2>said
assert_contains "another processor" said "there is no processor vax"

# What is done in the bare system, in namespaces of its own.
cat >inside <<'END'
set -eu
export HOME=/root LC_ALL=C.UTF-8
mkdir /work
cd /work
heapcast --version
heapcast run -- ls / >ran 2>&1 || { cat ran; exit 1; }
heapcast report last
man -w heapcast-run libheapcast agent.conf
ls /usr/share/doc/heapcast-agent/examples/heapcast.conf
ip=127.0.0.1:8080
heapcast page --http $ip >served 2>&1 &
serving=$!
for _ in $(seq 200); do
	perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new("'$ip'") or exit 1;
		print $s "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"; print while <$s>' >page 2>/dev/null && break
	sleep 0.1
done
kill $serving || { cat served; exit 1; }
head -n 1 page | grep -q 200
grep -qi 'content-type: text/html' page
cd /
rm -r /work
dpkg --purge heapcast heapcast-agent heapcast-collector heapcast-doc
echo "what is left:"
find / -xdev -name '*heapcast*' -not -path '/packages/*' -not -path '/proc/*' -not -path '/var/cache/*'
echo "that is all"
END
root=$T/root
mmdebstrap --mode=root --variant=minbase --include=man-db bookworm "$root" "$archive" >made 2>&1 ||
	skip "no bare system can be made: $(tail -n 1 made)"
mkdir "$root/packages"
cp one/*.deb inside "$root/packages/"
[ -e "$root/etc/resolv.conf" ] || cp /etc/resolv.conf "$root/etc/"
chroot "$root" sh -c 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /packages/*.deb' \
	>made 2>&1 || fail "can't be installed: $(tail -n 8 made)"
unshare --net --pid --fork --kill-child --mount sh -c "mount -t proc proc $root/proc && mount -t tmpfs tmpfs $root/dev/shm &&
	ip link set lo up && chroot $root sh /packages/inside" >said 2>&1 || fail "in the bare system: $(tail -n 20 said)"
assert_contains "what it said" said "heapcast agent " "heapcast collector " "leaked" "heapcast-run.1"
assert_eq "what a purge leaves" "what is left: that is all" "$(sed -n '/^what is left:/,$p' said | xargs)"
