#!/usr/bin/env python3
"""Writes a Llama of any shape with random weights, to measure speed on: by default that of Llama-3.2-1B, in bf16.

    bench/make_llama.py OUT [--dtype bf16|f16|f32] [--layers 16] …

Needs nothing but Python. The numbers are normal with a deviation of 0.02, norms are 1; the text that such a model makes means
nothing, but it takes as long as any. The tokenizer has as many tokens and merges as the vocabulary has room for.
"""
import argparse
import json
import pathlib
import random
import struct
from array import array

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("out", type=pathlib.Path)
parser.add_argument("--dtype", choices=("bf16", "f16", "f32"), default="bf16")
for name, value in (("layers", 16), ("hidden", 2048), ("ffn", 8192), ("heads", 32), ("kv-heads", 8), ("vocab", 128256)):
    parser.add_argument(f"--{name}", type=int, default=value)
o = parser.parse_args()
head = o.hidden // o.heads
kv = o.kv_heads * head

config = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": o.hidden,
    "intermediate_size": o.ffn, "num_hidden_layers": o.layers, "num_attention_heads": o.heads, "num_key_value_heads": o.kv_heads,
    "head_dim": head, "vocab_size": o.vocab, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
    "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 8192},
    "tie_word_embeddings": True, "torch_dtype": {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}[o.dtype],
    "bos_token_id": o.vocab - 2, "eos_token_id": None,
}


def tensors():
    yield "model.embed_tokens.weight", (o.vocab, o.hidden)
    for i in range(o.layers):
        at = f"model.layers.{i}."
        yield at + "input_layernorm.weight", (o.hidden,)
        yield at + "self_attn.q_proj.weight", (o.hidden, o.hidden)
        yield at + "self_attn.k_proj.weight", (kv, o.hidden)
        yield at + "self_attn.v_proj.weight", (kv, o.hidden)
        yield at + "self_attn.o_proj.weight", (o.hidden, o.hidden)
        yield at + "post_attention_layernorm.weight", (o.hidden,)
        yield at + "mlp.gate_proj.weight", (o.ffn, o.hidden)
        yield at + "mlp.up_proj.weight", (o.ffn, o.hidden)
        yield at + "mlp.down_proj.weight", (o.hidden, o.ffn)
    yield "model.norm.weight", (o.hidden,)


def encode(numbers):
    """Bytes of the element type; bf16 is the upper half of an f32, rounded to nearest."""
    if o.dtype == "f32":
        return array("f", numbers).tobytes()
    if o.dtype == "f16":
        return struct.pack(f"<{len(numbers)}e", *numbers)
    words = array("I")
    words.frombytes(array("f", numbers).tobytes())
    return array("H", [(w + 0x7FFF + (w >> 16 & 1)) >> 16 & 0xFFFF for w in words]).tobytes()


def write_weights(path):
    size = 4 if o.dtype == "f32" else 2
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in tensors():
        n = size * shape[0] * (shape[1] if len(shape) == 2 else 1)
        header[name] = {"dtype": o.dtype.upper(), "shape": shape, "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64 + 56)  # so that the data begins at a multiple of 64
    draw = random.Random(1)
    block = encode([draw.gauss(0, 0.02) for _ in range(1 << 20)])
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, shape in tensors():
            if len(shape) == 1:
                f.write(encode([1.0] * shape[0]))
                continue
            left = size * shape[0] * shape[1]
            while left:
                start = size * draw.randrange(1 << 19)
                piece = memoryview(block)[start : start + left]
                f.write(piece)
                left -= len(piece)


def write_tokenizer(path):
    """Byte-level BPE: the bytes, then pairs of them, then pairs with one byte more."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    letters = [chr(b if b in own else next(others)) for b in range(256)]
    tokens, merges = list(letters), []
    for i, left in enumerate(tokens):
        for right in letters:
            if len(tokens) < o.vocab - 2:
                tokens.append(left + right)
                merges.append(f"{left} {right}")
        if len(tokens) >= o.vocab - 2:
            break
    special = [{"id": o.vocab - 2 + k, "content": name, "special": True} for k, name in enumerate(("<|begin|>", "<|end|>"))]
    split = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    path.write_text(json.dumps({
        "added_tokens": special, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]},
        "post_processor": None, "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "ignore_merges": True, "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges},
    }, ensure_ascii=False))


o.out.mkdir(parents=True, exist_ok=True)
(o.out / "config.json").write_text(json.dumps(config, indent=2))
write_weights(o.out / "model.safetensors")
write_tokenizer(o.out / "tokenizer.json")
