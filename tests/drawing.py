"""What a picture really draws, recorded by a renderer: its texts, colours, font sizes, opacity.

Asked of the renderer rather than of the artists, so that switched-off axes, hidden artists and empty
labels do not count, and tick labels do.
"""
import re
from collections import namedtuple
from functools import lru_cache

import matplotlib
import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.path import Path
from matplotlib.text import Text

import ffn_helpers as fh
from svg_layer import SvgLayer

PALETTE = {name: getattr(fh, name) for name in ("INK", "POSITIVE", "NEGATIVE", "ZERO", "HIDDEN", "WEIGHT", "CUT", "SOFT")}

# One drawn line of text: its ink in pixels from the top left, its size in points, its colour.
Label = namedtuple("Label", "text x0 y0 x1 y1 size colour")

# One drawn path: what tells it apart, in colour and beyond. `fill` and `edge` are colours or ""; `kind` says what its
# pieces are; `bottoms` and `tops` are their left corners (x, y), so that bars that stand differ from bars that hang.
Mark = namedtuple("Mark", "fill edge width dashed hatch kind bottoms tops")

# What tells two marks of one lightness and one shape apart, where it is not how they are drawn: {(picture, hue, hue): cue}.
OTHER_CUES = {
    ("gated_ffn", "HIDDEN", "NEGATIVE"): "small squares on a curve against one area on axes of its own",
    ("gated_ffn", "HIDDEN", "POSITIVE"): "the same, where the product is positive",
    ("gated_ffn", "NEGATIVE", "grey"): "bars in frames against the rows of weights, each with its name",
    ("hand_worked", "NEGATIVE", "POSITIVE"): "the number in the cell has its sign; strips lie at the bottom or on top",
    ("hand_worked", "NEGATIVE", "grey"): "the number in the cell",
    ("hand_worked", "POSITIVE", "grey"): "the number in the cell",
    ("meeting", "NEGATIVE", "grey"): "bars in frames against the book",
}


class Recorder(SvgLayer):
    """Draws nothing; `labels`, `marks()`, `colours`, `alphas` and `hatched` say what it was asked to draw.

    With `moving` it looks only at what an explorer moves, which is quicker.
    """

    def __init__(self, picture, moving=False):
        super().__init__(*picture.size)
        self.agg = picture.figure.canvas.get_renderer()
        self.labels, self.paths, self.colours, self.alphas, self.hatched = [], [], set(), set(), 0
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
        edge = to_hex(gc.get_rgb()[:3]) if gc.get_linewidth() and gc.get_rgb()[3] else ""
        if edge or not clear:
            look = ("" if clear else to_hex(rgbFace[:3]), edge, gc.get_linewidth() if edge else 0,
                    bool(edge) and gc.get_dashes()[1] is not None, gc.get_hatch())
            self.paths.append((look, transform.transform(path.vertices), path.codes))

    def marks(self):
        return [Mark(*look, *pieces(points, codes)) for look, points, codes in self.paths]

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        self._see(gc.get_rgb())
        width, height, descent = self.agg.get_text_width_height_descent(s, prop, False)
        corners = np.array([(0, descent), (width, descent), (width, descent - height), (0, descent - height)])
        turn = np.radians(-angle)
        corners = corners @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]] + (x, y)
        self.labels.append(Label(s, *corners.min(0), *corners.max(0), prop.get_size_in_points(), to_hex(gc.get_rgb()[:3])))

    def draw_image(self, gc, x, y, im, transform=None):
        raise AssertionError("a picture holds a raster image")


def pieces(points, codes):
    """What a path's pieces are ("round", "box", "shape", or several), and the left corners of each, below and above, in pixels."""
    codes = np.full(len(points), Path.LINETO) if codes is None else codes
    kinds, bottoms, tops = set(), set(), set()
    for piece in np.split(np.arange(len(points)), np.flatnonzero(codes == Path.MOVETO)):
        ends = points[piece[codes[piece] != Path.CLOSEPOLY]]
        if len(ends):
            sides = max(len(np.unique(along.round(1))) for along in ends.T)
            curved = np.isin(codes[piece], (Path.CURVE3, Path.CURVE4)).any()
            kinds.add("round" if curved else "box" if sides <= 2 and len(ends) in (4, 5) else "shape")
            left = round(ends[:, 0].min(), 2)              # bars may be narrower than a pixel
            bottoms.add((left, round(ends[:, 1].min()))), tops.add((left, round(ends[:, 1].max())))
    return "+".join(sorted(kinds)), bottoms, tops


def family(colour):
    """The hue that a colour is a tint of, by its name in the palette; "grey" for all that has none."""
    ink = 1 - np.array(to_rgb(colour))
    if np.ptp(ink) <= 0.02:
        return "grey"
    hues = {name: (1 - np.array(to_rgb(known))) for name, known in PALETTE.items() if np.ptp(to_rgb(known)) > 0.02}
    return max(hues, key=lambda name: ink @ hues[name] / np.linalg.norm(hues[name]))


def luminance(colours):
    """Relative luminance (WCAG 2) of colours whose last axis is red, green, blue from 0 to 1."""
    colours = np.asarray(colours, float)
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)


def lightness(colour):
    """L* of a colour, 0 to 100: what is left of it in greyscale."""
    y = luminance(to_rgb(colour))
    return 116 * np.cbrt(y) - 16 if y > 0.008856 else 903.3 * y


def only_hue(marks, least=12):
    """Pairs of colours that nothing but hue tells apart: less than `least` of L*, and drawn alike.

    Two marks are drawn alike when fill, outline, hatch and the kind of their pieces agree; bars that stand on lines
    differ from those that hang from the same lines.
    """
    looks = {}
    for mark in marks:
        look = bool(mark.fill), mark.edge if mark.fill else round(mark.width), mark.dashed, mark.hatch, mark.kind
        bottoms, tops = looks.setdefault(look, {}).get(mark.fill or mark.edge, (set(), set()))
        looks[look][mark.fill or mark.edge] = bottoms | mark.bottoms, tops | mark.tops
    return sorted({(a, b) for alike in looks.values() for a in alike for b in alike
                   if a < b and family(a) != family(b) and abs(lightness(a) - lightness(b)) < least
                   and not stand_and_hang(alike[a][0], alike[b][1]) and not stand_and_hang(alike[b][0], alike[a][1])})


def stand_and_hang(feet, heads):
    """Do pieces with `feet` stand on the lines from which those with `heads` hang, several to a line, few above one another?"""
    ground, ceiling = ({y for _, y in corners} for corners in (feet, heads))
    return ((ground <= ceiling or ceiling <= ground) and 2 * len(feet & heads) <= min(len(feet), len(heads))
            and len(ground) < len(feet) and len(ceiling) < len(heads))


def told_by_hue(name, drawing):
    """Pairs of hues that mean two things in a recorded picture and differ in nothing else, and those with another cue."""
    pairs = {(name, *sorted(map(family, pair))) for pair in only_hue(drawing.marks())}
    return pairs - set(OTHER_CUES), pairs & set(OTHER_CUES)


def faint(picture, labels, ratio=4.5, share=0.85):
    """Texts with less than `ratio` of contrast (WCAG 2) on more than 1 - `share` of the ground in their box.

    The ground is the picture without its texts; a line through a text, or the corner of its box beyond a disc, is what
    `share` lets pass.
    """
    texts = [text for text in picture.figure.findobj(Text) if text.get_visible()]
    for text in texts:
        text.set_visible(False)
    with matplotlib.rc_context(fh.STYLE):
        picture.figure.canvas.draw()
    ground = luminance(np.asarray(picture.figure.canvas.buffer_rgba())[..., :3] / 255)
    for text in texts:
        text.set_visible(True)
    found = []
    for label in labels:
        under = ground[max(int(label.y0), 0):int(label.y1) + 1, max(int(label.x0), 0):int(label.x1) + 1]
        ink = luminance(to_rgb(label.colour))
        if ((np.maximum(under, ink) + 0.05) / (np.minimum(under, ink) + 0.05) >= ratio).mean() < share:
            found.append(label.text)
    return found


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


@lru_cache(maxsize=None)
def _made(figure):
    picture = figure.default()
    return picture, dict(picture.values)


def published(figure):
    """A module's picture as published: made once for all tests, and brought back to its values."""
    picture, values = _made(figure)
    return picture.set(**values)
