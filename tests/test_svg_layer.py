"""The SVG renderer behind the explorers: path data, text as outlines, definitions, ids.

Figures here are drawn straight to a layer, as `Picture` does it; the last part looks at whole pictures.
"""
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath

import ffn_helpers as fh
import svg_layer
from svg_layer import SvgLayer

SVG = "{http://www.w3.org/2000/svg}"
WIDTH, HEIGHT = 200, 100


@pytest.fixture
def page():
    """Axes whose coordinates are pixels from the top left, as a Picture's page."""
    figure = Figure((WIDTH / 100, HEIGHT / 100), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.axis("off")
    return axes


def drawn(layer, *artists):
    return layer.draw(artists)


def tree(svg):
    return ElementTree.fromstring(svg)


def paths(svg):
    """The attributes of the paths that are drawn, without those in the definitions."""
    root = tree(svg)
    defined = {id(node) for defs in root.iter(SVG + "defs") for node in defs.iter()}
    return [node.attrib for node in root.iter(SVG + "path") if id(node) not in defined]


def defined(svg):
    return set(re.findall(r' id="([^"]+)"', svg))


def used(svg):
    return set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))


def texts(svg):
    """The strings that an SVG shows, read back from the glyphs that it uses; spaces are not drawn."""
    return ["".join(chr(int(re.search(r"-([0-9a-f]+)[^-]{2}$", use.attrib["href"]).group(1), 16))
                    for use in group.iter(SVG + "use"))
            for group in tree(svg).iter(SVG + "g") if group.find(SVG + "use") is not None]


# ---------------------------------------------------------------- shapes

def path_of(page, vertices, codes=None, **more):
    patch = page.add_patch(PathPatch(Path(vertices, codes), **more))
    return paths(drawn(SvgLayer(WIDTH, HEIGHT), patch))


def test_lines_are_written_in_pixels_from_the_top_left(page):
    line, = page.plot([10, 50.26, 90], [20, 30, 5])
    found, = paths(drawn(SvgLayer(WIDTH, HEIGHT), line))
    assert found["d"] == "M10.0 20.0L50.3 30.0L90.0 5.0" and found["fill"] == "none"


def test_closed_path_ends_with_z(page):
    found, = path_of(page, [(1, 2), (3, 4), (5, 2), (1, 2)], [Path.MOVETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY])
    assert found["d"] == "M1.0 2.0L3.0 4.0L5.0 2.0Z"


def test_curves_are_written_with_their_control_points(page):
    codes = [Path.MOVETO, Path.CURVE3, Path.CURVE3, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    found, = path_of(page, [(1, 1), (2, 5), (3, 1), (4, 4), (5, 4), (6, 1)], codes)
    assert found["d"] == "M1.0 1.0Q2.0 5.0 3.0 1.0C4.0 4.0 5.0 4.0 6.0 1.0"


def test_pieces_and_stop_are_kept_apart(page):
    codes = [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO, Path.STOP, Path.LINETO]
    found, = path_of(page, [(1, 1), (2, 2), (5, 5), (6, 6), (0, 0), (9, 9)], codes)
    assert found["d"] == "M1.0 1.0L2.0 2.0M5.0 5.0L6.0 6.0"


def test_empty_path_draws_nothing(page):
    assert path_of(page, np.zeros((0, 2))) == []


def test_fill_stroke_dashes_and_joins(page):
    found, = path_of(page, [(1, 1), (9, 9)], facecolor="#D55E00", edgecolor="#0072B2", linewidth=1.8,
                     linestyle=(0, (2, 3)), joinstyle="round", capstyle="projecting")
    assert found["fill"] == "#d55e00" and found["stroke"] == "#0072b2" and found["stroke-width"] == "2.50"
    assert found["stroke-dasharray"] == "5.00 7.50" and found["stroke-linejoin"] == "round"
    assert found["stroke-linecap"] == "square"


@pytest.mark.parametrize("more", [dict(linewidth=0), dict(edgecolor="none")])
def test_no_stroke_without_width_or_colour(page, more):
    found, = path_of(page, [(1, 1), (9, 9)], **{"facecolor": "none", "edgecolor": "#222222", **more})
    assert "stroke" not in found and found["fill"] == "none"


# ---------------------------------------------------------------- text

def test_each_glyph_is_defined_once_and_used_for_every_letter(page):
    label = page.text(10, 50, "7 77", fontfamily=svg_layer.FONT)
    layer = SvgLayer(WIDTH, HEIGHT)
    svg = drawn(layer, label)
    assert svg.count("<path id=") == 1 and svg.count("<use ") == 3 and texts(svg) == ["777"]
    places = [float(x) for x in re.findall(r'<use href="[^"]+" x="([\d.]+)"', svg)]
    assert places[0] == 0 and places[2] - places[1] == pytest.approx(63.6, abs=0.1)      # a digit of DejaVu is 0.636 em


def test_what_stays_defines_glyphs_for_what_moves(page):
    stays, moves = page.text(10, 20, "12"), page.text(10, 60, "21")
    layer = SvgLayer(WIDTH, HEIGHT)
    still = layer.still(page.figure, [moves])
    moving = drawn(layer, moves)
    assert len(defined(still)) == 2 and not defined(moving) and used(moving) == defined(still)


def test_drawing_that_replaces_another_does_not_lean_on_it(page):
    """The page holds the still drawing and the last moving one: digits must not come from one in between."""
    stays, moves = page.text(10, 20, "1"), page.text(10, 60, "")
    layer = SvgLayer(WIDTH, HEIGHT)
    still = layer.still(page.figure, [moves])
    for text in ["2", "23", "2", "1", "4 5", "23"]:
        moves.set_text(text)
        svg = drawn(layer, moves)
        assert texts(svg) == [text.replace(" ", "")]
        assert used(svg) <= defined(still) | defined(svg)
        assert not defined(still) & defined(svg)


def test_only_what_was_touched_is_drawn_anew(page, monkeypatch):
    """A drawing after a change equals one from nothing, also when another renderer drew in between."""
    label, patch, line = page.text(10, 50, "7"), page.add_patch(PathPatch(Path.unit_rectangle())), page.plot([0, 50], [0, 50])[0]
    layer, anew = SvgLayer(WIDTH, HEIGHT), []
    draw_path = SvgLayer.draw_path
    monkeypatch.setattr(SvgLayer, "draw_path", lambda *args: (anew.append(1), draw_path(*args)))
    fresh = lambda: drawn(SvgLayer(WIDTH, HEIGHT), label, patch, line).replace(f"p{next(svg_layer._serial) - 1}-", layer.prefix)
    changes = [lambda: label.set_text("71"), lambda: patch.set_facecolor("#123456"), lambda: patch.set_path(Path.unit_circle()),
               lambda: line.set_data([0, 9], [9, 0]), lambda: line.set_visible(False),
               lambda: label.set_position((3, 3)), lambda: line.set_visible(True)]
    first = drawn(layer, label, patch, line)
    for change in changes:
        change()
        page.figure.savefig(io.BytesIO(), format="rgba")       # Agg marks everything as drawn
        assert drawn(layer, label, patch, line) == fresh() != first
    anew.clear()
    drawn(layer, label, patch, line)
    assert not anew
    label.set_text("8")
    drawn(layer, label, patch, line)
    assert not anew
    patch.set_facecolor("#654321")
    drawn(layer, label, patch, line)
    assert len(anew) == 1


def test_weight_and_style_have_outlines_of_their_own(page):
    labels = [page.text(10, 50, "a", weight=weight, style=style)
              for weight in ("normal", "bold") for style in ("normal", "oblique")]
    assert len(defined(drawn(SvgLayer(WIDTH, HEIGHT), *labels))) == 4


def test_text_stands_where_agg_puts_it(page):
    """Size, baseline and advances, against the box that Agg measures and one outline of the whole string."""
    label = page.text(30, 50, "2048 units cut: −0.25", fontsize=11, color="#5F5F5F", fontfamily=svg_layer.FONT)
    svg = drawn(SvgLayer(WIDTH, HEIGHT), label)
    x, y, scale = map(float, re.search(r"translate\(([\d.]+) ([\d.]+)\) scale\(([\d.]+)\)", svg).groups())
    assert scale == pytest.approx(11 / 72, abs=1e-4) and x == pytest.approx(30, abs=0.1) and "#5f5f5f" in svg
    agg = label.get_window_extent(FigureCanvasAgg(page.figure).get_renderer())
    assert HEIGHT - agg.y1 < y < HEIGHT - agg.y0
    last = float(re.findall(r' x="([\d.]+)"', svg)[-1])
    font = FontProperties(family=svg_layer.FONT)
    outline, digit = (TextPath((0, 0), text, size=100, prop=font).vertices[:, 0] for text in ("2048 units cut: −0.25", "5"))
    assert (last + digit.max() - outline.max()) * scale == pytest.approx(0, abs=0.5)      # pixels


def test_turned_text_is_turned(page):
    label = page.text(30, 50, "h", rotation=90)
    assert "rotate(-90)" in drawn(SvgLayer(WIDTH, HEIGHT), label)


def test_markup_in_a_label_stays_text(page):
    svg = drawn(SvgLayer(WIDTH, HEIGHT), page.text(10, 50, '<b>&"'))
    assert texts(svg) == ['<b>&"'] and tree(svg) is not None


# ---------------------------------------------------------------- hatches, clips, ids, images

def test_hatch_is_a_pattern_defined_once_for_each_colour(page):
    with fh.matplotlib.rc_context(fh.STYLE):
        patches = [page.add_patch(Rectangle((10 * i, 10), 8, 8, facecolor=colour, hatch=fh.HATCH, linewidth=0))
                   for i, colour in enumerate([fh.CUT, fh.CUT, fh.ZERO])]
        svg = drawn(SvgLayer(WIDTH, HEIGHT), *patches)
    patterns = list(tree(svg).iter(SVG + "pattern"))
    assert len(patterns) == 2 and all(pattern.find(SVG + "path").attrib["d"] for pattern in patterns)
    assert [found["fill"] for found in paths(svg)] == [f"url(#{patterns[i].attrib['id']})" for i in (0, 0, 1)]
    assert patterns[0].find(SVG + "rect").attrib["fill"] == fh.CUT.lower()
    assert patterns[0].find(SVG + "path").attrib["stroke"] == fh.WEIGHT.lower()


def test_what_leaves_its_axes_is_clipped_and_a_clip_is_defined_once():
    figure = Figure((WIDTH / 100, HEIGHT / 100), dpi=100)
    axes = figure.add_axes((0.1, 0.2, 0.5, 0.4), xlim=(0, 1), ylim=(0, 1))
    lines = [axes.plot([0, 2], [0, i])[0] for i in (1, 2)]
    svg = drawn(SvgLayer(WIDTH, HEIGHT), *lines)
    clip, = tree(svg).iter(SVG + "clipPath")
    box = {name: float(value) for name, value in clip.find(SVG + "rect").attrib.items()}
    assert box == pytest.approx(dict(x=20, y=40, width=100, height=40))
    assert svg.count(f'<g clip-path="url(#{clip.attrib["id"]})">') == 2


def test_the_page_itself_clips_nothing(page):
    assert "clip" not in drawn(SvgLayer(WIDTH, HEIGHT), *page.plot([0, 1], [0, 1]))


def test_ids_of_two_pictures_never_clash(page):
    label = page.text(10, 50, "7")
    first, second = (drawn(SvgLayer(WIDTH, HEIGHT), label) for _ in range(2))
    assert defined(first) and not defined(first) & defined(second)
    assert used(first) == defined(first) and used(second) == defined(second)


def test_raster_image_is_refused(page):
    with pytest.raises(NotImplementedError, match="raster image"):
        drawn(SvgLayer(WIDTH, HEIGHT), page.imshow(np.zeros((2, 2))))


def test_svg_is_marked_for_screen_readers_and_scales():
    root = tree(drawn(SvgLayer(WIDTH, HEIGHT)))
    assert root.attrib["viewBox"] == f"0 0 {WIDTH} {HEIGHT}" and root.attrib["width"] == "100%"
    assert root.attrib["aria-hidden"] == "true"


# ---------------------------------------------------------------- through a Picture

class Small(fh.Picture):
    """A label, a bar and a hatched box that follow one number."""
    size = 200, 100

    def build(self):
        self.text(20, 70, "stays")
        self.label = self.moves(self.text(20, 85))
        self.bar = fh.Bars(self, [100], 20, 80, -5)
        self.box = self.moves(self.patch(fh.EMPTY, fh.CUT, hatch=fh.HATCH))

    def update(self):
        n = self.values["n"]
        self.title = self.alt = f"n is {n}"
        self.label.set_text(str(n))
        self.bar.set([n])
        self.box.set_path(fh.rectangles(150, 60, 20, 20 * (n < 0)))


def test_still_and_moving_share_the_work():
    picture = Small(n=3)
    still, moving = picture.still_svg(), picture.moving_svg()
    assert texts(still) == ["stays"] and texts(moving) == ["nis3", "3"]
    for n in (-4, 5, 0, -4):
        svg = picture.set(n=n).moving_svg()
        assert texts(svg) == [f"nis{n}", str(n)] and used(svg) <= defined(still) | defined(svg)
        assert ("<pattern" in svg) == (n < 0) and "nan" not in svg


def test_still_picture_leaves_every_artist_visible():
    picture = Small(n=3)
    picture.box.set_visible(False)
    before = picture.png(1)
    picture.still_svg()
    assert picture.png(1) == before and not picture.box.get_visible() and picture.label.get_visible()
