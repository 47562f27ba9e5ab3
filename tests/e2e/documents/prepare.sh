# What every document may count on, made in the desk's folder: a program of your own with its debug information, a recording of
# it, and one that runs. Sourced by a shell with -e; DOCUMENT.sh comes behind it.
for folder in deploy docs tests; do ln -s "$ROOT/$folder" "$folder"; done
scp() { # FILE board:NAME
	cp --remove-destination "$1" "../board/${2#board:}"
}
built() { # NAME COMPILER...: $WORK/../NAME is built, once for all documents of a test
	[ -e "$WORK/../$1" ] || "${@:2}" -o "$WORK/../$1"
}
metricd() { # WHERE: the daemon of the tutorial
	built metricd g++ -std=c++17 -g -O2 docs/tutorial/metricd.cc
	cp "$WORK/../metricd" "$1"
}
built app gcc -g -O1 -fno-optimize-sibling-calls "$ROOT/tests/e2e/documents/app.c" -pthread
cp "$WORK/../app" app
for name in your-program your-daemon server; do
	ln -s app "$name"
	ln -s ../desk/app "../board/$name"
done
heapcast run -q -o app.heapcast -- ./app
./app on >/dev/null 2>&1 &
printf '#!/bin/sh\necho "$1" >>"%s/opened"\n' "$WORK" >browser
chmod +x browser
export BROWSER=$PWD/browser
{
	echo "CMD=./app"
	echo "STREAM=last"
	echo "PID=$!"
	echo "4711=$!"
} >"$WORDS"
printf '%s\n' silent show-error fail-with-body >.curlrc
