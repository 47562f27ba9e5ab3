#!/bin/bash
# ctest: TIMEOUT 300 COST 60
# The documents about SQL, REST and the page: each block of commands runs, and prints what is shown, in shape.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-documents.sh"
documents docs/sql.md docs/rest-api.md docs/page.md
