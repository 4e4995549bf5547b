// Convolutions of 3x3 windows, some of which are computed with fewer multiplications. All numbers are integers that f32 has
// exactly; the expected number is the sum of all results of two turns, each times a small number that depends on its place. The
// loop is there because weights from outside do not change in it, also where constants are arguments.

// results that tiles of 2x2 fill
func.func @even() {
  %xm = stablehlo.constant dense<7> : tensor<8192xi32>
  %xd = stablehlo.constant dense<13> : tensor<8192xi32>
  %xo = stablehlo.constant dense<6> : tensor<8192xi32>
  %xi = stablehlo.iota dim = 0 : tensor<8192xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<8192xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<8192xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<8192xi32>
  %xc = stablehlo.convert %xs : (tensor<8192xi32>) -> tensor<8192xf32>
  %x = stablehlo.reshape %xc : (tensor<8192xf32>) -> tensor<1x16x16x32xf32>
  %wm = stablehlo.constant dense<5> : tensor<9216xi32>
  %wd = stablehlo.constant dense<11> : tensor<9216xi32>
  %wo = stablehlo.constant dense<5> : tensor<9216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<9216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<9216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<9216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<9216xi32>
  %wc = stablehlo.convert %ws : (tensor<9216xi32>) -> tensor<9216xf32>
  %w = stablehlo.reshape %wc : (tensor<9216xf32>) -> tensor<3x3x32x32xf32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<1x16x16x32xf32>
  %y = stablehlo.constant dense<0.0> : tensor<1x16x16x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x16x16x32xf32>, tensor<3x3x32x32xf32>
  %end:3 = stablehlo.while(%t = %n, %xt = %xw#0, %yt = %y) : tensor<i32>, tensor<1x16x16x32xf32>, tensor<1x16x16x32xf32>
    cond {
    %more = stablehlo.compare LT, %t, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %t, %one : tensor<i32>
    %z = stablehlo.convolution(%xt, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64,
        feature_group_count = 1 : i64}
        : (tensor<1x16x16x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x16x16x32xf32>
    %xn = stablehlo.add %xt, %ones : tensor<1x16x16x32xf32>
    %yn = stablehlo.add %yt, %z : tensor<1x16x16x32xf32>
    stablehlo.return %next, %xn, %yn : tensor<i32>, tensor<1x16x16x32xf32>, tensor<1x16x16x32xf32>
  }
  %hm = stablehlo.constant dense<3> : tensor<8192xi32>
  %hd = stablehlo.constant dense<19> : tensor<8192xi32>
  %ho = stablehlo.constant dense<9> : tensor<8192xi32>
  %hi = stablehlo.iota dim = 0 : tensor<8192xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<8192xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<8192xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<8192xi32>
  %h = stablehlo.reshape %hs : (tensor<8192xi32>) -> tensor<1x16x16x32xi32>
  %yc = stablehlo.convert %end#2 : (tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xi32>
  %hy = stablehlo.multiply %yc, %h : tensor<1x16x16x32xi32>
  %sum = stablehlo.reduce(%hy init: %n) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x16x16x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<841> : tensor<i32>
  return
}

// -----

// rows and columns that they do not, images of a batch next to each other, features that do not fill vectors
func.func @odd() {
  %xm = stablehlo.constant dense<7> : tensor<11232xi32>
  %xd = stablehlo.constant dense<13> : tensor<11232xi32>
  %xo = stablehlo.constant dense<6> : tensor<11232xi32>
  %xi = stablehlo.iota dim = 0 : tensor<11232xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<11232xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<11232xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<11232xi32>
  %xc = stablehlo.convert %xs : (tensor<11232xi32>) -> tensor<11232xf32>
  %x = stablehlo.reshape %xc : (tensor<11232xf32>) -> tensor<3x13x9x32xf32>
  %wm = stablehlo.constant dense<5> : tensor<11520xi32>
  %wd = stablehlo.constant dense<11> : tensor<11520xi32>
  %wo = stablehlo.constant dense<5> : tensor<11520xi32>
  %wi = stablehlo.iota dim = 0 : tensor<11520xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<11520xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<11520xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<11520xi32>
  %wc = stablehlo.convert %ws : (tensor<11520xi32>) -> tensor<11520xf32>
  %w = stablehlo.reshape %wc : (tensor<11520xf32>) -> tensor<3x3x32x40xf32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<3x13x9x32xf32>
  %y = stablehlo.constant dense<0.0> : tensor<3x13x9x40xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<3x13x9x32xf32>, tensor<3x3x32x40xf32>
  %end:3 = stablehlo.while(%t = %n, %xt = %xw#0, %yt = %y) : tensor<i32>, tensor<3x13x9x32xf32>, tensor<3x13x9x40xf32>
    cond {
    %more = stablehlo.compare LT, %t, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %t, %one : tensor<i32>
    %z = stablehlo.convolution(%xt, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64,
        feature_group_count = 1 : i64}
        : (tensor<3x13x9x32xf32>, tensor<3x3x32x40xf32>) -> tensor<3x13x9x40xf32>
    %xn = stablehlo.add %xt, %ones : tensor<3x13x9x32xf32>
    %yn = stablehlo.add %yt, %z : tensor<3x13x9x40xf32>
    stablehlo.return %next, %xn, %yn : tensor<i32>, tensor<3x13x9x32xf32>, tensor<3x13x9x40xf32>
  }
  %hm = stablehlo.constant dense<3> : tensor<14040xi32>
  %hd = stablehlo.constant dense<19> : tensor<14040xi32>
  %ho = stablehlo.constant dense<9> : tensor<14040xi32>
  %hi = stablehlo.iota dim = 0 : tensor<14040xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<14040xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<14040xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<14040xi32>
  %h = stablehlo.reshape %hs : (tensor<14040xi32>) -> tensor<3x13x9x40xi32>
  %yc = stablehlo.convert %end#2 : (tensor<3x13x9x40xf32>) -> tensor<3x13x9x40xi32>
  %hy = stablehlo.multiply %yc, %h : tensor<3x13x9x40xi32>
  %sum = stablehlo.reduce(%hy init: %n) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<3x13x9x40xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-210112> : tensor<i32>
  return
}

// -----

// padding that differs at each side; channels that do not fill cache lines
func.func @uneven() {
  %xm = stablehlo.constant dense<7> : tensor<9504xi32>
  %xd = stablehlo.constant dense<13> : tensor<9504xi32>
  %xo = stablehlo.constant dense<6> : tensor<9504xi32>
  %xi = stablehlo.iota dim = 0 : tensor<9504xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<9504xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<9504xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<9504xi32>
  %xc = stablehlo.convert %xs : (tensor<9504xi32>) -> tensor<9504xf32>
  %x = stablehlo.reshape %xc : (tensor<9504xf32>) -> tensor<2x12x11x36xf32>
  %wm = stablehlo.constant dense<5> : tensor<10368xi32>
  %wd = stablehlo.constant dense<11> : tensor<10368xi32>
  %wo = stablehlo.constant dense<5> : tensor<10368xi32>
  %wi = stablehlo.iota dim = 0 : tensor<10368xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<10368xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<10368xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<10368xi32>
  %wc = stablehlo.convert %ws : (tensor<10368xi32>) -> tensor<10368xf32>
  %w = stablehlo.reshape %wc : (tensor<10368xf32>) -> tensor<3x3x36x32xf32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<2x12x11x36xf32>
  %y = stablehlo.constant dense<0.0> : tensor<2x12x12x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<2x12x11x36xf32>, tensor<3x3x36x32xf32>
  %end:3 = stablehlo.while(%t = %n, %xt = %xw#0, %yt = %y) : tensor<i32>, tensor<2x12x11x36xf32>, tensor<2x12x12x32xf32>
    cond {
    %more = stablehlo.compare LT, %t, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %t, %one : tensor<i32>
    %z = stablehlo.convolution(%xt, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [1, 1], pad = [[2, 0], [0, 3]]} {batch_group_count = 1 : i64,
        feature_group_count = 1 : i64}
        : (tensor<2x12x11x36xf32>, tensor<3x3x36x32xf32>) -> tensor<2x12x12x32xf32>
    %xn = stablehlo.add %xt, %ones : tensor<2x12x11x36xf32>
    %yn = stablehlo.add %yt, %z : tensor<2x12x12x32xf32>
    stablehlo.return %next, %xn, %yn : tensor<i32>, tensor<2x12x11x36xf32>, tensor<2x12x12x32xf32>
  }
  %hm = stablehlo.constant dense<3> : tensor<9216xi32>
  %hd = stablehlo.constant dense<19> : tensor<9216xi32>
  %ho = stablehlo.constant dense<9> : tensor<9216xi32>
  %hi = stablehlo.iota dim = 0 : tensor<9216xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<9216xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<9216xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<9216xi32>
  %h = stablehlo.reshape %hs : (tensor<9216xi32>) -> tensor<2x12x12x32xi32>
  %yc = stablehlo.convert %end#2 : (tensor<2x12x12x32xf32>) -> tensor<2x12x12x32xi32>
  %hy = stablehlo.multiply %yc, %h : tensor<2x12x12x32xi32>
  %sum = stablehlo.reduce(%hy init: %n) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<2x12x12x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<3156> : tensor<i32>
  return
}

// -----

// no padding, long sums
func.func @no_padding() {
  %xm = stablehlo.constant dense<7> : tensor<24480xi32>
  %xd = stablehlo.constant dense<13> : tensor<24480xi32>
  %xo = stablehlo.constant dense<6> : tensor<24480xi32>
  %xi = stablehlo.iota dim = 0 : tensor<24480xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<24480xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<24480xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<24480xi32>
  %xc = stablehlo.convert %xs : (tensor<24480xi32>) -> tensor<24480xf32>
  %x = stablehlo.reshape %xc : (tensor<24480xf32>) -> tensor<1x18x17x80xf32>
  %wm = stablehlo.constant dense<5> : tensor<34560xi32>
  %wd = stablehlo.constant dense<11> : tensor<34560xi32>
  %wo = stablehlo.constant dense<5> : tensor<34560xi32>
  %wi = stablehlo.iota dim = 0 : tensor<34560xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<34560xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<34560xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<34560xi32>
  %wc = stablehlo.convert %ws : (tensor<34560xi32>) -> tensor<34560xf32>
  %w = stablehlo.reshape %wc : (tensor<34560xf32>) -> tensor<3x3x80x48xf32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<1x18x17x80xf32>
  %y = stablehlo.constant dense<0.0> : tensor<1x16x15x48xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x18x17x80xf32>, tensor<3x3x80x48xf32>
  %end:3 = stablehlo.while(%t = %n, %xt = %xw#0, %yt = %y) : tensor<i32>, tensor<1x18x17x80xf32>, tensor<1x16x15x48xf32>
    cond {
    %more = stablehlo.compare LT, %t, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %t, %one : tensor<i32>
    %z = stablehlo.convolution(%xt, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64,
        feature_group_count = 1 : i64}
        : (tensor<1x18x17x80xf32>, tensor<3x3x80x48xf32>) -> tensor<1x16x15x48xf32>
    %xn = stablehlo.add %xt, %ones : tensor<1x18x17x80xf32>
    %yn = stablehlo.add %yt, %z : tensor<1x16x15x48xf32>
    stablehlo.return %next, %xn, %yn : tensor<i32>, tensor<1x18x17x80xf32>, tensor<1x16x15x48xf32>
  }
  %hm = stablehlo.constant dense<3> : tensor<11520xi32>
  %hd = stablehlo.constant dense<19> : tensor<11520xi32>
  %ho = stablehlo.constant dense<9> : tensor<11520xi32>
  %hi = stablehlo.iota dim = 0 : tensor<11520xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<11520xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<11520xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<11520xi32>
  %h = stablehlo.reshape %hs : (tensor<11520xi32>) -> tensor<1x16x15x48xi32>
  %yc = stablehlo.convert %end#2 : (tensor<1x16x15x48xf32>) -> tensor<1x16x15x48xi32>
  %hy = stablehlo.multiply %yc, %h : tensor<1x16x15x48xi32>
  %sum = stablehlo.reduce(%hy init: %n) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x16x15x48xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<18166> : tensor<i32>
  return
}

// -----

// strides and groups, for which there is no such way
func.func @stride() {
  %xm = stablehlo.constant dense<7> : tensor<10400xi32>
  %xd = stablehlo.constant dense<13> : tensor<10400xi32>
  %xo = stablehlo.constant dense<6> : tensor<10400xi32>
  %xi = stablehlo.iota dim = 0 : tensor<10400xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<10400xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<10400xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<10400xi32>
  %xc = stablehlo.convert %xs : (tensor<10400xi32>) -> tensor<10400xf32>
  %x = stablehlo.reshape %xc : (tensor<10400xf32>) -> tensor<1x25x13x32xf32>
  %wm = stablehlo.constant dense<5> : tensor<9216xi32>
  %wd = stablehlo.constant dense<11> : tensor<9216xi32>
  %wo = stablehlo.constant dense<5> : tensor<9216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<9216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<9216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<9216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<9216xi32>
  %wc = stablehlo.convert %ws : (tensor<9216xi32>) -> tensor<9216xf32>
  %w = stablehlo.reshape %wc : (tensor<9216xf32>) -> tensor<3x3x32x32xf32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<1x25x13x32xf32>
  %y = stablehlo.constant dense<0.0> : tensor<1x13x13x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x25x13x32xf32>, tensor<3x3x32x32xf32>
  %end:3 = stablehlo.while(%t = %n, %xt = %xw#0, %yt = %y) : tensor<i32>, tensor<1x25x13x32xf32>, tensor<1x13x13x32xf32>
    cond {
    %more = stablehlo.compare LT, %t, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %t, %one : tensor<i32>
    %z = stablehlo.convolution(%xt, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [2, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64,
        feature_group_count = 1 : i64}
        : (tensor<1x25x13x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x13x13x32xf32>
    %xn = stablehlo.add %xt, %ones : tensor<1x25x13x32xf32>
    %yn = stablehlo.add %yt, %z : tensor<1x13x13x32xf32>
    stablehlo.return %next, %xn, %yn : tensor<i32>, tensor<1x25x13x32xf32>, tensor<1x13x13x32xf32>
  }
  %hm = stablehlo.constant dense<3> : tensor<5408xi32>
  %hd = stablehlo.constant dense<19> : tensor<5408xi32>
  %ho = stablehlo.constant dense<9> : tensor<5408xi32>
  %hi = stablehlo.iota dim = 0 : tensor<5408xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<5408xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<5408xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<5408xi32>
  %h = stablehlo.reshape %hs : (tensor<5408xi32>) -> tensor<1x13x13x32xi32>
  %yc = stablehlo.convert %end#2 : (tensor<1x13x13x32xf32>) -> tensor<1x13x13x32xi32>
  %hy = stablehlo.multiply %yc, %h : tensor<1x13x13x32xi32>
  %sum = stablehlo.reduce(%hy init: %n) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x13x13x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-19838> : tensor<i32>
  return
}

// -----

// two groups
func.func @groups() {
  %xm = stablehlo.constant dense<7> : tensor<9216xi32>
  %xd = stablehlo.constant dense<13> : tensor<9216xi32>
  %xo = stablehlo.constant dense<6> : tensor<9216xi32>
  %xi = stablehlo.iota dim = 0 : tensor<9216xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<9216xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<9216xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<9216xi32>
  %xc = stablehlo.convert %xs : (tensor<9216xi32>) -> tensor<9216xf32>
  %x = stablehlo.reshape %xc : (tensor<9216xf32>) -> tensor<1x12x12x64xf32>
  %wm = stablehlo.constant dense<5> : tensor<18432xi32>
  %wd = stablehlo.constant dense<11> : tensor<18432xi32>
  %wo = stablehlo.constant dense<5> : tensor<18432xi32>
  %wi = stablehlo.iota dim = 0 : tensor<18432xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<18432xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<18432xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<18432xi32>
  %wc = stablehlo.convert %ws : (tensor<18432xi32>) -> tensor<18432xf32>
  %w = stablehlo.reshape %wc : (tensor<18432xf32>) -> tensor<3x3x32x64xf32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<1x12x12x64xf32>
  %y = stablehlo.constant dense<0.0> : tensor<1x12x12x64xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x12x12x64xf32>, tensor<3x3x32x64xf32>
  %end:3 = stablehlo.while(%t = %n, %xt = %xw#0, %yt = %y) : tensor<i32>, tensor<1x12x12x64xf32>, tensor<1x12x12x64xf32>
    cond {
    %more = stablehlo.compare LT, %t, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %t, %one : tensor<i32>
    %z = stablehlo.convolution(%xt, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64,
        feature_group_count = 2 : i64}
        : (tensor<1x12x12x64xf32>, tensor<3x3x32x64xf32>) -> tensor<1x12x12x64xf32>
    %xn = stablehlo.add %xt, %ones : tensor<1x12x12x64xf32>
    %yn = stablehlo.add %yt, %z : tensor<1x12x12x64xf32>
    stablehlo.return %next, %xn, %yn : tensor<i32>, tensor<1x12x12x64xf32>, tensor<1x12x12x64xf32>
  }
  %hm = stablehlo.constant dense<3> : tensor<9216xi32>
  %hd = stablehlo.constant dense<19> : tensor<9216xi32>
  %ho = stablehlo.constant dense<9> : tensor<9216xi32>
  %hi = stablehlo.iota dim = 0 : tensor<9216xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<9216xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<9216xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<9216xi32>
  %h = stablehlo.reshape %hs : (tensor<9216xi32>) -> tensor<1x12x12x64xi32>
  %yc = stablehlo.convert %end#2 : (tensor<1x12x12x64xf32>) -> tensor<1x12x12x64xi32>
  %hy = stablehlo.multiply %yc, %h : tensor<1x12x12x64xi32>
  %sum = stablehlo.reduce(%hy init: %n) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x12x12x64xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-19900> : tensor<i32>
  return
}

// -----

// more precision is asked for
func.func @precise() {
  %xm = stablehlo.constant dense<7> : tensor<4608xi32>
  %xd = stablehlo.constant dense<13> : tensor<4608xi32>
  %xo = stablehlo.constant dense<6> : tensor<4608xi32>
  %xi = stablehlo.iota dim = 0 : tensor<4608xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<4608xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<4608xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<4608xi32>
  %xc = stablehlo.convert %xs : (tensor<4608xi32>) -> tensor<4608xf32>
  %x = stablehlo.reshape %xc : (tensor<4608xf32>) -> tensor<1x12x12x32xf32>
  %wm = stablehlo.constant dense<5> : tensor<9216xi32>
  %wd = stablehlo.constant dense<11> : tensor<9216xi32>
  %wo = stablehlo.constant dense<5> : tensor<9216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<9216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<9216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<9216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<9216xi32>
  %wc = stablehlo.convert %ws : (tensor<9216xi32>) -> tensor<9216xf32>
  %w = stablehlo.reshape %wc : (tensor<9216xf32>) -> tensor<3x3x32x32xf32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<1x12x12x32xf32>
  %y = stablehlo.constant dense<0.0> : tensor<1x12x12x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %w : tensor<1x12x12x32xf32>, tensor<3x3x32x32xf32>
  %end:3 = stablehlo.while(%t = %n, %xt = %xw#0, %yt = %y) : tensor<i32>, tensor<1x12x12x32xf32>, tensor<1x12x12x32xf32>
    cond {
    %more = stablehlo.compare LT, %t, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %t, %one : tensor<i32>
    %z = stablehlo.convolution(%xt, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64,
        feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}
        : (tensor<1x12x12x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x12x12x32xf32>
    %xn = stablehlo.add %xt, %ones : tensor<1x12x12x32xf32>
    %yn = stablehlo.add %yt, %z : tensor<1x12x12x32xf32>
    stablehlo.return %next, %xn, %yn : tensor<i32>, tensor<1x12x12x32xf32>, tensor<1x12x12x32xf32>
  }
  %hm = stablehlo.constant dense<3> : tensor<4608xi32>
  %hd = stablehlo.constant dense<19> : tensor<4608xi32>
  %ho = stablehlo.constant dense<9> : tensor<4608xi32>
  %hi = stablehlo.iota dim = 0 : tensor<4608xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<4608xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<4608xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<4608xi32>
  %h = stablehlo.reshape %hs : (tensor<4608xi32>) -> tensor<1x12x12x32xi32>
  %yc = stablehlo.convert %end#2 : (tensor<1x12x12x32xf32>) -> tensor<1x12x12x32xi32>
  %hy = stablehlo.multiply %yc, %h : tensor<1x12x12x32xi32>
  %sum = stablehlo.reduce(%hy init: %n) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x12x12x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-2893> : tensor<i32>
  return
}

// -----

// elements that are not finite, and in channel 1 two whose difference overflows, which no result needs: the weights of one
// of them are zero. Results are numbered by what they are, others are themselves
func.func @not_finite() {
  %xm = stablehlo.constant dense<7> : tensor<6272xi32>
  %xd = stablehlo.constant dense<13> : tensor<6272xi32>
  %xo = stablehlo.constant dense<6> : tensor<6272xi32>
  %xi = stablehlo.iota dim = 0 : tensor<6272xi32>
  %xp = stablehlo.multiply %xi, %xm : tensor<6272xi32>
  %xr = stablehlo.remainder %xp, %xd : tensor<6272xi32>
  %xs = stablehlo.subtract %xr, %xo : tensor<6272xi32>
  %xc = stablehlo.convert %xs : (tensor<6272xi32>) -> tensor<6272xf32>
  %k0 = stablehlo.constant dense<963> : tensor<6272xi32>
  %e0 = stablehlo.compare EQ, %xi, %k0 : (tensor<6272xi32>, tensor<6272xi32>) -> tensor<6272xi1>
  %v0 = stablehlo.constant dense<0x7F800000> : tensor<6272xf32>
  %x0 = stablehlo.select %e0, %v0, %xc : tensor<6272xi1>, tensor<6272xf32>
  %k1 = stablehlo.constant dense<2981> : tensor<6272xi32>
  %e1 = stablehlo.compare EQ, %xi, %k1 : (tensor<6272xi32>, tensor<6272xi32>) -> tensor<6272xi1>
  %v1 = stablehlo.constant dense<0x7FC00000> : tensor<6272xf32>
  %x1 = stablehlo.select %e1, %v1, %x0 : tensor<6272xi1>, tensor<6272xf32>
  %k2 = stablehlo.constant dense<5024> : tensor<6272xi32>
  %e2 = stablehlo.compare EQ, %xi, %k2 : (tensor<6272xi32>, tensor<6272xi32>) -> tensor<6272xi1>
  %v2 = stablehlo.constant dense<0xFF800000> : tensor<6272xf32>
  %x2 = stablehlo.select %e2, %v2, %x1 : tensor<6272xi1>, tensor<6272xf32>
  %k3 = stablehlo.constant dense<4289> : tensor<6272xi32>
  %e3 = stablehlo.compare EQ, %xi, %k3 : (tensor<6272xi32>, tensor<6272xi32>) -> tensor<6272xi1>
  %v3 = stablehlo.constant dense<3.0e+38> : tensor<6272xf32>
  %x3 = stablehlo.select %e3, %v3, %x2 : tensor<6272xi1>, tensor<6272xf32>
  %k4 = stablehlo.constant dense<4353> : tensor<6272xi32>
  %e4 = stablehlo.compare EQ, %xi, %k4 : (tensor<6272xi32>, tensor<6272xi32>) -> tensor<6272xi1>
  %v4 = stablehlo.constant dense<-3.0e+38> : tensor<6272xf32>
  %x4 = stablehlo.select %e4, %v4, %x3 : tensor<6272xi1>, tensor<6272xf32>
  %x = stablehlo.reshape %x4 : (tensor<6272xf32>) -> tensor<1x14x14x32xf32>
  %wm = stablehlo.constant dense<5> : tensor<9216xi32>
  %wd = stablehlo.constant dense<11> : tensor<9216xi32>
  %wo = stablehlo.constant dense<5> : tensor<9216xi32>
  %wi = stablehlo.iota dim = 0 : tensor<9216xi32>
  %wp = stablehlo.multiply %wi, %wm : tensor<9216xi32>
  %wr = stablehlo.remainder %wp, %wd : tensor<9216xi32>
  %ws = stablehlo.subtract %wr, %wo : tensor<9216xi32>
  %wc = stablehlo.convert %ws : (tensor<9216xi32>) -> tensor<9216xf32>
  %w = stablehlo.reshape %wc : (tensor<9216xf32>) -> tensor<3x3x32x32xf32>
  %wi2 = stablehlo.iota dim = 2 : tensor<3x3x32x32xi32>
  %wi1 = stablehlo.iota dim = 1 : tensor<3x3x32x32xi32>
  %w1 = stablehlo.constant dense<1> : tensor<3x3x32x32xi32>
  %w2 = stablehlo.constant dense<2> : tensor<3x3x32x32xi32>
  %wone = stablehlo.constant dense<1.0> : tensor<3x3x32x32xf32>
  %wzero = stablehlo.constant dense<0.0> : tensor<3x3x32x32xf32>
  %c1 = stablehlo.compare EQ, %wi2, %w1 : (tensor<3x3x32x32xi32>, tensor<3x3x32x32xi32>) -> tensor<3x3x32x32xi1>
  %c2 = stablehlo.compare EQ, %wi1, %w2 : (tensor<3x3x32x32xi32>, tensor<3x3x32x32xi32>) -> tensor<3x3x32x32xi1>
  %wv = stablehlo.select %c2, %wzero, %wone : tensor<3x3x32x32xi1>, tensor<3x3x32x32xf32>
  %ww = stablehlo.select %c1, %wv, %w : tensor<3x3x32x32xi1>, tensor<3x3x32x32xf32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<1x14x14x32xf32>
  %y = stablehlo.constant dense<0.0> : tensor<1x14x14x32xf32>
  %xw:2 = stablehlo.optimization_barrier %x, %ww : tensor<1x14x14x32xf32>, tensor<3x3x32x32xf32>
  %end:3 = stablehlo.while(%t = %n, %xt = %xw#0, %yt = %y) : tensor<i32>, tensor<1x14x14x32xf32>, tensor<1x14x14x32xf32>
    cond {
    %more = stablehlo.compare LT, %t, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %t, %one : tensor<i32>
    %z = stablehlo.convolution(%xt, %xw#1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x14x14x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x14x14x32xf32>
    %xn = stablehlo.add %xt, %ones : tensor<1x14x14x32xf32>
    stablehlo.return %next, %xn, %z : tensor<i32>, tensor<1x14x14x32xf32>, tensor<1x14x14x32xf32>
  }
  %hm = stablehlo.constant dense<3> : tensor<6272xi32>
  %hd = stablehlo.constant dense<19> : tensor<6272xi32>
  %ho = stablehlo.constant dense<9> : tensor<6272xi32>
  %hi = stablehlo.iota dim = 0 : tensor<6272xi32>
  %hp = stablehlo.multiply %hi, %hm : tensor<6272xi32>
  %hr = stablehlo.remainder %hp, %hd : tensor<6272xi32>
  %hs = stablehlo.subtract %hr, %ho : tensor<6272xi32>
  %h = stablehlo.reshape %hs : (tensor<6272xi32>) -> tensor<1x14x14x32xi32>
  %yc = stablehlo.convert %end#2 : (tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xi32>
  %q0 = stablehlo.constant dense<70001> : tensor<1x14x14x32xi32>
  %is0 = stablehlo.compare NE, %end#2, %end#2 : (tensor<1x14x14x32xf32>, tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xi1>
  %y0 = stablehlo.select %is0, %q0, %yc : tensor<1x14x14x32xi1>, tensor<1x14x14x32xi32>
  %q1 = stablehlo.constant dense<70002> : tensor<1x14x14x32xi32>
  %u1 = stablehlo.constant dense<0x7F800000> : tensor<1x14x14x32xf32>
  %is1 = stablehlo.compare EQ, %end#2, %u1 : (tensor<1x14x14x32xf32>, tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xi1>
  %y1 = stablehlo.select %is1, %q1, %y0 : tensor<1x14x14x32xi1>, tensor<1x14x14x32xi32>
  %q2 = stablehlo.constant dense<70003> : tensor<1x14x14x32xi32>
  %u2 = stablehlo.constant dense<0xFF800000> : tensor<1x14x14x32xf32>
  %is2 = stablehlo.compare EQ, %end#2, %u2 : (tensor<1x14x14x32xf32>, tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xi1>
  %y2 = stablehlo.select %is2, %q2, %y1 : tensor<1x14x14x32xi1>, tensor<1x14x14x32xi32>
  %q3 = stablehlo.constant dense<70004> : tensor<1x14x14x32xi32>
  %u3 = stablehlo.constant dense<3.0e+38> : tensor<1x14x14x32xf32>
  %is3 = stablehlo.compare EQ, %end#2, %u3 : (tensor<1x14x14x32xf32>, tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xi1>
  %y3 = stablehlo.select %is3, %q3, %y2 : tensor<1x14x14x32xi1>, tensor<1x14x14x32xi32>
  %q4 = stablehlo.constant dense<70005> : tensor<1x14x14x32xi32>
  %u4 = stablehlo.constant dense<-3.0e+38> : tensor<1x14x14x32xf32>
  %is4 = stablehlo.compare EQ, %end#2, %u4 : (tensor<1x14x14x32xf32>, tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xi1>
  %y4 = stablehlo.select %is4, %q4, %y3 : tensor<1x14x14x32xi1>, tensor<1x14x14x32xi32>
  %hy = stablehlo.multiply %y4, %h : tensor<1x14x14x32xi32>
  %sum = stablehlo.reduce(%hy init: %n) applies stablehlo.add across dimensions = [0, 1, 2, 3]
      : (tensor<1x14x14x32xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<1226671> : tensor<i32>
  return
}
