#!/bin/bash
# ctest: LABELS full
# Flame graphs of real recordings in a browser: normal, inverted, reversed, and the difference of two, with pictures of
# each in tests/pictures of the build folder. In the difference, what has grown is red, what has shrunk is blue, and
# what is the same is neither. What the mouse shows is what the collector says of both. `--title` and `--width` are
# obeyed.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
. "$TEST_SOURCE/lib-browser.sh"
record_branches
PYTHONHASHSEED=0 "$AGENT" run --quiet --output "$T/python.heapcast" -- /usr/bin/python3 -S -E -c \
	'import json; print(len(json.dumps([{"n": i, "t": "x" * (i % 600)} for i in range(20000)])))' >/dev/null

draw() {
	"$COLLECTOR" flamegraph --output "$T/$1.svg" "${@:2}" >/dev/null
}
draw normal python.heapcast
draw inverted --inverted --title 'Upside down & <b>inverted</b>' python.heapcast
draw reversed --reversed python.heapcast
draw narrow --width 640 python.heapcast
draw diff --base small.heapcast grown.heapcast
draw diff-inverted --base small.heapcast --inverted grown.heapcast
draw same --base small.heapcast small.heapcast
assert_status 2 "$COLLECTOR" flamegraph --width 12 python.heapcast 2>"$T/usage.err"
assert_contains "a width that is none" usage.err "--width takes"
start_browser

cat >"$T/drive.py" <<'PYTHON'
import sys
from lib_browser import *

port, work, pictures = sys.argv[1:]
COLOUR = 'return getComputedStyle(arguments[0].querySelector("rect")).fill.match(/[0-9]+/g).map(Number)'

def colour(name):
    red, green, blue = run(COLOUR, frame(name))
    return 'red' if red > blue + 15 else 'blue' if blue > red + 15 else 'grey'

def top(name):
    return run('return arguments[0].getBoundingClientRect().top', frame(name))

start(port, work)
try:
    for name in 'normal', 'inverted', 'reversed', 'narrow', 'diff', 'diff-inverted', 'same':
        open_file(f'{work}/{name}.svg')
        check(f'{name}: it is there', run('return document.querySelectorAll("g.f").length') > 5)
        picture(f'{pictures}/flamegraph-{name}.png')
        if name == 'normal':
            check('roots below', top('Py_BytesMain') < top('all'))
        if name == 'inverted':
            check('roots on top', top('Py_BytesMain') > top('all'))
            check('the title', 'Upside down & <b>inverted</b>' in run('return document.querySelector("text.title").textContent'))
        if name == 'reversed':
            rows = run('return Array.from(document.querySelectorAll("g.f[data-row=\'1\']")).map(function (f) { return f.textContent.split("\\n")[0]; })')
            check('who allocated comes first', 'Py_BytesMain' not in rows and rows, rows[:5])
            check('and its callers above', any(run(FIND, n) for n in ('Py_BytesMain',)))
        if name == 'narrow':
            check('as wide as was asked', run('return document.documentElement.getBoundingClientRect().width') == 640)
            over = run('''return Array.from(document.querySelectorAll('g.f:not(.hidden) > text')).filter(function (t) {
                return t.textContent && t.getBoundingClientRect().right > t.previousSibling.getBoundingClientRect().right + 1; }).length''')
            check('no label is wider than its frame', over == 0, over)
        if name.startswith('diff'):
            check('what has grown is red', colour('keep_large') == 'red' and colour('keep_new') == 'red')
            check('what has shrunk is blue', colour('keep_small') == 'blue')
            check('what is the same is neither', colour('descend') == 'grey' and colour('work') == 'grey')
            hover('keep_large')
            shown = text_of('detail')
            check('the mouse shows both sides', '+977 KiB' in shown and '(2,000,000 bytes) in 20 blocks' in shown and
                  '(1,000,000 bytes) in 10 blocks' in shown, shown)
            hover('keep_small')
            check('and less', '-58.6 KiB' in text_of('detail'), text_of('detail'))
        if name == 'same':
            check('nothing has changed', colour('keep_large') == 'grey' and colour('all') == 'grey')
        check(f'{name}: no errors in the browser', not severe(), severe() or '')
except AssertionError as error:
    print('FAILED', error)
    sys.exit(1)
finally:
    end()
PYTHON
drive "$T/drive.py" "$port" "$T" "$pictures"
