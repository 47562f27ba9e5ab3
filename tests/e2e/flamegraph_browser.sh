#!/bin/bash
# The flame graph in a real browser (headless Chromium, driven over loopback), opened from a file. A click zooms, a
# search marks and counts, Escape goes back, and hostile names are text and nothing else. The network has loopback only:
# nothing is asked from outside.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-browser.sh"

"$maker" --write "$T/a flame graph.svg"
start_browser

cat >"$T/drive.py" <<'PYTHON'
import sys, time, urllib.error
from lib_browser import *

port, work = sys.argv[1:]
start(port, work)
try:
    open_file(work + '/a flame graph.svg')
    whole = width('all')
    inner = run('return window.innerWidth')
    check('scales with the window', 0.9 * inner < whole <= inner, f'{whole:.0f} of {inner} px')
    before = width('sqlite3_prepare_v2')
    check('narrow before the zoom', 0 < before < whole / 2, f'{before:.0f} px')

    click('sqlite3_prepare_v2')
    check('a click gives the frame the whole width', abs(width('sqlite3_prepare_v2') - whole) < 1)
    check('its ancestors stay', abs(width('main') - whole) < 1 and abs(width('all') - whole) < 1)
    check('what is beside it goes', width('sqlite3_step') == 0)
    check('what is inside grows', width('sqlite3Select') > 2 * before, f"{width('sqlite3Select'):.0f} px")
    label = run('return arguments[0].querySelector("text").textContent', frame('sqlite3_prepare_v2'))
    check('its label is whole', label == 'sqlite3_prepare_v2', label)

    keys(ESCAPE)
    check('Escape goes back', abs(width('sqlite3_prepare_v2') - before) < 1)
    click('sqlite3_prepare_v2')
    run('document.getElementById("reset").click()')
    check('so does the button', abs(width('sqlite3_prepare_v2') - before) < 1)

    keys((CONTROL, 'f'))
    check('Ctrl-F goes to the search', run('return document.activeElement.id') == 'search')
    keys(*'sqlite3_st.p$')
    check('a search says how much matches', text_of('matched') == 'matched: 76.1 %', text_of('matched'))
    hits = run('return document.querySelectorAll("g.f.hit").length')
    check('and marks it', hits == 1, hits)
    click('sqlite3_step')
    check('within the zoom', text_of('matched') == 'matched: 100.0 %', text_of('matched'))
    run('document.getElementById("reset").click()')
    keys(ESCAPE)
    check('Escape ends it', text_of('matched') == '' and run('return document.querySelectorAll("g.f.hit").length') == 0)
    keys((CONTROL, 'f'))
    keys(*'MALLOC$')
    check('case does not matter, nested matches count once', text_of('matched') == 'matched: 74.2 %', text_of('matched'))
    keys(ESCAPE)
    keys((CONTROL, 'f'))
    keys(*'main(')
    check('a broken pattern is taken as text', run('return document.getElementById("search").classList.contains("bad")'))
    keys(ESCAPE)

    hover('sqlite3Select')
    check('the mouse shows details', 'sqlite3Select' in text_of('detail') and '625 KiB' in text_of('detail') and
          '1,604 blocks' in text_of('detail') and '5.57 %' in text_of('detail'), text_of('detail'))

    hostile = '<script>alert(1)</script>'
    click(hostile)
    check('a hostile name is text', run('return arguments[0].querySelector("text").textContent', frame(hostile)) == hostile)
    check('there is one script', run('return document.querySelectorAll("script").length') == 1)
    try:
        opened = alert_text()
    except urllib.error.HTTPError:
        opened = None
    check('nothing was run', opened is None, opened or '')
    keys(ESCAPE)

    resize(800, 600)
    time.sleep(0.3)
    check('a smaller window', width('all') <= run('return window.innerWidth') < inner, f"{width('all'):.0f} px")
    errors = severe()
    check('no errors in the browser', not errors, errors or '')
except AssertionError as error:
    print('FAILED', error)
    sys.exit(1)
finally:
    end()
PYTHON
drive "$T/drive.py" "$port" "$T"
