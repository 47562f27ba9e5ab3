#!/bin/bash
# ctest: TIMEOUT 300
# A program for big-endian MIPS64, run by an emulator, is recorded by this machine's agent: every block, its backtrace, its time, and what it runs on.
. "$(dirname "$0")/lib-emulated.sh" mips64

emulate recording "$boards/$arch/targets/emulated"
known recording
