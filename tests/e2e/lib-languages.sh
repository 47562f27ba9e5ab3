# For the tests of demangling: one program a language, built by its own compiler, with and without debug information.
# Its functions must be named as a programmer of that language would write them.
#
#   named_in_language PROGRAM NAME...    each NAME is a function in the backtraces of PROGRAM, and no name is mangled
named_in_language() {
	local program=$1 name
	shift
	ask export --format collapsed "$program" >"$T/collapsed" 2>"$T/export.err" || fail "export: $(cat "$T/export.err")"
	tr ';' '\n' <"$T/collapsed" >"$T/names"
	for name; do
		grep -qF -e "$name" "$T/names" || {
			sort -u "$T/names" >&3
			fail "no function is called \"$name\""
		}
	done
	! grep -E '^(_Z|_R[A-Z]|_D[0-9])' "$T/names" >"$T/mangled" || fail "mangled: $(cat "$T/mangled")"
}

# Records it with debug information, and again without, by the symbol table alone.
check_language() { # PROGRAM NAME...
	local program=$1
	shift
	start_collector
	record "$program" >/dev/null
	wait_collector
	named_in_language last "$@"
	objcopy --strip-debug --remove-section=.note.gnu.build-id "$program" "$program.bare"
	start_collector
	record "$program.bare" >/dev/null
	wait_collector
	named_in_language last "$@"
}
