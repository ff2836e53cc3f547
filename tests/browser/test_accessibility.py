"""The tools of access.py against faults, and explorer.js on the page that ipywidgets 7 builds.

What they find in the notebooks is tested in test_in_jupyterlab.py, where every notebook is open anyway.
"""
import html

import pytest

from tests.browser.access import cramped, heard, serious
from tests.browser.lab import CHROMIUM, ROOT

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")


@pytest.mark.parametrize("fault, rule", [
    ("<button></button>", "button-name"),
    ('<div role="slider" aria-valuenow="1" tabindex="0">1</div>', "aria-input-field-name"),
    ("<img src='data:,'>", "image-alt"),
    ("<p style='color:#999'>pale</p>", "color-contrast")])
def test_axe_bites(page, fault, rule):
    page.set_content(f"<html lang=en><title>t</title><main><h1>t</h1>{fault}</main></html>")
    found, = serious(page, "body")
    assert found.startswith(rule)


def test_axe_lets_a_good_page_pass(page):
    page.set_content("<html lang=en><title>t</title><main><h1>t</h1><button>Reset</button></main></html>")
    assert serious(page, "body") == []


@pytest.mark.parametrize("fault, word", [
    ('<button style="width:20px;overflow:hidden;white-space:nowrap">a long name</button>', "cut"),
    ('<button style="margin-left:350px;width:80px">out</button>', "sticks out"),
    ('<button>one</button><button style="margin-left:-20px">two</button>', "on each other"),
    ('<div style="width:900px">wide</div>', "wider than its cell")])
def test_narrow_windows_bite(page, fault, word):
    page.set_content(f'<div class="jp-OutputArea-output" style="overflow:auto"><div class="ffn-explorer" style="width:400px">{fault}</div></div>')
    assert any(found.startswith(word) for found in cramped(page, 640))


# What ipywidgets 7.7.1, Colab's, makes of a number and of a choice, as far as explorer.js looks at it.
SEVEN = """<div class="ffn-explorer">
    <div class="widget-hbox ffn-number"><div class="widget-text"><label for="b">x₁</label><input id="b" type="text" value="−2"></div>
        <div class="widget-slider"><div class="slider ui-slider"><span tabindex="0" class="ui-slider-handle"></span></div></div></div>
    <div class="widget-toggle-buttons"><label>order</label><div><button>pre</button><button class="mod-active">post</button></div></div>
    <div class="ffn-words"></div><style onload="%s"></style></div>"""


def test_controls_of_ipywidgets_7_are_named(page):
    page.set_content(SEVEN % html.escape((ROOT / "explorer.js").read_text(encoding="utf-8")))
    explorer = page.locator(".ffn-explorer")
    assert heard(explorer) == [("textbox", "x₁", False), ("slider", "x₁ slider", False), ("group", "order", False),
                               ("button", "pre", False), ("button", "post", True), ("status", "", False)]
    assert explorer.get_by_role("slider").get_attribute("aria-valuetext") == "-2"
    page.evaluate("""() => { for (const button of document.querySelectorAll('button')) button.classList.toggle('mod-active');
                             document.querySelector('input').value = '3'; document.querySelector('.ffn-words').innerHTML = 'moved' }""")
    assert [name for _, name, pressed in heard(explorer) if pressed] == ["pre"]
    assert explorer.get_by_role("slider").get_attribute("aria-valuetext") == "3"
