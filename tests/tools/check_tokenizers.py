#!/usr/bin/env python3
"""Compares `hilo tokenize` with the libraries that define tokenizers, on random Unicode texts.

    check_tokenizers.py HILO N PATH...

Each PATH is a tokenizer.json (compared with Hugging Face's tokenizers, also with the special tokens around a text), a
tekken.json or a SentencePiece model (mistral-common, sentencepiece), a list of ranks *.tiktoken (tiktoken), a GGUF file (what
transformers makes of its vocabulary, where it heeds how the file splits texts; of BERT and Gemma 4 what tokenizers does), or a
directory that is searched for those. Each is given N random texts. Beside a GGUF file NAME.gguf.inp and NAME.gguf.out may be
texts with their ids, as llama.cpp has them; they are compared, too. The exit status is 1 if there are differences. Needs
tokenizers, and the other libraries for their files (PyPI)."""
import json
import pathlib
import subprocess
import sys
import tempfile

from gen_tokenizer_cases import texts

NAMES = ("tokenizer.json", "tekken*.json", "*.tiktoken", "*.gguf", "*.model*")
# How GGUF files split texts, of those that transformers heeds; of others there are only the texts of llama.cpp.
SPLITS = ("llama-bpe", "qwen2", "qwen35", "gpt-2")
# tiktoken's encodings by their number of ranks, and expressions of those that it does not have: of Llama 3, Qwen and Qwen 3.5.
ENCODINGS = {50256: "gpt2", 50257: "r50k_base", 100256: "cl100k_base", 199998: "o200k_base", 128000: "llama3", 151643: "qwen",
             248044: "qwen35"}
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?%s+|%s| ?[^\s%s\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
EXPRESSIONS = {"llama3": WORDS % (r"\p{L}", r"\p{N}{1,3}", r"\p{L}"), "qwen": WORDS % (r"\p{L}", r"\p{N}", r"\p{L}"),
               "qwen35": WORDS % (r"[\p{L}\p{M}]", r"\p{N}", r"\p{L}\p{M}")}


def hugging_face(path):
    from tokenizers import Tokenizer
    t = Tokenizer.from_file(str(path))
    return lambda text, special: t.encode(text, add_special_tokens=special).ids


def bert(field):
    """Its words begin with U+2581, where Hugging Face's have ## before what continues them."""
    from tokenizers import BertWordPieceTokenizer
    vocabulary = {}
    for i, token in enumerate(field("tokens")):
        special = token.startswith("[") and token.endswith("]") and len(token) > 2
        vocabulary[token if special else token[1:] if token.startswith("\u2581") else "##" + token] = i
    return BertWordPieceTokenizer(vocabulary, lowercase=True)


def gemma(field):
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers
    tokens = field("tokens")
    t = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, [tuple(m.split(" ", 1)) for m in field("merges")],
                             unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    kinds = list(zip(tokens, field("token_type")))
    for kind, add in ((3, t.add_special_tokens), (4, t.add_tokens)):  # control tokens, and those of users
        add([AddedToken(token, normalized=False, special=kind == 3) for token, k in kinds if k == kind])
    return t


def gguf(path):
    from gguf import GGUFReader
    from transformers import AutoTokenizer
    reader = GGUFReader(path)

    def field(name):
        f = reader.get_field("tokenizer.ggml." + name)
        return f and f.contents()
    if field("model") in VOCABULARIES:
        t = VOCABULARIES[field("model")](field)
    elif field("pre") in SPLITS:
        t = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)._tokenizer
    else:
        return None
    return lambda text, special: None if special else t.encode(text, add_special_tokens=False).ids


VOCABULARIES = {"bert": bert, "gemma4": gemma}  # what transformers does not read as it is meant


def tekken(path):
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer
    t = Tekkenizer.from_file(str(path))
    return lambda text, special: None if special else t.encode(text, bos=False, eos=False)


def sentencepiece(path):
    from sentencepiece import SentencePieceProcessor
    t = SentencePieceProcessor(model_file=str(path))
    return lambda text, special: None if special else t.encode(text)


def tiktoken(path):
    import base64
    from tiktoken import Encoding
    from tiktoken_ext import openai_public
    ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in path.read_bytes().splitlines() if line)}
    patterns = {"gpt2": openai_public.r50k_pat_str, "r50k_base": openai_public.r50k_pat_str, **EXPRESSIONS}
    if len(ranks) in (100256, 199998):
        openai_public.load_tiktoken_bpe = lambda *a, **k: ranks
        patterns = {name: getattr(openai_public, name)()["pat_str"] for name in ("cl100k_base", "o200k_base")}
    t = Encoding(path.name, pat_str=patterns[ENCODINGS[len(ranks)]], mergeable_ranks=ranks, special_tokens={})
    return lambda text, special: None if special else t.encode_ordinary(text)


def reference(path):
    for suffix, make in ((".gguf", gguf), (".tiktoken", tiktoken)):
        if path.suffix == suffix:
            return make(path)
    if path.suffix == ".json":
        return (tekken if "tekken" in path.name else hugging_face)(path)
    return sentencepiece(path)


def encode(hilo, path, lines, special):
    with tempfile.NamedTemporaryFile("w") as f:
        f.writelines(json.dumps(text) + "\n" for text in lines)
        f.flush()
        run = subprocess.run([hilo, "tokenize", "-m", path, "--lines", "--json", "-f", f.name, *["--special"] * special],
                             capture_output=True, text=True)
    if run.returncode:
        raise ValueError(run.stderr.strip())
    return [json.loads(line)["ids"] for line in run.stdout.splitlines()]


def compare(what, lines, got, want):
    wrong = [(a, b, c) for a, b, c in zip(lines, got, want, strict=True) if b != c]
    print(f"{what}: {len(lines) - len(wrong)} of {len(lines)} texts", flush=True)
    for text, ours, theirs in wrong[:2]:
        print(f"  {text!r}\n  got      {ours}\n  expected {theirs}")
    return bool(wrong)


def check(hilo, path, lines):
    bad, name = False, f"{path.parent.name}/{path.name}"
    known = [path.with_name(path.name + end) for end in (".inp", ".out")]
    try:
        if all(p.exists() for p in known):
            given = known[0].read_bytes().decode().split("\n__ggml_vocab_test__\n")
            given = given if given[-1] else given[:-1]
            ids = [[int(x) for x in line.split()] for line in known[1].read_text().splitlines()]
            bad |= compare(f"{name} by llama.cpp", given, encode(hilo, path, given, False), ids)
        of = reference(path)
        if path.suffix == ".tiktoken" or "tekken" in path.name or ".model" in path.name: # they take no text for a special token
            lines = [text.replace("<", "(").replace("[", "(") for text in lines]
        for special in (False, True) if of else ():
            want = [of(text, special) for text in lines]
            if want[0] is not None:
                bad |= compare(name + " with special tokens" * special, lines, encode(hilo, path, lines, special), want)
    except Exception as e:
        print(f"{name}: not compared: {type(e).__name__}: {str(e).strip():.300}", flush=True)
        bad |= isinstance(e, ValueError)
    return bad


def main():
    hilo, lines, bad = sys.argv[1], list(texts(int(sys.argv[2]))), False
    for path in map(pathlib.Path, sys.argv[3:]):
        found = [path] if path.is_file() else sorted({p for name in NAMES for p in path.rglob(name) if p.is_file()})
        for p in found:
            bad |= check(hilo, p, lines)
    sys.exit(bad)


if __name__ == "__main__":
    main()
