#!/bin/bash
# Where debug information may lie. It is below --symbols by build id under any name. It is beside the program by debug
# link, with a build id, and without one by its CRC. Or it is packed in .gnu_debugdata. Every frame has file and line.
# Another build's file is refused.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-symbols.sh"
need xz
make_app
record_app
debug=$T/elsewhere/a/b/c/whatever
mkdir -p "$(dirname "$debug")" "$T/empty"
objcopy --only-keep-debug "$T/app.full" "$debug"
assert_nameless "without files" --symbols "$T/empty"

# A wrong file by the right name is no help, nor is a truncated one; then the right one is found, by build id.
mkdir -p "$T/wrong"
sed 's/48/40/' "$T/app.c" >"$T/wrong/app.c"
gcc -g -O2 -Wl,--build-id "$T/wrong/app.c" -o "$T/wrong/app"
head -c 2000 "$debug" >"$T/wrong/cut"
assert_nameless "with another build" --symbols "$T/wrong"
assert_named "by --symbols" --symbols "$T/wrong" --symbols "$T/elsewhere"

# By link; what --symbols found is kept, so a data folder without it is asked.
fresh() { # the same recording without what is known
	rm -rf "$T/data" && cp -r "$T/data.new" "$T/data"
}
rm -f "$T/data"/symbols.sqlite*
cp -r "$T/data" "$T/data.new"
assert_nameless "before the link"
cp "$T/app" "$T/app.plain"
mkdir "$T/.debug"
cp "$debug" "$T/.debug/app.debug"
objcopy --add-gnu-debuglink="$T/.debug/app.debug" "$T/app.plain" "$T/app"
fresh
assert_named "by debug link"
# Without build ids it is the CRC that counts.
gcc -g -O2 -fno-optimize-sibling-calls -Wl,--build-id=none "$T/app.c" -o "$T/app.full"
objcopy --only-keep-debug "$T/app.full" "$T/.debug/app.debug"
objcopy --strip-all --add-gnu-debuglink="$T/.debug/app.debug" "$T/app.full" "$T/app"
rm -rf "$T/data" "$T/data.new"
record_app
rm -f "$T/data"/symbols.sqlite*
assert_named "by the CRC of the debug link"
echo >>"$T/.debug/app.debug"
assert_nameless "with a CRC that differs"

# .gnu_debugdata: functions, no lines.
gcc -g -O2 -fno-optimize-sibling-calls -Wl,--build-id "$T/app.c" -o "$T/app.full"
objcopy --strip-debug "$T/app.full" "$T/mini"
xz -f "$T/mini"
objcopy --strip-all --add-section .gnu_debugdata="$T/mini.xz" "$T/app.full" "$T/app"
record_app
assert_eq "frames by .gnu_debugdata" "outer -:0
main -:0" "$(app_frames | grep -v '^_start ')"
