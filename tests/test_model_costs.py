"""The model arithmetic against the table of models, against torch and against plain loops."""
import numpy as np
import pytest
import torch

import model_costs
from model_costs import Model, find, models, rows

ROWS = {row["name"]: row for row in rows()}
COUNTED = sorted(models())
CORE = sorted(name for name, row in ROWS.items() if row["core_set"] == "yes")
plain = lambda **sizes: Model(**{**dict(name="m", d_model=64, d_ff=256, layers=2, heads=4, kv_heads=4, vocab=100), **sizes})


# ---------------------------------------------------------------- the file

def test_the_file_has_18_rows_of_which_17_are_counted():
    assert len(ROWS) == 18 and len(CORE) == 12 and set(CORE) < set(COUNTED)
    assert set(ROWS) - set(COUNTED) == {"DeepSeek-V3"}


@pytest.mark.parametrize("name", COUNTED)
def test_parameters_are_the_files_to_the_last_digit(name):
    model, row = find(name), ROWS[name]
    assert model.total == int(row["params_total"]) == sum(model.parameters.values())
    assert model.total_active == int(row["params_active"])
    assert model.parameters["ffn"] == int(row["ffn_params"])
    assert model.parameters["embeddings"] == int(row["embed_params"])


@pytest.mark.parametrize("name", COUNTED)
def test_shares_are_the_files(name):
    model, row = find(name), ROWS[name]
    apart = model.parameters["ffn"] / (model.total - model.parameters["embeddings"])
    for share, column in [(model.share("block"), "block"), (model.share(), "total"), (apart, "nonembed")]:
        assert abs(100 * share - float(row[f"ffn_share_{column}_pct"])) <= 0.005 + 1e-9, column


@pytest.mark.parametrize("name", COUNTED)
def test_flops_and_crossings_are_within_1_of_the_files(name):
    model, row = find(name), ROWS[name]
    for got, column in [(model.ffn_flops, "ffn_flops_per_tok_layer"), (model.projection_flops, "attn_proj_flops_per_tok_layer"),
                        (model.score_flops, "score_flops_per_key_layer"), (model.crossing(), "crossover_L_full"),
                        (model.crossing(causal=True), "crossover_L_causal_prefill")]:
        assert abs(got - float(row[column])) <= 1, column


def test_what_is_second_hand_is_said():
    assert set(model_costs.SECOND_HAND) <= set(ROWS)
    assert {name for name, row in ROWS.items() if row["source"] == "litgpt/config.py"} <= set(model_costs.SECOND_HAND)
    for name, row in ROWS.items():
        told = find(name).second_hand if name in COUNTED else ""
        if "third-party" in row["checked"] or "vocab" in row["checked"] and "memory" in row["checked"]:
            assert told, name
    assert "third-party" in find("PaLM-540B").second_hand and "approximate" in find("Transformer base").second_hand
    assert not find("LLaMA-2-7B").second_hand and not find("gpt-oss-120b").second_hand


def test_windows_are_those_that_the_file_mentions():
    assert set(model_costs.WINDOWS) == {name for name, row in ROWS.items() if "sliding window" in row["checked"]}
    for name, (window, every) in model_costs.WINDOWS.items():
        assert str(window) in ROWS[name]["checked"] and ("every other layer" in ROWS[name]["checked"]) == (every == 2)


def test_shares_of_all_18_rows():
    shares = {share.name: share for share in model_costs.shares()}
    assert list(shares) == list(ROWS)
    for name, row in ROWS.items():
        assert abs(shares[name].model - float(row["ffn_share_total_pct"])) < 0.006
        assert abs(shares[name].block - float(row["ffn_share_block_pct"])) < 0.006
    assert [round(shares[name].active, 1) for name in ("Mixtral-8x7B v0.1", "DeepSeek-V3", "gpt-oss-120b")] == [87.5, 64.4, 62.8]
    kinds = [share.kind for share in shares.values()]
    assert [kinds.count(kind) for kind in ("plain", "gated", "grouped", "experts")] == [6, 2, 7, 3]
    assert sum(70 <= share.model <= 85 for share in shares.values()) == 5
    assert sum(70 <= share.block <= 85 for share in shares.values()) == 4


# ---------------------------------------------------------------- against torch

def test_gpt2_from_modules():
    count = lambda *modules: sum(p.numel() for module in modules for p in module.parameters())
    with torch.device("meta"):
        block, norm = torch.nn.TransformerEncoderLayer(768, 12, 3072), torch.nn.LayerNorm(768)
        tokens, places = torch.nn.Embedding(50257, 768), torch.nn.Embedding(1024, 768)
    gpt2 = find("GPT-2 small")
    assert gpt2.total == count(tokens, places, norm) + 12 * count(block) == 124_439_808
    assert gpt2.parameters["ffn"] == 12 * count(block.linear1, block.linear2)
    assert gpt2.parameters["attention"] == 12 * count(block.self_attn)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_flops_are_what_torch_counts(gated, kv_heads):
    from torch.utils.flop_counter import FlopCounterMode
    d, ff, heads, n = 64, 256, 4, 24
    weight = lambda *shape: torch.ones(*shape)

    def flops(run):
        with FlopCounterMode(display=False) as counter:
            run()
        return counter.get_total_flops()

    x, size = torch.ones(n, d), d // heads
    ffn = lambda: [x @ weight(d, ff) for _ in range(2 if gated else 1)] and torch.ones(n, ff) @ weight(ff, d)
    projections = lambda: (x @ weight(d, d), x @ weight(d, kv_heads * size), x @ weight(d, kv_heads * size), x @ weight(d, d))
    scores = lambda: torch.ones(heads, n, size) @ torch.ones(heads, size, n) @ torch.ones(heads, n, size)
    want = plain(gated=gated, kv_heads=kv_heads).flops(n)
    assert {"ffn": flops(ffn) / n, "projections": flops(projections) / n, "scores": flops(scores) / n} == want


# ---------------------------------------------------------------- against loops

@pytest.mark.parametrize("window", [None, (5, 1), (5, 2), (40, 3)])
@pytest.mark.parametrize("length", [1, 4, 5, 6, 37, 200])
def test_keys_are_the_mean_over_layers_and_places(window, length):
    model = plain(window=window)
    layers = [window[0] if window and layer % window[1] == 0 else np.inf for layer in range(6)]
    full = np.mean([min(length, most) for most in layers])
    causal = np.mean([np.mean([min(t, most) for t in range(1, length + 1)]) for most in layers])
    assert model.keys(length, windowed=True) == pytest.approx(full)
    assert abs(model.keys(length, causal=True, windowed=True) - causal) <= 0.5         # token t reads t, counted as t - 1/2
    assert model.keys(length) == length and model.keys(length, causal=True) == length / 2


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("windowed", [False, True])
def test_attention_overtakes_at_the_crossing_and_not_before(name, causal, windowed):
    model = find(name)
    at = model.crossing(causal, windowed)
    leads = lambda length: (lambda f: f["projections"] + f["scores"] >= f["ffn"])(model.flops(length, causal, windowed))
    if at is None:
        assert name == "Mistral-7B v0.1" and windowed and not leads(model_costs.LONGEST)
    else:
        assert leads(int(np.ceil(at))) and not leads(int(np.ceil(at)) - 1)


@pytest.mark.parametrize("d", [128, 512, 768, 4096, 12288])
def test_the_crossing_is_2d_or_4d_for_the_classic_layer(d):
    model = plain(d_model=d, d_ff=4 * d)
    assert (model.crossing(), model.crossing(causal=True)) == (2 * d, 4 * d)
    assert plain(d_model=d, d_ff=2 * d).crossing() is None


@pytest.mark.parametrize("tokens", [1, 2, 3, 17])
def test_what_a_cache_saves_is_counted_step_by_step(tokens):
    model, saved = plain(), dict(ffn=0, projections=0, scores=0)
    for step in range(1, tokens + 1):
        saved["ffn"] += (step - 1) * model.ffn_flops
        saved["projections"] += (step - 1) * model.projection_flops
        saved["scores"] += sum(range(1, step)) * model.score_flops
    assert model.cache_saving(tokens) == saved


@pytest.mark.parametrize("d, tokens, percent", [(4096, 1024, 66), (4096, 8192, 60), (768, 1024, 62), (4096, 32768, 46), (4096, 65536, 35)])
def test_the_ffns_part_of_what_is_saved(d, tokens, percent):
    saved = plain(d_model=d, d_ff=4 * d).cache_saving(tokens)
    assert round(100 * saved["ffn"] / sum(saved.values())) == percent


def test_cache_bytes():
    old, new = find("LLaMA-2-7B"), find("LLaMA-3-8B")
    assert (old.cache_bytes(), new.cache_bytes(), old.cache_bytes(1)) == (524_288, 131_072, 262_144)
    assert (old.cache_equals_ffn(), new.cache_equals_ffn()) == (16_512, 86_016)


@pytest.mark.parametrize("name, percents", [("GPT-2 small", [60, 35, 15, 4]), ("LLaMA-3-8B", [79, 70, 50, 23])])
def test_the_ffns_share_of_a_prompts_flops(name, percents):
    shares = [(lambda f: f["ffn"] / sum(f.values()))(find(name).flops(n, causal=True)) for n in (1024, 8192, 32768, 131072)]
    assert [round(100 * share) for share in shares] == percents


def test_all_layers():
    model = plain(layers=3)
    assert model.flops_per_token(10) == 3 * sum(model.flops(10).values())
    base = find("Transformer base")
    one = base.flops(100)
    assert base.flops_per_token(100) == 12 * sum(one.values()) + 6 * (one["projections"] + one["scores"])


@pytest.mark.parametrize("n", [1, 64, 10_000])
def test_causal_halves_only_what_a_decoder_reads_of_its_own_text(n):
    """Transformer base, counted by hand: 6 encoder layers read all, 6 decoder layers half of their own text and all of the other."""
    ffn, projections, scores = 2 * 2 * 512 * 2048, 2 * 4 * 512 * 512, 2 * 2 * 512 * n
    encoder, decoder = ffn + projections + scores, ffn + 2 * projections + scores / 2 + scores
    assert find("Transformer base").flops_per_token(n, causal=True) == 6 * (encoder + decoder)
    assert plain(layers=3).flops_per_token(n, causal=True) == 3 * sum(plain(layers=3).flops(n, causal=True).values())


# ---------------------------------------------------------------- bad input

@pytest.mark.parametrize("sizes, error, words", [
    (dict(heads=5), ValueError, "heads = 5 does not divide d_model = 64; 4 and 8 would"),
    (dict(kv_heads=3), ValueError, "kv_heads = 3 does not divide heads = 4; 2 and 4 would"),
    (dict(heads=2, kv_heads=4), ValueError, "kv_heads = 4 does not divide heads = 2; 2 would"),
    (dict(d_model=0), ValueError, "d_model is 0, expected a whole number from 1 to"), (dict(d_ff=-4), ValueError, "d_ff is -4"),
    (dict(layers=1.5), ValueError, "layers is 1.5, expected a whole number"), (dict(vocab=float("nan")), ValueError, "vocab is nan"),
    (dict(d_model=2 ** 21), ValueError, "d_model is 2,097,152"), (dict(vocab=float("inf")), ValueError, "vocab is inf"),
    (dict(heads="8"), TypeError, "heads must be a whole number"), (dict(kv_heads=None), TypeError, "kv_heads"),
    (dict(layers=True), TypeError, "layers"), (dict(d_ff=[1, 2]), TypeError, "d_ff"), (dict(d_ff=np.ones(2)), TypeError, "d_ff"),
    (dict(d_ff=1j), TypeError, "d_ff"), (dict(d_ff=10 ** 400), ValueError, "d_ff is more than 10.18"),
    (dict(d_ff=1e9 + 0.5), ValueError, "d_ff is 1,000,000,000.5, expected a whole"), (dict(layers=2.34567), ValueError, "layers is 2.3457, expected"),
    (dict(layers=np.True_), TypeError, "layers"), (dict(layers=torch.tensor(2)), TypeError, "layers must be a whole number, got Tensor"),
    *[(dict(head_dim=bad), ValueError, "head_dim") for bad in (0, -5, 2.5, float("nan"))], (dict(attn_bias="foo"), ValueError, "attn_bias 'foo'"),
    (dict(window=(4096, 0)), ValueError, "window"), (dict(window=5), TypeError, "window"), (dict(active=2), ValueError, "active is 2"),
    (dict(positions=-1), ValueError, "positions"), (dict(norms=float("nan")), ValueError, "norms"), (dict(other=-1), ValueError, "other"),
    (dict(gated="no"), TypeError, "gated")])
def test_what_is_no_model_is_refused(sizes, error, words):
    with pytest.raises(error, match=words):
        plain(**sizes)


@pytest.mark.parametrize("length, error", [(0, ValueError), (-1, ValueError), (10 ** 9 + 1, ValueError), (float("inf"), ValueError),
                                           (2.5, ValueError), ("8K", TypeError)])
def test_lengths_are_whole_and_at_most_a_billion(length, error):
    with pytest.raises(error, match="length"):
        plain().flops(length)
    assert plain().flops(10 ** 9)["scores"] == 256 * 10 ** 9


@pytest.mark.parametrize("name", ["GPT-5", "", None, 3, "DeepSeek-V3"])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ValueError) as error:
        find(name)
    assert all(known in str(error.value) for known in COUNTED)


def test_an_unknown_share_names_the_known_ones():
    with pytest.raises(ValueError, match="'foo' is not known; known are block, model, active"):
        plain().share("foo")


def test_the_table_cannot_be_changed_from_outside():
    models().clear(), rows()[0].clear()
    assert len(models()) == 17 and len(rows()[0]) > 30
