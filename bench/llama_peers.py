#!/usr/bin/env python3
"""hilo and llama.cpp on one Llama, in one run: tokens a second of reading a prompt and of decoding.

    bench/make_llama.py DIR && bench/llama_peers.py DIR [--precisions bf16 int8 …] [--tokens 64] [--prompt 128] [--runs 3]

The weights in DIR (bf16 or f32) are written as GGUF next to it, in llama.cpp's type of as many bits. Needs the packages
gguf and numpy, and llama-cpp-python; without the last one hilo's figures stand alone. Each engine runs in a process of its
own, in alternation; medians are printed. `share` is the bytes of weights that a step reads, times steps a second, over the bandwidth
of reading them, which hilo measures in the same process.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

FORMS = {"f32": "F32", "bf16": "BF16", "int8": "Q8_0", "int4": "Q4_0"}
NAMES = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def gguf_name(name):
    name = name.removesuffix(".weight")
    fixed = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    if name in fixed:
        return fixed[name] + ".weight"
    layer, rest = re.fullmatch(r"model\.layers\.(\d+)\.(.*)", name).groups()
    return f"blk.{layer}.{NAMES[rest]}.weight"


def tensors(path):
    """(name, f32 array) of a safetensors file, one at a time."""
    import numpy as np
    raw = np.memmap(path, mode="r", dtype=np.uint8)
    size = int.from_bytes(raw[:8].tobytes(), "little")
    for name, t in json.loads(raw[8:8 + size].tobytes()).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + x for x in t["data_offsets"])
        data = raw[begin:end]
        if t["dtype"] == "BF16":
            data = (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            data = data.view({"F32": np.float32, "F16": np.float16}[t["dtype"]]).astype(np.float32)
        yield name, data.reshape(t["shape"])


def write_gguf(model, form, out):
    import gguf
    import numpy as np
    c = json.loads((model / "config.json").read_text())
    heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
    w = gguf.GGUFWriter(str(out), "llama")
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_block_count(c["num_hidden_layers"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_rope_freq_base(c["rope_theta"])
    w.add_rope_dimension_count(c["hidden_size"] // heads)
    w.add_vocab_size(c["vocab_size"])
    t = json.loads((model / "tokenizer.json").read_text())
    words = sorted(t["model"]["vocab"], key=t["model"]["vocab"].get)
    words += [x["content"] for x in t.get("added_tokens", []) if x["content"] not in t["model"]["vocab"]]
    words += [f"<unused{i}>" for i in range(c["vocab_size"] - len(words))]
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("llama-bpe")
    w.add_token_list(words)
    w.add_token_types([1] * len(words))
    w.add_token_merges([x if isinstance(x, str) else " ".join(x) for x in t["model"]["merges"]])
    kind = gguf.GGMLQuantizationType[form]
    for name, x in tensors(model / "model.safetensors"):
        for part, n in (("q_proj", heads), ("k_proj", kv)):  # llama.cpp rotates neighbours, not halves
            if part in name:
                x = x.reshape(n, 2, x.shape[0] // n // 2, x.shape[1]).swapaxes(1, 2).reshape(x.shape)
        if x.ndim == 1 or form == "F32":
            w.add_tensor(gguf_name(name), np.ascontiguousarray(x))
        else:
            w.add_tensor(gguf_name(name), gguf.quants.quantize(np.ascontiguousarray(x), kind), raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


LLAMA = """
import re, sys, time, json, llama_cpp
path, threads, prompt, tokens = sys.argv[1], *map(int, sys.argv[2:])
m = llama_cpp.Llama(path, n_ctx=512, n_batch=512, n_threads=threads, n_threads_batch=threads, verbose=False)
ids = [100 + 7 * i % 1000 for i in range(prompt)]
m.eval([100]), m.reset()
begin = time.perf_counter(); m.eval(ids); read = time.perf_counter() - begin
begin = time.perf_counter()
for i in range(tokens): m.eval([200 + i])
taken = time.perf_counter() - begin
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
print(json.dumps({"prefill_tok_s": prompt / read, "decode_tok_s": tokens / taken, "peak_bytes": peak}))
"""


def run_llama(path, o):
    return json.loads(output([sys.executable, "-c", LLAMA, path, o.threads, o.prompt, o.tokens]).stdout.splitlines()[-1])


def output(command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)


def run_hilo(precision, o):
    text = "".join(chr(97 + i * 7 % 26) for i in range(4 * o.prompt))  # cut to about as many tokens as are wanted
    count = len(output([o.hilo, "tokenize", "-m", o.model, text]).stdout.split())
    p = output([o.hilo, "generate", "-m", o.model, "--raw", "-p", text[:max(1, len(text) * o.prompt // max(1, count))], "-n",
                o.tokens + 1, "--precision", precision, "--threads", o.threads, "--context", 512, "--json", "--timing"])
    r = json.loads(p.stdout.splitlines()[-1])
    gbs, share, most = re.search(r"weights\s+([\d.]+) GB/s (\d+) % of the ([\d.]+) GB/s", p.stderr).groups()
    return r | {"share": float(share) / 100, "gbs": float(gbs), "bandwidth": float(most)}


def median(runs, key):
    return statistics.median(r[key] for r in runs)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", type=pathlib.Path)
    p.add_argument("--precisions", nargs="+", choices=list(FORMS) + ["int4z"], default=list(FORMS))
    p.add_argument("--hilo", default="build/hilo")
    p.add_argument("--gguf", type=pathlib.Path, help="directory for the GGUF files; default: the model's")
    for name, value in (("threads", os.cpu_count()), ("tokens", 64), ("prompt", 128), ("runs", 3)):
        p.add_argument(f"--{name}", type=int, default=value)
    o = p.parse_args()
    has_llama = subprocess.run([sys.executable, "-c", "import llama_cpp"], capture_output=True).returncode == 0
    heads = ["precision", *("prefill tok/s", "llama.cpp", "ratio"), *("decode tok/s", "llama.cpp", "ratio"), "share", "GB/s",
             *("peak MB", "llama.cpp")]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for precision in o.precisions:
        path = None
        if has_llama and precision in FORMS:
            path = (o.gguf or o.model) / f"{FORMS[precision]}.gguf"
            if not path.exists():
                write_gguf(o.model, FORMS[precision], path)
        ours, theirs = [], []
        for _ in range(o.runs):
            ours.append(run_hilo(precision, o))
            if path:
                theirs.append(run_llama(path, o))
        cells = [precision]
        for key in ("prefill_tok_s", "decode_tok_s"):
            a, b = median(ours, key), median(theirs, key) if theirs else None
            cells += [f"{a:.1f}", f"{b:.1f}" if b else "–", f"{a / b:.2f}" if b else "–"]
        cells += [f"{100 * median(ours, 'share'):.0f} %", f"{median(ours, 'gbs'):.1f} of {median(ours, 'bandwidth'):.1f}"]
        cells += [f"{median(x, 'peak_bytes') / 1e6:.0f}" if x else "–" for x in (ours, theirs)]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
