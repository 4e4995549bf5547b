#!/usr/bin/env python3
"""Compares hilo with Hugging Face transformers on tiny random models of each family: 48 of 48 greedy tokens, and embeddings
within 1e-5.

Usage: check_families.py HILO [FAMILY...]; needs torch, transformers, safetensors and gguf (PyPI). With the directory of
llama.cpp's source in LLAMA_CPP, files of NAME-llama are made by its converter, and hilo converts both ways."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TINY = os.path.join(ROOT, "tests/llm/tiny-llama")
TEXT = 'The quick licence, of 2.0 (the "Work") shall mean any software; it is'
SIZES = dict(vocab_size=2054, hidden_size=64, intermediate_size=96, num_hidden_layers=5, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256, bos_token_id=0, eos_token_id=None, pad_token_id=None)
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32}
LONG = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0 + 0.1 * i for i in range(6)],
        "long_factor": [2.0 + 0.5 * i for i in range(6)]}
GPT_OSS = dict(head_dim=16, sliding_window=8, num_local_experts=8, num_experts_per_tok=3)
QWEN3_5 = dict(head_dim=16, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25,
                                              "mrope_section": [1, 1, 0]}, linear_num_key_heads=2, linear_num_value_heads=4,
               linear_key_head_dim=16, linear_value_head_dim=24, linear_conv_kernel_dim=4,
               layer_types=["linear_attention", "linear_attention", "full_attention"] + ["linear_attention", "full_attention"])
GEMMA = dict(head_dim=16, sliding_window=8, vocab_size_per_layer_input=2054, hidden_size_per_layer_input=24,
             num_kv_shared_layers=2,
             layer_types=["sliding_attention", "full_attention", "sliding_attention", "sliding_attention", "full_attention"])
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
    "qwen3_5": ("Qwen3_5ForCausalLM", QWEN3_5),
    "qwen3_5_moe": ("Qwen3_5MoeForCausalLM", dict(QWEN3_5, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=32,
                                                  shared_expert_intermediate_size=48)),
    "qwen3_5_moe-joined": ("Qwen3_5MoeForCausalLM", dict(QWEN3_5, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=32,
                                                         shared_expert_intermediate_size=48)),
    "gemma3n": ("Gemma3nForCausalLM", dict(GEMMA, intermediate_size=[96, 64, 96, 64, 96], laurel_rank=12,
                                           activation_sparsity_pattern=[.95, .9, 0., 0., .5],
                                           final_logit_softcapping=30.0)),
    "gemma4": ("Gemma4ForCausalLM", dict(GEMMA, global_head_dim=32, use_double_wide_mlp=True, final_logit_softcapping=30.0)),
    "gemma4-moe": ("Gemma4ForCausalLM", dict(GEMMA, global_head_dim=32, enable_moe_block=True, num_experts=8, top_k_experts=3,
                                             moe_intermediate_size=32)),
    "gemma4-kv": ("Gemma4ForCausalLM", dict(GEMMA, global_head_dim=32, attention_k_eq_v=True, num_global_key_value_heads=1,
                                            num_kv_shared_layers=0, hidden_size_per_layer_input=0)),
    "olmo3": ("Olmo3ForCausalLM", dict(sliding_window=8, rope_scaling={k: v for k, v in YARN.items() if k != "rope_theta"})),
    "ministral3": ("Ministral3ForCausalLM", dict(head_dim=16, sliding_window=None,
                                                 rope_parameters={**YARN, "llama_4_scaling_beta": 0.1})),
    "mistral3": ("MistralForCausalLM", dict(head_dim=16, sliding_window=None)),
    "gpt_oss": ("GptOssForCausalLM", GPT_OSS),
    "gpt_oss-mxfp4": ("GptOssForCausalLM", GPT_OSS),
    "gpt_oss-mxfp4-gguf": ("GptOssForCausalLM", GPT_OSS),
}
CONVERTED = [f"{name}-llama" for name in ("qwen3_5", "qwen3_5_moe", "gemma3n", "gemma4", "gemma4-moe", "gemma4-kv", "phi3",
                                          "phi3-long", "mixtral", "gpt_oss", "gpt_oss-mxfp4")]
FAMILIES |= {name: FAMILIES[name.removesuffix("-llama")] for name in CONVERTED}


# Models of embeddings: the class, its config, pooling as in 1_Pooling, and the sizes of dense layers that follow.
EMBEDDINGS = {
    "bert": ("BertModel", {}, "cls_token", []),
    "bert-gguf": ("BertModel", {}, "cls_token", []),
    "minilm": ("BertModel", dict(hidden_act="gelu_new", type_vocab_size=1), "mean_tokens", []),
    "roberta": ("XLMRobertaModel", dict(type_vocab_size=1, pad_token_id=1), "mean_tokens", []),
    "qwen3-embedding": ("Qwen3Model", dict(head_dim=16), "lasttoken", []),
    "embedding-gemma": ("Gemma3TextModel", dict(head_dim=16, sliding_window=8, use_bidirectional_attention=True), "mean_tokens",
                        [80, 48]),
}


@contextlib.contextmanager
def temporary(name):
    """A directory for a model: below KEEP in the environment, where it stays, or a temporary one."""
    if os.environ.get("KEEP"):
        path = os.path.join(os.environ["KEEP"], name)
        os.makedirs(path, exist_ok=True)
        yield path
    else:
        with tempfile.TemporaryDirectory() as path:
            yield path


def random_model(kind, extra, directory):
    cls = getattr(transformers, kind)
    torch.manual_seed(16)
    model = cls(cls.config_class(**{**SIZES, **extra})).eval().float()
    with torch.no_grad():
        for p in list(model.parameters()) + [b for n, b in model.named_buffers() if n.endswith("layer_scalar")]:
            # so that tokens depend on everything
            p.copy_(torch.randn_like(p) * (0.3 if p.dim() > 1 else 0.1) + (0 if p.dim() > 1 else 1))
    model.save_pretrained(directory)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(os.path.join(TINY, file), directory)
    return model


def write_module(directory, path, config):
    os.makedirs(os.path.join(directory, path), exist_ok=True)
    with open(os.path.join(directory, path, "config.json"), "w") as f:
        json.dump(config, f)


def embed(name, directory, texts):
    """The vectors of lists of ids by transformers, with the modules of sentence-transformers done here."""
    kind, extra, pooling, dense = EMBEDDINGS[name]
    model = random_model(kind, extra, directory)
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    write_module(directory, "1_Pooling", {"pooling_mode_" + m: m == pooling for m in ("cls_token", "mean_tokens", "lasttoken")})
    layers, width = [], SIZES["hidden_size"]
    for i, n in enumerate(dense):
        path = f"{i + 2}_Dense"
        write_module(directory, path, dict(in_features=width, out_features=n, bias=i == 0,
                                           activation_function="torch.nn.modules.linear.Identity"))
        layers.append(torch.nn.Linear(width, n, bias=i == 0))
        save_file({"linear." + k: v.detach() for k, v in layers[-1].state_dict().items()},
                  os.path.join(directory, path, "model.safetensors"))
        modules.append((path, "Dense"))
        width = n
    modules.append((f"{len(dense) + 2}_Normalize", "Normalize"))
    with open(os.path.join(directory, "modules.json"), "w") as f:
        json.dump([dict(idx=i, name=str(i), path=p, type="sentence_transformers.models." + t) for i, (p, t) in
                   enumerate(modules)], f)
    vectors = []
    with torch.no_grad():
        for ids in texts:
            x = model(torch.tensor([ids])).last_hidden_state[0]
            x = x[0] if pooling == "cls_token" else x[-1] if pooling == "lasttoken" else x.mean(0)
            for layer in layers:
                x = layer(x)
            vectors.append((x / x.norm()).tolist())
    return vectors


def round_to_mxfp4(model):
    """Rounds the experts to what MXFP4 holds; returns tensors as such files have them."""
    values = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])
    out = {}
    for layer, block in enumerate(model.model.layers):
        for name in ("gate_up_proj", "down_proj"):
            p = getattr(block.mlp.experts, name)
            x = p.data.transpose(1, 2).contiguous() # [E, rows, cols]
            groups = x.reshape(*x.shape[:2], -1, 32)
            scale = torch.floor(torch.log2(groups.abs().amax(-1))) - 2
            code = (groups[..., None] / 2 ** scale[..., None, None] - values).abs().argmin(-1)
            p.data = (values[code] * 2 ** scale[..., None]).reshape(x.shape).transpose(1, 2).contiguous()
            key = f"model.layers.{layer}.mlp.experts.{name}_"
            out[key + "blocks"] = (code[..., ::2] | code[..., 1::2] << 4).to(torch.uint8)
            out[key + "scales"] = (scale + 127).to(torch.uint8)
    return out


def rewrite(name, model, directory):
    """Changes the files to the form in which such models are published."""
    path = os.path.join(directory, "model.safetensors")
    tensors = load_file(path)
    if "mxfp4" in name:
        blocks = round_to_mxfp4(model)
        tensors = {k: v for k, v in tensors.items() if k + "_blocks" not in blocks} | blocks
    if name == "qwen3_5_moe-joined": # all experts of a layer in two tensors
        for i, layer in enumerate(model.model.layers):
            tensors = {k: v for k, v in tensors.items() if not k.startswith(f"model.layers.{i}.mlp.experts.")}
            for part in ("gate_up_proj", "down_proj"):
                tensors[f"model.layers.{i}.mlp.experts.{part}"] = getattr(layer.mlp.experts, part).detach().contiguous()
    if name == "mistral3": # the text model of a multimodal one
        tensors = {"language_model." + k: v for k, v in tensors.items()}
        config = os.path.join(directory, "config.json")
        with open(config) as f:
            text = json.load(f)
        with open(config, "w") as f:
            json.dump(dict(model_type="mistral3", architectures=["Mistral3ForConditionalGeneration"], text_config=text), f)
    save_file(tensors, path)


GGUF_NAMES = [("model.embed_tokens", "token_embd"), ("model.norm", "output_norm"), ("lm_head", "output"), ("model.layers", "blk"),
              ("encoder.layer", "blk"), ("embeddings.word_embeddings", "token_embd"), ("embeddings.LayerNorm", "token_embd_norm"),
              ("embeddings.position_embeddings", "position_embd"), ("embeddings.token_type_embeddings", "token_types"),
              ("attention.self.query", "attn_q"), ("attention.self.key", "attn_k"), ("attention.self.value", "attn_v"),
              ("attention.output.dense", "attn_output"), ("attention.output.LayerNorm", "attn_output_norm"),
              ("intermediate.dense", "ffn_up"), ("output.dense", "ffn_down"), ("output.LayerNorm", "layer_output_norm"),
              ("self_attn.q_proj", "attn_q"), ("self_attn.k_proj", "attn_k"), ("self_attn.v_proj", "attn_v"),
              ("self_attn.o_proj", "attn_output"), ("self_attn.sinks", "attn_sinks.weight"), ("input_layernorm", "attn_norm"),
              ("post_attention_layernorm", "post_attention_norm"), ("mlp.router", "ffn_gate_inp")]


def gguf_tensors(tensors):
    """(name, array, GGUF type or None) of a model's tensors as llama.cpp's converter writes them."""
    import gguf
    mxfp4 = gguf.GGMLQuantizationType.MXFP4
    for key, t in tensors.items():
        name = key
        for a, b in GGUF_NAMES:
            name = name.replace(a, b)
        name = name.replace("mlp.experts.", "")
        if name.endswith("_scales") or name.startswith("pooler") or name == "embeddings.position_ids":
            continue
        if name.endswith("_blocks"): # neighbours in a byte become halves of a block, after its scale
            scales = tensors[key.replace("_blocks", "_scales")]
            values = torch.stack([t & 15, t >> 4], -1).flatten(-2)
            blocks = torch.cat([scales[..., None], values[..., :16] | values[..., 16:] << 4], -1).flatten(-2)
            stem = name.rsplit(".", 1)[0]
            parts = [("down", blocks)] if "down" in name else [("gate", blocks[:, ::2]), ("up", blocks[:, 1::2])]
            yield from ((f"{stem}.ffn_{p}_exps.weight", b.contiguous().numpy(), mxfp4) for p, b in parts)
        elif "_proj_bias" in name:
            stem = name.rsplit(".", 1)[0]
            parts = [("down", t)] if "down" in name else [("gate", t[:, ::2]), ("up", t[:, 1::2])]
            yield from ((f"{stem}.ffn_{p}_exps.bias", b.contiguous().numpy(), None) for p, b in parts)
        else:
            yield name, t.float().numpy(), None


def add_vocabulary(hilo, writer):
    """Gives a GGUF writer the vocabulary of tiny-llama."""
    import gguf
    with tempfile.TemporaryDirectory() as d:
        tiny = os.path.join(d, "tiny.gguf")
        subprocess.run([hilo, "convert", TINY, "-o", tiny, "--type", "f16"], check=True, capture_output=True)
        for field in gguf.GGUFReader(tiny).fields.values():
            if field.name.startswith("tokenizer.") and field.name != "tokenizer.chat_template":
                kind = field.types[0]
                writer.add_key_value(field.name, field.contents(), kind, field.types[-1] if len(field.types) > 1 else None)


def write_gguf(hilo, directory, path):
    """The model in the directory as a GGUF file with the vocabulary of tiny-llama."""
    import gguf
    with open(os.path.join(directory, "config.json")) as f:
        c = json.load(f)
    arch = dict(gpt_oss="gpt-oss").get(c["model_type"], c["model_type"])
    w = gguf.GGUFWriter(path, arch)
    w.add_block_count(c["num_hidden_layers"])
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    if arch == "bert":
        w.add_layer_norm_eps(c["layer_norm_eps"])
        w.add_causal_attention(False)
        w.add_pooling_type(gguf.PoolingType.CLS)
    else:
        w.add_head_count_kv(c["num_key_value_heads"])
        w.add_key_length(c["head_dim"])
        w.add_layer_norm_rms_eps(c["rms_norm_eps"])
        w.add_sliding_window(c["sliding_window"])
        w.add_expert_count(c["num_local_experts"])
        w.add_expert_used_count(c["num_experts_per_tok"])
        w.add_expert_feed_forward_length(c["intermediate_size"])
        rope = c["rope_parameters"]
        w.add_rope_freq_base(rope["rope_theta"])
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(rope["factor"])
        w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    add_vocabulary(hilo, w)
    for name, t, kind in gguf_tensors(load_file(os.path.join(directory, "model.safetensors"))):
        w.add_tensor(name, t, raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return path


def convert_by_llama(hilo, directory, path):
    """The same by llama.cpp's own converter."""
    import pathlib
    source = os.environ["LLAMA_CPP"]
    for part in (source, os.path.join(source, "gguf-py")):
        if part not in sys.path:
            sys.path.insert(0, part)
    import gguf
    from conversion import get_model_class
    from conversion.base import ModelBase
    config = ModelBase.load_hparams(pathlib.Path(directory), False)
    base = get_model_class(config["architectures"][0])

    fields = dict(set_vocab=lambda self: add_vocabulary(hilo, self.gguf_writer), model_arch=base.model_arch, no_mtp=True,
                  mtp_only=False)
    type(base.__name__, (base,), fields)(pathlib.Path(directory), gguf.LlamaFileType.ALL_F32, pathlib.Path(path)).write()
    return path


def variants(hilo, name, directory):
    """What is checked of a model: it, or files that are made of it."""
    path = os.path.join(directory, "model.gguf")
    if name.endswith("-gguf"):
        return [write_gguf(hilo, directory, path)]
    if not name.endswith("-llama"):
        return [directory]
    back, again = os.path.join(directory, "back"), os.path.join(directory, "again.gguf")
    convert_by_llama(hilo, directory, path)
    subprocess.run([hilo, "convert", path, "-o", back], check=True)
    subprocess.run([hilo, "convert", directory, "-o", again], check=True)
    return [path, back, again]


def make(name, directory, prompt):
    model = random_model(*FAMILIES[name], directory)
    rewrite(name, model, directory)
    out = model.generate(torch.tensor([prompt]), max_new_tokens=48, do_sample=False, eos_token_id=None, pad_token_id=0)
    return out[0, len(prompt):].tolist()


def check_embeddings(hilo, name):
    texts = [TEXT, "a", " ".join([TEXT] * 5)]
    ids = []
    for text in texts:
        run = subprocess.run([hilo, "tokenize", "-m", TINY, "--json", "--special", text], capture_output=True, check=True)
        ids.append(json.loads(run.stdout)["ids"])
    with temporary(name) as d:
        want = embed(name, d, ids)
        d = write_gguf(hilo, d, os.path.join(d, "model.gguf")) if name.endswith("-gguf") else d
        run = subprocess.run([hilo, "embed", "-m", d, "--json"] + texts, capture_output=True, text=True)
    if run.returncode:
        print(f"{name:12} refused: {run.stderr.strip()}", flush=True)
        return False
    got = json.loads(run.stdout)["embeddings"]
    error = max(abs(a - b) for g, w in zip(got, want, strict=True) for a, b in zip(g, w, strict=True))
    print(f"{name:12} {len(want[0])} numbers within {error:.1e}", flush=True)
    return error < 1e-5


def generates(hilo, name, path, prompt, want):
    run = subprocess.run([hilo, "generate", "-m", path, "--raw", "-p", TEXT, "-n", "48", "--precision", "f32", "--json"],
                         capture_output=True, text=True)
    if run.returncode:
        print(f"{name:12} refused: {run.stderr.strip()}", flush=True)
        return False
    got = json.loads(run.stdout)
    assert got["prompt_ids"] == prompt
    same = next((i for i, (a, b) in enumerate(zip(got["new_tokens"], want)) if a != b), len(want))
    print(f"{name:12} {same} of {len(want)} tokens", flush=True)
    return same == len(want)


def main():
    hilo, names = sys.argv[1], sys.argv[2:] or list(FAMILIES) + list(EMBEDDINGS)
    if not os.environ.get("LLAMA_CPP"):
        print("not checked, as LLAMA_CPP is not set:", *[name for name in names if name in CONVERTED])
        names = [name for name in names if name not in CONVERTED]
    run = subprocess.run([hilo, "tokenize", "-m", TINY, "--json", "--special", TEXT], capture_output=True, check=True)
    prompt = json.loads(run.stdout)["ids"]
    failed = 0
    for name in names:
        if name in EMBEDDINGS:
            failed += not check_embeddings(hilo, name)
            continue
        with temporary(name) as d:
            want = make(name, d, prompt)
            for path in variants(hilo, name, d):
                failed += not generates(hilo, name, path, prompt, want)
    sys.exit(failed > 0)


main()
