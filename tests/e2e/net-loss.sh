#!/bin/bash
# 30 % of the packets are lost, in both directions: the recording arrives whole.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
events=20000
. "$TEST_SOURCE/lib-net-loss.sh"
