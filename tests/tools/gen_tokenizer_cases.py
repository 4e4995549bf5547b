#!/usr/bin/env python3
"""Writes tests/llm/tokenizer_cases.json: small tokenizers of each kind, trained here, with texts and the ids and decoded texts that
Hugging Face's tokenizers (PyPI: tokenizers 0.23.3, sentencepiece 0.2.3, protobuf) gives.

Usage: gen_tokenizer_cases.py OUT [N] [DIRECTORY]: N random texts for each (default 24); the tokenizers are written to DIRECTORY."""
import json
import os
import random
import sys
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as model_pb
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers)

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = [open(os.path.join(HERE, "../../docs", name)).read() for name in ("GUIDE.md", "TOUR.md", "STYLE.md")]
CORPUS += ["naïve Straße 中文 日本語 한국어 हिन्दी café é ½ １２ don't we've I'm İstanbul ﬁne"] * 20
SIZE = 340
WORDS = ("the of and licence compiler don't we've I'm it's 123456 3.14 World HELLO naïve Straße İstanbul ﬁne １２ ½ — … “q” a.b c,d "
         "e!f (g) <s> </s> [MASK] <mask> [CLS] <unk> ▁ \t \n \r\n 中文 日本語 한국어 हिन्दी 👩‍👩‍👧 é é [X] Hello").split(" ")
RANGES = [(0x20, 0x7E)] * 4 + [(0, 0x7F), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x9FF), (0xE00, 0x13FF), (0x2000, 0x2BFF),
                               (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFFEF), (0x10000, 0x10FFFF)]


def texts(n):
    r = random.Random(16)
    for _ in range(n):
        k, s = r.random(), ""
        for _ in range(r.randint(0, 16)):
            if r.random() < k:
                s += r.choice(WORDS) + r.choice(["", " ", "  "])
            else:
                c = r.randint(*r.choice(RANGES))
                s += chr(c if not 0xD800 <= c < 0xE000 else 0x41)
        yield s


def byte_level():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=SIZE, special_tokens=["<s>", "</s>", "<unk>", "<mask>"],
                                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    return t


def after(t, *steps, normalizer=None):
    t.pre_tokenizer = pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    if normalizer:
        t.normalizer = normalizer
    return t


def bert(lowercase):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=SIZE, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    t.decoder = decoders.WordPiece()
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return t


def unigram(byte_fallback):
    with tempfile.TemporaryDirectory() as d:
        open(d + "/corpus", "w").write("\n".join(CORPUS))
        open(d + "/rules.tsv", "w").write("FB01\t66 69\nFF11\t31\nFF12\t32\n65 301\tE9\nA0\t20\n3000\t20\nBD\t31 2044 32\n")
        sentencepiece.SentencePieceTrainer.train(
            input=d + "/corpus", model_prefix=d + "/m", vocab_size=SIZE + 256 * byte_fallback, model_type="unigram",
            byte_fallback=byte_fallback, normalization_rule_tsv=d + "/rules.tsv", hard_vocab_limit=False, minloglevel=2)
        m = model_pb.ModelProto()
        m.ParseFromString(open(d + "/m.model", "rb").read())
    t = Tokenizer(models.Unigram([(p.piece, round(p.score, 4)) for p in m.pieces], m.trainer_spec.unk_id, byte_fallback))
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(m.normalizer_spec.precompiled_charsmap),
                                         normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    if byte_fallback:
        t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                       decoders.Strip(" ", 1, 0)])
    else:
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.add_special_tokens(["<unk>", "<s>", "</s>"])
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    return t


def clip():
    t = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>", continuing_subword_prefix="", fuse_unk=False))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    split = Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(split, "removed", invert=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=SIZE + 200, end_of_word_suffix="</w>",
                                                      special_tokens=["<|startoftext|>", "<|endoftext|>"],
                                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), False, False)
    return t # transformers' decoder, not this library's, makes spaces of the suffixes


def gpt1():
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=SIZE, special_tokens=["<unk>"], end_of_word_suffix="</w>"))
    t.decoder = decoders.BPEDecoder(suffix="</w>")
    return t


def words():
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer = normalizers.Lowercase()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    t.train_from_iterator(CORPUS, trainers.WordLevelTrainer(vocab_size=SIZE, special_tokens=["[UNK]"]))
    t.add_tokens(["Hello", "[X]"]) # they are looked for in lower case
    return t


def kinds():
    yield "bert", bert(True)
    yield "bert-cased", bert(False)
    yield "t5", unigram(False)
    yield "unigram-bytes", unigram(True)
    yield "clip", clip()
    yield "gpt1", gpt1()
    yield "words", words()
    t = byte_level()
    t.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    yield "roberta", t
    t = byte_level()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Digits(),
        pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    yield "falcon", t
    split = Regex(r"[\s.,e]")
    for i, behavior in enumerate(("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")):
        yield "split-" + behavior, after(byte_level(), pre_tokenizers.Split(split, behavior, i % 2 == 0),
                                         pre_tokenizers.Punctuation(behavior))
    yield "whitespace", after(byte_level(), pre_tokenizers.Whitespace(), pre_tokenizers.CharDelimiterSplit("e"))
    for name, normalizer in (("strip", normalizers.Strip()), ("nmt", normalizers.Nmt()), ("nfkd", normalizers.NFKD()),
                             ("accents", normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]))):
        yield name, after(byte_level(), normalizer=normalizer)


def main():
    out = {}
    for name, t in kinds():
        if len(sys.argv) > 3:
            t.save(f"{sys.argv[3]}/{name}.json")
        cases = []
        for text in texts(int(sys.argv[2]) if len(sys.argv) > 2 else 24):
            ids = t.encode(text).ids
            cases.append([text, ids, None if name in ("clip", "words") else t.decode(ids)])
        out[name] = {"tokenizer": json.loads(t.to_str()), "cases": cases}
    lines = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=True, separators=(',', ':'))}" for k, v in out.items()]
    open(sys.argv[1], "w").write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
