#!/bin/bash
# Programs that everybody has: under the recorder each writes the same, ends the same, and its account
# balances. Those that are not installed are left out, and said.
. "$(dirname "$0")/lib.sh"

. "$TEST_SOURCE/lib-real.sh"

cat >"$T/children.sh" <<'END'
for i in 1 2 3 4 5 6 7 8; do x=$(echo $i | cat | tr 0-9 a-j); echo "$x"; done
seq 1 6 | xargs -P 2 -n 1 echo | sort
(exit 7); echo $?
sleep 0.05 & wait $!; echo "$?"
trap 'echo bye' EXIT
exit 3
END
cat >"$T/chain.sh" <<'END'
[ "$1" = 0 ] && { echo end; exit 5; }
exec bash "$0" $(($1 - 1))
END
cat >"$T/threads.py" <<'END'
import subprocess, threading
def work(n):
    return [str(i) * n for i in range(2000)]
threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
for t in threads: t.start()
for t in threads: t.join()
print(subprocess.check_output(["echo", "child"]))
raise SystemExit(4)
END
cat >"$T/pool.py" <<'END'
import multiprocessing
def work(n):
    return sum(len(str(i) * n) for i in range(500))
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, range(8)))
END
cat >"$T/workers.js" <<'END'
const { Worker } = require("worker_threads");
let left = 3, sum = 0;
for (let i = 0; i < 3; i++) {
	const w = new Worker("let a = []; for (let i = 0; i < 2e4; i++) a.push({i});" +
		"require('worker_threads').parentPort.postMessage(a.length)", { eval: true });
	w.on("message", (m) => { sum += m; });
	w.on("exit", () => { if (!--left) console.log(sum); });
}
END
cat >"$T/some.cc" <<'END'
#include <map>
#include <string>
std::map<std::string, int> counts;
int count(const std::string &s) { return ++counts[s]; }
END
seq 1 60000 | awk '{ print ($1 * 7919) % 50021 }' >"$T/numbers.txt"

same bash bash "$T/children.sh"
FOLLOW=1 LEAST=10 same "bash and its children" bash "$T/children.sh"
same "100 execs" bash "$T/chain.sh" 100
same ls ls -laR /usr/lib/gcc /etc/ssl
same find find /usr/share/doc -maxdepth 2
same sort sort -u --parallel=4 -S 4M "$T/numbers.txt"
FOLLOW=1 LEAST=3 same "tar, xz" sh -c \
	"tar cf - -C '$T' numbers.txt some.cc | xz -T2 -1 | wc -c | awk '{ print (\$1 > 1000) }'"
same perl perl -e 'my %h; $h{$_} = "x" x ($_ % 100) for 1 .. 20000; print scalar(keys %h), `echo hi`; die "oops\n"'
same python3 python3 "$T/threads.py"
FOLLOW=1 same "python3, forked" python3 "$T/pool.py"
same ruby ruby -e 'puts (1..20000).map(&:to_s).size, `echo x`; fork { exit 3 }; Process.wait; puts $?.exitstatus'
same node node "$T/workers.js"
same java java -version
same gcc gcc -O1 -x c++ -c "$T/some.cc" -o /dev/null
FOLLOW=1 LEAST=3 same "gcc and its passes" gcc -O1 -x c++ -c "$T/some.cc" -o /dev/null
same clang++ clang++ -O1 -c "$T/some.cc" -o /dev/null
same gdb gdb -batch -ex 'print 1+1' /bin/ls
same gpg gpg --version
same ssh ssh -V
same curl curl --version
# It changes the user unless we are its owner (root, and not in a user namespace): agent run refuses it then, and says so.
[ ! -O "$(command -v sudo)" ] || same sudo sudo -V

if command -v git >/dev/null; then
	git() { command git -c init.defaultBranch=main -c user.name=t -c user.email=t@localhost -C "$T/git" "$@"; }
	mkdir "$T/git"
	git init -q
	for i in 1 2 3 4 5; do
		head -n $((i * 2000)) "$T/numbers.txt" >"$T/git/numbers"
		git add numbers
		git commit -q -m "commit $i"
	done
	unset -f git
	same "git log" git -C "$T/git" log -p --stat
	same "git diff" git -C "$T/git" diff HEAD~4 HEAD
	FOLLOW=1 LEAST=2 same "git gc" git -C "$T/git" gc --quiet --prune=now
fi

echo "$same_ran programs; not installed:${same_missing:- none}"
[ "$same_ran" -ge 8 ] || skip "too few programs are installed"
