# What tests of fork children share. After lib.sh:   . "$TEST_SOURCE/lib-forks.sh"
#
#   number FILE KEY           a number of the ledger in FILE, as JSON
#   check_recordings NAME     each line of $T/NAME.out, which targets/forks wrote, has a recording $T/NAME/PID that says the same. There
#                             is no other recording
#   check_handlers NAME       the same of children that were forked in the middle of hooks: nobody can say whether the block that was
#                             under way is the child's first event
#   pid_of NAME WHO           the first process of that kind

number() { grep -oE "\"$2\":\"?[0-9a-f]+" "$1" | head -n 1 | grep -oE '[0-9a-f]+$'; }

check_recordings() {
	local name=$1 who pid allocations frees inherited ledger=$T/ledger.json files=0
	while read -r who pid allocations frees inherited; do
		[ -s "$T/$name/$pid" ] || fail "$name: no recording of the $who, pid $pid"
		"$COLLECTOR" ledger --json "$T/$name/$pid" >"$ledger" || fail "$name: the $who's ledger does not balance"
		assert_eq "$name: lost by the $who" 0 "$(number "$ledger" lost)"
		assert_eq "$name: orphans of the $who" 0 "$(number "$ledger" orphan_frees)"
		files=$((files + 1))
		[ "$who" != parent ] || continue
		assert_eq "$name: allocations of the $who" "$allocations" "$(number "$ledger" stored_allocations)"
		assert_eq "$name: inherited blocks of the $who" "$inherited" "$(number "$ledger" inherited_frees)"
		assert_eq "$name: frees of the $who" $((frees + inherited)) "$(number "$ledger" stored_frees)"
	done <"$T/$name.out"
	assert_eq "$name: recordings" "$files" "$(find "$T/$name" -type f | wc -l)"
}

pid_of() { awk -v who="$2" '$1 == who { print $2; exit }' "$T/$1.out"; }

check_handlers() {
	local name=$1 who pid allocations frees got
	while read -r who pid allocations frees _; do
		"$COLLECTOR" ledger --json "$T/$name/$pid" >"$T/ledger.json" || fail "$name: $pid does not balance"
		[ "$who" = worker ] || continue
		got=$(number "$T/ledger.json" stored_allocations)
		[ "$got" -ge "$allocations" ] && [ "$got" -le $((allocations + 1)) ] || fail "$name: $got allocations"
	done <"$T/$name.out"
	"$COLLECTOR" ledger --json "$T/$name/$(pid_of "$name" parent)" >"$T/ledger.json"
	assert_eq "$name: damaged" 0 "$(number "$T/ledger.json" lost)"
}
