#!/bin/bash
# ctest: TIMEOUT 300 COST 60
# All documents: the commands and options that they name are there. And of those that no other documents-*.sh names: each block of
# commands runs, and prints what is shown, in shape.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-documents.sh"
mapfile -t all < <(documents_of "$ROOT")
check_documents "${all[@]}"
mapfile -t rest < <(printf '%s\n' "${all[@]}" | grep -vxF -f <(sed -n 's/^documents //p' "$TEST_SOURCE"/documents-*.sh | tr ' ' '\n'))
documents "${rest[@]}"
