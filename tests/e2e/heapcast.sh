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
kill -TERM $pid
status=0
wait $pid || status=$?
assert_eq "exit status of heapcast run after SIGTERM" 143 "$status"

# With --page that is the page, once the program has ended. It ends with what has started it, however that ends.
page_ended() { ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$page/status"; } # nobody may have waited for it
for signal in TERM HUP KILL; do
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
assert_status 3 "$COLLECTOR" list >out 2>&1
assert_contains "collector list" out "collector list: " "'collector gather' makes them"
assert_status 3 "$HEAPCAST" list >out 2>&1
assert_contains "heapcast list" out "heapcast list: " "'heapcast gather' makes them"

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
