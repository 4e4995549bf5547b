#!/usr/bin/env python3
"""Compares hilo with Hugging Face transformers on tiny random models of each family: 48 of 48 greedy tokens.

Usage: check_families.py HILO [FAMILY...]; needs torch, transformers and safetensors (PyPI)."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TINY = os.path.join(ROOT, "tests/llm/tiny-llama")
TEXT = 'The quick licence, of 2.0 (the "Work") shall mean any software; it is'
SIZES = dict(vocab_size=2054, hidden_size=64, intermediate_size=96, num_hidden_layers=5, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256, bos_token_id=0, eos_token_id=None, pad_token_id=None)
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32}
LONG = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0 + 0.1 * i for i in range(6)],
        "long_factor": [2.0 + 0.5 * i for i in range(6)]}
FAMILIES = {
    "llama": ("LlamaForCausalLM", {}),
    "llama-yarn": ("LlamaForCausalLM", dict(rope_parameters=YARN)),
    "mistral": ("MistralForCausalLM", dict(sliding_window=8)),
    "ministral": ("MinistralForCausalLM", dict(head_dim=16, sliding_window=8, layer_types=["sliding_attention", "full_attention"] * 2 +
                                               ["sliding_attention"])),
    "qwen2": ("Qwen2ForCausalLM", {}),
    "qwen3": ("Qwen3ForCausalLM", dict(head_dim=16)),
    "gemma2": ("Gemma2ForCausalLM", dict(head_dim=16, sliding_window=8)),
    "gemma3": ("Gemma3ForCausalLM", dict(head_dim=16, sliding_window=8)),
    "phi3": ("Phi3ForCausalLM", {}),
    "phi3-long": ("Phi3ForCausalLM", dict(rope_parameters={**LONG, "partial_rotary_factor": 0.75},
                                          original_max_position_embeddings=128)),
    "smollm3": ("SmolLM3ForCausalLM", {}),
    "granite": ("GraniteForCausalLM", dict(embedding_multiplier=3.0, attention_multiplier=0.2, residual_multiplier=0.5,
                                           logits_scaling=2.0)),
    "olmo2": ("Olmo2ForCausalLM", {}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", dict(head_dim=16, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=32,
                                              norm_topk_prob=True)),
    "mixtral": ("MixtralForCausalLM", dict(num_local_experts=8, num_experts_per_tok=2)),
}


def make(name, directory, prompt):
    kind, extra = FAMILIES[name]
    cls = getattr(transformers, kind)
    torch.manual_seed(16)
    model = cls(cls.config_class(**{**SIZES, **extra})).eval().float()
    with torch.no_grad():
        for p in model.parameters(): # so that tokens depend on everything
            p.copy_(torch.randn_like(p) * (0.3 if p.dim() > 1 else 0.1) + (0 if p.dim() > 1 else 1))
    model.save_pretrained(directory)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(os.path.join(TINY, file), directory)
    out = model.generate(torch.tensor([prompt]), max_new_tokens=48, do_sample=False, eos_token_id=None, pad_token_id=0)
    return out[0, len(prompt):].tolist()


def main():
    hilo, names = sys.argv[1], sys.argv[2:] or list(FAMILIES)
    run = subprocess.run([hilo, "tokenize", "-m", TINY, "--json", "--special", TEXT], capture_output=True, check=True)
    prompt = json.loads(run.stdout)["ids"]
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as d:
            want = make(name, d, prompt)
            run = subprocess.run([hilo, "generate", "-m", d, "--raw", "-p", TEXT, "-n", "48", "--precision", "f32", "--json"],
                                 capture_output=True, text=True)
            if run.returncode:
                print(f"{name:12} refused: {run.stderr.strip()}", flush=True)
                failed += 1
                continue
            got = json.loads(run.stdout)
            assert got["prompt_ids"] == prompt
            same = next((i for i, (a, b) in enumerate(zip(got["new_tokens"], want)) if a != b), len(want))
            print(f"{name:12} {same} of {len(want)} tokens", flush=True)
            failed += same < len(want)
    sys.exit(failed > 0)


main()
