# Completion for heapcast in bash: commands, options, values, streams.
#
# It is installed under each name that the programs have (share/bash-completion/completions). bash-completion loads it by itself;
# without that, put `. heapcast.bash` into ~/.bashrc. Commands and options come from the programs' own --help, so they are those of
# the version at hand. Other programs are called `agent` and `collector`, too. A program without heapcast's version text in it is
# never started, and gets bash's usual completion of files.
#
# call has the words that start a command: call=(PROGRAM) or, behind `heapcast agent`, call=(PROGRAM agent). side is agent,
# collector, or heapcast where no command is there yet.

# Is this program one of ours, or a script that starts one? Looks into the file; starting a stranger to ask it is not for a Tab.
_heapcast_is_ours() {
	local path magic
	path=$(type -P -- "$1") || return
	LC_ALL=C command grep -aqE 'heapcast (agent )?%s|collector \(heapcast\) %s' "$path" 2>/dev/null && return
	IFS= LC_ALL=C read -rn 2 magic 2>/dev/null <"$path"
	[[ $magic == '#!' ]] && command grep -qw heapcast "$path"
}

# What a program of ours says.
_heapcast_says() {
	"${call[@]}" "$@" 2>/dev/null </dev/null
}

# Lines "NAME" of the commands that there are: in --help, what stands before a remark.
_heapcast_commands() {
	_heapcast_says --help |
		command awk '/^(To begin|First steps)/ { exit } /^  [a-z]+  +/ && !/not in this version/ { print $1 }'
}

# Lines "--name ARGUMENT" or "--name" of a command's options, and the same with "-x" of those that have a letter.
_heapcast_options() {
	_heapcast_says "$1" --help | command sed -nE \
		's/^ {2,6}(-[a-z], )?(--[a-z0-9-]+)( [^ ]+)?( *|  .*)$/\1\2\3/; T; s/^(-.), (--[^ ]+)(.*)/\1\3\n\2\3/; p'
}

# The formats that a command knows: a table in its --help, above the options.
_heapcast_formats() {
	_heapcast_says "$1" --help | command awk '/^ +-/ { exit } /^  [a-z][a-z-]*  / { print $1 }'
}

# What an option takes, one a line. $1 command, $2 option, $3 what --help calls its value.
_heapcast_values() {
	case $2 in
	--format) [[ $1 != analyze ]] || { printf '%s\n' memtracer text && return; } ;;&
	--rules) printf '%s\n' general clickhouse cxx python ;;
	--value) printf '%s\n' allocated leaked freed in-use peak ;;
	--by) printf '%s\n' site function backtrace ;;
	--weight) printf '%s\n' bytes blocks ;;
	--format) _heapcast_formats "$1" ;;
	--lifetime)
		printf '%s\n' all only_leaked only_freed only_whole_group_leaked only_chain_leaked \
			only_not_deallocated_in_current_range only_deallocated_in_current_range
		;;
	--interface) command ls /sys/class/net 2>/dev/null ;;
	*)
		case $3 in
		*'|'*) command sed -E 's/\[[^]]*\]//g; s/\|/\n/g' <<<"$3" ;;
		USER*) compgen -u && echo '*' ;;
		GROUP*) compgen -g ;;
		HOST*) compgen -A hostname ;;
		esac
		;;
	esac
}

# The beginnings of the ids of what is stored, as far as they can be had at once. $1 the data folder.
_heapcast_streams() {
	echo last
	command timeout 1 "${call[@]}" list --json ${1:+--data "$1"} 2>/dev/null </dev/null |
		command grep -oE '"id":"[0-9a-f]{12}' | command cut -c7-
}

_heapcast_snapshots() {
	command timeout 1 "${call[@]}" snapshot list --json ${1:+--data "$1"} 2>/dev/null </dev/null |
		command grep -oE '"name":"[A-Za-z0-9._-]+' | command cut -c9-
}

_heapcast_pairs() {
	command timeout 1 "${call[@]}" pairs 2>/dev/null </dev/null | command sed -nE '/^[^ ]+ +[0-9]{4}-/s/ .*//p'
}

_heapcast_words() {
	local IFS=$'\n'
	COMPREPLY=($(compgen -W "$1" -- "$2"))
}

_heapcast_files() {
	local IFS=$'\n'
	compopt -o filenames 2>/dev/null
	COMPREPLY+=($(compgen "$1" -- "$2"))
}

# The value of an option. $1 command, $2 option, $3 the value's name, $4 what is there of it.
_heapcast_value() {
	local values list=
	case $3 in
	FILE | PATH | PATTERN) _heapcast_files -f "$4"; return ;;
	DIR) _heapcast_files -d "$4"; return ;;
	esac
	values=$(_heapcast_values "$@")
	[[ $3 != *,* || $4 != *,* ]] || list=${4%,*},
	_heapcast_words "$values" "${4#"$list"}"
	[[ -z $list ]] || COMPREPLY=("${COMPREPLY[@]/#/$list}")
}

# An argument that is no option. $1 command, $2 what is there of it, $3 the data folder.
_heapcast_argument() {
	case $side:$1 in
	agent:ctl) _heapcast_words "$(printf '%s\n' status start stop mode snapshot mark full sample off)" "$2" ;;
	collector:gather) _heapcast_words "$(compgen -A hostname)" "$2" ;;
	collector:ctl)
		_heapcast_words "$(_heapcast_streams "$3"; printf '%s\n' start stop mode snapshot mark full sample off)" "$2"
		;;
	collector:snapshot) _heapcast_words "$(printf '%s\n' take list show remove; _heapcast_snapshots "$3")" "$2" ;;
	collector:pairs) _heapcast_words "$(printf '%s\n' list revoke; _heapcast_pairs)" "$2" ;;
	collector:symbols)
		_heapcast_words "$(printf '%s\n' missing list add fetch; _heapcast_streams "$3")" "$2"
		_heapcast_files -f "$2"
		;;
	*:help) _heapcast_words "$(_heapcast_commands)" "$2" ;;
	collector:serve | collector:page | collector:import) _heapcast_files -f "$2" ;;
	agent:* | collector:list | collector:pair) ;;
	*)
		_heapcast_words "$(_heapcast_streams "$3")" "$2"
		_heapcast_files -f "$2"
		;;
	esac
}

# The program that `run` starts, and its arguments: as if it stood alone.
_heapcast_program() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		local IFS=$'\n'
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -c -- "$2"))
	else
		_heapcast_files -f "$2"
	fi
}

# Takes the words before a command off words[] and at[], into call[], and says whose the command is.
_heapcast_call() {
	call=("${words[0]/#\~/$HOME}")
	case ${call[0]##*/} in
	*agent) side=agent ;;
	*collector) side=collector ;;
	*) side=heapcast ;;
	esac
	if [[ $side == heapcast && ${words[1]} == agent ]] && ((${#words[@]} > 2)); then
		call+=(agent)
		side=agent
		words=("${words[@]:1}")
		at=("${at[@]:1}")
	elif [[ $side == heapcast ]] && ((${#words[@]} > 2)); then
		side=collector
		case ${words[1]} in
		run | attach) side=agent ;;
		esac
	fi
}

_heapcast() {
	local call=() side= words=() cur i at=() name= data= options option argument flags= more
	COMPREPLY=()
	_heapcast_is_ours "${1/#\~/$HOME}" || return 0

	# Bash parts words at '='; `--name = value` becomes `--name value` here, and at[] says where a word stands.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == '=' && $i -gt 0 && ${COMP_WORDS[i - 1]} == --* ]] && ((i < COMP_CWORD)) && continue
		words+=("${COMP_WORDS[i]}")
		at+=("$i")
	done
	words[0]=$1
	cur=${words[-1]}
	[[ $cur != '=' ]] || cur=
	_heapcast_call

	if ((${#words[@]} == 2)); then
		more=help
		[[ $side != agent ]] || more=--variables
		_heapcast_words "$(_heapcast_commands)
--help
--version
$more" "$cur"
		return 0
	fi

	options=$(_heapcast_options "${words[1]}")
	for ((i = 2; i < ${#words[@]} - 1; i++)); do
		name=${words[i]}
		argument=
		case $name in
		--)
			[[ ${words[1]} != run ]] || { _heapcast_program "${at[i + 1]}" "$cur"; return 0; }
			flags=ended
			;;
		-?*)
			while read -r option argument; do [[ $option != "$name" ]] || break; argument=; done <<<"$options"
			[[ -n $argument ]] || continue
			if ((i == ${#words[@]} - 2)); then
				_heapcast_value "${words[1]}" "$name" "$argument" "$cur"
				return 0
			fi
			((i++))
			[[ $name != --data ]] || data=${words[i]/#\~/$HOME}
			;;
		*) [[ $side:${words[1]} != agent:run ]] || { _heapcast_program "${at[i]}" "$cur"; return 0; } ;;
		esac
	done

	if [[ $cur == -* && -z $flags ]]; then
		_heapcast_words "$(command grep -o '^--[^ ]*' <<<"$options")
--help" "$cur"
	elif [[ $side:${words[1]} == agent:run ]]; then
		_heapcast_program "${at[-1]}" "$cur"
	else
		_heapcast_argument "${words[1]}" "$cur" "$data"
	fi
}

complete -o bashdefault -o default -F _heapcast heapcast heapcast-agent heapcast-collector agent collector
