"""The small ground that the course's notebooks and figures stand on.

Palette, drawing primitives, `Picture` (one drawing, two uses), `show` and `explore`, the networks
once a notebook has built them, and the checks. Notebooks import it as `fh`. Nothing is drawn,
downloaded or configured when it is imported.
"""
import base64
import copy
import html
import inspect
import io
import math
import pathlib
import re
import threading
import time
from collections import namedtuple

import ipywidgets as widgets
import matplotlib.style
import numpy as np
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from PIL import Image

from inputs import FLAG, NUMBER, SEVERAL, brief, checked, drawable, kind, mismatch, num, short, vec, whole
from svg_layer import FONT, SvgLayer

__all__ = [
    "INK", "POSITIVE", "NEGATIVE", "ZERO", "HIDDEN", "WEIGHT", "CUT", "SOFT", "tint",
    "num", "vec", "checked", "kind", "FLAG", "NUMBER", "SEVERAL", "ACTIVATIONS", "activate", "PositionWiseFFN", "GatedFFN",
    "Picture", "Bars", "EMPTY", "rectangles", "joined", "closed", "circle", "arrow_path", "trapezoid", "show", "explore", "number", "choice", "switch",
    "verdict", "check_number", "check_array", "check_function",
]

# ---------------------------------------------------------------------------------------------
# Palette: one meaning for each colour, and a second cue beside it everywhere (see CONTRIBUTING).

INK, ZERO = "#222222", "#FFFFFF"
POSITIVE, NEGATIVE = "#D55E00", "#0072B2"      # bar up, bar down
HIDDEN = "#CC79A7"                             # the hidden layer: wider
WEIGHT = "#5F5F5F"                             # weights: a trapezoid
CUT = "#D9D9D9"                                # cut by the activation: hatched
SOFT = "#B3B3B3"                               # hairlines and what stands back

HATCH = "////"
# Over matplotlib's defaults, whatever the reader's own. Without hinting still text is as wide as the explorer's outlines.
STYLE = {"font.family": FONT, "text.hinting": "none", "hatch.linewidth": 0.8, "hatch.color": WEIGHT, "path.simplify": False,
         "axes.linewidth": 0.9, "mathtext.fontset": "dejavusans", "svg.fonttype": "path"}


def _own_style():
    return matplotlib.style.context(["default", STYLE])


def tint(colour, amount):
    """Opaque mix of white (amount 0) and `colour` (amount 1), as a hex string."""
    amount = float(checked("amount", amount, ()))
    try:
        return to_hex(1 - (1 - np.array(to_rgb(colour))) * min(max(amount, 0), 1))
    except (TypeError, ValueError):
        raise ValueError(f"colour must be one that matplotlib knows, got {short(colour)}") from None


# ---------------------------------------------------------------------------------------------
# Networks. Notebooks 02 and 03 build them line by line; this is where they live afterwards.

ACTIVATIONS = {
    "relu": lambda z: z.clamp(min=0),
    "gelu": lambda z: z * 0.5 * (1 + torch.erf(z / math.sqrt(2))),
    "silu": lambda z: z * torch.sigmoid(z),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "identity": lambda z: z,
}


def activate(z, activation="relu"):
    """Apply an activation by name, entry by entry; tensors give tensors, arrays give arrays.

    GELU is the exact form z * Phi(z) (Hendrycks and Gimpel 2016). Raises ValueError for a name
    that is not known, listing the known ones.
    """
    function = _activation(activation)
    if torch.is_tensor(z):
        if z.is_complex() or z.dtype == torch.bool:
            raise TypeError(f"z must hold real numbers, got {z.dtype}")
        try:
            return function(z)
        except RuntimeError:                       # kinds for which torch has no arithmetic, such as its 8-bit floats
            raise TypeError(f"z must be a dense tensor of numbers that torch computes with, got {z.dtype}, {z.layout}") from None
    return function(torch.as_tensor(checked("z", z, limit=float("inf")))).numpy()


def _activation(name):
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise ValueError(f"activation {brief(name)} is not known; known are {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


MOST = 2 ** 28         # a gigabyte a matrix; more would end the kernel


class _FFN(torch.nn.Module):
    def __init__(self, d_model, d_ff, activation, bias):
        super().__init__()
        self.d_model, self.d_ff = whole("d_model", d_model, 1, 2 ** 20), whole("d_ff", d_ff, 1, 2 ** 20)
        if self.d_model * self.d_ff > MOST:
            raise ValueError(f"d_model x d_ff is {self.d_model:,} x {self.d_ff:,}, expected at most {MOST:,} weights in a matrix")
        kind("bias", bias, FLAG)
        _activation(activation)
        self.activation = activation

    def _tokens(self, x):
        if not torch.is_tensor(x) or not x.is_floating_point():
            raise TypeError(f"x must be a tensor of floating-point numbers, got {short(x)}")
        if x.ndim == 0 or x.shape[-1] != self.d_model:
            raise ValueError(f"x has shape {tuple(x.shape)}, expected (..., {self.d_model}): the last axis is d_model")
        if x.dtype != self.contract.weight.dtype:
            raise TypeError(f"x holds {x.dtype}, the weights {self.contract.weight.dtype}: convert one of them, as in x.float()")
        return x

    def _activate(self, z):                       # looked up, not kept: a network can then be pickled
        return _activation(self.activation)(z)

    def extra_repr(self):
        return f"activation={self.activation!r}"


class PositionWiseFFN(_FFN):
    """y = activation(x W1 + b1) W2 + b2, the same for every token (Vaswani et al. 2017, eq. 2).

    x (..., d_model) gives y (..., d_model). `expand.weight` is W1 transposed, (d_ff, d_model), and
    `contract.weight` W2 transposed, as `nn.Linear` stores them.
    """
    def __init__(self, d_model, d_ff, activation="relu", bias=True):
        super().__init__(d_model, d_ff, activation, bias)
        self.expand = torch.nn.Linear(self.d_model, self.d_ff, bias=bias)
        self.contract = torch.nn.Linear(self.d_ff, self.d_model, bias=bias)

    def forward(self, x):
        return self.contract(self._activate(self.expand(self._tokens(x))))


class GatedFFN(_FFN):
    """y = (activation(x W) * (x V)) W2: three matrices, no biases by default (Shazeer 2020, eq. 6).

    x (..., d_model) gives y (..., d_model). With "silu" it is SwiGLU, "gelu" GEGLU, "relu" ReGLU,
    "sigmoid" GLU, "identity" the bilinear layer.
    """
    def __init__(self, d_model, d_ff, activation="silu", bias=False):
        super().__init__(d_model, d_ff, activation, bias)
        self.gate = torch.nn.Linear(self.d_model, self.d_ff, bias=bias)
        self.value = torch.nn.Linear(self.d_model, self.d_ff, bias=bias)
        self.contract = torch.nn.Linear(self.d_ff, self.d_model, bias=bias)

    def forward(self, x):
        x = self._tokens(x)
        return self.contract(self._activate(self.gate(x)) * self.value(x))


# ---------------------------------------------------------------------------------------------
# One picture, two uses.

class Picture:
    """One drawing with two uses: a still image (`show`) and what an explorer moves (`explore`).

    A subclass lives in figures/ and says four things:
        size           width and height in CSS pixels, at 100 pixels to the inch
        check(...)     takes the arrays and settings by name, returns them as a dict of clean values; what
                       is no array says its kind, as in `names: SEVERAL, row: str`, and arrives as such
        build()        draws what stays, and creates what moves, each through `self.moves(artist)`
        update()       computes from `self.values` and sets the moving artists, `self.title`,
                       `self.sentence` (the result in words and numbers) and `self.alt` (40 words)
    and, if setting one value may set others too, `linked`, the names that belong together.
    Everything is placed in pixels from the top left on `self.page`; data axes come from `self.axis`.
    """
    size = 900, 600
    title = sentence = alt = ""
    linked = ()

    def __init__(self, *args, **values):
        width, height = self.size
        with _own_style():
            inches = (width + 0.01) / 100, (height + 0.01) / 100      # so that rounding down never loses a pixel
            self.figure = Figure(inches, dpi=100, facecolor=ZERO)
            FigureCanvasAgg(self.figure)
            self.page = self.figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0), zorder=1)
            self.page.axis("off")
            self.moving = []
            self._title = self.moves(self.text(20, 26, size=14, weight="bold"))
            self._sentence = self.moves(self.text(20, 53, size=11))
            self.values = self._checked(args, values)
            self.build()
            self.moving.sort(key=lambda artist: (artist.axes.get_zorder(), artist.get_zorder()))
            self._update()
        self._svg = SvgLayer(width, height)

    def check(self, **values):
        return values

    def build(self):
        raise NotImplementedError

    def update(self):
        raise NotImplementedError

    def set(self, **values):
        """Change some values and redraw. If they are refused, the picture stays as it was."""
        new = self._checked((), {**self.values, **values})
        old, self.values = self.values, new
        try:
            self._update()
        except BaseException:                      # an interrupt too leaves values and picture together
            self.values = old
            self._update()
            raise
        return self

    def _checked(self, args, values):
        """What `check` makes of the values, after the kinds that it asks for."""
        signature = inspect.signature(self.check)
        signature.bind(*args, **values)
        for name, value in [*zip(signature.parameters, args), *values.items()]:
            kind(name, value, self.check.__annotations__.get(name, object))
            drawable(name, value)
        return self.check(*args, **values)

    def _update(self):
        with matplotlib.rc_context(STYLE):         # a path takes `path.simplify` from here when it is made
            self.update()
        self._title.set_text(self.title)
        self._sentence.set_text(self.sentence)

    def png(self, scale=2):
        """The picture as PNG bytes in 256 colours, `scale` (1 to 8) image pixels to one CSS pixel."""
        scale = whole("scale", scale, 1, 8)
        raw, image = io.BytesIO(), io.BytesIO()
        with _own_style():
            self.figure.savefig(raw, dpi=100 * scale, format="rgba")
        size = int(self.size[0] * scale), int(self.size[1] * scale)
        pixels = Image.frombytes("RGBA", size, raw.getvalue()).convert("RGB")
        pixels.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(image, "png")
        return image.getvalue()

    def still_svg(self):
        """What stays, as SVG text, with the outlines of the glyphs used so far; sent once."""
        with _own_style():
            return self._svg.still(self.figure, self.moving)

    def moving_svg(self):
        """What moves, as SVG text, to lie over what stays; drawn anew at every step of an explorer."""
        return self._svg.draw(self.moving, self.alt)

    def img(self):
        """The picture as an HTML `<img>` with its alt text, readable without a kernel."""
        data = base64.b64encode(self.png()).decode("ascii")
        return (f'<img alt="{html.escape(self.alt)}" width="{self.size[0]}" '
                f'style="max-width:100%;height:auto" src="data:image/png;base64,{data}">')

    # What subclasses draw with; x and y are pixels from the top left.
    def moves(self, artist):
        self.moving.append(artist)
        return artist

    def text(self, x, y, text="", size=10.5, weight="normal", colour=INK, ha="left", va="center", **more):
        return self.page.text(x, y, text, fontsize=size, fontweight=weight, color=colour, ha=ha, va=va,
                              fontfamily=FONT, parse_math=False, **more)

    def line(self, xs, ys, colour=INK, width=1.2, **more):
        return self.page.plot(xs, ys, color=colour, linewidth=width, **more)[0]

    def patch(self, path, fill="none", edge="none", width=1.2, axes=None, **more):
        """Any shape; lists of points become a closed polygon. `axes` is the page unless given."""
        path = path if isinstance(path, Path) else Path(np.asarray(path, float), closed=False)
        return (axes or self.page).add_patch(
            PathPatch(path, facecolor=fill, edgecolor=edge, linewidth=width, **more))

    def rectangle(self, x, y, width, height, fill="none", edge="none", line=1.2, **more):
        return self.page.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor=edge, linewidth=line, **more))

    def axis(self, x, y, width, height, xlim, ylim):
        """Data axes in a pixel box (x, y is the top left corner), with fixed limits and no top or right spine."""
        page_width, page_height = self.size
        axes = self.figure.add_axes(
            (x / page_width, 1 - (y + height) / page_height, width / page_width, height / page_height),
            xlim=xlim, ylim=ylim, facecolor="none")
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(INK)
        axes.tick_params(colors=INK, labelsize=10.5, length=4, width=0.9)
        return axes


EMPTY = Path(np.zeros((0, 2)))


def _floats(shape=None, **given):
    """Coordinates without overflow; a plain number, as most are, passes at once."""
    return [value if type(value) in (int, float, np.float64) and not shape and abs(value) < 1e15 else checked(name, value, shape, 1e99)
            for name, value in given.items()]


def rectangles(x, y, width, height):
    """One path of many rectangles; arguments are arrays or numbers. Those without area are left out."""
    given = _floats(x=x, y=y, width=width, height=height)
    try:
        x, y, width, height = (np.ravel(a) for a in np.broadcast_arrays(*given))
    except ValueError:
        raise ValueError(f"x, y, width and height have shapes {', '.join(str(np.shape(a)) for a in given)}, expected shapes that go together") from None
    keep = (height != 0) & (width != 0)
    x, y, width, height = x[keep], y[keep], width[keep], height[keep]
    corners = np.stack([[x, y], [x + width, y], [x + width, y + height], [x, y + height], [x, y]])
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(x))
    return Path(corners.transpose(2, 0, 1).reshape(-1, 2), codes) if len(x) else EMPTY


class Bars:
    """A row of signed bars as two shapes: positive up in one colour, negative down in the other.

    x         left edges, in the units of `axes` (the picture's page unless given)
    base      where 0 stands; `unit` is the length of one unit, negative where y points down
    """
    def __init__(self, picture, x, width, base=0.0, unit=1.0, axes=None, **more):
        kind("picture", picture, Picture)
        self.x = checked("x", x, (None,))
        self.width, self.base, self.unit = (checked(name, value, self.x.shape if checked(name, value).ndim else ())
                                            for name, value in [("width", width), ("base", base), ("unit", unit)])
        self.up = picture.moves(picture.patch(EMPTY, POSITIVE, axes=axes, **more))
        self.down = picture.moves(picture.patch(EMPTY, NEGATIVE, axes=axes, **more))

    def set(self, values):
        values = checked("values", values, self.x.shape)
        lengths, positive = values * self.unit, values > 0
        self.up.set_path(rectangles(self.x, self.base, self.width, np.where(positive, lengths, 0)))
        self.down.set_path(rectangles(self.x, self.base, self.width, np.where(positive, 0, lengths)))


def joined(paths):
    """Several paths as one; None and empty ones are left out."""
    paths = [path for path in kind("paths", paths, SEVERAL) if path is not None and len(kind("paths", path, Path).vertices)]
    return Path.make_compound_path(*paths) if paths else EMPTY


def closed(points):
    """A polygon through (n, 2) points, one or more."""
    points = checked("points", points, ("n", 2), 1e99)
    return Path(np.vstack([points, points[:1]]), [Path.MOVETO] + [Path.LINETO] * (len(points) - 1) + [Path.CLOSEPOLY])


def circle(x, y, radius):
    """A circle around (x, y)."""
    (x, y, radius), unit = _floats((), x=x, y=y, radius=radius), Path.unit_circle()
    return Path(unit.vertices * radius + (x, y), unit.codes)


def arrow_path(start, end, head=8, shaft=1.6):
    """An arrow as one filled shape, from `start` to `end` in pixels; with head 0 it is a bar."""
    (start, end), (head, shaft) = _floats((2,), start=start, end=end), _floats((), head=head, shaft=shaft)
    length = np.hypot(*(end - start))
    if length == 0:
        return EMPTY
    along = (end - start) / length
    across = np.array([-along[1], along[0]])
    neck = end - along * min(head, length)
    return closed([start + across * shaft / 2, neck + across * shaft / 2, neck + across * head * 0.45, end,
                 neck - across * head * 0.45, neck - across * shaft / 2, start - across * shaft / 2])


def trapezoid(x, y, top, bottom, height):
    """A weight matrix as a trapezoid centred on x: `top` and `bottom` are its widths, y its upper edge."""
    x, y, top, bottom, height = _floats((), x=x, y=y, top=top, bottom=bottom, height=height)
    return closed([(x - top / 2, y), (x + top / 2, y), (x + bottom / 2, y + height), (x - bottom / 2, y + height)])


# ---------------------------------------------------------------------------------------------
# show and explore.

class _Shown:
    """What a cell displays: the image with its alt text, and the sentence for plain text."""
    def __init__(self, picture):
        kind("picture", picture, Picture)
        self.bundle = {"text/html": picture.img(), "text/plain": picture.sentence or picture.title}

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.bundle


def show(picture):
    """Display a picture as a still image with alt text; put it on the last line of a cell."""
    return _Shown(picture)


Number = namedtuple("Number", "low high step log", defaults=[False])
Choice = namedtuple("Choice", "options")
Switch = namedtuple("Switch", "")


def number(low, high, step=0.5, log=False):
    """Control for a number, or for every entry of an array: a box to type in and a slider to drag.

    With `log` the slider goes in doublings of low; the box takes any number in between.
    """
    for name, value in [("low", low), ("high", high), ("step", step)]:
        value = float(checked(name, value, (), limit=1e12))
        if value != round(value, 4):
            raise ValueError(f"{name} is {value:g}, expected at most 4 decimals, as a box shows them")
    kind("log", log, FLAG)
    low, high, step = (value.item() if hasattr(value, "item") else value for value in (low, high, step))
    if not (low < high and step > 0):
        raise ValueError(f"number needs low < high and step > 0, got {low}, {high}, {step}")
    if log and low <= 0:
        raise ValueError(f"a logarithmic number needs low > 0, got {low}")
    return Number(low, high, step, bool(log))


def choice(*options):
    """Control that picks one of `options`, buttons up to six and a menu from seven on; an option is a value or a pair (label, value)."""
    try:
        pairs = tuple(option if isinstance(option, tuple) else (str(option), option) for option in options)
        good = pairs and len({str(label) for label, _ in pairs}) == len({value for _, value in pairs}) == len(pairs) and all(
            isinstance(value, str | NUMBER | FLAG | tuple) for _, value in pairs)
    except (TypeError, ValueError):                # no pair, or a value that cannot be compared
        good = False
    if not good:
        raise ValueError(f"choice needs options, or pairs (label, value), with different labels and values (text, numbers, tuples); got {short(options)}")
    return Choice(pairs)


def switch():
    """Control that turns something on or off."""
    return Switch()


def explore(picture, presets=None, **controls):
    """Display a picture that controls move.

    controls  name=number(...), choice(...) or switch(), for names in `picture.values`; an array
              gets one number for each entry
    presets   {button label: {name: value}}, each applied on top of the values at the start
    """
    return Explorer(kind("picture", picture, Picture), kind("presets", {} if presets is None else presets, dict), controls)


_TURN = threading.RLock()


def _in_turn(change):
    """JupyterLab has the kernel hear widgets in two threads: without turns a fast hand's second change is lost."""
    def waits(*arguments):
        with _TURN:
            change(*arguments)
    return waits


class _Entry:
    """One number: a box that takes any text and says what is wrong with it, and a slider."""

    def __init__(self, label, value, spec, changed):
        self.label, self.spec, self.changed, self.quiet, self.value, self.left = label, spec, changed, False, value, (None, 0.0)
        room = 8 * len(label) + 8                  # pixels for the label, so that it is never cut
        self.box = widgets.Text(self.written(value), description=label, continuous_update=False,
                                layout=widgets.Layout(width=f"{room + 72}px"), style={"description_width": f"{room}px"})
        kind, ends = (widgets.FloatLogSlider, dict(base=2, min=math.log2(spec.low), max=math.log2(spec.high), step=1)) if spec.log else (
            widgets.FloatSlider, dict(min=spec.low, max=spec.high, step=spec.step))
        self.slider = kind(self.nearest(value), readout=False, layout=widgets.Layout(width="130px"), **ends)
        self.widget = widgets.HBox([self.box, self.slider]).add_class("ffn-number").add_class("ffn-log" if spec.log else "ffn-linear")
        self.box.observe(lambda change: self.changed(self, lambda: self.parse(change["new"])), "value")
        self.slider.observe(self._dragged, "value")
        self.box.set_state, self.slider.set_state = _in_turn(self.box.set_state), _in_turn(self.slider.set_state)

    def parse(self, text):
        """The number that the text says. Raises ValueError with a sentence for the reader."""
        low, high = self.spec[:2]
        shown = text if len(text) <= 24 else text[:21] + "..."
        try:
            value = float(re.sub("[−–]", "-", text))
        except ValueError:
            raise ValueError(f"{self.label}: “{shown}” is not a number" + "; write a point, not a comma" * ("," in text)) from None
        if not low <= value <= high:      # NaN and infinities end here too
            raise ValueError(f"{self.label}: “{shown}” is not between {num(low)} and {num(high)}")
        return round(value, 4)            # what the box can show

    def set(self, value):
        """Show a value."""
        self.quiet, self.value = True, value
        try:
            self.box.value = self.written(value)
        finally:                                       # an interrupt must not leave the box deaf
            self.stand()

    def stand(self):
        """Put the slider at the step nearest to the value: any other place the page would round and send back."""
        self.quiet, near = True, self.nearest(self.value)
        try:
            if abs(self.slider.value - near) > 1e-9:   # a rounding error sent back would undo a faster hand's next step
                self.left, self.slider.value = (self.slider.value, time.monotonic()), near
        finally:
            self.quiet = False

    def nearest(self, value):
        low, high, step, log = self.spec
        if log:
            return min(low * 2.0 ** round(math.log2(value / low)), float(high))
        return min(round(low + round((value - low) / step) * step, 10), float(high))

    @staticmethod
    def written(value):
        return num(value, 4).replace(",", "")      # the box must be able to read its own text

    def _dragged(self, change):
        near, (left, when) = self.nearest(change["new"]), self.left
        if self.slider._property_lock and near == left and time.monotonic() < when + 0.5:
            self.stand()                               # the page's late word on the place before: not a hand
        elif near != self.nearest(self.value):         # the page also sends the step where it stands already
            self.changed(self, lambda: near)


class _Pick:
    """One of several options, or on and off."""

    def __init__(self, label, value, spec, changed):
        self.label, self.quiet = label, False
        shown = label if label.startswith("d_") else label.replace("_", " ")      # d_ff is a name of the field
        room = {"description_width": "initial"}
        if isinstance(spec, Switch):
            self.picker = widgets.Checkbox(value, description=shown, indent=False, layout=widgets.Layout(width="auto", margin="2px 24px 2px 2px"))
        elif len(spec.options) > 6:
            self.picker = widgets.Dropdown(options=spec.options, value=value, description=shown, style=room,
                                           layout=widgets.Layout(width="286px"))
        else:
            self.picker = widgets.ToggleButtons(options=spec.options, value=value, description=shown,
                                                style={**room, "button_width": "auto"},
                                                layout=widgets.Layout(width="max-content", max_width="100%", display="flex", flex_flow="row wrap"))
        self.widget = self.picker
        self.picker.observe(lambda change: changed(self, lambda: change["new"]), "value")
        self.picker.set_state = _in_turn(self.picker.set_state)

    def set(self, value):
        self.quiet = True
        try:
            self.picker.value = value if isinstance(self.picker, widgets.Checkbox) or value in dict(self.picker.options).values() else None
        finally:
            self.quiet = False


_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Explorer(widgets.VBox):
    """A picture with its controls. `entries` maps labels (`"W1₁₂"`: row 1, column 2) to controls.

    Refused input becomes a message and the last good picture stays. Any other exception does too,
    unless `strict` is set, as the tests do.
    """
    _ipython_display_ = None        # ipywidgets 7 would show the widget alone, without the image

    def __init__(self, picture, presets, controls):
        self.picture, self.presets, self.strict = picture, presets, False
        self.start = dict(picture.values)
        self.entries, rows = {}, []
        for name, spec in controls.items():
            self._fits(name, spec)
            one = len(spec.options) > 6 if isinstance(spec, Choice) else isinstance(spec, Switch) or np.ndim(self.start[name]) == 0
            new = self._controls(name, spec)
            if one and rows and rows[-1][0]:       # single numbers, menus and switches that follow each other share a line
                rows[-1][1].extend(new[0])
            else:
                rows += [(one, row) for row in new]
        for label, values in presets.items():
            if kind("a preset's label", label, str) == "Reset":
                raise ValueError("a preset cannot be called Reset: that button is there already")
            picture._checked((), {**self.start, **kind("presets", values, dict)})
        buttons = [self._button("Reset", {})] + [self._button(*preset) for preset in presets.items()]
        script = pathlib.Path(__file__).with_name("explorer.js").read_text(encoding="utf-8")
        apart = ".ffn-explorer .widget-toggle-buttons > .widget-label { margin: 0 8px }"
        aid = widgets.HTML(f'<style onload="{html.escape(script)}">{apart}</style>', layout=widgets.Layout(display="none"))
        self.message, self.words = widgets.HTML(layout=widgets.Layout(min_height="32px")), widgets.HTML()
        self.still, self.live = (widgets.HTML(svg, layout=widgets.Layout(grid_area="picture", margin="0"))
                                 for svg in (picture.still_svg(), ""))
        stage = widgets.GridBox([self.still, self.live], layout=widgets.Layout(
            grid_template_areas='"picture"', grid_template_columns="100%", width="100%", max_width=f"{picture.size[0]}px"))
        lines = [widgets.HBox(row, layout=widgets.Layout(flex_flow="row wrap")) for row in [buttons, *(r for _, r in rows)]]
        super().__init__([*lines, self.message, stage, self.words, aid])
        for widget, name in [(self, "explorer"), (self.message, "message"), (stage, "stage"), (self.live, "live"), (self.words, "words")]:
            widget.add_class(f"ffn-{name}")
        self._draw()

    def _fits(self, name, spec):
        """An author's slip is said when the explorer is made, not when a reader meets it."""
        if name not in self.start:
            raise ValueError(f"no value {name!r} to control; the picture has {', '.join(self.start)}")
        value = self.start[name]
        if not isinstance(spec, (Number, Choice, Switch)):
            raise TypeError(f"{name} needs number(...), choice(...) or switch(), got {short(spec)}")
        if isinstance(spec, Number) and not (spec.low <= checked(name, value, limit=math.inf)).all() & np.all(np.asarray(value) <= spec.high):
            raise ValueError(f"{name} starts at {short(value)}, outside {spec.low} to {spec.high}")
        if isinstance(spec, Switch):
            kind(name, value, FLAG)
        if isinstance(spec, Choice) and not any(type(value) is not np.ndarray and value == option for _, option in spec.options):
            raise ValueError(f"{name} starts at {short(value)}, which is none of its options")

    def _controls(self, name, spec):
        """Rows of controls for one value: a matrix has as many as it has rows, anything else one."""
        if not isinstance(spec, Number):
            self.entries[name] = _Pick(name, self.start[name], spec, self._changed)
            return [[self.entries[name].widget]]
        array = np.asarray(self.start[name], float)
        rows = [[] for _ in range(len(array) if array.ndim == 2 else 1)]
        for index in np.ndindex(array.shape):
            label = name + ("," if max(array.shape, default=0) > 9 else "").join(str(i + 1) for i in index).translate(_SUBSCRIPTS)
            entry = self.entries[label] = _Entry(label, array[index], spec, self._changed)
            entry.name, entry.index = name, index
            rows[index[0] if array.ndim == 2 else 0].append(entry.widget)
        return rows

    def _button(self, label, values):
        button = widgets.Button(description=label, layout=widgets.Layout(width="auto"))
        button.on_click(_in_turn(lambda _: self.apply(values)))
        return button

    def apply(self, values):
        """Set `values` on top of those at the start: what Reset and the presets do."""
        self._try(lambda: {**self.start, **values})

    def _changed(self, entry, read):
        def values():
            value = read()
            if isinstance(entry, _Pick):
                return {entry.label: value}
            array = np.array(self.picture.values[entry.name], float)
            array[entry.index] = value
            return {entry.name: array if entry.index else value}
        if not entry.quiet:                        # not what `set` itself does
            self._try(values)

    def _try(self, values):
        before = self.picture.values
        try:
            self.picture.set(**values())
            self._draw()
        except Exception as error:
            if self.picture.values is not before:
                self.picture.set(**before)
            self._sync(_Pick)                     # a box keeps what was typed; a button must not stay lit,
            for entry in self.entries.values():   # nor a slider stand where the picture is not
                if isinstance(entry, _Entry):
                    entry.stand()
            if isinstance(error, (ValueError, TypeError)):
                return self._say(f"{error}. The last good picture stays.")
            if self.strict:
                raise
            return self._say(f"Our mistake, not yours: {type(error).__name__}: {error}. The last good picture stays.")
        self._say("")
        self._sync((_Entry, _Pick))

    def _sync(self, kinds):
        for entry in self.entries.values():
            if isinstance(entry, kinds):
                entry.set(np.asarray(self.picture.values[entry.name])[entry.index] if isinstance(entry, _Entry)
                          else self.picture.values[entry.label])

    def _say(self, text):
        self.message.value = f'<div role="alert"><b>{html.escape(text)}</b></div>' if text else ""

    def _draw(self):
        self.live.value = self.picture.moving_svg()
        self.words.value = (f'<div data-sentence style="position:absolute;width:1px;height:1px;overflow:hidden;'
                            f'clip-path:inset(50%)">{html.escape(self.picture.sentence)}</div>')

    def _repr_mimebundle_(self, include=None, exclude=None, **kwargs):
        return {"application/vnd.jupyter.widget-view+json": {"version_major": 2, "version_minor": 0, "model_id": self.model_id}, **_Shown(self.picture).bundle}


# ---------------------------------------------------------------------------------------------
# Verdicts and checks.

_WORDS = {"true", "corrected", "nuanced", "unverifiable"}


def verdict(claim, word, holds, text):
    """Print one verdict line, `C003 corrected: ...`, if the numbers hold; else raise AssertionError.

    claim  id in notebooks/data/claims.csv        word   true, corrected, nuanced or unverifiable
    holds  the comparison that settles it         text   the result in words and computed numbers
    """
    if not (all(isinstance(given, str) for given in (claim, word, text)) and re.fullmatch(r"C[0-9]{3}[a-k]?", claim)
            and word in _WORDS and text.splitlines() == [text]):
        raise ValueError(f"verdict needs an id such as C003, one of {', '.join(sorted(_WORDS))} and one line of text, "
                         f"got {brief(claim)}, {brief(word)}, {short(text)}")
    if not isinstance(holds, FLAG) and (str(getattr(holds, "dtype", "")) not in ("bool", "torch.bool") or np.shape(holds)):
        raise TypeError(f"{claim}: holds must be one comparison, true or false, got {short(holds)}")
    if not holds:
        raise AssertionError(f"{claim}: the numbers do not support '{word}': {text} (after cells out of order or an edit? Run all from the top)")
    print(f"{claim} {word}: {text}")


def _judge(name, fault):
    print(f"not yet: {fault}" if fault else f"correct: {name}")


def check_number(name, got, want, tolerance=1e-6, hints=None):
    """Print `correct: name`, or `not yet:` and what is wrong. `hints` maps likely slips to advice."""
    want = checked(name, want, (), limit=math.inf)
    fault = mismatch(name, got, want, tolerance)
    for slip, advice in kind("hints", {} if hints is None else hints, dict).items():
        slip = checked("hints", slip, (), limit=math.inf)
        if fault and not mismatch(name, got, slip, tolerance):
            fault = f"{name} is {num(got, 4)}: {advice}"
    _judge(name, fault)


def check_array(name, got, want, tolerance=1e-6):
    """Print `correct: name`, or `not yet:` with the shape or the first entry that differs."""
    _judge(name, mismatch(name, got, checked(name, want, limit=math.inf), tolerance))


def check_function(name, function, reference, *cases, tolerance=1e-6):
    """Call `function` and `reference` with every case (a tuple of arguments) and compare.

    Prints `correct: name`, or `not yet:` with the first case that fails and how.
    """
    if not cases:
        raise ValueError(f"{name}: no case to check")
    for case in cases:                            # a function that writes into its arguments harms nobody else's
        case = [part.clone() if torch.is_tensor(part) else copy.deepcopy(part) for part in kind("cases", case, SEVERAL)]
        want, call = checked(name, reference(*case), limit=math.inf), f"{name}({', '.join(map(_shape, case))})"
        try:
            got = function(*case)
        except Exception as error:
            return _judge(name, f"{call} raises {type(error).__name__}: {error}")
        fault = mismatch(call, got, want, tolerance)
        if fault:
            return _judge(name, fault)
    _judge(name, "")


def _shape(value):
    shape = getattr(value, "shape", None)
    return f"{tuple(shape)} array" if isinstance(shape, tuple) else brief(value)
