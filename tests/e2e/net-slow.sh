#!/bin/bash
# A link of 64 kbit/s is slower than the program: it waits with the policy block.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-net-slow.sh"
slow_link block 20000 5000 --block-max 60s
