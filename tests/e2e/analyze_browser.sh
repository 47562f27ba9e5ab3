#!/bin/bash
# The page of `collector analyze --html` in a real browser (headless Chromium, driven over loopback): nothing runs and nothing is fetched,
# nothing is wider than the window or the paper, and it prints. Screenshots: BUILD/screenshots.
. "$(dirname "$0")/lib.sh"
need chromium chromedriver python3

python3 "$TEST_SOURCE/lib-analyze.py" make 5000 "$T/made.collapsed"
printf '%s\n' 'main;<script>alert(1)</script>;"><img src=x onerror=alert(1)> 99999999999' "main;$(head -c 2000 /dev/zero | tr '\0' w) 5000000000" >>made.collapsed
"$COLLECTOR" analyze made.collapsed --rules clickhouse --search Merge --drill Joins --html "$T/a page.html" >where.txt
mkdir "$T/home"
export HOME=$T/home TMPDIR=$T/home
chromedriver --port=0 >"$T/driver.log" 2>&1 &
disown # killed at the end without a word
wait_for 20 "chromedriver" grep -q "started successfully" "$T/driver.log"
port=$(sed -n 's/.*started successfully on port \([0-9]*\).*/\1/p' "$T/driver.log")
mkdir -p "$BUILD/screenshots"

cat >"$T/drive.py" <<'PYTHON'
import base64, json, re, sys, urllib.parse, urllib.request

port, work, pictures = sys.argv[1:]
base = f'http://127.0.0.1:{port}/session'
session = None

def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {'Content-Type': 'application/json'}, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        return json.load(answer)['value']

def run(script):
    return ask('POST', f'/{session}/execute/sync', {'script': script, 'args': []})

def order(command, **parameters):
    return ask('POST', f'/{session}/goog/cdp/execute', {'cmd': command, 'params': parameters})

def check(what, condition, shown=''):
    if not condition:
        raise AssertionError(f'{what}: {shown}')
    print('ok', what, shown)

def fits(what, width, height):
    order('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
    wide = run('return document.documentElement.scrollWidth')
    check(f'{what} fits {width} px', wide <= width, wide)
    with open(f'{pictures}/analyze-{what}.png', 'wb') as out:
        out.write(base64.b64decode(ask('GET', f'/{session}/screenshot')))

options = {'args': ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--window-size=1100,1500',
                    '--disable-background-networking', '--no-first-run', f'--user-data-dir={work}/profile']}
try:
    session = ask('POST', '', {'capabilities': {'alwaysMatch': {'goog:chromeOptions': options,
                  'goog:loggingPrefs': {'browser': 'ALL'}, 'unhandledPromptBehavior': 'ignore'}}})['sessionId']
except Exception as error:
    detail = error.read().decode(errors='replace')[:300] if hasattr(error, 'read') else error
    print('SKIPPED: chromium does not start:', detail)
    sys.exit(77)
try:
    ask('POST', f'/{session}/url', {'url': 'file://' + urllib.parse.quote(work + '/a page.html')})
    check('its title', run('return document.title') == 'made.collapsed - allocations')
    check('nothing runs', run('return document.querySelectorAll("script, img").length') == 0)
    check('nothing is fetched', run('return performance.getEntriesByType("resource").length') == 0)
    headings = run('return Array.from(document.querySelectorAll("h2")).map(function (h) { return h.textContent })')
    for heading in 'Findings', 'Subsystems', 'Why', 'Where', 'Full stacks':
        check(heading, heading in headings, '' if heading in headings else headings)
    check('a hostile name is text', run('return document.body.textContent.indexOf("<script>alert(1)</script>") > 0'))
    bars = run('''return Array.from(Array.from(document.querySelectorAll("h2")).find(function (h) {
        return h.textContent === "Subsystems" }).nextElementSibling.nextElementSibling.querySelectorAll(".bar")).map(
        function (b) { return b.getBoundingClientRect().width })''')
    check('bars shrink', len(bars) > 3 and bars[0] > 50 and bars == sorted(bars, reverse=True), bars[:3])
    fits('screen', 1100, 1500)
    fits('narrow', 420, 900)
    order('Emulation.setEmulatedMedia', media='print')
    fits('print', 695, 983) # A4 without its margins
    order('Emulation.setEmulatedMedia', media='')
    pdf = base64.b64decode(ask('POST', f'/{session}/print', {'page': {'width': 21, 'height': 29.7}}))
    pages = len(re.findall(rb'/Type\s*/Page\b', pdf))
    check('it prints', pdf.startswith(b'%PDF') and 3 <= pages <= 60, f'{pages} pages')
    errors = [entry for entry in ask('POST', f'/{session}/se/log', {'type': 'browser'}) if entry['level'] == 'SEVERE']
    check('no errors in the browser', not errors, errors or '')
except AssertionError as error:
    print('FAILED', error)
    sys.exit(1)
finally:
    ask('DELETE', f'/{session}')
PYTHON
python3 "$T/drive.py" "$port" "$T" "$BUILD/screenshots"
