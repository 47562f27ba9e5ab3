#!/bin/bash
# ctest: TIMEOUT 300
# A program for big-endian MIPS64, run by an emulator, is recorded by this machine's agent: every block, its backtrace, its time, and what it runs on.
. "$(dirname "$0")/lib-emulated.sh" mips64

emulate recording 7 "$boards/$arch/targets/emulated"
known recording

# Far more threads, one after the other, than the ring has places for.
emulate threads 0 "$boards/$arch/targets/short_threads" 1500
