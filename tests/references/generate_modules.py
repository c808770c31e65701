"""modules.json: modules of torch.nn in float64, with outputs and gradients, and one training curve."""

import numpy as np
import torch
from torch import nn

from reference_io import tensor, write

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(17)


def normal(*shape):
    return torch.tensor(rng.normal(size=shape))


def case(name, module, inputs, run=None, training=True):
    """Outputs and the gradients of sum(y * dy) by floating inputs and parameters; parameters and buffers as they start."""
    module.train(training)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.tensor(rng.normal(0, 0.5, tuple(parameter.shape))))
    state = {key: tensor(value.numpy()) for key, value in module.state_dict().items()}
    inputs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    outputs = (run or module)(*inputs)
    outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    dys = [normal(*y.shape) for y in outputs]
    total = sum((y * dy).sum() for y, dy in zip(outputs, dys))
    wanted = [x for x in inputs if x.is_floating_point()]
    parameters = dict(module.named_parameters())
    gradients = torch.autograd.grad(total, wanted + list(parameters.values()))
    return {
        "module": name,
        "training": training,
        "state": state,
        "inputs": [tensor(x.detach().numpy()) for x in inputs],
        "outputs": [tensor(y.detach().numpy()) for y in outputs],
        "dys": [tensor(dy.numpy()) for dy in dys],
        "input_gradients": [tensor(g.numpy()) for g in gradients[: len(wanted)]],
        "gradients": {key: tensor(g.numpy()) for key, g in zip(parameters, gradients[len(wanted) :])},
    }


def spatial_cases():
    yield case("conv1d", nn.Conv1d(4, 6, 3, stride=2, padding=1), [normal(2, 4, 8)])
    yield case("conv1d_same", nn.Conv1d(3, 2, 4, padding="same", dilation=2), [normal(2, 3, 9)])
    yield case("conv1d_groups", nn.Conv1d(4, 6, 3, groups=2, bias=False), [normal(2, 4, 6)])
    yield case("conv2d_single", nn.Conv2d(2, 3, (3, 2), padding=(1, 0)), [normal(2, 4, 5)])
    yield case("conv3d", nn.Conv3d(2, 3, 2, stride=(1, 2, 1)), [normal(1, 2, 3, 4, 3)])
    yield case("conv_transpose1d", nn.ConvTranspose1d(3, 2, 3, stride=2, output_padding=1), [normal(2, 3, 4)])
    yield case("conv_transpose2d", nn.ConvTranspose2d(4, 2, 4, stride=2, padding=1), [normal(2, 4, 3, 3)])
    yield case("conv_transpose2d_groups", nn.ConvTranspose2d(4, 6, 3, groups=2, dilation=2), [normal(1, 4, 3, 2)])
    yield case("conv_transpose3d", nn.ConvTranspose3d(2, 3, 2, stride=2, bias=False), [normal(1, 2, 2, 2, 2)])

    yield case("max_pool1d", nn.MaxPool1d(3, stride=2), [normal(2, 3, 8)])
    yield case("max_pool2d", nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), [normal(2, 2, 6, 5)])
    yield case("max_pool3d", nn.MaxPool3d(2), [normal(1, 2, 4, 4, 3)])
    yield case("avg_pool1d", nn.AvgPool1d(2, padding=1), [normal(2, 3, 5)])
    yield case("avg_pool2d", nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True), [normal(1, 2, 6, 5)])
    yield case(
        "avg_pool2d_inside",
        nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
        [normal(1, 2, 6, 5)],
    )
    yield case("avg_pool3d", nn.AvgPool3d(2, stride=1), [normal(2, 3, 3, 2)])
    yield case("adaptive_avg_pool1d", nn.AdaptiveAvgPool1d(3), [normal(2, 2, 7)])
    yield case("adaptive_avg_pool2d", nn.AdaptiveAvgPool2d((2, 3)), [normal(2, 2, 5, 7)])
    yield case("adaptive_avg_pool2d_even", nn.AdaptiveAvgPool2d(2), [normal(1, 2, 4, 6)])
    yield case("adaptive_avg_pool3d", nn.AdaptiveAvgPool3d(1), [normal(1, 2, 3, 2, 3)])
    yield case("adaptive_max_pool1d", nn.AdaptiveMaxPool1d(4), [normal(2, 2, 6)])
    yield case("adaptive_max_pool2d", nn.AdaptiveMaxPool2d((3, None)), [normal(2, 2, 5, 4)])

    yield case("upsample_nearest", nn.Upsample(scale_factor=2), [normal(1, 2, 3, 2)])
    yield case("upsample_bilinear", nn.Upsample(scale_factor=(3, 2), mode="bilinear"), [normal(1, 2, 3, 4)])
    yield case("upsample_linear", nn.Upsample(scale_factor=2, mode="linear"), [normal(2, 2, 4)])
    yield case("pixel_shuffle", nn.PixelShuffle(2), [normal(2, 8, 2, 3)])
    yield case("pixel_unshuffle", nn.PixelUnshuffle(3), [normal(1, 2, 3, 6)])
    yield case("zero_pad2d", nn.ZeroPad2d((1, 2, 0, 3)), [normal(1, 2, 3, 2)])
    yield case("constant_pad1d", nn.ConstantPad1d(2, 1.5), [normal(2, 3, 2)])
    yield case("unflatten", nn.Unflatten(1, (2, 3)), [normal(2, 6, 2)])

    yield case("batch_norm3d", nn.BatchNorm3d(2), [normal(3, 2, 2, 2, 2)])
    yield case("instance_norm1d", nn.InstanceNorm1d(3), [normal(2, 3, 5)])
    yield case("instance_norm2d", nn.InstanceNorm2d(2, affine=True, eps=1e-3), [normal(2, 2, 3, 4)], training=False)


def sequence_cases():
    tokens = torch.tensor([[1, 0, 4, 1], [3, 2, 0, 0]])
    yield case("embedding_padding", nn.Embedding(5, 3, padding_idx=0), [tokens])
    for mode in ("mean", "sum", "max"):
        yield case(f"embedding_bag_{mode}", nn.EmbeddingBag(5, 3, mode=mode), [tokens])
        yield case(f"embedding_bag_{mode}_padding", nn.EmbeddingBag(5, 3, mode=mode, padding_idx=0), [tokens])
    weights = nn.EmbeddingBag(5, 3, mode="sum")
    yield case(
        "embedding_bag_weights", weights, [tokens, normal(2, 4)], lambda t, w: weights(t, per_sample_weights=w)
    )

    def states(module):
        def run(x):
            output, state = module(x)
            return [output, *(state if isinstance(state, tuple) else [state])]

        return run

    rnn = nn.RNN(3, 4, num_layers=2, bidirectional=True)
    yield case("rnn", rnn, [normal(5, 2, 3)], states(rnn))
    rnn = nn.RNN(3, 4, nonlinearity="relu", batch_first=True, bias=False)
    yield case("rnn_relu", rnn, [normal(2, 5, 3)], states(rnn))
    lstm = nn.LSTM(3, 4, bidirectional=True)
    yield case("lstm_single", lstm, [normal(5, 3)], states(lstm))
    gru = nn.GRU(3, 4)
    yield case(
        "gru_states", gru, [normal(5, 2, 3), normal(1, 2, 4)], lambda x, h: list(gru(x, h))
    )
    yield case("rnn_cell", nn.RNNCell(3, 4), [normal(2, 3), normal(2, 4)])
    yield case("rnn_cell_relu", nn.RNNCell(3, 4, nonlinearity="relu"), [normal(2, 3)])
    yield case("gru_cell", nn.GRUCell(3, 4), [normal(2, 3), normal(2, 4)])
    yield case("gru_cell_single", nn.GRUCell(3, 4, bias=False), [normal(3)])
    cell = nn.LSTMCell(3, 4)
    yield case("lstm_cell", cell, [normal(2, 3), normal(2, 4), normal(2, 4)], lambda x, h, c: cell(x, (h, c)))


def attention_cases():
    later = torch.triu(torch.ones(4, 5, dtype=torch.bool), diagonal=2)
    padding = torch.tensor([[False, False, True, False, False], [False, True, True, False, True]])
    plain = nn.MultiheadAttention(6, 2, batch_first=True)
    yield case(
        "attention_added",
        plain,
        [normal(2, 4, 6), normal(2, 5, 6), normal(4, 5)],
        lambda q, k, mask: plain(q, k, k, attn_mask=mask, key_padding_mask=padding.double() * -3)[0],
    )
    each = torch.tensor(rng.random((4, 4, 5)) < 0.4)
    each[:, :, 0] = False
    yield case(
        "attention_each_head",
        plain,
        [normal(2, 4, 6), normal(2, 5, 6), each],
        lambda q, k, mask: plain(q, k, k, attn_mask=mask, key_padding_mask=padding),
    )
    widths = nn.MultiheadAttention(6, 3, kdim=4, vdim=5, bias=False)
    yield case(
        "attention_widths",
        widths,
        [normal(4, 2, 6), normal(5, 2, 4), normal(5, 2, 5)],
        lambda q, k, v: widths(q, k, v, average_attn_weights=False),
    )
    options = dict(dim_feedforward=7, dropout=0.0)
    layer = nn.TransformerEncoderLayer(6, 2, norm_first=True, activation="gelu", batch_first=True, **options)
    encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(6), enable_nested_tensor=False)
    yield case(
        "transformer_encoder",
        encoder,
        [normal(2, 5, 6)],
        lambda x: encoder(x, src_key_padding_mask=padding),
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 3, **options), 2)
    causal = nn.Transformer.generate_square_subsequent_mask(4)
    yield case(
        "transformer_decoder",
        decoder,
        [normal(4, 2, 6), normal(5, 2, 6)],
        lambda x, memory: decoder(
            x, memory, tgt_mask=causal, memory_mask=later, memory_key_padding_mask=padding, tgt_is_causal=True
        ),
    )


def transformer_cases():
    options = dict(num_encoder_layers=2, num_decoder_layers=1, dim_feedforward=5, dropout=0.0)
    padding = torch.tensor([[False, False, True], [False, True, True]])
    causal = nn.Transformer.generate_square_subsequent_mask(4)
    post = nn.Transformer(4, 2, **options)
    yield case("transformer", post, [normal(3, 2, 4), normal(4, 2, 4)], lambda s, t: post(s, t, tgt_mask=causal))
    pre = nn.Transformer(4, 2, activation="gelu", batch_first=True, norm_first=True, layer_norm_eps=1e-3, **options)
    yield case(
        "transformer_norm_first",
        pre,
        [normal(2, 3, 4), normal(2, 4, 4)],
        lambda s, t: pre(
            s,
            t,
            src_mask=torch.triu(torch.ones(3, 3, dtype=torch.bool), diagonal=1),
            memory_mask=torch.triu(torch.ones(4, 3, dtype=torch.bool), diagonal=1),
            src_key_padding_mask=padding,
            tgt_key_padding_mask=torch.tensor([[False, False, False, True], [False, False, True, False]]),
            memory_key_padding_mask=padding,
        ),
    )


def border_cases():
    yield case("reflection_pad1d", nn.ReflectionPad1d((2, 1)), [normal(2, 2, 4)])
    yield case("reflection_pad2d", nn.ReflectionPad2d((1, 2, 0, 2)), [normal(1, 2, 3, 4)])
    yield case("reflection_pad3d", nn.ReflectionPad3d(1), [normal(1, 1, 2, 3, 2)])
    yield case("replication_pad1d", nn.ReplicationPad1d(3), [normal(2, 2, 2)])
    yield case("replication_pad2d", nn.ReplicationPad2d((1, 4, 2, 0)), [normal(2, 3, 2)])
    yield case("replication_pad3d", nn.ReplicationPad3d((1, 0, 0, 2, 1, 1)), [normal(1, 1, 2, 2, 2)])
    yield case("circular_pad2d", nn.CircularPad2d((2, 1, 3, 0)), [normal(1, 2, 3, 2)])


def masked_encoder_cases():
    options = dict(dim_feedforward=5, dropout=0.0)
    padding = torch.tensor([[False, False, True], [False, True, False]])
    causal = nn.Transformer.generate_square_subsequent_mask(3)
    layer = nn.TransformerEncoderLayer(4, 2, **options)
    yield case(
        "encoder_layer_masks",
        layer,
        [normal(3, 2, 4), normal(3, 3)],
        lambda x, mask: layer(x, src_mask=mask, src_key_padding_mask=padding.double() * -2),
    )
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, **options), 2, enable_nested_tensor=False)
    yield case(
        "encoder_causal",
        stack,
        [normal(3, 2, 4)],
        lambda x: stack(x, mask=causal, src_key_padding_mask=padding.double() * -2, is_causal=True),
    )


def padded_conv_cases():
    modes = {"padding": (1, 2), "stride": 2, "padding_mode": "circular"}
    yield case("conv2d_circular", nn.Conv2d(2, 3, (3, 2), **modes), [normal(2, 2, 5, 6)])
    yield case("conv1d_replicate", nn.Conv1d(3, 2, 4, padding="same", dilation=2, padding_mode="replicate"), [normal(2, 3, 9)])
    yield case("conv3d_reflect", nn.Conv3d(2, 2, 3, padding=1, groups=2, padding_mode="reflect"), [normal(1, 2, 3, 4, 3)])


def curve():
    """Adam with a scheduler on a small network: losses before each of 30 steps."""
    net = nn.Sequential(
        nn.Conv1d(2, 4, 3, padding=1),
        nn.InstanceNorm1d(4, affine=True),
        nn.ReLU(),
        nn.ConvTranspose1d(4, 3, 2, stride=2),
        nn.AdaptiveAvgPool1d(3),
        nn.Flatten(),
        nn.Linear(9, 2),
    )
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.tensor(rng.normal(0, 0.5, tuple(parameter.shape))))
    state = {key: tensor(value.numpy()) for key, value in net.state_dict().items()}
    x, y = normal(8, 2, 5), normal(8, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 7, 0.5)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
        scheduler.step()
    return {"state": state, "x": tensor(x.numpy()), "y": tensor(y.numpy()), "losses": losses}


if __name__ == "__main__":
    cases = [*spatial_cases(), *sequence_cases(), *attention_cases()]
    training = curve()
    later = [*transformer_cases(), *border_cases(), *masked_encoder_cases(), *padded_conv_cases()]
    write("modules.json", {"modules": cases + later, "curve": training})
