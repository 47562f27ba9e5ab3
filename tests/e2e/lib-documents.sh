# Documents whose command blocks are run:   . "$(dirname "$0")/lib.sh"; . "$TEST_SOURCE/lib-documents.sh"
#
#   documents PATH...         runs the blocks of documents (tests/e2e/documents/run.py says how), and prints which are not run, and why
#   check_documents PATH...   only holds names of commands and options against what the programs say
#   documents_of ROOT         all documents of the sources, by their paths
need python3 gcc curl openssl objcopy jq
export PYTHONDONTWRITEBYTECODE=1

documents() {
	[ "$inside" = namespace ] || skip "the ports of documents are others' here: no network namespace"
	python3 "$TEST_SOURCE/documents/run.py" "$BUILD" "$ROOT" "$T" "$@" || fail "documents and programs differ: see above"
}

check_documents() {
	python3 "$TEST_SOURCE/documents/run.py" --check "$BUILD" "$ROOT" "$T" "$@" || fail "documents and programs differ: see above"
}

documents_of() {
	(cd "$1" && find README.md docs -name '*.md' | sort)
}
