# Completion for heapcast's two programs in bash: commands, options, values, streams.
#
# Installed under the names that the programs have (share/bash-completion/completions), which bash-completion loads by itself;
# without it: `. heapcast.bash` in ~/.bashrc. Commands and options come from the program's own --help, so they are those of the
# version at hand. `agent` and `collector` are names that other programs have, too: what does not hold heapcast's version
# text is never started, and gets bash's usual completion of files.

# Is this program one of ours, or a script that starts one? Looks into the file; starting a stranger to ask it is not for a Tab.
_heapcast_is_ours() {
	local path magic
	path=$(type -P -- "$1") || return
	LC_ALL=C command grep -aqE 'heapcast agent %s|collector \(heapcast\) %s' "$path" 2>/dev/null && return
	IFS= LC_ALL=C read -rn 2 magic 2>/dev/null <"$path"
	[[ $magic == '#!' ]] && command grep -qw heapcast "$path"
}

# Lines "NAME" of the commands that there are: the first lines of --help that are indented.
_heapcast_commands() {
	"$1" --help 2>/dev/null </dev/null |
		command awk '/^  [a-z]+ +/ { found = 1; if (!/not in this version/) print $1 } found && !/^  / { exit }'
}

# Lines "--name ARGUMENT" or "--name" of a command's options, "-x" of short ones.
_heapcast_options() {
	"$1" "$2" --help 2>/dev/null </dev/null |
		command sed -nE 's/^ {2,6}(-[a-z], )?(--[a-z0-9-]+)( [^ ]+)?( *|  .*)$/\2\3/p'
}

# The formats that a command knows: a table in its --help, above the options.
_heapcast_formats() {
	"$1" "$2" --help 2>/dev/null </dev/null | command awk '/^ +-/ { exit } /^  [a-z][a-z-]*  / { print $1 }'
}

# What an option takes, one a line. $1 program, $2 command, $3 option, $4 what --help calls its value.
_heapcast_values() {
	case $3 in
	--format) [[ $2 != analyze ]] || { printf '%s\n' memtracer text && return; } ;;&
	--rules) printf '%s\n' general clickhouse cxx ;;
	--value) printf '%s\n' allocated leaked freed in-use peak ;;
	--by) printf '%s\n' site function backtrace ;;
	--weight) printf '%s\n' bytes blocks ;;
	--format) _heapcast_formats "$1" "$2" ;;
	--lifetime)
		printf '%s\n' all only_leaked only_freed only_whole_group_leaked only_chain_leaked \
			only_not_deallocated_in_current_range only_deallocated_in_current_range
		;;
	--interface) command ls /sys/class/net 2>/dev/null ;;
	*)
		case $4 in
		*'|'*) command sed -E 's/\[[^]]*\]//g; s/\|/\n/g' <<<"$4" ;;
		USER*) compgen -u && echo '*' ;;
		GROUP*) compgen -g ;;
		HOST*) compgen -A hostname ;;
		esac
		;;
	esac
}

# The beginnings of the ids of what is stored, as far as they can be had at once.
_heapcast_streams() {
	echo last
	command timeout 1 "$1" list --json ${2:+--data "$2"} 2>/dev/null </dev/null |
		command grep -oE '"id":"[0-9a-f]{12}' | command cut -c7-
}

_heapcast_snapshots() {
	command timeout 1 "$1" snapshot list --json ${2:+--data "$2"} 2>/dev/null </dev/null |
		command grep -oE '"name":"[A-Za-z0-9._-]+' | command cut -c9-
}

_heapcast_pairs() {
	command timeout 1 "$1" pairs 2>/dev/null </dev/null | command sed -nE '/^[^ ]+ +[0-9]{4}-/s/ .*//p'
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

# The value of an option. $1 program, $2 command, $3 option, $4 the value's name, $5 what is there of it.
_heapcast_value() {
	local values list=
	case $4 in
	FILE | PATH | PATTERN) _heapcast_files -f "$5"; return ;;
	DIR) _heapcast_files -d "$5"; return ;;
	esac
	values=$(_heapcast_values "$@")
	[[ $4 != *,* || $5 != *,* ]] || list=${5%,*},
	_heapcast_words "$values" "${5#"$list"}"
	[[ -z $list ]] || COMPREPLY=("${COMPREPLY[@]/#/$list}")
}

# An argument that is no option. $1 program, $2 command, $3 what is there of it, $4 the data folder.
_heapcast_argument() {
	case ${1##*/}:$2 in
	*agent:ctl) _heapcast_words "$(printf '%s\n' status start stop mode snapshot mark full sample off)" "$3" ;;
	*collector:gather) _heapcast_words "$(compgen -A hostname)" "$3" ;;
	*collector:ctl)
		_heapcast_words "$(_heapcast_streams "$1" "$4"; printf '%s\n' start stop mode snapshot mark full sample off)" "$3"
		;;
	*collector:snapshot)
		_heapcast_words "$(printf '%s\n' take list show remove; _heapcast_snapshots "$1" "$4")" "$3"
		;;
	*collector:pairs) _heapcast_words "$(printf '%s\n' list revoke; _heapcast_pairs "$1")" "$3" ;;
	*collector:list | *collector:pair | *agent:pair) ;;
	*collector:help) _heapcast_words "$(_heapcast_commands "$1")" "$3" ;;
	*collector:serve) _heapcast_files -f "$3" ;;
	*collector:*)
		_heapcast_words "$(_heapcast_streams "$1" "$4")" "$3"
		_heapcast_files -f "$3"
		;;
	esac
}

# The program that `agent run` starts, and its arguments: as if it stood alone.
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

_heapcast() {
	local program=${1/#\~/$HOME} words=() cur i at=() name= data= options option argument flags=
	COMPREPLY=()
	_heapcast_is_ours "$program" || return 0

	# Bash parts words at '='; `--name = value` becomes `--name value` here, and at[] says where a word stands.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == '=' && $i -gt 0 && ${COMP_WORDS[i - 1]} == --* ]] && ((i < COMP_CWORD)) && continue
		words+=("${COMP_WORDS[i]}")
		at+=("$i")
	done
	cur=${words[-1]}
	[[ $cur != '=' ]] || cur=

	if ((${#words[@]} == 2)); then
		_heapcast_words "$(_heapcast_commands "$program")
--help
--version
$([[ ${program##*/} == *agent ]] && echo --variables || echo help)" "$cur"
		return 0
	fi

	options=$(_heapcast_options "$program" "${words[1]}")
	for ((i = 2; i < ${#words[@]} - 1; i++)); do
		name=${words[i]}
		argument=
		case $name in
		--)
			[[ ${words[1]} != run ]] || { _heapcast_program "${at[i + 1]}" "$cur"; return 0; }
			flags=ended
			;;
		--*)
			while read -r option argument; do [[ $option != "$name" ]] || break; argument=; done <<<"$options"
			[[ -n $argument ]] || continue
			if ((i == ${#words[@]} - 2)); then
				_heapcast_value "$program" "${words[1]}" "$name" "$argument" "$cur"
				return 0
			fi
			((i++))
			[[ $name != --data ]] || data=${words[i]/#\~/$HOME}
			;;
		-*) ;;
		*) [[ ${words[1]} != run || ${program##*/} != *agent ]] || { _heapcast_program "${at[i]}" "$cur"; return 0; } ;;
		esac
	done

	if [[ $cur == -* && -z $flags ]]; then
		_heapcast_words "$(command cut -d' ' -f1 <<<"$options")
--help" "$cur"
	elif [[ ${words[1]} == run && ${program##*/} == *agent ]]; then
		_heapcast_program "${at[-1]}" "$cur"
	else
		_heapcast_argument "$program" "${words[1]}" "$cur" "$data"
	fi
}

complete -o bashdefault -o default -F _heapcast agent collector heapcast-agent heapcast-collector
