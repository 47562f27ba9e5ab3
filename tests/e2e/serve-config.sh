#!/bin/bash
# The daemon's file of options: what may stand in it, what counts more than it, and what is said of a mistake. The
# example names every option and says the defaults.
. "$(dirname "$0")/lib-serve.sh"

# check ENV... [-- ARG...]: what would hold, without comments and columns, in $T/check.txt
check() {
	local variables=()
	while [ $# != 0 ] && [ "$1" != -- ]; do variables+=("$1") && shift; done
	shift || true
	env "${variables[@]}" "$AGENT" serve --check-config "$@" >"$T/check.out" 2>"$T/check.err" || return $?
	sed -E '/^#/d; s/ +# [^#]*$//; s/ += /=/' "$T/check.out" >"$T/check.txt"
}
holds() { grep -qxF -e "$1" "$T/check.txt" || fail "\"$1\" does not hold: $(cat "$T/check.out")"; }

export HEAPCAST_KEYS=$T/keys # a value, as all others
# The example: nothing is missing, nothing is too much, all of it is understood, the defaults are those.
"$AGENT" serve --help | sed -nE 's/^ {2,6}(-[a-z], )?--([a-z-]+).*/\2/p' | grep -vxE 'config|check-config|for-pid' | sort >"$T/options"
[ "$(wc -l <"$T/options")" -ge 20 ] || fail "agent serve --help lists too few options"
sed -nE 's/^#?([a-z-]+) = .*/\1/p' "$ROOT/deploy/agent.conf" | sort >"$T/named"
cmp "$T/options" "$T/named" || fail "deploy/agent.conf: $(diff "$T/options" "$T/named")"
if grep -vE '^#|^$' "$ROOT/deploy/agent.conf" >&3; then fail "deploy/agent.conf changes something by itself"; fi
check && cp "$T/check.txt" "$T/defaults.txt"
(umask 077 && printf '%064d\n' 7 >"$T/key") # a key or certificates, not both
sed -E 's/^#([a-z-]+ = )/\1/; s/ = alice, 1000/ = 0, 1000/; s/ = developers/ = 0/; /^(cert|cert-key|ca) = /d; s,^key = .*,key = '"$T/key", \
	"$ROOT/deploy/agent.conf" >"$T/all.conf"
check -- --config "$T/all.conf" || fail "deploy/agent.conf: $(cat "$T/check.err")"
cut -d= -f1 "$T/check.txt" | sort >"$T/printed"
grep -vxE 'cert|cert-key|ca' "$T/options" >"$T/together"
cmp "$T/together" "$T/printed" || fail "--check-config: $(diff "$T/together" "$T/printed")"
while read -r line; do
	case $line in socket=*) ;; *) holds "$line" ;; esac
done <"$T/defaults.txt"

# What is printed is a file that says the same.
cat >"$T/odd.conf" <<-'END'
	  # a comment
	mode=sample=64K
	  output   =   "/a b/ # c "   # and a comment
	collector = [::1]:99
	log = debug # not a part of it
	linger = 1m30s
	allow-user =
	announce = yes
	logfile = /tmp/with#within
END
printf 'depth = 300\r\nstop-timeout = 250ms' >>"$T/odd.conf"
check -- --config "$T/odd.conf"
holds 'mode=sample=64K'
holds 'output="/a b/ # c "'
holds 'collector=[::1]:99'
holds 'log=debug'
holds 'linger=90s'
holds 'announce=yes'
holds 'logfile=/tmp/with#within'
holds 'depth=300'
holds 'stop-timeout=0.25s'
cp "$T/check.txt" "$T/first.txt"
cp "$T/check.out" "$T/printed.conf"
check -- --config "$T/printed.conf"
cmp "$T/first.txt" "$T/check.txt" || fail "what --check-config prints is not what it read"
assert_contains "--check-config" "$T/check.out" "$T/printed.conf:" "the file is $T/printed.conf"

# The command line counts more than variables, these more than the file, this more than the defaults.
printf 'memory-limit = 16M\ndepth = 100\npolicy = thin\n' >"$T/file.conf"
check HEAPCAST_CONFIG="$T/file.conf" HEAPCAST_DEPTH=50 HEAPCAST_POLICY=block -- --policy count
holds memory-limit=16M
holds depth=50
holds policy=count
holds block-max=10s
assert_contains "--check-config" "$T/check.out" "# $T/file.conf:1" "# the environment (HEAPCAST_DEPTH" "# the command line" "# default"
check HEAPCAST_CONFIG="$T/file.conf" -- --config ""
holds memory-limit=8M
assert_contains "no file" "$T/check.out" "no file was read"

# wrong LINE TEXT: a file whose second line is this one is refused with that text, which names the file and the line
wrong() {
	printf '# first\n%s\n' "$1" >"$T/wrong.conf"
	assert_status 2 "$AGENT" serve --config "$T/wrong.conf" >"$T/wrong.out" 2>"$T/wrong.err"
	assert_eq "the mistake in \"$1\"" "agent: $T/wrong.conf:2: $2" "$(cat "$T/wrong.err")"
}
wrong "depth" "expected is NAME = VALUE, or # and a comment"
wrong "polcy = thin" "there is no option --polcy; did you mean --policy?"
wrong "policy = hard" "policy takes block|thin|count, not 'hard'"
wrong "memory-limit = much" "memory-limit takes a size such as 4096, 512K or 8M, not 'much'"
wrong "linger = soon" "linger takes a time such as 10s, 5m or 500ms, not 'soon'"
wrong "announce =" "announce needs a value: announce = yes"
wrong "announce = maybe" "announce takes 0 or 1, not 'maybe'"
wrong "--depth = 9" "names stand here without dashes: depth = 9"
wrong "quiet = yes" "--quiet is an option of \`agent run\` only"
wrong "config = x" "config can only be said on the command line"
wrong 'output = "x' "a quote is opened and not closed"
wrong 'output = "x" y' "something stands behind the closing quote"
wrong " = 5" "there is no option -- (--help lists them)"
printf 'depth = 9\n\ndepth = 10\n' >"$T/twice.conf"
assert_status 2 "$AGENT" serve --config "$T/twice.conf" 2>"$T/wrong.err"
assert_contains "a name twice" "$T/wrong.err" "twice.conf:3: depth is set in line 1 already"

# refused TEXT FILE: it is no file of options
refused() {
	assert_status "${STATUS:-2}" "$AGENT" serve --config "$2" >"$T/wrong.out" 2>"$T/wrong.err"
	assert_contains "$2" "$T/wrong.err" "$1"
}
refused "can't read the file $T/none: No such file or directory" "$T/none"
refused "can't read the file $T: Is a directory" "$T"
printf 'depth = 9\0' >"$T/nul.conf"
refused "is no text" "$T/nul.conf"
refused "that is no file of options" "$AGENT"
for line in "memory-limit = 1M" "depth = 5000" "listen = nowhere:1" "collector = :5" "allow-user = nobody-of-that-name" "log = loud"; do
	echo "$line" >"$T/values.conf"
	assert_status 2 "$AGENT" serve --check-config --config "$T/values.conf" >"$T/wrong.out" 2>"$T/wrong.err"
	assert_contains "$line" "$T/wrong.err" "--${line%% =*}"
done

# A daemon takes it, and says so.
cat >"$T/daemon.conf" <<-END
	socket = $T/socket
	output = $T/from-file-%p
END
serve daemon --config "$T/daemon.conf"
assert_contains "the log" "$T/daemon.err" "heapcast agent " "options: $T/daemon.conf" "memory limit 8.00 MiB: 3" \
	"programs ask at $T/socket (mode 0600, " "who may: users root (0)" "recordings go to $T/from-file-%p"
plain HEAPCAST_SOCKET="$T/socket"
stop_serve daemon
assert_eq "exit status of the daemon" 0 "$status"
assert_eq "recordings" 1 "$(recorded 'from-file-*')"

# The usual file, if it is there.
unshare --mount true 2>/dev/null || skip "the rest needs a mount namespace"
# shellcheck disable=SC2016
unshare --mount -- bash -c '
	mount -t tmpfs none /etc 2>/dev/null || exit 77
	env -u HEAPCAST_CONFIG "$1" serve --check-config | grep -q "no file was read" || exit 1
	mkdir /etc/heapcast && echo "depth = 77" >/etc/heapcast/agent.conf
	env -u HEAPCAST_CONFIG "$1" serve --check-config | grep -q "^depth .* 77 .* /etc/heapcast/agent.conf:1$" || exit 2
	env -u HEAPCAST_CONFIG "$1" serve --check-config --config "" | grep -q "^depth .* 256 " || exit 3' - "$AGENT" || status=$?
[ "$status" != 77 ] || skip "the rest needs a tmpfs on /etc"
assert_eq "the usual file" 0 "$status"
