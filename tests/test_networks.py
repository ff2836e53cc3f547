"""The networks of the ground floor against references that share no line with them.

A per-token loop in plain Python, `torch.nn`, and two convolutions of kernel size 1 compute the same
numbers in three other ways.
"""
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ffn_helpers as fh

# What torch itself calls each activation.
TORCH = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
         "identity": lambda z: z}
# The same in plain Python, for one number.
PLAIN = {"relu": lambda z: z if z > 0 else 0.0,
         "gelu": lambda z: z * math.erfc(-z / math.sqrt(2)) / 2,
         "silu": lambda z: z / (1 + math.exp(-z)),
         "sigmoid": lambda z: 1 / (1 + math.exp(-z)),
         "tanh": math.tanh,
         "identity": lambda z: z}
NETWORKS = [fh.PositionWiseFFN, fh.GatedFFN]

every_activation = pytest.mark.parametrize("activation", TORCH)
every_network = pytest.mark.parametrize("network", NETWORKS)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(3)


def affine(token, layer):
    """One nn.Linear on one token, number by number; `layer.weight` is (out, in)."""
    weight = layer.weight.tolist()
    bias = layer.bias.tolist() if layer.bias is not None else [0.0] * len(weight)
    return [sum(a * b for a, b in zip(token, row)) + offset for row, offset in zip(weight, bias)]


def token_by_token(net, x):
    """The network on x (tokens, d_model) in plain Python: one token, one unit, one number at a time."""
    rows, function = [], PLAIN[net.activation]
    for token in x.tolist():
        if isinstance(net, fh.GatedFFN):
            h = [function(g) * v for g, v in zip(affine(token, net.gate), affine(token, net.value))]
        else:
            h = [function(z) for z in affine(token, net.expand)]
        rows.append(affine(h, net.contract))
    return torch.tensor(rows, dtype=x.dtype)


# ---------------------------------------------------------------- the same numbers in other ways

def test_every_activation_has_its_references():
    assert set(fh.ACTIVATIONS) == set(TORCH) == set(PLAIN)


@every_activation
@pytest.mark.parametrize("bias", [True, False])
@every_network
def test_network_is_a_loop_over_tokens(network, activation, bias):
    net, x = network(5, 7, activation, bias=bias).double(), torch.randn(6, 5, dtype=torch.float64)
    assert torch.allclose(net(x), token_by_token(net, x), rtol=0, atol=1e-12)


@every_activation
def test_position_wise_is_two_linear_layers_of_torch(activation):
    net, x = fh.PositionWiseFFN(16, 64, activation), torch.randn(2, 9, 16)
    first, second = nn.Linear(16, 64), nn.Linear(64, 16)
    first.load_state_dict(net.expand.state_dict())
    second.load_state_dict(net.contract.state_dict())
    assert torch.allclose(net(x), second(TORCH[activation](first(x))), rtol=0, atol=1e-6)


def test_position_wise_is_two_convolutions_of_kernel_size_one():
    net, x = fh.PositionWiseFFN(8, 32, "gelu").double(), torch.randn(3, 10, 8, dtype=torch.float64)
    first, second = nn.Conv1d(8, 32, kernel_size=1).double(), nn.Conv1d(32, 8, kernel_size=1).double()
    for conv, layer in [(first, net.expand), (second, net.contract)]:
        conv.weight.data, conv.bias.data = layer.weight.data[:, :, None], layer.bias.data
    assert torch.allclose(net(x), second(F.gelu(first(x.transpose(1, 2)))).transpose(1, 2), rtol=0, atol=1e-12)


def test_position_wise_is_the_formula_with_row_vectors():
    net, x = fh.PositionWiseFFN(4, 6).double(), torch.randn(3, 4, dtype=torch.float64)
    W1, W2 = net.expand.weight.T, net.contract.weight.T
    assert W1.shape == (4, 6) and W2.shape == (6, 4)
    assert torch.allclose(net(x), (x @ W1 + net.expand.bias).clamp(min=0) @ W2 + net.contract.bias, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name, activation", [
    ("SwiGLU", F.silu), ("GEGLU", F.gelu), ("ReGLU", F.relu), ("GLU", torch.sigmoid), ("bilinear", lambda z: z)])
def test_gated_is_shazeers_family(name, activation):
    mine = {"SwiGLU": "silu", "GEGLU": "gelu", "ReGLU": "relu", "GLU": "sigmoid", "bilinear": "identity"}[name]
    net, x = fh.GatedFFN(6, 10, mine).double(), torch.randn(4, 6, dtype=torch.float64)
    W, V, W2 = (layer.weight.T for layer in (net.gate, net.value, net.contract))
    assert torch.allclose(net(x), (activation(x @ W) * (x @ V)) @ W2, rtol=0, atol=1e-12)


def test_gated_with_sigmoid_is_torchs_glu():
    net, x = fh.GatedFFN(6, 10, "sigmoid").double(), torch.randn(4, 6, dtype=torch.float64)
    halves = torch.cat([net.value(x), net.gate(x)], dim=-1)          # F.glu gates with its second half
    assert torch.allclose(net(x), net.contract(F.glu(halves)), rtol=0, atol=1e-12)


@every_network
def test_gradients_reach_every_weight(network):
    net = network(4, 8, "gelu").double()
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(net, x)
    net(x).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


# ---------------------------------------------------------------- activations

POINTS = torch.tensor([-40.0, -3.0, -1.0, -1e-3, 0.0, 1e-3, 0.5, 1.0, 3.0, 40.0], dtype=torch.float64)


@every_activation
def test_activation_is_what_torch_and_plain_python_compute(activation):
    got = fh.activate(POINTS, activation)
    assert torch.allclose(got, TORCH[activation](POINTS), rtol=0, atol=1e-12)
    assert got.tolist() == pytest.approx([PLAIN[activation](z) for z in POINTS.tolist()], rel=1e-12, abs=1e-12)


@every_activation
def test_activation_keeps_the_kind_of_what_comes_in(activation):
    for dtype in (torch.float32, torch.float64):
        assert fh.activate(POINTS.to(dtype), activation).dtype == dtype
    array = fh.activate(POINTS.numpy().reshape(2, 5), activation)
    assert isinstance(array, np.ndarray) and array.shape == (2, 5) and array.dtype == np.float64
    assert np.ndim(fh.activate(2, activation)) == 0 and fh.activate([], activation).shape == (0,)


def test_gelu_is_the_exact_form():
    exact, approximate = fh.activate(POINTS, "gelu"), F.gelu(POINTS, approximate="tanh")
    assert (exact - approximate).abs().max() > 1e-5


def test_relu_has_no_minus_zero_and_keeps_its_input():
    z = torch.tensor([-1.0, 2.0])
    assert fh.activate(z, "relu").tolist() == [0, 2] and z.tolist() == [-1, 2]


@pytest.mark.parametrize("name", ["swish", "ReLU", "", None, 3, ["relu"], F.relu])
@pytest.mark.parametrize("call", [lambda name: fh.activate(1.0, name), lambda name: fh.PositionWiseFFN(4, 8, name),
                                  lambda name: fh.GatedFFN(4, 8, name)], ids=["activate", "position-wise", "gated"])
def test_unknown_activation_lists_the_known(call, name):
    with pytest.raises(ValueError) as caught:
        call(name)
    assert "activation" in str(caught.value) and all(known in str(caught.value) for known in TORCH)


@pytest.mark.parametrize("z", ["1", None, [1, "a"], [[1], [2, 3]], 1j, [float("nan")], float("inf")])
def test_activate_names_z_when_it_is_no_finite_number(z):
    with pytest.raises((TypeError, ValueError), match="^z "):
        fh.activate(z)


# ---------------------------------------------------------------- counts, shapes, dtypes

@pytest.mark.parametrize("net, count", [
    (lambda: fh.PositionWiseFFN(512, 2048), 2_099_712),
    (lambda: fh.PositionWiseFFN(512, 2048, bias=False), 2_097_152),
    (lambda: fh.GatedFFN(512, 2048), 3_145_728),
    (lambda: fh.GatedFFN(512, 1365), 2_096_640),
    (lambda: fh.GatedFFN(512, 1365, bias=True), 2_096_640 + 2 * 1365 + 512),
    (lambda: fh.PositionWiseFFN(768, 3072, "gelu"), 4_722_432),
    (lambda: fh.PositionWiseFFN(1, 1), 4)])
def test_parameters(net, count):
    assert sum(p.numel() for p in net().parameters()) == count


def test_weights_are_stored_as_torch_stores_them():
    net, gated = fh.PositionWiseFFN(4, 10), fh.GatedFFN(4, 10)
    assert {name: tuple(p.shape) for name, p in net.named_parameters()} == {
        "expand.weight": (10, 4), "expand.bias": (10,), "contract.weight": (4, 10), "contract.bias": (4,)}
    assert {name: tuple(p.shape) for name, p in gated.named_parameters()} == {
        "gate.weight": (10, 4), "value.weight": (10, 4), "contract.weight": (4, 10)}


@pytest.mark.parametrize("shape", [(4,), (1, 4), (5, 4), (0, 4), (2, 0, 4), (2, 3, 4), (2, 3, 5, 4)])
@every_network
def test_shape_in_is_shape_out(network, shape):
    net, x = network(4, 8).double(), torch.randn(shape, dtype=torch.float64)
    y = net(x)
    assert y.shape == x.shape
    assert torch.allclose(y.reshape(-1, 4), token_by_token(net, x.reshape(-1, 4)).reshape(-1, 4), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@every_network
def test_dtype_in_is_dtype_out(network, dtype):
    net = network(4, 8).to(dtype)
    assert net(torch.ones(3, 4, dtype=dtype)).dtype == dtype


@every_network
def test_what_is_printed_names_the_activation_and_the_widths(network):
    text = repr(network(4, 8, "gelu"))
    assert "activation='gelu'" in text and "in_features=4, out_features=8" in text


# ---------------------------------------------------------------- bad input

@pytest.mark.parametrize("shape", [(), (3,), (5, 3), (4, 5), (2, 4, 1)])
@every_network
def test_shape_that_does_not_fit_is_named(network, shape):
    with pytest.raises(ValueError) as caught:
        network(4, 8)(torch.zeros(shape))
    text = str(caught.value)
    assert text.startswith("x ") and str(shape) in text and "(..., 4)" in text and "d_model" in text


@pytest.mark.parametrize("x", [torch.zeros(3, 4, dtype=torch.int64), torch.zeros(3, 4, dtype=torch.bool),
                               torch.zeros(3, 4, dtype=torch.complex64), np.zeros((3, 4)), [[0.0] * 4], "x", None])
@every_network
def test_x_that_is_no_float_tensor_is_named(network, x):
    with pytest.raises(TypeError, match="^x must be a tensor of floating-point numbers, got "):
        network(4, 8)(x)


@pytest.mark.parametrize("value, error", [(0, ValueError), (-1, ValueError), (2 ** 20 + 1, ValueError), (4.0, TypeError),
                                          ("4", TypeError), (None, TypeError), (True, TypeError), (float("nan"), TypeError)])
@pytest.mark.parametrize("name", ["d_model", "d_ff"])
@every_network
def test_width_that_is_none_is_named(network, name, value, error):
    with pytest.raises(error, match=f"^{name} "):
        network(**{"d_model": 4, "d_ff": 8, name: value})
