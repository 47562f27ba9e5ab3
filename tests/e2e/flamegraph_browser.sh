#!/bin/bash
# The flame graph in a real browser (headless Chromium, driven over loopback): opened from a file, a click zooms, a search
# marks and counts, Escape goes back, hostile names are text and nothing else. The network has loopback only: nothing is asked
# from outside.
. "$(dirname "$0")/lib.sh"

maker=$BUILD/tests/unit.export.flamegraph
[ -x "$maker" ] || skip "$maker is not built"
need chromium chromedriver python3

"$maker" --write "$T/a flame graph.svg"
mkdir "$T/home"
export HOME=$T/home TMPDIR=$T/home
chromedriver --port=0 >"$T/driver.log" 2>&1 &
disown # killed at the end without a word
started='s/.*started successfully on port \([0-9]*\).*/\1/p'
wait_for 20 "chromedriver" grep -q "started successfully" "$T/driver.log"
port=$(sed -n "$started" "$T/driver.log")

cat >"$T/drive.py" <<'PYTHON'
import json, sys, time, urllib.parse, urllib.request

port, work = sys.argv[1:]
base = f'http://127.0.0.1:{port}/session'
session = None

def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {'Content-Type': 'application/json'}, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        return json.load(answer)['value']

def run(script, *args):
    return ask('POST', f'/{session}/execute/sync', {'script': script, 'args': list(args)})

FIND = '''
    var want = arguments[0];
    return Array.from(document.querySelectorAll('svg.f')).find(function (f) {
        return f.firstElementChild.textContent.split('\\n')[0] === want;
    });'''

def frame(name):
    element = run(FIND, name)
    assert element, f'no frame {name}'
    return element

def width(name):
    box = run('''var f = arguments[0];
        return f.classList.contains('hidden') ? 0 : f.getBoundingClientRect().width''', frame(name))
    return box

def element_id(element):
    return next(iter(element.values()))

def click(name):
    ask('POST', f'/{session}/element/{element_id(frame(name))}/click', {})

def hover(name):
    move = {'type': 'pointerMove', 'origin': frame(name), 'x': 0, 'y': 0}
    ask('POST', f'/{session}/actions', {'actions': [{'type': 'pointer', 'id': 'mouse', 'parameters':
        {'pointerType': 'mouse'}, 'actions': [move]}]})

def keys(*pressed):
    actions = []
    for key in pressed:
        hold, key = (key[0], key[1]) if isinstance(key, tuple) else (None, key)
        if hold:
            actions.append({'type': 'keyDown', 'value': hold})
        actions += [{'type': 'keyDown', 'value': key}, {'type': 'keyUp', 'value': key}]
        if hold:
            actions.append({'type': 'keyUp', 'value': hold})
    ask('POST', f'/{session}/actions', {'actions': [{'type': 'key', 'id': 'keys', 'actions': actions}]})

def text_of(identity):
    return run('return document.getElementById(arguments[0]).textContent', identity)

def check(what, condition, shown=''):
    if not condition:
        raise AssertionError(f'{what}: {shown}')
    print('ok', what, shown)

CONTROL, ESCAPE = '\ue009', '\ue00c'
options = {'args': ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--window-size=1300,700',
                    '--disable-background-networking', '--no-first-run', f'--user-data-dir={work}/profile']}
try:
    session = ask('POST', '', {'capabilities': {'alwaysMatch': {'goog:chromeOptions': options,
                  'goog:loggingPrefs': {'browser': 'ALL'}, 'unhandledPromptBehavior': 'ignore'}}})['sessionId']
except Exception as error:
    detail = error.read().decode(errors='replace')[:300] if hasattr(error, 'read') else error
    print('SKIPPED: chromium does not start:', detail)
    sys.exit(77)
try:
    ask('POST', f'/{session}/url', {'url': 'file://' + urllib.parse.quote(work + '/a flame graph.svg')})
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
    hits = run('return document.querySelectorAll("svg.f.hit").length')
    check('and marks it', hits == 1, hits)
    click('sqlite3_step')
    check('within the zoom', text_of('matched') == 'matched: 100.0 %', text_of('matched'))
    run('document.getElementById("reset").click()')
    keys(ESCAPE)
    check('Escape ends it', text_of('matched') == '' and run('return document.querySelectorAll("svg.f.hit").length') == 0)
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
        opened = ask('GET', f'/{session}/alert/text')
    except urllib.error.HTTPError:
        opened = None
    check('nothing was run', opened is None, opened or '')
    keys(ESCAPE)

    ask('POST', f'/{session}/window/rect', {'width': 800, 'height': 600})
    time.sleep(0.3)
    check('a smaller window', width('all') <= run('return window.innerWidth') < inner, f"{width('all'):.0f} px")
    errors = [entry for entry in ask('POST', f'/{session}/se/log', {'type': 'browser'}) if entry['level'] == 'SEVERE']
    check('no errors in the browser', not errors, errors or '')
except AssertionError as error:
    print('FAILED', error)
    sys.exit(1)
finally:
    ask('DELETE', f'/{session}')
PYTHON
python3 "$T/drive.py" "$port" "$T"
