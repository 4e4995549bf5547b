// Convolutions that are large enough for a register tile of pixels by features. All numbers are integers that the types have
// exactly; the expected number is the sum of all results, each times a small number that depends on its place.

// several rows of the image in a register tile, the last ones twice
func.func @rows_in_a_tile() {
  %xm = stablehlo.constant dense<7> : tensor<784xi32>
  %xd = stablehlo.constant dense<13> : tensor<784xi32>
  %xo = stablehlo.constant dense<6> : tensor<784xi32>
  %xi = stablehlo.iota dim = 0 : tensor<784xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<784xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<784xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<784xi32>
  %xc = stablehlo.convert %xs : (tensor<784xi32>) -> tensor<784xf32>
  %x = stablehlo.reshape %xc : (tensor<784xf32>) -> tensor<1x7x7x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<4608xi32>
  %wd = stablehlo.constant dense<11> : tensor<4608xi32>
  %wo = stablehlo.constant dense<5> : tensor<4608xi32>
  %wi = stablehlo.iota dim = 0 : tensor<4608xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<4608xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<4608xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<4608xi32>
  %wc = stablehlo.convert %ws : (tensor<4608xi32>) -> tensor<4608xf32>
  %w = stablehlo.reshape %wc : (tensor<4608xf32>) -> tensor<3x3x16x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x7x7x16xf32>, tensor<3x3x16x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x7x7x16xf32>, tensor<3x3x16x32xf32>) -> tensor<1x7x7x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<1568xi32>
  %hd = stablehlo.constant dense<19> : tensor<1568xi32>
  %ho = stablehlo.constant dense<9> : tensor<1568xi32>
  %hi = stablehlo.iota dim = 0 : tensor<1568xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<1568xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<1568xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<1568xi32>
  %h = stablehlo.reshape %hs : (tensor<1568xi32>) -> tensor<1x7x7x32xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x7x7x32xf32>) -> tensor<1x7x7x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x7x7x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x7x7x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<21154> : tensor<i32>
  return
}

// -----

// features that panels do not fill
func.func @panels() {
  %xm = stablehlo.constant dense<7> : tensor<1520xi32>
  %xd = stablehlo.constant dense<13> : tensor<1520xi32>
  %xo = stablehlo.constant dense<6> : tensor<1520xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1520xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1520xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1520xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1520xi32>
  %xc = stablehlo.convert %xs : (tensor<1520xi32>) -> tensor<1520xf32>
  %x = stablehlo.reshape %xc : (tensor<1520xf32>) -> tensor<1x5x19x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<5760xi32>
  %wd = stablehlo.constant dense<11> : tensor<5760xi32>
  %wo = stablehlo.constant dense<5> : tensor<5760xi32>
  %wi = stablehlo.iota dim = 0 : tensor<5760xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<5760xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<5760xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<5760xi32>
  %wc = stablehlo.convert %ws : (tensor<5760xi32>) -> tensor<5760xf32>
  %w = stablehlo.reshape %wc : (tensor<5760xf32>) -> tensor<3x3x16x40xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x5x19x16xf32>, tensor<3x3x16x40xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x5x19x16xf32>, tensor<3x3x16x40xf32>) -> tensor<1x5x19x40xf32>
  %hm = stablehlo.constant dense<3> : tensor<3800xi32>
  %hd = stablehlo.constant dense<19> : tensor<3800xi32>
  %ho = stablehlo.constant dense<9> : tensor<3800xi32>
  %hi = stablehlo.iota dim = 0 : tensor<3800xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<3800xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<3800xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<3800xi32>
  %h = stablehlo.reshape %hs : (tensor<3800xi32>) -> tensor<1x5x19x40xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x5x19x40xf32>) -> tensor<1x5x19x40xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x5x19x40xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x5x19x40xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<3050> : tensor<i32>
  return
}

// -----

func.func @stride() {
  %xm = stablehlo.constant dense<7> : tensor<3120xi32>
  %xd = stablehlo.constant dense<13> : tensor<3120xi32>
  %xo = stablehlo.constant dense<6> : tensor<3120xi32>
  %xi = stablehlo.iota dim = 0 : tensor<3120xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<3120xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<3120xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<3120xi32>
  %xc = stablehlo.convert %xs : (tensor<3120xi32>) -> tensor<3120xf32>
  %x = stablehlo.reshape %xc : (tensor<3120xf32>) -> tensor<1x15x13x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<6912xi32>
  %wd = stablehlo.constant dense<11> : tensor<6912xi32>
  %wo = stablehlo.constant dense<5> : tensor<6912xi32>
  %wi = stablehlo.iota dim = 0 : tensor<6912xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<6912xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<6912xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<6912xi32>
  %wc = stablehlo.convert %ws : (tensor<6912xi32>) -> tensor<6912xf32>
  %w = stablehlo.reshape %wc : (tensor<6912xf32>) -> tensor<3x3x16x48xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x15x13x16xf32>, tensor<3x3x16x48xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x15x13x16xf32>, tensor<3x3x16x48xf32>) -> tensor<1x8x7x48xf32>
  %hm = stablehlo.constant dense<3> : tensor<2688xi32>
  %hd = stablehlo.constant dense<19> : tensor<2688xi32>
  %ho = stablehlo.constant dense<9> : tensor<2688xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2688xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2688xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2688xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2688xi32>
  %h = stablehlo.reshape %hs : (tensor<2688xi32>) -> tensor<1x8x7x48xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x8x7x48xf32>) -> tensor<1x8x7x48xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x8x7x48xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x8x7x48xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-14911> : tensor<i32>
  return
}

// -----

// few channels, a large window
func.func @stem() {
  %xm = stablehlo.constant dense<7> : tensor<2880xi32>
  %xd = stablehlo.constant dense<13> : tensor<2880xi32>
  %xo = stablehlo.constant dense<6> : tensor<2880xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2880xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2880xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2880xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2880xi32>
  %xc = stablehlo.convert %xs : (tensor<2880xi32>) -> tensor<2880xf32>
  %x = stablehlo.reshape %xc : (tensor<2880xf32>) -> tensor<1x32x30x3xf32>
  %wm = stablehlo.constant dense<5> : tensor<4704xi32>
  %wd = stablehlo.constant dense<11> : tensor<4704xi32>
  %wo = stablehlo.constant dense<5> : tensor<4704xi32>
  %wi = stablehlo.iota dim = 0 : tensor<4704xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<4704xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<4704xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<4704xi32>
  %wc = stablehlo.convert %ws : (tensor<4704xi32>) -> tensor<4704xf32>
  %w = stablehlo.reshape %wc : (tensor<4704xf32>) -> tensor<7x7x3x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x32x30x3xf32>, tensor<7x7x3x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [2, 2], pad = [[3, 3], [3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x32x30x3xf32>, tensor<7x7x3x32xf32>) -> tensor<1x16x15x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<7680xi32>
  %hd = stablehlo.constant dense<19> : tensor<7680xi32>
  %ho = stablehlo.constant dense<9> : tensor<7680xi32>
  %hi = stablehlo.iota dim = 0 : tensor<7680xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<7680xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<7680xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<7680xi32>
  %h = stablehlo.reshape %hs : (tensor<7680xi32>) -> tensor<1x16x15x32xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x16x15x32xf32>) -> tensor<1x16x15x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x16x15x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x16x15x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-33890> : tensor<i32>
  return
}

// -----

func.func @stem_planes() {
  %xm = stablehlo.constant dense<7> : tensor<2880xi32>
  %xd = stablehlo.constant dense<13> : tensor<2880xi32>
  %xo = stablehlo.constant dense<6> : tensor<2880xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2880xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2880xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2880xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2880xi32>
  %xc = stablehlo.convert %xs : (tensor<2880xi32>) -> tensor<2880xf32>
  %x = stablehlo.reshape %xc : (tensor<2880xf32>) -> tensor<1x3x32x30xf32>
  %wm = stablehlo.constant dense<5> : tensor<4704xi32>
  %wd = stablehlo.constant dense<11> : tensor<4704xi32>
  %wo = stablehlo.constant dense<5> : tensor<4704xi32>
  %wi = stablehlo.iota dim = 0 : tensor<4704xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<4704xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<4704xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<4704xi32>
  %wc = stablehlo.convert %ws : (tensor<4704xi32>) -> tensor<4704xf32>
  %w = stablehlo.reshape %wc : (tensor<4704xf32>) -> tensor<32x3x7x7xf32>
  %y0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[3, 3], [3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x3x32x30xf32>, tensor<32x3x7x7xf32>) -> tensor<1x32x16x15xf32>
  %hm = stablehlo.constant dense<3> : tensor<7680xi32>
  %hd = stablehlo.constant dense<19> : tensor<7680xi32>
  %ho = stablehlo.constant dense<9> : tensor<7680xi32>
  %hi = stablehlo.iota dim = 0 : tensor<7680xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<7680xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<7680xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<7680xi32>
  %h = stablehlo.reshape %hs : (tensor<7680xi32>) -> tensor<1x32x16x15xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x32x16x15xf32>) -> tensor<1x32x16x15xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x32x16x15xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x32x16x15xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-7653> : tensor<i32>
  return
}

// -----

// channels that are planes
func.func @planes() {
  %xm = stablehlo.constant dense<7> : tensor<1296xi32>
  %xd = stablehlo.constant dense<13> : tensor<1296xi32>
  %xo = stablehlo.constant dense<6> : tensor<1296xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1296xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1296xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1296xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1296xi32>
  %xc = stablehlo.convert %xs : (tensor<1296xi32>) -> tensor<1296xf32>
  %x = stablehlo.reshape %xc : (tensor<1296xf32>) -> tensor<1x8x9x18xf32>
  %wm = stablehlo.constant dense<5> : tensor<2304xi32>
  %wd = stablehlo.constant dense<11> : tensor<2304xi32>
  %wo = stablehlo.constant dense<5> : tensor<2304xi32>
  %wi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<2304xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<2304xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<2304xi32>
  %wc = stablehlo.convert %ws : (tensor<2304xi32>) -> tensor<2304xf32>
  %w = stablehlo.reshape %wc : (tensor<2304xf32>) -> tensor<32x8x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x8x9x18xf32>, tensor<32x8x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x8x9x18xf32>, tensor<32x8x3x3xf32>) -> tensor<1x32x9x18xf32>
  %hm = stablehlo.constant dense<3> : tensor<5184xi32>
  %hd = stablehlo.constant dense<19> : tensor<5184xi32>
  %ho = stablehlo.constant dense<9> : tensor<5184xi32>
  %hi = stablehlo.iota dim = 0 : tensor<5184xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<5184xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<5184xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<5184xi32>
  %h = stablehlo.reshape %hs : (tensor<5184xi32>) -> tensor<1x32x9x18xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x32x9x18xf32>) -> tensor<1x32x9x18xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x32x9x18xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x32x9x18xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<2185> : tensor<i32>
  return
}

// -----

// one tap: pixels of all rows are a line
func.func @pointwise() {
  %xm = stablehlo.constant dense<7> : tensor<3024xi32>
  %xd = stablehlo.constant dense<13> : tensor<3024xi32>
  %xo = stablehlo.constant dense<6> : tensor<3024xi32>
  %xi = stablehlo.iota dim = 0 : tensor<3024xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<3024xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<3024xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<3024xi32>
  %xc = stablehlo.convert %xs : (tensor<3024xi32>) -> tensor<3024xf32>
  %x = stablehlo.reshape %xc : (tensor<3024xf32>) -> tensor<2x9x7x24xf32>
  %wm = stablehlo.constant dense<5> : tensor<960xi32>
  %wd = stablehlo.constant dense<11> : tensor<960xi32>
  %wo = stablehlo.constant dense<5> : tensor<960xi32>
  %wi = stablehlo.iota dim = 0 : tensor<960xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<960xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<960xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<960xi32>
  %wc = stablehlo.convert %ws : (tensor<960xi32>) -> tensor<960xf32>
  %w = stablehlo.reshape %wc : (tensor<960xf32>) -> tensor<1x1x24x40xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<2x9x7x24xf32>, tensor<1x1x24x40xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x9x7x24xf32>, tensor<1x1x24x40xf32>) -> tensor<2x9x7x40xf32>
  %hm = stablehlo.constant dense<3> : tensor<5040xi32>
  %hd = stablehlo.constant dense<19> : tensor<5040xi32>
  %ho = stablehlo.constant dense<9> : tensor<5040xi32>
  %hi = stablehlo.iota dim = 0 : tensor<5040xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<5040xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<5040xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<5040xi32>
  %h = stablehlo.reshape %hs : (tensor<5040xi32>) -> tensor<2x9x7x40xi32>
  %yi = stablehlo.convert %y0 : (tensor<2x9x7x40xf32>) -> tensor<2x9x7x40xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<2x9x7x40xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<2x9x7x40xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<1619> : tensor<i32>
  return
}

// -----

func.func @pointwise_strided() {
  %xm = stablehlo.constant dense<7> : tensor<1512xi32>
  %xd = stablehlo.constant dense<13> : tensor<1512xi32>
  %xo = stablehlo.constant dense<6> : tensor<1512xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1512xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1512xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1512xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1512xi32>
  %xc = stablehlo.convert %xs : (tensor<1512xi32>) -> tensor<1512xf32>
  %x = stablehlo.reshape %xc : (tensor<1512xf32>) -> tensor<1x9x7x24xf32>
  %wm = stablehlo.constant dense<5> : tensor<960xi32>
  %wd = stablehlo.constant dense<11> : tensor<960xi32>
  %wo = stablehlo.constant dense<5> : tensor<960xi32>
  %wi = stablehlo.iota dim = 0 : tensor<960xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<960xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<960xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<960xi32>
  %wc = stablehlo.convert %ws : (tensor<960xi32>) -> tensor<960xf32>
  %w = stablehlo.reshape %wc : (tensor<960xf32>) -> tensor<1x1x24x40xf32>
  %y0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x9x7x24xf32>, tensor<1x1x24x40xf32>) -> tensor<1x5x4x40xf32>
  %hm = stablehlo.constant dense<3> : tensor<800xi32>
  %hd = stablehlo.constant dense<19> : tensor<800xi32>
  %ho = stablehlo.constant dense<9> : tensor<800xi32>
  %hi = stablehlo.iota dim = 0 : tensor<800xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<800xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<800xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<800xi32>
  %h = stablehlo.reshape %hs : (tensor<800xi32>) -> tensor<1x5x4x40xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x5x4x40xf32>) -> tensor<1x5x4x40xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x5x4x40xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x5x4x40xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<3546> : tensor<i32>
  return
}

// -----

func.func @dilated() {
  %xm = stablehlo.constant dense<7> : tensor<1800xi32>
  %xd = stablehlo.constant dense<13> : tensor<1800xi32>
  %xo = stablehlo.constant dense<6> : tensor<1800xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1800xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1800xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1800xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1800xi32>
  %xc = stablehlo.convert %xs : (tensor<1800xi32>) -> tensor<1800xf32>
  %x = stablehlo.reshape %xc : (tensor<1800xf32>) -> tensor<1x15x15x8xf32>
  %wm = stablehlo.constant dense<5> : tensor<2304xi32>
  %wd = stablehlo.constant dense<11> : tensor<2304xi32>
  %wo = stablehlo.constant dense<5> : tensor<2304xi32>
  %wi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<2304xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<2304xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<2304xi32>
  %wc = stablehlo.convert %ws : (tensor<2304xi32>) -> tensor<2304xf32>
  %w = stablehlo.reshape %wc : (tensor<2304xf32>) -> tensor<3x3x8x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x15x15x8xf32>, tensor<3x3x8x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[2, 2], [3, 3]], rhs_dilate = [2, 3]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x15x15x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x15x15x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<7200xi32>
  %hd = stablehlo.constant dense<19> : tensor<7200xi32>
  %ho = stablehlo.constant dense<9> : tensor<7200xi32>
  %hi = stablehlo.iota dim = 0 : tensor<7200xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<7200xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<7200xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<7200xi32>
  %h = stablehlo.reshape %hs : (tensor<7200xi32>) -> tensor<1x15x15x32xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x15x15x32xf32>) -> tensor<1x15x15x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x15x15x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x15x15x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<1339> : tensor<i32>
  return
}

// -----

func.func @groups() {
  %xm = stablehlo.constant dense<7> : tensor<3200xi32>
  %xd = stablehlo.constant dense<13> : tensor<3200xi32>
  %xo = stablehlo.constant dense<6> : tensor<3200xi32>
  %xi = stablehlo.iota dim = 0 : tensor<3200xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<3200xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<3200xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<3200xi32>
  %xc = stablehlo.convert %xs : (tensor<3200xi32>) -> tensor<3200xf32>
  %x = stablehlo.reshape %xc : (tensor<3200xf32>) -> tensor<1x10x10x32xf32>
  %wm = stablehlo.constant dense<5> : tensor<9216xi32>
  %wd = stablehlo.constant dense<11> : tensor<9216xi32>
  %wo = stablehlo.constant dense<5> : tensor<9216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<9216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<9216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<9216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<9216xi32>
  %wc = stablehlo.convert %ws : (tensor<9216xi32>) -> tensor<9216xf32>
  %w = stablehlo.reshape %wc : (tensor<9216xf32>) -> tensor<3x3x16x64xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x10x10x32xf32>, tensor<3x3x16x64xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<1x10x10x32xf32>, tensor<3x3x16x64xf32>) -> tensor<1x10x10x64xf32>
  %hm = stablehlo.constant dense<3> : tensor<6400xi32>
  %hd = stablehlo.constant dense<19> : tensor<6400xi32>
  %ho = stablehlo.constant dense<9> : tensor<6400xi32>
  %hi = stablehlo.iota dim = 0 : tensor<6400xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<6400xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<6400xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<6400xi32>
  %h = stablehlo.reshape %hs : (tensor<6400xi32>) -> tensor<1x10x10x64xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x10x10x64xf32>) -> tensor<1x10x10x64xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x10x10x64xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x10x10x64xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-11437> : tensor<i32>
  return
}

// -----

func.func @reversed() {
  %xm = stablehlo.constant dense<7> : tensor<800xi32>
  %xd = stablehlo.constant dense<13> : tensor<800xi32>
  %xo = stablehlo.constant dense<6> : tensor<800xi32>
  %xi = stablehlo.iota dim = 0 : tensor<800xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<800xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<800xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<800xi32>
  %xc = stablehlo.convert %xs : (tensor<800xi32>) -> tensor<800xf32>
  %x = stablehlo.reshape %xc : (tensor<800xf32>) -> tensor<1x10x10x8xf32>
  %wm = stablehlo.constant dense<5> : tensor<2304xi32>
  %wd = stablehlo.constant dense<11> : tensor<2304xi32>
  %wo = stablehlo.constant dense<5> : tensor<2304xi32>
  %wi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<2304xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<2304xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<2304xi32>
  %wc = stablehlo.convert %ws : (tensor<2304xi32>) -> tensor<2304xf32>
  %w = stablehlo.reshape %wc : (tensor<2304xf32>) -> tensor<3x3x8x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x10x10x8xf32>, tensor<3x3x8x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x10x10x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x10x10x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<3200xi32>
  %hd = stablehlo.constant dense<19> : tensor<3200xi32>
  %ho = stablehlo.constant dense<9> : tensor<3200xi32>
  %hi = stablehlo.iota dim = 0 : tensor<3200xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<3200xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<3200xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<3200xi32>
  %h = stablehlo.reshape %hs : (tensor<3200xi32>) -> tensor<1x10x10x32xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x10x10x32xf32>) -> tensor<1x10x10x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x10x10x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x10x10x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-3969> : tensor<i32>
  return
}

// -----

// holes between the elements of the input
func.func @holes() {
  %xm = stablehlo.constant dense<7> : tensor<336xi32>
  %xd = stablehlo.constant dense<13> : tensor<336xi32>
  %xo = stablehlo.constant dense<6> : tensor<336xi32>
  %xi = stablehlo.iota dim = 0 : tensor<336xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<336xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<336xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<336xi32>
  %xc = stablehlo.convert %xs : (tensor<336xi32>) -> tensor<336xf32>
  %x = stablehlo.reshape %xc : (tensor<336xf32>) -> tensor<1x7x6x8xf32>
  %wm = stablehlo.constant dense<5> : tensor<2304xi32>
  %wd = stablehlo.constant dense<11> : tensor<2304xi32>
  %wo = stablehlo.constant dense<5> : tensor<2304xi32>
  %wi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<2304xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<2304xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<2304xi32>
  %wc = stablehlo.convert %ws : (tensor<2304xi32>) -> tensor<2304xf32>
  %w = stablehlo.reshape %wc : (tensor<2304xf32>) -> tensor<3x3x8x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x7x6x8xf32>, tensor<3x3x8x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 2], [2, 0]], lhs_dilate = [2, 3]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x7x6x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x14x16x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<7168xi32>
  %hd = stablehlo.constant dense<19> : tensor<7168xi32>
  %ho = stablehlo.constant dense<9> : tensor<7168xi32>
  %hi = stablehlo.iota dim = 0 : tensor<7168xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<7168xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<7168xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<7168xi32>
  %h = stablehlo.reshape %hs : (tensor<7168xi32>) -> tensor<1x14x16x32xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x14x16x32xf32>) -> tensor<1x14x16x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x14x16x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x14x16x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<12630> : tensor<i32>
  return
}

// -----

// negative padding
func.func @cropped() {
  %xm = stablehlo.constant dense<7> : tensor<1568xi32>
  %xd = stablehlo.constant dense<13> : tensor<1568xi32>
  %xo = stablehlo.constant dense<6> : tensor<1568xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1568xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1568xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1568xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1568xi32>
  %xc = stablehlo.convert %xs : (tensor<1568xi32>) -> tensor<1568xf32>
  %x = stablehlo.reshape %xc : (tensor<1568xf32>) -> tensor<1x14x14x8xf32>
  %wm = stablehlo.constant dense<5> : tensor<2304xi32>
  %wd = stablehlo.constant dense<11> : tensor<2304xi32>
  %wo = stablehlo.constant dense<5> : tensor<2304xi32>
  %wi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<2304xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<2304xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<2304xi32>
  %wc = stablehlo.convert %ws : (tensor<2304xi32>) -> tensor<2304xf32>
  %w = stablehlo.reshape %wc : (tensor<2304xf32>) -> tensor<3x3x8x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x14x14x8xf32>, tensor<3x3x8x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[-1, 2], [2, -3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x14x14x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x13x11x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<4576xi32>
  %hd = stablehlo.constant dense<19> : tensor<4576xi32>
  %ho = stablehlo.constant dense<9> : tensor<4576xi32>
  %hi = stablehlo.iota dim = 0 : tensor<4576xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<4576xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<4576xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<4576xi32>
  %h = stablehlo.reshape %hs : (tensor<4576xi32>) -> tensor<1x13x11x32xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x13x11x32xf32>) -> tensor<1x13x11x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x13x11x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x13x11x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-16421> : tensor<i32>
  return
}

// -----

// windows that never leave the input, which is read in place
func.func @inside() {
  %xm = stablehlo.constant dense<7> : tensor<1920xi32>
  %xd = stablehlo.constant dense<13> : tensor<1920xi32>
  %xo = stablehlo.constant dense<6> : tensor<1920xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1920xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1920xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1920xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1920xi32>
  %xc = stablehlo.convert %xs : (tensor<1920xi32>) -> tensor<1920xf32>
  %x = stablehlo.reshape %xc : (tensor<1920xf32>) -> tensor<1x12x20x8xf32>
  %wm = stablehlo.constant dense<5> : tensor<2304xi32>
  %wd = stablehlo.constant dense<11> : tensor<2304xi32>
  %wo = stablehlo.constant dense<5> : tensor<2304xi32>
  %wi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<2304xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<2304xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<2304xi32>
  %wc = stablehlo.convert %ws : (tensor<2304xi32>) -> tensor<2304xf32>
  %w = stablehlo.reshape %wc : (tensor<2304xf32>) -> tensor<3x3x8x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x12x20x8xf32>, tensor<3x3x8x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [1, 2], pad = [[0, 0], [-2, -1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x12x20x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x10x8x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<2560xi32>
  %hd = stablehlo.constant dense<19> : tensor<2560xi32>
  %ho = stablehlo.constant dense<9> : tensor<2560xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2560xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2560xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2560xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2560xi32>
  %h = stablehlo.reshape %hs : (tensor<2560xi32>) -> tensor<1x10x8x32xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x10x8x32xf32>) -> tensor<1x10x8x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x10x8x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x10x8x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<9585> : tensor<i32>
  return
}

// -----

// small images of a batch
func.func @batch() {
  %xm = stablehlo.constant dense<7> : tensor<480xi32>
  %xd = stablehlo.constant dense<13> : tensor<480xi32>
  %xo = stablehlo.constant dense<6> : tensor<480xi32>
  %xi = stablehlo.iota dim = 0 : tensor<480xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<480xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<480xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<480xi32>
  %xc = stablehlo.convert %xs : (tensor<480xi32>) -> tensor<480xf32>
  %x = stablehlo.reshape %xc : (tensor<480xf32>) -> tensor<5x3x2x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<9216xi32>
  %wd = stablehlo.constant dense<11> : tensor<9216xi32>
  %wo = stablehlo.constant dense<5> : tensor<9216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<9216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<9216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<9216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<9216xi32>
  %wc = stablehlo.convert %ws : (tensor<9216xi32>) -> tensor<9216xf32>
  %w = stablehlo.reshape %wc : (tensor<9216xf32>) -> tensor<3x3x16x64xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<5x3x2x16xf32>, tensor<3x3x16x64xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<5x3x2x16xf32>, tensor<3x3x16x64xf32>) -> tensor<5x3x2x64xf32>
  %hm = stablehlo.constant dense<3> : tensor<1920xi32>
  %hd = stablehlo.constant dense<19> : tensor<1920xi32>
  %ho = stablehlo.constant dense<9> : tensor<1920xi32>
  %hi = stablehlo.iota dim = 0 : tensor<1920xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<1920xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<1920xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<1920xi32>
  %h = stablehlo.reshape %hs : (tensor<1920xi32>) -> tensor<5x3x2x64xi32>
  %yi = stablehlo.convert %y0 : (tensor<5x3x2x64xf32>) -> tensor<5x3x2x64xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<5x3x2x64xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<5x3x2x64xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-26979> : tensor<i32>
  return
}

// -----

// one spatial dimension
func.func @line() {
  %xm = stablehlo.constant dense<7> : tensor<400xi32>
  %xd = stablehlo.constant dense<13> : tensor<400xi32>
  %xo = stablehlo.constant dense<6> : tensor<400xi32>
  %xi = stablehlo.iota dim = 0 : tensor<400xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<400xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<400xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<400xi32>
  %xc = stablehlo.convert %xs : (tensor<400xi32>) -> tensor<400xf32>
  %x = stablehlo.reshape %xc : (tensor<400xf32>) -> tensor<1x50x8xf32>
  %wm = stablehlo.constant dense<5> : tensor<1280xi32>
  %wd = stablehlo.constant dense<11> : tensor<1280xi32>
  %wo = stablehlo.constant dense<5> : tensor<1280xi32>
  %wi = stablehlo.iota dim = 0 : tensor<1280xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<1280xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<1280xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<1280xi32>
  %wc = stablehlo.convert %ws : (tensor<1280xi32>) -> tensor<1280xf32>
  %w = stablehlo.reshape %wc : (tensor<1280xf32>) -> tensor<5x8x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x50x8xf32>, tensor<5x8x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
      window = {pad = [[2, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x50x8xf32>, tensor<5x8x32xf32>) -> tensor<1x50x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<1600xi32>
  %hd = stablehlo.constant dense<19> : tensor<1600xi32>
  %ho = stablehlo.constant dense<9> : tensor<1600xi32>
  %hi = stablehlo.iota dim = 0 : tensor<1600xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<1600xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<1600xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<1600xi32>
  %h = stablehlo.reshape %hs : (tensor<1600xi32>) -> tensor<1x50x32xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x50x32xf32>) -> tensor<1x50x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x50x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2]
      : (tensor<1x50x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<910> : tensor<i32>
  return
}

// -----

// three spatial dimensions
func.func @volume() {
  %xm = stablehlo.constant dense<7> : tensor<1680xi32>
  %xd = stablehlo.constant dense<13> : tensor<1680xi32>
  %xo = stablehlo.constant dense<6> : tensor<1680xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1680xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1680xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1680xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1680xi32>
  %xc = stablehlo.convert %xs : (tensor<1680xi32>) -> tensor<1680xf32>
  %x = stablehlo.reshape %xc : (tensor<1680xf32>) -> tensor<1x5x6x7x8xf32>
  %wm = stablehlo.constant dense<5> : tensor<2304xi32>
  %wd = stablehlo.constant dense<11> : tensor<2304xi32>
  %wo = stablehlo.constant dense<5> : tensor<2304xi32>
  %wi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<2304xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<2304xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<2304xi32>
  %wc = stablehlo.convert %ws : (tensor<2304xi32>) -> tensor<2304xf32>
  %w = stablehlo.reshape %wc : (tensor<2304xf32>) -> tensor<3x2x3x8x16xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x5x6x7x8xf32>, tensor<3x2x3x8x16xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f],
      window = {stride = [1, 1, 2], pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x5x6x7x8xf32>, tensor<3x2x3x8x16xf32>) -> tensor<1x5x7x4x16xf32>
  %hm = stablehlo.constant dense<3> : tensor<2240xi32>
  %hd = stablehlo.constant dense<19> : tensor<2240xi32>
  %ho = stablehlo.constant dense<9> : tensor<2240xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2240xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2240xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2240xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2240xi32>
  %h = stablehlo.reshape %hs : (tensor<2240xi32>) -> tensor<1x5x7x4x16xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x5x7x4x16xf32>) -> tensor<1x5x7x4x16xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x5x7x4x16xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3, 4]
      : (tensor<1x5x7x4x16xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<6203> : tensor<i32>
  return
}

// -----

func.func @doubles() {
  %xm = stablehlo.constant dense<7> : tensor<512xi32>
  %xd = stablehlo.constant dense<13> : tensor<512xi32>
  %xo = stablehlo.constant dense<6> : tensor<512xi32>
  %xi = stablehlo.iota dim = 0 : tensor<512xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<512xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<512xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<512xi32>
  %xc = stablehlo.convert %xs : (tensor<512xi32>) -> tensor<512xf64>
  %x = stablehlo.reshape %xc : (tensor<512xf64>) -> tensor<1x8x8x8xf64>
  %wm = stablehlo.constant dense<5> : tensor<2304xi32>
  %wd = stablehlo.constant dense<11> : tensor<2304xi32>
  %wo = stablehlo.constant dense<5> : tensor<2304xi32>
  %wi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<2304xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<2304xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<2304xi32>
  %wc = stablehlo.convert %ws : (tensor<2304xi32>) -> tensor<2304xf64>
  %w = stablehlo.reshape %wc : (tensor<2304xf64>) -> tensor<3x3x8x32xf64>
  %y0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x8x8x8xf64>, tensor<3x3x8x32xf64>) -> tensor<1x8x8x32xf64>
  %hm = stablehlo.constant dense<3> : tensor<2048xi32>
  %hd = stablehlo.constant dense<19> : tensor<2048xi32>
  %ho = stablehlo.constant dense<9> : tensor<2048xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2048xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2048xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2048xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2048xi32>
  %h = stablehlo.reshape %hs : (tensor<2048xi32>) -> tensor<1x8x8x32xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x8x8x32xf64>) -> tensor<1x8x8x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x8x8x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x8x8x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-1333> : tensor<i32>
  return
}

// -----

// operands are widened
func.func @narrow() {
  %xm = stablehlo.constant dense<7> : tensor<576xi32>
  %xd = stablehlo.constant dense<13> : tensor<576xi32>
  %xo = stablehlo.constant dense<6> : tensor<576xi32>
  %xi = stablehlo.iota dim = 0 : tensor<576xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<576xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<576xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<576xi32>
  %xc = stablehlo.convert %xs : (tensor<576xi32>) -> tensor<576xbf16>
  %x = stablehlo.reshape %xc : (tensor<576xbf16>) -> tensor<1x8x9x8xbf16>
  %wm = stablehlo.constant dense<5> : tensor<2304xi32>
  %wd = stablehlo.constant dense<11> : tensor<2304xi32>
  %wo = stablehlo.constant dense<5> : tensor<2304xi32>
  %wi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<2304xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<2304xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<2304xi32>
  %wc = stablehlo.convert %ws : (tensor<2304xi32>) -> tensor<2304xbf16>
  %w = stablehlo.reshape %wc : (tensor<2304xbf16>) -> tensor<3x3x8x32xbf16>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x8x9x8xbf16>, tensor<3x3x8x32xbf16>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x8x9x8xbf16>, tensor<3x3x8x32xbf16>) -> tensor<1x8x9x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<2304xi32>
  %hd = stablehlo.constant dense<19> : tensor<2304xi32>
  %ho = stablehlo.constant dense<9> : tensor<2304xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2304xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2304xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2304xi32>
  %h = stablehlo.reshape %hs : (tensor<2304xi32>) -> tensor<1x8x9x32xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x8x9x32xf32>) -> tensor<1x8x9x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x8x9x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x8x9x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-3421> : tensor<i32>
  return
}

// -----

func.func @epilogue() {
  %xm = stablehlo.constant dense<7> : tensor<2288xi32>
  %xd = stablehlo.constant dense<13> : tensor<2288xi32>
  %xo = stablehlo.constant dense<6> : tensor<2288xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2288xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2288xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2288xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2288xi32>
  %xc = stablehlo.convert %xs : (tensor<2288xi32>) -> tensor<2288xf32>
  %x = stablehlo.reshape %xc : (tensor<2288xf32>) -> tensor<1x11x13x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<4608xi32>
  %wd = stablehlo.constant dense<11> : tensor<4608xi32>
  %wo = stablehlo.constant dense<5> : tensor<4608xi32>
  %wi = stablehlo.iota dim = 0 : tensor<4608xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<4608xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<4608xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<4608xi32>
  %wc = stablehlo.convert %ws : (tensor<4608xi32>) -> tensor<4608xf32>
  %w = stablehlo.reshape %wc : (tensor<4608xf32>) -> tensor<3x3x16x32xf32>
  %y0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x11x13x16xf32>, tensor<3x3x16x32xf32>) -> tensor<1x11x13x32xf32>
  %bm = stablehlo.constant dense<3> : tensor<32xi32>
  %bd = stablehlo.constant dense<7> : tensor<32xi32>
  %bo = stablehlo.constant dense<3> : tensor<32xi32>
  %bi = stablehlo.iota dim = 0 : tensor<32xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<32xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<32xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<32xi32>
  %bc = stablehlo.convert %bs : (tensor<32xi32>) -> tensor<32xf32>
  %b = stablehlo.reshape %bc : (tensor<32xf32>) -> tensor<32xf32>
  %am = stablehlo.constant dense<3> : tensor<4576xi32>
  %ad = stablehlo.constant dense<17> : tensor<4576xi32>
  %ao = stablehlo.constant dense<8> : tensor<4576xi32>
  %ai = stablehlo.iota dim = 0 : tensor<4576xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4576xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4576xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4576xi32>
  %ac = stablehlo.convert %as : (tensor<4576xi32>) -> tensor<4576xf32>
  %a = stablehlo.reshape %ac : (tensor<4576xf32>) -> tensor<1x11x13x32xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<32xf32>) -> tensor<1x11x13x32xf32>
  %y1 = stablehlo.add %y0, %bb : tensor<1x11x13x32xf32>
  %y2 = stablehlo.add %y1, %a : tensor<1x11x13x32xf32>
  %z0 = stablehlo.constant dense<0.0> : tensor<1x11x13x32xf32>
  %y3 = stablehlo.maximum %y2, %z0 : tensor<1x11x13x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<4576xi32>
  %hd = stablehlo.constant dense<19> : tensor<4576xi32>
  %ho = stablehlo.constant dense<9> : tensor<4576xi32>
  %hi = stablehlo.iota dim = 0 : tensor<4576xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<4576xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<4576xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<4576xi32>
  %h = stablehlo.reshape %hs : (tensor<4576xi32>) -> tensor<1x11x13x32xi32>
  %yi = stablehlo.convert %y3 : (tensor<1x11x13x32xf32>) -> tensor<1x11x13x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x11x13x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x11x13x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-17932> : tensor<i32>
  return
}

// -----

func.func @epilogue_planes() {
  %xm = stablehlo.constant dense<7> : tensor<2288xi32>
  %xd = stablehlo.constant dense<13> : tensor<2288xi32>
  %xo = stablehlo.constant dense<6> : tensor<2288xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2288xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2288xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2288xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2288xi32>
  %xc = stablehlo.convert %xs : (tensor<2288xi32>) -> tensor<2288xf32>
  %x = stablehlo.reshape %xc : (tensor<2288xf32>) -> tensor<1x16x11x13xf32>
  %wm = stablehlo.constant dense<5> : tensor<4608xi32>
  %wd = stablehlo.constant dense<11> : tensor<4608xi32>
  %wo = stablehlo.constant dense<5> : tensor<4608xi32>
  %wi = stablehlo.iota dim = 0 : tensor<4608xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<4608xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<4608xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<4608xi32>
  %wc = stablehlo.convert %ws : (tensor<4608xi32>) -> tensor<4608xf32>
  %w = stablehlo.reshape %wc : (tensor<4608xf32>) -> tensor<32x16x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x16x11x13xf32>, tensor<32x16x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x16x11x13xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x11x13xf32>
  %bm = stablehlo.constant dense<3> : tensor<32xi32>
  %bd = stablehlo.constant dense<7> : tensor<32xi32>
  %bo = stablehlo.constant dense<3> : tensor<32xi32>
  %bi = stablehlo.iota dim = 0 : tensor<32xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<32xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<32xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<32xi32>
  %bc = stablehlo.convert %bs : (tensor<32xi32>) -> tensor<32xf32>
  %b = stablehlo.reshape %bc : (tensor<32xf32>) -> tensor<32xf32>
  %am = stablehlo.constant dense<3> : tensor<4576xi32>
  %ad = stablehlo.constant dense<17> : tensor<4576xi32>
  %ao = stablehlo.constant dense<8> : tensor<4576xi32>
  %ai = stablehlo.iota dim = 0 : tensor<4576xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<4576xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<4576xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<4576xi32>
  %ac = stablehlo.convert %as : (tensor<4576xi32>) -> tensor<4576xf32>
  %a = stablehlo.reshape %ac : (tensor<4576xf32>) -> tensor<1x32x11x13xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<32xf32>) -> tensor<1x32x11x13xf32>
  %y1 = stablehlo.add %y0, %bb : tensor<1x32x11x13xf32>
  %y2 = stablehlo.add %y1, %a : tensor<1x32x11x13xf32>
  %z0 = stablehlo.constant dense<0.0> : tensor<1x32x11x13xf32>
  %y3 = stablehlo.maximum %y2, %z0 : tensor<1x32x11x13xf32>
  %hm = stablehlo.constant dense<3> : tensor<4576xi32>
  %hd = stablehlo.constant dense<19> : tensor<4576xi32>
  %ho = stablehlo.constant dense<9> : tensor<4576xi32>
  %hi = stablehlo.iota dim = 0 : tensor<4576xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<4576xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<4576xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<4576xi32>
  %h = stablehlo.reshape %hs : (tensor<4576xi32>) -> tensor<1x32x11x13xi32>
  %yi = stablehlo.convert %y3 : (tensor<1x32x11x13xf32>) -> tensor<1x32x11x13xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x32x11x13xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x32x11x13xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-14> : tensor<i32>
  return
}

// -----

// results that are added to a value that nothing else reads, the last rows of a tile twice
func.func @residual() {
  %xm = stablehlo.constant dense<7> : tensor<784xi32>
  %xd = stablehlo.constant dense<13> : tensor<784xi32>
  %xo = stablehlo.constant dense<6> : tensor<784xi32>
  %xi = stablehlo.iota dim = 0 : tensor<784xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<784xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<784xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<784xi32>
  %xc = stablehlo.convert %xs : (tensor<784xi32>) -> tensor<784xf32>
  %x = stablehlo.reshape %xc : (tensor<784xf32>) -> tensor<1x7x7x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<4608xi32>
  %wd = stablehlo.constant dense<11> : tensor<4608xi32>
  %wo = stablehlo.constant dense<5> : tensor<4608xi32>
  %wi = stablehlo.iota dim = 0 : tensor<4608xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<4608xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<4608xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<4608xi32>
  %wc = stablehlo.convert %ws : (tensor<4608xi32>) -> tensor<4608xf32>
  %w = stablehlo.reshape %wc : (tensor<4608xf32>) -> tensor<3x3x16x32xf32>
  %vm = stablehlo.constant dense<3> : tensor<9216xi32>
  %vd = stablehlo.constant dense<7> : tensor<9216xi32>
  %vo = stablehlo.constant dense<3> : tensor<9216xi32>
  %vi = stablehlo.iota dim = 0 : tensor<9216xi32>
  %vp = stablehlo.multiply %vi, %vm : tensor<9216xi32>
  %vr = stablehlo.remainder %vp, %vd : tensor<9216xi32>
  %vs = stablehlo.subtract %vr, %vo : tensor<9216xi32>
  %vc = stablehlo.convert %vs : (tensor<9216xi32>) -> tensor<9216xf32>
  %v = stablehlo.reshape %vc : (tensor<9216xf32>) -> tensor<3x3x32x32xf32>
  %am = stablehlo.constant dense<11> : tensor<1568xi32>
  %ad = stablehlo.constant dense<17> : tensor<1568xi32>
  %ao = stablehlo.constant dense<8> : tensor<1568xi32>
  %ai = stablehlo.iota dim = 0 : tensor<1568xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<1568xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<1568xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<1568xi32>
  %ac = stablehlo.convert %as : (tensor<1568xi32>) -> tensor<1568xf32>
  %a = stablehlo.reshape %ac : (tensor<1568xf32>) -> tensor<1x7x7x32xf32>
  %b:3 = stablehlo.optimization_barrier %x, %w, %v : tensor<1x7x7x16xf32>, tensor<3x3x16x32xf32>, tensor<3x3x32x32xf32>
  %r = stablehlo.optimization_barrier %a : tensor<1x7x7x32xf32>
  %three = stablehlo.constant dense<3.0> : tensor<1x7x7x32xf32>
  %y0 = stablehlo.convolution(%b#0, %b#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x7x7x16xf32>, tensor<3x3x16x32xf32>) -> tensor<1x7x7x32xf32>
  %y = stablehlo.add %y0, %r : tensor<1x7x7x32xf32>
  %k = stablehlo.multiply %y, %three : tensor<1x7x7x32xf32>
  %q:2 = stablehlo.optimization_barrier %y, %k : tensor<1x7x7x32xf32>, tensor<1x7x7x32xf32>
  %z0 = stablehlo.convolution(%q#0, %b#2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x7x7x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x7x7x32xf32>
  %z = stablehlo.add %z0, %q#1 : tensor<1x7x7x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<1568xi32>
  %hd = stablehlo.constant dense<19> : tensor<1568xi32>
  %ho = stablehlo.constant dense<9> : tensor<1568xi32>
  %hi = stablehlo.iota dim = 0 : tensor<1568xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<1568xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<1568xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<1568xi32>
  %h = stablehlo.reshape %hs : (tensor<1568xi32>) -> tensor<1x7x7x32xi32>
  %zi = stablehlo.convert %z : (tensor<1x7x7x32xf32>) -> tensor<1x7x7x32xi32>
  %hz = stablehlo.multiply %zi, %h : tensor<1x7x7x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hz init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x7x7x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<431237> : tensor<i32>
  return
}

// -----

// three vectors of features in a register tile, the last panel without the third; several slabs
func.func @three_vectors() {
  %xm = stablehlo.constant dense<7> : tensor<3136xi32>
  %xd = stablehlo.constant dense<13> : tensor<3136xi32>
  %xo = stablehlo.constant dense<6> : tensor<3136xi32>
  %xi = stablehlo.iota dim = 0 : tensor<3136xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<3136xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<3136xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<3136xi32>
  %xc = stablehlo.convert %xs : (tensor<3136xi32>) -> tensor<3136xf32>
  %x = stablehlo.reshape %xc : (tensor<3136xf32>) -> tensor<1x7x7x64xf32>
  %wm = stablehlo.constant dense<5> : tensor<92160xi32>
  %wd = stablehlo.constant dense<11> : tensor<92160xi32>
  %wo = stablehlo.constant dense<5> : tensor<92160xi32>
  %wi = stablehlo.iota dim = 0 : tensor<92160xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<92160xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<92160xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<92160xi32>
  %wc = stablehlo.convert %ws : (tensor<92160xi32>) -> tensor<92160xf32>
  %w = stablehlo.reshape %wc : (tensor<92160xf32>) -> tensor<3x3x64x160xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x7x7x64xf32>, tensor<3x3x64x160xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64,
      precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}
      : (tensor<1x7x7x64xf32>, tensor<3x3x64x160xf32>) -> tensor<1x7x7x160xf32>
  %hm = stablehlo.constant dense<3> : tensor<7840xi32>
  %hd = stablehlo.constant dense<19> : tensor<7840xi32>
  %ho = stablehlo.constant dense<9> : tensor<7840xi32>
  %hi = stablehlo.iota dim = 0 : tensor<7840xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<7840xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<7840xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<7840xi32>
  %h = stablehlo.reshape %hs : (tensor<7840xi32>) -> tensor<1x7x7x160xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x7x7x160xf32>) -> tensor<1x7x7x160xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x7x7x160xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x7x7x160xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<2072> : tensor<i32>
  return
}
