// Contractions of bf16 and of bytes, which processors with a matrix unit multiply by tiles of 16 rows of 64 bytes. All numbers are
// integers that the types have exactly, so that the order of a sum does not matter. Without one, four bytes are
// multiplied at once where there is an instruction for it.

// sizes that no tile divides
func.func @bfloat16() {
  %ai = stablehlo.iota dim = 0 : tensor<2625xi32>
  %am = stablehlo.constant dense<7> : tensor<2625xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<2625xi32>
  %ad = stablehlo.constant dense<13> : tensor<2625xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<2625xi32>
  %ao = stablehlo.constant dense<6> : tensor<2625xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<2625xi32>
  %ac = stablehlo.convert %as : (tensor<2625xi32>) -> tensor<2625xbf16>
  %a = stablehlo.reshape %ac : (tensor<2625xbf16>) -> tensor<35x75xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<3750xi32>
  %bm = stablehlo.constant dense<5> : tensor<3750xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<3750xi32>
  %bd = stablehlo.constant dense<11> : tensor<3750xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<3750xi32>
  %bo = stablehlo.constant dense<5> : tensor<3750xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<3750xi32>
  %bc = stablehlo.convert %bs : (tensor<3750xi32>) -> tensor<3750xbf16>
  %b = stablehlo.reshape %bc : (tensor<3750xbf16>) -> tensor<75x50xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<35x75xbf16>, tensor<75x50xbf16>) -> tensor<35x50xf32>
  %aw = stablehlo.convert %a : (tensor<35x75xbf16>) -> tensor<35x75xf32>
  %bw = stablehlo.convert %b : (tensor<75x50xbf16>) -> tensor<75x50xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<35x75xf32>) -> tensor<35x50x75xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<75x50xf32>) -> tensor<35x50x75xf32>
  %xy = stablehlo.multiply %x, %y : tensor<35x50x75xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<35x50x75xf32>, tensor<f32>) -> tensor<35x50xf32>
  check.expect_eq %dot, %sum : tensor<35x50xf32>
  return
}


// -----

// several slabs, prepacked panels
func.func @slabs() {
  %ai = stablehlo.iota dim = 0 : tensor<21450xi32>
  %am = stablehlo.constant dense<7> : tensor<21450xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<21450xi32>
  %ad = stablehlo.constant dense<13> : tensor<21450xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<21450xi32>
  %ao = stablehlo.constant dense<6> : tensor<21450xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<21450xi32>
  %ac = stablehlo.convert %as : (tensor<21450xi32>) -> tensor<21450xbf16>
  %a = stablehlo.reshape %ac : (tensor<21450xbf16>) -> tensor<33x650xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<24050xi32>
  %bm = stablehlo.constant dense<5> : tensor<24050xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<24050xi32>
  %bd = stablehlo.constant dense<11> : tensor<24050xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<24050xi32>
  %bo = stablehlo.constant dense<5> : tensor<24050xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<24050xi32>
  %bc = stablehlo.convert %bs : (tensor<24050xi32>) -> tensor<24050xbf16>
  %b = stablehlo.reshape %bc : (tensor<24050xbf16>) -> tensor<650x37xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<33x650xbf16>, tensor<650x37xbf16>) -> tensor<33x37xf32>
  %aw = stablehlo.convert %a : (tensor<33x650xbf16>) -> tensor<33x650xf32>
  %bw = stablehlo.convert %b : (tensor<650x37xbf16>) -> tensor<650x37xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<33x650xf32>) -> tensor<33x37x650xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<650x37xf32>) -> tensor<33x37x650xf32>
  %xy = stablehlo.multiply %x, %y : tensor<33x37x650xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<33x37x650xf32>, tensor<f32>) -> tensor<33x37xf32>
  check.expect_eq %dot, %sum : tensor<33x37xf32>
  return
}


// -----

// one tile of rows, wide columns
func.func @few() {
  %ai = stablehlo.iota dim = 0 : tensor<1088xi32>
  %am = stablehlo.constant dense<7> : tensor<1088xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<1088xi32>
  %ad = stablehlo.constant dense<13> : tensor<1088xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<1088xi32>
  %ao = stablehlo.constant dense<6> : tensor<1088xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<1088xi32>
  %ac = stablehlo.convert %as : (tensor<1088xi32>) -> tensor<1088xbf16>
  %a = stablehlo.reshape %ac : (tensor<1088xbf16>) -> tensor<17x64xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<8320xi32>
  %bm = stablehlo.constant dense<5> : tensor<8320xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<8320xi32>
  %bd = stablehlo.constant dense<11> : tensor<8320xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<8320xi32>
  %bo = stablehlo.constant dense<5> : tensor<8320xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<8320xi32>
  %bc = stablehlo.convert %bs : (tensor<8320xi32>) -> tensor<8320xbf16>
  %b = stablehlo.reshape %bc : (tensor<8320xbf16>) -> tensor<64x130xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<17x64xbf16>, tensor<64x130xbf16>) -> tensor<17x130xf32>
  %aw = stablehlo.convert %a : (tensor<17x64xbf16>) -> tensor<17x64xf32>
  %bw = stablehlo.convert %b : (tensor<64x130xbf16>) -> tensor<64x130xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<17x64xf32>) -> tensor<17x130x64xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<64x130xf32>) -> tensor<17x130x64xf32>
  %xy = stablehlo.multiply %x, %y : tensor<17x130x64xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<17x130x64xf32>, tensor<f32>) -> tensor<17x130xf32>
  check.expect_eq %dot, %sum : tensor<17x130xf32>
  return
}


// -----

// one tile of columns
func.func @narrow() {
  %ai = stablehlo.iota dim = 0 : tensor<16100xi32>
  %am = stablehlo.constant dense<7> : tensor<16100xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<16100xi32>
  %ad = stablehlo.constant dense<13> : tensor<16100xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<16100xi32>
  %ao = stablehlo.constant dense<6> : tensor<16100xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<16100xi32>
  %ac = stablehlo.convert %as : (tensor<16100xi32>) -> tensor<16100xbf16>
  %a = stablehlo.reshape %ac : (tensor<16100xbf16>) -> tensor<70x230xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<2070xi32>
  %bm = stablehlo.constant dense<5> : tensor<2070xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<2070xi32>
  %bd = stablehlo.constant dense<11> : tensor<2070xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<2070xi32>
  %bo = stablehlo.constant dense<5> : tensor<2070xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<2070xi32>
  %bc = stablehlo.convert %bs : (tensor<2070xi32>) -> tensor<2070xbf16>
  %b = stablehlo.reshape %bc : (tensor<2070xbf16>) -> tensor<230x9xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<70x230xbf16>, tensor<230x9xbf16>) -> tensor<70x9xf32>
  %aw = stablehlo.convert %a : (tensor<70x230xbf16>) -> tensor<70x230xf32>
  %bw = stablehlo.convert %b : (tensor<230x9xbf16>) -> tensor<230x9xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<70x230xf32>) -> tensor<70x9x230xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<230x9xf32>) -> tensor<70x9x230xf32>
  %xy = stablehlo.multiply %x, %y : tensor<70x9x230xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<70x9x230xf32>, tensor<f32>) -> tensor<70x9xf32>
  check.expect_eq %dot, %sum : tensor<70x9xf32>
  return
}


// -----

// both operands transposed, squares of them and the rest
func.func @transposed() {
  %ai = stablehlo.iota dim = 0 : tensor<3060xi32>
  %am = stablehlo.constant dense<7> : tensor<3060xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<3060xi32>
  %ad = stablehlo.constant dense<13> : tensor<3060xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<3060xi32>
  %ao = stablehlo.constant dense<6> : tensor<3060xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<3060xi32>
  %ac = stablehlo.convert %as : (tensor<3060xi32>) -> tensor<3060xbf16>
  %a = stablehlo.reshape %ac : (tensor<3060xbf16>) -> tensor<85x36xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<3825xi32>
  %bm = stablehlo.constant dense<5> : tensor<3825xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<3825xi32>
  %bd = stablehlo.constant dense<11> : tensor<3825xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<3825xi32>
  %bo = stablehlo.constant dense<5> : tensor<3825xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<3825xi32>
  %bc = stablehlo.convert %bs : (tensor<3825xi32>) -> tensor<3825xbf16>
  %b = stablehlo.reshape %bc : (tensor<3825xbf16>) -> tensor<45x85xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [1]
      : (tensor<85x36xbf16>, tensor<45x85xbf16>) -> tensor<36x45xf32>
  %aw = stablehlo.convert %a : (tensor<85x36xbf16>) -> tensor<85x36xf32>
  %bw = stablehlo.convert %b : (tensor<45x85xbf16>) -> tensor<45x85xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [2, 0] : (tensor<85x36xf32>) -> tensor<36x45x85xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<45x85xf32>) -> tensor<36x45x85xf32>
  %xy = stablehlo.multiply %x, %y : tensor<36x45x85xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<36x45x85xf32>, tensor<f32>) -> tensor<36x45xf32>
  check.expect_eq %dot, %sum : tensor<36x45xf32>
  return
}


// -----

// batches, with a prologue and an epilogue
func.func @batches() {
  %ai = stablehlo.iota dim = 0 : tensor<8100xi32>
  %am = stablehlo.constant dense<7> : tensor<8100xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<8100xi32>
  %ad = stablehlo.constant dense<13> : tensor<8100xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<8100xi32>
  %ao = stablehlo.constant dense<6> : tensor<8100xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<8100xi32>
  %ac = stablehlo.convert %as : (tensor<8100xi32>) -> tensor<8100xbf16>
  %a = stablehlo.reshape %ac : (tensor<8100xbf16>) -> tensor<3x45x60xbf16>
  %bi = stablehlo.iota dim = 0 : tensor<9000xi32>
  %bm = stablehlo.constant dense<5> : tensor<9000xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<9000xi32>
  %bd = stablehlo.constant dense<11> : tensor<9000xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<9000xi32>
  %bo = stablehlo.constant dense<5> : tensor<9000xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<9000xi32>
  %bc = stablehlo.convert %bs : (tensor<9000xi32>) -> tensor<9000xbf16>
  %b = stablehlo.reshape %bc : (tensor<9000xbf16>) -> tensor<3x60x50xbf16>
  %a1 = stablehlo.add %a, %a : tensor<3x45x60xbf16>
  %b1 = stablehlo.negate %b : tensor<3x60x50xbf16>
  %dot = stablehlo.dot_general %a1, %b1, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : (tensor<3x45x60xbf16>, tensor<3x60x50xbf16>) -> tensor<3x45x50xf32>
  %aw = stablehlo.convert %a1 : (tensor<3x45x60xbf16>) -> tensor<3x45x60xf32>
  %bw = stablehlo.convert %b1 : (tensor<3x60x50xbf16>) -> tensor<3x60x50xf32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 1, 3] : (tensor<3x45x60xf32>) -> tensor<3x45x50x60xf32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [0, 3, 2] : (tensor<3x60x50xf32>) -> tensor<3x45x50x60xf32>
  %xy = stablehlo.multiply %x, %y : tensor<3x45x50x60xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [3]
      : (tensor<3x45x50x60xf32>, tensor<f32>) -> tensor<3x45x50xf32>
  %dot1 = stablehlo.multiply %dot, %dot : tensor<3x45x50xf32>
  %sum1 = stablehlo.multiply %sum, %sum : tensor<3x45x50xf32>
  check.expect_eq %dot1, %sum1 : tensor<3x45x50xf32>
  return
}


// -----

// signed bytes
func.func @bytes() {
  %ai = stablehlo.iota dim = 0 : tensor<4600xi32>
  %am = stablehlo.constant dense<7> : tensor<4600xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4600xi32>
  %ad = stablehlo.constant dense<255> : tensor<4600xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4600xi32>
  %ao = stablehlo.constant dense<127> : tensor<4600xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4600xi32>
  %ac = stablehlo.convert %as : (tensor<4600xi32>) -> tensor<4600xi8>
  %a = stablehlo.reshape %ac : (tensor<4600xi8>) -> tensor<40x115xi8>
  %bi = stablehlo.iota dim = 0 : tensor<3795xi32>
  %bm = stablehlo.constant dense<5> : tensor<3795xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<3795xi32>
  %bd = stablehlo.constant dense<251> : tensor<3795xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<3795xi32>
  %bo = stablehlo.constant dense<125> : tensor<3795xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<3795xi32>
  %bc = stablehlo.convert %bs : (tensor<3795xi32>) -> tensor<3795xi8>
  %b = stablehlo.reshape %bc : (tensor<3795xi8>) -> tensor<115x33xi8>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<40x115xi8>, tensor<115x33xi8>) -> tensor<40x33xi32>
  %aw = stablehlo.convert %a : (tensor<40x115xi8>) -> tensor<40x115xi32>
  %bw = stablehlo.convert %b : (tensor<115x33xi8>) -> tensor<115x33xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<40x115xi32>) -> tensor<40x33x115xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<115x33xi32>) -> tensor<40x33x115xi32>
  %xy = stablehlo.multiply %x, %y : tensor<40x33x115xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<40x33x115xi32>, tensor<i32>) -> tensor<40x33xi32>
  check.expect_eq %dot, %sum : tensor<40x33xi32>
  return
}


// -----

// several slabs
func.func @bytes_slabs() {
  %ai = stablehlo.iota dim = 0 : tensor<52500xi32>
  %am = stablehlo.constant dense<7> : tensor<52500xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<52500xi32>
  %ad = stablehlo.constant dense<255> : tensor<52500xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<52500xi32>
  %ao = stablehlo.constant dense<127> : tensor<52500xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<52500xi32>
  %ac = stablehlo.convert %as : (tensor<52500xi32>) -> tensor<52500xi8>
  %a = stablehlo.reshape %ac : (tensor<52500xi8>) -> tensor<25x2100xi8>
  %bi = stablehlo.iota dim = 0 : tensor<42000xi32>
  %bm = stablehlo.constant dense<5> : tensor<42000xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<42000xi32>
  %bd = stablehlo.constant dense<251> : tensor<42000xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<42000xi32>
  %bo = stablehlo.constant dense<125> : tensor<42000xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<42000xi32>
  %bc = stablehlo.convert %bs : (tensor<42000xi32>) -> tensor<42000xi8>
  %b = stablehlo.reshape %bc : (tensor<42000xi8>) -> tensor<2100x20xi8>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<25x2100xi8>, tensor<2100x20xi8>) -> tensor<25x20xi32>
  %aw = stablehlo.convert %a : (tensor<25x2100xi8>) -> tensor<25x2100xi32>
  %bw = stablehlo.convert %b : (tensor<2100x20xi8>) -> tensor<2100x20xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<25x2100xi32>) -> tensor<25x20x2100xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<2100x20xi32>) -> tensor<25x20x2100xi32>
  %xy = stablehlo.multiply %x, %y : tensor<25x20x2100xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<25x20x2100xi32>, tensor<i32>) -> tensor<25x20xi32>
  check.expect_eq %dot, %sum : tensor<25x20xi32>
  return
}


// -----

// prepacked panels
func.func @bytes_before() {
  %ai = stablehlo.iota dim = 0 : tensor<71750xi32>
  %am = stablehlo.constant dense<7> : tensor<71750xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<71750xi32>
  %ad = stablehlo.constant dense<255> : tensor<71750xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<71750xi32>
  %ao = stablehlo.constant dense<127> : tensor<71750xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<71750xi32>
  %ac = stablehlo.convert %as : (tensor<71750xi32>) -> tensor<71750xi8>
  %a = stablehlo.reshape %ac : (tensor<71750xi8>) -> tensor<175x410xi8>
  %bi = stablehlo.iota dim = 0 : tensor<8200xi32>
  %bm = stablehlo.constant dense<5> : tensor<8200xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<8200xi32>
  %bd = stablehlo.constant dense<251> : tensor<8200xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<8200xi32>
  %bo = stablehlo.constant dense<125> : tensor<8200xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<8200xi32>
  %bc = stablehlo.convert %bs : (tensor<8200xi32>) -> tensor<8200xi8>
  %b = stablehlo.reshape %bc : (tensor<8200xi8>) -> tensor<20x410xi8>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<175x410xi8>, tensor<20x410xi8>) -> tensor<175x20xi32>
  %aw = stablehlo.convert %a : (tensor<175x410xi8>) -> tensor<175x410xi32>
  %bw = stablehlo.convert %b : (tensor<20x410xi8>) -> tensor<20x410xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<175x410xi32>) -> tensor<175x20x410xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<20x410xi32>) -> tensor<175x20x410xi32>
  %xy = stablehlo.multiply %x, %y : tensor<175x20x410xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<175x20x410xi32>, tensor<i32>) -> tensor<175x20xi32>
  check.expect_eq %dot, %sum : tensor<175x20xi32>
  return
}


// -----

// too few for a tile
func.func @bytes_short() {
  %ai = stablehlo.iota dim = 0 : tensor<2170xi32>
  %am = stablehlo.constant dense<7> : tensor<2170xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<2170xi32>
  %ad = stablehlo.constant dense<255> : tensor<2170xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<2170xi32>
  %ao = stablehlo.constant dense<127> : tensor<2170xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<2170xi32>
  %ac = stablehlo.convert %as : (tensor<2170xi32>) -> tensor<2170xi8>
  %a = stablehlo.reshape %ac : (tensor<2170xi8>) -> tensor<70x31xi8>
  %bi = stablehlo.iota dim = 0 : tensor<2325xi32>
  %bm = stablehlo.constant dense<5> : tensor<2325xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<2325xi32>
  %bd = stablehlo.constant dense<251> : tensor<2325xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<2325xi32>
  %bo = stablehlo.constant dense<125> : tensor<2325xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<2325xi32>
  %bc = stablehlo.convert %bs : (tensor<2325xi32>) -> tensor<2325xi8>
  %b = stablehlo.reshape %bc : (tensor<2325xi8>) -> tensor<31x75xi8>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<70x31xi8>, tensor<31x75xi8>) -> tensor<70x75xi32>
  %aw = stablehlo.convert %a : (tensor<70x31xi8>) -> tensor<70x31xi32>
  %bw = stablehlo.convert %b : (tensor<31x75xi8>) -> tensor<31x75xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<70x31xi32>) -> tensor<70x75x31xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<31x75xi32>) -> tensor<70x75x31xi32>
  %xy = stablehlo.multiply %x, %y : tensor<70x75x31xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<70x75x31xi32>, tensor<i32>) -> tensor<70x75xi32>
  check.expect_eq %dot, %sum : tensor<70x75xi32>
  return
}


// -----

// unsigned bytes
func.func @unsigned() {
  %ai = stablehlo.iota dim = 0 : tensor<2624xi32>
  %am = stablehlo.constant dense<7> : tensor<2624xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<2624xi32>
  %ad = stablehlo.constant dense<256> : tensor<2624xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<2624xi32>
  %ao = stablehlo.constant dense<0> : tensor<2624xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<2624xi32>
  %ac = stablehlo.convert %as : (tensor<2624xi32>) -> tensor<2624xui8>
  %a = stablehlo.reshape %ac : (tensor<2624xui8>) -> tensor<41x64xui8>
  %bi = stablehlo.iota dim = 0 : tensor<3776xi32>
  %bm = stablehlo.constant dense<5> : tensor<3776xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<3776xi32>
  %bd = stablehlo.constant dense<253> : tensor<3776xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<3776xi32>
  %bo = stablehlo.constant dense<0> : tensor<3776xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<3776xi32>
  %bc = stablehlo.convert %bs : (tensor<3776xi32>) -> tensor<3776xui8>
  %b = stablehlo.reshape %bc : (tensor<3776xui8>) -> tensor<59x64xui8>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<41x64xui8>, tensor<59x64xui8>) -> tensor<41x59xi32>
  %aw = stablehlo.convert %a : (tensor<41x64xui8>) -> tensor<41x64xi32>
  %bw = stablehlo.convert %b : (tensor<59x64xui8>) -> tensor<59x64xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<41x64xi32>) -> tensor<41x59x64xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [1, 2] : (tensor<59x64xi32>) -> tensor<41x59x64xi32>
  %xy = stablehlo.multiply %x, %y : tensor<41x59x64xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<41x59x64xi32>, tensor<i32>) -> tensor<41x59xi32>
  check.expect_eq %dot, %sum : tensor<41x59xi32>
  return
}


// -----

// an unsigned lhs
func.func @left() {
  %ai = stablehlo.iota dim = 0 : tensor<4680xi32>
  %am = stablehlo.constant dense<7> : tensor<4680xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4680xi32>
  %ad = stablehlo.constant dense<256> : tensor<4680xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4680xi32>
  %ao = stablehlo.constant dense<0> : tensor<4680xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4680xi32>
  %ac = stablehlo.convert %as : (tensor<4680xi32>) -> tensor<4680xui8>
  %a = stablehlo.reshape %ac : (tensor<4680xui8>) -> tensor<36x130xui8>
  %bi = stablehlo.iota dim = 0 : tensor<4290xi32>
  %bm = stablehlo.constant dense<5> : tensor<4290xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<4290xi32>
  %bd = stablehlo.constant dense<251> : tensor<4290xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<4290xi32>
  %bo = stablehlo.constant dense<125> : tensor<4290xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<4290xi32>
  %bc = stablehlo.convert %bs : (tensor<4290xi32>) -> tensor<4290xi8>
  %b = stablehlo.reshape %bc : (tensor<4290xi8>) -> tensor<130x33xi8>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<36x130xui8>, tensor<130x33xi8>) -> tensor<36x33xi32>
  %aw = stablehlo.convert %a : (tensor<36x130xui8>) -> tensor<36x130xi32>
  %bw = stablehlo.convert %b : (tensor<130x33xi8>) -> tensor<130x33xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [0, 2] : (tensor<36x130xi32>) -> tensor<36x33x130xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<130x33xi32>) -> tensor<36x33x130xi32>
  %xy = stablehlo.multiply %x, %y : tensor<36x33x130xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<36x33x130xi32>, tensor<i32>) -> tensor<36x33xi32>
  check.expect_eq %dot, %sum : tensor<36x33xi32>
  return
}


// -----

// an unsigned rhs
func.func @right() {
  %ai = stablehlo.iota dim = 0 : tensor<4680xi32>
  %am = stablehlo.constant dense<7> : tensor<4680xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4680xi32>
  %ad = stablehlo.constant dense<255> : tensor<4680xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4680xi32>
  %ao = stablehlo.constant dense<127> : tensor<4680xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4680xi32>
  %ac = stablehlo.convert %as : (tensor<4680xi32>) -> tensor<4680xi8>
  %a = stablehlo.reshape %ac : (tensor<4680xi8>) -> tensor<130x36xi8>
  %bi = stablehlo.iota dim = 0 : tensor<4290xi32>
  %bm = stablehlo.constant dense<5> : tensor<4290xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<4290xi32>
  %bd = stablehlo.constant dense<256> : tensor<4290xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<4290xi32>
  %bo = stablehlo.constant dense<0> : tensor<4290xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<4290xi32>
  %bc = stablehlo.convert %bs : (tensor<4290xi32>) -> tensor<4290xui8>
  %b = stablehlo.reshape %bc : (tensor<4290xui8>) -> tensor<130x33xui8>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0]
      : (tensor<130x36xi8>, tensor<130x33xui8>) -> tensor<36x33xi32>
  %aw = stablehlo.convert %a : (tensor<130x36xi8>) -> tensor<130x36xi32>
  %bw = stablehlo.convert %b : (tensor<130x33xui8>) -> tensor<130x33xi32>
  %x = stablehlo.broadcast_in_dim %aw, dims = [2, 0] : (tensor<130x36xi32>) -> tensor<36x33x130xi32>
  %y = stablehlo.broadcast_in_dim %bw, dims = [2, 1] : (tensor<130x33xi32>) -> tensor<36x33x130xi32>
  %xy = stablehlo.multiply %x, %y : tensor<36x33x130xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2]
      : (tensor<36x33x130xi32>, tensor<i32>) -> tensor<36x33xi32>
  check.expect_eq %dot, %sum : tensor<36x33xi32>
  return
}
