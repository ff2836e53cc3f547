"""Whatever comes in, every public function answers rightly or refuses by name.

Each function and class of the ground floor has one property below, held against a reference that shares no
code with it; one without a property fails `test_nothing_is_left_out`. Some hundred inputs each by default;
`python -m pytest tests/test_properties.py --hypothesis-profile=long` takes fifty times as many, new ones every time.
"""
import contextlib
import inspect
import io
import math
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.font_manager import findfont, get_font
from matplotlib.path import Path

import ffn_helpers as fh
import inputs
import model_costs
import svg_layer
from tests.drawing import bare
from tests.odd import COUNT, EDGES, INF, NAN, SHAPES, anything, attempt, real

HELD = set()
FINITE = st.floats(-1e6, 1e6)
few = settings(max_examples=settings.default.max_examples // 4)        # where an input costs tens of milliseconds


def holds(*names):
    HELD.update(names)
    return lambda test: test


def public():
    """Every function and class of the public modules, and what a public class can be asked."""
    for module in (inputs, fh, svg_layer, model_costs):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and thing.__module__ == module.__name__:
                yield name
                yield from (f"{name}.{part}" for part, method in vars(thing).items()
                            if inspect.isfunction(method) and not part.startswith("_"))
            elif inspect.isfunction(thing) or isinstance(thing, dict):
                yield name


def test_nothing_is_left_out():
    """What subclasses draw with, and what matplotlib asks of a renderer, is no reader's to call."""
    drawing = {f"Picture.{name}" for name in ("check", "build", "update", "moves", "text", "line", "patch", "rectangle", "axis")}
    renderer = {f"SvgLayer.{name}" for name in vars(svg_layer.SvgLayer) if not name.startswith("_")}
    modules = {f"{name}.forward" for name in ("PositionWiseFFN", "GatedFFN")}         # asked by calling the network
    assert set(public()) - drawing - renderer - modules == HELD - drawing


def printed(function, *args, **more):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        function(*args, **more)
    return out.getvalue()


# ---------------------------------------------------------------- numbers in, numbers as text

@holds("checked")
@given(anything, st.none() | st.lists(st.integers(0, 3) | st.sampled_from(["n", None]), max_size=3).map(tuple), st.sampled_from([1e6, INF, 9]))
def test_checked(value, shape, limit):
    taken, answer = attempt(["x"], fh.checked, "x", value, shape, limit)
    want = real(value)
    if want is ...:
        return
    fits = want is not None and all(math.isfinite(number) and abs(number) <= limit for number in want[1]) and (
        shape is None or len(shape) == len(want[0]) and all(w is None or (have > 0 if w == "n" else w == have) for w, have in zip(shape, want[0])))
    assert taken == fits, (value, answer)
    if taken:
        assert answer.dtype == np.float64 and answer.shape == want[0] and answer.ravel().tolist() == want[1]


@holds("num")
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-10 ** 18, 10 ** 18), st.integers(0, 20))
def test_num(value, digits):
    text, exact = fh.num(value, digits), Context(prec=400, rounding=ROUND_HALF_EVEN).quantize(Decimal(float(value)), Decimal(1).scaleb(-digits))
    assert Decimal(text.replace(",", "").replace("−", "-")) == exact
    assert re.fullmatch(r"−?\d{1,3}(,\d{3})*(\.\d*[1-9])?", text) and text != "−0"


@given(anything, st.integers(0, 4) | anything)
def test_num_of_anything(value, digits):
    taken, text = attempt(["value", "digits"], fh.num, value, digits)
    assert not taken or float(text.replace(",", "").replace("−", "-")) < INF


@holds("vec")
@given(anything, st.integers(0, 4))
def test_vec(values, digits):
    taken, text = attempt(["values"], fh.vec, values, digits)
    want = real(values)
    if taken and want not in (None, ...):
        numbers = [fh.num(number, digits) for number in want[1]]
        assert text == (numbers[0] if len(numbers) == 1 else "[" + ", ".join(numbers) + "]")


@holds("kind")
@given(anything, st.sampled_from([fh.FLAG, fh.SEVERAL, dict, str, str | None]))
def test_kind(value, wanted):
    taken, answer = attempt(["x"], inputs.kind, "x", value, wanted)
    assert taken == isinstance(value, wanted) and (not taken or answer is value)


@holds("whole")
@given(anything)
def test_whole(value):
    taken, answer = attempt(["x"], inputs.whole, "x", value, 1, 100)
    assert taken == (isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64)) and 1 <= value <= 100)
    assert not taken or answer == value and type(answer) is int


CHARMAP = get_font(findfont("DejaVu Sans")).get_charmap()


@holds("drawable")
@given(st.text() | st.sampled_from(["héé", "αβ", "猫", ["a", ["猫"]], {"猫": 1}, {"a": "猫"}, 3, None, "a\nb", "👍"]))
def test_drawable(value):
    taken, _ = attempt(["names"], inputs.drawable, "names", value)
    text = "" if value in (3, None) else value if isinstance(value, str) else "猫"
    assert taken == all(char == "\n" or (char.isspace() and char > "\x9f") or ord(char) in CHARMAP for char in text)


@holds("brief", "short")
@given(anything)
def test_a_value_in_a_message_is_short(value):
    assert len(inputs.brief(value)) <= 40 and "\n" not in inputs.short(value) and inputs.short(value).startswith(type(value).__name__)


@holds("tint")
@given(st.sampled_from(["#D55E00", "#000000", "red", (0.2, 0.4, 0.6)]) | anything, FINITE | anything)
def test_tint(colour, amount):
    taken, answer = attempt(["colour", "amount"], fh.tint, colour, amount)
    if taken:
        share = min(max(float(amount), 0), 1)
        got = [int(answer[i:i + 2], 16) for i in (1, 3, 5)]
        assert all(abs(have - 255 * (1 - (1 - part) * share)) <= 0.51 for have, part in zip(got, to_rgb(colour)))


# ---------------------------------------------------------------- networks

SCALAR = {"relu": lambda z: z if z > 0 else 0.0, "gelu": lambda z: z * 0.5 * math.erfc(-z / math.sqrt(2)),
          "sigmoid": lambda z: 1 / (1 + math.exp(-z)) if z > -700 else 0.0, "silu": lambda z: z * SCALAR["sigmoid"](z),
          "tanh": math.tanh, "identity": lambda z: z}
ROUNDING = {torch.float64: 1e-15, torch.float32: 5e-7, torch.float16: 2e-3, torch.bfloat16: 2e-2}


@holds("activate", "ACTIVATIONS")
@given(anything, st.sampled_from(sorted(fh.ACTIVATIONS)) | anything)
def test_activate(z, name):
    assert set(SCALAR) == set(fh.ACTIVATIONS)
    if torch.is_tensor(z) and (z.is_meta or z.is_sparse):
        return                                     # torch's own kinds of tensor answer or refuse in torch's words
    taken, answer = attempt(["z", "activation"], fh.activate, z, name)
    want = real(z)
    if not taken or want is ...:
        return
    numbers = answer.detach().double().numpy() if torch.is_tensor(answer) else answer
    rounding = ROUNDING.get(answer.dtype if torch.is_tensor(answer) else torch.float64, 5e-7)
    assert torch.is_tensor(answer) == torch.is_tensor(z) and numbers.shape == want[0]
    for have, number in zip(numbers.ravel(), want[1]):
        if math.isfinite(number):
            assert have == pytest.approx(SCALAR[name](number), rel=rounding, abs=8 * rounding + 1e-300), (name, number)


@holds("PositionWiseFFN", "GatedFFN")
@given(st.data(), st.sampled_from([fh.PositionWiseFFN, fh.GatedFFN]), st.booleans(), st.sampled_from(sorted(SCALAR)))
def test_networks(data, cls, bias, name):
    torch.manual_seed(3)
    d, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    network, numbers = cls(d, n, name, bias).double(), {}
    for label, weight in network.named_parameters():
        torch.nn.init.uniform_(weight, -2, 2)
        numbers[label] = weight.detach().tolist()
    x = data.draw(anything | st.lists(st.integers(0, 2), max_size=2).map(lambda shape: torch.rand(*shape, d).double()))
    taken, answer = attempt(["x"], network, x)
    assert taken or not (torch.is_tensor(x) and x.dtype == torch.float64 and x.ndim and x.shape[-1] == d)
    if not taken:
        return

    def linear(layer, row):
        offset = numbers.get(layer + ".bias", [0.0] * len(numbers[layer + ".weight"]))
        return [sum(w * v for w, v in zip(unit, row)) + b for unit, b in zip(numbers[layer + ".weight"], offset)]
    for row, got in zip(x.reshape(-1, d).tolist(), answer.reshape(-1, d).tolist()):
        h = [SCALAR[name](z) for z in linear("expand" if cls is fh.PositionWiseFFN else "gate", row)]
        if cls is fh.GatedFFN:
            h = [a * b for a, b in zip(h, linear("value", row))]
        want = linear("contract", h)
        assert got == pytest.approx(want, rel=1e-9, abs=1e-9) or not all(map(math.isfinite, want))
    assert answer.shape == x.shape


@few
@given(st.sampled_from([fh.PositionWiseFFN, fh.GatedFFN]), st.sampled_from(["d_model", "d_ff", "activation", "bias"]), anything)
def test_networks_refuse_odd_sizes(cls, name, odd):
    if isinstance(odd, (int, np.integer)) and not isinstance(odd, np.timedelta64) and abs(int(odd)) > 10 ** 4:
        odd = int(odd) + 2 ** 21
    attempt([name], cls, **{"d_model": 2, "d_ff": 3, name: odd})


def test_an_integer_that_cannot_be_written_is_still_refused_by_name():
    for names, function in [(["x"], lambda n: fh.checked("x", n)), (["value"], fh.num), (["d_ff"], lambda n: fh.PositionWiseFFN(2, n)), (["choice"], fh.choice),
                            (["activation"], lambda n: fh.activate(0, n)), (["claim", "verdict"], lambda n: fh.verdict(n, "true", True, "a")),
                            (["x"], lambda n: model_costs.whole("x", n)), (["model"], model_costs.find), (["n"], lambda n: BOARD.set(n=n))]:
        assert not attempt(names, function, 10 ** 5000)[0]


def test_a_network_that_no_memory_holds_is_refused():
    for sizes in [(2 ** 20, 2 ** 20), (2 ** 14, 2 ** 14 + 1)]:
        for cls in (fh.PositionWiseFFN, fh.GatedFFN):
            with pytest.raises(ValueError, match="d_model x d_ff is .* expected at most 268,435,456 weights"):
                cls(*sizes)


# ---------------------------------------------------------------- shapes

def pieces(path):
    found = []
    for vertex, code in zip(path.vertices.tolist(), path.codes.tolist() if path.codes is not None else []):
        if code == Path.MOVETO:
            found.append([])
        if code != Path.CLOSEPOLY:
            found[-1].append(tuple(vertex))
    return found


@holds("rectangles")
@given(st.lists(st.tuples(FINITE, FINITE, FINITE, FINITE), max_size=4), st.sampled_from([np.float64, np.int8, np.float16]))
def test_rectangles(boxes, dtype):
    with np.errstate(all="ignore"):
        columns = np.array(boxes, float).reshape(-1, 4).astype(dtype) if dtype is not np.float16 else np.clip(np.array(boxes).reshape(-1, 4), -6e4, 6e4).astype(dtype)
    want = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in columns.tolist() if w and h]
    assert pieces(fh.rectangles(*columns.T)) == want


@given(st.integers(0, 3), anything)
def test_rectangles_of_anything(place, odd):
    sides = [0.0, [1.0, 2.0], 3.0, [4.0, 5.0]]
    taken, path = attempt("x y width height".split(), fh.rectangles, *sides[:place], odd, *sides[place + 1:])
    assert not taken or np.isfinite(path.vertices).all()


@holds("joined")
@given(st.lists(st.sampled_from([None, fh.EMPTY, fh.rectangles(0, 0, 1, 1), fh.closed([(5, 5), (6, 6)])]), max_size=4) | anything)
def test_joined(paths):
    taken, path = attempt(["paths"], fh.joined, paths)
    assert taken == (isinstance(paths, (list, tuple)) and all(isinstance(part, (Path, type(None))) for part in paths))
    assert not taken or pieces(path) == [piece for part in paths if part is not None for piece in pieces(part)]


@holds("closed")
@given(st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=4) | anything)
def test_closed(points):
    taken, path = attempt(["points"], fh.closed, points)
    want = real(points)
    if taken and want is not ...:
        assert len(want[0]) == 2 and want[0][1] == 2
        assert [number for point in pieces(path)[0] for number in point] == want[1]


@holds("circle", "trapezoid", "arrow_path")
@given(st.lists(FINITE, min_size=5, max_size=5))
def test_curves(numbers):
    x, y, a, b, c = numbers
    path = fh.circle(x, y, a)
    on = path.vertices[(path.codes == Path.MOVETO) | (np.arange(len(path.codes)) % 3 == 0)][:-1] - (x, y)
    assert np.hypot(*on.T) == pytest.approx(abs(a), abs=1e-8)
    assert pieces(fh.trapezoid(x, y, a, b, c)) == [[(x - a / 2, y), (x + a / 2, y), (x + b / 2, y + c), (x - b / 2, y + c)]]
    arrow = fh.arrow_path((x, y), (a, b), abs(c), 2)
    assert len(arrow.vertices) == 0 if (x, y) == (a, b) else (a, b) in pieces(arrow)[0]


@given(st.sampled_from(["x", "y", "radius", "top", "bottom", "height", "start", "end", "head", "shaft"]), anything)
def test_curves_of_anything(name, odd):
    for function in (fh.circle, fh.trapezoid, fh.arrow_path):
        good = {"start": (0, 0), "end": (30, 40)}
        args = {part: good.get(part, 3) for part in inspect.signature(function).parameters}
        if name in args:
            taken, path = attempt([name], function, **{**args, name: odd})
            assert not taken or np.isfinite(path.vertices).all()


class Board(fh.Picture):
    size = 200, 100

    def check(self, n=4, word: str = "a", names: fh.SEVERAL = ("a",)):
        return dict(n=float(fh.checked("n", n, (), limit=100)), word=word, names=names)

    def build(self):
        self.label = self.moves(self.text(20, 80))

    def update(self):
        self.label.set_text(self.values["word"])
        self.title = self.sentence = self.alt = f"n = {fh.num(self.values['n'], 4)}"


BOARD = Board()


@holds("Bars", "Bars.set")
@few
@given(st.sampled_from(["x", "width", "base", "unit", "values", "picture", ""]), anything, st.lists(FINITE, min_size=2, max_size=2))
def test_bars(name, odd, values):
    args = dict(picture=Board(), x=[10.0, 20.0], width=8, base=50, unit=-2.0)
    taken, bars = attempt([name], fh.Bars, **{**args, name: odd}) if name in args else (True, fh.Bars(**args))
    if not taken:
        return
    taken, _ = attempt(["values", "x", "y", "width", "height"], bars.set, odd if name == "values" else values)
    if taken and name in ("", "values"):
        numbers = values if not name else real(odd)[1]
        want = [[(x, 50), (x + 8, 50), (x + 8, 50 - 2 * v), (x, 50 - 2 * v)] for x, v in zip(args["x"], numbers) if v]
        up, down = (pieces(path.get_path()) for path in (bars.up, bars.down))
        assert np.array(sorted(up + down)) == pytest.approx(np.array(sorted(want)))
        assert {piece[0][0] for piece in up} == {x for x, v in zip(args["x"], numbers) if v > 0}


# ---------------------------------------------------------------- pictures and explorers

@holds("Picture", "Picture.set", "Picture.png", "Picture.img", "Picture.still_svg", "Picture.moving_svg")
@few
@given(st.sampled_from(["n", "word", "names", "scale", "m"]), anything)
def test_picture(name, odd):
    if name == "scale":
        taken, png = attempt(["scale"], BOARD.png, min(odd, 2) if isinstance(odd, int) and odd > 0 and not isinstance(odd, bool) else odd)
        return
    before, svg = BOARD.values, BOARD.moving_svg()
    taken, _ = attempt([name], BOARD.set, **{name: odd})
    fresh = Board(**BOARD.values)
    assert taken or BOARD.values is before and BOARD.moving_svg() == svg
    assert fresh.title == BOARD.title and bare(BOARD.moving_svg()) == bare(fresh.moving_svg()) and BOARD.img().startswith('<img alt="n = ')
    assert "nan" not in BOARD.still_svg()


@holds("show")
@few
@given(anything)
def test_show(picture):
    assert not attempt(["picture"], fh.show, picture)[0]
    assert 'alt="n = ' in fh.show(BOARD)._repr_mimebundle_()["text/html"]


@holds("number", "switch")
@few
@given(st.data(), st.sampled_from(["low", "high", "step", "log"]), anything)
def test_number(data, name, odd):
    assert fh.switch() == fh.Switch()
    taken, spec = attempt([name, "low"], fh.number, **{"low": 1, "high": 9, "step": 0.5, name: odd})
    if taken:
        explorer = fh.explore(Board(n=float(min(max(spec.low, -99), 99))), n=spec) if -99 <= spec.low <= 99 else None
        if explorer:
            explorer.strict = True
            for value in (spec.low, min(spec.high, 99)):
                explorer.entries["n"].box.value = explorer.entries["n"].written(value)
                assert explorer.message.value == "" and explorer.picture.values["n"] == pytest.approx(float(value))


@holds("choice")
@given(st.lists(st.integers(0, 9) | st.text(max_size=2) | st.tuples(st.text(max_size=2), st.integers(0, 3)), max_size=4)
       | st.lists(anything, max_size=2))
def test_choice(options):
    taken, spec = attempt(["choice"], fh.choice, *options)
    if taken:
        labels, values = [label for label, _ in spec.options], [value for _, value in spec.options]
        assert len(spec.options) == len(options) > 0 and None not in values
        assert all(values[i] is not values[j] and values[i] != values[j] for i in range(len(values)) for j in range(i))
        assert all(isinstance(option, tuple) or str(option) == label for option, label in zip(options, labels))


@holds("explore")
@few
@given(st.sampled_from(["picture", "presets", "n", "word"]), anything)
def test_explore(name, odd):
    good = dict(picture=Board(), presets={"a": {"n": 2}}, n=fh.number(0, 9), word=fh.choice("a", "b"))
    attempt([name], fh.explore, **{**good, name: odd})
    attempt(["presets", "n"], fh.explore, **{**good, "presets": {"a": odd}})
    attempt(["n"], fh.explore, **{**good, "presets": {"a": {"n": odd}}})


@few
@given(st.text() | st.sampled_from([repr(odd) for odd in EDGES if isinstance(odd, (int, float))] + ["1_000", "٣", "0x1", "1e-9"]))
def test_what_is_typed(text):
    explorer = fh.explore(Board(), n=fh.number(0, 9))
    explorer.strict, entry = True, explorer.entries["n"]
    entry.box.value = text
    if explorer.message.value:
        assert explorer.picture.values["n"] == 4 and "n: “" in explorer.message.value
    else:
        assert 0 <= explorer.picture.values["n"] <= 9 and entry.box.value == entry.written(explorer.picture.values["n"])


# ---------------------------------------------------------------- verdicts and checks

@holds("verdict")
@given(st.sampled_from(["claim", "word", "holds", "text"]), anything)
def test_verdict(name, odd):
    good = dict(claim="C003", word="true", holds=True, text="1 = 1")
    try:
        taken, line = attempt([name, "verdict", "C003"], printed, fh.verdict, **{**good, name: odd})
    except AssertionError as error:
        assert name == "holds" and not odd and "do not support" in str(error)
        return
    assert not taken or line == "{claim} {word}: {text}\n".format(**{**good, name: odd})


def verdict_of(got, want, tolerance):
    """"correct", "not yet", or None where this reference does not know."""
    mine, right = real(got), real(want)
    if mine is ...:
        return None
    same = mine is not None and mine[0] == right[0] and all(abs(a - b) <= tolerance for a, b in zip(mine[1], right[1]))
    return "correct" if same else "not yet"


@holds("check_number", "check_array", "check_function")
@given(st.data(), st.floats(-1e300, 1e300), SHAPES, st.sampled_from([0, 1e-6, 0.5]))
def test_checks(data, number, shape, tolerance):
    want = np.full(shape, number)
    got = data.draw(anything | st.just(number) | st.just(want) | st.just(want + tolerance / 2) | st.just(want + 2 * tolerance + 1))
    for right, function in [(number, fh.check_number), (want, fh.check_array)]:
        taken, text = attempt(["y"], printed, function, "y", got, right, tolerance)
        assert taken and text.count("\n") == 1 and text.startswith(verdict_of(got, right, tolerance) or "")
    taken, text = attempt(["y"], printed, fh.check_function, "y", lambda *case: got, lambda *case: want, (), (got,), tolerance=tolerance)
    assert taken and text.count("\n") == 1 and text.startswith(verdict_of(got, want, tolerance) or "")


@given(st.sampled_from(["want", "tolerance", "hints"]), anything)
def test_checks_refuse_what_an_author_slips(name, odd):
    attempt([name, "y"], printed, fh.check_number, **{"name": "y", "got": 1, "want": 2, name: odd})
    if name != "hints":
        attempt([name, "y"], printed, fh.check_array, **{"name": "y", "got": [1], "want": [2], name: odd})
    attempt(["cases", "y", "tolerance"], printed, fh.check_function, "y", len, lambda *a: 3, odd)


# ---------------------------------------------------------------- the cellar

@holds("SvgLayer")
@given(st.lists(st.tuples(FINITE, FINITE), min_size=2, max_size=4), st.sampled_from(["width", "height", "dpi"]), anything)
def test_svg_layer(points, name, odd):
    attempt([name], svg_layer.SvgLayer, **{"width": 200, "height": 100, name: odd})
    data = svg_layer._path_data(Path(points))
    assert [float(part) for part in re.findall(r"-?[\d.]+", data)] == pytest.approx([round(n, 1) for p in points for n in p], abs=0.051)
    with pytest.raises(ValueError, match="path with shape .* NaN or infinity"):
        svg_layer._path_data(Path([*points, (NAN, 0)]))


SIZES = dict(d_model=st.integers(1, 16), d_ff=st.integers(1, 64), layers=st.integers(1, 6), heads=st.sampled_from([1, 2, 4]), kv_heads=st.sampled_from([1, 2, 4]),
             vocab=st.integers(1, 50), gated=st.booleans(), tied=st.booleans(), ffn_bias=st.booleans(), attn_bias=st.sampled_from(["none", "qkv", "all"]),
             positions=st.integers(0, 9), experts=st.integers(1, 4), active=st.integers(1, 4), window=st.none() | st.tuples(st.integers(1, 9), st.integers(1, 3)))


def built(model):
    """The numbers that a model stores, matrix by matrix."""
    width, kv, d = model.heads * model.head_dim, model.kv_heads * model.head_dim, model.d_model
    linear = lambda rows, columns, bias: rows * columns + (columns if bias else 0)
    qkv, out = model.attn_bias != "none", model.attn_bias == "all"
    ffn = sum(linear(d, model.d_ff, model.ffn_bias) for _ in range(2 if model.gated else 1)) + linear(model.d_ff, d, model.ffn_bias)
    attention = linear(d, width, qkv) + linear(d, kv, qkv) + linear(d, kv, qkv) + linear(width, d, out)
    return {"ffn": sum(ffn for _ in range(model.layers * model.experts)), "attention": model.layers * attention,
            "embeddings": sum(model.vocab * d for _ in range(1 if model.tied else 2)) + model.positions * d}


@holds("Model", "Model.share", "Model.keys", "Model.flops", "Model.flops_per_token", "Model.crossing", "Model.cache_bytes", "Model.cache_equals_ffn", "Model.cache_saving")
@few
@given(st.fixed_dictionaries(SIZES), st.integers(1, 12), st.booleans(), st.booleans())
def test_model(sizes, length, causal, windowed):
    taken, model = attempt(["heads", "kv_heads", "active"], model_costs.Model, "m", **sizes)
    if not taken:
        return
    parts, count = model.parameters, built(model)
    assert {name: parts[name] for name in count} == count and model.total == sum(parts.values())
    assert model.share("block") == pytest.approx(count["ffn"] / (count["ffn"] + count["attention"])) and 0 < model.share("active") < 1 and model.share() < 1
    # Multiplications and additions of one token, each key on its own, in the mean over layers.
    per_weight, width, every = 2, model.heads * model.head_dim, model.window[1] if model.window else 1
    reach = [min(length, model.window[0]) if windowed and model.window and layer % every == 0 else length for layer in range(every)]
    flops = model.flops(length, causal, windowed)
    if not causal:
        assert flops["scores"] == pytest.approx(sum(4 * width * keys for keys in reach) / every) and model.keys(length, False, windowed) == pytest.approx(sum(reach) / every)
        assert model.flops_per_token(length) == pytest.approx(model.layers * sum(model.flops(length).values()))
    assert flops["ffn"] == per_weight * (3 if model.gated else 2) * model.d_model * model.d_ff * model.active
    assert flops["projections"] == per_weight * sum(n * model.d_model for n in (width, width, 2 * model.kv_heads * model.head_dim))
    at = model.crossing(causal, windowed)
    if at is not None:
        cost = lambda n: sum(model.flops(n, causal, windowed)[name] for name in ("projections", "scores"))
        assert at > model_costs.LONGEST or cost(math.ceil(at)) >= flops["ffn"] * (1 - 1e-12)
        assert at <= 1 or cost(max(1, math.ceil(at) - 1)) <= flops["ffn"]
    assert model.cache_bytes(1) == 2 * model.kv_heads * model.head_dim * model.layers and model.cache_equals_ffn() == parts["ffn"] / model.cache_bytes(1)
    saved = model.cache_saving(length)
    one = model.flops(1)
    assert saved["ffn"] == one["ffn"] * sum(step - 1 for step in range(1, length + 1))
    assert saved["scores"] == one["scores"] * sum(token for step in range(1, length + 1) for token in range(1, step))


BASE = dict(name="m", d_model=8, d_ff=32, layers=2, heads=2, kv_heads=1, vocab=10)
FIELDS = [field for field in inspect.signature(model_costs.Model).parameters]


@given(st.sampled_from(FIELDS), anything)
def test_model_of_anything(name, odd):
    taken, model = attempt([name, "heads", "window", "window's"], model_costs.Model, **{**BASE, name: odd})
    assert not taken or all(count >= 0 and isinstance(count, int) for count in model.parameters.values())


def test_numpys_small_kinds_do_not_overflow():
    """Each of these once wrapped around or overflowed: a result that is wrong, or a warning."""
    assert pieces(fh.rectangles(np.array([100], np.int8), 0, np.array([100], np.int8), 1)) == [[(100, 0), (200, 0), (200, 1), (100, 1)]]
    model = model_costs.find("Mistral-7B v0.1")
    assert model.cache_bytes(np.int8(2)) == model.cache_bytes(np.float16(2)) == model.cache_bytes(2) == 131_072
    assert not attempt(["x"], inputs.whole, "x", np.int8(-128), 1, 9)[0] and not attempt(["x"], model_costs.whole, "x", np.int8(-128))[0]
    assert not attempt(["x"], model_costs.whole, "x", np.float16(0.1))[0] and not attempt(["x"], inputs.whole, "x", np.timedelta64(5, "s"), 1, 9)[0]
    assert not attempt(["x"], fh.checked, "x", np.longdouble("1e4000"))[0]
    assert printed(fh.check_number, "y", 1.7e308, -1.7e308).startswith("not yet")
    assert not attempt(["tolerance"], printed, fh.check_number, "y", 1, 2, NAN)[0]        # once: everything correct


@given(anything, st.sampled_from(["length", "causal", "windowed"]))
def test_model_asked_anything(odd, name):
    model = model_costs.find("Mistral-7B v0.1")
    good = {"length": 9, "causal": False, "windowed": False}
    for function in (model.keys, model.flops, model.flops_per_token, model.crossing):
        if name in inspect.signature(function).parameters:
            attempt([name], function, **{part: value for part, value in {**good, name: odd}.items() if part in inspect.signature(function).parameters})
    attempt(["tokens"], model.cache_saving, odd), attempt(["bytes_per_number"], model.cache_bytes, odd), attempt(["share of"], model.share, odd)


@holds("find", "models", "rows", "shares", "Share")
@given(anything | st.sampled_from(sorted(model_costs.models())))
def test_find(name):
    taken, model = attempt(["model"], model_costs.find, name)
    assert taken == (isinstance(name, str) and name in [row["name"] for row in model_costs.rows() if row["d_ff"].isdigit()])
    assert not taken or model is model_costs.models()[name] and any(share.name == name and 0 < share.model < 100 for share in model_costs.shares())


@given(anything, st.sampled_from([(1, 100), (0, 10 ** 15)]))
def test_whole_of_model_costs(value, ends):
    taken, answer = attempt(["x"], model_costs.whole, "x", value, *ends)
    number = not isinstance(value, (bool, np.bool_, np.timedelta64)) and isinstance(value, (int, float, np.integer, np.floating)) and (
        isinstance(value, int) or math.isfinite(value))
    if taken:
        assert answer == value and type(answer) is int and ends[0] <= answer <= ends[1]
    elif number:
        assert value != int(value) or not ends[0] <= value <= ends[1]


def teardown_module():
    print(f"\n{COUNT['inputs']:,} inputs, {COUNT['refused']:,} of them refused by name")
