#!/bin/bash
# A cable is pulled out and put back: the stream goes on where it was, nothing is lost, nothing is there twice.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-net-cut.sh"
cut_for 3 800000
