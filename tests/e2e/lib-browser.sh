# For tests with a browser: headless Chromium by chromedriver, in a home of its own.
#
#   start_browser       chromedriver listens at $port
#   drive SCRIPT ARG... a script of python3 that may import lib_browser
#   $maker              writes flame graphs: --write FILE [KIND]
#   $pictures           a folder for pictures that stay, for who wants to look
maker=$BUILD/tests/unit.formats.flamegraph
[ -x "$maker" ] || skip "$maker is not built"
need chromium chromedriver python3
pictures=$BUILD/tests/pictures

start_browser() {
	local started='s/.*started successfully on port \([0-9]*\).*/\1/p'

	mkdir -p "$T/home" "$pictures"
	export HOME=$T/home TMPDIR=$T/home
	chromedriver --port=0 >"$T/driver.log" 2>&1 &
	disown # killed at the end without a word
	wait_for 20 "chromedriver" grep -q "started successfully" "$T/driver.log"
	port=$(sed -n "$started" "$T/driver.log")
}

drive() {
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TEST_SOURCE python3 "$@"
}
