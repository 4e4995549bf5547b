// Convolutions of groups of few channels. All numbers are integers that the types have exactly; the expected number is the sum of all
// results, each times a small number that depends on its place. Operands behind a barrier are in memory; others are computed
// where they are read.

func.func @depthwise() {
  %xm = stablehlo.constant dense<7> : tensor<7560xi32>
  %xd = stablehlo.constant dense<13> : tensor<7560xi32>
  %xo = stablehlo.constant dense<6> : tensor<7560xi32>
  %xi = stablehlo.iota dim = 0 : tensor<7560xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<7560xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<7560xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<7560xi32>
  %xc = stablehlo.convert %xs : (tensor<7560xi32>) -> tensor<7560xf32>
  %x = stablehlo.reshape %xc : (tensor<7560xf32>) -> tensor<1x9x21x40xf32>
  %wm = stablehlo.constant dense<5> : tensor<360xi32>
  %wd = stablehlo.constant dense<11> : tensor<360xi32>
  %wo = stablehlo.constant dense<5> : tensor<360xi32>
  %wi = stablehlo.iota dim = 0 : tensor<360xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<360xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<360xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<360xi32>
  %wc = stablehlo.convert %ws : (tensor<360xi32>) -> tensor<360xf32>
  %w = stablehlo.reshape %wc : (tensor<360xf32>) -> tensor<3x3x1x40xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x9x21x40xf32>, tensor<3x3x1x40xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 40 : i64}
      : (tensor<1x9x21x40xf32>, tensor<3x3x1x40xf32>) -> tensor<1x9x21x40xf32>
  %hm = stablehlo.constant dense<3> : tensor<7560xi32>
  %hd = stablehlo.constant dense<19> : tensor<7560xi32>
  %ho = stablehlo.constant dense<9> : tensor<7560xi32>
  %hi = stablehlo.iota dim = 0 : tensor<7560xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<7560xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<7560xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<7560xi32>
  %h = stablehlo.reshape %hs : (tensor<7560xi32>) -> tensor<1x9x21x40xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x9x21x40xf32>) -> tensor<1x9x21x40xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x9x21x40xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x9x21x40xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<686> : tensor<i32>
  return
}

// -----

func.func @depthwise_stride() {
  %xm = stablehlo.constant dense<7> : tensor<8160xi32>
  %xd = stablehlo.constant dense<13> : tensor<8160xi32>
  %xo = stablehlo.constant dense<6> : tensor<8160xi32>
  %xi = stablehlo.iota dim = 0 : tensor<8160xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<8160xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<8160xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<8160xi32>
  %xc = stablehlo.convert %xs : (tensor<8160xi32>) -> tensor<8160xf32>
  %x = stablehlo.reshape %xc : (tensor<8160xf32>) -> tensor<1x15x17x32xf32>
  %wm = stablehlo.constant dense<5> : tensor<288xi32>
  %wd = stablehlo.constant dense<11> : tensor<288xi32>
  %wo = stablehlo.constant dense<5> : tensor<288xi32>
  %wi = stablehlo.iota dim = 0 : tensor<288xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<288xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<288xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<288xi32>
  %wc = stablehlo.convert %ws : (tensor<288xi32>) -> tensor<288xf32>
  %w = stablehlo.reshape %wc : (tensor<288xf32>) -> tensor<3x3x1x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x15x17x32xf32>, tensor<3x3x1x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 32 : i64}
      : (tensor<1x15x17x32xf32>, tensor<3x3x1x32xf32>) -> tensor<1x8x9x32xf32>
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
  check.expect_eq_const %sum, dense<-1410> : tensor<i32>
  return
}

// -----

func.func @depthwise_small() {
  %xm = stablehlo.constant dense<7> : tensor<2352xi32>
  %xd = stablehlo.constant dense<13> : tensor<2352xi32>
  %xo = stablehlo.constant dense<6> : tensor<2352xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2352xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2352xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2352xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2352xi32>
  %xc = stablehlo.convert %xs : (tensor<2352xi32>) -> tensor<2352xf32>
  %x = stablehlo.reshape %xc : (tensor<2352xf32>) -> tensor<2x7x7x24xf32>
  %wm = stablehlo.constant dense<5> : tensor<216xi32>
  %wd = stablehlo.constant dense<11> : tensor<216xi32>
  %wo = stablehlo.constant dense<5> : tensor<216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<216xi32>
  %wc = stablehlo.convert %ws : (tensor<216xi32>) -> tensor<216xf32>
  %w = stablehlo.reshape %wc : (tensor<216xf32>) -> tensor<3x3x1x24xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<2x7x7x24xf32>, tensor<3x3x1x24xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 24 : i64}
      : (tensor<2x7x7x24xf32>, tensor<3x3x1x24xf32>) -> tensor<2x7x7x24xf32>
  %hm = stablehlo.constant dense<3> : tensor<2352xi32>
  %hd = stablehlo.constant dense<19> : tensor<2352xi32>
  %ho = stablehlo.constant dense<9> : tensor<2352xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2352xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2352xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2352xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2352xi32>
  %h = stablehlo.reshape %hs : (tensor<2352xi32>) -> tensor<2x7x7x24xi32>
  %yi = stablehlo.convert %y0 : (tensor<2x7x7x24xf32>) -> tensor<2x7x7x24xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<2x7x7x24xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<2x7x7x24xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<2546> : tensor<i32>
  return
}

// -----

func.func @depthwise_large() {
  %xm = stablehlo.constant dense<7> : tensor<5760xi32>
  %xd = stablehlo.constant dense<13> : tensor<5760xi32>
  %xo = stablehlo.constant dense<6> : tensor<5760xi32>
  %xi = stablehlo.iota dim = 0 : tensor<5760xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<5760xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<5760xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<5760xi32>
  %xc = stablehlo.convert %xs : (tensor<5760xi32>) -> tensor<5760xf32>
  %x = stablehlo.reshape %xc : (tensor<5760xf32>) -> tensor<1x12x30x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<560xi32>
  %wd = stablehlo.constant dense<11> : tensor<560xi32>
  %wo = stablehlo.constant dense<5> : tensor<560xi32>
  %wi = stablehlo.iota dim = 0 : tensor<560xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<560xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<560xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<560xi32>
  %wc = stablehlo.convert %ws : (tensor<560xi32>) -> tensor<560xf32>
  %w = stablehlo.reshape %wc : (tensor<560xf32>) -> tensor<5x7x1x16xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x12x30x16xf32>, tensor<5x7x1x16xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[2, 2], [3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64}
      : (tensor<1x12x30x16xf32>, tensor<5x7x1x16xf32>) -> tensor<1x12x30x16xf32>
  %hm = stablehlo.constant dense<3> : tensor<5760xi32>
  %hd = stablehlo.constant dense<19> : tensor<5760xi32>
  %ho = stablehlo.constant dense<9> : tensor<5760xi32>
  %hi = stablehlo.iota dim = 0 : tensor<5760xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<5760xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<5760xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<5760xi32>
  %h = stablehlo.reshape %hs : (tensor<5760xi32>) -> tensor<1x12x30x16xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x12x30x16xf32>) -> tensor<1x12x30x16xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x12x30x16xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x12x30x16xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-336> : tensor<i32>
  return
}

// -----

func.func @depthwise_dilated() {
  %xm = stablehlo.constant dense<7> : tensor<4560xi32>
  %xd = stablehlo.constant dense<13> : tensor<4560xi32>
  %xo = stablehlo.constant dense<6> : tensor<4560xi32>
  %xi = stablehlo.iota dim = 0 : tensor<4560xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<4560xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<4560xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<4560xi32>
  %xc = stablehlo.convert %xs : (tensor<4560xi32>) -> tensor<4560xf32>
  %x = stablehlo.reshape %xc : (tensor<4560xf32>) -> tensor<1x15x19x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<144xi32>
  %wd = stablehlo.constant dense<11> : tensor<144xi32>
  %wo = stablehlo.constant dense<5> : tensor<144xi32>
  %wi = stablehlo.iota dim = 0 : tensor<144xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<144xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<144xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<144xi32>
  %wc = stablehlo.convert %ws : (tensor<144xi32>) -> tensor<144xf32>
  %w = stablehlo.reshape %wc : (tensor<144xf32>) -> tensor<3x3x1x16xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x15x19x16xf32>, tensor<3x3x1x16xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[2, 2], [3, 3]], rhs_dilate = [2, 3]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64}
      : (tensor<1x15x19x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x15x19x16xf32>
  %hm = stablehlo.constant dense<3> : tensor<4560xi32>
  %hd = stablehlo.constant dense<19> : tensor<4560xi32>
  %ho = stablehlo.constant dense<9> : tensor<4560xi32>
  %hi = stablehlo.iota dim = 0 : tensor<4560xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<4560xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<4560xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<4560xi32>
  %h = stablehlo.reshape %hs : (tensor<4560xi32>) -> tensor<1x15x19x16xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x15x19x16xf32>) -> tensor<1x15x19x16xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x15x19x16xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x15x19x16xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-664> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes() {
  %xm = stablehlo.constant dense<7> : tensor<1665xi32>
  %xd = stablehlo.constant dense<13> : tensor<1665xi32>
  %xo = stablehlo.constant dense<6> : tensor<1665xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1665xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1665xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1665xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1665xi32>
  %xc = stablehlo.convert %xs : (tensor<1665xi32>) -> tensor<1665xf32>
  %x = stablehlo.reshape %xc : (tensor<1665xf32>) -> tensor<1x5x9x37xf32>
  %wm = stablehlo.constant dense<5> : tensor<45xi32>
  %wd = stablehlo.constant dense<11> : tensor<45xi32>
  %wo = stablehlo.constant dense<5> : tensor<45xi32>
  %wi = stablehlo.iota dim = 0 : tensor<45xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<45xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<45xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<45xi32>
  %wc = stablehlo.convert %ws : (tensor<45xi32>) -> tensor<45xf32>
  %w = stablehlo.reshape %wc : (tensor<45xf32>) -> tensor<5x1x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x5x9x37xf32>, tensor<5x1x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64}
      : (tensor<1x5x9x37xf32>, tensor<5x1x3x3xf32>) -> tensor<1x5x9x37xf32>
  %hm = stablehlo.constant dense<3> : tensor<1665xi32>
  %hd = stablehlo.constant dense<19> : tensor<1665xi32>
  %ho = stablehlo.constant dense<9> : tensor<1665xi32>
  %hi = stablehlo.iota dim = 0 : tensor<1665xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<1665xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<1665xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<1665xi32>
  %h = stablehlo.reshape %hs : (tensor<1665xi32>) -> tensor<1x5x9x37xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x5x9x37xf32>) -> tensor<1x5x9x37xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x5x9x37xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x5x9x37xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-4052> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_stride() {
  %xm = stablehlo.constant dense<7> : tensor<2160xi32>
  %xd = stablehlo.constant dense<13> : tensor<2160xi32>
  %xo = stablehlo.constant dense<6> : tensor<2160xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2160xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2160xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2160xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2160xi32>
  %xc = stablehlo.convert %xs : (tensor<2160xi32>) -> tensor<2160xf32>
  %x = stablehlo.reshape %xc : (tensor<2160xf32>) -> tensor<1x6x9x40xf32>
  %wm = stablehlo.constant dense<5> : tensor<54xi32>
  %wd = stablehlo.constant dense<11> : tensor<54xi32>
  %wo = stablehlo.constant dense<5> : tensor<54xi32>
  %wi = stablehlo.iota dim = 0 : tensor<54xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<54xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<54xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<54xi32>
  %wc = stablehlo.convert %ws : (tensor<54xi32>) -> tensor<54xf32>
  %w = stablehlo.reshape %wc : (tensor<54xf32>) -> tensor<6x1x3x3xf32>
  %y0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64}
      : (tensor<1x6x9x40xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x5x20xf32>
  %hm = stablehlo.constant dense<3> : tensor<600xi32>
  %hd = stablehlo.constant dense<19> : tensor<600xi32>
  %ho = stablehlo.constant dense<9> : tensor<600xi32>
  %hi = stablehlo.iota dim = 0 : tensor<600xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<600xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<600xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<600xi32>
  %h = stablehlo.reshape %hs : (tensor<600xi32>) -> tensor<1x6x5x20xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x6x5x20xf32>) -> tensor<1x6x5x20xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x6x5x20xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x6x5x20xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<6362> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_small() {
  %xm = stablehlo.constant dense<7> : tensor<882xi32>
  %xd = stablehlo.constant dense<13> : tensor<882xi32>
  %xo = stablehlo.constant dense<6> : tensor<882xi32>
  %xi = stablehlo.iota dim = 0 : tensor<882xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<882xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<882xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<882xi32>
  %xc = stablehlo.convert %xs : (tensor<882xi32>) -> tensor<882xf32>
  %x = stablehlo.reshape %xc : (tensor<882xf32>) -> tensor<3x6x7x7xf32>
  %wm = stablehlo.constant dense<5> : tensor<54xi32>
  %wd = stablehlo.constant dense<11> : tensor<54xi32>
  %wo = stablehlo.constant dense<5> : tensor<54xi32>
  %wi = stablehlo.iota dim = 0 : tensor<54xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<54xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<54xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<54xi32>
  %wc = stablehlo.convert %ws : (tensor<54xi32>) -> tensor<54xf32>
  %w = stablehlo.reshape %wc : (tensor<54xf32>) -> tensor<6x1x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<3x6x7x7xf32>, tensor<6x1x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64}
      : (tensor<3x6x7x7xf32>, tensor<6x1x3x3xf32>) -> tensor<3x6x7x7xf32>
  %hm = stablehlo.constant dense<3> : tensor<882xi32>
  %hd = stablehlo.constant dense<19> : tensor<882xi32>
  %ho = stablehlo.constant dense<9> : tensor<882xi32>
  %hi = stablehlo.iota dim = 0 : tensor<882xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<882xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<882xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<882xi32>
  %h = stablehlo.reshape %hs : (tensor<882xi32>) -> tensor<3x6x7x7xi32>
  %yi = stablehlo.convert %y0 : (tensor<3x6x7x7xf32>) -> tensor<3x6x7x7xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<3x6x7x7xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<3x6x7x7xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<775> : tensor<i32>
  return
}

// -----

// several features of a channel
func.func @depthwise_multiplier() {
  %xm = stablehlo.constant dense<7> : tensor<792xi32>
  %xd = stablehlo.constant dense<13> : tensor<792xi32>
  %xo = stablehlo.constant dense<6> : tensor<792xi32>
  %xi = stablehlo.iota dim = 0 : tensor<792xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<792xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<792xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<792xi32>
  %xc = stablehlo.convert %xs : (tensor<792xi32>) -> tensor<792xf32>
  %x = stablehlo.reshape %xc : (tensor<792xf32>) -> tensor<1x9x11x8xf32>
  %wm = stablehlo.constant dense<5> : tensor<216xi32>
  %wd = stablehlo.constant dense<11> : tensor<216xi32>
  %wo = stablehlo.constant dense<5> : tensor<216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<216xi32>
  %wc = stablehlo.convert %ws : (tensor<216xi32>) -> tensor<216xf32>
  %w = stablehlo.reshape %wc : (tensor<216xf32>) -> tensor<3x3x1x24xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x9x11x8xf32>, tensor<3x3x1x24xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 8 : i64}
      : (tensor<1x9x11x8xf32>, tensor<3x3x1x24xf32>) -> tensor<1x9x11x24xf32>
  %hm = stablehlo.constant dense<3> : tensor<2376xi32>
  %hd = stablehlo.constant dense<19> : tensor<2376xi32>
  %ho = stablehlo.constant dense<9> : tensor<2376xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2376xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2376xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2376xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2376xi32>
  %h = stablehlo.reshape %hs : (tensor<2376xi32>) -> tensor<1x9x11x24xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x9x11x24xf32>) -> tensor<1x9x11x24xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x9x11x24xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x9x11x24xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<7241> : tensor<i32>
  return
}

// -----

func.func @depthwise_holes() {
  %xm = stablehlo.constant dense<7> : tensor<672xi32>
  %xd = stablehlo.constant dense<13> : tensor<672xi32>
  %xo = stablehlo.constant dense<6> : tensor<672xi32>
  %xi = stablehlo.iota dim = 0 : tensor<672xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<672xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<672xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<672xi32>
  %xc = stablehlo.convert %xs : (tensor<672xi32>) -> tensor<672xf32>
  %x = stablehlo.reshape %xc : (tensor<672xf32>) -> tensor<1x7x6x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<144xi32>
  %wd = stablehlo.constant dense<11> : tensor<144xi32>
  %wo = stablehlo.constant dense<5> : tensor<144xi32>
  %wi = stablehlo.iota dim = 0 : tensor<144xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<144xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<144xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<144xi32>
  %wc = stablehlo.convert %ws : (tensor<144xi32>) -> tensor<144xf32>
  %w = stablehlo.reshape %wc : (tensor<144xf32>) -> tensor<3x3x1x16xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x7x6x16xf32>, tensor<3x3x1x16xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 2], [2, 0]], lhs_dilate = [2, 3]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64}
      : (tensor<1x7x6x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x14x16x16xf32>
  %hm = stablehlo.constant dense<3> : tensor<3584xi32>
  %hd = stablehlo.constant dense<19> : tensor<3584xi32>
  %ho = stablehlo.constant dense<9> : tensor<3584xi32>
  %hi = stablehlo.iota dim = 0 : tensor<3584xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<3584xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<3584xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<3584xi32>
  %h = stablehlo.reshape %hs : (tensor<3584xi32>) -> tensor<1x14x16x16xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x14x16x16xf32>) -> tensor<1x14x16x16xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x14x16x16xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x14x16x16xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-1606> : tensor<i32>
  return
}

// -----

func.func @depthwise_cropped() {
  %xm = stablehlo.constant dense<7> : tensor<3136xi32>
  %xd = stablehlo.constant dense<13> : tensor<3136xi32>
  %xo = stablehlo.constant dense<6> : tensor<3136xi32>
  %xi = stablehlo.iota dim = 0 : tensor<3136xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<3136xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<3136xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<3136xi32>
  %xc = stablehlo.convert %xs : (tensor<3136xi32>) -> tensor<3136xf32>
  %x = stablehlo.reshape %xc : (tensor<3136xf32>) -> tensor<1x14x14x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<144xi32>
  %wd = stablehlo.constant dense<11> : tensor<144xi32>
  %wo = stablehlo.constant dense<5> : tensor<144xi32>
  %wi = stablehlo.iota dim = 0 : tensor<144xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<144xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<144xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<144xi32>
  %wc = stablehlo.convert %ws : (tensor<144xi32>) -> tensor<144xf32>
  %w = stablehlo.reshape %wc : (tensor<144xf32>) -> tensor<3x3x1x16xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x14x14x16xf32>, tensor<3x3x1x16xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[-1, 2], [2, -3]]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64}
      : (tensor<1x14x14x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x13x11x16xf32>
  %hm = stablehlo.constant dense<3> : tensor<2288xi32>
  %hd = stablehlo.constant dense<19> : tensor<2288xi32>
  %ho = stablehlo.constant dense<9> : tensor<2288xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2288xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2288xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2288xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2288xi32>
  %h = stablehlo.reshape %hs : (tensor<2288xi32>) -> tensor<1x13x11x16xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x13x11x16xf32>) -> tensor<1x13x11x16xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x13x11x16xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x13x11x16xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-6319> : tensor<i32>
  return
}

// -----

func.func @depthwise_line() {
  %xm = stablehlo.constant dense<7> : tensor<4800xi32>
  %xd = stablehlo.constant dense<13> : tensor<4800xi32>
  %xo = stablehlo.constant dense<6> : tensor<4800xi32>
  %xi = stablehlo.iota dim = 0 : tensor<4800xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<4800xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<4800xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<4800xi32>
  %xc = stablehlo.convert %xs : (tensor<4800xi32>) -> tensor<4800xf32>
  %x = stablehlo.reshape %xc : (tensor<4800xf32>) -> tensor<1x300x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<64xi32>
  %wd = stablehlo.constant dense<11> : tensor<64xi32>
  %wo = stablehlo.constant dense<5> : tensor<64xi32>
  %wi = stablehlo.iota dim = 0 : tensor<64xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<64xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<64xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<64xi32>
  %wc = stablehlo.convert %ws : (tensor<64xi32>) -> tensor<64xf32>
  %w = stablehlo.reshape %wc : (tensor<64xf32>) -> tensor<4x1x16xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x300x16xf32>, tensor<4x1x16xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
      window = {pad = [[3, 0]]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64}
      : (tensor<1x300x16xf32>, tensor<4x1x16xf32>) -> tensor<1x300x16xf32>
  %hm = stablehlo.constant dense<3> : tensor<4800xi32>
  %hd = stablehlo.constant dense<19> : tensor<4800xi32>
  %ho = stablehlo.constant dense<9> : tensor<4800xi32>
  %hi = stablehlo.iota dim = 0 : tensor<4800xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<4800xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<4800xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<4800xi32>
  %h = stablehlo.reshape %hs : (tensor<4800xi32>) -> tensor<1x300x16xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x300x16xf32>) -> tensor<1x300x16xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x300x16xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2]
      : (tensor<1x300x16xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<3975> : tensor<i32>
  return
}

// -----

func.func @depthwise_volume() {
  %xm = stablehlo.constant dense<7> : tensor<3360xi32>
  %xd = stablehlo.constant dense<13> : tensor<3360xi32>
  %xo = stablehlo.constant dense<6> : tensor<3360xi32>
  %xi = stablehlo.iota dim = 0 : tensor<3360xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<3360xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<3360xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<3360xi32>
  %xc = stablehlo.convert %xs : (tensor<3360xi32>) -> tensor<3360xf32>
  %x = stablehlo.reshape %xc : (tensor<3360xf32>) -> tensor<1x5x6x7x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<432xi32>
  %wd = stablehlo.constant dense<11> : tensor<432xi32>
  %wo = stablehlo.constant dense<5> : tensor<432xi32>
  %wi = stablehlo.iota dim = 0 : tensor<432xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<432xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<432xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<432xi32>
  %wc = stablehlo.convert %ws : (tensor<432xi32>) -> tensor<432xf32>
  %w = stablehlo.reshape %wc : (tensor<432xf32>) -> tensor<3x3x3x1x16xf32>
  %y0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f],
      window = {pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64}
      : (tensor<1x5x6x7x16xf32>, tensor<3x3x3x1x16xf32>) -> tensor<1x5x6x7x16xf32>
  %hm = stablehlo.constant dense<3> : tensor<3360xi32>
  %hd = stablehlo.constant dense<19> : tensor<3360xi32>
  %ho = stablehlo.constant dense<9> : tensor<3360xi32>
  %hi = stablehlo.iota dim = 0 : tensor<3360xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<3360xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<3360xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<3360xi32>
  %h = stablehlo.reshape %hs : (tensor<3360xi32>) -> tensor<1x5x6x7x16xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x5x6x7x16xf32>) -> tensor<1x5x6x7x16xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x5x6x7x16xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3, 4]
      : (tensor<1x5x6x7x16xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-2109> : tensor<i32>
  return
}

// -----

func.func @depthwise_narrow() {
  %xm = stablehlo.constant dense<7> : tensor<1152xi32>
  %xd = stablehlo.constant dense<13> : tensor<1152xi32>
  %xo = stablehlo.constant dense<6> : tensor<1152xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1152xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1152xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1152xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1152xi32>
  %xc = stablehlo.convert %xs : (tensor<1152xi32>) -> tensor<1152xbf16>
  %x = stablehlo.reshape %xc : (tensor<1152xbf16>) -> tensor<1x8x9x16xbf16>
  %wm = stablehlo.constant dense<5> : tensor<144xi32>
  %wd = stablehlo.constant dense<11> : tensor<144xi32>
  %wo = stablehlo.constant dense<5> : tensor<144xi32>
  %wi = stablehlo.iota dim = 0 : tensor<144xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<144xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<144xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<144xi32>
  %wc = stablehlo.convert %ws : (tensor<144xi32>) -> tensor<144xbf16>
  %w = stablehlo.reshape %wc : (tensor<144xbf16>) -> tensor<3x3x1x16xbf16>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x8x9x16xbf16>, tensor<3x3x1x16xbf16>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64}
      : (tensor<1x8x9x16xbf16>, tensor<3x3x1x16xbf16>) -> tensor<1x8x9x16xf32>
  %hm = stablehlo.constant dense<3> : tensor<1152xi32>
  %hd = stablehlo.constant dense<19> : tensor<1152xi32>
  %ho = stablehlo.constant dense<9> : tensor<1152xi32>
  %hi = stablehlo.iota dim = 0 : tensor<1152xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<1152xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<1152xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<1152xi32>
  %h = stablehlo.reshape %hs : (tensor<1152xi32>) -> tensor<1x8x9x16xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x8x9x16xf32>) -> tensor<1x8x9x16xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x8x9x16xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x8x9x16xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-1107> : tensor<i32>
  return
}

// -----

func.func @depthwise_reversed() {
  %xm = stablehlo.constant dense<7> : tensor<1600xi32>
  %xd = stablehlo.constant dense<13> : tensor<1600xi32>
  %xo = stablehlo.constant dense<6> : tensor<1600xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1600xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1600xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1600xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1600xi32>
  %xc = stablehlo.convert %xs : (tensor<1600xi32>) -> tensor<1600xf32>
  %x = stablehlo.reshape %xc : (tensor<1600xf32>) -> tensor<1x10x10x16xf32>
  %wm = stablehlo.constant dense<5> : tensor<144xi32>
  %wd = stablehlo.constant dense<11> : tensor<144xi32>
  %wo = stablehlo.constant dense<5> : tensor<144xi32>
  %wi = stablehlo.iota dim = 0 : tensor<144xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<144xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<144xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<144xi32>
  %wc = stablehlo.convert %ws : (tensor<144xi32>) -> tensor<144xf32>
  %w = stablehlo.reshape %wc : (tensor<144xf32>) -> tensor<3x3x1x16xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x10x10x16xf32>, tensor<3x3x1x16xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64}
      : (tensor<1x10x10x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x10x10x16xf32>
  %hm = stablehlo.constant dense<3> : tensor<1600xi32>
  %hd = stablehlo.constant dense<19> : tensor<1600xi32>
  %ho = stablehlo.constant dense<9> : tensor<1600xi32>
  %hi = stablehlo.iota dim = 0 : tensor<1600xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<1600xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<1600xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<1600xi32>
  %h = stablehlo.reshape %hs : (tensor<1600xi32>) -> tensor<1x10x10x16xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x10x10x16xf32>) -> tensor<1x10x10x16xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x10x10x16xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x10x10x16xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<1934> : tensor<i32>
  return
}

// -----

func.func @depthwise_epilogue() {
  %xm = stablehlo.constant dense<7> : tensor<11616xi32>
  %xd = stablehlo.constant dense<13> : tensor<11616xi32>
  %xo = stablehlo.constant dense<6> : tensor<11616xi32>
  %xi = stablehlo.iota dim = 0 : tensor<11616xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<11616xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<11616xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<11616xi32>
  %xc = stablehlo.convert %xs : (tensor<11616xi32>) -> tensor<11616xf32>
  %x = stablehlo.reshape %xc : (tensor<11616xf32>) -> tensor<1x11x33x32xf32>
  %wm = stablehlo.constant dense<5> : tensor<288xi32>
  %wd = stablehlo.constant dense<11> : tensor<288xi32>
  %wo = stablehlo.constant dense<5> : tensor<288xi32>
  %wi = stablehlo.iota dim = 0 : tensor<288xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<288xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<288xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<288xi32>
  %wc = stablehlo.convert %ws : (tensor<288xi32>) -> tensor<288xf32>
  %w = stablehlo.reshape %wc : (tensor<288xf32>) -> tensor<3x3x1x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x11x33x32xf32>, tensor<3x3x1x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 32 : i64}
      : (tensor<1x11x33x32xf32>, tensor<3x3x1x32xf32>) -> tensor<1x11x33x32xf32>
  %bm = stablehlo.constant dense<3> : tensor<32xi32>
  %bd = stablehlo.constant dense<7> : tensor<32xi32>
  %bo = stablehlo.constant dense<3> : tensor<32xi32>
  %bi = stablehlo.iota dim = 0 : tensor<32xi32>
  %bp = stablehlo.multiply %bi, %bm : tensor<32xi32>
  %br = stablehlo.remainder %bp, %bd : tensor<32xi32>
  %bs = stablehlo.subtract %br, %bo : tensor<32xi32>
  %bc = stablehlo.convert %bs : (tensor<32xi32>) -> tensor<32xf32>
  %b = stablehlo.reshape %bc : (tensor<32xf32>) -> tensor<32xf32>
  %am = stablehlo.constant dense<3> : tensor<11616xi32>
  %ad = stablehlo.constant dense<17> : tensor<11616xi32>
  %ao = stablehlo.constant dense<8> : tensor<11616xi32>
  %ai = stablehlo.iota dim = 0 : tensor<11616xi32>
  %ap = stablehlo.multiply %ai, %am : tensor<11616xi32>
  %ar = stablehlo.remainder %ap, %ad : tensor<11616xi32>
  %as = stablehlo.subtract %ar, %ao : tensor<11616xi32>
  %ac = stablehlo.convert %as : (tensor<11616xi32>) -> tensor<11616xf32>
  %a = stablehlo.reshape %ac : (tensor<11616xf32>) -> tensor<1x11x33x32xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<32xf32>) -> tensor<1x11x33x32xf32>
  %y1 = stablehlo.add %y0, %bb : tensor<1x11x33x32xf32>
  %y2 = stablehlo.add %y1, %a : tensor<1x11x33x32xf32>
  %z0 = stablehlo.constant dense<0.0> : tensor<1x11x33x32xf32>
  %y3 = stablehlo.maximum %y2, %z0 : tensor<1x11x33x32xf32>
  %hm = stablehlo.constant dense<3> : tensor<11616xi32>
  %hd = stablehlo.constant dense<19> : tensor<11616xi32>
  %ho = stablehlo.constant dense<9> : tensor<11616xi32>
  %hi = stablehlo.iota dim = 0 : tensor<11616xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<11616xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<11616xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<11616xi32>
  %h = stablehlo.reshape %hs : (tensor<11616xi32>) -> tensor<1x11x33x32xi32>
  %yi = stablehlo.convert %y3 : (tensor<1x11x33x32xf32>) -> tensor<1x11x33x32xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x11x33x32xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x11x33x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<557> : tensor<i32>
  return
}

// -----

// tiles along a dimension of which the input has one element
func.func @depthwise_planes_flat() {
  %xm = stablehlo.constant dense<7> : tensor<1120xi32>
  %xd = stablehlo.constant dense<13> : tensor<1120xi32>
  %xo = stablehlo.constant dense<6> : tensor<1120xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1120xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1120xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1120xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1120xi32>
  %xc = stablehlo.convert %xs : (tensor<1120xi32>) -> tensor<1120xf32>
  %x = stablehlo.reshape %xc : (tensor<1120xf32>) -> tensor<1x4x14x1x20xf32>
  %wm = stablehlo.constant dense<5> : tensor<216xi32>
  %wd = stablehlo.constant dense<11> : tensor<216xi32>
  %wo = stablehlo.constant dense<5> : tensor<216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<216xi32>
  %wc = stablehlo.convert %ws : (tensor<216xi32>) -> tensor<216xf32>
  %w = stablehlo.reshape %wc : (tensor<216xf32>) -> tensor<8x1x3x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x4x14x1x20xf32>, tensor<8x1x3x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2],
      window = {stride = [3, 3, 1], pad = [[-1, 0], [2, 2], [2, 1]], rhs_dilate = [1, 2, 1], reverse = [false, true, false]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64}
      : (tensor<1x4x14x1x20xf32>, tensor<8x1x3x3x3xf32>) -> tensor<1x8x4x1x21xf32>
  %hm = stablehlo.constant dense<3> : tensor<672xi32>
  %hd = stablehlo.constant dense<19> : tensor<672xi32>
  %ho = stablehlo.constant dense<9> : tensor<672xi32>
  %hi = stablehlo.iota dim = 0 : tensor<672xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<672xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<672xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<672xi32>
  %h = stablehlo.reshape %hs : (tensor<672xi32>) -> tensor<1x8x4x1x21xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x8x4x1x21xf32>) -> tensor<1x8x4x1x21xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x8x4x1x21xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3, 4]
      : (tensor<1x8x4x1x21xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<102> : tensor<i32>
  return
}

// -----

// a few channels to a group
func.func @small_groups() {
  %xm = stablehlo.constant dense<7> : tensor<2304xi32>
  %xd = stablehlo.constant dense<13> : tensor<2304xi32>
  %xo = stablehlo.constant dense<6> : tensor<2304xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2304xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2304xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2304xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2304xi32>
  %xc = stablehlo.convert %xs : (tensor<2304xi32>) -> tensor<2304xf32>
  %x = stablehlo.reshape %xc : (tensor<2304xf32>) -> tensor<1x8x9x32xf32>
  %wm = stablehlo.constant dense<5> : tensor<1152xi32>
  %wd = stablehlo.constant dense<11> : tensor<1152xi32>
  %wo = stablehlo.constant dense<5> : tensor<1152xi32>
  %wi = stablehlo.iota dim = 0 : tensor<1152xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<1152xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<1152xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<1152xi32>
  %wc = stablehlo.convert %ws : (tensor<1152xi32>) -> tensor<1152xf32>
  %w = stablehlo.reshape %wc : (tensor<1152xf32>) -> tensor<3x3x4x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x8x9x32xf32>, tensor<3x3x4x32xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 8 : i64}
      : (tensor<1x8x9x32xf32>, tensor<3x3x4x32xf32>) -> tensor<1x8x9x32xf32>
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
  check.expect_eq_const %sum, dense<-33809> : tensor<i32>
  return
}

// -----

func.func @small_groups_planes() {
  %xm = stablehlo.constant dense<7> : tensor<1728xi32>
  %xd = stablehlo.constant dense<13> : tensor<1728xi32>
  %xo = stablehlo.constant dense<6> : tensor<1728xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1728xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1728xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1728xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1728xi32>
  %xc = stablehlo.convert %xs : (tensor<1728xi32>) -> tensor<1728xf32>
  %x = stablehlo.reshape %xc : (tensor<1728xf32>) -> tensor<1x12x8x18xf32>
  %wm = stablehlo.constant dense<5> : tensor<864xi32>
  %wd = stablehlo.constant dense<11> : tensor<864xi32>
  %wo = stablehlo.constant dense<5> : tensor<864xi32>
  %wi = stablehlo.iota dim = 0 : tensor<864xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<864xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<864xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<864xi32>
  %wc = stablehlo.convert %ws : (tensor<864xi32>) -> tensor<864xf32>
  %w = stablehlo.reshape %wc : (tensor<864xf32>) -> tensor<24x4x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x12x8x18xf32>, tensor<24x4x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<1x12x8x18xf32>, tensor<24x4x3x3xf32>) -> tensor<1x24x8x18xf32>
  %hm = stablehlo.constant dense<3> : tensor<3456xi32>
  %hd = stablehlo.constant dense<19> : tensor<3456xi32>
  %ho = stablehlo.constant dense<9> : tensor<3456xi32>
  %hi = stablehlo.iota dim = 0 : tensor<3456xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<3456xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<3456xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<3456xi32>
  %h = stablehlo.reshape %hs : (tensor<3456xi32>) -> tensor<1x24x8x18xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x24x8x18xf32>) -> tensor<1x24x8x18xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x24x8x18xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x24x8x18xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-5245> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_rows_of_7() {
  %xm = stablehlo.constant dense<7> : tensor<2352xi32>
  %xd = stablehlo.constant dense<13> : tensor<2352xi32>
  %xo = stablehlo.constant dense<6> : tensor<2352xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2352xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2352xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2352xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2352xi32>
  %xc = stablehlo.convert %xs : (tensor<2352xi32>) -> tensor<2352xf32>
  %x = stablehlo.reshape %xc : (tensor<2352xf32>) -> tensor<2x24x7x7xf32>
  %wm = stablehlo.constant dense<5> : tensor<216xi32>
  %wd = stablehlo.constant dense<11> : tensor<216xi32>
  %wo = stablehlo.constant dense<5> : tensor<216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<216xi32>
  %wc = stablehlo.convert %ws : (tensor<216xi32>) -> tensor<216xf32>
  %w = stablehlo.reshape %wc : (tensor<216xf32>) -> tensor<24x1x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<2x24x7x7xf32>, tensor<24x1x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 24 : i64}
      : (tensor<2x24x7x7xf32>, tensor<24x1x3x3xf32>) -> tensor<2x24x7x7xf32>
  %hm = stablehlo.constant dense<3> : tensor<2352xi32>
  %hd = stablehlo.constant dense<19> : tensor<2352xi32>
  %ho = stablehlo.constant dense<9> : tensor<2352xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2352xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2352xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2352xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2352xi32>
  %h = stablehlo.reshape %hs : (tensor<2352xi32>) -> tensor<2x24x7x7xi32>
  %yi = stablehlo.convert %y0 : (tensor<2x24x7x7xf32>) -> tensor<2x24x7x7xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<2x24x7x7xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<2x24x7x7xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<19022> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_rows_of_7_residual() {
  %xm = stablehlo.constant dense<7> : tensor<2352xi32>
  %xd = stablehlo.constant dense<13> : tensor<2352xi32>
  %xo = stablehlo.constant dense<6> : tensor<2352xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2352xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2352xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2352xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2352xi32>
  %xc = stablehlo.convert %xs : (tensor<2352xi32>) -> tensor<2352xf32>
  %x = stablehlo.reshape %xc : (tensor<2352xf32>) -> tensor<2x24x7x7xf32>
  %wm = stablehlo.constant dense<5> : tensor<216xi32>
  %wd = stablehlo.constant dense<11> : tensor<216xi32>
  %wo = stablehlo.constant dense<5> : tensor<216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<216xi32>
  %wc = stablehlo.convert %ws : (tensor<216xi32>) -> tensor<216xf32>
  %w = stablehlo.reshape %wc : (tensor<216xf32>) -> tensor<24x1x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<2x24x7x7xf32>, tensor<24x1x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 24 : i64}
      : (tensor<2x24x7x7xf32>, tensor<24x1x3x3xf32>) -> tensor<2x24x7x7xf32>
  %n = stablehlo.negate %xw#0 : tensor<2x24x7x7xf32>
  %z = stablehlo.optimization_barrier %n : tensor<2x24x7x7xf32>
  %y1 = stablehlo.add %y0, %z : tensor<2x24x7x7xf32>
  %hm = stablehlo.constant dense<3> : tensor<2352xi32>
  %hd = stablehlo.constant dense<19> : tensor<2352xi32>
  %ho = stablehlo.constant dense<9> : tensor<2352xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2352xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2352xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2352xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2352xi32>
  %h = stablehlo.reshape %hs : (tensor<2352xi32>) -> tensor<2x24x7x7xi32>
  %yi = stablehlo.convert %y1 : (tensor<2x24x7x7xf32>) -> tensor<2x24x7x7xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<2x24x7x7xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<2x24x7x7xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<18705> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_rows_of_3_f64() {
  %xm = stablehlo.constant dense<7> : tensor<1728xi32>
  %xd = stablehlo.constant dense<13> : tensor<1728xi32>
  %xo = stablehlo.constant dense<6> : tensor<1728xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1728xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1728xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1728xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1728xi32>
  %xc = stablehlo.convert %xs : (tensor<1728xi32>) -> tensor<1728xf64>
  %x = stablehlo.reshape %xc : (tensor<1728xf64>) -> tensor<2x96x3x3xf64>
  %wm = stablehlo.constant dense<5> : tensor<864xi32>
  %wd = stablehlo.constant dense<11> : tensor<864xi32>
  %wo = stablehlo.constant dense<5> : tensor<864xi32>
  %wi = stablehlo.iota dim = 0 : tensor<864xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<864xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<864xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<864xi32>
  %wc = stablehlo.convert %ws : (tensor<864xi32>) -> tensor<864xf64>
  %w = stablehlo.reshape %wc : (tensor<864xf64>) -> tensor<96x1x3x3xf64>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<2x96x3x3xf64>, tensor<96x1x3x3xf64>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 96 : i64}
      : (tensor<2x96x3x3xf64>, tensor<96x1x3x3xf64>) -> tensor<2x96x3x3xf64>
  %hm = stablehlo.constant dense<3> : tensor<1728xi32>
  %hd = stablehlo.constant dense<19> : tensor<1728xi32>
  %ho = stablehlo.constant dense<9> : tensor<1728xi32>
  %hi = stablehlo.iota dim = 0 : tensor<1728xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<1728xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<1728xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<1728xi32>
  %h = stablehlo.reshape %hs : (tensor<1728xi32>) -> tensor<2x96x3x3xi32>
  %yi = stablehlo.convert %y0 : (tensor<2x96x3x3xf64>) -> tensor<2x96x3x3xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<2x96x3x3xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<2x96x3x3xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<3154> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_rows_of_7_stride() {
  %xm = stablehlo.constant dense<7> : tensor<7840xi32>
  %xd = stablehlo.constant dense<13> : tensor<7840xi32>
  %xo = stablehlo.constant dense<6> : tensor<7840xi32>
  %xi = stablehlo.iota dim = 0 : tensor<7840xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<7840xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<7840xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<7840xi32>
  %xc = stablehlo.convert %xs : (tensor<7840xi32>) -> tensor<7840xf32>
  %x = stablehlo.reshape %xc : (tensor<7840xf32>) -> tensor<1x40x14x14xf32>
  %wm = stablehlo.constant dense<5> : tensor<360xi32>
  %wd = stablehlo.constant dense<11> : tensor<360xi32>
  %wo = stablehlo.constant dense<5> : tensor<360xi32>
  %wi = stablehlo.iota dim = 0 : tensor<360xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<360xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<360xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<360xi32>
  %wc = stablehlo.convert %ws : (tensor<360xi32>) -> tensor<360xf32>
  %w = stablehlo.reshape %wc : (tensor<360xf32>) -> tensor<40x1x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x40x14x14xf32>, tensor<40x1x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[1, 0], [1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 40 : i64}
      : (tensor<1x40x14x14xf32>, tensor<40x1x3x3xf32>) -> tensor<1x40x7x7xf32>
  %hm = stablehlo.constant dense<3> : tensor<1960xi32>
  %hd = stablehlo.constant dense<19> : tensor<1960xi32>
  %ho = stablehlo.constant dense<9> : tensor<1960xi32>
  %hi = stablehlo.iota dim = 0 : tensor<1960xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<1960xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<1960xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<1960xi32>
  %h = stablehlo.reshape %hs : (tensor<1960xi32>) -> tensor<1x40x7x7xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x40x7x7xf32>) -> tensor<1x40x7x7xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x40x7x7xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x40x7x7xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-5930> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_rows_of_14() {
  %xm = stablehlo.constant dense<7> : tensor<2352xi32>
  %xd = stablehlo.constant dense<13> : tensor<2352xi32>
  %xo = stablehlo.constant dense<6> : tensor<2352xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2352xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2352xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2352xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2352xi32>
  %xc = stablehlo.convert %xs : (tensor<2352xi32>) -> tensor<2352xf32>
  %x = stablehlo.reshape %xc : (tensor<2352xf32>) -> tensor<1x12x14x14xf32>
  %wm = stablehlo.constant dense<5> : tensor<108xi32>
  %wd = stablehlo.constant dense<11> : tensor<108xi32>
  %wo = stablehlo.constant dense<5> : tensor<108xi32>
  %wi = stablehlo.iota dim = 0 : tensor<108xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<108xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<108xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<108xi32>
  %wc = stablehlo.convert %ws : (tensor<108xi32>) -> tensor<108xf32>
  %w = stablehlo.reshape %wc : (tensor<108xf32>) -> tensor<12x1x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x12x14x14xf32>, tensor<12x1x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 12 : i64}
      : (tensor<1x12x14x14xf32>, tensor<12x1x3x3xf32>) -> tensor<1x12x14x14xf32>
  %hm = stablehlo.constant dense<3> : tensor<2352xi32>
  %hd = stablehlo.constant dense<19> : tensor<2352xi32>
  %ho = stablehlo.constant dense<9> : tensor<2352xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2352xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2352xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2352xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2352xi32>
  %h = stablehlo.reshape %hs : (tensor<2352xi32>) -> tensor<1x12x14x14xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x12x14x14xf32>) -> tensor<1x12x14x14xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x12x14x14xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x12x14x14xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-2214> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_rows_of_23() {
  %xm = stablehlo.constant dense<7> : tensor<8910xi32>
  %xd = stablehlo.constant dense<13> : tensor<8910xi32>
  %xo = stablehlo.constant dense<6> : tensor<8910xi32>
  %xi = stablehlo.iota dim = 0 : tensor<8910xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<8910xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<8910xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<8910xi32>
  %xc = stablehlo.convert %xs : (tensor<8910xi32>) -> tensor<8910xf32>
  %x = stablehlo.reshape %xc : (tensor<8910xf32>) -> tensor<1x18x11x45xf32>
  %wm = stablehlo.constant dense<5> : tensor<162xi32>
  %wd = stablehlo.constant dense<11> : tensor<162xi32>
  %wo = stablehlo.constant dense<5> : tensor<162xi32>
  %wi = stablehlo.iota dim = 0 : tensor<162xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<162xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<162xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<162xi32>
  %wc = stablehlo.convert %ws : (tensor<162xi32>) -> tensor<162xf32>
  %w = stablehlo.reshape %wc : (tensor<162xf32>) -> tensor<18x1x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x18x11x45xf32>, tensor<18x1x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 18 : i64}
      : (tensor<1x18x11x45xf32>, tensor<18x1x3x3xf32>) -> tensor<1x18x6x23xf32>
  %hm = stablehlo.constant dense<3> : tensor<2484xi32>
  %hd = stablehlo.constant dense<19> : tensor<2484xi32>
  %ho = stablehlo.constant dense<9> : tensor<2484xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2484xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2484xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2484xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2484xi32>
  %h = stablehlo.reshape %hs : (tensor<2484xi32>) -> tensor<1x18x6x23xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x18x6x23xf32>) -> tensor<1x18x6x23xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x18x6x23xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x18x6x23xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-4766> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_many_taps() {
  %xm = stablehlo.constant dense<7> : tensor<2880xi32>
  %xd = stablehlo.constant dense<13> : tensor<2880xi32>
  %xo = stablehlo.constant dense<6> : tensor<2880xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2880xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2880xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2880xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2880xi32>
  %xc = stablehlo.convert %xs : (tensor<2880xi32>) -> tensor<2880xf32>
  %x = stablehlo.reshape %xc : (tensor<2880xf32>) -> tensor<1x16x6x30xf32>
  %wm = stablehlo.constant dense<5> : tensor<176xi32>
  %wd = stablehlo.constant dense<11> : tensor<176xi32>
  %wo = stablehlo.constant dense<5> : tensor<176xi32>
  %wi = stablehlo.iota dim = 0 : tensor<176xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<176xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<176xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<176xi32>
  %wc = stablehlo.convert %ws : (tensor<176xi32>) -> tensor<176xf32>
  %w = stablehlo.reshape %wc : (tensor<176xf32>) -> tensor<16x1x1x11xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x16x6x30xf32>, tensor<16x1x1x11xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[0, 0], [5, 5]]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64}
      : (tensor<1x16x6x30xf32>, tensor<16x1x1x11xf32>) -> tensor<1x16x6x30xf32>
  %hm = stablehlo.constant dense<3> : tensor<2880xi32>
  %hd = stablehlo.constant dense<19> : tensor<2880xi32>
  %ho = stablehlo.constant dense<9> : tensor<2880xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2880xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2880xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2880xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2880xi32>
  %h = stablehlo.reshape %hs : (tensor<2880xi32>) -> tensor<1x16x6x30xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x16x6x30xf32>) -> tensor<1x16x6x30xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x16x6x30xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x16x6x30xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-2432> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_dilated() {
  %xm = stablehlo.constant dense<7> : tensor<6480xi32>
  %xd = stablehlo.constant dense<13> : tensor<6480xi32>
  %xo = stablehlo.constant dense<6> : tensor<6480xi32>
  %xi = stablehlo.iota dim = 0 : tensor<6480xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<6480xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<6480xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<6480xi32>
  %xc = stablehlo.convert %xs : (tensor<6480xi32>) -> tensor<6480xf32>
  %x = stablehlo.reshape %xc : (tensor<6480xf32>) -> tensor<1x18x9x40xf32>
  %wm = stablehlo.constant dense<5> : tensor<324xi32>
  %wd = stablehlo.constant dense<11> : tensor<324xi32>
  %wo = stablehlo.constant dense<5> : tensor<324xi32>
  %wi = stablehlo.iota dim = 0 : tensor<324xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<324xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<324xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<324xi32>
  %wc = stablehlo.convert %ws : (tensor<324xi32>) -> tensor<324xf32>
  %w = stablehlo.reshape %wc : (tensor<324xf32>) -> tensor<18x2x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x18x9x40xf32>, tensor<18x2x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [1, 3], pad = [[2, 2], [4, 3]], rhs_dilate = [2, 3]} {batch_group_count = 1 : i64, feature_group_count = 9 : i64}
      : (tensor<1x18x9x40xf32>, tensor<18x2x3x3xf32>) -> tensor<1x18x9x14xf32>
  %hm = stablehlo.constant dense<3> : tensor<2268xi32>
  %hd = stablehlo.constant dense<19> : tensor<2268xi32>
  %ho = stablehlo.constant dense<9> : tensor<2268xi32>
  %hi = stablehlo.iota dim = 0 : tensor<2268xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<2268xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<2268xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<2268xi32>
  %h = stablehlo.reshape %hs : (tensor<2268xi32>) -> tensor<1x18x9x14xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x18x9x14xf32>) -> tensor<1x18x9x14xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x18x9x14xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x18x9x14xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<3419> : tensor<i32>
  return
}

// -----

func.func @depthwise_planes_large() {
  %xm = stablehlo.constant dense<7> : tensor<54400xi32>
  %xd = stablehlo.constant dense<13> : tensor<54400xi32>
  %xo = stablehlo.constant dense<6> : tensor<54400xi32>
  %xi = stablehlo.iota dim = 0 : tensor<54400xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<54400xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<54400xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<54400xi32>
  %xc = stablehlo.convert %xs : (tensor<54400xi32>) -> tensor<54400xf32>
  %x = stablehlo.reshape %xc : (tensor<54400xf32>) -> tensor<1x2x160x170xf32>
  %wm = stablehlo.constant dense<5> : tensor<18xi32>
  %wd = stablehlo.constant dense<11> : tensor<18xi32>
  %wo = stablehlo.constant dense<5> : tensor<18xi32>
  %wi = stablehlo.iota dim = 0 : tensor<18xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<18xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<18xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<18xi32>
  %wc = stablehlo.convert %ws : (tensor<18xi32>) -> tensor<18xf32>
  %w = stablehlo.reshape %wc : (tensor<18xf32>) -> tensor<2x1x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x2x160x170xf32>, tensor<2x1x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<1x2x160x170xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x160x170xf32>
  %hm = stablehlo.constant dense<3> : tensor<54400xi32>
  %hd = stablehlo.constant dense<19> : tensor<54400xi32>
  %ho = stablehlo.constant dense<9> : tensor<54400xi32>
  %hi = stablehlo.iota dim = 0 : tensor<54400xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<54400xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<54400xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<54400xi32>
  %h = stablehlo.reshape %hs : (tensor<54400xi32>) -> tensor<1x2x160x170xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x2x160x170xf32>) -> tensor<1x2x160x170xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x2x160x170xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x2x160x170xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-63> : tensor<i32>
  return
}

// -----

// Rows of positions that the L1 cache does not hold.
func.func @depthwise_long_rows() {
  %xm = stablehlo.constant dense<7> : tensor<125440xi32>
  %xd = stablehlo.constant dense<13> : tensor<125440xi32>
  %xo = stablehlo.constant dense<6> : tensor<125440xi32>
  %xi = stablehlo.iota dim = 0 : tensor<125440xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<125440xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<125440xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<125440xi32>
  %xc = stablehlo.convert %xs : (tensor<125440xi32>) -> tensor<125440xf32>
  %x = stablehlo.reshape %xc : (tensor<125440xf32>) -> tensor<2x7x140x64xf32>
  %wm = stablehlo.constant dense<5> : tensor<576xi32>
  %wd = stablehlo.constant dense<11> : tensor<576xi32>
  %wo = stablehlo.constant dense<5> : tensor<576xi32>
  %wi = stablehlo.iota dim = 0 : tensor<576xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<576xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<576xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<576xi32>
  %wc = stablehlo.convert %ws : (tensor<576xi32>) -> tensor<576xf32>
  %w = stablehlo.reshape %wc : (tensor<576xf32>) -> tensor<3x3x1x64xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<2x7x140x64xf32>, tensor<3x3x1x64xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 64 : i64}
      : (tensor<2x7x140x64xf32>, tensor<3x3x1x64xf32>) -> tensor<2x7x140x64xf32>
  %hm = stablehlo.constant dense<3> : tensor<125440xi32>
  %hd = stablehlo.constant dense<19> : tensor<125440xi32>
  %ho = stablehlo.constant dense<9> : tensor<125440xi32>
  %hi = stablehlo.iota dim = 0 : tensor<125440xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<125440xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<125440xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<125440xi32>
  %h = stablehlo.reshape %hs : (tensor<125440xi32>) -> tensor<2x7x140x64xi32>
  %yi = stablehlo.convert %y0 : (tensor<2x7x140x64xf32>) -> tensor<2x7x140x64xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<2x7x140x64xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<2x7x140x64xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<2082> : tensor<i32>
  return
}

// -----

// The last column overlaps the first one, and begins outside of the input, too.
func.func @depthwise_planes_two_columns() {
  %xm = stablehlo.constant dense<7> : tensor<1188xi32>
  %xd = stablehlo.constant dense<13> : tensor<1188xi32>
  %xo = stablehlo.constant dense<6> : tensor<1188xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1188xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1188xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1188xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1188xi32>
  %xc = stablehlo.convert %xs : (tensor<1188xi32>) -> tensor<1188xf32>
  %x = stablehlo.reshape %xc : (tensor<1188xf32>) -> tensor<1x6x9x22xf32>
  %wm = stablehlo.constant dense<5> : tensor<126xi32>
  %wd = stablehlo.constant dense<11> : tensor<126xi32>
  %wo = stablehlo.constant dense<5> : tensor<126xi32>
  %wi = stablehlo.iota dim = 0 : tensor<126xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<126xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<126xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<126xi32>
  %wc = stablehlo.convert %ws : (tensor<126xi32>) -> tensor<126xf32>
  %w = stablehlo.reshape %wc : (tensor<126xf32>) -> tensor<6x1x3x7xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x6x9x22xf32>, tensor<6x1x3x7xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [1, 2], pad = [[1, 1], [3, -2]]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64}
      : (tensor<1x6x9x22xf32>, tensor<6x1x3x7xf32>) -> tensor<1x6x9x9xf32>
  %hm = stablehlo.constant dense<3> : tensor<486xi32>
  %hd = stablehlo.constant dense<19> : tensor<486xi32>
  %ho = stablehlo.constant dense<9> : tensor<486xi32>
  %hi = stablehlo.iota dim = 0 : tensor<486xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<486xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<486xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<486xi32>
  %h = stablehlo.reshape %hs : (tensor<486xi32>) -> tensor<1x6x9x9xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x6x9x9xf32>) -> tensor<1x6x9x9xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x6x9x9xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x6x9x9xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-4129> : tensor<i32>
  return
}

// -----

// Lanes of two taps that share loads end at different positions.
func.func @depthwise_planes_stride_ends() {
  %xm = stablehlo.constant dense<7> : tensor<2325xi32>
  %xd = stablehlo.constant dense<13> : tensor<2325xi32>
  %xo = stablehlo.constant dense<6> : tensor<2325xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2325xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2325xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2325xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2325xi32>
  %xc = stablehlo.convert %xs : (tensor<2325xi32>) -> tensor<2325xf32>
  %x = stablehlo.reshape %xc : (tensor<2325xf32>) -> tensor<1x5x15x31xf32>
  %wm = stablehlo.constant dense<5> : tensor<45xi32>
  %wd = stablehlo.constant dense<11> : tensor<45xi32>
  %wo = stablehlo.constant dense<5> : tensor<45xi32>
  %wi = stablehlo.iota dim = 0 : tensor<45xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<45xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<45xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<45xi32>
  %wc = stablehlo.convert %ws : (tensor<45xi32>) -> tensor<45xf32>
  %w = stablehlo.reshape %wc : (tensor<45xf32>) -> tensor<5x1x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x5x15x31xf32>, tensor<5x1x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64}
      : (tensor<1x5x15x31xf32>, tensor<5x1x3x3xf32>) -> tensor<1x5x8x16xf32>
  %hm = stablehlo.constant dense<3> : tensor<640xi32>
  %hd = stablehlo.constant dense<19> : tensor<640xi32>
  %ho = stablehlo.constant dense<9> : tensor<640xi32>
  %hi = stablehlo.iota dim = 0 : tensor<640xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<640xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<640xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<640xi32>
  %h = stablehlo.reshape %hs : (tensor<640xi32>) -> tensor<1x5x8x16xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x5x8x16xf32>) -> tensor<1x5x8x16xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x5x8x16xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x5x8x16xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-1724> : tensor<i32>
  return
}

// -----

// Pairs of taps begin with the first one.
func.func @depthwise_planes_stride_five_taps() {
  %xm = stablehlo.constant dense<7> : tensor<1716xi32>
  %xd = stablehlo.constant dense<13> : tensor<1716xi32>
  %xo = stablehlo.constant dense<6> : tensor<1716xi32>
  %xi = stablehlo.iota dim = 0 : tensor<1716xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<1716xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<1716xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<1716xi32>
  %xc = stablehlo.convert %xs : (tensor<1716xi32>) -> tensor<1716xf32>
  %x = stablehlo.reshape %xc : (tensor<1716xf32>) -> tensor<1x4x13x33xf32>
  %wm = stablehlo.constant dense<5> : tensor<100xi32>
  %wd = stablehlo.constant dense<11> : tensor<100xi32>
  %wo = stablehlo.constant dense<5> : tensor<100xi32>
  %wi = stablehlo.iota dim = 0 : tensor<100xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<100xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<100xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<100xi32>
  %wc = stablehlo.convert %ws : (tensor<100xi32>) -> tensor<100xf32>
  %w = stablehlo.reshape %wc : (tensor<100xf32>) -> tensor<4x1x5x5xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x4x13x33xf32>, tensor<4x1x5x5xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[2, 2], [2, 2]]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64}
      : (tensor<1x4x13x33xf32>, tensor<4x1x5x5xf32>) -> tensor<1x4x7x17xf32>
  %hm = stablehlo.constant dense<3> : tensor<476xi32>
  %hd = stablehlo.constant dense<19> : tensor<476xi32>
  %ho = stablehlo.constant dense<9> : tensor<476xi32>
  %hi = stablehlo.iota dim = 0 : tensor<476xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<476xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<476xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<476xi32>
  %h = stablehlo.reshape %hs : (tensor<476xi32>) -> tensor<1x4x7x17xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x4x7x17xf32>) -> tensor<1x4x7x17xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x4x7x17xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x4x7x17xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<2161> : tensor<i32>
  return
}

// -----

// Windows begin and end inside of the input.
func.func @depthwise_planes_stride_cropped() {
  %xm = stablehlo.constant dense<7> : tensor<3200xi32>
  %xd = stablehlo.constant dense<13> : tensor<3200xi32>
  %xo = stablehlo.constant dense<6> : tensor<3200xi32>
  %xi = stablehlo.iota dim = 0 : tensor<3200xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<3200xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<3200xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<3200xi32>
  %xc = stablehlo.convert %xs : (tensor<3200xi32>) -> tensor<3200xf32>
  %x = stablehlo.reshape %xc : (tensor<3200xf32>) -> tensor<1x5x16x40xf32>
  %wm = stablehlo.constant dense<5> : tensor<60xi32>
  %wd = stablehlo.constant dense<11> : tensor<60xi32>
  %wo = stablehlo.constant dense<5> : tensor<60xi32>
  %wi = stablehlo.iota dim = 0 : tensor<60xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<60xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<60xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<60xi32>
  %wc = stablehlo.convert %ws : (tensor<60xi32>) -> tensor<60xf32>
  %w = stablehlo.reshape %wc : (tensor<60xf32>) -> tensor<5x1x3x4xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x5x16x40xf32>, tensor<5x1x3x4xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [1, 2], pad = [[-1, 0], [-1, -2]]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64}
      : (tensor<1x5x16x40xf32>, tensor<5x1x3x4xf32>) -> tensor<1x5x13x17xf32>
  %hm = stablehlo.constant dense<3> : tensor<1105xi32>
  %hd = stablehlo.constant dense<19> : tensor<1105xi32>
  %ho = stablehlo.constant dense<9> : tensor<1105xi32>
  %hi = stablehlo.iota dim = 0 : tensor<1105xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<1105xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<1105xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<1105xi32>
  %h = stablehlo.reshape %hs : (tensor<1105xi32>) -> tensor<1x5x13x17xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x5x13x17xf32>) -> tensor<1x5x13x17xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x5x13x17xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x5x13x17xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<1731> : tensor<i32>
  return
}

// -----

// Rows of fewer results than lanes.
func.func @depthwise_planes_stride_rows_of_15() {
  %xm = stablehlo.constant dense<7> : tensor<3600xi32>
  %xd = stablehlo.constant dense<13> : tensor<3600xi32>
  %xo = stablehlo.constant dense<6> : tensor<3600xi32>
  %xi = stablehlo.iota dim = 0 : tensor<3600xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<3600xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<3600xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<3600xi32>
  %xc = stablehlo.convert %xs : (tensor<3600xi32>) -> tensor<3600xf32>
  %x = stablehlo.reshape %xc : (tensor<3600xf32>) -> tensor<1x16x15x15xf32>
  %wm = stablehlo.constant dense<5> : tensor<96xi32>
  %wd = stablehlo.constant dense<11> : tensor<96xi32>
  %wo = stablehlo.constant dense<5> : tensor<96xi32>
  %wi = stablehlo.iota dim = 0 : tensor<96xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<96xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<96xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<96xi32>
  %wc = stablehlo.convert %ws : (tensor<96xi32>) -> tensor<96xf32>
  %w = stablehlo.reshape %wc : (tensor<96xf32>) -> tensor<16x1x3x2xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x16x15x15xf32>, tensor<16x1x3x2xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64}
      : (tensor<1x16x15x15xf32>, tensor<16x1x3x2xf32>) -> tensor<1x16x7x8xf32>
  %hm = stablehlo.constant dense<3> : tensor<896xi32>
  %hd = stablehlo.constant dense<19> : tensor<896xi32>
  %ho = stablehlo.constant dense<9> : tensor<896xi32>
  %hi = stablehlo.iota dim = 0 : tensor<896xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<896xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<896xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<896xi32>
  %h = stablehlo.reshape %hs : (tensor<896xi32>) -> tensor<1x16x7x8xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x16x7x8xf32>) -> tensor<1x16x7x8xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x16x7x8xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x16x7x8xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<4976> : tensor<i32>
  return
}

// -----

// Taps two elements apart share no loads.
func.func @depthwise_planes_stride_dilated() {
  %xm = stablehlo.constant dense<7> : tensor<2775xi32>
  %xd = stablehlo.constant dense<13> : tensor<2775xi32>
  %xo = stablehlo.constant dense<6> : tensor<2775xi32>
  %xi = stablehlo.iota dim = 0 : tensor<2775xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<2775xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<2775xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<2775xi32>
  %xc = stablehlo.convert %xs : (tensor<2775xi32>) -> tensor<2775xf32>
  %x = stablehlo.reshape %xc : (tensor<2775xf32>) -> tensor<1x5x15x37xf32>
  %wm = stablehlo.constant dense<5> : tensor<45xi32>
  %wd = stablehlo.constant dense<11> : tensor<45xi32>
  %wo = stablehlo.constant dense<5> : tensor<45xi32>
  %wi = stablehlo.iota dim = 0 : tensor<45xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<45xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<45xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<45xi32>
  %wc = stablehlo.convert %ws : (tensor<45xi32>) -> tensor<45xf32>
  %w = stablehlo.reshape %wc : (tensor<45xf32>) -> tensor<5x1x3x3xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x5x15x37xf32>, tensor<5x1x3x3xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[1, 1], [2, 2]], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64}
      : (tensor<1x5x15x37xf32>, tensor<5x1x3x3xf32>) -> tensor<1x5x8x19xf32>
  %hm = stablehlo.constant dense<3> : tensor<760xi32>
  %hd = stablehlo.constant dense<19> : tensor<760xi32>
  %ho = stablehlo.constant dense<9> : tensor<760xi32>
  %hi = stablehlo.iota dim = 0 : tensor<760xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<760xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<760xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<760xi32>
  %h = stablehlo.reshape %hs : (tensor<760xi32>) -> tensor<1x5x8x19xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x5x8x19xf32>) -> tensor<1x5x8x19xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x5x8x19xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x5x8x19xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<464> : tensor<i32>
  return
}

// -----

// A line of positions accesses more than the L1 cache holds, with its weights and results, but its windows read less.
func.func @depthwise_columns_l1() {
  %xm = stablehlo.constant dense<7> : tensor<75264xi32>
  %xd = stablehlo.constant dense<13> : tensor<75264xi32>
  %xo = stablehlo.constant dense<6> : tensor<75264xi32>
  %xi = stablehlo.iota dim = 0 : tensor<75264xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<75264xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<75264xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<75264xi32>
  %xc = stablehlo.convert %xs : (tensor<75264xi32>) -> tensor<75264xf32>
  %x = stablehlo.reshape %xc : (tensor<75264xf32>) -> tensor<1x14x14x384xf32>
  %wm = stablehlo.constant dense<5> : tensor<3456xi32>
  %wd = stablehlo.constant dense<11> : tensor<3456xi32>
  %wo = stablehlo.constant dense<5> : tensor<3456xi32>
  %wi = stablehlo.iota dim = 0 : tensor<3456xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<3456xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<3456xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<3456xi32>
  %wc = stablehlo.convert %ws : (tensor<3456xi32>) -> tensor<3456xf32>
  %w = stablehlo.reshape %wc : (tensor<3456xf32>) -> tensor<3x3x1x384xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x14x14x384xf32>, tensor<3x3x1x384xf32>
  %y0 = stablehlo.convolution(%xw#0, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 384 : i64}
      : (tensor<1x14x14x384xf32>, tensor<3x3x1x384xf32>) -> tensor<1x14x14x384xf32>
  %hm = stablehlo.constant dense<3> : tensor<75264xi32>
  %hd = stablehlo.constant dense<19> : tensor<75264xi32>
  %ho = stablehlo.constant dense<9> : tensor<75264xi32>
  %hi = stablehlo.iota dim = 0 : tensor<75264xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<75264xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<75264xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<75264xi32>
  %h = stablehlo.reshape %hs : (tensor<75264xi32>) -> tensor<1x14x14x384xi32>
  %yi = stablehlo.convert %y0 : (tensor<1x14x14x384xf32>) -> tensor<1x14x14x384xi32>
  %hy = stablehlo.multiply %yi, %h : tensor<1x14x14x384xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%hy init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x14x14x384xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-9515> : tensor<i32>
  return
}
