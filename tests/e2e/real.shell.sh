#!/bin/bash
# Shell scripts with many children: in substitutions and pipes, waited for and not, trapped, fed by here-documents,
# ended by signals. They run under bash and dash, and are recorded alone and with all their children.
# ctest: LABELS full TIMEOUT 900
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"

cat >"$T/substitute.sh" <<'END'
for i in 1 2 3 4 5 6 7 8 9 10; do
	x=$(echo "$i" | tr 0-9 a-j | cat)
	y=$(printf '%s' "$(printf '%s' "$(echo "$x$i")")")
	echo "$x $y"
done
n=$(i=0; while [ $i -lt 30 ]; do (echo $i); i=$((i + 1)); done | wc -l)
echo $((n))
false=$(exit 9); echo $?
seq 1 2000 | sort -r | sed 3q
yes | head -n 2
END
cat >"$T/wait.sh" <<'END'
for i in 1 2 3 4 5; do sh -c "exit $i" & last=$!; pids="$pids $!"; done
for p in $pids; do wait "$p"; echo "$?"; done
wait "$last"; echo "again $?"
(sleep 0.1; exit 3) & wait $!; echo "$?"
sh -c 'kill -TERM $$' 2>/dev/null & wait $! 2>/dev/null; echo "by a signal $?"
{ sleep 0.05; echo late; } & wait
wait; echo "none left $?"
END
cat >"$T/traps.sh" <<'END'
trap 'echo "caught USR1"' USR1
trap 'echo "leaving with $?"' EXIT
kill -USR1 $$
sh -c "kill -USR1 $$"
(trap 'echo "the subshell leaves"' EXIT; exit 4); echo $?
sleep 0.1 & kill -USR1 $$; wait
cd /; exec 5>&1; echo "to five" >&5; exec 5>&-
exit 6
END
cat >"$T/documents.sh" <<'END'
name=world
cat <<EOF | tr a-z A-Z
hello $name, $(echo nested | tr e o)
EOF
cat <<'EOF'
$name stays
EOF
while read -r a b; do echo "$b-$a"; done <<EOF
one two
three four
EOF
f() { [ "$1" = 0 ] || { echo "$1"; (f $(($1 - 1))); }; }
f 12
awk 'BEGIN { while (("echo a; echo b" | getline line) > 0) print "got " line; system("exit 3") }'
find /usr/share/doc -maxdepth 1 -name 'b*' | sort | xargs -n 3 echo | wc -l
ls /none/such
exec sh -c 'echo the last; exit 8'
END
cat >"$T/bash.sh" <<'END'
set -o pipefail
diff <(seq 1 5) <(seq 2 6); echo $?
coproc cat
echo through >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; echo "$line"
exec {COPROC[1]}>&-; wait
mapfile -t lines < <(for i in {1..50}; do echo "$i"; done); echo "${#lines[@]}"
cat <<<"a string"
false | true; echo "${PIPESTATUS[*]}"
for i in {1..20}; do (exit "$i") & done; wait -n; wait; echo waited
END

for shell in bash dash; do
	for script in substitute wait traps documents; do
		same "$shell $script" "$shell" "$T/$script.sh"
		FOLLOW=1 LEAST=3 same "$shell $script, followed" "$shell" "$T/$script.sh"
	done
done
same "bash's own" bash "$T/bash.sh"
FOLLOW=1 LEAST=3 same "bash's own, followed" bash "$T/bash.sh"
[ -z "$same_missing" ] || skip "all but$same_missing, not installed"
