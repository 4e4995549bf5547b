"""The networks that networks.py measures, as small PyTorch modules with random weights.

Shapes and layers are those of the published architectures; images are NCHW. The weights are scaled so that activations neither
vanish nor overflow, and statistics of batch norms are far from 0 and 1, so that a wrong result shows.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


# ---- images ------------------------------------------------------------------------------------


def conv_norm(inputs, outputs, window, stride=1, groups=1, activation=None, norm=nn.BatchNorm2d):
    layers = [nn.Conv2d(inputs, outputs, window, stride, window // 2, groups=groups, bias=False), norm(outputs)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class ResidualBlock(nn.Module):
    """The basic block of ResNet-18 (two 3×3) or the bottleneck of ResNet-50 (1×1, 3×3, 1×1)."""

    def __init__(self, inputs, width, stride, bottleneck, norm):
        super().__init__()
        outputs = width * 4 if bottleneck else width
        if bottleneck:
            shape = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        else:
            shape = [(inputs, width, 3, stride), (width, width, 3, 1)]
        last = len(shape) - 1
        self.body = nn.Sequential(
            *(conv_norm(*s, activation=nn.ReLU if i < last else None, norm=norm) for i, s in enumerate(shape))
        )
        same = stride == 1 and inputs == outputs
        self.skip = nn.Identity() if same else conv_norm(inputs, outputs, 1, stride, norm=norm)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


class ResNet(nn.Module):
    def __init__(self, depths, bottleneck, classes=1000, small=False, norm=nn.BatchNorm2d):
        super().__init__()
        if small:  # the form for images of 32², without the first reductions
            self.stem = conv_norm(3, 64, 3, activation=nn.ReLU, norm=norm)
        else:
            self.stem = nn.Sequential(conv_norm(3, 64, 7, 2, activation=nn.ReLU, norm=norm), nn.MaxPool2d(3, 2, 1))
        blocks, inputs = [], 64
        for stage, depth in enumerate(depths):
            for i in range(depth):
                width, stride = 64 << stage, 2 if stage and i == 0 else 1
                blocks.append(ResidualBlock(inputs, width, stride, bottleneck, norm))
                inputs = width * 4 if bottleneck else width
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(inputs, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class SqueezeExcite(nn.Module):
    def __init__(self, width, squeezed):
        super().__init__()
        self.down, self.up = nn.Conv2d(width, squeezed, 1), nn.Conv2d(squeezed, width, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(F.silu(self.down(x.mean((2, 3), keepdim=True)))))


class InvertedResidual(nn.Module):
    """The block of MobileNet v2, and with `squeeze` the MBConv of EfficientNet."""

    def __init__(self, inputs, outputs, window, stride, expand, activation, squeeze=False):
        super().__init__()
        width = inputs * expand
        layers = [conv_norm(inputs, width, 1, activation=activation)] if expand > 1 else []
        layers += [conv_norm(width, width, window, stride, groups=width, activation=activation)]
        layers += [SqueezeExcite(width, inputs // 4)] if squeeze else []
        self.body = nn.Sequential(*layers, conv_norm(width, outputs, 1))
        self.same = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


class InvertedResiduals(nn.Module):
    def __init__(self, stages, activation, squeeze):
        super().__init__()
        layers, inputs = [conv_norm(3, 32, 3, 2, activation=activation)], 32
        for window, expand, outputs, depth, stride in stages:
            for i in range(depth):
                layers.append(InvertedResidual(inputs, outputs, window, stride if i == 0 else 1, expand, activation, squeeze))
                inputs = outputs
        self.body = nn.Sequential(*layers, conv_norm(inputs, 1280, 1, activation=activation))
        self.head = nn.Linear(1280, 1000)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


MOBILENET_V2 = [  # window, expansion, channels, blocks, stride
    (3, 1, 16, 1, 1), (3, 6, 24, 2, 2), (3, 6, 32, 3, 2), (3, 6, 64, 4, 2),
    (3, 6, 96, 3, 1), (3, 6, 160, 3, 2), (3, 6, 320, 1, 1),
]
EFFICIENTNET_B0 = [
    (3, 1, 16, 1, 1), (3, 6, 24, 2, 2), (5, 6, 40, 2, 2), (3, 6, 80, 3, 2),
    (5, 6, 112, 3, 1), (5, 6, 192, 4, 2), (3, 6, 320, 1, 1),
]


class UNet(nn.Module):
    """Four levels of two 3×3 convolutions with group norm; transposed convolutions on the way up."""

    def __init__(self, width=32, levels=4):
        super().__init__()

        def double(inputs, outputs):
            layers = []
            for i in (inputs, outputs):
                layers += [nn.Conv2d(i, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU()]
            return nn.Sequential(*layers)

        widths = [width << i for i in range(levels)]
        self.down = nn.ModuleList(double(i, o) for i, o in zip([3] + widths, widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[:-1])
        self.join = nn.ModuleList(double(2 * w, w) for w in widths[:-1])
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for up, join, skip in reversed(list(zip(self.up, self.join, kept))):
            x = join(torch.cat([skip, up(x)], 1))
        return self.head(x)


class ChannelNorm(nn.LayerNorm):
    """Layer norm over the channels of NCHW."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.spatial = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.up, self.down = nn.LayerNorm(width, 1e-6), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.5))

    def forward(self, x):
        y = self.norm(self.spatial(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, depths=(3, 3, 9, 3), widths=(96, 192, 384, 768)):
        super().__init__()
        layers = [nn.Conv2d(3, widths[0], 4, 4), ChannelNorm(widths[0], 1e-6)]
        for i, (depth, width) in enumerate(zip(depths, widths)):
            layers += [ChannelNorm(widths[i - 1], 1e-6), nn.Conv2d(widths[i - 1], width, 2, 2)] if i else []
            layers += [ConvNeXtBlock(width) for _ in range(depth)]
        self.body, self.norm = nn.Sequential(*layers), nn.LayerNorm(widths[-1], 1e-6)
        self.head = nn.Linear(widths[-1], 1000)

    def forward(self, x):
        return self.head(self.norm(self.body(x).mean((2, 3))))


# ---- attention ---------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x, mask=None):
        b, s, w = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, s, w))


class Mlp(nn.Module):
    def __init__(self, width, approximate="none"):
        super().__init__()
        self.up, self.down, self.approximate = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), approximate

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate=self.approximate))


class Block(nn.Module):
    """A transformer block, with its norms before (GPT-2, ViT, Whisper) or after each half (BERT)."""

    def __init__(self, width, heads, before=True, causal=False, approximate="none", epsilon=1e-5):
        super().__init__()
        self.attention, self.mlp = Attention(width, heads, causal), Mlp(width, approximate)
        self.norm1, self.norm2, self.before = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon), before

    def forward(self, x, mask=None):
        if self.before:
            x = x + self.attention(self.norm1(x), mask)
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.mlp(x))


class Bert(nn.Module):
    """BERT with its pooler, or with `embed` the sentence embedding of MiniLM: the mean over tokens, normalised."""

    def __init__(self, width, heads, layers, embed, vocabulary=30522):
        super().__init__()
        self.token, self.position, self.kind = (nn.Embedding(n, width) for n in (vocabulary, 512, 2))
        self.norm = nn.LayerNorm(width, 1e-12)
        self.blocks = nn.ModuleList(Block(width, heads, before=False, epsilon=1e-12) for _ in range(layers))
        self.pooler = None if embed else nn.Linear(width, width)

    def forward(self, ids, mask):
        x = self.token(ids) + self.position.weight[: ids.shape[1]] + self.kind.weight[0]
        x = self.norm(x)
        kept = mask.to(x.dtype)
        bias = (1 - kept)[:, None, None, :] * -1e4
        for block in self.blocks:
            x = block(x, bias)
        if self.pooler:
            return torch.tanh(self.pooler(x[:, 0]))
        kept = kept[:, :, None]
        x = (x * kept).sum(1) / kept.sum(1).clamp(min=1e-9)
        return x / x.square().sum(1, keepdim=True).sqrt().clamp(min=1e-12)


class Gpt2(nn.Module):
    def __init__(self, width=768, heads=12, layers=12, vocabulary=50257, positions=1024):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.blocks = nn.Sequential(*(Block(width, heads, causal=True, approximate="tanh") for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.token(ids) + self.position.weight[: ids.shape[1]]
        return F.linear(self.norm(self.blocks(x)), self.token.weight)


class Vit(nn.Module):
    def __init__(self, width=768, heads=12, layers=12, side=224, patch=16):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads, epsilon=1e-6) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


class SwinBlock(nn.Module):
    """Attention within windows, which every other block shifts by half a window."""

    def __init__(self, width, heads, side, shift, window=7):
        super().__init__()
        self.norm1, self.norm2, self.mlp = nn.LayerNorm(width), nn.LayerNorm(width), Mlp(width)
        self.attention, self.side, self.window = Attention(width, heads), side, window
        self.shift = shift if side > window else 0
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        away = (at[:, :, None] - at[:, None, :] + window - 1).permute(1, 2, 0)
        self.register_buffer("index", away[..., 0] * (2 * window - 1) + away[..., 1])
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.02)
        if self.shift:  # tokens that the shift brings together from opposite edges do not see each other
            region = torch.zeros(side)
            region[-window:], region[-self.shift :] = 1, 2
            region = self.windows((region[:, None] * 3 + region[None, :])[None, ..., None]).squeeze(-1)
            self.register_buffer("mask", (region[:, :, None] != region[:, None, :]).float()[:, None] * -100)

    def windows(self, x):
        b, s, _, c = x.shape
        n, w = s // self.window, self.window
        return x.view(b, n, w, n, w, c).transpose(2, 3).reshape(b * n * n, w * w, c)

    def forward(self, x):
        b, s, _, c = x.shape
        y = self.norm1(x)
        y = torch.roll(y, (-self.shift, -self.shift), (1, 2)) if self.shift else y
        bias = self.table[self.index].permute(2, 0, 1)[None]
        bias = bias + self.mask if self.shift else bias  # batch 1
        n, w = s // self.window, self.window
        y = self.attention(self.windows(y), bias).view(b, n, n, w, w, c).transpose(2, 3).reshape(b, s, s, c)
        x = x + (torch.roll(y, (self.shift, self.shift), (1, 2)) if self.shift else y)
        return x + self.mlp(self.norm2(x))


class PatchMerge(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.reduce = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x):
        parts = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        return self.reduce(self.norm(torch.cat(parts, -1)))


class Swin(nn.Module):
    def __init__(self, width=96, depths=(2, 2, 6, 2), heads=(3, 6, 12, 24), side=56):
        super().__init__()
        self.patch, self.norm = nn.Conv2d(3, width, 4, 4), nn.LayerNorm(width)
        layers = []
        for i, (depth, n) in enumerate(zip(depths, heads)):
            layers += [PatchMerge(width << (i - 1))] if i else []
            layers += [SwinBlock(width << i, n, side >> i, 3 if k % 2 else 0) for k in range(depth)]
        last = width << (len(depths) - 1)
        self.body, self.last, self.head = nn.Sequential(*layers), nn.LayerNorm(last), nn.Linear(last, 1000)

    def forward(self, x):
        x = self.norm(self.patch(x).permute(0, 2, 3, 1))
        return self.head(self.last(self.body(x)).mean((1, 2)))


class WhisperEncoder(nn.Module):
    def __init__(self, width=384, heads=6, layers=4, mels=80, positions=1500):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(mels, width, 3, padding=1), nn.Conv1d(width, width, 3, 2, 1)
        angle = torch.arange(positions)[:, None] * torch.exp(torch.arange(width // 2) * (-math.log(10000) / (width // 2 - 1)))
        self.register_buffer("position", torch.cat([angle.sin(), angle.cos()], 1))
        self.blocks, self.norm = nn.Sequential(*(Block(width, heads) for _ in range(layers))), nn.LayerNorm(width)

    def forward(self, x):
        x = F.gelu(self.conv2(F.gelu(self.conv1(x)))).transpose(1, 2)
        return self.norm(self.blocks(x + self.position))


# ---- others ------------------------------------------------------------------------------------


def perceptron(widths, last=None):
    layers = []
    for i, o in zip(widths, widths[1:]):
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*layers[:-1], *([last] if last else []))


class Dlrm(nn.Module):
    """Recommendation: products of all pairs among 26 embeddings and a perceptron of 13 numbers."""

    def __init__(self, tables=26, rows=10000, width=64):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = perceptron((13, 512, 256, width), nn.ReLU())
        n = tables + 1
        self.register_buffer("pairs", torch.tensor([i * n + j for i in range(n) for j in range(i)]))
        self.top = perceptron((width + len(self.pairs), 512, 256, 1), nn.Sigmoid())

    def forward(self, numbers, categories):
        dense = self.bottom(numbers)
        x = torch.stack([dense] + [table(categories[:, i]) for i, table in enumerate(self.tables)], 1)
        products = (x @ x.transpose(1, 2)).flatten(1)[:, self.pairs]
        return self.top(torch.cat([dense, products], 1))


class Recurrent(nn.Module):
    def __init__(self, kind, width=256, layers=2):
        super().__init__()
        self.body = kind(width, width, layers)

    def forward(self, x):  # [steps, batch, width]
        return self.body(x)[0]


def scan(module, jnp, lax):
    """The same recurrence as a loop, as JAX programs write it: torch.export would unroll it."""
    body = module.body
    gates = {k: jnp.asarray(v.detach().numpy()) for k, v in body.named_parameters()}
    sigmoid = lambda x: 1 / (1 + jnp.exp(-x))

    def lstm(layer, x, state):
        h, c = state
        i, f, g, o = jnp.split(x @ layer["wx"] + h @ layer["wh"] + layer["bx"] + layer["bh"], 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def gru(layer, x, state):
        (h,) = state
        rx, zx, nx = jnp.split(x @ layer["wx"] + layer["bx"], 3, -1)
        rh, zh, nh = jnp.split(h @ layer["wh"] + layer["bh"], 3, -1)
        z = sigmoid(zx + zh)
        h = (1 - z) * jnp.tanh(nx + sigmoid(rx + rh) * nh) + z * h
        return (h,), h

    cell, states = (lstm, 2) if isinstance(body, nn.LSTM) else (gru, 1)

    def forward(x):
        for n in range(body.num_layers):
            names = {"wx": f"weight_ih_l{n}", "wh": f"weight_hh_l{n}", "bx": f"bias_ih_l{n}", "bh": f"bias_hh_l{n}"}
            layer = {k: gates[v].T if k[0] == "w" else gates[v] for k, v in names.items()}
            zero = jnp.zeros((x.shape[1], body.hidden_size), x.dtype)
            _, x = lax.scan(lambda state, at: cell(layer, at, state), (zero,) * states, x)
        return x

    return forward


# ---- the table ---------------------------------------------------------------------------------


def image(side=224, batch=1):
    return lambda: (torch.randn(batch, 3, side, side),)


def tokens(batch, steps, vocabulary, mask=False):
    def make():
        ids = torch.randint(0, vocabulary, (batch, steps))
        if not mask:
            return (ids,)
        lengths = torch.randint(steps // 2, steps + 1, (batch, 1))
        return ids, (torch.arange(steps)[None] < lengths).to(torch.int64)

    return make


def categories(batch=128, tables=26, rows=10000):
    return lambda: (torch.randn(batch, 13), torch.randint(0, rows, (batch, tables)))


def minilm():
    return Bert(384, 12, 6, embed=True)


def batch_statistics(width):
    """A batch norm that keeps no running statistics: a training step without state beside the parameters."""
    return nn.BatchNorm2d(width, track_running_stats=False)


# name: (module, inputs). The first nine are deployed most.
FORWARD = {
    "resnet18": (lambda: ResNet((2, 2, 2, 2), False), image()),
    "resnet50": (lambda: ResNet((3, 4, 6, 3), True), image()),
    "mobilenet-v2": (lambda: InvertedResiduals(MOBILENET_V2, nn.ReLU6, False), image()),
    "unet": (UNet, image(128)),
    "minilm-1x32": (minilm, tokens(1, 32, 30522, True)),
    "minilm-8x128": (minilm, tokens(8, 128, 30522, True)),
    "gpt2": (Gpt2, tokens(1, 128, 50257)),
    "vit-b16": (Vit, image()),
    "lstm": (lambda: Recurrent(nn.LSTM), lambda: (torch.randn(64, 8, 256),)),
    "efficientnet-b0": (lambda: InvertedResiduals(EFFICIENTNET_B0, nn.SiLU, True), image()),
    "convnext-t": (ConvNeXt, image()),
    "swin-t": (Swin, image()),
    "bert-base": (lambda: Bert(768, 12, 12, embed=False), tokens(1, 128, 30522, True)),
    "whisper-tiny": (WhisperEncoder, lambda: (torch.randn(1, 80, 3000),)),
    "dlrm": (Dlrm, categories()),
    "gru": (lambda: Recurrent(nn.GRU), lambda: (torch.randn(64, 8, 256),)),
}
# A step of gradient descent on the cross entropy; the last input holds the classes.
TRAINING = {
    "train-resnet18": (
        lambda: ResNet((2, 2, 2, 2), False, 10, small=True, norm=batch_statistics),
        lambda: (torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))),
    ),
    "train-gpt2": (Gpt2, lambda: (*tokens(1, 128, 50257)(), torch.randint(0, 50257, (128,)))),
    "train-mlp": (
        lambda: perceptron((784, 1024, 1024, 10)),
        lambda: (torch.randn(128, 784), torch.randint(0, 10, (128,))),
    ),
    "train-attention": (
        lambda: Attention(768, 12, causal=True),
        lambda: (torch.randn(1, 1024, 768), torch.randint(0, 768, (1024,))),
    ),
}
NAMES = (*FORWARD, *TRAINING)


def initialise(module):
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, (nn.Conv1d, nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
                fan = part.weight[0].numel() if not isinstance(part, nn.ConvTranspose2d) else part.weight.shape[0]
                part.weight.normal_(0, math.sqrt((1 if isinstance(part, nn.Linear) else 2) / fan))
                if part.bias is not None:
                    part.bias.normal_(0, 0.02)
            elif isinstance(part, (nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm)):
                part.weight.uniform_(0.6, 1.0)
                part.bias.normal_(0, 0.1)
                if getattr(part, "running_mean", None) is not None:
                    part.running_mean.normal_(0, 0.1)
                    part.running_var.uniform_(0.8, 1.5)
            elif isinstance(part, nn.Embedding):
                part.weight.normal_(0, 0.05)


def build(name):
    """The module and its inputs, always with the same random numbers."""
    torch.manual_seed(0)
    make, inputs = (FORWARD | TRAINING)[name]
    module = make()
    initialise(module)
    inputs = inputs()
    return (module.train() if name in TRAINING else module.eval()), inputs


def loss_of(module, inputs):
    out = module(*inputs[:-1])
    return F.cross_entropy(out.reshape(-1, out.shape[-1]), inputs[-1])
