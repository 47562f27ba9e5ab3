#!/bin/sh
# The agent that brings all with it: asks for no loader and no library, starts, and says that it has no keys:
# static.sh OBJDUMP AGENT [EMULATOR -L FOLDER]
set -u
objdump=$1
agent=$2
shift 2

asks=$("$objdump" -p "$agent" | grep -E "INTERP|NEEDED") && {
	echo "asks for: $asks"
	exit 1
}
"$@" "$agent" --version || exit 1
key=$(mktemp) || exit 1
trap 'rm -f "$key"' EXIT
head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$key"
said=$("$@" "$agent" serve --key "$key" 2>&1 </dev/null)
status=$?
echo "$said"
[ $status -ne 0 ] && case $said in *"has no OpenSSL"*) exit 0 ;; esac
echo "did not say that it can't use a key: exit status $status"
exit 1
