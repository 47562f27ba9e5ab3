# Completion for heapcast in fish. As in heapcast.bash, commands, options and what they mean come from the programs' own --help. A
# program of the same name that is not heapcast's is never started, and gets the usual completion of files.
#
# It is installed under each name that the programs have (share/fish/vendor_completions.d); fish loads the file that it needs.
# __heapcast_call has the words that start a command, for example `heapcast agent`.

function __heapcast_is_ours
	set -l program (commandline -opc)[1]
	set -l path (command -s -- (string replace -r '^~(?=/)' $HOME -- $program))
	or return 1
	LC_ALL=C command grep -aqE 'heapcast (agent )?%s|collector \(heapcast\) %s' $path 2>/dev/null
	and return 0
	command head -c 2 $path 2>/dev/null | LC_ALL=C command grep -aqxF '#!'
	and command grep -qw heapcast $path
end

# Lines "NAME<tab>what it does".
function __heapcast_commands
	$__heapcast_call --help 2>/dev/null </dev/null | command awk '/^(To begin|First steps)/ { exit }
		/^  [a-z]+  +/ && !/not in this version/ { name = $1; sub(/^ +[a-z]+ +/, ""); print name "\t" $0 }'
end

# Lines "-x<tab>--name<tab>VALUE<tab>what it means" of the options of a command; the letter and VALUE may be empty.
function __heapcast_options --argument-names command
	$__heapcast_call $command --help 2>/dev/null </dev/null | command awk '
		function put() { if (name != "") print letter "\t" name "\t" value "\t" text; name = "" }
		/^  +(-[a-z], )?--[a-z0-9-]+/ {
			put(); text = $0
			sub(/^ +/, "", text)
			letter = ""
			if (text ~ /^-[a-z], /) { letter = substr(text, 1, 2); text = substr(text, 5) }
			name = text; sub(/ .*/, "", name); text = substr(text, length(name) + 1)
			value = ""
			if (text ~ /^ [^ ]/) { value = substr(text, 2); sub(/ .*/, "", value); text = substr(text, length(value) + 2) }
			sub(/^ +/, "", text)
			next
		}
		/^                    / { line = $0; sub(/^ +/, "", line); text = text (text == "" ? "" : " ") line; next }
		{ put() }
		END { put() }'
end

# What is stored, and can be had at once.
function __heapcast_streams
	printf 'last\tthe newest stream\n'
	command timeout 1 $__heapcast_call list --json $__heapcast_data 2>/dev/null </dev/null |
		command grep -oE '"id":"[0-9a-f]{12}' | command cut -c7-
end

function __heapcast_snapshots
	command timeout 1 $__heapcast_call snapshot list --json $__heapcast_data 2>/dev/null </dev/null |
		command grep -oE '"name":"[A-Za-z0-9._-]+' | command cut -c9-
end

function __heapcast_pairs
	command timeout 1 $__heapcast_call pairs 2>/dev/null </dev/null | command sed -nE '/^[^ ]+ +[0-9]{4}-/s/ .*//p'
end

# The formats that a command knows: a table in its --help, above the options.
function __heapcast_formats --argument-names command
	$__heapcast_call $command --help 2>/dev/null </dev/null | command awk '/^ +-/ { exit } /^  [a-z][a-z-]*  / { print $1 }'
end

# What an option takes. VALUE is what --help calls it.
function __heapcast_values --argument-names command option value current
	switch $option
		case --value
			printf '%s\n' allocated leaked freed in-use peak
		case --by
			printf '%s\n' site function backtrace
		case --weight
			printf '%s\n' bytes blocks
		case --rules
			printf '%s\n' general clickhouse cxx python
		case --format
			test $command = analyze
			and printf '%s\n' memtracer text
			or __heapcast_formats $command
		case --lifetime
			printf '%s\n' all only_leaked only_freed only_whole_group_leaked only_chain_leaked \
				only_not_deallocated_in_current_range only_deallocated_in_current_range
		case --interface
			command ls /sys/class/net 2>/dev/null
		case '*'
			switch $value
				case '*|*'
					string replace -ra '\[[^]]*\]' '' -- $value | string split '|'
				case FILE PATH PATTERN
					__fish_complete_path $current
				case DIR
					__fish_complete_directories $current ''
				case 'USER*'
					__fish_complete_users
				case 'GROUP*'
					__fish_complete_groups
				case 'HOST*'
					__fish_print_hostnames
			end
	end
end

# An argument that is no option.
function __heapcast_argument --argument-names of current
	switch $of
		case agent:ctl
			printf '%s\n' status start stop mode snapshot mark full sample off
		case collector:gather
			__fish_print_hostnames
		case collector:ctl
			__heapcast_streams
			printf '%s\n' start stop mode snapshot mark full sample off
		case collector:snapshot
			printf '%s\n' take list show remove
			__heapcast_snapshots
		case collector:pairs
			printf '%s\n' list revoke
			__heapcast_pairs
		case collector:symbols
			printf '%s\n' missing list add fetch
			__heapcast_streams
			__fish_complete_path $current
		case collector:serve collector:page collector:import
			__fish_complete_path $current
		case 'agent:*' collector:list collector:pair
		case '*'
			__heapcast_streams
			__fish_complete_path $current
	end
end

# The program that `run` starts, and its arguments: as if it stood alone.
function __heapcast_program
	complete -C (string join ' ' -- (string escape -- $argv[1..-2]) $argv[-1])
end

function __heapcast_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	set -l side heapcast
	set -g __heapcast_call (string replace -r '^~(?=/)' $HOME -- $words[1])
	set -g __heapcast_data
	set -e words[1]
	switch $__heapcast_call
		case '*agent'
			set side agent
		case '*collector'
			set side collector
	end
	if test $side = heapcast; and test "$words[1]" = agent
		set -a __heapcast_call agent
		set side agent
		set -e words[1]
	end

	set -l command $words[1]
	if test -z "$command"
		__heapcast_commands
		string match -q -- '-*' $current
		and printf '%s\n' --help --version
		return
	end
	set -e words[1]
	if test $command = help
		__heapcast_commands
		return
	end
	if test $side = heapcast
		set side collector
		contains -- $command run attach
		and set side agent
	end

	set -l options (__heapcast_options $command)
	set -l ended no
	set -l i 1
	while test $i -le (count $words)
		set -l word $words[$i]
		if test $ended = no; and test "$word" = --
			set ended yes
		else if test $ended = no; and string match -q -- '-?*' $word
			set -l option
			for line in $options
				set -l parts (string split \t -- $line)
				contains -- $word $parts[1..2]
				and test -n "$parts[3]"
				and set option $parts
			end
			if test -n "$option[3]"
				if test $i = (count $words)
					__heapcast_values $command $option[2] $option[3] $current
					return
				end
				set i (math $i + 1)
				test $option[2] = --data
				and set __heapcast_data --data (string replace -r '^~(?=/)' $HOME -- $words[$i])
			else if string match -q -- '--data=*' $word
				set __heapcast_data --data (string replace -r '^--data=' '' -- $word)
			end
		else if test $side:$command = agent:run
			__heapcast_program $words[$i..-1] $current
			return
		end
		set i (math $i + 1)
	end

	if test $ended = no; and set -l parts (string match -r -- '^(--[a-z0-9-]+)=(.*)' $current)
		for line in $options
			set -l option (string split \t -- $line)
			test $option[2] = $parts[2]
			and test -n "$option[3]"
			and string replace -r '^' -- "$parts[2]=" (__heapcast_values $command $option[2] $option[3] $parts[3])
		end
	else if test $ended = no; and string match -q -- '-*' $current
		for line in $options
			set -l option (string split \t -- $line)
			printf '%s\t%s\n' $option[2] "$option[4]"
			test -n "$option[1]"
			and printf '%s\t%s\n' $option[1] "$option[4]"
		end
		printf '%s\t%s\n' --help 'list the options'
	else if test $side:$command = agent:run
		__heapcast_program $current
	else
		__heapcast_argument $side:$command $current
	end
end

for name in heapcast heapcast-agent heapcast-collector agent collector
	complete -c $name -n __heapcast_is_ours -f -a '(__heapcast_complete)'
end
