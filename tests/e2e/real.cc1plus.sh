#!/bin/bash
# The real compiler pass of g++ on heavy templates: deep stacks, a megabyte of unwind tables.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need g++
cc1plus=$(g++ -print-prog-name=cc1plus)
[ -x "$cc1plus" ] || skip "g++ has no cc1plus"
real_program "$cc1plus" -quiet -O1 -ftemplate-depth=2000 "$TEST_SOURCE/data/heavy.cc" -o -
[ -s "$T/recorded.out" ] || fail "cc1plus has written no assembly"
real_names cc1plus toplev::main c_parse_file
