#!/bin/bash
# ctest: TIMEOUT 300 COST 60
# All documents: the commands and options that they name are there, their links lead somewhere, the index has them all. Of the
# documents that no other documents-*.sh names, each block of commands also runs, and prints what is shown, in shape.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-documents.sh"
mapfile -t all < <(documents_of "$ROOT")
check_documents "${all[@]}"
for document in "${all[@]}"; do
	case $document in README.md | docs/README.md) continue ;; esac
	grep -qF "(${document#docs/}" "$ROOT/docs/README.md" || fail "docs/README.md does not name $document"
done
mapfile -t rest < <(printf '%s\n' "${all[@]}" | grep -vxF -f <(sed -n 's/^documents //p' "$TEST_SOURCE"/documents-*.sh | tr ' ' '\n'))
documents "${rest[@]}"
