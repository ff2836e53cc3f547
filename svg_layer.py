"""A matplotlib renderer that writes artists as SVG text, quickly.

It is what makes the explorers fast: what moves is drawn as some kilobytes of SVG over a picture that
stays, sharp at every zoom, and no pixel is computed in Python. matplotlib's own SVG backend does the
same in twice to three times the time, since it lays out and writes every label anew; here each glyph
is an outline that is sent once. It knows shapes and one-line text in opaque colours, no images, and
nothing of the course.
"""
import html
import itertools
import numbers
from functools import lru_cache

import numpy as np
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import to_hex
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

__all__ = ["SvgLayer"]

FONT = "DejaVu Sans"       # ships with matplotlib, so that no font of the reader's matters
_WRITE = {Path.MOVETO: "M%.1f %.1f", Path.LINETO: "L%.1f %.1f", Path.CLOSEPOLY: "Z"}


@lru_cache(maxsize=4096)
def _pattern(codes):
    """For the bytes of a path's codes: the `d` attribute with holes, and which vertices fill them."""
    codes, parts, keep, i = np.frombuffer(codes, np.uint8), [], [], 0
    while i < len(codes) and codes[i] != Path.STOP:
        arity = {Path.CURVE3: 2, Path.CURVE4: 3}.get(codes[i], 1)
        parts.append(_WRITE.get(codes[i]) or "QC"[arity - 2] + " ".join(["%.1f %.1f"] * arity))
        keep += [] if codes[i] == Path.CLOSEPOLY else range(i, i + arity)
        i += arity
    return "".join(parts), np.array(keep, int)


def _path_data(path):
    """The `d` attribute of a path whose vertices are already in SVG pixels."""
    codes = path.codes
    if codes is None:
        codes = np.full(len(path.vertices), Path.LINETO, np.uint8)
        codes[:1] = Path.MOVETO
    pattern, keep = _pattern(codes.astype(np.uint8).tobytes())
    data = pattern % tuple(path.vertices[keep].ravel().tolist())
    if "n" in data:                # of nan or inf; a browser would drop the rest of the shape without a word
        raise ValueError(f"path with shape {path.vertices.shape} holds NaN or infinity, expected finite vertices")
    return data


@lru_cache(maxsize=None)
def _glyph(char, weight, style):
    """Outline (in units of 1/100 em, y down) and advance (em) of one DejaVu Sans character."""
    prop = FontProperties(family=FONT, weight=weight, style=style)
    right = lambda text: TextPath((0, 0), text, size=100, prop=prop).vertices[:, 0].max()
    advance = (right(f"|{char}|") - right("||")) / 100
    if char.isspace():
        return "", advance
    path = TextPath((0, 0), char, size=100, prop=prop)
    return _path_data(Path(path.vertices * (1, -1), path.codes)), advance


_serial = itertools.count(1)       # keeps the ids of several pictures on one page apart


class SvgLayer(RendererBase):
    """Draws matplotlib artists into `<svg>` elements of `width` x `height` pixels.

    `still` gives the drawing that stays, `draw` what moves over it. Definitions (glyphs, hatches, clips) of
    the former are used by every one of the latter; what it lacks, each defines for itself.
    """

    def __init__(self, width, height, dpi=100):
        super().__init__()
        for name, value in [("width", width), ("height", height), ("dpi", dpi)]:
            if isinstance(value, bool | np.timedelta64) or not isinstance(value, numbers.Real) or not 0 < (value if isinstance(value, int) else float(value)) <= 1e5:
                raise ValueError(f"{name} must be a number above 0 and at most 100,000, got {type(value).__name__}")
        self.width, self.height, self.dpi = width, height, dpi
        self.prefix = f"p{next(_serial)}-"
        self.flip = Affine2D().scale(1, -1).translate(0, height)
        self.lasting = {}          # definitions of the drawing that stays: {id: element}
        self.kept = {}             # {artist: (its path, elements, definitions)}, until something changes it
        self.watched = set()
        self.parts, self.uses = [], {}

    def draw(self, artists, alt=""):
        """The `<svg>` of some artists, to lie over what `still` has drawn; `alt` speaks for both. Only what has changed is drawn anew."""
        parts, uses = [], {}
        for artist in artists:
            path = artist.get_path() if isinstance(artist, PathPatch) else None      # its set_path tells nobody
            if self.kept.get(artist, (0,))[0] is not path:
                self._watch(artist)
                self.parts, self.uses = [], {}
                artist.draw(self)
                self.kept[artist] = path, self.parts, self.uses
            _, elements, definitions = self.kept[artist]
            parts += elements
            uses |= definitions
        return self._svg(parts, [element for name, element in uses.items() if name not in self.lasting], alt)

    def still(self, figure, moving):
        """The `<svg>` of a figure without the artists that move, but with the definitions that they use now."""
        shown = [artist for artist in moving if artist.get_visible()]
        self.parts, self.uses = [], {}
        for artist in shown:
            artist.draw(self)
            artist.set_visible(False)
        self.parts.clear()
        figure.draw(self)
        for artist in shown:
            artist.set_visible(True)
        self.lasting = self.uses
        return self._svg(self.parts, self.lasting.values())

    def _watch(self, artist):
        """Forget how an artist was drawn when one of its properties is set (matplotlib then calls it stale)."""
        if artist not in self.watched:
            self.watched.add(artist)
            told = artist.stale_callback
            artist.stale_callback = lambda artist, stale: (self.kept.pop(artist, None), told and told(artist, stale))

    def _svg(self, parts, definitions, alt=""):
        heard = f'role="img" aria-label="{html.escape(alt)}"' if alt else 'aria-hidden="true"'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="100%" '
                f'style="display:block" {heard}><defs>{"".join(definitions)}</defs>{"".join(parts)}</svg>')

    def define(self, name, element, content):
        """Put `<element id=... content>` among the definitions; returns its id."""
        name = self.prefix + name
        if name not in self.uses:
            self.uses[name] = f'<{element} id="{name}" {content}'
        return name

    # What matplotlib asks of a renderer.
    def get_canvas_width_height(self):
        return self.width, self.height

    def flipy(self):
        return True

    def points_to_pixels(self, points):
        return points * self.dpi / 72

    def draw_path(self, gc, path, transform, rgbFace=None):
        data = _path_data(path.transformed(transform + self.flip))
        if data:
            self._emit(gc, f'<path d="{data}" fill="{self._fill(gc, rgbFace)}"{self._stroke(gc)}/>')

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        size = prop.get_size_in_points() * self.dpi / 72
        weight, style = prop.get_weight(), prop.get_style()
        at, uses = 0.0, []
        for char in s:
            data, advance = _glyph(char, weight, style)
            if data:
                name = self.define(f"{ord(char):x}{str(weight)[0]}{style[0]}", "path", f'd="{data}"/>')
                uses.append(f'<use href="#{name}" x="{at:.1f}"/>')
            at += advance * 100
        turn = f" rotate({-angle:g})" if angle else ""
        self._emit(gc, f'<g transform="translate({x:.1f} {y:.1f}){turn} scale({size / 100:.4f})" '
                       f'fill="{to_hex(gc.get_rgb()[:3])}">{"".join(uses)}</g>')

    def get_text_width_height_descent(self, s, prop, ismath):
        size = prop.get_size_in_points() * self.dpi / 72
        weight, style = prop.get_weight(), prop.get_style()
        width = sum(_glyph(char, weight, style)[1] for char in s)
        return width * size, 0.97 * size, 0.21 * size      # what Agg measures for "lp"

    def draw_image(self, gc, x, y, im, transform=None):
        raise NotImplementedError("pictures are drawn from shapes; a raster image cannot be sharp at every zoom")

    def _fill(self, gc, rgb):
        if gc.get_hatch():
            return f"url(#{self._hatch(gc, rgb)})"
        return "none" if rgb is None or len(rgb) == 4 and rgb[3] == 0 else to_hex(rgb[:3])

    def _stroke(self, gc):
        width = gc.get_linewidth() * self.dpi / 72
        if width == 0 or gc.get_rgb()[3] == 0:
            return ""
        text = f' stroke="{to_hex(gc.get_rgb()[:3])}" stroke-width="{width:.2f}"'
        dashes = gc.get_dashes()[1]
        if dashes is not None:
            text += ' stroke-dasharray="%s"' % " ".join(f"{dash * self.dpi / 72:.2f}" for dash in dashes)
        cap = {"projecting": "square"}.get(gc.get_capstyle(), gc.get_capstyle())
        text += f' stroke-linecap="{cap}"' if cap != "butt" else ""
        return text + (f' stroke-linejoin="{gc.get_joinstyle()}"' if gc.get_joinstyle() != "miter" else "")

    def _hatch(self, gc, rgb):
        line, ground, size = to_hex(gc.get_hatch_color()), to_hex(rgb[:3]) if rgb is not None else "none", self.dpi
        path = gc.get_hatch_path().transformed(Affine2D().scale(size, -size).translate(0, size))
        return self.define(f"h{line[1:]}{ground.strip('#')}", "pattern", (
            f'width="{size}" height="{size}" patternUnits="userSpaceOnUse">'
            f'<rect width="{size}" height="{size}" fill="{ground}"/><path d="{_path_data(path)}" stroke="{line}" '
            f'stroke-width="{gc.get_hatch_linewidth() * self.dpi / 72:.2f}"/></pattern>'))

    def _emit(self, gc, element):
        box = gc.get_clip_rectangle()
        if box is not None and (round(box.width), round(box.height)) != (self.width, self.height):
            x, y = box.x0, self.height - box.y1
            name = self.define(f"c{x:.0f}-{y:.0f}-{box.width:.0f}-{box.height:.0f}", "clipPath", (
                f'><rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"/></clipPath>'))
            element = f'<g clip-path="url(#{name})">{element}</g>'
        self.parts.append(element)
