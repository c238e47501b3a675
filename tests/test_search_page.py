"""The search page in a real Chromium, against a real server in a process of its own."""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

import skmil
from skmil.datasets.pictures import paint

webdriver = pytest.importorskip("selenium.webdriver", reason="these tests need selenium")
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
pytest.importorskip("uvicorn", reason="the search page needs uvicorn: pip install skmil[search]")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no browser here: install chromium and chromium-driver"
)
HOSTILE = "<img src=x onerror=document.title='hacked'>.png"


def element(browser, selector):
    return browser.find_element("css selector", selector)


def elements(browser, selector):
    return browser.find_elements("css selector", selector)


def until(condition, seconds=30):
    """What a condition gives once it is true; elements may be replaced while it looks."""
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if found := condition():
                return found
        except (NoSuchElementException, StaleElementReferenceException):
            pass
        time.sleep(0.05)
    raise AssertionError("waited in vain")


class Page:
    """A server on a folder of pictures, and a browser that looks at it."""

    def __init__(self, folder):
        self.folder, self.server, self.address = folder, None, ""

    def start(self, *options):
        env = {**os.environ, "PYTHONPATH": str(Path(skmil.__file__).parents[1]), "SKMIL_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "skmil", "search", str(self.folder), "--no-browser", *options]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        self.address = self.server.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:")

    def stop(self, kill=False):
        (self.server.kill if kill else self.server.terminate)()
        self.server.wait(20)
        self.server.stdout.close()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "pictures"
    folder.mkdir()
    for k in range(8):
        for kind in ("sunset", "field"):
            Image.fromarray(paint(kind, (64, 96), k)).save(folder / f"{kind} {k}.png")
    try:
        Image.fromarray(paint("flower", (64, 96), 1)).save(folder / HOSTILE)
    except OSError:  # a system that has no such names has no such danger
        pass
    return folder


@pytest.fixture
def page(pictures, tmp_path):
    found = Page(Path(shutil.copytree(pictures, tmp_path / "pictures")))
    found.start("--method", "MI-Kernel")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium, page):
    chromium.set_window_size(1200, 900)
    chromium.get(page.address)
    chromium.execute_script("sessionStorage.clear()")
    chromium.get(page.address)
    until(lambda: elements(chromium, "#grid article"))
    chromium.get_log("browser")
    chromium.get_log("performance")
    yield chromium
    severe = [e for e in chromium.get_log("browser") if "Content Security Policy" in e["message"]]
    assert not severe
    assert not [u for u in asked_for(chromium) if not u.startswith(("http://127.0.0.1:", "data:"))]


def asked_for(browser):
    """Addresses of all requests since the last look."""
    events = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    return {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}


def press(browser, *keys):
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def names(browser):
    return [e.text for e in elements(browser, "#grid .name")]


def card(browser, name):
    return next(a for a in elements(browser, "#grid article") if a.text.startswith(name) or name in a.text)


def count(browser):
    return element(browser, "#count").text


def marked(browser, wanted, unwanted):
    return until(lambda: f"{wanted} wanted, {unwanted} not wanted" in count(browser))


def teach(browser):
    for k in (0, 1):
        card(browser, f"sunset {k}.png").find_element("css selector", ".y").click()
        card(browser, f"field {k}.png").find_element("css selector", ".n").click()
    marked(browser, 2, 2)


def test_mark_rank_undo_reload_restart(browser, page):
    teach(browser)
    element(browser, "#rank").click()
    until(lambda: "Ranked by MI-Kernel" in count(browser))
    best = names(browser)[:8]
    assert sum(n.startswith("sunset") for n in best) >= 6
    until(lambda: elements(browser, ".shade:not([hidden])"))
    shade = element(browser, ".shade:not([hidden])")
    until(lambda: browser.execute_script("return arguments[0].naturalWidth", shade) > 0)
    element(browser, "#undo").click()
    marked(browser, 2, 1)
    browser.refresh()
    marked(browser, 2, 1)
    page.stop(kill=True)
    page.start("--method", "MI-Kernel")
    browser.get(page.address)
    marked(browser, 2, 1)
    until(lambda: "Ranked by MI-Kernel" in count(browser))


def test_with_the_keyboard_alone(browser):
    names_before = names(browser)
    element(browser, "#waits").click()
    for _ in range(40):
        press(browser, Keys.TAB)
        if browser.switch_to.active_element.tag_name == "article":
            break
    assert browser.switch_to.active_element.get_attribute("aria-label").startswith(names_before[0])
    press(browser, Keys.ARROW_RIGHT)
    assert names_before[1] in browser.switch_to.active_element.get_attribute("aria-label")
    press(browser, "y")
    marked(browser, 1, 0)
    assert "wanted" in browser.switch_to.active_element.get_attribute("aria-label")
    press(browser, Keys.ARROW_DOWN, "n")
    marked(browser, 1, 1)
    press(browser, "u")
    marked(browser, 1, 0)
    press(browser, "n", Keys.ENTER)
    marked(browser, 1, 1)
    until(lambda: "Ranked by MI-Kernel" in count(browser))
    # Who asks for a ranking is at its top, with the focus.
    assert names(browser)[0] in browser.switch_to.active_element.get_attribute("aria-label")
    press(browser, "z")
    marked(browser, 1, 0)
    # Letters typed into a field are no marks.
    element(browser, "#more summary").click()
    element(browser, "#name").send_keys("any")
    marked(browser, 1, 0)
    press(browser, Keys.ENTER)
    marked(browser, 0, 0)
    assert element(browser, "#search").get_attribute("value") == "any"


def test_with_caps_lock_and_a_key_held_down(browser):
    press(browser, Keys.ARROW_DOWN, "Y")
    marked(browser, 1, 0)
    again = "new KeyboardEvent('keydown', {key: 'n', repeat: true, bubbles: true})"
    browser.execute_script(f"document.activeElement.dispatchEvent({again})")
    press(browser, "Z")
    marked(browser, 0, 0)


SLOW = """
const fetching = window.fetch; let n = 0;
window.fetch = async (path, options) => {
  if (path === '/api/mark' && n++ === 0) await new Promise(done => setTimeout(done, 1000));
  return fetching(path, options);
};
"""


def test_a_ranking_waits_for_marks_on_their_way(browser):
    element(browser, "#waits").click()
    browser.execute_script(SLOW)
    browser.execute_script("document.querySelector('#grid article').focus()")
    press(browser, "y", Keys.ARROW_RIGHT, "n", "u", "n", Keys.ENTER)
    until(lambda: "1 wanted, 1 not wanted. Ranked by MI-Kernel" in count(browser))
    browser.execute_script(SLOW)
    press(browser, "u", "z")
    time.sleep(1.5)
    marked(browser, 1, 1)


def test_what_was_chosen_stays_after_a_reload(browser):
    for box in ("#hide", "#waits", "#shades"):
        element(browser, box).click()
    browser.refresh()
    until(lambda: elements(browser, "#grid article"))
    assert [element(browser, b).is_selected() for b in ("#hide", "#waits", "#shades")] == [
        True,
        False,
        False,
    ]


def test_waiting_ranks_by_itself(browser):
    card(browser, "sunset 3.png").find_element("css selector", ".view").click()
    marked(browser, 1, 0)
    until(lambda: "Ranked by similarity" in count(browser))
    until(lambda: names(browser)[0] == "sunset 3.png", 15)


UNDER_THE_BAR = """
return [document.getElementById('bar').getBoundingClientRect().bottom,
  document.activeElement.closest('article').getBoundingClientRect().top];
"""


def test_on_a_phone(browser, page):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        browser.get(page.address)
        until(lambda: elements(browser, "#grid article"))
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= 390
        button = element(browser, "#grid .y")
        assert button.size["height"] >= 40 and button.size["width"] >= 40
        button.click()
        marked(browser, 1, 0)
        press(browser, *([Keys.ARROW_DOWN] * 6), *([Keys.ARROW_UP] * 4))
        bar, focused = browser.execute_script(UNDER_THE_BAR)
        assert focused >= bar
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


CONTRAST = """
const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
  .map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
  return .2126*v[0] + .7152*v[1] + .0722*v[2]; };
const behind = e => { for (; e; e = e.parentElement) { const b = getComputedStyle(e).backgroundColor;
  if (!/, 0\\)$/.test(b) && b !== 'transparent') return b; } return 'rgb(255, 255, 255)'; };
return [...document.querySelectorAll('p, button, a, label, h1 span, summary, kbd')]
  .filter(e => e.offsetParent && e.textContent.trim()).map(e => {
    const a = light(getComputedStyle(e).color), b = light(behind(e));
    return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e.outerHTML.slice(0, 80)];
  }).filter(x => x[0] < 4.5);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_labels(browser, page, scheme):
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        browser.get(page.address)
        until(lambda: elements(browser, "#grid article"))
        teach(browser)
        element(browser, "#rank").click()
        until(lambda: "Ranked by MI-Kernel" in count(browser))
        element(browser, "#more summary").click()
        assert browser.execute_script(CONTRAST) == []
        dark = (
            browser.execute_script("return getComputedStyle(document.body).backgroundColor")
            != "rgb(253, 253, 251)"
        )
        assert dark == (scheme == "dark")
        for control in elements(browser, "button, select, input, a[href], img:not([hidden])"):
            if control.is_displayed() and "shade" not in (control.get_attribute("class") or ""):
                assert control.accessible_name, control.get_attribute("outerHTML")
        assert element(browser, "#count").get_attribute("aria-live") == "polite"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_names_of_files_are_text(browser, page):
    if not (page.folder / HOSTILE).exists():
        pytest.skip("this system has no such names")
    assert HOSTILE in names(browser)
    assert "hacked" not in browser.title and not elements(browser, "img[src='x']")


def test_a_dropped_picture_is_an_example(browser, tmp_path):
    own = tmp_path / "own.png"
    Image.fromarray(paint("sunset", (64, 96), 99)).save(own)
    element(browser, "#more summary").click()
    element(browser, "#file").send_keys(str(own))
    until(lambda: elements(browser, "#examples img"))
    marked(browser, 1, 0)
    assert names(browser)[0].startswith("sunset")
    drop = """
const [data, done] = arguments; const raw = Uint8Array.from(atob(data), c => c.charCodeAt(0));
const files = new DataTransfer(); files.items.add(new File([raw], 'x.png', {type: 'image/png'}));
document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: files, bubbles: true, cancelable: true}));
"""
    Image.fromarray(paint("field", (64, 96), 98)).save(own)
    browser.execute_script(drop, base64.b64encode(own.read_bytes()).decode(), None)
    until(lambda: len(elements(browser, "#examples img")) == 2)
    remove_example(browser, 1)
    remove_example(browser, 0)
    for _ in range(2):  # the same file may be chosen again
        element(browser, "#file").send_keys(str(own))
        marked(browser, 1, 0)
        remove_example(browser, 0)


def remove_example(browser, left):
    until(lambda: element(browser, "#examples button").click() or True)
    marked(browser, left, 0)
    until(lambda: len(elements(browser, "#examples img")) == left)


def test_files_that_change_while_the_page_is_open(browser, page):
    card(browser, "sunset 0.png").find_element("css selector", ".y").click()
    marked(browser, 1, 0)
    (page.folder / "field 0.png").unlink()
    (page.folder / "new.png").write_bytes((page.folder / "sunset 0.png").read_bytes())
    element(browser, "#more summary").click()
    element(browser, "#refresh").click()
    until(lambda: "1 new, 0 changed, 1 deleted" in count(browser))
    assert "new.png" in names(browser) and "field 0.png" not in names(browser)
    marked(browser, 1, 0)


def test_two_tabs(browser, page):
    first = browser.current_window_handle
    card(browser, "sunset 0.png").find_element("css selector", ".y").click()
    marked(browser, 1, 0)
    browser.switch_to.new_window("tab")
    try:
        browser.get(page.address)
        marked(browser, 1, 0)
        card(browser, "field 0.png").find_element("css selector", ".n").click()
        marked(browser, 1, 1)
    finally:
        browser.close()
        browser.switch_to.window(first)
    card(browser, "sunset 1.png").find_element("css selector", ".y").click()
    marked(browser, 2, 1)


def test_another_site_marks_nothing(browser, page):
    thing = element(browser, "#grid article").get_attribute("id")[1:]
    body = json.dumps({"search": "first search", "thing": thing, "mark": "y", "tab": "x"})
    script = """
const [address, body, done] = arguments;
fetch(address + 'api/mark', {method: 'POST', mode: 'no-cors', body}).then(() => done(1), () => done(0));
"""
    assert browser.execute_async_script(script, page.address, body) == 1  # the page itself may
    browser.refresh()
    marked(browser, 1, 0)
    browser.get("data:text/html,<title>another site</title>")
    browser.execute_async_script(script, page.address, body.replace('"y"', '"n"'))
    browser.get(page.address)
    marked(browser, 1, 0)
