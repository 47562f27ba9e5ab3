#!/bin/bash
# As secure-strangers: 10,000 connections that never end their handshake, and a minute of garbage.
# ctest: LABELS full TIMEOUT 1200 COST 300
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-strangers.sh"
strangers_for 10000 60
