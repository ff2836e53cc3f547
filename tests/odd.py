"""Values that a reader, a notebook or another library may hand over, for the property tests.

`anything` draws numbers, arrays, tensors, lists and things that are none of these; `relatives` makes odd
ones of a good one. `attempt` calls a function and holds the promise that all of them share: an answer, or
a ValueError or TypeError that names an argument.
"""
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

NAN, INF = float("nan"), float("inf")
COUNT = {"inputs": 0, "refused": 0}        # for the report of a long run
ITSELF = []
ITSELF.append(ITSELF)


class Broken:
    """An object whose own conversion to numbers fails."""
    def __array__(self, *args, **more):
        raise KeyError("no")

    __float__ = __len__ = __array__


EDGES = [0, -0.0, 1, -1, 0.5, NAN, INF, -INF, 1e308, -1e308, 5e-324, 1e-310, 2 ** 53 + 1, 2 ** 63, 10 ** 30, 10 ** 400,
         True, False, None, ..., "", "1", "abc", "猫", b"1", 1j, Fraction(1, 3), Decimal("0.1"), object(), len, int, {}, {"a": 1}, {1}, set(),
         [], (), [[]], [1, 2], [[1, 2], [3]], [1, "a"], [None], [1, None], [1.0, NAN], range(3), slice(3), lambda: 0,
         np.float16(0.1), np.float32(1e-45), np.longdouble("1e4000"), np.int8(-128), np.bool_(True), np.str_("a"),
         np.datetime64("2017-06-12"), np.timedelta64(5, "s"), np.array(2.0), np.array(["1"]), np.array([1, {}], object), np.zeros((0, 3)),
         np.zeros((2, 0, 2)), np.array([], object), np.ma.masked_array([1.0, 2.0], [False, True]), np.arange(12.0).reshape(3, 4)[::-2, ::2],
         np.array([100, 100], np.int8), np.array([255], np.uint8), np.full(3, np.inf, np.float16),
         torch.tensor(2.0), torch.tensor([NAN]), torch.tensor([True]), torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.float16),
         torch.ones(2, dtype=torch.complex64), torch.ones(2, requires_grad=True) * 2, torch.ones(2, device="meta"),
         torch.arange(6.0).reshape(2, 3).T, torch.zeros(0, 2), [torch.ones(2, requires_grad=True)], torch.ones(2).to_sparse(),
         torch.ones(2).to(torch.float8_e4m3fn), torch.ones(2, dtype=torch.uint16), ITSELF, {"a": ITSELF}, Broken(), [Broken()],
         "a\x1fb", "a\tb", "a\nb", "x" * 10 ** 4, np.ma.masked, 10 ** 20]
DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64, np.complex64, "<U2", object]
NUMBERS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, 1e6, 1e308, -1e308, 5e-324, NAN, INF, -INF]), st.floats(), st.integers(-2 ** 70, 2 ** 70))
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


@st.composite
def some_arrays(draw):
    """Arrays and tensors of every kind, some of them views."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    array = draw(arrays.arrays(dtype, draw(SHAPES), elements=NUMBERS if dtype == object else None))
    how = draw(st.sampled_from(["array", "reversed", "transposed", "read-only", "list", "tensor", "bfloat16", "grad"]))
    if how == "reversed":
        return array[..., ::-1] if array.ndim else array
    if how == "transposed":
        return array.T
    if how == "read-only":
        array.flags.writeable = False
    elif how == "list":
        return array.tolist()
    elif how in ("tensor", "bfloat16", "grad") and dtype.kind in "bif":
        tensor = torch.tensor(array.tolist(), dtype=torch.float64).reshape(array.shape)
        return tensor.bfloat16() if how == "bfloat16" else tensor.requires_grad_() if how == "grad" else torch.tensor(array)
    return array


anything = st.one_of(st.sampled_from(EDGES), NUMBERS, some_arrays(), st.recursive(NUMBERS | st.none() | st.text(max_size=3),
                                                                                 lambda part: st.lists(part, max_size=3), max_leaves=6))


RELATIVES = [lambda a: a.astype(np.float32), torch.tensor, lambda a: torch.tensor(a, dtype=torch.bfloat16), lambda a: torch.tensor(a, requires_grad=True),
             lambda a: a.tolist(), np.asfortranarray, lambda a: np.atleast_1d(a)[::-1], lambda a: -a, lambda a: 0 * a, np.ones_like, lambda a: 1e5 * a,
             lambda a: 1e-320 * a, lambda a: a[None], lambda a: a.T, lambda a: a.astype(complex), lambda a: a.astype(str), lambda a: a.astype(object),
             lambda a: np.where(np.arange(a.size).reshape(a.shape) == 0, np.nan, a), lambda a: np.atleast_1d(a)[1:], lambda a: np.atleast_1d(a)[:0],
             lambda a: a[..., None][:-1], lambda a: np.atleast_1d(a)[..., :0], lambda a: np.concatenate([np.atleast_1d(a)] * 2)]


def relatives(value):
    """A strategy for odd ones near a good value: another type, shape, size, order."""
    found = []
    if isinstance(value, dict):
        for odd in EDGES:
            found += [{**value, name: odd} for name in list(value)[:1]]
        found += [dict(list(value.items())[1:]), {**value, "more": next(iter(value.values()), 0)}, {**value, NAN: 0}]
    elif isinstance(value, (list, tuple)) and value:
        found += [type(value)(value[1:]), type(value)(value) + type(value)(value), [value[0]] * len(value), list(value)[::-1]]
        found += [[odd] * len(value) for odd in EDGES]
    elif isinstance(value, (np.ndarray, torch.Tensor)):
        array = lambda: np.asarray(value.detach() if torch.is_tensor(value) else value, np.float64)
        return st.sampled_from(RELATIVES).map(lambda change: change(array()))
    elif isinstance(value, (int, float)):
        found += [value + step for step in (1e-9, -1e-9, 1, -1, 0.5, 1000, -1000)] + [np.float32(value), np.array(value), torch.tensor(value)]
    elif isinstance(value, str):
        found += [value.upper(), value + " ", [value], np.str_(value)]
    return st.sampled_from(found or [None])


def attempt(names, function, /, *args, **more):
    """(True, answer) or (False, message) of a refusal that names one of `names`. Anything else fails."""
    COUNT["inputs"] += 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return True, function(*args, **more)
        except (ValueError, TypeError) as error:
            message = str(error)
    COUNT["refused"] += 1
    assert re.search("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names), message), f"{' or '.join(names)} not named: {message}"
    assert len(message) < 1000 and re.search("expected|must|convert|should|known|needs|missing|at least|does not|outside|none of its|unexpected", message), message
    return False, message


def real(value):
    """(shape, numbers as floats) by Python's own means, None for what is no array of real numbers, or ... where that is not said here."""
    if torch.is_tensor(value):
        if value.is_complex() or value.is_meta or value.is_sparse:
            return None
        value = value.detach().double().numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        if np.ma.is_masked(value):
            return None
        if value.dtype.kind not in "biuf":
            return None
        return value.shape, [float(number) for number in np.asarray(value).ravel().tolist()]
    if isinstance(value, (bool, int, float)):
        return ((), [float(value)]) if abs(value) < 2 ** 63 or isinstance(value, float) else ...
    if value is ITSELF:
        return None
    if isinstance(value, (list, tuple, range)):
        parts = [real(part) for part in value]
        if any(part is None for part in parts):
            return None
        if ... in parts or any(torch.is_tensor(part) for part in value):
            return ...
        if len({shape for shape, _ in parts}) > 1:
            return None
        return (len(parts), *(parts[0][0] if parts else ())), [number for _, numbers in parts for number in numbers]
    return None if isinstance(value, (str, bytes, complex, dict, set, type(None), Decimal, Fraction)) or callable(value) else ...
