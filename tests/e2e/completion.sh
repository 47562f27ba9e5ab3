#!/bin/bash
# ctest: LABELS full
# Completion in bash, zsh and fish: what the shell offers for a line. There are the programs of this build, a recording
# that is stored, and a stranger of the same name that must not be started.
. "$(dirname "$0")/lib.sh"
need ip

start_collector
record "$BUILD/tests/e2e-plain" >plain.out || true
wait_collector
mv data heapcast-data
id=$("$COLLECTOR" list --json | grep -oE '"id":"[0-9a-f]{12}' | cut -c7-)
mkdir folder strange && touch rec.heapcast "with blank.heapcast" other.txt
printf '#!/bin/sh\necho started >>started\n' >strange/agent
cp "$(type -P true)" strange/collector
cp strange/agent strange/heapcast
chmod 755 strange/*
PATH=$BUILD/bin:$PATH

# ---- bash ----
. "$ROOT/deploy/completion/heapcast.bash"

# replies LINE: what a Tab at its end offers, sorted, in one line. Words are parted as readline does, at blanks and '='.
replies() {
	local rest=$1
	COMP_WORDS=()
	while [[ $rest =~ ^\ *(=|[^\ =]+)(.*)$ ]]; do
		COMP_WORDS+=("${BASH_REMATCH[1]}")
		rest=${BASH_REMATCH[2]}
	done
	[[ $1 != *' ' ]] || COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	_heapcast "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" || true
	[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}" | sort -u | paste -sd' '
}
offers() { assert_eq "offered for \"$1\"" "$2" "$(replies "$1")"; }
options_of() { "$@" --help | sed -nE 's/^ {2,6}(-[a-z], )?(--[a-z0-9-]+).*/\2/p'; }
all_options() { { options_of "$@"; echo --help; } | sort -u | paste -sd' '; }

offers "agent " "--help --variables --version attach ctl pair run serve"
offers "agent s" "serve"
offers "collector l" "leaks ledger list"
offers "$BUILD/bin/collector fla" "flamegraph"
offers "agent run --" "$(all_options "$AGENT" run)"
offers "agent serve --" "$(all_options "$AGENT" serve)"
for command in $("$COLLECTOR" --help | sed -nE '/^Commands/,/^$/s/^  ([a-z]+) .*/\1/p'); do
	[ -n "$(options_of "$COLLECTOR" "$command")" ] || fail "collector $command --help has no options"
	offers "collector $command --" "$(all_options "$COLLECTOR" "$command")"
done
offers "agent run --mem" "--memory-limit"
offers "agent run --mode " "full off sample"
offers "agent run --mode=" "full off sample"
offers "agent run --policy=c" "count"
offers "agent run --policy count --quiet --lo" "--log --logfile --logfile-limit"
offers "agent run --announce --interface l" "lo"
offers "agent serve --log w" "warn"
offers "agent serve --spool fo" "folder"
offers "agent serve --config o" "other.txt"
offers "agent serve --allow-user daemon,roo" "daemon,root"
offers "agent run --spool" ""
offers "agent run --output r" "rec.heapcast"
offers "agent run -- unsha" "unshare"
offers "agent run --announce unsha" "unshare"
offers "agent run ls --quiet oth" "other.txt"
offers "collector help rep" "report"
offers "collector report ${id:0:4}" "$id"
offers "collector report las" "last"
offers "collector report rec" "rec.heapcast"
offers "collector report with" "with blank.heapcast"
offers "collector report --json --data heapcast-data ${id:0:4}" "$id"
offers "collector report --data=$T/heapcast-data ${id:0:4}" "$id"
offers "collector report --data folder ${id:0:4}" ""
offers "collector top last --value l" "leaked"
offers "collector serve oth" "other.txt"
offers "collector list re" ""
offers "agent ctl sn" "snapshot"
offers "collector ctl ${id:0:4}" "$id"
offers "collector ctl last sto" "stop"
offers "collector snapshot ta" "take"
offers "collector snapshot --sto" "--store"
offers "collector symbols fe" "fetch"
offers "collector import re" "rec.heapcast"
offers "agent run -o r" "rec.heapcast"
offers "collector top -n r" ""

# One name for both sides, and the agent's own behind `heapcast agent`.
commands_of() { "$@" --help | awk '/^(To begin|First steps)/ { exit } /^  [a-z]+  +/ { print $1 }'; }
offers "heapcast " "$({ commands_of heapcast; printf '%s\n' --help --version help; } | sort -u | paste -sd' ')"
offers "$BUILD/bin/heapcast tem" "temporary"
offers "heapcast ag" "agent"
offers "heapcast agent " "$(replies "agent ")"
offers "heapcast-agent r" ""  # it is not installed here
offers "heapcast run --" "$(all_options "$AGENT" run)"
offers "heapcast attach --" "$(all_options "$AGENT" attach)"
offers "heapcast agent run --" "$(all_options "$AGENT" run)"
for command in serve ctl pair; do
	offers "heapcast agent $command --" "$(all_options "$AGENT" $command)"
	offers "heapcast $command --" "$(all_options "$COLLECTOR" $command)"
done
offers "heapcast run --policy=c" "count"
offers "heapcast run -o r" "rec.heapcast"
offers "heapcast run -- unsha" "unshare"
offers "heapcast run --announce unsha" "unshare"
offers "heapcast run ls --quiet oth" "other.txt"
offers "heapcast agent run -- unsha" "unshare"
offers "heapcast agent serve --spool fo" "folder"
offers "heapcast help rep" "report"
offers "heapcast report ${id:0:4}" "$id"
offers "heapcast report --data=$T/heapcast-data ${id:0:4}" "$id"
offers "heapcast report rec" "rec.heapcast"
offers "heapcast top last --value l" "leaked"
offers "heapcast export --format spe" "speedscope"
offers "heapcast page oth" "other.txt"
offers "heapcast agent ctl sn" "snapshot"
offers "heapcast ctl last sto" "stop"
offers "heapcast snapshot ta" "take"
offers "heapcast pairs re" "revoke"

# The values that the completion lists by name are those that the collector names when it gets another one.
takes() {
	local option=$1 command=$2
	"$COLLECTOR" "$command" last "$option" nonsense 2>says && fail "collector $command $option takes nonsense"
	offers "collector $command $option " \
		"$(sed -nE 's/^.* takes (.*), not .*$/\1/; s/, | or /\n/gp' says | sort | paste -sd' ')"
}
takes --value top
takes --by top
takes --weight flamegraph
takes --lifetime top
takes --format export
takes --format import

# Strangers: bash's own completion, and nothing was started.
offers "$T/strange/agent r" ""
offers "$T/strange/collector r" ""
offers "$T/strange/heapcast r" ""
offers "$T/strange/heapcast agent r" ""
PATH=$T/strange:$PATH offers "agent r" ""
offers "no-such/agent r" ""
[ ! -e started ] || fail "a stranger was started"
printf '#!/bin/sh\n# heapcast from somewhere else\nexec %s "$@"\n' "$AGENT" >strange/heapcast-agent
chmod 755 strange/heapcast-agent
offers "$T/strange/heapcast-agent s" "serve"

# The programs' names are what is registered, and nothing is said on the terminal.
for name in heapcast heapcast-agent heapcast-collector agent collector; do
	assert_contains "complete -p $name" <(complete -p "$name") "-F _heapcast $name"
done
(replies "collector report --data /nowhere " && replies "agent nonsense --") >out 2>err
[ ! -s err ] || fail "said while completing: $(cat err)"

has() { command -v "$1" >/dev/null || { echo "($1: not tried, it is not installed)" >&3; return 1; }; }

# ---- zsh: a shell on a terminal ----
try_zsh() {
	cat >.zshrc <<'END'
PROMPT="ready> " COLUMNS=200 LINES=200 LISTMAX=1000
fpath=($ROOT/deploy/completion $fpath)
autoload -Uz compinit && compinit -u -d $T/zcompdump
show() { local line=$BUFFER; BUFFER=; zle -I; print -r -- "[[[$line]]]" }
zle -N show && bindkey "^X" show
END
	cat >driver.zsh <<'END'
zmodload zsh/zpty
zpty shell "zsh -d -i"
zpty -r shell out '*ready> *' || exit 1
while IFS= read -r line; do
	zpty -n -w shell "$line"$'\t\C-x'
	zpty -r shell out $'*\\[\\[\\[*\\]\\]\\]*' || exit 1
	print -r -- "== $line"
	print -r -- "${out//$'\r'/}"
done
zpty -d shell
END
	cat >lines <<-END
	agent s
	collector led
	collector top --val
	collector export --format spe
	collector import --format gpe
	collector top --value pe
	agent run --policy=c
	agent run --policy 
	agent serve --spool fol
	agent run -- unsha
	collector report ${id:0:4}
	collector report --lifetime-m
	collector help map
	heapcast agent s
	heapcast ledg
	heapcast top --value=pe
	heapcast run -o re
	heapcast run -- unsha
	heapcast export --format spe
	heapcast help temp
	heapcast leaks ${id:0:4}
	$T/strange/agent r
	$T/strange/heapcast r
END
	export T ROOT TERM=dumb ZDOTDIR=$T
	timeout 60 zsh -f driver.zsh <lines >zsh.out 2>zsh.err || { cat zsh.out zsh.err >&3; fail "zsh did not answer"; }
	assert_contains "zsh" zsh.out "[[[agent serve " "[[[collector ledger " "[[[collector export --format speedscope " "[[[collector import --format gperftools " "[[[collector top --value=" "[[[collector top --value peak " \
		"[[[agent run --policy=count " "[[[agent serve --spool folder/" "[[[agent run -- unshare " "[[[collector report $id " \
		"block" "thin" "--lifetime-max" "lived this long or shorter" "[[[collector help maps " "[[[$T/strange/agent rec.heapcast " \
		"[[[heapcast agent serve " "[[[heapcast ledger " "[[[heapcast top --value=peak " "[[[heapcast run -o rec.heapcast " \
		"[[[heapcast run -- unshare " "[[[heapcast export --format speedscope " "[[[heapcast help temporary " "[[[heapcast leaks $id " \
		"[[[$T/strange/heapcast rec.heapcast "
	[ ! -e started ] || fail "a stranger was started by zsh"
}
! has zsh || try_zsh

# ---- fish: `complete -C` says what a Tab would offer ----
try_fish() {
	cat >lines <<-END
		heapcast tem|temporary
		heapcast agent s|serve
		heapcast-agent s|serve
		agent ctl --so|--socket
		collector le|leaks ledger
		$BUILD/bin/heapcast led|ledger
		heapcast run --pol|--policy
		heapcast run --policy c|count
		heapcast run --policy=c|--policy=count
		heapcast run -o re|rec.heapcast
		heapcast run -- unsha|unshare
		heapcast run --announce unsha|unshare
		heapcast run ls --quiet oth|other.txt
		heapcast agent serve --spool fol|folder/
		heapcast agent ctl sn|snapshot
		heapcast help map|maps
		heapcast report ${id:0:4}|$id
		heapcast report --data=$T/heapcast-data ${id:0:4}|$id
		heapcast report --data folder ${id:0:4}|
		heapcast report rec|rec.heapcast
		heapcast top last --value l|leaked
		heapcast export --format spe|speedscope
		heapcast page oth|other.txt
		heapcast snapshot ta|take
		heapcast pairs re|revoke
		$T/strange/agent r|rec.heapcast
		$T/strange/collector r|rec.heapcast
		$T/strange/heapcast r|rec.heapcast
	END
	cat >ask.fish <<-'END'
		source $argv[1]
		while read -l line
			set -l parts (string split '|' -- $line)
			set -l offered (complete -C $parts[1] | string replace -r '\t.*' '' | sort)
			test "$offered" = "$parts[2]"
			or echo "offered for \"$parts[1]\": expected \"$parts[2]\", got \"$offered\""
		end
		complete -C 'heapcast top --val'
	END
	ln -s "$AGENT" heapcast-agent
	PATH=$PATH:$T HOME=$T timeout 120 fish --no-config ask.fish "$ROOT/deploy/completion/heapcast.fish" <lines >fish.out 2>fish.err ||
		fail "fish did not answer: $(cat fish.err)"
	[ ! -s fish.err ] || fail "fish said while completing: $(cat fish.err)"
	grep '^offered' fish.out >&3 && fail "fish"
	assert_contains "fish" fish.out "--value	what is counted" # and what it means
	[ ! -e started ] || fail "a stranger was started by fish"
}
! has fish || try_fish
