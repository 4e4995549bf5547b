// Contractions that are large enough to be computed in blocks, against sums of products one by one. All numbers are integers that
// the types have exactly, so that the order of a sum does not matter.

// rows and columns that tiles do not divide, several slabs
func.func @slabs() {
  %ai = stablehlo.iota dim = 0 : tensor<13050xi32>
  %am = stablehlo.constant dense<7> : tensor<13050xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<13050xi32>
  %ad = stablehlo.constant dense<13> : tensor<13050xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<13050xi32>
  %ao = stablehlo.constant dense<6> : tensor<13050xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<13050xi32>
  %ac = stablehlo.convert %as : (tensor<13050xi32>) -> tensor<13050xf32>
  %a = stablehlo.reshape %ac : (tensor<13050xf32>) -> tensor<29x450xf32>
  %bi = stablehlo.iota dim = 0 : tensor<8550xi32>
  %bm = stablehlo.constant dense<5> : tensor<8550xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<8550xi32>
  %bd = stablehlo.constant dense<11> : tensor<8550xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<8550xi32>
  %bo = stablehlo.constant dense<5> : tensor<8550xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<8550xi32>
  %bc = stablehlo.convert %bs : (tensor<8550xi32>) -> tensor<8550xf32>
  %b = stablehlo.reshape %bc : (tensor<8550xf32>) -> tensor<450x19xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<29x450xf32>, tensor<450x19xf32>) -> tensor<29x19xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<29x450xf32>) -> tensor<29x19x450xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [2, 1] : (tensor<450x19xf32>) -> tensor<29x19x450xf32>
  %xy = stablehlo.multiply %x, %y : tensor<29x19x450xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<29x19x450xf32>, tensor<f32>) -> tensor<29x19xf32>
  check.expect_eq %dot, %sum : tensor<29x19xf32>
  return
}

// -----

// prepacked panels
func.func @many_rows() {
  %ai = stablehlo.iota dim = 0 : tensor<7913xi32>
  %am = stablehlo.constant dense<7> : tensor<7913xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<7913xi32>
  %ad = stablehlo.constant dense<13> : tensor<7913xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<7913xi32>
  %ao = stablehlo.constant dense<6> : tensor<7913xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<7913xi32>
  %ac = stablehlo.convert %as : (tensor<7913xi32>) -> tensor<7913xf32>
  %a = stablehlo.reshape %ac : (tensor<7913xf32>) -> tensor<193x41xf32>
  %bi = stablehlo.iota dim = 0 : tensor<1066xi32>
  %bm = stablehlo.constant dense<5> : tensor<1066xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<1066xi32>
  %bd = stablehlo.constant dense<11> : tensor<1066xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<1066xi32>
  %bo = stablehlo.constant dense<5> : tensor<1066xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<1066xi32>
  %bc = stablehlo.convert %bs : (tensor<1066xi32>) -> tensor<1066xf32>
  %b = stablehlo.reshape %bc : (tensor<1066xf32>) -> tensor<41x26xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<193x41xf32>, tensor<41x26xf32>) -> tensor<193x26xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<193x41xf32>) -> tensor<193x26x41xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [2, 1] : (tensor<41x26xf32>) -> tensor<193x26x41xf32>
  %xy = stablehlo.multiply %x, %y : tensor<193x26x41xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<193x26x41xf32>, tensor<f32>) -> tensor<193x26xf32>
  check.expect_eq %dot, %sum : tensor<193x26xf32>
  return
}

// -----

// rhs contiguous along the sum; a prepacked lhs
func.func @columns() {
  %ai = stablehlo.iota dim = 0 : tensor<1023xi32>
  %am = stablehlo.constant dense<7> : tensor<1023xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<1023xi32>
  %ad = stablehlo.constant dense<13> : tensor<1023xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<1023xi32>
  %ao = stablehlo.constant dense<6> : tensor<1023xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<1023xi32>
  %ac = stablehlo.convert %as : (tensor<1023xi32>) -> tensor<1023xf32>
  %a = stablehlo.reshape %ac : (tensor<1023xf32>) -> tensor<31x33xf32>
  %bi = stablehlo.iota dim = 0 : tensor<6633xi32>
  %bm = stablehlo.constant dense<5> : tensor<6633xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<6633xi32>
  %bd = stablehlo.constant dense<11> : tensor<6633xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<6633xi32>
  %bo = stablehlo.constant dense<5> : tensor<6633xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<6633xi32>
  %bc = stablehlo.convert %bs : (tensor<6633xi32>) -> tensor<6633xf32>
  %b = stablehlo.reshape %bc : (tensor<6633xf32>) -> tensor<201x33xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<31x33xf32>, tensor<201x33xf32>) -> tensor<31x201xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<31x33xf32>) -> tensor<31x201x33xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<201x33xf32>) -> tensor<31x201x33xf32>
  %xy = stablehlo.multiply %x, %y : tensor<31x201x33xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<31x201x33xf32>, tensor<f32>) -> tensor<31x201xf32>
  check.expect_eq %dot, %sum : tensor<31x201xf32>
  return
}

// -----

// lhs contiguous along its rows
func.func @upright() {
  %ai = stablehlo.iota dim = 0 : tensor<4810xi32>
  %am = stablehlo.constant dense<7> : tensor<4810xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4810xi32>
  %ad = stablehlo.constant dense<13> : tensor<4810xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4810xi32>
  %ao = stablehlo.constant dense<6> : tensor<4810xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4810xi32>
  %ac = stablehlo.convert %as : (tensor<4810xi32>) -> tensor<4810xf32>
  %a = stablehlo.reshape %ac : (tensor<4810xf32>) -> tensor<130x37xf32>
  %bi = stablehlo.iota dim = 0 : tensor<4550xi32>
  %bm = stablehlo.constant dense<5> : tensor<4550xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<4550xi32>
  %bd = stablehlo.constant dense<11> : tensor<4550xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<4550xi32>
  %bo = stablehlo.constant dense<5> : tensor<4550xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<4550xi32>
  %bc = stablehlo.convert %bs : (tensor<4550xi32>) -> tensor<4550xf32>
  %b = stablehlo.reshape %bc : (tensor<4550xf32>) -> tensor<130x35xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0]
      : (tensor<130x37xf32>, tensor<130x35xf32>) -> tensor<37x35xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<130x37xf32>) -> tensor<37x35x130xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [2, 1] : (tensor<130x35xf32>) -> tensor<37x35x130xf32>
  %xy = stablehlo.multiply %x, %y : tensor<37x35x130xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<37x35x130xf32>, tensor<f32>) -> tensor<37x35xf32>
  check.expect_eq %dot, %sum : tensor<37x35xf32>
  return
}

// -----

// batches, rows of two dimensions, a sum over two
func.func @batches() {
  %ai = stablehlo.iota dim = 0 : tensor<16200xi32>
  %am = stablehlo.constant dense<7> : tensor<16200xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<16200xi32>
  %ad = stablehlo.constant dense<13> : tensor<16200xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<16200xi32>
  %ao = stablehlo.constant dense<6> : tensor<16200xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<16200xi32>
  %ac = stablehlo.convert %as : (tensor<16200xi32>) -> tensor<16200xf32>
  %a = stablehlo.reshape %ac : (tensor<16200xf32>) -> tensor<3x5x6x20x9xf32>
  %bi = stablehlo.iota dim = 0 : tensor<11340xi32>
  %bm = stablehlo.constant dense<5> : tensor<11340xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<11340xi32>
  %bd = stablehlo.constant dense<11> : tensor<11340xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<11340xi32>
  %bo = stablehlo.constant dense<5> : tensor<11340xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<11340xi32>
  %bc = stablehlo.convert %bs : (tensor<11340xi32>) -> tensor<11340xf32>
  %b = stablehlo.reshape %bc : (tensor<11340xf32>) -> tensor<3x20x9x21xf32>
  %dot = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [3, 4] x [1, 2]
      : (tensor<3x5x6x20x9xf32>, tensor<3x20x9x21xf32>) -> tensor<3x5x6x21xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 1, 2, 4, 5] : (tensor<3x5x6x20x9xf32>) -> tensor<3x5x6x21x20x9xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [0, 4, 5, 3] : (tensor<3x20x9x21xf32>) -> tensor<3x5x6x21x20x9xf32>
  %xy = stablehlo.multiply %x, %y : tensor<3x5x6x21x20x9xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [4, 5]
      : (tensor<3x5x6x21x20x9xf32>, tensor<f32>) -> tensor<3x5x6x21xf32>
  check.expect_eq %dot, %sum : tensor<3x5x6x21xf32>
  return
}

// -----

// f64
func.func @doubles() {
  %ai = stablehlo.iota dim = 0 : tensor<2800xi32>
  %am = stablehlo.constant dense<7> : tensor<2800xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<2800xi32>
  %ad = stablehlo.constant dense<13> : tensor<2800xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<2800xi32>
  %ao = stablehlo.constant dense<6> : tensor<2800xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<2800xi32>
  %ac = stablehlo.convert %as : (tensor<2800xi32>) -> tensor<2800xf64>
  %a = stablehlo.reshape %ac : (tensor<2800xf64>) -> tensor<40x70xf64>
  %bi = stablehlo.iota dim = 0 : tensor<3500xi32>
  %bm = stablehlo.constant dense<5> : tensor<3500xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<3500xi32>
  %bd = stablehlo.constant dense<11> : tensor<3500xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<3500xi32>
  %bo = stablehlo.constant dense<5> : tensor<3500xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<3500xi32>
  %bc = stablehlo.convert %bs : (tensor<3500xi32>) -> tensor<3500xf64>
  %b = stablehlo.reshape %bc : (tensor<3500xf64>) -> tensor<70x50xf64>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<40x70xf64>, tensor<70x50xf64>) -> tensor<40x50xf64>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<40x70xf64>) -> tensor<40x50x70xf64>
  %y = stablehlo.broadcast_in_dim %b, dims = [2, 1] : (tensor<70x50xf64>) -> tensor<40x50x70xf64>
  %xy = stablehlo.multiply %x, %y : tensor<40x50x70xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<40x50x70xf64>, tensor<f64>) -> tensor<40x50xf64>
  check.expect_eq %dot, %sum : tensor<40x50xf64>
  return
}

// -----

// bf16 is accumulated in f32
func.func @bfloat16() {
  %ai = stablehlo.iota dim = 0 : tensor<2800xi32>
  %am = stablehlo.constant dense<7> : tensor<2800xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<2800xi32>
  %ad = stablehlo.constant dense<13> : tensor<2800xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<2800xi32>
  %ao = stablehlo.constant dense<6> : tensor<2800xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<2800xi32>
  %ac = stablehlo.convert %as : (tensor<2800xi32>) -> tensor<2800xbf16>
  %a = stablehlo.reshape %ac : (tensor<2800xbf16>) -> tensor<40x70xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<3500xi32>
  %bm = stablehlo.constant dense<5> : tensor<3500xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<3500xi32>
  %bd = stablehlo.constant dense<11> : tensor<3500xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<3500xi32>
  %bo = stablehlo.constant dense<5> : tensor<3500xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<3500xi32>
  %bc = stablehlo.convert %bs : (tensor<3500xi32>) -> tensor<3500xbf16>
  %b = stablehlo.reshape %bc : (tensor<3500xbf16>) -> tensor<70x50xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<40x70xbf16>, tensor<70x50xbf16>) -> tensor<40x50xbf16>
  %aw = stablehlo.convert %a : (tensor<40x70xbf16>) -> tensor<40x70xf32>
  %bw = stablehlo.convert %b : (tensor<70x50xbf16>) -> tensor<70x50xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<40x70xf32>) -> tensor<40x50x70xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<70x50xf32>) -> tensor<40x50x70xf32>
  %xy = stablehlo.multiply %x, %y : tensor<40x50x70xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<40x50x70xf32>, tensor<f32>) -> tensor<40x50xf32>
  %narrow = stablehlo.convert %sum : (tensor<40x50xf32>) -> tensor<40x50xbf16>
  check.expect_eq %dot, %narrow : tensor<40x50xbf16>
  return
}

// -----

// i8 by i8, in words of two factors, the last one padded
func.func @pairs() {
  %ai = stablehlo.iota dim = 0 : tensor<18927xi32>
  %am = stablehlo.constant dense<7> : tensor<18927xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<18927xi32>
  %ad = stablehlo.constant dense<13> : tensor<18927xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<18927xi32>
  %ao = stablehlo.constant dense<6> : tensor<18927xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<18927xi32>
  %ac = stablehlo.convert %as : (tensor<18927xi32>) -> tensor<18927xi8>
  %a = stablehlo.reshape %ac : (tensor<18927xi8>) -> tensor<27x701xi8>
  %bi = stablehlo.iota dim = 0 : tensor<12618xi32>
  %bm = stablehlo.constant dense<5> : tensor<12618xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<12618xi32>
  %bd = stablehlo.constant dense<11> : tensor<12618xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<12618xi32>
  %bo = stablehlo.constant dense<5> : tensor<12618xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<12618xi32>
  %bc = stablehlo.convert %bs : (tensor<12618xi32>) -> tensor<12618xi8>
  %b = stablehlo.reshape %bc : (tensor<12618xi8>) -> tensor<701x18xi8>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<27x701xi8>, tensor<701x18xi8>) -> tensor<27x18xi32>
  %aw = stablehlo.convert %a : (tensor<27x701xi8>) -> tensor<27x701xi32>
  %bw = stablehlo.convert %b : (tensor<701x18xi8>) -> tensor<701x18xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<27x701xi32>) -> tensor<27x18x701xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<701x18xi32>) -> tensor<27x18x701xi32>
  %xy = stablehlo.multiply %x, %y : tensor<27x18x701xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<27x18x701xi32>, tensor<i32>) -> tensor<27x18xi32>
  check.expect_eq %dot, %sum : tensor<27x18xi32>
  return
}

// -----

// ui8, in words of two factors along the columns
func.func @pairs_transposed() {
  %ai = stablehlo.iota dim = 0 : tensor<3600xi32>
  %am = stablehlo.constant dense<7> : tensor<3600xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<3600xi32>
  %ad = stablehlo.constant dense<13> : tensor<3600xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<3600xi32>
  %ao = stablehlo.constant dense<6> : tensor<3600xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<3600xi32>
  %ac = stablehlo.convert %as : (tensor<3600xi32>) -> tensor<3600xui8>
  %a = stablehlo.reshape %ac : (tensor<3600xui8>) -> tensor<30x120xui8>
  %bi = stablehlo.iota dim = 0 : tensor<5640xi32>
  %bm = stablehlo.constant dense<5> : tensor<5640xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<5640xi32>
  %bd = stablehlo.constant dense<11> : tensor<5640xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<5640xi32>
  %bo = stablehlo.constant dense<5> : tensor<5640xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<5640xi32>
  %bc = stablehlo.convert %bs : (tensor<5640xi32>) -> tensor<5640xui8>
  %b = stablehlo.reshape %bc : (tensor<5640xui8>) -> tensor<47x120xui8>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<30x120xui8>, tensor<47x120xui8>) -> tensor<30x47xi32>
  %aw = stablehlo.convert %a : (tensor<30x120xui8>) -> tensor<30x120xi32>
  %bw = stablehlo.convert %b : (tensor<47x120xui8>) -> tensor<47x120xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<30x120xi32>) -> tensor<30x47x120xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<47x120xi32>) -> tensor<30x47x120xi32>
  %xy = stablehlo.multiply %x, %y : tensor<30x47x120xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<30x47x120xi32>, tensor<i32>) -> tensor<30x47xi32>
  check.expect_eq %dot, %sum : tensor<30x47xi32>
  return
}

// -----

// i16
func.func @shorts() {
  %ai = stablehlo.iota dim = 0 : tensor<3250xi32>
  %am = stablehlo.constant dense<7> : tensor<3250xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<3250xi32>
  %ad = stablehlo.constant dense<13> : tensor<3250xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<3250xi32>
  %ao = stablehlo.constant dense<6> : tensor<3250xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<3250xi32>
  %ac = stablehlo.convert %as : (tensor<3250xi32>) -> tensor<3250xi16>
  %a = stablehlo.reshape %ac : (tensor<3250xi16>) -> tensor<25x130xi16>
  %bi = stablehlo.iota dim = 0 : tensor<6240xi32>
  %bm = stablehlo.constant dense<5> : tensor<6240xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<6240xi32>
  %bd = stablehlo.constant dense<11> : tensor<6240xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<6240xi32>
  %bo = stablehlo.constant dense<5> : tensor<6240xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<6240xi32>
  %bc = stablehlo.convert %bs : (tensor<6240xi32>) -> tensor<6240xi16>
  %b = stablehlo.reshape %bc : (tensor<6240xi16>) -> tensor<130x48xi16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<25x130xi16>, tensor<130x48xi16>) -> tensor<25x48xi32>
  %aw = stablehlo.convert %a : (tensor<25x130xi16>) -> tensor<25x130xi32>
  %bw = stablehlo.convert %b : (tensor<130x48xi16>) -> tensor<130x48xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<25x130xi32>) -> tensor<25x48x130xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<130x48xi32>) -> tensor<25x48x130xi32>
  %xy = stablehlo.multiply %x, %y : tensor<25x48x130xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<25x48x130xi32>, tensor<i32>) -> tensor<25x48xi32>
  check.expect_eq %dot, %sum : tensor<25x48xi32>
  return
}

// -----

// i64
func.func @wide() {
  %ai = stablehlo.iota dim = 0 : tensor<2048xi32>
  %am = stablehlo.constant dense<7> : tensor<2048xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<2048xi32>
  %ad = stablehlo.constant dense<13> : tensor<2048xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<2048xi32>
  %ao = stablehlo.constant dense<6> : tensor<2048xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<2048xi32>
  %ac = stablehlo.convert %as : (tensor<2048xi32>) -> tensor<2048xi64>
  %a = stablehlo.reshape %ac : (tensor<2048xi64>) -> tensor<32x64xi64>
  %bi = stablehlo.iota dim = 0 : tensor<4480xi32>
  %bm = stablehlo.constant dense<5> : tensor<4480xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<4480xi32>
  %bd = stablehlo.constant dense<11> : tensor<4480xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<4480xi32>
  %bo = stablehlo.constant dense<5> : tensor<4480xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<4480xi32>
  %bc = stablehlo.convert %bs : (tensor<4480xi32>) -> tensor<4480xi64>
  %b = stablehlo.reshape %bc : (tensor<4480xi64>) -> tensor<64x70xi64>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<32x64xi64>, tensor<64x70xi64>) -> tensor<32x70xi64>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<32x64xi64>) -> tensor<32x70x64xi64>
  %y = stablehlo.broadcast_in_dim %b, dims = [2, 1] : (tensor<64x70xi64>) -> tensor<32x70x64xi64>
  %xy = stablehlo.multiply %x, %y : tensor<32x70x64xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<32x70x64xi64>, tensor<i64>) -> tensor<32x70xi64>
  check.expect_eq %dot, %sum : tensor<32x70xi64>
  return
}

// -----

// a convolution with padding, rows of three dimensions
func.func @window() {
  %ai = stablehlo.iota dim = 0 : tensor<2520xi32>
  %am = stablehlo.constant dense<7> : tensor<2520xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<2520xi32>
  %ad = stablehlo.constant dense<13> : tensor<2520xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<2520xi32>
  %ao = stablehlo.constant dense<6> : tensor<2520xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<2520xi32>
  %ac = stablehlo.convert %as : (tensor<2520xi32>) -> tensor<2520xf32>
  %a = stablehlo.reshape %ac : (tensor<2520xf32>) -> tensor<2x9x7x20xf32>
  %bi = stablehlo.iota dim = 0 : tensor<4320xi32>
  %bm = stablehlo.constant dense<5> : tensor<4320xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<4320xi32>
  %bd = stablehlo.constant dense<11> : tensor<4320xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<4320xi32>
  %bo = stablehlo.constant dense<5> : tensor<4320xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<4320xi32>
  %bc = stablehlo.convert %bs : (tensor<4320xi32>) -> tensor<4320xf32>
  %b = stablehlo.reshape %bc : (tensor<4320xf32>) -> tensor<3x3x20x24xf32>
  %conv = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x9x7x20xf32>, tensor<3x3x20x24xf32>) -> tensor<2x9x7x24xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %a, %zero, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0]
      : (tensor<2x9x7x20xf32>, tensor<f32>) -> tensor<2x11x9x20xf32>
  %s0_0 = stablehlo.slice %p [0:2, 0:9:1, 0:7:1, 0:20]
      : (tensor<2x11x9x20xf32>) -> tensor<2x9x7x20xf32>
  %w0_0 = stablehlo.slice %b [0:1, 0:1, 0:20, 0:24] : (tensor<3x3x20x24xf32>) -> tensor<1x1x20x24xf32>
  %r0_0 = stablehlo.reshape %w0_0 : (tensor<1x1x20x24xf32>) -> tensor<20x24xf32>
  %d0_0 = stablehlo.dot_general %s0_0, %r0_0, contracting_dims = [3] x [0]
      : (tensor<2x9x7x20xf32>, tensor<20x24xf32>) -> tensor<2x9x7x24xf32>
  %s0_1 = stablehlo.slice %p [0:2, 0:9:1, 1:8:1, 0:20]
      : (tensor<2x11x9x20xf32>) -> tensor<2x9x7x20xf32>
  %w0_1 = stablehlo.slice %b [0:1, 1:2, 0:20, 0:24] : (tensor<3x3x20x24xf32>) -> tensor<1x1x20x24xf32>
  %r0_1 = stablehlo.reshape %w0_1 : (tensor<1x1x20x24xf32>) -> tensor<20x24xf32>
  %d0_1 = stablehlo.dot_general %s0_1, %r0_1, contracting_dims = [3] x [0]
      : (tensor<2x9x7x20xf32>, tensor<20x24xf32>) -> tensor<2x9x7x24xf32>
  %t0_1 = stablehlo.add %d0_0, %d0_1 : tensor<2x9x7x24xf32>
  %s0_2 = stablehlo.slice %p [0:2, 0:9:1, 2:9:1, 0:20]
      : (tensor<2x11x9x20xf32>) -> tensor<2x9x7x20xf32>
  %w0_2 = stablehlo.slice %b [0:1, 2:3, 0:20, 0:24] : (tensor<3x3x20x24xf32>) -> tensor<1x1x20x24xf32>
  %r0_2 = stablehlo.reshape %w0_2 : (tensor<1x1x20x24xf32>) -> tensor<20x24xf32>
  %d0_2 = stablehlo.dot_general %s0_2, %r0_2, contracting_dims = [3] x [0]
      : (tensor<2x9x7x20xf32>, tensor<20x24xf32>) -> tensor<2x9x7x24xf32>
  %t0_2 = stablehlo.add %t0_1, %d0_2 : tensor<2x9x7x24xf32>
  %s1_0 = stablehlo.slice %p [0:2, 1:10:1, 0:7:1, 0:20]
      : (tensor<2x11x9x20xf32>) -> tensor<2x9x7x20xf32>
  %w1_0 = stablehlo.slice %b [1:2, 0:1, 0:20, 0:24] : (tensor<3x3x20x24xf32>) -> tensor<1x1x20x24xf32>
  %r1_0 = stablehlo.reshape %w1_0 : (tensor<1x1x20x24xf32>) -> tensor<20x24xf32>
  %d1_0 = stablehlo.dot_general %s1_0, %r1_0, contracting_dims = [3] x [0]
      : (tensor<2x9x7x20xf32>, tensor<20x24xf32>) -> tensor<2x9x7x24xf32>
  %t1_0 = stablehlo.add %t0_2, %d1_0 : tensor<2x9x7x24xf32>
  %s1_1 = stablehlo.slice %p [0:2, 1:10:1, 1:8:1, 0:20]
      : (tensor<2x11x9x20xf32>) -> tensor<2x9x7x20xf32>
  %w1_1 = stablehlo.slice %b [1:2, 1:2, 0:20, 0:24] : (tensor<3x3x20x24xf32>) -> tensor<1x1x20x24xf32>
  %r1_1 = stablehlo.reshape %w1_1 : (tensor<1x1x20x24xf32>) -> tensor<20x24xf32>
  %d1_1 = stablehlo.dot_general %s1_1, %r1_1, contracting_dims = [3] x [0]
      : (tensor<2x9x7x20xf32>, tensor<20x24xf32>) -> tensor<2x9x7x24xf32>
  %t1_1 = stablehlo.add %t1_0, %d1_1 : tensor<2x9x7x24xf32>
  %s1_2 = stablehlo.slice %p [0:2, 1:10:1, 2:9:1, 0:20]
      : (tensor<2x11x9x20xf32>) -> tensor<2x9x7x20xf32>
  %w1_2 = stablehlo.slice %b [1:2, 2:3, 0:20, 0:24] : (tensor<3x3x20x24xf32>) -> tensor<1x1x20x24xf32>
  %r1_2 = stablehlo.reshape %w1_2 : (tensor<1x1x20x24xf32>) -> tensor<20x24xf32>
  %d1_2 = stablehlo.dot_general %s1_2, %r1_2, contracting_dims = [3] x [0]
      : (tensor<2x9x7x20xf32>, tensor<20x24xf32>) -> tensor<2x9x7x24xf32>
  %t1_2 = stablehlo.add %t1_1, %d1_2 : tensor<2x9x7x24xf32>
  %s2_0 = stablehlo.slice %p [0:2, 2:11:1, 0:7:1, 0:20]
      : (tensor<2x11x9x20xf32>) -> tensor<2x9x7x20xf32>
  %w2_0 = stablehlo.slice %b [2:3, 0:1, 0:20, 0:24] : (tensor<3x3x20x24xf32>) -> tensor<1x1x20x24xf32>
  %r2_0 = stablehlo.reshape %w2_0 : (tensor<1x1x20x24xf32>) -> tensor<20x24xf32>
  %d2_0 = stablehlo.dot_general %s2_0, %r2_0, contracting_dims = [3] x [0]
      : (tensor<2x9x7x20xf32>, tensor<20x24xf32>) -> tensor<2x9x7x24xf32>
  %t2_0 = stablehlo.add %t1_2, %d2_0 : tensor<2x9x7x24xf32>
  %s2_1 = stablehlo.slice %p [0:2, 2:11:1, 1:8:1, 0:20]
      : (tensor<2x11x9x20xf32>) -> tensor<2x9x7x20xf32>
  %w2_1 = stablehlo.slice %b [2:3, 1:2, 0:20, 0:24] : (tensor<3x3x20x24xf32>) -> tensor<1x1x20x24xf32>
  %r2_1 = stablehlo.reshape %w2_1 : (tensor<1x1x20x24xf32>) -> tensor<20x24xf32>
  %d2_1 = stablehlo.dot_general %s2_1, %r2_1, contracting_dims = [3] x [0]
      : (tensor<2x9x7x20xf32>, tensor<20x24xf32>) -> tensor<2x9x7x24xf32>
  %t2_1 = stablehlo.add %t2_0, %d2_1 : tensor<2x9x7x24xf32>
  %s2_2 = stablehlo.slice %p [0:2, 2:11:1, 2:9:1, 0:20]
      : (tensor<2x11x9x20xf32>) -> tensor<2x9x7x20xf32>
  %w2_2 = stablehlo.slice %b [2:3, 2:3, 0:20, 0:24] : (tensor<3x3x20x24xf32>) -> tensor<1x1x20x24xf32>
  %r2_2 = stablehlo.reshape %w2_2 : (tensor<1x1x20x24xf32>) -> tensor<20x24xf32>
  %d2_2 = stablehlo.dot_general %s2_2, %r2_2, contracting_dims = [3] x [0]
      : (tensor<2x9x7x20xf32>, tensor<20x24xf32>) -> tensor<2x9x7x24xf32>
  %t2_2 = stablehlo.add %t2_1, %d2_2 : tensor<2x9x7x24xf32>
  check.expect_eq %conv, %t2_2 : tensor<2x9x7x24xf32>
  return
}

// -----

// strides and dilation
func.func @strides() {
  %ai = stablehlo.iota dim = 0 : tensor<2415xi32>
  %am = stablehlo.constant dense<7> : tensor<2415xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<2415xi32>
  %ad = stablehlo.constant dense<13> : tensor<2415xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<2415xi32>
  %ao = stablehlo.constant dense<6> : tensor<2415xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<2415xi32>
  %ac = stablehlo.convert %as : (tensor<2415xi32>) -> tensor<2415xf32>
  %a = stablehlo.reshape %ac : (tensor<2415xf32>) -> tensor<1x23x21x5xf32>
  %bi = stablehlo.iota dim = 0 : tensor<990xi32>
  %bm = stablehlo.constant dense<5> : tensor<990xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<990xi32>
  %bd = stablehlo.constant dense<11> : tensor<990xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<990xi32>
  %bo = stablehlo.constant dense<5> : tensor<990xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<990xi32>
  %bc = stablehlo.convert %bs : (tensor<990xi32>) -> tensor<990xf32>
  %b = stablehlo.reshape %bc : (tensor<990xf32>) -> tensor<3x2x5x33xf32>
  %conv = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]], rhs_dilate = [2, 2]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x23x21x5xf32>, tensor<3x2x5x33xf32>) -> tensor<1x11x11x33xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %a, %zero, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0]
      : (tensor<1x23x21x5xf32>, tensor<f32>) -> tensor<1x25x23x5xf32>
  %s0_0 = stablehlo.slice %p [0:1, 0:21:2, 0:21:2, 0:5]
      : (tensor<1x25x23x5xf32>) -> tensor<1x11x11x5xf32>
  %w0_0 = stablehlo.slice %b [0:1, 0:1, 0:5, 0:33] : (tensor<3x2x5x33xf32>) -> tensor<1x1x5x33xf32>
  %r0_0 = stablehlo.reshape %w0_0 : (tensor<1x1x5x33xf32>) -> tensor<5x33xf32>
  %d0_0 = stablehlo.dot_general %s0_0, %r0_0, contracting_dims = [3] x [0]
      : (tensor<1x11x11x5xf32>, tensor<5x33xf32>) -> tensor<1x11x11x33xf32>
  %s0_1 = stablehlo.slice %p [0:1, 0:21:2, 2:23:2, 0:5]
      : (tensor<1x25x23x5xf32>) -> tensor<1x11x11x5xf32>
  %w0_1 = stablehlo.slice %b [0:1, 1:2, 0:5, 0:33] : (tensor<3x2x5x33xf32>) -> tensor<1x1x5x33xf32>
  %r0_1 = stablehlo.reshape %w0_1 : (tensor<1x1x5x33xf32>) -> tensor<5x33xf32>
  %d0_1 = stablehlo.dot_general %s0_1, %r0_1, contracting_dims = [3] x [0]
      : (tensor<1x11x11x5xf32>, tensor<5x33xf32>) -> tensor<1x11x11x33xf32>
  %t0_1 = stablehlo.add %d0_0, %d0_1 : tensor<1x11x11x33xf32>
  %s1_0 = stablehlo.slice %p [0:1, 2:23:2, 0:21:2, 0:5]
      : (tensor<1x25x23x5xf32>) -> tensor<1x11x11x5xf32>
  %w1_0 = stablehlo.slice %b [1:2, 0:1, 0:5, 0:33] : (tensor<3x2x5x33xf32>) -> tensor<1x1x5x33xf32>
  %r1_0 = stablehlo.reshape %w1_0 : (tensor<1x1x5x33xf32>) -> tensor<5x33xf32>
  %d1_0 = stablehlo.dot_general %s1_0, %r1_0, contracting_dims = [3] x [0]
      : (tensor<1x11x11x5xf32>, tensor<5x33xf32>) -> tensor<1x11x11x33xf32>
  %t1_0 = stablehlo.add %t0_1, %d1_0 : tensor<1x11x11x33xf32>
  %s1_1 = stablehlo.slice %p [0:1, 2:23:2, 2:23:2, 0:5]
      : (tensor<1x25x23x5xf32>) -> tensor<1x11x11x5xf32>
  %w1_1 = stablehlo.slice %b [1:2, 1:2, 0:5, 0:33] : (tensor<3x2x5x33xf32>) -> tensor<1x1x5x33xf32>
  %r1_1 = stablehlo.reshape %w1_1 : (tensor<1x1x5x33xf32>) -> tensor<5x33xf32>
  %d1_1 = stablehlo.dot_general %s1_1, %r1_1, contracting_dims = [3] x [0]
      : (tensor<1x11x11x5xf32>, tensor<5x33xf32>) -> tensor<1x11x11x33xf32>
  %t1_1 = stablehlo.add %t1_0, %d1_1 : tensor<1x11x11x33xf32>
  %s2_0 = stablehlo.slice %p [0:1, 4:25:2, 0:21:2, 0:5]
      : (tensor<1x25x23x5xf32>) -> tensor<1x11x11x5xf32>
  %w2_0 = stablehlo.slice %b [2:3, 0:1, 0:5, 0:33] : (tensor<3x2x5x33xf32>) -> tensor<1x1x5x33xf32>
  %r2_0 = stablehlo.reshape %w2_0 : (tensor<1x1x5x33xf32>) -> tensor<5x33xf32>
  %d2_0 = stablehlo.dot_general %s2_0, %r2_0, contracting_dims = [3] x [0]
      : (tensor<1x11x11x5xf32>, tensor<5x33xf32>) -> tensor<1x11x11x33xf32>
  %t2_0 = stablehlo.add %t1_1, %d2_0 : tensor<1x11x11x33xf32>
  %s2_1 = stablehlo.slice %p [0:1, 4:25:2, 2:23:2, 0:5]
      : (tensor<1x25x23x5xf32>) -> tensor<1x11x11x5xf32>
  %w2_1 = stablehlo.slice %b [2:3, 1:2, 0:5, 0:33] : (tensor<3x2x5x33xf32>) -> tensor<1x1x5x33xf32>
  %r2_1 = stablehlo.reshape %w2_1 : (tensor<1x1x5x33xf32>) -> tensor<5x33xf32>
  %d2_1 = stablehlo.dot_general %s2_1, %r2_1, contracting_dims = [3] x [0]
      : (tensor<1x11x11x5xf32>, tensor<5x33xf32>) -> tensor<1x11x11x33xf32>
  %t2_1 = stablehlo.add %t2_0, %d2_1 : tensor<1x11x11x33xf32>
  check.expect_eq %conv, %t2_1 : tensor<1x11x11x33xf32>
  return
}

// -----

// a rhs that is packed on first use: batches, two contracted axes, columns that panels do not divide
func.func @passing() {
  %ai = stablehlo.iota dim = 0 : tensor<49500xi32>
  %am = stablehlo.constant dense<7> : tensor<49500xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<49500xi32>
  %ad = stablehlo.constant dense<13> : tensor<49500xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<49500xi32>
  %ao = stablehlo.constant dense<6> : tensor<49500xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<49500xi32>
  %ac = stablehlo.convert %as : (tensor<49500xi32>) -> tensor<49500xf32>
  %a = stablehlo.reshape %ac : (tensor<49500xf32>) -> tensor<2x33x3x250xf32>
  %bi = stablehlo.iota dim = 0 : tensor<109500xi32>
  %bm = stablehlo.constant dense<5> : tensor<109500xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<109500xi32>
  %bd = stablehlo.constant dense<11> : tensor<109500xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<109500xi32>
  %bo = stablehlo.constant dense<5> : tensor<109500xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<109500xi32>
  %bc = stablehlo.convert %bs : (tensor<109500xi32>) -> tensor<109500xf32>
  %b = stablehlo.reshape %bc : (tensor<109500xf32>) -> tensor<2x3x250x73xf32>
  %u, %v = stablehlo.optimization_barrier %a, %b : tensor<2x33x3x250xf32>, tensor<2x3x250x73xf32>
  %dot = stablehlo.dot_general %u, %v, batching_dims = [0] x [0], contracting_dims = [2, 3] x [1, 2]
      : (tensor<2x33x3x250xf32>, tensor<2x3x250x73xf32>) -> tensor<2x33x73xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 1, 3, 4] : (tensor<2x33x3x250xf32>) -> tensor<2x33x73x3x250xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [0, 3, 4, 2] : (tensor<2x3x250x73xf32>) -> tensor<2x33x73x3x250xf32>
  %xy = stablehlo.multiply %x, %y : tensor<2x33x73x3x250xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [3, 4]
      : (tensor<2x33x73x3x250xf32>, tensor<f32>) -> tensor<2x33x73xf32>
  check.expect_eq %dot, %sum : tensor<2x33x73xf32>
  return
}

// -----

// columns that would leave much of a panel empty: lanes are along rows, with what an epilogue reads
func.func @empty_panels() {
  %ai = stablehlo.iota dim = 0 : tensor<144000xi32>
  %am = stablehlo.constant dense<7> : tensor<144000xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<144000xi32>
  %ad = stablehlo.constant dense<13> : tensor<144000xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<144000xi32>
  %ao = stablehlo.constant dense<6> : tensor<144000xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<144000xi32>
  %ac = stablehlo.convert %as : (tensor<144000xi32>) -> tensor<144000xf32>
  %a = stablehlo.reshape %ac : (tensor<144000xf32>) -> tensor<2x160x450xf32>
  %bi = stablehlo.iota dim = 0 : tensor<44100xi32>
  %bm = stablehlo.constant dense<5> : tensor<44100xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<44100xi32>
  %bd = stablehlo.constant dense<11> : tensor<44100xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<44100xi32>
  %bo = stablehlo.constant dense<5> : tensor<44100xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<44100xi32>
  %bc = stablehlo.convert %bs : (tensor<44100xi32>) -> tensor<44100xf32>
  %b = stablehlo.reshape %bc : (tensor<44100xf32>) -> tensor<2x450x49xf32>
  %row = stablehlo.iota dim = 1 : tensor<2x160x49xf32>
  %dot = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : (tensor<2x160x450xf32>, tensor<2x450x49xf32>) -> tensor<2x160x49xf32>
  %more = stablehlo.add %dot, %row : tensor<2x160x49xf32>
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 1, 3] : (tensor<2x160x450xf32>) -> tensor<2x160x49x450xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [0, 3, 2] : (tensor<2x450x49xf32>) -> tensor<2x160x49x450xf32>
  %xy = stablehlo.multiply %x, %y : tensor<2x160x49x450xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [3]
      : (tensor<2x160x49x450xf32>, tensor<f32>) -> tensor<2x160x49xf32>
  %same = stablehlo.add %sum, %row : tensor<2x160x49xf32>
  check.expect_eq %more, %same : tensor<2x160x49xf32>
  %bt = stablehlo.transpose %b, dims = [0, 2, 1] : (tensor<2x450x49xf32>) -> tensor<2x49x450xf32>
  %at = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x160x450xf32>) -> tensor<450x2x160xf32>
  %turned = stablehlo.dot_general %at, %bt, batching_dims = [1] x [0], contracting_dims = [0] x [2]
      : (tensor<450x2x160xf32>, tensor<2x49x450xf32>) -> tensor<2x160x49xf32>
  check.expect_eq %turned, %sum : tensor<2x160x49xf32>
  return
}
