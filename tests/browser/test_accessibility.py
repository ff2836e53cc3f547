"""The tools of access.py against faults, and explorer.js on the page that ipywidgets 7 builds.

What they find in the notebooks is tested in test_in_jupyterlab.py, where every notebook is open anyway.
"""
import html

import pytest

from tests.browser.access import cramped, heard, serious
from tests.browser.lab import CHROMIUM, ROOT

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")


def test_axe_bites_and_lets_good_pass(page):
    page.set_content("""<html lang=en><title>t</title><main><h1>t</h1><button>Reset</button><button></button><img src="data:,">
        <div role="slider" aria-valuenow="1" tabindex="0">1</div><p style="color:#999">pale</p></main></html>""")
    rules = [found.partition(" · ")[0] for found in serious(page, "body")]
    assert sorted(rules) == ["aria-input-field-name", "button-name", "color-contrast", "image-alt"]


def test_narrow_windows_bite(page):
    page.set_content("""<div class="jp-OutputArea-output" style="overflow:auto"><div class="ffn-explorer" style="width:400px">
        <button style="width:20px;overflow:hidden;white-space:nowrap">a long name</button><br>
        <button style="margin-left:350px;width:80px">out</button><br>
        <button>one</button><button style="margin-left:-20px">two</button></div><div style="width:900px">wide</div></div>""")
    assert sorted(found.partition(":")[0] for found in cramped(page, 640)) == [
        "cut", "on each other", "sticks out", "wider than its cell"]


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
    slider = explorer.get_by_role("slider")
    assert slider.get_attribute("aria-valuetext") == "3"
    for refused in ("abc", ""):
        page.evaluate("""refused => { document.querySelector('input').value = refused;
                                      document.querySelector('.ffn-words').innerHTML = `refused “${refused}”` }""", refused)
        assert [slider.get_attribute(name) for name in ("aria-valuetext", "aria-valuenow")] == ["3", "3"]
