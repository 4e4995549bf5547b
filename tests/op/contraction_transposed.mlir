// Contractions in blocks with a rhs that is contiguous along the sum, as weights of models often are: it is transposed as it is packed,
// in squares of as many lines and columns as registers have lanes, and the rest. All numbers are integers that the types have exactly.

// full panels and a part of one, lines that squares do not divide
func.func @floats() {
  %ai = stablehlo.iota dim = 0 : tensor<2100xi32>
  %am = stablehlo.constant dense<7> : tensor<2100xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<2100xi32>
  %ad = stablehlo.constant dense<13> : tensor<2100xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<2100xi32>
  %ao = stablehlo.constant dense<6> : tensor<2100xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<2100xi32>
  %ac = stablehlo.convert %as : (tensor<2100xi32>) -> tensor<2100xf32>
  %a = stablehlo.reshape %ac : (tensor<2100xf32>) -> tensor<30x70xf32>
  %bi = stablehlo.iota dim = 0 : tensor<10500xi32>
  %bm = stablehlo.constant dense<5> : tensor<10500xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<10500xi32>
  %bd = stablehlo.constant dense<11> : tensor<10500xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<10500xi32>
  %bo = stablehlo.constant dense<5> : tensor<10500xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<10500xi32>
  %bc = stablehlo.convert %bs : (tensor<10500xi32>) -> tensor<10500xf32>
  %b = stablehlo.reshape %bc : (tensor<10500xf32>) -> tensor<150x70xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<30x70xf32>, tensor<150x70xf32>) -> tensor<30x150xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<30x70xf32>) -> tensor<30x150x70xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<150x70xf32>) -> tensor<30x150x70xf32>
  %xy = stablehlo.multiply %x, %y : tensor<30x150x70xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<30x150x70xf32>, tensor<f32>) -> tensor<30x150xf32>
  check.expect_eq %dot, %sum : tensor<30x150xf32>
  return
}


// -----

// prepacked, several slabs
func.func @slabs() {
  %ai = stablehlo.iota dim = 0 : tensor<81700xi32>
  %am = stablehlo.constant dense<7> : tensor<81700xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<81700xi32>
  %ad = stablehlo.constant dense<13> : tensor<81700xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<81700xi32>
  %ao = stablehlo.constant dense<6> : tensor<81700xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<81700xi32>
  %ac = stablehlo.convert %as : (tensor<81700xi32>) -> tensor<81700xf32>
  %a = stablehlo.reshape %ac : (tensor<81700xf32>) -> tensor<190x430xf32>
  %bi = stablehlo.iota dim = 0 : tensor<30100xi32>
  %bm = stablehlo.constant dense<5> : tensor<30100xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<30100xi32>
  %bd = stablehlo.constant dense<11> : tensor<30100xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<30100xi32>
  %bo = stablehlo.constant dense<5> : tensor<30100xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<30100xi32>
  %bc = stablehlo.convert %bs : (tensor<30100xi32>) -> tensor<30100xf32>
  %b = stablehlo.reshape %bc : (tensor<30100xf32>) -> tensor<70x430xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<190x430xf32>, tensor<70x430xf32>) -> tensor<190x70xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<190x430xf32>) -> tensor<190x70x430xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<70x430xf32>) -> tensor<190x70x430xf32>
  %xy = stablehlo.multiply %x, %y : tensor<190x70x430xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<190x70x430xf32>, tensor<f32>) -> tensor<190x70xf32>
  check.expect_eq %dot, %sum : tensor<190x70xf32>
  return
}


// -----

// elements half as wide as the sums
func.func @bfloat16() {
  %ai = stablehlo.iota dim = 0 : tensor<4040xi32>
  %am = stablehlo.constant dense<7> : tensor<4040xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4040xi32>
  %ad = stablehlo.constant dense<13> : tensor<4040xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4040xi32>
  %ao = stablehlo.constant dense<6> : tensor<4040xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4040xi32>
  %ac = stablehlo.convert %as : (tensor<4040xi32>) -> tensor<4040xbf16>
  %a = stablehlo.reshape %ac : (tensor<4040xbf16>) -> tensor<40x101xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<7070xi32>
  %bm = stablehlo.constant dense<5> : tensor<7070xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<7070xi32>
  %bd = stablehlo.constant dense<11> : tensor<7070xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<7070xi32>
  %bo = stablehlo.constant dense<5> : tensor<7070xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<7070xi32>
  %bc = stablehlo.convert %bs : (tensor<7070xi32>) -> tensor<7070xbf16>
  %b = stablehlo.reshape %bc : (tensor<7070xbf16>) -> tensor<70x101xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<40x101xbf16>, tensor<70x101xbf16>) -> tensor<40x70xf32>
  %aw = stablehlo.convert %a : (tensor<40x101xbf16>) -> tensor<40x101xf32>
  %bw = stablehlo.convert %b : (tensor<70x101xbf16>) -> tensor<70x101xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<40x101xf32>) -> tensor<40x70x101xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<70x101xf32>) -> tensor<40x70x101xf32>
  %xy = stablehlo.multiply %x, %y : tensor<40x70x101xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<40x70x101xf32>, tensor<f32>) -> tensor<40x70xf32>
  check.expect_eq %dot, %sum : tensor<40x70xf32>
  return
}


// -----

// words of two factors
func.func @bytes() {
  %ai = stablehlo.iota dim = 0 : tensor<3000xi32>
  %am = stablehlo.constant dense<7> : tensor<3000xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<3000xi32>
  %ad = stablehlo.constant dense<13> : tensor<3000xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<3000xi32>
  %ao = stablehlo.constant dense<6> : tensor<3000xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<3000xi32>
  %ac = stablehlo.convert %as : (tensor<3000xi32>) -> tensor<3000xi8>
  %a = stablehlo.reshape %ac : (tensor<3000xi8>) -> tensor<40x75xi8>
  %bi = stablehlo.iota dim = 0 : tensor<5250xi32>
  %bm = stablehlo.constant dense<5> : tensor<5250xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<5250xi32>
  %bd = stablehlo.constant dense<11> : tensor<5250xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<5250xi32>
  %bo = stablehlo.constant dense<5> : tensor<5250xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<5250xi32>
  %bc = stablehlo.convert %bs : (tensor<5250xi32>) -> tensor<5250xi8>
  %b = stablehlo.reshape %bc : (tensor<5250xi8>) -> tensor<70x75xi8>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<40x75xi8>, tensor<70x75xi8>) -> tensor<40x70xi32>
  %aw = stablehlo.convert %a : (tensor<40x75xi8>) -> tensor<40x75xi32>
  %bw = stablehlo.convert %b : (tensor<70x75xi8>) -> tensor<70x75xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<40x75xi32>) -> tensor<40x70x75xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<70x75xi32>) -> tensor<40x70x75xi32>
  %xy = stablehlo.multiply %x, %y : tensor<40x70x75xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<40x70x75xi32>, tensor<i32>) -> tensor<40x70xi32>
  check.expect_eq %dot, %sum : tensor<40x70xi32>
  return
}


// -----

// both operands transposed
func.func @both() {
  %ai = stablehlo.iota dim = 0 : tensor<2345xi32>
  %am = stablehlo.constant dense<7> : tensor<2345xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<2345xi32>
  %ad = stablehlo.constant dense<13> : tensor<2345xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<2345xi32>
  %ao = stablehlo.constant dense<6> : tensor<2345xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<2345xi32>
  %ac = stablehlo.convert %as : (tensor<2345xi32>) -> tensor<2345xf32>
  %a = stablehlo.reshape %ac : (tensor<2345xf32>) -> tensor<67x35xf32>
  %bi = stablehlo.iota dim = 0 : tensor<4422xi32>
  %bm = stablehlo.constant dense<5> : tensor<4422xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<4422xi32>
  %bd = stablehlo.constant dense<11> : tensor<4422xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<4422xi32>
  %bo = stablehlo.constant dense<5> : tensor<4422xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<4422xi32>
  %bc = stablehlo.convert %bs : (tensor<4422xi32>) -> tensor<4422xf32>
  %b = stablehlo.reshape %bc : (tensor<4422xf32>) -> tensor<66x67xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [1]
      : (tensor<67x35xf32>, tensor<66x67xf32>) -> tensor<35x66xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<67x35xf32>) -> tensor<35x66x67xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<66x67xf32>) -> tensor<35x66x67xf32>
  %xy = stablehlo.multiply %x, %y : tensor<35x66x67xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<35x66x67xf32>, tensor<f32>) -> tensor<35x66xf32>
  check.expect_eq %dot, %sum : tensor<35x66xf32>
  return
}


// -----

// batches
func.func @batches() {
  %ai = stablehlo.iota dim = 0 : tensor<6300xi32>
  %am = stablehlo.constant dense<7> : tensor<6300xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<6300xi32>
  %ad = stablehlo.constant dense<13> : tensor<6300xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<6300xi32>
  %ao = stablehlo.constant dense<6> : tensor<6300xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<6300xi32>
  %ac = stablehlo.convert %as : (tensor<6300xi32>) -> tensor<6300xf32>
  %a = stablehlo.reshape %ac : (tensor<6300xf32>) -> tensor<3x30x70xf32>
  %bi = stablehlo.iota dim = 0 : tensor<13650xi32>
  %bm = stablehlo.constant dense<5> : tensor<13650xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<13650xi32>
  %bd = stablehlo.constant dense<11> : tensor<13650xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<13650xi32>
  %bo = stablehlo.constant dense<5> : tensor<13650xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<13650xi32>
  %bc = stablehlo.convert %bs : (tensor<13650xi32>) -> tensor<13650xf32>
  %b = stablehlo.reshape %bc : (tensor<13650xf32>) -> tensor<3x65x70xf32>
  %dot = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2]
      : (tensor<3x30x70xf32>, tensor<3x65x70xf32>) -> tensor<3x30x65xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 1, 3] : (tensor<3x30x70xf32>) -> tensor<3x30x65x70xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [0, 2, 3] : (tensor<3x65x70xf32>) -> tensor<3x30x65x70xf32>
  %xy = stablehlo.multiply %x, %y : tensor<3x30x65x70xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [3]
      : (tensor<3x30x65x70xf32>, tensor<f32>) -> tensor<3x30x65xf32>
  check.expect_eq %dot, %sum : tensor<3x30x65xf32>
  return
}
