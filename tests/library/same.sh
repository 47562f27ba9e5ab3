#!/bin/sh
# Exit status and output of a program are the same with the library loaded: same.sh LIBRARY [EMULATOR -L FOLDER] PROGRAM
set -u
library=$1
shift

case $1 in
*qemu-*) with="$1 -E LD_PRELOAD=$library" ;;
*) with="env LD_PRELOAD=$library $1" ;;
esac
plain=$("$@" 2>&1 </dev/null)
plain_status=$?
shift
# shellcheck disable=SC2086 # a command and its options
loaded=$($with "$@" 2>&1 </dev/null)
loaded_status=$?

[ "$plain_status" = "$loaded_status" ] && [ "$plain" = "$loaded" ] && exit 0
echo "alone: exit status $plain_status, \"$plain\""
echo "with $library: exit status $loaded_status, \"$loaded\""
exit 1
