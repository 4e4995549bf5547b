#!/bin/sh
# hilo run --devices, --processes: the same program on 4 devices of one node, 2 of 2, 1 of 4; nodes that fail.
. "$(dirname "$0")/common.inc"

cat >program.mlir <<'EOF'
module @mix attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x12xf32>, tensor<1x12xf32>, tensor<4x3xf32>,
                                           tensor<4x3xf32>, tensor<1x3xf32>, tensor<40000xf32>) {
    %p = stablehlo.partition_id : tensor<ui32>
    %pf = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>
    %third = stablehlo.constant dense<0.3333333> : tensor<f32>
    %scaled = stablehlo.multiply %pf, %third : tensor<f32>
    %b = stablehlo.broadcast_in_dim %scaled, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %y = stablehlo.add %x, %b : tensor<4x3xf32>
    %r = "stablehlo.all_reduce"(%y) ({
    ^bb0(%a: tensor<f32>, %c: tensor<f32>):
      %s = stablehlo.add %a, %c : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0,2],[1,3]]> : tensor<2x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}
        : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %g = "stablehlo.all_gather"(%y) {all_gather_dim = 1 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, use_global_device_ids}
        : (tensor<4x3xf32>) -> tensor<4x12xf32>
    %t = "stablehlo.all_to_all"(%y) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 4 : i64,
        replica_groups = dense<[[3,1,2,0]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>}
        : (tensor<4x3xf32>) -> tensor<1x12xf32>
    %q = "stablehlo.collective_permute"(%y) {source_target_pairs = dense<[[0,1],[1,2],[2,0]]> : tensor<3x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 4, type = 0>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %d = "stablehlo.collective_broadcast"(%y) {replica_groups = dense<[[2,0,1]]> : tensor<1x3xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 5, type = 0>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %w = "stablehlo.reduce_scatter"(%y) ({
    ^bb0(%a: tensor<f32>, %c: tensor<f32>):
      %s = stablehlo.maximum %a, %c : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 6, type = 0>, use_global_device_ids}
        : (tensor<4x3xf32>) -> tensor<1x3xf32>
    %i = stablehlo.iota dim = 0 : tensor<40000xf32>
    %v = stablehlo.broadcast_in_dim %scaled, dims = [] : (tensor<f32>) -> tensor<40000xf32>
    %large = stablehlo.multiply %i, %v : tensor<40000xf32>
    %l = "stablehlo.all_reduce"(%large) ({
    ^bb0(%a: tensor<f32>, %c: tensor<f32>):
      %s = stablehlo.add %a, %c : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 7, type = 0>,
        use_global_device_ids} : (tensor<40000xf32>) -> tensor<40000xf32>
    return %r, %g, %t, %q, %d, %w, %l : tensor<4x3xf32>, tensor<4x12xf32>, tensor<1x12xf32>, tensor<4x3xf32>, tensor<4x3xf32>,
        tensor<1x3xf32>, tensor<40000xf32>
  }
}
EOF

# ---- the evaluator is the oracle, on one node
exits 0 run program.mlir --input random:1 --devices 4 --backend reference
mv out expected
for level in 0 2; do
    exits 0 run program.mlir --input random:1 --devices 4 -O$level
    same expected "4 devices of one node, -O$level"
done

# ---- exchanges start early and finish late, and what does not need them is computed between

cat >overlap.mlir <<'EOF'
module @overlap attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<40000xf32>, %a: tensor<200x200xf32>)
      -> (tensor<40000xf32>, tensor<200x200xf32>, tensor<160000xf32>) {
    %p = stablehlo.partition_id : tensor<ui32>
    %pf = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %pf, dims = [] : (tensor<f32>) -> tensor<40000xf32>
    %y = stablehlo.add %x, %b : tensor<40000xf32>
    %l = "stablehlo.all_reduce"(%y) ({
    ^bb0(%u: tensor<f32>, %c: tensor<f32>):
      %s = stablehlo.add %u, %c : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
        use_global_device_ids} : (tensor<40000xf32>) -> tensor<40000xf32>
    %r = stablehlo.sqrt %l : tensor<40000xf32>
    %d = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
        : (tensor<200x200xf32>, tensor<200x200xf32>) -> tensor<200x200xf32>
    %e = stablehlo.dot_general %d, %a, contracting_dims = [1] x [0]
        : (tensor<200x200xf32>, tensor<200x200xf32>) -> tensor<200x200xf32>
    %g = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, use_global_device_ids}
        : (tensor<40000xf32>) -> tensor<160000xf32>
    return %r, %e, %g : tensor<40000xf32>, tensor<200x200xf32>, tensor<160000xf32>
  }
}
EOF
exits 0 explain overlap.mlir --target-cpu sapphirerapids # by whose estimates steps are ordered
says '4 collectives' '3 of them overlap with 3 other steps'
awk '$4 == "kernel" {print $4} $4 == "done" {print $4, $5, $6}
     $4 == "collective" {print $4, $5 ($6 == "start" ? " start " $7 : "")}' out >order
cat >steps <<'EOF'
collective partition_id
kernel
collective all_to_all start 1
kernel
done all_to_all 1
kernel
collective all_gather start 1
kernel
collective all_gather start 2
done all_gather 1
kernel
done all_gather 2
EOF
mv order out
usual same steps 'the order of steps'
exits 0 explain overlap.mlir -O0
if grep -q 'of them overlap' out; then fail 'halves at -O0'; else pass; fi
exits 0 run overlap.mlir --input random:1 --input 200x200xf32=1 --devices 4 --backend reference
cp out overlapped
exits 0 run overlap.mlir --input random:1 --input 200x200xf32=1 --devices 4
same overlapped 'overlap on one node'

# ---- several nodes, where there is UCX
cat >failing.mlir <<'EOF'
module @other attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<3xf32>) -> tensor<6xf32> {
    %g = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0,1]]> : tensor<1x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, use_global_device_ids}
        : (tensor<3xf32>) -> tensor<6xf32>
    return %g : tensor<6xf32>
  }
}
EOF
sed 's/@other/@another/; s/6xf32/8xf32/g; s/3xf32/4xf32/g' failing.mlir >another.mlir

HILO_UCX_PATH= exits 3 run failing.mlir --input random:1 --processes 2
says 'libucx0'
status=0
timeout 60 "$HILO" run failing.mlir --input random:1 --processes 2 >out 2>err || status=$?
if [ "$status" = 3 ] && grep -q libucx0 err; then
    echo "no UCX: what several nodes do is not tested"
else
    [ "$status" = 0 ] && pass || fail 'two nodes'
    for nodes in 2 4; do
        exits 0 run program.mlir --input random:1 --processes $nodes --devices $((4 / nodes))
        same expected "4 devices of $nodes nodes"
        exits 0 run overlap.mlir --input random:1 --input 200x200xf32=1 --processes $nodes --devices $((4 / nodes))
        same overlapped "overlap on $nodes nodes"
    done

    # An asynchronous collective is an exchange as others are.
    cat >async.mlir <<'EOF'
module @async attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<3xf32>) -> tensor<6xf32> {
    %f = "stablehlo.async_start"(%x) ({
    ^bb0(%y: tensor<3xf32>):
      %0 = "stablehlo.all_gather"(%y) {all_gather_dim = 0 : i64, replica_groups = dense<[[0,1]]> : tensor<1x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, use_global_device_ids}
          : (tensor<3xf32>) -> tensor<6xf32>
      stablehlo.return %0 : tensor<6xf32>
    }) : (tensor<3xf32>) -> !stablehlo.future<tensor<6xf32>>
    %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<6xf32>>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
}
EOF
    exits 0 run async.mlir --input random:1 --devices 2
    mv out gathered
    exits 0 run async.mlir --input random:1 --processes 2
    same gathered 'asynchronous, by two nodes'

    # What is evaluated reaches the processes of its own node alone.
    cat >evaluated.mlir <<'EOF'
module @evaluated attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %m = "stablehlo.if"(%p) ({ stablehlo.return %a : tensor<f32> }, { stablehlo.return %b : tensor<f32> })
          : (tensor<i1>) -> tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) {replica_groups = dense<[[0,1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>,
        use_global_device_ids} : (tensor<3xf32>) -> tensor<3xf32>
    return %r : tensor<3xf32>
  }
}
EOF
    exits 0 run evaluated.mlir --input random:1 --devices 2
    run run evaluated.mlir --input random:1 --processes 2
    [ "$status" != 0 ] && [ ! -s out ] && pass || fail 'evaluated by two nodes'
    says 'all_reduce' 'waits for processes of other nodes'

    # begin NODE PROGRAM SECONDS RUNS: one of two nodes, in the background; its process is $!
    export HILO_NODE_DIR="$PWD/nodes" HILO_NODES=2
    begin() {
        HILO_NODE=$1 HILO_COLLECTIVE_TIMEOUT=$3 "$HILO" run "$2" --input random:1 --timing "$4" >"out$1" 2>"err$1" </dev/null &
    }
    # ends WHAT: node 0 fails
    ends() {
        status=0
        wait "$first" || status=$?
        mv out0 out
        mv err0 err
        [ "$status" != 0 ] && pass || fail "$1"
    }
    # meet: until both have
    meet() {
        n=0
        until [ -e nodes/hilo.nodes ] || [ $n = 200 ]; do
            sleep 0.05
            n=$((n + 1))
        done
        sleep 0.3
    }

    # differ FIRST SECOND WHAT TEXT…: programs of both nodes, which name each other
    differ() {
        what=$3
        rm -rf nodes
        mkdir nodes
        begin 0 "$1" 30 1
        first=$!
        begin 1 "$2" 30 1
        second=$!
        shift 3
        ends "node 0 of $what"
        says "$@" "pid $second"
        wait $second && fail "node 1 of $what" || pass
    }
    differ failing.mlir another.mlir 'two programs' "'other' in process 0: node 1" "another program, 'another'"

    # So they do when the programs differ in one op alone, whatever the levels of optimisation make of them.
    sed 's/%g = /%m = stablehlo.add %x, %x : tensor<3xf32>\n    %g = /; s/(%x) {all/(%m) {all/' failing.mlir >adds.mlir
    sed 's/stablehlo.add/stablehlo.subtract/' adds.mlir >subtracts.mlir
    differ adds.mlir subtracts.mlir 'two programs of one name' "all_gather of 'other' in process 0: node 1 (host" \
        "another program, 'other'"

    # A node that is killed is named.
    rm -rf nodes
    mkdir nodes
    begin 0 failing.mlir 30 100000000
    first=$!
    begin 1 failing.mlir 30 100000000
    second=$!
    meet
    kill -9 $second
    ends 'the node that is left'
    says "node 1 (host" "pid $second) cannot be reached"

    # So is one that is stopped, after the deadline.
    rm -rf nodes
    mkdir nodes
    begin 0 failing.mlir 1 100000000
    first=$!
    begin 1 failing.mlir 1 100000000
    second=$!
    meet
    kill -STOP $second
    ends 'the node that waits'
    says "node 1 (host" "pid $second) did not answer in 1001 ms"
    kill -9 $second
fi
finish
