"""Can every reader use a page? What axe-core finds, what a screen reader hears, and what is cut off in a narrow window."""
import os
import re

from axe_playwright_python.base import AXE_SCRIPT

# What axe-core finds in JupyterLab 4.6 itself, by rule and class: editors without a name, a debugger's button with a wrong
# state, one that folds headings without a name, cells that are no articles in their feed. All else is the course's.
JUPYTERLAB = {("aria-input-field-name", "cm-content"), ("aria-allowed-attr", "jp-DebuggerBugButton"),
              ("button-name", "jp-collapseHeadingButton"), ("aria-required-children", "jp-WindowedPanel-viewport")}

# What takes too long for every push: axe-core in every notebook and on every page of the site rather than in two,
# a second width, and the names in every explorer rather than in the first of a notebook. CI does it once a week.
EVERY = bool(os.environ.get("EVERY_READER"))
TWO = "04_one_network_for_every_token", "08_what_it_costs"

# The page has been drawn twice. By the clock as well: an overloaded page draws nothing, and `evaluate` would wait for ever.
DRAWN = """new Promise((done, failed) => {
    requestAnimationFrame(() => requestAnimationFrame(done));
    setTimeout(() => failed(Error('not drawn in 30 seconds')), 30_000) })"""

# Controls that lie on each other, stick out or are cut, and outputs that can be scrolled sideways.
CRAMPED = """() => {
    const found = [], text = e => e.outerHTML.slice(0, 90);
    for (const area of document.querySelectorAll('.jp-OutputArea-output, .jp-RenderedMarkdown'))
        if (area.scrollWidth > area.clientWidth + 1) found.push('wider than its cell: ' + area.innerText.slice(0, 60));
    for (const explorer of document.querySelectorAll('.ffn-explorer')) {
        const edge = explorer.getBoundingClientRect().right;
        for (const e of explorer.querySelectorAll('.widget-label, button, select'))
            if (e.scrollWidth > e.clientWidth + 1) found.push('cut: ' + text(e));
        const boxes = [...explorer.querySelectorAll('input, select, button, .noUi-base, .widget-label')]
            .map(e => [e, e.getBoundingClientRect()]).filter(([e, box]) => box.width);
        boxes.forEach(([e, a], i) => {
            if (a.right > edge + 1) found.push('sticks out: ' + text(e));
            for (const [other, b] of boxes.slice(0, i))
                if (!e.contains(other) && !other.contains(e)
                    && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
                    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
                    found.push('on each other: ' + text(e) + text(other));
        });
    }
    return found }"""


def serious(page, *selectors):
    """What axe-core finds serious or critical inside `selectors`: texts of rule, place and markup, without any request.

    The shapes inside an `<svg>` are left out: thousands of them, and an explorer's are one image with one text.
    Raises when a selector matches nothing.
    """
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    return page.evaluate("""async (selectors) => {
        const found = await axe.run({include: selectors.map(s => [s]), exclude: [['svg > *']]}, {resultTypes: ['violations']});
        return found.violations.filter(v => ['serious', 'critical'].includes(v.impact))
            .flatMap(v => v.nodes.map(n => [v.id, n.target.join(' '), n.html.slice(0, 120)].join(' · '))) }""", selectors)


def in_a_notebook(page):
    """What is serious on a notebook's panel and not in the list of JupyterLab's own. Which of those show hangs on the
    kernel's answers and on the cell that is active, so none of them is asked for."""
    return [finding for finding in serious(page, ".jp-NotebookPanel")
            if not any(finding.startswith(rule) and "." + place in finding.split(" · ")[1].split(" > ")[-1] for rule, place in JUPYTERLAB)]


def heard(explorer):
    """The roles and names of what a screen reader finds in an explorer, as (role, name, pressed), in their order."""
    return [(role, name.replace("''", "'"), bool(pressed)) for role, name, pressed in re.findall(
        r"""^\s*- '?(?!text:)([a-z]+)(?: "(.*?)")?(?: \[(?:checked|(pressed)|[a-z]+)\])*'?(?::|$)""", explorer.aria_snapshot(), re.M)]


def cramped(page, width):
    """What is cut, covered or out of reach in a window of `width` pixels."""
    size = page.viewport_size
    page.set_viewport_size({**size, "width": width})
    page.evaluate(f"() => {DRAWN}")
    found = page.evaluate(CRAMPED)
    page.set_viewport_size(size)
    return found
