"""The course as plain web pages, for readers without a kernel: `python -m tools.pages`, or `course.py site`.

    build.py      what goes into the folder; the map comes from the README's table
    convert.py    one notebook to one page, through nbconvert and a template of ours
    hero.py       the one picture that moves without a kernel: what stands in it, computed by `ffn_helpers`
    templates/    the pages, their style, and hero.js, which computes the same in the reader's browser

Nothing on a page is fetched from elsewhere, and each page forbids it (its Content-Security-Policy).
"""
