# Stories about the page in a real browser:   . "$(dirname "$0")/lib.sh"; . "$TEST_SOURCE/lib-page.sh"
#
#   serve_page [FILE...]      `collector serve` of $T/data and the files; $page is its address, $token what orders need
#   play STORY [ARG...]       tests/e2e/page/STORY.mjs; pictures stay in $BUILD/tests/pictures
need node chromium
[ -d "$BUILD/tests/page/node_modules" ] || skip "the collector was built without its page"

serve_page() {
	mkdir -p "$T/data"
	"$COLLECTOR" serve --http 127.0.0.1:18085 --data "$T/data" "$@" >"$T/serve.out" 2>"$T/serve.err" &
	wait_for 10 "collector serve" grep -q Serving "$T/serve.out"
	page=http://127.0.0.1:18085
	token=$(sed -n 's/.*#token=//p' "$T/serve.out")
}

play() {
	local story=$1
	shift
	(cd "$BUILD/tests/page" && node --preserve-symlinks --preserve-symlinks-main stories/play.mjs "$story" "$page" "$BUILD/tests/pictures" "$@") ||
		fail "the story $story: see above, and the pictures in tests/pictures"
}
