"""What comes in and how a number is written: the ground under `ffn_helpers`, which passes it on.

Every public function refuses what does not fit with a ValueError or TypeError that names the argument,
what was given and what was expected. The checks for that stand here.
"""
import math
import numbers
import unicodedata
from functools import lru_cache

import numpy as np
import torch
from matplotlib.font_manager import findfont, get_font

from svg_layer import FONT

__all__ = ["num", "vec", "checked", "kind", "whole", "drawable", "brief", "short", "FLAG", "SEVERAL", "NUMBER"]

FLAG, SEVERAL, NUMBER = bool | np.bool_, list | tuple, numbers.Real
WORDS = {NUMBER: "a number", FLAG: "True or False", SEVERAL: "a list or tuple", dict: "a dict", str: "text", str | None: "text or None"}


def brief(value):
    """A value in a message, in at most 40 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:                                # an integer of 5,000 digits has no repr
        text = "..."
    return text if len(text) <= 40 else text[:37] + "..."


def short(value):
    return f"{type(value).__name__} {brief(value)}"


def kind(name, value, wanted):
    """Return `value` if it is a `wanted` (a class, FLAG, SEVERAL, NUMBER or another union), else raise TypeError.

    A NUMBER is not True or False, and one that is not finite or beyond 1e15 raises ValueError.
    """
    if not isinstance(value, wanted) or wanted is NUMBER and isinstance(value, bool):
        raise TypeError(f"{name} must be {WORDS.get(wanted) or 'a ' + getattr(wanted, '__name__', str(wanted))}, got {short(value)}")
    if wanted is NUMBER:
        checked(name, value, (), limit=1e15)         # so that messages and sums can hold it
    return value


def whole(name, value, low, high):
    """Return `value` as an int from `low` to `high`; a float is refused, whole or not."""
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, int | np.integer):      # NumPy counts a time span as an integer
        raise TypeError(f"{name} must be a whole number, got {short(value)}")
    value = int(value)
    if not low <= value <= high:
        raise ValueError(f"{name} is {brief(value)}, expected {low:,} to {high:,}")
    return value


def drawable(name, value):
    """Raise ValueError if a text in `value`, however deep in lists and dicts, has a character that the pictures' font lacks."""
    lacking = next((char for text in _texts(value) for char in text if _lacks(char)), None)
    if lacking:
        raise ValueError(f"{name} holds {lacking!r}, which {FONT} lacks: expected Latin, Greek or Cyrillic letters, digits and signs")


def _texts(value):
    parts, seen = [value], set()                     # what holds itself, or is nested 3,000 deep, comes to an end too
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, (dict, list, tuple)) and id(part) not in seen:
            seen.add(id(part))
            parts += reversed([*part, *part.values()] if isinstance(part, dict) else part)


@lru_cache(maxsize=None)
def _lacks(char):
    if char.isspace():
        return char != "\n" and unicodedata.category(char) == "Cc"      # a tab has no glyph, and other controls end an SVG
    return not get_font(findfont(FONT)).get_char_index(ord(char))


def checked(name, value, shape=None, limit=1e6):
    """Return `value` as a finite float64 array.

    shape  expected shape; an entry that is a string (`"d_ff"`) fits any length from 1, None also 0.
    limit  largest absolute value accepted.
    Raises TypeError for what is not numbers, ValueError for a shape, NaN, infinity or size that
    does not fit; the message names the argument, its shape and what was expected.
    """
    try:
        if torch.is_tensor(value):
            value = (value.double() if value.is_floating_point() else value).detach().cpu().numpy()
        if np.ma.isMaskedArray(value) and np.ma.is_masked(value):
            raise TypeError                          # NumPy would hand out what the mask hides
        array = np.asarray(value)
        if array.dtype == object and not hasattr(value, "dtype") and array.size and all(type(part) is int for part in array.flat):
            array = np.vectorize(_as_float, otypes=[float])(array)        # beyond 64 bits
        if array.dtype.kind not in "biuf":
            raise TypeError
        with np.errstate(over="ignore"):             # what overflows from a wider type is refused below
            array = array.astype(np.float64)
    except Exception:                                # whatever an object's own conversion raises
        wanted = "a real number" if shape == () else "an array of real numbers"
        raise TypeError(f"{name} must be {wanted}, got {short(value)}") from None
    if shape is not None:
        fits = array.ndim == len(shape) and all(
            want is None or (have > 0 if isinstance(want, str) else have == want) for have, want in zip(array.shape, shape))
        if not fits:
            expected = ", ".join(str(want) if want is not None else "any" for want in shape)
            raise ValueError(f"{name} has shape {array.shape}, expected ({expected}{',' * (len(shape) == 1)})")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} with shape {array.shape} holds NaN or infinity, expected finite numbers")
    if array.size and np.abs(array).max() > limit:
        raise ValueError(f"{name} with shape {array.shape} holds {np.abs(array).max():.3g}, expected at most {limit:g}")
    return array


def _as_float(whole_number):
    try:
        return float(whole_number)
    except OverflowError:
        return math.inf


def num(value, digits=2):
    """A number as the pictures write it: true minus, no trailing zeros, never minus zero."""
    try:
        if isinstance(value, str | bytes) or value is np.ma.masked:
            raise TypeError
        value = float(value.detach() if torch.is_tensor(value) else np.asarray(value).reshape(()))
    except Exception:
        raise TypeError(f"value must be one real number, got {short(value)}") from None
    if not math.isfinite(value):
        raise ValueError(f"value is {value}, expected a finite number")
    digits = whole("digits", digits, 0, 20)
    text = f"{value:,.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "0") else text.replace("-", "−")


def vec(values, digits=2):
    """A vector as the pictures write it: `[1, −2]`; a single number loses its brackets."""
    numbers = [num(v, digits) for v in checked("values", values, limit=math.inf).ravel()]
    return numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"


def mismatch(name, got, want, tolerance):
    """What is wrong with `got`, in words, or an empty string."""
    tolerance = checked("tolerance", tolerance, (), limit=1e300)
    if tolerance < 0:
        raise ValueError(f"tolerance is {tolerance}, expected 0 or more")
    if got is None or got is ...:
        return f"{name} is not filled in"
    try:
        got = checked(name, got, want.shape, limit=math.inf)
    except (TypeError, ValueError) as error:
        return str(error)
    with np.errstate(over="ignore"):              # an answer of 1e308 is wrong, and no more than that
        wrong = np.argwhere(np.abs(got - want) > tolerance)
    if not len(wrong):
        return ""
    at = tuple(int(i) for i in wrong[0])
    slip = f"{num(got[at], 4)}, too {'small' if got[at] < want[at] else 'large'}"      # without giving the answer away
    return f"{name} is {slip}" if not at else f"{len(wrong)} of {want.size} entries of {name} differ; entry {list(at)} is {slip}"
