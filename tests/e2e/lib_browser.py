"""A browser, driven by WebDriver over loopback: for tests of flame graphs and pages.

start(port, folder, width, height) before anything else; end() at the end."""
import base64, json, sys, urllib.error, urllib.parse, urllib.request

base = session = None

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
    return Array.from(document.querySelectorAll('g.f')).find(function (f) {
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

def start(port, folder, width=1300, height=700):
    global base, session
    base = f'http://127.0.0.1:{port}/session'
    options = {'args': ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', f'--window-size={width},{height}',
                        '--disable-background-networking', '--no-first-run', f'--user-data-dir={folder}/profile']}
    try:
        session = ask('POST', '', {'capabilities': {'alwaysMatch': {'goog:chromeOptions': options,
                      'goog:loggingPrefs': {'browser': 'ALL'}, 'unhandledPromptBehavior': 'ignore'}}})['sessionId']
    except Exception as error:
        detail = error.read().decode(errors='replace')[:300] if hasattr(error, 'read') else error
        print('SKIPPED: chromium does not start:', detail)
        sys.exit(77)

def end():
    ask('DELETE', f'/{session}')

def open_file(path):
    ask('POST', f'/{session}/url', {'url': 'file://' + urllib.parse.quote(path)})

def picture(path):
    with open(path, 'wb') as file:
        file.write(base64.b64decode(ask('GET', f'/{session}/screenshot')))

def printed(width, height):
    """The page as PDF; centimetres."""
    return base64.b64decode(ask('POST', f'/{session}/print', {'page': {'width': width, 'height': height}}))

def command(name, **parameters):
    """Of Chromium's own protocol."""
    return ask('POST', f'/{session}/goog/cdp/execute', {'cmd': name, 'params': parameters})

def execute_async(script, *args):
    return ask('POST', f'/{session}/execute/async', {'script': script, 'args': list(args)})

def severe():
    return [entry for entry in ask('POST', f'/{session}/se/log', {'type': 'browser'}) if entry['level'] == 'SEVERE']

def alert_text():
    return ask('GET', f'/{session}/alert/text')

def resize(width, height):
    ask('POST', f'/{session}/window/rect', {'width': width, 'height': height})
