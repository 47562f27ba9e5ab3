# Memory cgroups of a test's own. After lib.sh:   . "$TEST_SOURCE/lib-cgroup.sh"
#
#   cgroup_open              makes the folder $CGROUP, which goes when the test ends; skips if that can't be done here
#   cgroup_make NAME [BYTES] a memory cgroup in it, at most so large
#   cgroup_usage NAME        bytes charged to it now; cgroup_peak: at most so far; cgroup_shared: of shared memory
#   cgroup_kills NAME        processes that the OOM killer has ended in it
CGROUP=

# Where memory cgroups can be made: below our own (version 1), or below the root (version 2, where a cgroup that has
# processes can't have others inside).
cgroup_parent() {
	local mount own
	mount=$(awk '{ for (i = 6; $i != "-"; i++); if ($(i + 1) == "cgroup" && $(i + 3) ~ /(^|,)memory(,|$)/) { print $5; exit } }' /proc/self/mountinfo)
	if [ -n "$mount" ]; then
		own=$(awk -F: '$2 ~ /(^|,)memory(,|$)/ { print $3 }' /proc/self/cgroup)
		[ -d "$mount$own" ] || own=
		echo "$mount$own"
		return
	fi
	mount=$(awk '{ for (i = 6; $i != "-"; i++); if ($(i + 1) == "cgroup2") { print $5; exit } }' /proc/self/mountinfo)
	grep -qsw memory "$mount/cgroup.subtree_control" || return 1
	echo "$mount"
}

cgroup_close() {
	local group
	for group in "$CGROUP"/*/; do
		[ ! -e "$group/cgroup.procs" ] || rmdir "$group" 2>/dev/null || true
	done
	rmdir "$CGROUP" 2>/dev/null || true
}

cgroup_open() {
	local parent
	[ "$(id -u)" = 0 ] || skip "only root makes memory cgroups"
	parent=$(cgroup_parent) || skip "there is no memory controller for cgroups"
	CGROUP=$parent/heapcast-test.$$.$RANDOM
	mkdir "$CGROUP" 2>/dev/null || skip "can't make a cgroup in $parent"
	if [ -e "$CGROUP/cgroup.subtree_control" ] && ! echo +memory >"$CGROUP/cgroup.subtree_control" 2>/dev/null; then
		rmdir "$CGROUP"
		skip "can't hand the memory controller on to $CGROUP"
	fi
	trap 'ended=$?; kill_children; sleep 0.2; cgroup_close || true; at_end $ended' EXIT
}

cgroup_set() {
	echo "$2" 2>/dev/null >"$1"
}

cgroup_make() {
	mkdir "$CGROUP/$1"
	[ $# -gt 1 ] || return 0
	cgroup_set "$CGROUP/$1/memory.max" "$2" || cgroup_set "$CGROUP/$1/memory.limit_in_bytes" "$2"
	cgroup_set "$CGROUP/$1/memory.swap.max" 0 || cgroup_set "$CGROUP/$1/memory.memsw.limit_in_bytes" "$2" || true
}

cgroup_first() {
	local file
	for file; do
		if [ -e "$file" ]; then
			cat "$file"
			return
		fi
	done
	echo unknown
}

cgroup_usage() {
	cgroup_first "$CGROUP/$1/memory.current" "$CGROUP/$1/memory.usage_in_bytes"
}

cgroup_peak() {
	cgroup_first "$CGROUP/$1/memory.peak" "$CGROUP/$1/memory.max_usage_in_bytes"
}

cgroup_shared() {
	awk '$1 == "shmem" { print $2 }' "$CGROUP/$1/memory.stat"
}

cgroup_kills() {
	cgroup_first "$CGROUP/$1/memory.events.local" "$CGROUP/$1/memory.events" "$CGROUP/$1/memory.oom_control" | awk '$1 == "oom_kill" { print $2 }'
}
