#!/bin/bash
# ctest: LABELS full
# The page of `collector analyze --html` in a real browser (headless Chromium, driven over loopback). Nothing runs and
# nothing is fetched. Nothing is wider than the window or the paper, and it prints. Pictures are in tests/pictures of
# the build folder.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-browser.sh"

python3 "$TEST_SOURCE/lib-analyze.py" make 5000 "$T/made.collapsed"
printf '%s\n' 'main;<script>alert(1)</script>;"><img src=x onerror=alert(1)> 99999999999' "main;$(head -c 2000 /dev/zero | tr '\0' w) 5000000000" >>made.collapsed
"$COLLECTOR" analyze made.collapsed --rules clickhouse --search Merge --drill Joins --html "$T/a page.html" >where.txt
start_browser

cat >"$T/drive.py" <<'PYTHON'
import re, sys
from lib_browser import *

port, work, pictures = sys.argv[1:]

def fits(what, width, height):
    command('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
    wide = run('return document.documentElement.scrollWidth')
    check(f'{what} fits {width} px', wide <= width, wide)
    picture(f'{pictures}/analyze-{what}.png')

start(port, work, 1100, 1500)
try:
    open_file(f'{work}/a page.html')
    check('its title', run('return document.title') == 'made.collapsed - allocations')
    check('nothing runs', run('return document.querySelectorAll("script, img").length') == 0)
    check('nothing is fetched', run('return performance.getEntriesByType("resource").length') == 0)
    headings = run('return Array.from(document.querySelectorAll("h2")).map(function (h) { return h.textContent })')
    for heading in 'Findings', 'Subsystems', 'Why', 'Where', 'Full stacks':
        check(heading, heading in headings, '' if heading in headings else headings)
    check('a hostile name is text', run('return document.body.textContent.indexOf("<script>alert</script>") > 0'))
    bars = run('''return Array.from(Array.from(document.querySelectorAll("h2")).find(function (h) {
        return h.textContent === "Subsystems" }).nextElementSibling.nextElementSibling.querySelectorAll(".bar")).map(
        function (b) { return b.getBoundingClientRect().width })''')
    check('bars shrink', len(bars) > 3 and bars[0] > 50 and bars == sorted(bars, reverse=True), bars[:3])
    fits('screen', 1100, 1500)
    fits('narrow', 420, 900)
    command('Emulation.setEmulatedMedia', media='print')
    fits('print', 695, 983) # A4 without its margins
    command('Emulation.setEmulatedMedia', media='')
    pdf = printed(21, 29.7)
    pages = len(re.findall(rb'/Type\s*/Page\b', pdf))
    check('it prints', pdf.startswith(b'%PDF') and 3 <= pages <= 60, f'{pages} pages')
    check('no errors in the browser', not severe(), severe() or '')
except AssertionError as error:
    print('FAILED', error)
    sys.exit(1)
finally:
    end()
PYTHON
drive "$T/drive.py" "$port" "$T" "$pictures"
