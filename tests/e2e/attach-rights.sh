#!/bin/bash
# Rights: what `agent attach --check` says is what happens, and where something is missing the message names it.
. "$(dirname "$0")/lib-attach.sh"
need setpriv as ld strip

rm -f go
"$TARGETS/attached" go &
other=$! # of root
chmod 711 "$T"
mkdir -m 777 out

# A target of whoever runs this, and the agent by these rights: what --check says and what attaching says must agree.
cat >try.sh <<'END_TRY'
[ "$1" = - ] && { sleep 1000 & pid=$!; } || pid=$1
"$AGENT" attach --check -p $pid >out/check.$2 2>out/check.err.$2
check=$?
"$AGENT" attach -p $pid --for 1s --quiet --output out/rec.$2 >out/attach.$2 2>&1
echo "$check $?" >out/status.$2
[ "$1" != - ] || kill $pid
END_TRY
chmod 644 try.sh
export AGENT

agree() { # NAME PID|- RIGHTS...
	local name=$1 pid=$2 check attach
	shift 2
	"$@" sh try.sh "$pid" "$name" || fail "$name: could not be tried"
	read -r check attach <out/status.$name
	case $check,$attach in
	0,0) worked=yes ;;
	1,3) worked=no ;;
	*) fail "$name: --check ends with $check, and attaching with $attach: $(cat out/check.$name out/attach.$name)" ;;
	esac
	echo "  $name: $worked"
}

nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
"${nobody[@]}" test -x "$AGENT" || skip "another user can't reach the build folder"

echo "root"
agree root "$other"
assert_eq "root may" yes $worked
assert_status 1 "$AGENT" attach --comm no-such-comm --for 500ms --output out/nobody >out/attach.nobody 2>&1
assert_contains "a name that nobody has" out/attach.nobody "nothing was recorded: no program named 'no-such-comm' appeared"

echo "a user without rights"
agree user - "${nobody[@]}"
assert_eq "a user may" no $worked
assert_contains "a user's message" out/attach.user "attaching needs the rights of root: type 'sudo agent attach ...'"
for file in out/check.user out/attach.user; do
	tr -s ' \n' ' ' <$file >words
	assert_contains "what $file says" words "run the agent as root, or give it the capabilities CAP_BPF and CAP_PERFMON"
done

echo "CAP_BPF and CAP_PERFMON"
both=("${nobody[@]}" --inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon)
agree both - "${both[@]}"
if grep -q 'yes  entry and return by one' out/check.both; then assert_eq "who has both may" yes $worked; fi
if [ $worked = no ]; then assert_contains "the message" out/attach.both CAP_SYS_ADMIN; fi

echo "the same, and a program of another user's"
agree other "$other" "${both[@]}"
assert_eq "who lacks CAP_SYS_PTRACE may" no $worked
tr -s ' \n' ' ' <out/check.other >words
assert_contains "what --check says" words CAP_SYS_PTRACE
[ ! -s out/attach.other ] || assert_contains "the message" out/attach.other CAP_

echo "CAP_BPF alone"
agree bpf - "${nobody[@]}" --inh-caps=-all,+bpf --ambient-caps=-all,+bpf
assert_eq "who has one may" no $worked
assert_contains "the message" out/attach.bpf CAP_PERFMON

echo "root, less CAP_SYS_ADMIN"
agree less "$other" setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin
if [ $worked = no ]; then assert_contains "the message" out/attach.less CAP_SYS_ADMIN; fi

if unshare -U -r true 2>/dev/null; then
	echo "root of a user namespace"
	agree namespace - unshare -U -r
	assert_eq "it may" no $worked
	assert_contains "the message" out/attach.namespace "this is a user namespace"
fi

echo "a static program that was stripped"
if [ -x "$TARGETS/attached_static" ]; then
	strip -o stripped "$TARGETS/attached_static"
	./stripped go &
	agree stripped $!
	assert_eq "it can be seen" no $worked
	tr -s ' \n' ' ' <out/check.stripped >words
	assert_contains "what --check says" words "which strip removes"
	assert_contains "the message" out/attach.stripped "no allocator that can be probed" "--check -p"
fi

echo "a program of 32 bits"
if [ "$(uname -m)" = x86_64 ]; then
	printf '.globl _start\n_start: movl $29, %%eax\nint $0x80\njmp _start\n' | as --32 -o short.o -
	ld -m elf_i386 -o short short.o
	if ./short & sleep 0.1 && kill -0 $! 2>/dev/null; then
		agree short $!
		assert_eq "it can be seen" no $worked
		assert_contains "the message" out/attach.short "is a 32-bit program" "agent run"
	fi
fi
