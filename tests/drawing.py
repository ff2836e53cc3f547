"""What a picture really draws, recorded by a renderer: its texts, colours, font sizes, opacity.

Asked of the renderer rather than of the artists, so that switched-off axes, hidden artists and empty
labels do not count, and tick labels do.
"""
import re
from collections import namedtuple

import matplotlib
import numpy as np
from matplotlib.colors import to_hex, to_rgb

import ffn_helpers as fh
from svg_layer import SvgLayer

PALETTE = {name: getattr(fh, name) for name in ("INK", "POSITIVE", "NEGATIVE", "ZERO", "HIDDEN", "WEIGHT", "CUT", "SOFT")}

# One drawn line of text: its ink in pixels from the top left, and its size in points.
Label = namedtuple("Label", "text x0 y0 x1 y1 size")


class Recorder(SvgLayer):
    """Draws nothing; `labels`, `colours`, `alphas` and `hatched` say what it was asked to draw.

    With `moving` it looks only at what an explorer moves, which is quicker.
    """

    def __init__(self, picture, moving=False):
        super().__init__(*picture.size)
        self.agg = picture.figure.canvas.get_renderer()
        self.labels, self.colours, self.alphas, self.hatched = [], set(), set(), 0
        with matplotlib.rc_context(fh.STYLE):
            for artist in picture.moving if moving else [picture.figure]:
                artist.draw(self)

    def _emit(self, gc, element):
        pass

    def _see(self, colour):
        self.colours.add(to_hex(colour[:3]))
        self.alphas.add(colour[3] if len(colour) == 4 else 1)

    def draw_path(self, gc, path, transform, rgbFace=None):
        if not len(path.vertices):
            return
        clear = rgbFace is None or len(rgbFace) == 4 and rgbFace[3] == 0       # "none" is no colour at all
        if not clear:
            self._see(rgbFace)
        if gc.get_linewidth() and gc.get_rgb()[3]:
            self._see(gc.get_rgb())
        if gc.get_hatch():
            self._see(gc.get_hatch_color())
            self.hatched += 1

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        self._see(gc.get_rgb())
        width, height, descent = self.agg.get_text_width_height_descent(s, prop, False)
        corners = np.array([(0, descent), (width, descent), (width, descent - height), (0, descent - height)])
        turn = np.radians(-angle)
        corners = corners @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]] + (x, y)
        self.labels.append(Label(s, *corners.min(0), *corners.max(0), prop.get_size_in_points()))

    def draw_image(self, gc, x, y, im, transform=None):
        raise AssertionError("a picture holds a raster image")


def is_known(colour):
    """Is a colour in the palette, or an opaque mix of white and a palette colour?"""
    ink = 1 - np.array(to_rgb(colour))                 # 0 for white
    for known in PALETTE.values():
        full = 1 - np.array(to_rgb(known))
        amount = ink @ full / (full @ full) if full.any() else 0
        if 0 <= amount <= 1.01 and np.abs(ink - amount * full).max() <= 1 / 255 + 1e-9:
            return True
    return False


def off_page(labels, size):
    """Texts that leave the page."""
    return [label.text for label in labels
            if label.x0 < 0 or label.y0 < 0 or label.x1 > size[0] or label.y1 > size[1]]


def overlaps(labels, touch=0.5):
    """Pairs of texts whose ink boxes share more than `touch` pixels both ways."""
    found = []
    for i, a in enumerate(labels):
        found += [(a.text, b.text) for b in labels[:i]
                  if min(a.x1, b.x1) - max(a.x0, b.x0) > touch and min(a.y1, b.y1) - max(a.y0, b.y0) > touch]
    return found


def bare(svg):
    """The drawing without its definitions, and with ids that do not depend on the picture's number."""
    return re.sub(r"<defs>.*?</defs>", "", re.sub(r"\bp\d+-", "", svg))
