#!/bin/sh
# hilo check: what passes, what fails, and how it is told.
. "$(dirname "$0")/common.inc"

cat >good.mlir <<'EOF'
func.func @adds() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.add %0, %0 : tensor<2xi32>
  check.expect_eq_const %1, dense<[2, 4]> : tensor<2xi32>
  func.return
}

// -----

// Only @main is run.
func.func @main() {
  %0 = call @one() : () -> tensor<i32>
  check.expect_eq_const %0, dense<1> : tensor<i32>
  func.return
}
func.func @one() -> tensor<i32> {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  func.return %0 : tensor<i32>
}
func.func @wrong() {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  check.expect_eq_const %0, dense<2> : tensor<i32>
  func.return
}

// -----

// A helper without parameters is not run by itself.
func.func @uses() {
  %0 = call @helper() : () -> tensor<i32>
  check.expect_eq_const %0, dense<1> : tensor<i32>
  func.return
}
func.func private @helper() -> tensor<i32> {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  func.return %0 : tensor<i32>
}

// -----

// Nothing is asserted: an example of what is valid, to be printed and read again.
func.func @open(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.add"(%arg0, %arg0) {note = "kept"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @refused(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{other tools may say it differently}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// Spellings.
func.func @a(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // @expected-error @+1 {{x}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func @b(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32> // expected-error {{x}}
  func.return %0 : tensor<2xf32>
}
func.func @c(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error-re@below {{x{{.*}}y}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func @d(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  // expected-error@above {{x}}
  func.return %0 : tensor<2xf32>
}

// -----

// A syntax error hides the errors after it.
module {
  // expected-error@+1 {{x}}
  func.func @f( -> () { func.return }
  // expected-error@+1 {{x}}
  func.func @f() { func.return }
}

// -----
EOF
exits 0 check good.mlir
prints '7 passed, 0 failed'
exits 0 check -j 1 --threads 2 -O0 --backend reference good.mlir good.mlir
prints '14 passed, 0 failed'
exits 0 check --verbose good.mlir
says 'good.mlir:1: passed' 'good.mlir:9: passed' '7 passed'
exits 0 check good.mlir:31
prints '1 passed, 0 failed'
exits 0 check --filter kept good.mlir
prints '1 passed, 0 failed'
exits 2 check --filter absent good.mlir
mkdir -p directory/within empty
cp good.mlir directory/b.mlir
cp good.mlir directory/a.mlir
cp good.mlir directory/within/c.mlir
echo nothing >directory/notes.txt
exits 0 check --verbose directory good.mlir
says 'directory/a.mlir:1: passed' 'directory/b.mlir:9: passed' '21 passed'
exits 2 check empty
exits 2 check /dev/null
exits 0 check "$root/tests/op/constant.mlir"

# One failure of each kind; the place comes first, the command that repeats it last.
cat >bad.mlir <<'EOF'
func.func @differs() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %0, dense<[1, 3]> : tensor<2xi32>
  func.return
}

// -----

func.func @syntax( {

// -----

// expected-error@+1 {{nothing is wrong here}}
func.func @accepted() { func.return }

// -----

// expected-error@+1 {{it is in the next line}}
func.func @elsewhere(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @one_is_right(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{this}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  // expected-error@+1 {{not this}}
  func.return %0 : tensor<2xf32>
}

// -----

func.func @label(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[add_c99] a constraint that is another}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
EOF
exits 1 check bad.mlir
says 'bad.mlir:3:3: ' '(hilo check bad.mlir:1)'
says 'bad.mlir:9:' '(hilo check bad.mlir:8)'
says 'bad.mlir:14: expected an error, but the program was accepted'
says 'bad.mlir:20:8: unexpected error: '
says 'bad.mlir:30: expected an error, but there is none'
says 'bad.mlir:37:8: unexpected error: '
says '0 passed, 6 failed'
if [ "$(wc -l <out)" = 7 ]; then pass; else fail 'one line for each failure'; fi
exits 1 check -O0 bad.mlir:1
says '(hilo check -O0 bad.mlir:1)' '0 passed, 1 failed'
exits 1 check good.mlir bad.mlir
says '7 passed, 6 failed'

# A case that does not end costs itself alone.
cat >endless.mlir <<'EOF'
func.func @main() {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%i = %c) : tensor<i32>
    cond { %t = stablehlo.constant dense<true> : tensor<i1>
           stablehlo.return %t : tensor<i1> }
    do { %n = stablehlo.add %i, %i : tensor<i32>
         stablehlo.return %n : tensor<i32> }
  check.expect_eq_const %0, dense<0> : tensor<i32>
  return
}
EOF
exits 1 check --timeout 1 -j 1 endless.mlir good.mlir
says 'endless.mlir:1: did not finish within 1 s (hilo check endless.mlir)' '7 passed, 1 failed'

finish
