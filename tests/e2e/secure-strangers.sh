#!/bin/bash
# Strangers: 1,000 connections that never end their handshake, and a peer that sends garbage for 5 s, to an agent and to a collector
# that listen. What others send goes on, and memory stays what it is.
# ctest: LABELS full TIMEOUT 600 COST 100
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-strangers.sh"
strangers_for 1000 5
