# For scripts that fetch something from Debian's archive: an apt of our own inside a folder, for any processor and release.
# /etc and /var stay as they are, and no root is needed. It asks only hosts that this machine's apt uses already. Sourced by bash
# scripts:   . FOLDER/lib-apt.sh
#
#   debian_sources              lines URI RELEASE COMPONENT: the Debian archives among this machine's sources
#   debian_signed               an option for lines of sources.list: by which keys the archive's lists are signed
#   debian_archive              the address of the archive itself, which has all releases (not those of security and updates)
#   apt_begin FOLDER ARCH SOURCE...   what apt_own works in from now on, with these lines of sources.list
#   apt_own get|cache ARG...    apt-get or apt-cache there
debian_signed=
[ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ] ||
	debian_signed="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"

debian_sources() {
	local codename
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	apt-get indextargets --no-release-info --format "\$(REPO_URI) \$(RELEASE) \$(COMPONENT)" 'Identifier: Packages' 2>/dev/null |
		awk -v codename="$codename" '{ release = $2; sub(/-.*/, "", release) }
			(release == codename || release == "stable" || release == "oldstable") && !seen[$0]++'
}

debian_archive() {
	debian_sources | awk '$2 !~ /-/ && $3 == "main" && !n++ { print $1 }'
}

apt_begin() {
	apt_folder=$1 apt_arch=$2
	shift 2
	mkdir -p "$apt_folder/lists/partial" "$apt_folder/cache/archives/partial"
	: >"$apt_folder/status"
	printf '%s\n' "$@" >"$apt_folder/sources.list"
}

apt_own() {
	local program=$1
	shift
	"apt-$program" -q -o "APT::Architecture=$apt_arch" -o "APT::Architectures=$apt_arch" \
		-o "Dir::Etc::sourcelist=$apt_folder/sources.list" -o Dir::Etc::sourceparts=- \
		-o "Dir::State=$apt_folder" -o "Dir::State::lists=$apt_folder/lists" -o "Dir::State::status=$apt_folder/status" \
		-o "Dir::Cache=$apt_folder/cache" -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}
