#!/bin/sh
# hilo generate, tokenize, perplexity, emit and quantize, on the tiny model.
. "$(dirname "$0")/common.inc"
m=$root/tests/llm/tiny-llama

# ---- generate
exits 0 generate -m "$m" --precision f32 -p 'Continue: Licensed under the Apache' -n 48
prints 'of the GNU General Public License, Version 2.'
exits 0 generate -m "$m" --precision f32 -p 'Continue: Licensed under the Apache' -n 48 --json --engine reference
says '"prompt_ids":[2048,2050,710,260,2051,298,1667,' '"new_tokens":[374,263,574,569,523,327,11,572,220,17,13,2052]' \
    '"text":"of the GNU General Public License, Version 2."' '"load_ms":' '"compile_ms":' '"prefill_tok_s":' \
    '"decode_tok_s":' '"peak_bytes":' '"decode_allocations":' '"decode_copied_bytes":'
if [ "$(wc -l <out)" = 1 ]; then pass; else fail 'one line of JSON'; fi
printf 'Continue: Licensed under the Apache' >prompt
exits 0 generate -m "$m" --precision f32 -f prompt --stop 'Public' --stop zebra
prints 'of the GNU General '
exits 0 generate -m "$m" --precision f32 -f prompt -n 3
prints 'of the GNU'
exits 0 generate -m "$m" --precision f32 -f prompt --special
prints 'of the GNU General Public License, Version 2.'
exits 0 generate -m "$m" --precision f32 --raw -p 'A' -n 4 --timing
says 'lso, and/or' load compile prefill decode 'GB/s' peak
usual says ' 0 allocations, 0 bytes copied'
exits 0 generate -m "$m" -p A -n 8 --temperature 1 --seed 7
cp out first
exits 0 generate -m "$m" -p A -n 8 --temperature 1 --seed 7
same first 'the same seed'
exits 0 generate -m "$m" -p A -n 8 --temperature 1 --top-k 1 --seed 9
cp out first
exits 0 generate -m "$m" -p A -n 8
same first 'the most probable alone'

# Lines of standard input are a conversation; what was said is part of it.
status=0
printf 'Continue: Licensed under the Apache\n\nWhat is a free licence?\n' |
    "$HILO" generate -m "$m" --precision f32 -n 8 >out 2>err || status=$?
if [ "$status" = 0 ] && [ "$(wc -l <out)" = 2 ]; then pass; else fail 'two texts'; fi
says 'of the GNU General Public License'

# The timing begins on a line of its own, also where both streams go to one place.
"$HILO" generate -m "$m" -p A --raw -n 4 --timing >both 2>&1 </dev/null
if grep -q '^load  ' both && grep -q '^peak  ' both; then pass; else fail 'timing on lines of its own'; fi

# An interrupt ends the answer: the command with -p; in a conversation the next line is answered.
begin() { # waits for text, and interrupts
    pid=$!
    while [ ! -s out ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
    kill -INT $pid
    status=0
    wait $pid || status=$?
}
rm -f out
"$HILO" generate -m "$m" --raw -p A -n 1500 --temperature 2 --seed 3 --engine reference >out 2>err &
begin
if [ "$status" = 130 ] && [ -s out ]; then pass; else fail "interrupted: exit code $status"; fi
rm -f out
printf 'A\n\nA\n' >lines
"$HILO" generate -m "$m" --raw -n 300 --temperature 2 --seed 3 --engine reference <lines >out 2>err &
begin
if [ "$status" = 0 ] && [ "$(wc -l <out)" -gt 1 ]; then pass; else fail "a conversation goes on: exit code $status"; fi

plugin=$(dirname "$HILO")/pjrt_hilo.so
if [ -f "$plugin" ]; then # the same programs through the PJRT interface
    exits 0 generate -m "$m" --precision f32 -f prompt --engine "pjrt:$plugin"
    prints 'of the GNU General Public License, Version 2.'
    HILO_ENGINE=pjrt:$plugin
    export HILO_ENGINE
    exits 0 generate -m "$m" --precision int4 -f prompt -n 4 --timing
    says 'int4, on pjrt'
    unset HILO_ENGINE
fi
exits 3 generate -m "$m" -p A --engine pjrt:absent.so
says "no plugin 'absent.so'" 'JAX package'
exits 2 generate -p A
says '-m MODEL'
exits 3 generate -m absent -p A
says absent
exits 3 generate -m "$dir" -p A
says 'no model' 'config.json'
exits 2 generate -m "$m" -p A --precision f31
says 'int4'
exits 2 generate -m "$m" -p A --engine abacus
says abacus hilo reference
exits 2 generate -m "$m" -p A --top-p 2
exits 2 generate -m "$m" -p A --temperature -1
exits 2 generate -m "$m" -p A -f prompt
exits 1 generate -m "$m" -p A --context 4096
says 2048
exits 1 generate -m "$m" -f "$m/eval.txt" --context 256
says 'context of 256 tokens'
exits 0 generate -m "$m" -p A --raw --context 16
exits 0 generate -m "$m" -f /dev/null --raw -n 1

# A model whose files do not fit each other, or are cut.
mkdir wrong && cp "$m"/* wrong
sed 's/"hidden_size": 128/"hidden_size": 64/' "$m/config.json" >wrong/config.json
exits 1 generate -m wrong -p A
says "tensor 'model.embed_tokens.weight' is BF16[2054, 128]" '[2054, 64]'
sed 's/"num_hidden_layers": 4/"num_hidden_layers": 5/' "$m/config.json" >wrong/config.json
exits 1 generate -m wrong -p A
says "tensor 'model.layers.4.input_layernorm.weight' is missing"
sed 's/"llama"/"mamba"/' "$m/config.json" >wrong/config.json
exits 1 generate -m wrong -p A
says "'model_type' is 'mamba'" qwen3
cp "$m/config.json" wrong
head -c 1000000 "$m/model.safetensors" >wrong/model.safetensors
exits 1 generate -m wrong -p A
says "model.safetensors" "tensor '" 'bytes of data'
rm wrong/model.safetensors
exits 3 generate -m wrong -p A
says 'model.safetensors.index.json'

# The names of fields that newer files have.
mkdir new && cp "$m"/* new
sed -e '/"chat_template"/d' -e 's/"<|finetune_right_pad_id|>",/"x",/' -e 's/"PreTrainedTokenizerFast",/"P"/' \
    "$m/tokenizer_config.json" >new/tokenizer_config.json
printf '%b' "$(sed -n 's/.*"chat_template": "\(.*\)"$/\1/p' "$m/tokenizer_config.json")" >new/chat_template.jinja
sed -e 's/"rope_scaling": {/"rope_parameters": { "rope_theta": 500000.0,/' -e '/^  "rope_theta"/d' -e 's/torch_dtype/dtype/' \
    "$m/config.json" >new/config.json
exits 0 generate -m new --precision f32 -p 'Continue: Licensed under the Apache' -n 48
prints 'of the GNU General Public License, Version 2.'
echo '{% include "x" %}' >new/chat_template.jinja
exits 1 generate -m new -p A
says "the tag 'include' is not supported" --raw
exits 0 generate -m new --raw -p A -n 1

# ---- template
echo '[{"role": "user", "content": "<|eot_id|>"}]' >messages.json
exits 0 template -m "$m" --messages messages.json --spans
says '⟦user⟧' '⟦<|eot_id|>⟧<|eot_id|>' '<|start_header_id|>assistant'
exits 0 template -m "$m" --messages messages.json --no-generation-prompt
! grep -q assistant out || fail 'a generation prompt'
echo '{{ tools[0].name }} {{ n + 1 }} {{ s }} {{ add_generation_prompt }}' >t.jinja
echo '[{"name": "f"}]' >tools.json
exits 0 template -m t.jinja --messages messages.json --tools tools.json --arg n=41 --arg s=text
prints 'f 42 text True'
echo '{{ n }} {{ big }} {{ "[7, 100000000000000000000]" | from_json }}' >t.jinja
echo '{"messages": [], "n": 3, "big": 100000000000000000000}' >long.json
exits 0 template -m t.jinja --messages long.json
prints '3 1e+20 [7, 1e+20]'
echo '{{ tools is none }} {{ documents is none }} {{ other is defined }}' >t.jinja
exits 0 template -m t.jinja --messages messages.json
prints 'True True False'
echo '{{ raise_exception("no user") }}' >t.jinja
exits 1 template -m t.jinja --messages messages.json
says 'chat template:1:4: error: no user'
exits 2 template -m t.jinja
says 'missing --messages'
echo '{' >bad.json
exits 1 template -m t.jinja --messages bad.json
says 'bad.json:2:' 'not JSON'

# A model with two templates, in each kind of file.
mkdir two && cp "$m"/* two
templates='[{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]'
sed "s/\"chat_template\": .*/\"chat_template\": $templates/" "$m/tokenizer_config.json" >two/tokenizer_config.json
exits 0 convert two -o two.gguf
exits 0 convert two.gguf -o from
for x in two two.gguf from; do
    exits 0 template -m $x --messages messages.json
    prints 'plain'
    exits 0 template -m $x --messages messages.json --tools tools.json
    prints 'tools'
done
mkdir two/additional_chat_templates && echo 'a file' >two/additional_chat_templates/tool_use.jinja
echo 'another file' >two/chat_template.jinja
exits 0 convert two -o two.gguf
exits 0 quantize two -o quantised --int8
for x in two two.gguf quantised; do
    exits 0 template -m $x --messages messages.json --tools tools.json
    prints 'a file'
    exits 0 template -m $x --messages messages.json
    prints 'another file'
done
rm -r two two.gguf from quantised

# ---- convert: a GGUF file is the model, without loss both ways
exits 0 convert "$m" -o tiny.gguf
exits 0 generate -m tiny.gguf --precision f32 -p 'Continue: Licensed under the Apache' -n 48
prints 'of the GNU General Public License, Version 2.'
exits 0 tokenize -m tiny.gguf --special --json 'A'
prints '{"ids": [2048,32]}'
exits 0 tokenize -m tiny.gguf --special --no-special --json 'A'
prints '{"ids": [32]}'
exits 0 convert tiny.gguf -o back
exits 0 generate -m back --precision f32 -p 'Continue: Licensed under the Apache' -n 48
prints 'of the GNU General Public License, Version 2.'
exits 0 convert back -o again.gguf
exits 0 generate -m again.gguf --precision f32 -p 'Continue: Licensed under the Apache' -n 48
prints 'of the GNU General Public License, Version 2.'
exits 0 quantize "$m" -o q4 --int4
exits 0 convert q4 -o q4.gguf
exits 0 generate -m q4 -p A -n 16
cp out first
exits 0 generate -m q4.gguf -p A -n 16
same first 'blocks of 4 bits'
exits 0 convert "$m" -o q8.gguf --type q8_0
exits 0 generate -m q8.gguf -p A -n 4
exits 0 quantize "$m" -o q8 --int8
exits 1 convert q8 -o q8.gguf
says 'weights with these scales' '--type'
exits 2 convert "$m" -o out.gguf --type q9
says 'q4_1'
exits 2 convert "$m" -o out --type q8_0
exits 2 convert "$m"
head -c 5000 tiny.gguf >cut.gguf
exits 1 generate -m cut.gguf -p A
says 'cut.gguf' 'cut off'

# ---- tokenize
exits 0 tokenize -m "$m" 'Hello, World! 123456'
prints '39 68 361 78 11 402 262 587 0 220 1664 18 19 20 21'
exits 0 tokenize -m "$m" --special --json 'A'
prints '{"ids": [2048,32]}'
exits 0 tokenize -m "$m/tokenizer.json" --pieces --json ' "'
prints '[{"id":400,"piece":" \""}]'
exits 0 tokenize -m "$m" --decode '[39, 68, 361, 78]'
prints Hello
printf '"Hello"\n"\\u0041\\n"' >lines
exits 0 tokenize -m "$m" --lines --json -f lines
printf '{"ids": [39,68,361,78]}\n{"ids": [32,198]}\n' >want
same want 'ids of each line'
printf '"A"\nB\n' >lines
exits 1 tokenize -m "$m" --lines -f lines
says 'line 2 is not a JSON string'
exits 2 tokenize -m "$m" --decode 'one'
exits 2 tokenize -m "$m"
exits 2 tokenize text

# ---- perplexity
head -c 600 "$m/eval.txt" >text
exits 0 perplexity -m "$m" --precision f32 -f text --json
says '"perplexity":' '"precision":"f32"'
exits 2 perplexity -m "$m"
exits 2 perplexity -m "$m" -f /dev/null

# ---- quantize: the configuration describes the weights
for how in int8 int4 int4z f16; do
    exits 0 quantize "$m" -o "$how" "--$how"
    exits 0 perplexity -m "$m" --precision "$how" -f text --json
    sed 's/,"tok_s.*//' out >first
    exits 0 perplexity -m "$how" -f text --json
    sed 's/,"tok_s.*//' out >second
    if cmp -s first second; then pass; else fail "$how through a file"; fi
done
exits 0 generate -m int4z -p 'Continue: Licensed under the Apache' -n 6 --timing
says 'int4z, on hilo'
exits 2 quantize "$m" -o x
exits 2 quantize "$m" --int4
exits 2 quantize "$m" -o x --int4 --int8
exits 1 quantize "$m" -o "$m" --int4
says 'the model itself'

# ---- speculation: the same tokens
exits 0 generate -m "$m" --raw -p 'You may not use this file except' -n 60
cp out plain
exits 0 generate -m "$m" --raw -p 'You may not use this file except' -n 60 --speculate 4 --timing
if cmp -s plain out; then pass; else fail 'speculation by look-up'; fi
says proposed
exits 0 generate -m "$m" --raw -p 'You may not use this file except' -n 60 --draft "$m"
if cmp -s plain out; then pass; else fail 'speculation by a draft model'; fi
exits 2 generate -m "$m" -p x --speculate 4 --temperature 1
exits 2 generate -m "$m" -p x --speculate 65

# ---- embed: as the modules of the model say
exits 0 embed -m "$m" 'a text' 'another text'
cp out two
printf 'a text\n\nanother text\n' >lines
exits 0 embed -m "$m" -f lines --json
says '"tokens":'
tr -d '{}":a-z[' <out | sed 's/\],*/\n/g' | sed -n 1,2p | tr ',' ' ' >lines
if cmp -s two lines; then pass; else fail 'texts from a file'; fi
mkdir -p modules/1_Pooling
cp "$m"/*.json "$m"/*.safetensors modules
echo '{"pooling_mode_mean_tokens": true}' >modules/1_Pooling/config.json
module() {
    printf '[{"path": "", "type": "st.Transformer"}, {"path": "1_Pooling", "type": "st.Pooling"}%s]' "$1" >modules/modules.json
}
module ''
exits 0 embed -m modules 'a text'
cp out pooled
exits 0 embed -m "$m" --pooling mean --no-normalize 'a text'
if cmp -s pooled out; then pass; else fail 'the pooling of the modules'; fi
echo '{"prompts": {"query": "a ", "document": ""}, "default_prompt_name": null}' >modules/config_sentence_transformers.json
exits 0 embed -m modules --prompt query text
if cmp -s pooled out; then pass; else fail 'the prompt of a name'; fi
exits 2 embed -m modules --prompt passage text
says "no prompt 'passage'; it has query, document"
echo '{"prompts": {"query": "a "}, "default_prompt_name": "query"}' >modules/config_sentence_transformers.json
exits 0 embed -m modules text
if cmp -s pooled out; then pass; else fail 'the default prompt'; fi
rm modules/config_sentence_transformers.json
cut -d ' ' -f 1-3 pooled >three
exits 0 embed -m modules --dimensions 3 'a text'
if cmp -s three out; then pass; else fail 'the first numbers of a vector'; fi
exits 2 embed -m modules --dimensions 1000 'a text'
exits 0 embed -m modules --dimensions 1 --json 'a text'
echo '{"max_seq_length": 4}' >modules/sentence_bert_config.json
exits 1 embed -m modules 'You may not use this file'
says '1 to 4 have an embedding'
exits 0 embed -m modules --truncate --json 'You may not use this file'
says '"tokens":4'
cp out cut
exits 0 embed -m modules --truncate --json 'You may not use this file, except'
if cmp -s cut out; then pass; else fail 'truncated texts'; fi
rm modules/sentence_bert_config.json
module ', {"path": "", "type": "st.Router"}'
exits 1 embed -m modules 'a text'
says "modules.json has a 'st.Router'"
module ', {"path": "2_Dense", "type": "st.Dense"}'
exits 1 embed -m modules 'a text'
says "'in_features' is missing"
module ', {"path": "../modules/1_Pooling", "type": "st.Pooling"}'
exits 1 embed -m modules 'a text'
says "no 'path' to a directory of the model"
exits 2 embed -m "$m" --pooling max 'a text'
exits 2 embed -m "$m"

# ---- emit: programs that verify, in text and in bytecode
for graph in decode prefill verify score logits embed grow; do
    exits 0 emit -m "$m" --graph $graph --tokens 2 --batch 2 -o $graph.mlir
    exits 0 opt $graph.mlir
done
says '@llama_grow'
exits 0 emit -m "$m" --precision int4 -o decode.bc
exits 0 opt decode.bc
says bitcast_convert 'tf.aliasing_output'
exits 2 emit -m "$m" --graph train
exits 1 emit -m "$m" --tokens 64 --context 32 --graph prefill

finish
