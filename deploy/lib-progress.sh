# Shows what a long step is doing. On a terminal this is one line, which is rewritten, and removed at the end. Elsewhere it is a
# line after a second, and then every four seconds. Sourced by sh and bash scripts:   . FOLDER/lib-progress.sh
#
#   progress_begin TELL [ARG...]   from now on, until progress_end, shows what `TELL ARG...` prints (one line), and the time
#   progress_end
#   progress_ninja LOG             tells of a build: [312/760]
#   progress_last LOG              tells the last line of a file
#   progress_apt LOG               tells of apt-get update and apt-get install, whose output is in LOG
#
# A second process shows it. That ends with the script, however the script ends, or as soon as its file is gone. It gets no signal:
# in the middle of $(...) a signal makes bash 5.2 complain of the syntax.
progress_pid= progress_file=

progress_seconds() { # SECONDS: 48 s, 2 min 05 s
	if [ "$1" -lt 60 ]; then
		printf '%d s' "$1"
	else
		printf '%d min %02d s' $(($1 / 60)) $(($1 % 60))
	fi
}

progress_tick() {
	trap '' INT TERM HUP
	trap - EXIT
	progress_began=$(date +%s) progress_told=-3 progress_width=
	[ ! -t 2 ] || progress_width=$(stty size <&2 2>/dev/null | cut -d ' ' -f 2)
	[ "${progress_width:-0}" -gt 20 ] || progress_width=80
	while sleep 0.2 && [ -e "$progress_file" ]; do
		kill -0 $$ 2>/dev/null || rm -f "$progress_file"
		progress_since=$(($(date +%s) - progress_began))
		if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then
			printf '\r\033[K%.*s' $((progress_width - 1)) "  $("$@"), $(progress_seconds $progress_since)" >&2
		elif [ $((progress_since - progress_told)) -ge 4 ]; then
			progress_told=$progress_since
			printf '  %s, %s\n' "$("$@")" "$(progress_seconds $progress_since)" >&2
		fi
	done
}

progress_begin() {
	progress_file=$(mktemp)
	progress_tick "$@" &
	progress_pid=$!
}

progress_end() {
	[ -n "$progress_pid" ] || return 0
	rm -f "$progress_file"
	wait "$progress_pid" 2>/dev/null || true
	progress_pid=
	if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then printf '\r\033[K' >&2; fi
}

progress_ninja() {
	progress_found=$(tail -c 4096 "$1" 2>/dev/null | tr '\r' '\n' | sed -n 's|^\(\[[0-9]*/[0-9]*\]\).*|\1|p' | tail -n 1)
	echo "${progress_found:-[0]}"
}

progress_last() {
	progress_found=$(tail -n 1 "$1" 2>/dev/null)
	printf '%.60s\n' "${progress_found:-beginning}"
}

progress_apt() {
	awk '/^Get:/ { got++ } /^Unpacking / { unpacked++ } /^Setting up / { set++ }
		/ newly installed/ { wanted = 0; for (i = 1; i < NF; i++) if ($(i + 1) == "newly") wanted = $i }
		END {
			# Some are set up early, because others need them to be unpacked.
			if (set && unpacked >= wanted) printf "setting up %d of %d packages\n", set, wanted
			else if (unpacked) printf "unpacking %d of %d packages\n", unpacked, wanted
			else if (wanted) printf "fetching %d of %d packages\n", got, wanted
			else print "reading the lists of packages"
		}' "$1"
}
