#!/bin/bash
# ctest: LABELS full COST 30
# Files that are not what their names say, as upgrades and containers have them. libc or the program itself is deleted,
# or another file is put in its place while it runs. Or only the program's mount namespace, or its root, has a libc
# under that name. What is mapped is probed, or a message says that it can't be; the other file is never probed.
. "$(dirname "$0")/lib-attach.sh"
need setpriv unshare chroot ldd
ROUNDS=50

libc=$(ldd "$TARGETS/attached" | awk '$1 == "libc.so.6" { print $3 }')
loader=$(ldd "$TARGETS/attached" | awk '$1 ~ "^/.*ld-" { print $1 }')
[ -e "${libc:-none}" ] && [ -e "${loader:-none}" ] || skip "the program's libc and loader are not known"
# With allocator's functions of its own, elsewhere.
other=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { found = $NF } END { print found }')
[ -n "$other" ] || skip "there is no jemalloc"
mkdir lib

begin() { # COMMAND... : with a libc of its own, which is mapped when this returns
	rm -f go
	[ -n "${keep:-}" ] || { rm -f lib/*; cp -L "$libc" lib/libc.so.6; cp "$TARGETS/attached" program; }
	"$@" &
	target=$!
	wait_for 20 "the program to wait" grep -q '(program) S' /proc/$target/stat
}

target_ended() {
	local status=0
	touch go
	[ ! -d root/tmp ] || touch root/tmp/go
	wait "$target" || status=$?
	assert_eq "exit status of the program" 7 "$status"
}

exact() { # FILE
	assert_eq "events of $1" $((21 * ROUNDS)) "$(ledger_value "$1" produced)"
	assert_eq "lost events of $1" 0 "$(ledger_value "$1" lost)"
	assert_eq "blocks of $1" $((11 * ROUNDS)) "$(sql "$1" 'select count(*) from allocations')"
}

recorded() { # NAME
	attach -p $target --output "$1.heapcast"
	target_ended
	attached_ended
	exact "$1.heapcast"
}

# Without the rights over /proc/PID/map_files.
cat >lesser <<END_LESSER
#!/bin/sh
exec setpriv --bounding-set=-sys_admin,-checkpoint_restore --inh-caps=-sys_admin,-checkpoint_restore "$AGENT" "\$@"
END_LESSER
chmod +x lesser
whole=$AGENT
lesser=yes
./lesser attach --check >check.lesser 2>&1 || lesser=

refused() { # WHAT
	local status=0
	[ -n "$lesser" ] || { target_ended; return; }
	./lesser attach -p $target --for 20s --output refused.heapcast >refused.err 2>&1 || status=$?
	assert_eq "exit status of an agent with less rights ($(cat refused.err))" 3 $status
	assert_contains "the message" refused.err "$1" "another file has its name now, or none" CAP_CHECKPOINT_RESTORE
	./lesser attach --check -p $target >check.out || true
	tr -s ' \n' ' ' <check.out >words
	assert_contains "what --check says" words "another file has its name now, or none"
	target_ended
}

recorded_by_less() { # NAME
	[ -n "$lesser" ] || { target_ended; return; }
	AGENT=./lesser
	recorded "$1"
	AGENT=$whole
}

replace_libc() {
	cp -L "$other" lib/new
	mv lib/new lib/libc.so.6
}

echo "as it is"
begin env LD_LIBRARY_PATH="$T/lib" ./program go 0 $ROUNDS
recorded as-it-is
begin env LD_LIBRARY_PATH="$T/lib" ./program go 0 $ROUNDS
recorded_by_less as-it-is-less

for how in deleted replaced; do
	echo "libc is $how"
	for rights in all less; do
		begin env LD_LIBRARY_PATH="$T/lib" ./program go 0 $ROUNDS
		if [ $how = deleted ]; then rm lib/libc.so.6; else replace_libc; fi
		if [ $rights = all ]; then recorded libc-$how; else refused libc.so.6; fi
	done
done

echo "the program is replaced"
begin env LD_LIBRARY_PATH="$T/lib" ./program go 0 $ROUNDS
cp "$TARGETS/swapper" new
mv new program
recorded program
"$COLLECTOR" top --by function --value allocated program.heapcast >top.out || fail "it can't be read"

echo "another libc in its mount namespace"
for rights in all less; do
	cp -L "$libc" libc.there
	rm -f lib/* program
	replace_libc
	cp "$TARGETS/attached" program
	keep=yes begin unshare --mount sh -c 'mount --bind libc.there lib/libc.so.6 && exec env LD_LIBRARY_PATH="$0" ./program go 0 '$ROUNDS "$T/lib"
	if [ $rights = all ]; then recorded namespace; else recorded_by_less namespace-less; fi
done

echo "another root"
mkdir -p "root/${loader%/*}" "root/${libc%/*}" root/tmp
cp -L "$loader" "root/$loader"
cp -L "$libc" "root/$libc"
cp "$TARGETS/attached" root/program
for rights in all less; do
	rm -f root/tmp/go
	keep=yes begin chroot root /program /tmp/go 0 $ROUNDS
	if [ $rights = all ]; then recorded root; else recorded_by_less root-less; fi
done
