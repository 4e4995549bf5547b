// Products of bf16 with a matrix that is stored, and contiguous along the sum: processors with products of two bf16 read
// words of two, where the sum begins at one. All numbers are integers, so that the order of a sum does not matter.

// all of it, in words; several slabs and blocks
func.func @whole() {
  %ai = stablehlo.iota dim = 0 : tensor<36000xi32>
  %am = stablehlo.constant dense<7> : tensor<36000xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<36000xi32>
  %ad = stablehlo.constant dense<13> : tensor<36000xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<36000xi32>
  %ao = stablehlo.constant dense<6> : tensor<36000xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<36000xi32>
  %ac = stablehlo.convert %as : (tensor<36000xi32>) -> tensor<36000xbf16>
  %ab = stablehlo.optimization_barrier %ac : tensor<36000xbf16>
  %a = stablehlo.reshape %ab : (tensor<36000xbf16>) -> tensor<40x900xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<180000xi32>
  %bm = stablehlo.constant dense<5> : tensor<180000xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<180000xi32>
  %bd = stablehlo.constant dense<11> : tensor<180000xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<180000xi32>
  %bo = stablehlo.constant dense<5> : tensor<180000xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<180000xi32>
  %bc = stablehlo.convert %bs : (tensor<180000xi32>) -> tensor<180000xbf16>
  %bb = stablehlo.optimization_barrier %bc : tensor<180000xbf16>
  %w = stablehlo.reshape %bb : (tensor<180000xbf16>) -> tensor<200x900xbf16>
  %b = stablehlo.slice %w [0:200, 0:900] : (tensor<200x900xbf16>) -> tensor<200x900xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<40x900xbf16>, tensor<200x900xbf16>) -> tensor<40x200xf32>
  %aw = stablehlo.convert %a : (tensor<40x900xbf16>) -> tensor<40x900xf32>
  %bw = stablehlo.convert %b : (tensor<200x900xbf16>) -> tensor<200x900xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<40x900xf32>) -> tensor<40x200x900xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<200x900xf32>) -> tensor<40x200x900xf32>
  %xy = stablehlo.multiply %x, %y : tensor<40x200x900xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<40x200x900xf32>, tensor<f32>) -> tensor<40x200xf32>
  check.expect_eq %dot, %sum : tensor<40x200xf32>
  return
}

// rows and columns from even places
func.func @even() {
  %ai = stablehlo.iota dim = 0 : tensor<4224xi32>
  %am = stablehlo.constant dense<7> : tensor<4224xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4224xi32>
  %ad = stablehlo.constant dense<13> : tensor<4224xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4224xi32>
  %ao = stablehlo.constant dense<6> : tensor<4224xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4224xi32>
  %ac = stablehlo.convert %as : (tensor<4224xi32>) -> tensor<4224xbf16>
  %ab = stablehlo.optimization_barrier %ac : tensor<4224xbf16>
  %a = stablehlo.reshape %ab : (tensor<4224xbf16>) -> tensor<33x128xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<10500xi32>
  %bm = stablehlo.constant dense<5> : tensor<10500xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<10500xi32>
  %bd = stablehlo.constant dense<11> : tensor<10500xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<10500xi32>
  %bo = stablehlo.constant dense<5> : tensor<10500xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<10500xi32>
  %bc = stablehlo.convert %bs : (tensor<10500xi32>) -> tensor<10500xbf16>
  %bb = stablehlo.optimization_barrier %bc : tensor<10500xbf16>
  %w = stablehlo.reshape %bb : (tensor<10500xbf16>) -> tensor<75x140xbf16>
  %b = stablehlo.slice %w [2:72, 4:132] : (tensor<75x140xbf16>) -> tensor<70x128xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<33x128xbf16>, tensor<70x128xbf16>) -> tensor<33x70xf32>
  %aw = stablehlo.convert %a : (tensor<33x128xbf16>) -> tensor<33x128xf32>
  %bw = stablehlo.convert %b : (tensor<70x128xbf16>) -> tensor<70x128xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<33x128xf32>) -> tensor<33x70x128xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<70x128xf32>) -> tensor<33x70x128xf32>
  %xy = stablehlo.multiply %x, %y : tensor<33x70x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<33x70x128xf32>, tensor<f32>) -> tensor<33x70xf32>
  check.expect_eq %dot, %sum : tensor<33x70xf32>
  return
}

// from odd ones
func.func @odd() {
  %ai = stablehlo.iota dim = 0 : tensor<4224xi32>
  %am = stablehlo.constant dense<7> : tensor<4224xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4224xi32>
  %ad = stablehlo.constant dense<13> : tensor<4224xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4224xi32>
  %ao = stablehlo.constant dense<6> : tensor<4224xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4224xi32>
  %ac = stablehlo.convert %as : (tensor<4224xi32>) -> tensor<4224xbf16>
  %ab = stablehlo.optimization_barrier %ac : tensor<4224xbf16>
  %a = stablehlo.reshape %ab : (tensor<4224xbf16>) -> tensor<33x128xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<10575xi32>
  %bm = stablehlo.constant dense<5> : tensor<10575xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<10575xi32>
  %bd = stablehlo.constant dense<11> : tensor<10575xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<10575xi32>
  %bo = stablehlo.constant dense<5> : tensor<10575xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<10575xi32>
  %bc = stablehlo.convert %bs : (tensor<10575xi32>) -> tensor<10575xbf16>
  %bb = stablehlo.optimization_barrier %bc : tensor<10575xbf16>
  %w = stablehlo.reshape %bb : (tensor<10575xbf16>) -> tensor<75x141xbf16>
  %b = stablehlo.slice %w [1:71, 3:131] : (tensor<75x141xbf16>) -> tensor<70x128xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<33x128xbf16>, tensor<70x128xbf16>) -> tensor<33x70xf32>
  %aw = stablehlo.convert %a : (tensor<33x128xbf16>) -> tensor<33x128xf32>
  %bw = stablehlo.convert %b : (tensor<70x128xbf16>) -> tensor<70x128xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<33x128xf32>) -> tensor<33x70x128xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<70x128xf32>) -> tensor<33x70x128xf32>
  %xy = stablehlo.multiply %x, %y : tensor<33x70x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<33x70x128xf32>, tensor<f32>) -> tensor<33x70xf32>
  check.expect_eq %dot, %sum : tensor<33x70xf32>
  return
}

// rows of an odd number, from an even place
func.func @odd_rows() {
  %ai = stablehlo.iota dim = 0 : tensor<4224xi32>
  %am = stablehlo.constant dense<7> : tensor<4224xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4224xi32>
  %ad = stablehlo.constant dense<13> : tensor<4224xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4224xi32>
  %ao = stablehlo.constant dense<6> : tensor<4224xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4224xi32>
  %ac = stablehlo.convert %as : (tensor<4224xi32>) -> tensor<4224xbf16>
  %ab = stablehlo.optimization_barrier %ac : tensor<4224xbf16>
  %a = stablehlo.reshape %ab : (tensor<4224xbf16>) -> tensor<33x128xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<10575xi32>
  %bm = stablehlo.constant dense<5> : tensor<10575xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<10575xi32>
  %bd = stablehlo.constant dense<11> : tensor<10575xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<10575xi32>
  %bo = stablehlo.constant dense<5> : tensor<10575xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<10575xi32>
  %bc = stablehlo.convert %bs : (tensor<10575xi32>) -> tensor<10575xbf16>
  %bb = stablehlo.optimization_barrier %bc : tensor<10575xbf16>
  %w = stablehlo.reshape %bb : (tensor<10575xbf16>) -> tensor<75x141xbf16>
  %b = stablehlo.slice %w [1:71, 4:132] : (tensor<75x141xbf16>) -> tensor<70x128xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<33x128xbf16>, tensor<70x128xbf16>) -> tensor<33x70xf32>
  %aw = stablehlo.convert %a : (tensor<33x128xbf16>) -> tensor<33x128xf32>
  %bw = stablehlo.convert %b : (tensor<70x128xbf16>) -> tensor<70x128xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<33x128xf32>) -> tensor<33x70x128xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<70x128xf32>) -> tensor<33x70x128xf32>
  %xy = stablehlo.multiply %x, %y : tensor<33x70x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<33x70x128xf32>, tensor<f32>) -> tensor<33x70xf32>
  check.expect_eq %dot, %sum : tensor<33x70xf32>
  return
}

// a sum of an odd number of terms
func.func @odd_sum() {
  %ai = stablehlo.iota dim = 0 : tensor<4257xi32>
  %am = stablehlo.constant dense<7> : tensor<4257xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4257xi32>
  %ad = stablehlo.constant dense<13> : tensor<4257xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4257xi32>
  %ao = stablehlo.constant dense<6> : tensor<4257xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4257xi32>
  %ac = stablehlo.convert %as : (tensor<4257xi32>) -> tensor<4257xbf16>
  %ab = stablehlo.optimization_barrier %ac : tensor<4257xbf16>
  %a = stablehlo.reshape %ab : (tensor<4257xbf16>) -> tensor<33x129xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<9030xi32>
  %bm = stablehlo.constant dense<5> : tensor<9030xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<9030xi32>
  %bd = stablehlo.constant dense<11> : tensor<9030xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<9030xi32>
  %bo = stablehlo.constant dense<5> : tensor<9030xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<9030xi32>
  %bc = stablehlo.convert %bs : (tensor<9030xi32>) -> tensor<9030xbf16>
  %bb = stablehlo.optimization_barrier %bc : tensor<9030xbf16>
  %w = stablehlo.reshape %bb : (tensor<9030xbf16>) -> tensor<70x129xbf16>
  %b = stablehlo.slice %w [0:70, 0:129] : (tensor<70x129xbf16>) -> tensor<70x129xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<33x129xbf16>, tensor<70x129xbf16>) -> tensor<33x70xf32>
  %aw = stablehlo.convert %a : (tensor<33x129xbf16>) -> tensor<33x129xf32>
  %bw = stablehlo.convert %b : (tensor<70x129xbf16>) -> tensor<70x129xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<33x129xf32>) -> tensor<33x70x129xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<70x129xf32>) -> tensor<33x70x129xf32>
  %xy = stablehlo.multiply %x, %y : tensor<33x70x129xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<33x70x129xf32>, tensor<f32>) -> tensor<33x70xf32>
  check.expect_eq %dot, %sum : tensor<33x70xf32>
  return
}
