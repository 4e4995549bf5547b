#!/bin/sh
# hilo explain: as text and as a page, expected and measured.
. "$(dirname "$0")/common.inc"

cat >softmax.mlir <<'MLIR'
func.func @main(%x: tensor<9x99xf32>, %w: tensor<99x8xf32>) -> tensor<9x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<9x99xf32> loc("<exp>")
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
       : (tensor<9x99xf32>, tensor<f32>) -> tensor<9xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<9xf32>) -> tensor<9x99xf32>
  %r = stablehlo.divide %e, %sb : tensor<9x99xf32> loc("<softmax>")
  %y = stablehlo.dot_general %r, %w, contracting_dims = [1] x [0] : (tensor<9x99xf32>, tensor<99x8xf32>) -> tensor<9x8xf32>
  return %y : tensor<9x8xf32>
}
MLIR
exits 0 compile softmax.mlir --emit plan
if ! grep -q kernel0 out; then # nothing to generate code with
    exits 0 explain softmax.mlir
    says 'runs on the reference evaluator: '
    finish
    exit
fi
exits 0 explain softmax.mlir
says 'softmax.mlir: ' 'arguments 6.7 kB, results 288 B' 'estimated for one thread' 'peak live' \
    '0 branches' 'dot_general' 'divide' 'materialised: ' \
    'why values are materialised' 'the block returns it' '14.3 kflop'
# what processors with other units would execute, counted by the interpreter: as many multiplications by each unit
cat >bf16.mlir <<'MLIR'
func.func @main(%a: tensor<96x64xbf16>, %b: tensor<64x64xbf16>) -> tensor<96x64xf32> {
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<96x64xbf16>, tensor<64x64xbf16>) -> tensor<96x64xf32>
  return %c : tensor<96x64xf32>
}
MLIR
for cpu in 'x86-64-v4 fma' 'znver4 dot2_bf16' 'sapphirerapids tile' 'sm_80 tile' 'sm_90a tile'; do
    exits 0 explain bf16.mlir --run --runs 1 --backend interpreter --target-cpu "${cpu% *}"
    says 'executed, elements' "${cpu#* } 393216" 'stored bytes'
done
cat >images16.mlir <<'MLIR'
func.func @main(%x: tensor<1x8x8x32xbf16>, %w: tensor<3x3x32x32xbf16>) -> tensor<1x8x8x32xbf16> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x8x8x32xbf16>, tensor<3x3x32x32xbf16>) -> tensor<1x8x8x32xbf16>
  return %y : tensor<1x8x8x32xbf16>
}
MLIR
for cpu in 'x86-64-v4 fma' 'znver4 dot2_bf16' 'sapphirerapids tile'; do
    exits 0 explain images16.mlir --run --runs 1 --backend interpreter --target-cpu "${cpu% *}"
    usual says "${cpu#* } 589824"
done
# 3x3 windows: 16 multiplications for 2x2 results instead of 36, and additions, if the program leaves the accuracy open
for precision in 'DEFAULT 1148032' 'HIGHEST 2359296'; do
    cat >images32.mlir <<MLIR
func.func @main(%x: tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32> {
  %w = stablehlo.constant dense<"0x$(head -c 36864 /dev/zero | od -An -v -tx1 | tr -d ' \n')"> : tensor<3x3x32x32xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64,
       precision_config = [#stablehlo<precision ${precision% *}>, #stablehlo<precision DEFAULT>]}
      : (tensor<1x16x16x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x16x16x32xf32>
  return %y : tensor<1x16x16x32xf32>
}
MLIR
    exits 0 explain images32.mlir --run --runs 1 --backend interpreter --target-cpu x86-64-v4
    usual says "fma ${precision#* }"
done
exits 0 explain softmax.mlir --run --runs 2
says 'mean of 2 runs' 'flop/s'
usual says '1 task, speed-up 1.0 of'
exits 0 explain softmax.mlir --run -o report.html
[ ! -s out ] && pass || fail 'no output was expected'
grep -q '^<!DOCTYPE html>' report.html && grep -q '</html>' report.html && pass || fail 'no page'
grep -q '&lt;softmax&gt;' report.html && ! grep -q '<softmax>' report.html && pass || fail 'names are not escaped'
! grep -q 'https*:' report.html && pass || fail 'the page refers to others'
# The page holds what --json prints, and is well formed; tasks are those that threads ran.
cat >check.py <<'PY'
import html.parser, json, sys

class Page(html.parser.HTMLParser):
    open, data = [], ""
    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br"):
            self.open.append((tag, dict(attributes)))
    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, tag
    def handle_data(self, data):
        if self.open and self.open[-1][1].get("id") == "report":
            self.data += data

page, printed = Page(), json.load(open(sys.argv[2]))
page.feed(open(sys.argv[1]).read())
page.close()
assert not page.open, page.open
assert json.loads(page.data) == printed
live = 0
for s in printed["steps"]:
    ran = [t for t in printed["tasks"] if t["step"] == s["step"]]
    assert 1 <= s["speedup"] <= printed["threads"], s
    assert abs(s["imbalance"] - (printed["threads"] / s["speedup"] - 1)) < 1e-6, s
    assert not printed["runs"] or len(ran) == round(s["tasks"] * s["times"]), (s, len(ran))
    assert all(0 <= t["thread"] < printed["threads"] and t["begin_ms"] <= t["end_ms"] for t in ran)
    at = [b for b in printed["buffers"] if b["place"] == "block" and b.get("first", 1e9) <= s["step"] <= b["last"]]
    assert set(s["reads"] + s["writes"]) <= {b["buffer"] for b in printed["buffers"]}
    ends = sorted({(b["offset"], b["offset"] + b["bytes"]) for b in at}) # one memory: it is updated in place
    assert all(x[1] <= y[0] for x, y in zip(ends, ends[1:])), ends # what else is live at once does not overlap
    live = max(live, sum((end - begin + 63) // 64 * 64 for begin, end in ends))
assert live <= printed["live"], (live, printed["live"])
assert max(s["tasks"] for s in printed["steps"]) >= int(sys.argv[3])
PY
if command -v python3 >/dev/null; then
    exits 0 explain softmax.mlir -o report.html --json
    python3 check.py report.html out 1 && pass || fail 'the page is not what --json prints'
    cat >large.mlir <<'MLIR'
func.func @main(%x: tensor<1024x999xf32>) -> (tensor<1024x999xf32>, tensor<1024x999xf32>) {
  %e = stablehlo.exponential %x : tensor<1024x999xf32>
  %s = "stablehlo.sort"(%e) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<1024x999xf32>) -> tensor<1024x999xf32>
  return %e, %s : tensor<1024x999xf32>, tensor<1024x999xf32>
}
MLIR
    exits 0 explain large.mlir --run --runs 1 --threads 3 -o report.html --json
    python3 check.py report.html out 3 && pass || fail 'tasks are not those that ran'
    exits 0 explain large.mlir --threads 64 -o report.html --json
    python3 check.py report.html out 48 && pass || fail 'there are too few tasks for 64 threads'
    exits 0 explain large.mlir --threads 64
    says 'let 64 threads be' ', but for 1 routine whose tasks a run shows' ' of 64'
    # Large steps keep as many threads busy as there are, also more than this machine has.
    cat >steps.mlir <<'MLIR'
func.func @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %x: tensor<8x56x56x64xf32>, %w: tensor<3x3x64x64xf32>)
    -> (tensor<1024x1024xf32>, tensor<8x56x56x64xf32>, tensor<1024x1024xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
       : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
       window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
       : (tensor<8x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<8x56x56x64xf32>
  %2 = stablehlo.exponential %a : tensor<1024x1024xf32>
  return %0, %1, %2 : tensor<1024x1024xf32>, tensor<8x56x56x64xf32>, tensor<1024x1024xf32>
}
MLIR
    for threads in 8 64; do
        exits 0 explain steps.mlir --threads $threads --json
        python3 - out $threads <<'PY' && pass || fail "large steps do not keep $threads threads busy"
import json, sys
large = [s for s in json.load(open(sys.argv[1]))["steps"] if s["flops"] >= 1e6]
sys.exit(len(large) != 3 or min(s["speedup"] for s in large) < 0.85 * int(sys.argv[2]))
PY
    done
fi
exits 0 compile softmax.mlir -o softmax.hilo
exits 0 explain softmax.hilo --run
says 'mean of 5 runs'
exits 0 explain softmax.mlir --backend reference --run
says 'runs on the reference evaluator: --backend reference' '1 reference steps'
exits 0 explain softmax.mlir
says 'kernel0, optimised'
if "$HILO" devices | grep -q 'machine code: by hilo'; then
    exits 0 explain softmax.mlir --tier baseline
    says ', baseline'
    exits 0 explain softmax.mlir --tier baseline --json
    says '"tier":"baseline"'
fi
HILO_LLVM_PATH=/nowhere exits 0 explain softmax.mlir
says 'runs on the reference evaluator: ' libllvm19
# The updates of many small parameters run concurrently.
{
    echo 'func.func @main('
    for i in 1 2 3 4 5 6; do echo "%p$i: tensor<${i}00x50xf32>, %g$i: tensor<${i}00x50xf32>$([ $i = 6 ] || echo ,)"; done
    echo ') -> ('
    for i in 1 2 3 4 5 6; do echo "tensor<${i}00x50xf32>$([ $i = 6 ] || echo ,)"; done
    echo ') {'
    for i in 1 2 3 4 5 6; do
        echo "%s$i = stablehlo.sqrt %g$i : tensor<${i}00x50xf32>"
        echo "%r$i = stablehlo.subtract %p$i, %s$i : tensor<${i}00x50xf32>"
    done
    echo 'return %r1, %r2, %r3, %r4, %r5, %r6 :'
    for i in 1 2 3 4 5 6; do echo "tensor<${i}00x50xf32>$([ $i = 6 ] || echo ,)"; done
    echo '}'
} >updates.mlir
exits 0 explain updates.mlir
says '6 kernels' '(concurrent with the next 5)'
exits 0 run updates.mlir --input random:1 --compare=reference --threads 3
# A weight that is packed once.
product='(tensor<96x64xf32>, tensor<64x64xf32>) -> tensor<96x64xf32>'
cat >packed.mlir <<END
func.func @main(%x: tensor<96x64xf32>) -> tensor<96x64xf32> {
  %w = stablehlo.constant dense<"0x$(seq -f '%08g' 4096 | tr -d '\n')"> : tensor<64x64xf32>
  %r = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : $product
  return %r : tensor<96x64xf32>
}
END
exits 0 explain --json packed.mlir
says '"place":"init"'
exits 0 explain "$root/examples/digits/digits.mlir"
says 'packs operands for convolution + activation'
if [ "$(grep -c 'convolution + activation: ' out)" = 2 ]; then pass; else fail 'two convolutions, without packing'; fi
# What two kernels read is stored as they read it, when what it is cheaply computed from would be stored for it alone.
cat >shared.mlir <<'MLIR'
func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<64x64xf32>
  %s = stablehlo.add %x, %y : tensor<64x64xf32>
  %r = stablehlo.maximum %s, %zeros : tensor<64x64xf32>
  %d = stablehlo.dot_general %r, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [0]
       : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %d, %t : tensor<64x64xf32>, tensor<64xf32>
}
MLIR
exits 0 explain shared.mlir
says ' add, maximum'
# Two NCHW convolutions: they are computed in channels last, and only the argument and the result are transposed.
numbers='dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]}'
groups='{batch_group_count = 1 : i64, feature_group_count = 1 : i64}'
image='tensor<1x32x32x32xf32>' window='tensor<32x32x3x3xf32>'
cat >images.mlir <<END
func.func @main(%x: $image, %u: $window, %v: $window) -> $image {
  %c = stablehlo.convolution(%x, %u) $numbers $groups : ($image, $window) -> $image
  %t = stablehlo.tanh %c : $image
  %d = stablehlo.convolution(%t, %v) $numbers $groups : ($image, $window) -> $image
  %s = stablehlo.add %d, %t : $image
  return %s : $image
}
END
exits 0 explain images.mlir
says '2 transposes, of 262.1 kB' 'layouts [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f]'
exits 0 explain images.mlir -O1
if grep -q ' transposes, ' out; then fail 'transposes without layouts'; else pass; fi
# The program of one partition: what it receives is that of the sum, half of 512 bytes.
cat >partition.mlir <<'END'
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                  %v: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                  %w: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<8x16xf32> {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %1 = stablehlo.tanh %0 : tensor<8x32xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    return %2 : tensor<8x16xf32>
  }
}
END
exits 0 opt --passes=partition,dce partition.mlir
cp out part.mlir
exits 0 explain part.mlir
says '1 collectives, by which a process receives 256 B' 'collective collective_permute  512 B, 256 B received'
# With a link: what a step takes, by a model; here next to nothing but the latency, or the rate, of one exchange.
exits 0 explain part.mlir --link 1e6,1e3
says 'a model, link 1e6,1e3:' 'of which 1000.000 ms are waits for exchanges'
exits 0 explain part.mlir --link 1e6,1e3 --json
says '"link":"1e6,1e3","step_ms":' '"waits_ms":1000,"serial_ms":'
exits 0 explain part.mlir --link 0,1e-7
says 'of which 2560.000 ms are waits for exchanges'
exits 0 explain part.mlir --link 0,1e3,5e5
says 'of which 500.000 ms are waits for exchanges'
for link in 1 a,b 5,0 5,2,1,4 5,2x -1,2; do
    exits 2 explain part.mlir --link "$link"
    says 'is not LAT,BW or LAT,BW,MSG'
done
# Two windows of one value take two and one element of each neighbour: four of 4 bytes are received, not six.
cat >halo.mlir <<'END'
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
          tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%a, %z) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {window_dimensions = array<i64: 5>, padding = dense<[[2, 2]]> : tensor<1x2xi64>}
      : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
    %1 = "stablehlo.reduce_window"(%a, %z) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %m = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) {window_dimensions = array<i64: 3>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}
      : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
    return %0, %1 : tensor<64xf32>, tensor<64xf32>
  }
}
END
exits 0 explain --partition halo.mlir
says 'by which a process receives 16 B'
# Parts of a concatenate: six rows from a neighbour, and the second operand, which is in one part of the result.
cat >joined.mlir <<'END'
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%a: tensor<64x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                  %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<72x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<64x4xf32>, tensor<8x4xf32>) -> tensor<72x4xf32>
    return %0 : tensor<72x4xf32>
  }
}
END
exits 0 explain --partition joined.mlir
says 'by which a process receives 192 B'
# To 1,024 partitions: a sum over n of them brings 2 (n - 1) / n of its bytes, also where only partitions are counted.
cat >scale.mlir <<'END'
module attributes {mhlo.num_partitions = DEVICES : i32} {
  sdy.mesh @mesh = <["data"=DATA, "model"=4]>
  func.func @main(%x: tensor<16384x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                  %v: tensor<512x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                  %w: tensor<2048x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>})
      -> (tensor<16384x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
          tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
        : (tensor<16384x512xf32>, tensor<512x2048xf32>) -> tensor<16384x2048xf32>
    %1 = stablehlo.tanh %0 : tensor<16384x2048xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
        : (tensor<16384x2048xf32>, tensor<2048x512xf32>) -> tensor<16384x512xf32>
    %3 = stablehlo.dot_general %x, %2, contracting_dims = [0] x [0]
        : (tensor<16384x512xf32>, tensor<16384x512xf32>) -> tensor<512x512xf32>
    return %2, %3 : tensor<16384x512xf32>, tensor<512x512xf32>
  }
}
END
for data in 4:14.2 256:2.3; do
    sed "s/DEVICES/$((4 * ${data%:*}))/; s/=DATA/=${data%:*}/" scale.mlir >whole.mlir
    exits 0 explain whole.mlir --partition --link 3,1.7
    says "4 collectives, by which a process receives ${data#*:} MB" "one of $((4 * ${data%:*})) partitions; parts of \
parameters: [${data%:*},1], [1,4], [4,1]; of results: [${data%:*},1], whole"
    exits 0 opt --partition whole.mlir
    mv out part.mlir
    exits 0 explain part.mlir --link 3,1.7
    says "4 collectives, by which a process receives ${data#*:} MB"
done
sed 's/DEVICES/16/; s/=DATA/=4/' scale.mlir >whole.mlir
exits 0 explain whole.mlir --partitions 1024 --link 3,1.7 # the first axis of the mesh grows
says '4 collectives, by which a process receives 2.3 MB' 'one of 1024 partitions; parts of parameters: [256,1], [1,4], [4,1]'
exits 0 explain whole.mlir --partitions 16
says 'one of 16 partitions; parts of parameters: [4,1], [1,4], [4,1]'
exits 1 explain whole.mlir --partitions 6
says 'cannot be over 6 devices by its first axis alone'
exits 2 explain whole.mlir --partitions 5000
exits 2 explain whole.mlir --partitions 4 --run
exits 2 explain whole.mlir --partition --run
exits 2 explain softmax.mlir --runs 3
exits 2 explain softmax.mlir --run --input 2xf32=1
exits 2 explain softmax.mlir --run --link 3,1
says '--run measures'
exits 2 explain softmax.mlir --entry other
exits 3 explain softmax.mlir -o absent/report.html
exits 3 explain absent.mlir
finish
