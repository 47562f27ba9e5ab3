#!/bin/bash
# `heapcast`: the commands of both programs by one name; what is typed and what is meant; what it and they print; exit statuses.
. "$(dirname "$0")/lib.sh"
need perl pgrep
HEAPCAST=$BUILD/bin/heapcast
plain=$BUILD/tests/e2e-plain

commands_of() { "$@" --help | awk '/^(To begin|First steps)/ { exit } /^  [a-z]+  +/ && !/not in this version/ { print $1 }'; }
same() { cmp -s "$2" "$3" || fail "$1: $(diff "$2" "$3")"; }

# ---- the commands: those of both programs, no more, no less ----

commands_of "$AGENT" | sort >of-agent
commands_of "$COLLECTOR" | sort >of-collector
commands_of "$HEAPCAST" | sort >of-heapcast
[ "$(wc -l <of-agent)" -ge 4 ] && [ "$(wc -l <of-collector)" -ge 20 ] || fail "few commands: $(cat of-agent of-collector)"
# serve, ctl and pair are the collector's; the agent's are behind `heapcast agent`.
{ cat of-agent of-collector; echo agent; } | sort -u >expected
same "heapcast --help and its programs'" expected of-heapcast
commands_of "$HEAPCAST" agent | sort >of-heapcast-agent
same "heapcast agent --help and agent --help" of-agent of-heapcast-agent
in_list() { perl -0777 -ne "print \"\$_\\n\" for /\b$1_commands\[\] = \{(.*?)\}/s && \$1 =~ /\"([a-z]+)\"/g" "$ROOT/base/cli/program.c" | sort; }
in_list agent >listed
same "program.c and agent --help" of-agent listed
in_list collector >listed
same "program.c and collector --help" of-collector listed
[ "$("$HEAPCAST" --help | wc -L)" -le 80 ] || fail "heapcast --help is wider than 80 columns"

# Each says what it does by the name that is typed, and nothing by another.
former='(^|[^./_[:alnum:]-])(agent (run|attach|COMMAND)\b|collector ('$(paste -sd'|' of-collector)'|COMMAND|help)\b|(agent|collector) --)'
prose='(the|a|an|no|each|this|that|another|which|one) '
former_names() { # FILE: lines with a command by its former name
	perl -0777 -ne 's/\n {20,}/ /g; s/(?<=\S)\n(?=\S)/ /g; s/heapcast agent (serve|ctl|pair|COMMAND|--)/heapcast $1/g; print' "$1" |
		sed -E "s/(^|[^[:alpha:]])$prose(agent|collector) /\1/g" | grep -nE "$former|(^|[^./_[:alnum:]-])agent (serve|ctl|pair)\b"
}
printf '  collector top\n  the collector list\n  heapcast agent serve\n  agent\n                      serve\n' >sample
assert_eq "former names in a sample" "1:  collector top 4:  agent serve" "$(former_names sample | paste -sd' ')"
while read -r -a command; do
	"$HEAPCAST" "${command[@]}" --help >help || fail "heapcast ${command[*]} --help"
	grep -qE "^(Usage: )?heapcast ${command[*]}( |$)" help || fail "heapcast ${command[*]} --help says: $(head -n 1 help)"
	! former_names help >wrong || fail "heapcast ${command[*]} --help: $(cat wrong)"
	"$HEAPCAST" help "${command[@]}" >help2 2>&1 || fail "heapcast help ${command[*]}"
	[ "${command[0]} ${command[1]:-}" = "agent ${command[1]:-}" ] || same "heapcast help ${command[*]}" help help2
done < <(cat of-heapcast; grep -vxE 'run|attach' of-agent | sed 's/^/agent /')
"$AGENT" --help >help && assert_contains "agent --help" help "agent COMMAND [OPTION...]" "agent run -- CMD" "collector report FILE"
"$COLLECTOR" help top >help && assert_contains "collector help top" help "Usage: collector top" "  collector top last"
! grep -q "heapcast top" help || fail "collector help top says heapcast top"

# ---- what is typed ----

says() { # STATUS TEXT ARGUMENT...: what heapcast says of these arguments
	local expected=$1 text=$2
	shift 2
	assert_status "$expected" "$HEAPCAST" "$@" >said 2>&1
	assert_contains "heapcast $*" said "$text"
}
says 2 "Usage: heapcast COMMAND"
says 0 "Usage: heapcast COMMAND" --help
says 0 "Usage: heapcast COMMAND" -h
says 0 "Usage: heapcast COMMAND" help
says 0 "heapcast agent $("$AGENT" --version | grep -oE '[0-9.]+$')" --version
assert_contains "heapcast --version" said "heapcast collector"
says 0 "heapcast " version

# A beginning that only one has; several; none; a letter too many, or the wrong one.
says 0 "Usage: heapcast timeline" timel --help
says 0 "Usage: heapcast report" rep --help
says 0 "heapcast agent COMMAND" ag --help
says 0 "Usage: heapcast pair " pair --help # though pairs begins so
says 2 "there is no command 't'" t
says 2 "there is no command ''" ""
says 2 "did you mean 'list'?" lsit
says 2 "did you mean 'timeline'?" timelime
says 2 "did you mean 'agent'?" agnet
says 2 "did you mean 'temporary'?" help temprary
# Words of other profilers, which may be near to another command.
while read -r theirs ours; do
	says 2 "there is no command '$theirs'; did you mean '$ours'?" "$theirs"
	"$HEAPCAST" "$ours" --help >out || fail "there is no heapcast $ours"
done <<-END
	record run
	trace run
	profile run
	stat report
	print report
	show report
	analyse analyze
	view page
	ls list
END
says 2 "there is no command 'xyzzy'" xyzzy
! grep -q "did you mean" said || fail "heapcast xyzzy: $(cat said)"
assert_contains "heapcast xyzzy" said "'heapcast help' lists the commands."
says 2 "heapcast: there is no command 'xyzzy' (heapcast agent --help lists them)" agent xyzzy
says 2 "heapcast top: there is no option --no-such-option" top --no-such-option
says 2 "Try 'heapcast diff --help'." diff

# ---- it runs them ----

assert_status 5 "$HEAPCAST" run --quiet --output r.heapcast -- "$plain" >out
says 0 "The account adds up" ledger r.heapcast
says 2 "to look at a recording: heapcast report r.heapcast" r.heapcast
assert_status 5 "$HEAPCAST" agent run --quiet --output r2.heapcast -- "$plain" >out
assert_status 7 "$HEAPCAST" run --quiet --output r3.heapcast -- sh -c 'exit 7'
assert_status 137 "$HEAPCAST" run --quiet --output r3.heapcast -- sh -c 'kill -KILL $$'
assert_status 127 "$HEAPCAST" run --quiet --output r3.heapcast -- ./no-such-program 2>err
assert_contains "heapcast run" err "heapcast: there is no program './no-such-program'"
assert_status 2 "$HEAPCAST" run 2>err
assert_contains "heapcast run" err "heapcast run -- CMD"
assert_status 1 "$HEAPCAST" report r.heapcast --fail-if 'peak_bytes > 0' >out 2>err
assert_contains "heapcast report --fail-if" err "heapcast report: it is true that"
# A signal ends what was started, as it is the same process.
"$HEAPCAST" run --quiet --output r4.heapcast -- sleep 100 &
pid=$!
recording() { tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q '^heapcast run ' && pgrep -P $pid sleep >/dev/null; }
wait_for 10 "heapcast run to begin" recording
# What an agent still writes is not called broken.
told() { "$HEAPCAST" report r4.heapcast >out 2>&1 && grep -q "^Still being recorded: this is as of [0-9.]* m\?s\.$" out; }
wait_for 20 "a report of what is still being recorded" told
! grep -q "breaks off" out || fail "report of a recording that grows: $(cat out)"
kill -TERM $pid
status=0
wait $pid || status=$?
assert_eq "exit status of heapcast run after SIGTERM" 143 "$status"
says 0 "killed by signal 15" report r4.heapcast
! grep -q "Still being recorded" said || fail "report of an ended recording: $(cat said)"
"$HEAPCAST" run --quiet --output r6.heapcast -- sleep 100 &
pid=$!
wait_for 10 "heapcast run to begin" recording
told() { "$HEAPCAST" report r6.heapcast >out 2>&1 && grep -q "^Still being recorded" out; }
wait_for 20 "a report of what is still being recorded" told
child=$(pgrep -P $pid sleep)
kill -KILL $pid
wait $pid || true
kill -KILL "$child"
says 0 "Incomplete: it breaks off" report r6.heapcast

# Children run other programs: without --follow that is said.
"$HEAPCAST" run --output children.heapcast -- sh -c 'ls >/dev/null; ls >/dev/null; true' 2>err
tr -s ' \n' ' ' <err >words
assert_contains "heapcast run of a script" words "heapcast: 2 programs that its children ran were not recorded: 'heapcast run --follow' records them, too"
"$HEAPCAST" run --follow --output followed.%p.heapcast -- sh -c 'ls >/dev/null; true' 2>err
! grep -q "its children ran" err || fail "heapcast run --follow: $(cat err)"
"$HEAPCAST" run --output alone.heapcast -- sh -c 'exec ls' 2>err >out
! grep -q "its children ran" err || fail "heapcast run of a program without children: $(cat err)"

# With --page that is the page, once the program has ended. It ends with what has started it, however that ends.
page_ended() { ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$page/status"; } # nobody may have waited for it
for signal in TERM HUP KILL; do
	rm -f page.err # of the one before
	env -u DISPLAY -u WAYLAND_DISPLAY -u BROWSER "$HEAPCAST" run --page --output page.heapcast -- "$plain" >out 2>page.err &
	pid=$!
	wait_for 30 "heapcast run --page to serve" grep -q "^Serving http" page.err
	page=$(pgrep -P $pid) || fail "heapcast run --page has no child"
	kill -$signal $pid
	wait_for 10 "the page to end after SIG$signal" page_ended
	status=0
	wait $pid || status=$?
	[ $signal = KILL ] || assert_eq "exit status of heapcast run --page after SIG$signal" 5 "$status"
done

# Answers and hints, where started so and not.
"$HEAPCAST" run --output hints.heapcast -- "$plain" >out 2>err || true
! former_names err >wrong || fail "heapcast run: $(cat wrong)"
"$AGENT" run --output hints.heapcast -- "$plain" >out 2>err || true
assert_contains "agent run" err "next: collector report 'hints.heapcast'"
for command in "report" "ledger" "top --value peak" "leaks" "temporary" "timeline" "tree" "histogram" "maps" "list --data ." "analyze" \
	"list" "symbols list" "symbols missing" "snapshot list" "pairs" "export --format collapsed" "extract --list" "gather --http nonsense" \
	"diff --base no-such-file" "sql" "ctl" "import no-such-file" "strip" "pack" "serve no-such-file"; do
	case $command in list* | symbols* | snapshot* | pairs | gather* | ctl | import* | serve*) file= ;; *) file=r.heapcast ;; esac
	# shellcheck disable=SC2086
	"$HEAPCAST" $command $file >out 2>&1 </dev/null || [ $? -lt 4 ] || fail "heapcast $command: $(cat out)"
	! former_names out >wrong || fail "heapcast $command: $(cat wrong)"
done
# A cut recording (behind its first frame) is told of with the command that says more.
"$HEAPCAST" run --quiet --output long.heapcast -- sh -c 'sleep 1.2; x=$(ls); sleep 1.2; y=$(ls)'
head -c $(($(stat -c %s long.heapcast) - 3)) long.heapcast >cut.heapcast
for command in report ledger top leaks diff; do
	# shellcheck disable=SC2046
	"$HEAPCAST" "$command" $([ $command != diff ] || echo --base r.heapcast) cut.heapcast >out 2>&1 || [ $? -lt 4 ] || fail "heapcast $command: $(cat out)"
	! former_names out >wrong || fail "heapcast $command of a cut recording: $(cat wrong)"
done
"$HEAPCAST" report cut.heapcast >out 2>&1
assert_contains "report of a cut recording" out "heapcast ledger cut.heapcast tells"
# What is printed past program_printf keeps the names of the sources: none with a command in it.
perl -0777 -ne 'while (/\b((?:fprintf|printf|fputs|puts)\s*\((?:\s*std(?:out|err),)?\s*(?:"(?:[^"\\]|\\.)*"\s*)+)/g) {
	my $call = $1; $call =~ s/"\s*"//g; print "$ARGV: $call\n" if $call =~ /(^|[^.\/\w-])(agent (run|attach|serve|ctl|pair) |collector ('"$(paste -sd'|' of-collector)"')\b)/ }' \
	$(find "$ROOT/agent/cli" "$ROOT/collector/cli" -name '*.c') >wrong
[ ! -s wrong ] || fail "commands printed as the sources name them: $(cat wrong)"

# Where nothing matches, that is said, and in words with the option that was typed.
for command in report top temporary tree histogram timeline "timeline --by site" "diff --base r.heapcast"; do
	says 0 "Nothing matches the filters" $command --size-min 1G r2.heapcast
	assert_contains "heapcast $command" said "(of "
	! grep -qE "SIZE|Sizes|FRAME|allocated  " said || fail "$command has headings of nothing: $(cat said)"
done
says 0 "Nothing matches the filters and --value leaked (of " tree --value leaked --size-min 1G r2.heapcast
says 2 "heapcast top: --size-min takes a size" top --size-min x r2.heapcast
says 2 "the file to write is missing: --output FILE" strip r2.heapcast
"$HEAPCAST" diff --base r.heapcast r2.heapcast --fail-if 'delta_percent < 1e9' >out 2>&1 || true
! grep -qE "delta_percent is [0-9]*\.[0-9]{3}" out || fail "digits of --fail-if: $(cat out)"

# ---- on a terminal: messages are wrapped at its width, answers too; in a pipe they are not ----

terminal() { # COLUMNS ARGUMENT...: what heapcast prints on a terminal of this width
	python3 - "$@" <<-'E'
		import fcntl, os, pty, struct, sys, termios
		pid, fd = pty.fork()
		if not pid:
		    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
		    os.execv(os.environ["HEAPCAST"], ["heapcast"] + sys.argv[2:])
		try:
		    while data := os.read(fd, 65536):
		        sys.stdout.write(data.decode().replace("\r", ""))
		except OSError:
		    pass
	E
}
export HEAPCAST
need python3
long=$(printf 'no-such-file-%.0s' 1 2 3)
terminal 60 report "$long" >out
assert_contains "a message on a terminal" out "heapcast report: there is no file"
[ "$(wc -L <out)" -le 60 ] && [ "$(wc -l <out)" -ge 2 ] || fail "not wrapped at 60 columns: $(cat out)"
"$HEAPCAST" report "$long" >out 2>&1 || true
assert_eq "lines of a message in a pipe" 1 "$(wc -l <out)"
for command in "report --no-pager cut.heapcast" "version"; do
	# shellcheck disable=SC2086
	terminal 80 $command >out
	[ "$(sed 's/\x1b\[[0-9;]*m//g' out | wc -L)" -le 80 ] || fail "heapcast $command is wider than 80 columns: $(cat out)"
done
assert_contains "version on a terminal" out "libraries"

# ---- what lies here as files: `list` shows it, and all that finds a recording finds it ----

mkdir -p here none/d/streams few
assert_status 2 "$COLLECTOR" list --data none/nothing >out 2>&1
assert_contains "collector list --data" out "collector list: there is no folder none/nothing: 'collector gather' makes it"
cd none
says 2 "heapcast list: nothing has been recorded yet, neither here (*.heapcast) nor in ./heapcast-data: 'heapcast run -- CMD'" list
says 2 "heapcast report: nothing has been recorded yet" report last
says 2 "there is no file 4711 here, and no stream is called so" report 4711
says 2 "d is a data folder: --data d last" report d
cd ../here
mkdir heapcast-data
"$HEAPCAST" run --quiet -- "$plain" >out || true
file=$(echo heapcast_*.heapcast)
pid=${file##*_} pid=${pid%.heapcast}
cp "$file" ../few/
says 0 "Nothing has been recorded yet." list --data ../none/d
# A stream that broke off, of which the longest state is told: within 80 columns.
"$COLLECTOR" import --data ../streams-of ../r6.heapcast >out 2>&1 || fail "import: $(cat out)"
says 0 "interrupted*" list --data ../streams-of
assert_contains "list" said "* incomplete: 'heapcast ledger ID' says what is missing"
[ "$(grep -v '^heapcast list:' said | wc -L)" -le 80 ] || fail "list is wider than 80 columns: $(cat said)"
says 0 "$file" list
assert_contains "list" said "Files; 'heapcast report FILE' opens one:" "e2e-plain" "exit 5"
"$HEAPCAST" list --json >out 2>&1 || true
! grep -q e2e-plain out || fail "list --json has files: $(cat out)"
says 0 "pid $pid on" report "$pid"
says 0 "pid $pid on" report ../few
says 0 "pid $pid on" report --data ../few last
says 0 "../few/$file" list --data ../few
says 2 "there is no file 1$pid here" report "1$pid"
rmdir heapcast-data
cp ../cut.heapcast ../r.heapcast .
: >empty.heapcast
says 0 "broken off cut.heapcast" list
says 2 "heapcast report: . is a folder with 3 recordings; name one: " report .
assert_contains "report FOLDER" said "cut.heapcast" "$file" "r.heapcast"
"$HEAPCAST" run --quiet --output growing.heapcast -- sleep 100 &
pid=$!
told() { "$HEAPCAST" list | grep -q "recording  growing.heapcast"; }
wait_for 20 "a list with what is still being recorded" told
kill -TERM $pid
wait $pid || true
says 0 "signal 15  growing.heapcast" list
cd ..

# ---- what it starts lies beside it, by either name ----

mkdir -p installed/bin installed/lib link
cp "$HEAPCAST" installed/bin/heapcast
installed=$T/installed/bin/heapcast
for side in agent collector; do
	command=top
	[ $side = collector ] || command=run
	assert_status 3 "$installed" $command --help 2>err
	assert_contains "heapcast $command alone" err "heapcast: the $side is not installed here: $T/installed/bin/heapcast-$side is missing"
done
"$installed" version >out 2>&1
assert_contains "heapcast version alone" out "agent: not installed here" "collector: not installed here"
cp "$AGENT" installed/bin/heapcast-agent
cp "$COLLECTOR" installed/bin/heapcast-collector
cp "$PRELOAD" installed/lib/
ln -s "$installed" link/heapcast
assert_status 5 link/heapcast run --quiet --output r5.heapcast -- "$plain" >out
assert_status 0 link/heapcast report r5.heapcast >out
installed/bin/heapcast-agent --help >out
assert_contains "heapcast-agent --help" out "heapcast agent COMMAND" "heapcast run -- CMD"
installed/bin/heapcast-collector help top >out
assert_contains "heapcast-collector help top" out "Usage: heapcast top"
chmod -x installed/bin/heapcast-agent
assert_status 3 "$installed" run --help 2>err
