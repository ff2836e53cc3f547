"""What a Transformer's parts cost: parameters, FLOPs and cache bytes, from a model's sizes alone.

Standard library only. Notebook 08 and its pictures import it; tests hold it against every total, FLOP
count and crossing of notebooks/data/models.csv. A FLOP is one multiplication or one addition, so a
weight that is used costs 2; all counts are of the forward pass, biases, norms and softmax left out.
Causal counts take n / 2 for the mean of 1 to n, as models.csv does: the exact (n + 1) / 2 differs in short texts only.
"""
import csv
import dataclasses
import functools
import math
import numbers
import pathlib
import re

__all__ = ["LONGEST", "Model", "Share", "find", "models", "rows", "shares", "whole"]

DATA = pathlib.Path(__file__).parent / "notebooks" / "data" / "models.csv"
LONGEST = 10 ** 9        # tokens; longer texts are refused
LARGEST = 2 ** 20        # any one size of a model

# (window in tokens, one layer in how many has it): from the makers' code, see `checked` in the file.
WINDOWS = {"Mistral-7B v0.1": (4096, 1), "Gemma-2-9B": (4096, 2), "gpt-oss-120b": (128, 2)}

# What was not read in the maker's own paper, code or configuration, and what speaks for it all the same.
LITGPT, VOCABULARY = "sizes read in litgpt’s table, not in the maker’s files", "vocabulary from memory"
SECOND_HAND = {
    "Transformer base": "the paper says “about 37000” tokens, so the total is approximate (it prints 65M)",
    "BERT-base": f"{VOCABULARY}; it reproduces the listed total", "GPT-2 small": f"{VOCABULARY}; it reproduces the released total",
    "GPT-2 XL": "sizes read in another project’s table; they reproduce the released total",
    "T5-small v1.0": f"{VOCABULARY}, norm too; they reproduce the released total",
    "T5-small v1.1": f"{VOCABULARY}; it reproduces the released total", "T5-11B v1.0": f"{VOCABULARY}; it reproduces the released total",
    "PaLM-540B": "sizes from third-party copies and summaries of the paper; they reproduce its 540.35B",
    "Qwen2.5-7B": LITGPT, "Qwen3-8B": LITGPT, "Mixtral-8x7B v0.1": LITGPT + "; published totals second-hand"}


def whole(name, value, low=1, high=LARGEST):
    """`value` as an int. Raises TypeError or ValueError unless it is a whole number from `low` to `high`."""
    if not _is_number(value):
        raise TypeError(f"{name} must be a whole number, got {type(value).__name__}" + (f" {value[:40]!r}" if isinstance(value, str) else ""))
    value = int(value) if isinstance(value, numbers.Integral) else float(value)         # NumPy's small kinds overflow
    if not low <= value <= high or value != int(value):          # NaN and infinities end at the first half
        raise ValueError(f"{name} is {_digits(value)}, expected a whole number from {low:,} to {high:,}")
    return int(value)


def _is_number(value):
    """NumPy counts a time span as an integer, Python a bool; NumPy's True and tensors are no Real."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and type(value).__name__ != "timedelta64"


def _flag(name, value):
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be Python's True or False, got {type(value).__module__}.{type(value).__name__}")
    return value


def _known(name, value, options):
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} {repr(value[:40]) if isinstance(value, str) else type(value).__name__} is not known; known are {', '.join(options)}")
    return value


def _digits(number):
    """A number with all its digits, four after the point; huge ones in a few words."""
    if not abs(number) < math.inf:
        return str(float(number))
    if abs(number) >= 10 ** 18:
        return "more than 10^18" if number > 0 else "less than -10^18"
    if number == int(number):
        return f"{int(number):,}"
    text = f"{float(number):,.4f}"
    return f"{float(number):,}" if text.endswith(".0000") else text.rstrip("0")


@dataclasses.dataclass(frozen=True)
class Model:
    """The sizes of a Transformer. Left at their defaults the rest is a plain decoder: no biases, RMSNorm.

    head_dim        d_model / heads unless given
    positions       learned position vectors
    tied            the output matrix is the embedding matrix
    attn_bias       "none", "qkv" or "all"
    second          layers with a second attention: the decoder of an encoder-decoder
    experts, active FFNs in a layer, and how many of them a token passes
    norms           weights of all norms; two RMSNorms a layer and one at the end unless given
    other           whatever else is stored: segment embeddings, relative positions, a pooler
    window          (tokens, n): one layer in n reads no further back than that
    """
    name: str
    d_model: int
    d_ff: int
    layers: int
    heads: int
    kv_heads: int
    vocab: int
    head_dim: int = None
    gated: bool = False
    tied: bool = False
    positions: int = 0
    ffn_bias: bool = False
    attn_bias: str = "none"
    second: int = 0
    experts: int = 1
    active: int = 1
    router_bias: bool = False
    norms: int = None
    other: int = 0
    window: tuple = None
    second_hand: str = ""

    def __post_init__(self):
        """Refuse what is no model: sizes that are not whole or not positive, heads that do not divide."""
        for size in ("d_model", "d_ff", "layers", "heads", "kv_heads", "vocab", "experts", "active", "head_dim"):
            if size != "head_dim" or self.head_dim is not None:
                object.__setattr__(self, size, whole(size, getattr(self, size)))
        for count in ("positions", "second", "other", "norms"):
            if count != "norms" or self.norms is not None:
                object.__setattr__(self, count, whole(count, getattr(self, count), 0, 10 ** 15))
        for flag in ("gated", "tied", "ffn_bias", "router_bias"):
            _flag(flag, getattr(self, flag))
        for text in ("name", "second_hand"):
            if not isinstance(getattr(self, text), str):
                raise TypeError(f"{text} must be text, got {type(getattr(self, text)).__name__}")
        _known("attn_bias", self.attn_bias, ("none", "qkv", "all"))
        if self.active > self.experts:
            raise ValueError(f"active is {self.active:,}, expected 1 to experts = {self.experts:,}")
        if self.window is not None:
            if not isinstance(self.window, (tuple, list)) or len(self.window) != 2:
                raise TypeError("window must be None or a pair (tokens, one layer in how many)")
            object.__setattr__(self, "window", (whole("window's tokens", self.window[0], high=LONGEST), whole("window's layers", self.window[1])))
        if self.head_dim is None and self.d_model % self.heads:
            raise ValueError(f"heads = {self.heads} does not divide d_model = {self.d_model:,}; {_near(self.d_model, self.heads)}")
        if self.heads % self.kv_heads:
            raise ValueError(f"kv_heads = {self.kv_heads} does not divide heads = {self.heads}; {_near(self.heads, self.kv_heads)}")
        if self.head_dim is None:
            object.__setattr__(self, "head_dim", self.d_model // self.heads)
        if self.norms is None:
            object.__setattr__(self, "norms", (2 * self.layers + 1) * self.d_model)

    # ---- weights
    @property
    def ffn_weights(self):
        """Entries of the matrices of one FFN: two, or three if it is gated."""
        return (3 if self.gated else 2) * self.d_model * self.d_ff

    @property
    def attention_weights(self):
        """Entries of Wq, Wk, Wv and Wo of one attention."""
        return 2 * self.d_model * self.head_dim * (self.heads + self.kv_heads)

    @property
    def parameters(self):
        """{part: numbers stored} with biases; the values sum to `total`."""
        ffn_bias = self.ffn_bias * ((2 if self.gated else 1) * self.d_ff + self.d_model)
        qkv = (self.heads + 2 * self.kv_heads) * self.head_dim
        attn_bias = {"none": 0, "qkv": qkv, "all": qkv + self.d_model}[self.attn_bias]
        router = (self.d_model + self.router_bias) * self.experts if self.experts > 1 else 0
        return {"ffn": self.layers * self.experts * (self.ffn_weights + ffn_bias),
                "attention": (self.layers + self.second) * (self.attention_weights + attn_bias),
                "embeddings": self.d_model * ((1 if self.tied else 2) * self.vocab + self.positions),
                "rest": self.layers * router + self.norms + self.other}

    @property
    def total(self):
        return sum(self.parameters.values())

    @property
    def active_ffn(self):
        """FFN parameters that one token uses: all of them, unless there are experts."""
        return self.parameters["ffn"] * self.active // self.experts

    @property
    def total_active(self):
        return self.total - self.parameters["ffn"] + self.active_ffn

    def share(self, of="model"):
        """The FFN's share of the "block" (FFN + attention), the whole "model", or what one token uses ("active")."""
        part = self.parameters
        _known("share of", of, ("block", "model", "active"))
        if of == "active":
            return self.active_ffn / self.total_active
        return part["ffn"] / {"block": part["ffn"] + part["attention"], "model": self.total}[of]

    # ---- FLOPs of one token
    @property
    def ffn_flops(self):
        return 2 * self.ffn_weights * self.active

    @property
    def projection_flops(self):
        """Wq, Wk, Wv, Wo."""
        return 2 * self.attention_weights

    @property
    def score_flops(self):
        """For each token that is read: its score, and its share in the weighted sum of values."""
        return 4 * self.heads * self.head_dim

    def keys(self, length, causal=False, windowed=False):
        """Tokens that one token reads in a layer, the mean over layers and (if causal) over a prompt of `length`: half, for long texts."""
        length, causal, windowed = whole("length", length, high=LONGEST), _flag("causal", causal), _flag("windowed", windowed)
        reach = lambda most: min(length, most) if not causal else length / 2 if length <= most else most - most ** 2 / (2 * length)
        if not (windowed and self.window):
            return reach(math.inf)
        window, every = self.window
        return (reach(window) + (every - 1) * reach(math.inf)) / every

    def flops(self, length, causal=False, windowed=False):
        """{part: FLOPs} of one token in one layer (the encoder's, if there are two kinds)."""
        length = whole("length", length, high=LONGEST)
        return {"ffn": self.ffn_flops, "projections": self.projection_flops,
                "scores": self.score_flops * self.keys(length, causal, windowed)}

    def flops_per_token(self, length, causal=False):
        """All layers. Where a decoder reads a second text, that one is as long, and `causal` concerns the decoder's own text alone."""
        full, own = self.flops(length), self.flops(length, causal)
        if not self.second:
            return self.layers * sum(own.values())
        decoder = sum(own.values()) + full["projections"] + full["scores"]
        return (self.layers - self.second) * sum(full.values()) + self.second * decoder

    def crossing(self, causal=False, windowed=False):
        """The length from which on attention (projections and scores) costs as much as the FFN.

        None if attention leads from the first token or, with a window, the FFN at every length.
        Full: every token reads all, or a token is decoded at that length. Causal: the mean over a prompt.
        Without a window exact; with one the first whole length up to LONGEST.
        """
        _flag("causal", causal), _flag("windowed", windowed)
        keys = (self.ffn_flops - self.projection_flops) / self.score_flops
        if keys <= 0:
            return None                                     # attention leads from the first token
        if not (windowed and self.window):
            return keys * (2 if causal else 1)
        if self.keys(LONGEST, causal, True) < keys:
            return None                                     # the FFN leads at every length
        low, high = 0, LONGEST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.keys(middle, causal, True) >= keys else (middle, high)
        return float(high)

    # ---- the key-value cache
    def cache_bytes(self, bytes_per_number=2):
        """What the cache holds for one token of one text: a key and a value in every layer (of two stacks: those of the
        decoder's own and of its second attention, as many as there are layers)."""
        if not _is_number(bytes_per_number) or not 0 < bytes_per_number <= 64:
            raise ValueError("bytes_per_number must be a number above 0 and at most 64, "
                             f"got {type(bytes_per_number).__name__} {str(bytes_per_number)[:40]}")
        each = int(bytes_per_number) if isinstance(bytes_per_number, numbers.Integral) else float(bytes_per_number)      # NumPy's small kinds overflow
        return 2 * self.kv_heads * self.head_dim * self.layers * each

    def cache_equals_ffn(self):
        """Cached tokens (of all texts in the batch) that take as many bytes as the FFNs' weights."""
        return self.parameters["ffn"] / self.cache_bytes(1)

    def cache_saving(self, tokens):
        """{part: FLOPs a layer} that a cache saves while `tokens` are generated one by one from nothing.

        Without it step t computes t tokens, of which token i reads i; with it only token t, which reads t.
        """
        n = whole("tokens", tokens, high=LONGEST)
        again = n * (n + 1) // 2 - n                        # sum of t, less one a step
        reads = n * (n + 1) * (n + 2) // 6 - n * (n + 1) // 2
        return {"ffn": again * self.ffn_flops, "projections": again * self.projection_flops, "scores": reads * self.score_flops}


def _near(number, wrong):
    """Which divisors of `number` lie around one that is none, in words."""
    fits = [n for n in range(1, min(number, 4 * wrong) + 1) if number % n == 0]
    below, above = [n for n in fits if n < wrong], [n for n in fits if n > wrong]
    return f"{' and '.join(f'{n:,}' for n in below[-1:] + above[:1])} would"


# ---- the file

@functools.lru_cache(maxsize=None)
def _table():
    with open(DATA, encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def rows():
    """The rows of models.csv as dicts of text."""
    return [dict(row) for row in _table()]


def _model(row):
    """One row as a Model. What no column holds (norms at work, extras) is said here."""
    n = lambda column: int(row[column])
    name, d, layers, heads = row["name"], n("d_model"), n("layers"), n("heads")
    two_stacks = row["family"] == "enc-dec"
    second = layers // 2 if two_stacks else 0
    each = d * (2 if row["norm"] == "LayerNorm" else 1)                         # scale and shift, or scale alone
    in_layer = 4 if "and post" in row["norm_position"] else 1 if "parallel" in row["norm_position"] else 2
    at_end = 0 if row["norm_position"] == "post" else 2 if two_stacks else 1
    norms = each * (in_layer * layers + second + at_end) + ("QK" in row["norm_position"]) * 2 * layers * n("head_dim")
    other = 0
    if name == "BERT-base":
        other = 2 * d + 2 * d + d * d + d                                       # segments, their norm, pooler
    elif name.startswith("T5"):
        other = 2 * 32 * heads                                                  # relative positions in 32 buckets, for each stack
    elif name == "gpt-oss-120b":
        other = layers * heads                                                  # one learned sink for each head
    return Model(name, d, n("d_ff"), layers, heads, n("kv_heads"), n("vocab"), n("head_dim"), row["gated"] == "yes",
                 row["tied_embeddings"] == "yes", n("max_pos_params"), row["ffn_bias"] == "yes", row["attn_bias"], second,
                 n("experts"), n("top_k") + n("shared_experts"), name == "gpt-oss-120b", norms, other,
                 WINDOWS.get(name), SECOND_HAND.get(name, ""))


@functools.lru_cache(maxsize=None)
def _models():
    return {row["name"]: _model(row) for row in _table() if row["d_ff"].isdigit()}


def models():
    """{name: Model} for every row of the file but DeepSeek-V3, whose latent attention has no heads to count."""
    return dict(_models())


def find(name):
    """The Model of that name. Raises ValueError for a name that is not known, listing the known ones."""
    return _models()[_known("model", name, _models())]


@dataclasses.dataclass(frozen=True)
class Share:
    """The FFN's share in one model, in percent. kind: "plain", "gated", "grouped" (gated, shared keys) or "experts"."""
    name: str
    kind: str
    model: float
    block: float
    active: float
    second_hand: str = ""


def shares():
    """One Share for every row of the file. DeepSeek-V3's divide by the file's totals, and its block share is the file's own."""
    found = []
    for row in _table():
        model = _models().get(row["name"])
        if model is None:
            dense, n_dense, expert, n_expert = (int(n) for n in re.findall(r"\d+", row["d_ff"]))
            one = 3 * int(row["d_model"])
            used = one * (n_dense * dense + n_expert * expert * (int(row["top_k"]) + int(row["shared_experts"])))
            whole_model, block = int(row["ffn_params"]) / int(row["params_total"]), float(row["ffn_share_block_pct"]) / 100
            kind, active, note = "experts", used / int(row["params_active"]), ""
        else:
            kind = ("experts" if model.experts > 1 else "plain" if not model.gated
                    else "gated" if model.kv_heads == model.heads else "grouped")
            whole_model, block, active = (model.share(of) for of in ("model", "block", "active"))
            note = model.second_hand
        found.append(Share(row["name"], kind, 100 * whole_model, 100 * block, 100 * active, note))
    return found
