#!/usr/bin/env python3
"""Writes tests/llm/blocks.gguf: a matrix of random blocks in each quantised format, and what the package gguf (PyPI: gguf 0.19.0)
dequantises it to, as NAME.expected in f32. Usage: gen_gguf_blocks.py OUT"""
import sys

import gguf
import numpy as np

FORMATS = "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4".split()
# Where the block's scales in f16 are: they must be finite.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
          "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": []}
ROWS, COLS = 3, 512

rng = np.random.default_rng(16)
w = gguf.GGUFWriter(sys.argv[1], "llama")
for name in FORMATS:
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (ROWS * COLS // elements, size), dtype=np.uint8)
    for at in HALVES[name]:
        blocks[:, at:at + 2] = rng.normal(0, 0.02, (len(blocks), 1)).astype(np.float16).view(np.uint8)
    if name == "MXFP4":
        blocks[:, 0] = rng.integers(0, 254, len(blocks))
    data = blocks.reshape(ROWS, -1)
    w.add_tensor(name, data, raw_dtype=kind)
    w.add_tensor(name + ".expected", gguf.quants.dequantize(data, kind).astype(np.float32))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
