// LAPACK's functions, as JAX calls them: factors of small matrices against what they are factors of.

func.func @lu_square() {
  %v0 = stablehlo.constant dense<[[[-3.25, -2.0, 2.5], [0.75, -3.25, -0.5], [-0.25, -2.75, 2.0]], [[-3.0, -0.75, 0.25], [-0.5, 0.75, 2.0], [3.75, -1.75, 1.25]]]> : tensor<2x3x3xf32>
  %r:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%v0) : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xi32>, tensor<2xi32>)
  check.expect_eq_const %r#1, dense<[[1, 2, 3], [3, 3, 3]]> : tensor<2x3xi32>
  check.expect_eq_const %r#2, dense<[0, 0]> : tensor<2xi32>
  %v1 = stablehlo.slice %r#0 [0:2, 0:3, 0:3] : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v2 = stablehlo.slice %r#0 [0:2, 0:3, 0:3] : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v3 = stablehlo.iota dim = 1 : tensor<2x3x3xi32>
  %v4 = stablehlo.iota dim = 2 : tensor<2x3x3xi32>
  %v5 = stablehlo.compare GT, %v3, %v4 : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %v6 = stablehlo.constant dense<0.0> : tensor<2x3x3xf32>
  %v7 = stablehlo.select %v5, %v1, %v6 : tensor<2x3x3xi1>, tensor<2x3x3xf32>
  %v8 = stablehlo.compare EQ, %v3, %v4 : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %v9 = stablehlo.constant dense<1.0> : tensor<2x3x3xf32>
  %v10 = stablehlo.select %v8, %v9, %v7 : tensor<2x3x3xi1>, tensor<2x3x3xf32>
  %v11 = stablehlo.iota dim = 1 : tensor<2x3x3xi32>
  %v12 = stablehlo.iota dim = 2 : tensor<2x3x3xi32>
  %v13 = stablehlo.compare LE, %v11, %v12 : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %v14 = stablehlo.constant dense<0.0> : tensor<2x3x3xf32>
  %v15 = stablehlo.select %v13, %v2, %v14 : tensor<2x3x3xi1>, tensor<2x3x3xf32>
  %v16 = stablehlo.dot_general %v10, %v15, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v17 = stablehlo.constant dense<[[[-3.25, -2.0, 2.5], [0.75, -3.25, -0.5], [-0.25, -2.75, 2.0]], [[3.75, -1.75, 1.25], [-3.0, -0.75, 0.25], [-0.5, 0.75, 2.0]]]> : tensor<2x3x3xf32>
  %v18 = stablehlo.subtract %v16, %v17 : tensor<2x3x3xf32>
  %v19 = stablehlo.abs %v18 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v20 = stablehlo.constant dense<2.0e-05> : tensor<2x3x3xf32>
  %v21 = stablehlo.compare LT, %v19, %v20 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xi1>
  check.expect_eq_const %v21, dense<true> : tensor<2x3x3xi1>
  func.return
}

func.func @lu_tall() {
  %v0 = stablehlo.constant dense<[[[1.5, -1.75], [-4.0, 3.75], [-1.5, -1.5], [3.25, 0.75]]]> : tensor<1x4x2xf64>
  %r:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%v0) : (tensor<1x4x2xf64>) -> (tensor<1x4x2xf64>, tensor<1x2xi32>, tensor<1xi32>)
  check.expect_eq_const %r#1, dense<[[2, 4]]> : tensor<1x2xi32>
  check.expect_eq_const %r#2, dense<[0]> : tensor<1xi32>
  %v1 = stablehlo.slice %r#0 [0:1, 0:4, 0:2] : (tensor<1x4x2xf64>) -> tensor<1x4x2xf64>
  %v2 = stablehlo.slice %r#0 [0:1, 0:2, 0:2] : (tensor<1x4x2xf64>) -> tensor<1x2x2xf64>
  %v3 = stablehlo.iota dim = 1 : tensor<1x4x2xi32>
  %v4 = stablehlo.iota dim = 2 : tensor<1x4x2xi32>
  %v5 = stablehlo.compare GT, %v3, %v4 : (tensor<1x4x2xi32>, tensor<1x4x2xi32>) -> tensor<1x4x2xi1>
  %v6 = stablehlo.constant dense<0.0> : tensor<1x4x2xf64>
  %v7 = stablehlo.select %v5, %v1, %v6 : tensor<1x4x2xi1>, tensor<1x4x2xf64>
  %v8 = stablehlo.compare EQ, %v3, %v4 : (tensor<1x4x2xi32>, tensor<1x4x2xi32>) -> tensor<1x4x2xi1>
  %v9 = stablehlo.constant dense<1.0> : tensor<1x4x2xf64>
  %v10 = stablehlo.select %v8, %v9, %v7 : tensor<1x4x2xi1>, tensor<1x4x2xf64>
  %v11 = stablehlo.iota dim = 1 : tensor<1x2x2xi32>
  %v12 = stablehlo.iota dim = 2 : tensor<1x2x2xi32>
  %v13 = stablehlo.compare LE, %v11, %v12 : (tensor<1x2x2xi32>, tensor<1x2x2xi32>) -> tensor<1x2x2xi1>
  %v14 = stablehlo.constant dense<0.0> : tensor<1x2x2xf64>
  %v15 = stablehlo.select %v13, %v2, %v14 : tensor<1x2x2xi1>, tensor<1x2x2xf64>
  %v16 = stablehlo.dot_general %v10, %v15, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x4x2xf64>, tensor<1x2x2xf64>) -> tensor<1x4x2xf64>
  %v17 = stablehlo.constant dense<[[[-4.0, 3.75], [3.25, 0.75], [-1.5, -1.5], [1.5, -1.75]]]> : tensor<1x4x2xf64>
  %v18 = stablehlo.subtract %v16, %v17 : tensor<1x4x2xf64>
  %v19 = stablehlo.abs %v18 : (tensor<1x4x2xf64>) -> tensor<1x4x2xf64>
  %v20 = stablehlo.constant dense<1.0e-12> : tensor<1x4x2xf64>
  %v21 = stablehlo.compare LT, %v19, %v20 : (tensor<1x4x2xf64>, tensor<1x4x2xf64>) -> tensor<1x4x2xi1>
  check.expect_eq_const %v21, dense<true> : tensor<1x4x2xi1>
  func.return
}

func.func @lu_wide() {
  %v0 = stablehlo.constant dense<[[[(-0.25, -2.25), (2.25, 1.0), (-3.75, -1.5), (1.75, 2.0)], [(-1.0, 1.75), (-3.25, -2.25), (1.25, 2.75), (3.5, 1.25)]]]> : tensor<1x2x4xcomplex<f64>>
  %r:3 = stablehlo.custom_call @lapack_zgetrf_ffi(%v0) : (tensor<1x2x4xcomplex<f64>>) -> (tensor<1x2x4xcomplex<f64>>, tensor<1x2xi32>, tensor<1xi32>)
  check.expect_eq_const %r#1, dense<[[2, 2]]> : tensor<1x2xi32>
  check.expect_eq_const %r#2, dense<[0]> : tensor<1xi32>
  %v1 = stablehlo.slice %r#0 [0:1, 0:2, 0:2] : (tensor<1x2x4xcomplex<f64>>) -> tensor<1x2x2xcomplex<f64>>
  %v2 = stablehlo.slice %r#0 [0:1, 0:2, 0:4] : (tensor<1x2x4xcomplex<f64>>) -> tensor<1x2x4xcomplex<f64>>
  %v3 = stablehlo.iota dim = 1 : tensor<1x2x2xi32>
  %v4 = stablehlo.iota dim = 2 : tensor<1x2x2xi32>
  %v5 = stablehlo.compare GT, %v3, %v4 : (tensor<1x2x2xi32>, tensor<1x2x2xi32>) -> tensor<1x2x2xi1>
  %v6 = stablehlo.constant dense<(0.0, 0.0)> : tensor<1x2x2xcomplex<f64>>
  %v7 = stablehlo.select %v5, %v1, %v6 : tensor<1x2x2xi1>, tensor<1x2x2xcomplex<f64>>
  %v8 = stablehlo.compare EQ, %v3, %v4 : (tensor<1x2x2xi32>, tensor<1x2x2xi32>) -> tensor<1x2x2xi1>
  %v9 = stablehlo.constant dense<(1.0, 0.0)> : tensor<1x2x2xcomplex<f64>>
  %v10 = stablehlo.select %v8, %v9, %v7 : tensor<1x2x2xi1>, tensor<1x2x2xcomplex<f64>>
  %v11 = stablehlo.iota dim = 1 : tensor<1x2x4xi32>
  %v12 = stablehlo.iota dim = 2 : tensor<1x2x4xi32>
  %v13 = stablehlo.compare LE, %v11, %v12 : (tensor<1x2x4xi32>, tensor<1x2x4xi32>) -> tensor<1x2x4xi1>
  %v14 = stablehlo.constant dense<(0.0, 0.0)> : tensor<1x2x4xcomplex<f64>>
  %v15 = stablehlo.select %v13, %v2, %v14 : tensor<1x2x4xi1>, tensor<1x2x4xcomplex<f64>>
  %v16 = stablehlo.dot_general %v10, %v15, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x2x2xcomplex<f64>>, tensor<1x2x4xcomplex<f64>>) -> tensor<1x2x4xcomplex<f64>>
  %v17 = stablehlo.constant dense<[[[(-1.0, 1.75), (-3.25, -2.25), (1.25, 2.75), (3.5, 1.25)], [(-0.25, -2.25), (2.25, 1.0), (-3.75, -1.5), (1.75, 2.0)]]]> : tensor<1x2x4xcomplex<f64>>
  %v18 = stablehlo.subtract %v16, %v17 : tensor<1x2x4xcomplex<f64>>
  %v19 = stablehlo.abs %v18 : (tensor<1x2x4xcomplex<f64>>) -> tensor<1x2x4xf64>
  %v20 = stablehlo.constant dense<1.0e-12> : tensor<1x2x4xf64>
  %v21 = stablehlo.compare LT, %v19, %v20 : (tensor<1x2x4xf64>, tensor<1x2x4xf64>) -> tensor<1x2x4xi1>
  check.expect_eq_const %v21, dense<true> : tensor<1x2x4xi1>
  func.return
}

func.func @lu_complex() {
  %v0 = stablehlo.constant dense<[[[(1.5, -2.5), (2.5, 2.0), (-0.5, 2.0)], [(2.0, 0.5), (3.0, 3.25), (-3.25, -2.25)], [(2.75, 2.75), (-0.75, -2.75), (-0.25, 3.75)]], [[(-2.75, 1.0), (1.5, 0.75), (-1.75, 3.75)], [(3.0, 2.25), (-1.75, 2.25), (0.5, -3.5)], [(-0.75, -1.0), (1.0, -3.25), (-2.5, -2.5)]]]> : tensor<2x3x3xcomplex<f32>>
  %r:3 = stablehlo.custom_call @lapack_cgetrf_ffi(%v0) : (tensor<2x3x3xcomplex<f32>>) -> (tensor<2x3x3xcomplex<f32>>, tensor<2x3xi32>, tensor<2xi32>)
  check.expect_eq_const %r#1, dense<[[3, 2, 3], [2, 2, 3]]> : tensor<2x3xi32>
  check.expect_eq_const %r#2, dense<[0, 0]> : tensor<2xi32>
  %v1 = stablehlo.slice %r#0 [0:2, 0:3, 0:3] : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>>
  %v2 = stablehlo.slice %r#0 [0:2, 0:3, 0:3] : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>>
  %v3 = stablehlo.iota dim = 1 : tensor<2x3x3xi32>
  %v4 = stablehlo.iota dim = 2 : tensor<2x3x3xi32>
  %v5 = stablehlo.compare GT, %v3, %v4 : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %v6 = stablehlo.constant dense<(0.0, 0.0)> : tensor<2x3x3xcomplex<f32>>
  %v7 = stablehlo.select %v5, %v1, %v6 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f32>>
  %v8 = stablehlo.compare EQ, %v3, %v4 : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %v9 = stablehlo.constant dense<(1.0, 0.0)> : tensor<2x3x3xcomplex<f32>>
  %v10 = stablehlo.select %v8, %v9, %v7 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f32>>
  %v11 = stablehlo.iota dim = 1 : tensor<2x3x3xi32>
  %v12 = stablehlo.iota dim = 2 : tensor<2x3x3xi32>
  %v13 = stablehlo.compare LE, %v11, %v12 : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %v14 = stablehlo.constant dense<(0.0, 0.0)> : tensor<2x3x3xcomplex<f32>>
  %v15 = stablehlo.select %v13, %v2, %v14 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f32>>
  %v16 = stablehlo.dot_general %v10, %v15, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>>
  %v17 = stablehlo.constant dense<[[[(2.75, 2.75), (-0.75, -2.75), (-0.25, 3.75)], [(2.0, 0.5), (3.0, 3.25), (-3.25, -2.25)], [(1.5, -2.5), (2.5, 2.0), (-0.5, 2.0)]], [[(3.0, 2.25), (-1.75, 2.25), (0.5, -3.5)], [(-2.75, 1.0), (1.5, 0.75), (-1.75, 3.75)], [(-0.75, -1.0), (1.0, -3.25), (-2.5, -2.5)]]]> : tensor<2x3x3xcomplex<f32>>
  %v18 = stablehlo.subtract %v16, %v17 : tensor<2x3x3xcomplex<f32>>
  %v19 = stablehlo.abs %v18 : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xf32>
  %v20 = stablehlo.constant dense<2.0e-05> : tensor<2x3x3xf32>
  %v21 = stablehlo.compare LT, %v19, %v20 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xi1>
  check.expect_eq_const %v21, dense<true> : tensor<2x3x3xi1>
  func.return
}

func.func @qr_tall() {
  %v0 = stablehlo.constant dense<[[[-2.25, 2.75, -3.0], [-1.75, -0.0, 2.75], [3.75, 1.75, -2.25], [0.25, 1.75, -3.5]], [[1.5, -1.0, 0.75], [1.25, 1.25, 0.25], [0.5, -2.5, -0.0], [-3.0, -0.25, 0.25]]]> : tensor<2x4x3xf32>
  %r:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%v0) : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>)
  %v1 = stablehlo.custom_call @lapack_sorgqr_ffi(%r#0, %r#1) : (tensor<2x4x3xf32>, tensor<2x3xf32>) -> tensor<2x4x3xf32>
  %v2 = stablehlo.transpose %v1, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  %v3 = stablehlo.dot_general %v2, %v1, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
  %v4 = stablehlo.constant dense<[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]> : tensor<2x3x3xf32>
  %v5 = stablehlo.subtract %v3, %v4 : tensor<2x3x3xf32>
  %v6 = stablehlo.abs %v5 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v7 = stablehlo.constant dense<2.0e-05> : tensor<2x3x3xf32>
  %v8 = stablehlo.compare LT, %v6, %v7 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xi1>
  check.expect_eq_const %v8, dense<true> : tensor<2x3x3xi1>
  %v9 = stablehlo.slice %r#0 [0:2, 0:3, 0:3] : (tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
  %v10 = stablehlo.iota dim = 1 : tensor<2x3x3xi32>
  %v11 = stablehlo.iota dim = 2 : tensor<2x3x3xi32>
  %v12 = stablehlo.compare LE, %v10, %v11 : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %v13 = stablehlo.constant dense<0.0> : tensor<2x3x3xf32>
  %v14 = stablehlo.select %v12, %v9, %v13 : tensor<2x3x3xi1>, tensor<2x3x3xf32>
  %v15 = stablehlo.slice %v1 [0:2, 0:4, 0:3] : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %v16 = stablehlo.dot_general %v15, %v14, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x4x3xf32>, tensor<2x3x3xf32>) -> tensor<2x4x3xf32>
  %v17 = stablehlo.subtract %v16, %v0 : tensor<2x4x3xf32>
  %v18 = stablehlo.abs %v17 : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %v19 = stablehlo.constant dense<2.0e-05> : tensor<2x4x3xf32>
  %v20 = stablehlo.compare LT, %v18, %v19 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xi1>
  check.expect_eq_const %v20, dense<true> : tensor<2x4x3xi1>
  func.return
}

func.func @qr_full() {
  %v0 = stablehlo.constant dense<[[[2.25, -0.75], [-3.75, 0.25], [-2.25, 2.0], [-1.0, -1.0]]]> : tensor<1x4x2xf64>
  %r:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%v0) : (tensor<1x4x2xf64>) -> (tensor<1x4x2xf64>, tensor<1x2xf64>)
  %v1 = stablehlo.constant dense<0.0> : tensor<f64>
  %v2 = stablehlo.pad %r#0, %v1, low = [0, 0, 0], high = [0, 0, 2], interior = [0, 0, 0] : (tensor<1x4x2xf64>, tensor<f64>) -> tensor<1x4x4xf64>
  %v3 = stablehlo.custom_call @lapack_dorgqr_ffi(%v2, %r#1) : (tensor<1x4x4xf64>, tensor<1x2xf64>) -> tensor<1x4x4xf64>
  %v4 = stablehlo.transpose %v3, dims = [0, 2, 1] : (tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v5 = stablehlo.dot_general %v4, %v3, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v6 = stablehlo.constant dense<[[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]]> : tensor<1x4x4xf64>
  %v7 = stablehlo.subtract %v5, %v6 : tensor<1x4x4xf64>
  %v8 = stablehlo.abs %v7 : (tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v9 = stablehlo.constant dense<1.0e-12> : tensor<1x4x4xf64>
  %v10 = stablehlo.compare LT, %v8, %v9 : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xi1>
  check.expect_eq_const %v10, dense<true> : tensor<1x4x4xi1>
  %v11 = stablehlo.slice %r#0 [0:1, 0:2, 0:2] : (tensor<1x4x2xf64>) -> tensor<1x2x2xf64>
  %v12 = stablehlo.iota dim = 1 : tensor<1x2x2xi32>
  %v13 = stablehlo.iota dim = 2 : tensor<1x2x2xi32>
  %v14 = stablehlo.compare LE, %v12, %v13 : (tensor<1x2x2xi32>, tensor<1x2x2xi32>) -> tensor<1x2x2xi1>
  %v15 = stablehlo.constant dense<0.0> : tensor<1x2x2xf64>
  %v16 = stablehlo.select %v14, %v11, %v15 : tensor<1x2x2xi1>, tensor<1x2x2xf64>
  %v17 = stablehlo.slice %v3 [0:1, 0:4, 0:2] : (tensor<1x4x4xf64>) -> tensor<1x4x2xf64>
  %v18 = stablehlo.dot_general %v17, %v16, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x4x2xf64>, tensor<1x2x2xf64>) -> tensor<1x4x2xf64>
  %v19 = stablehlo.subtract %v18, %v0 : tensor<1x4x2xf64>
  %v20 = stablehlo.abs %v19 : (tensor<1x4x2xf64>) -> tensor<1x4x2xf64>
  %v21 = stablehlo.constant dense<1.0e-12> : tensor<1x4x2xf64>
  %v22 = stablehlo.compare LT, %v20, %v21 : (tensor<1x4x2xf64>, tensor<1x4x2xf64>) -> tensor<1x4x2xi1>
  check.expect_eq_const %v22, dense<true> : tensor<1x4x2xi1>
  func.return
}

func.func @qr_wide() {
  %v0 = stablehlo.constant dense<[[[(3.25, 0.25), (-0.75, 3.25), (-1.25, 0.5)], [(-1.25, 2.0), (-0.25, 3.5), (-3.25, 2.75)]]]> : tensor<1x2x3xcomplex<f32>>
  %r:2 = stablehlo.custom_call @lapack_cgeqrf_ffi(%v0) : (tensor<1x2x3xcomplex<f32>>) -> (tensor<1x2x3xcomplex<f32>>, tensor<1x2xcomplex<f32>>)
  %v1 = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %v2 = stablehlo.pad %r#0, %v1, low = [0, 0, 0], high = [0, 0, -1], interior = [0, 0, 0] : (tensor<1x2x3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<1x2x2xcomplex<f32>>
  %v3 = stablehlo.custom_call @lapack_cungqr_ffi(%v2, %r#1) : (tensor<1x2x2xcomplex<f32>>, tensor<1x2xcomplex<f32>>) -> tensor<1x2x2xcomplex<f32>>
  %v4 = stablehlo.transpose %v3, dims = [0, 2, 1] : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xcomplex<f32>>
  %v5 = stablehlo.real %v4 : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xf32>
  %v6 = stablehlo.imag %v4 : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xf32>
  %v7 = stablehlo.negate %v6 : tensor<1x2x2xf32>
  %v8 = stablehlo.complex %v5, %v7 : tensor<1x2x2xcomplex<f32>>
  %v9 = stablehlo.dot_general %v8, %v3, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x2x2xcomplex<f32>>, tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xcomplex<f32>>
  %v10 = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0)]]]> : tensor<1x2x2xcomplex<f32>>
  %v11 = stablehlo.subtract %v9, %v10 : tensor<1x2x2xcomplex<f32>>
  %v12 = stablehlo.abs %v11 : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xf32>
  %v13 = stablehlo.constant dense<2.0e-05> : tensor<1x2x2xf32>
  %v14 = stablehlo.compare LT, %v12, %v13 : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x2xi1>
  check.expect_eq_const %v14, dense<true> : tensor<1x2x2xi1>
  %v15 = stablehlo.slice %r#0 [0:1, 0:2, 0:3] : (tensor<1x2x3xcomplex<f32>>) -> tensor<1x2x3xcomplex<f32>>
  %v16 = stablehlo.iota dim = 1 : tensor<1x2x3xi32>
  %v17 = stablehlo.iota dim = 2 : tensor<1x2x3xi32>
  %v18 = stablehlo.compare LE, %v16, %v17 : (tensor<1x2x3xi32>, tensor<1x2x3xi32>) -> tensor<1x2x3xi1>
  %v19 = stablehlo.constant dense<(0.0, 0.0)> : tensor<1x2x3xcomplex<f32>>
  %v20 = stablehlo.select %v18, %v15, %v19 : tensor<1x2x3xi1>, tensor<1x2x3xcomplex<f32>>
  %v21 = stablehlo.slice %v3 [0:1, 0:2, 0:2] : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xcomplex<f32>>
  %v22 = stablehlo.dot_general %v21, %v20, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x2x2xcomplex<f32>>, tensor<1x2x3xcomplex<f32>>) -> tensor<1x2x3xcomplex<f32>>
  %v23 = stablehlo.subtract %v22, %v0 : tensor<1x2x3xcomplex<f32>>
  %v24 = stablehlo.abs %v23 : (tensor<1x2x3xcomplex<f32>>) -> tensor<1x2x3xf32>
  %v25 = stablehlo.constant dense<2.0e-05> : tensor<1x2x3xf32>
  %v26 = stablehlo.compare LT, %v24, %v25 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xi1>
  check.expect_eq_const %v26, dense<true> : tensor<1x2x3xi1>
  func.return
}

func.func @qr_complex() {
  %v0 = stablehlo.constant dense<[[[(2.0, -2.75), (2.5, -1.75), (2.5, -1.25)], [(-2.0, -2.25), (-0.25, 0.25), (-1.25, 3.5)], [(-2.0, -3.0), (0.5, -0.75), (-1.5, 1.25)], [(1.0, 3.0), (0.75, 4.0), (-3.25, -2.75)]], [[(-0.5, 0.25), (-1.0, 3.0), (1.75, -3.5)], [(-3.25, 0.75), (-2.75, -2.5), (0.0, 2.25)], [(-0.75, 3.5), (1.25, 0.25), (-1.25, -4.0)], [(-2.5, -3.5), (3.5, -0.75), (-2.0, 2.75)]]]> : tensor<2x4x3xcomplex<f64>>
  %r:2 = stablehlo.custom_call @lapack_zgeqrf_ffi(%v0) : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>)
  %v1 = stablehlo.custom_call @lapack_zungqr_ffi(%r#0, %r#1) : (tensor<2x4x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
  %v2 = stablehlo.transpose %v1, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
  %v3 = stablehlo.real %v2 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
  %v4 = stablehlo.imag %v2 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
  %v5 = stablehlo.negate %v4 : tensor<2x3x4xf64>
  %v6 = stablehlo.complex %v3, %v5 : tensor<2x3x4xcomplex<f64>>
  %v7 = stablehlo.dot_general %v6, %v1, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
  %v8 = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]], [[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]]]> : tensor<2x3x3xcomplex<f64>>
  %v9 = stablehlo.subtract %v7, %v8 : tensor<2x3x3xcomplex<f64>>
  %v10 = stablehlo.abs %v9 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
  %v11 = stablehlo.constant dense<1.0e-12> : tensor<2x3x3xf64>
  %v12 = stablehlo.compare LT, %v10, %v11 : (tensor<2x3x3xf64>, tensor<2x3x3xf64>) -> tensor<2x3x3xi1>
  check.expect_eq_const %v12, dense<true> : tensor<2x3x3xi1>
  %v13 = stablehlo.slice %r#0 [0:2, 0:3, 0:3] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
  %v14 = stablehlo.iota dim = 1 : tensor<2x3x3xi32>
  %v15 = stablehlo.iota dim = 2 : tensor<2x3x3xi32>
  %v16 = stablehlo.compare LE, %v14, %v15 : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %v17 = stablehlo.constant dense<(0.0, 0.0)> : tensor<2x3x3xcomplex<f64>>
  %v18 = stablehlo.select %v16, %v13, %v17 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f64>>
  %v19 = stablehlo.slice %v1 [0:2, 0:4, 0:3] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
  %v20 = stablehlo.dot_general %v19, %v18, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
  %v21 = stablehlo.subtract %v20, %v0 : tensor<2x4x3xcomplex<f64>>
  %v22 = stablehlo.abs %v21 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
  %v23 = stablehlo.constant dense<1.0e-12> : tensor<2x4x3xf64>
  %v24 = stablehlo.compare LT, %v22, %v23 : (tensor<2x4x3xf64>, tensor<2x4x3xf64>) -> tensor<2x4x3xi1>
  check.expect_eq_const %v24, dense<true> : tensor<2x4x3xi1>
  func.return
}

func.func @eigh_lower() {
  %v0 = stablehlo.constant dense<[[[-4.0, 9.0, 9.0], [-0.75, 3.5, 9.0], [-1.75, 0.5, 0.0]], [[4.5, 9.0, 9.0], [-0.25, 6.0, 9.0], [1.0, -3.5, -2.5]]]> : tensor<2x3x3xf32>
  %V:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%v0) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}}
    : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xi32>)
  check.expect_eq_const %V#2, dense<[0, 0]> : tensor<2xi32>
  %v1 = stablehlo.constant dense<[[-4.691757100416864, 0.4831167084846888, 3.7086403919321764], [-3.8439793761999463, 4.471317632908895, 7.372661743291053]]> : tensor<2x3xf32>
  %v2 = stablehlo.reshape %v1 : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  %v3 = stablehlo.reshape %V#1 : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  %v4 = stablehlo.subtract %v3, %v2 : tensor<2x1x3xf32>
  %v5 = stablehlo.abs %v4 : (tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %v6 = stablehlo.constant dense<2.0e-05> : tensor<2x1x3xf32>
  %v7 = stablehlo.compare LT, %v5, %v6 : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xi1>
  check.expect_eq_const %v7, dense<true> : tensor<2x1x3xi1>
  %N:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%v0) {mhlo.backend_config = {mode = 78 : ui8, uplo = 76 : ui8}}
    : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xi32>)
  check.expect_eq_const %N#2, dense<[0, 0]> : tensor<2xi32>
  %v8 = stablehlo.constant dense<[[-4.691757100416864, 0.4831167084846888, 3.7086403919321764], [-3.8439793761999463, 4.471317632908895, 7.372661743291053]]> : tensor<2x3xf32>
  %v9 = stablehlo.reshape %v8 : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  %v10 = stablehlo.reshape %N#1 : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  %v11 = stablehlo.subtract %v10, %v9 : tensor<2x1x3xf32>
  %v12 = stablehlo.abs %v11 : (tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %v13 = stablehlo.constant dense<2.0e-05> : tensor<2x1x3xf32>
  %v14 = stablehlo.compare LT, %v12, %v13 : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xi1>
  check.expect_eq_const %v14, dense<true> : tensor<2x1x3xi1>
  %v15 = stablehlo.transpose %V#0, dims = [0, 2, 1] : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v16 = stablehlo.dot_general %v15, %V#0, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v17 = stablehlo.constant dense<[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]> : tensor<2x3x3xf32>
  %v18 = stablehlo.subtract %v16, %v17 : tensor<2x3x3xf32>
  %v19 = stablehlo.abs %v18 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v20 = stablehlo.constant dense<2.0e-05> : tensor<2x3x3xf32>
  %v21 = stablehlo.compare LT, %v19, %v20 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xi1>
  check.expect_eq_const %v21, dense<true> : tensor<2x3x3xi1>
  %v22 = stablehlo.broadcast_in_dim %V#1, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x3x3xf32>
  %v23 = stablehlo.multiply %V#0, %v22 : tensor<2x3x3xf32>
  %v24 = stablehlo.dot_general %v23, %v15, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v25 = stablehlo.constant dense<[[[-4.0, -0.75, -1.75], [-0.75, 3.5, 0.5], [-1.75, 0.5, -0.0]], [[4.5, -0.25, 1.0], [-0.25, 6.0, -3.5], [1.0, -3.5, -2.5]]]> : tensor<2x3x3xf32>
  %v26 = stablehlo.subtract %v24, %v25 : tensor<2x3x3xf32>
  %v27 = stablehlo.abs %v26 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v28 = stablehlo.constant dense<2.0e-05> : tensor<2x3x3xf32>
  %v29 = stablehlo.compare LT, %v27, %v28 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xi1>
  check.expect_eq_const %v29, dense<true> : tensor<2x3x3xi1>
  func.return
}

func.func @eigh_upper() {
  %v0 = stablehlo.constant dense<[[[4.5, 4.5, 1.75, 3.5], [9.0, 3.0, -1.0, 0.25], [9.0, 9.0, 2.5, -2.75], [9.0, 9.0, 9.0, 0.5]]]> : tensor<1x4x4xf64>
  %V:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%v0) {mhlo.backend_config = {mode = 86 : ui8, uplo = 85 : ui8}}
    : (tensor<1x4x4xf64>) -> (tensor<1x4x4xf64>, tensor<1x4xf64>, tensor<1xi32>)
  check.expect_eq_const %V#2, dense<[0]> : tensor<1xi32>
  %v1 = stablehlo.constant dense<[[-4.2599693238364935, 1.1755884783434398, 4.309454873814765, 9.274925971678288]]> : tensor<1x4xf64>
  %v2 = stablehlo.reshape %v1 : (tensor<1x4xf64>) -> tensor<1x1x4xf64>
  %v3 = stablehlo.reshape %V#1 : (tensor<1x4xf64>) -> tensor<1x1x4xf64>
  %v4 = stablehlo.subtract %v3, %v2 : tensor<1x1x4xf64>
  %v5 = stablehlo.abs %v4 : (tensor<1x1x4xf64>) -> tensor<1x1x4xf64>
  %v6 = stablehlo.constant dense<1.0e-12> : tensor<1x1x4xf64>
  %v7 = stablehlo.compare LT, %v5, %v6 : (tensor<1x1x4xf64>, tensor<1x1x4xf64>) -> tensor<1x1x4xi1>
  check.expect_eq_const %v7, dense<true> : tensor<1x1x4xi1>
  %N:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%v0) {mhlo.backend_config = {mode = 78 : ui8, uplo = 85 : ui8}}
    : (tensor<1x4x4xf64>) -> (tensor<1x4x4xf64>, tensor<1x4xf64>, tensor<1xi32>)
  check.expect_eq_const %N#2, dense<[0]> : tensor<1xi32>
  %v8 = stablehlo.constant dense<[[-4.2599693238364935, 1.1755884783434398, 4.309454873814765, 9.274925971678288]]> : tensor<1x4xf64>
  %v9 = stablehlo.reshape %v8 : (tensor<1x4xf64>) -> tensor<1x1x4xf64>
  %v10 = stablehlo.reshape %N#1 : (tensor<1x4xf64>) -> tensor<1x1x4xf64>
  %v11 = stablehlo.subtract %v10, %v9 : tensor<1x1x4xf64>
  %v12 = stablehlo.abs %v11 : (tensor<1x1x4xf64>) -> tensor<1x1x4xf64>
  %v13 = stablehlo.constant dense<1.0e-12> : tensor<1x1x4xf64>
  %v14 = stablehlo.compare LT, %v12, %v13 : (tensor<1x1x4xf64>, tensor<1x1x4xf64>) -> tensor<1x1x4xi1>
  check.expect_eq_const %v14, dense<true> : tensor<1x1x4xi1>
  %v15 = stablehlo.transpose %V#0, dims = [0, 2, 1] : (tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v16 = stablehlo.dot_general %v15, %V#0, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v17 = stablehlo.constant dense<[[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]]> : tensor<1x4x4xf64>
  %v18 = stablehlo.subtract %v16, %v17 : tensor<1x4x4xf64>
  %v19 = stablehlo.abs %v18 : (tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v20 = stablehlo.constant dense<1.0e-12> : tensor<1x4x4xf64>
  %v21 = stablehlo.compare LT, %v19, %v20 : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xi1>
  check.expect_eq_const %v21, dense<true> : tensor<1x4x4xi1>
  %v22 = stablehlo.broadcast_in_dim %V#1, dims = [0, 2] : (tensor<1x4xf64>) -> tensor<1x4x4xf64>
  %v23 = stablehlo.multiply %V#0, %v22 : tensor<1x4x4xf64>
  %v24 = stablehlo.dot_general %v23, %v15, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v25 = stablehlo.constant dense<[[[4.5, 4.5, 1.75, 3.5], [4.5, 3.0, -1.0, 0.25], [1.75, -1.0, 2.5, -2.75], [3.5, 0.25, -2.75, 0.5]]]> : tensor<1x4x4xf64>
  %v26 = stablehlo.subtract %v24, %v25 : tensor<1x4x4xf64>
  %v27 = stablehlo.abs %v26 : (tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v28 = stablehlo.constant dense<1.0e-12> : tensor<1x4x4xf64>
  %v29 = stablehlo.compare LT, %v27, %v28 : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xi1>
  check.expect_eq_const %v29, dense<true> : tensor<1x4x4xi1>
  func.return
}

func.func @eigh_complex() {
  %v0 = stablehlo.constant dense<[[[(5.5, 0.0), (9.0, 0.0), (9.0, 0.0)], [(0.25, 6.25), (-2.5, 0.0), (9.0, 0.0)], [(-2.25, 2.0), (4.75, 3.0), (6.0, 0.0)]]]> : tensor<1x3x3xcomplex<f32>>
  %V:3 = stablehlo.custom_call @lapack_cheevd_ffi(%v0) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}}
    : (tensor<1x3x3xcomplex<f32>>) -> (tensor<1x3x3xcomplex<f32>>, tensor<1x3xf32>, tensor<1xi32>)
  check.expect_eq_const %V#2, dense<[0]> : tensor<1xi32>
  %v1 = stablehlo.constant dense<[[-7.059741595104815, 2.8722357503831586, 13.187505844721656]]> : tensor<1x3xf32>
  %v2 = stablehlo.reshape %v1 : (tensor<1x3xf32>) -> tensor<1x1x3xf32>
  %v3 = stablehlo.reshape %V#1 : (tensor<1x3xf32>) -> tensor<1x1x3xf32>
  %v4 = stablehlo.subtract %v3, %v2 : tensor<1x1x3xf32>
  %v5 = stablehlo.abs %v4 : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  %v6 = stablehlo.constant dense<2.0e-05> : tensor<1x1x3xf32>
  %v7 = stablehlo.compare LT, %v5, %v6 : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xi1>
  check.expect_eq_const %v7, dense<true> : tensor<1x1x3xi1>
  %N:3 = stablehlo.custom_call @lapack_cheevd_ffi(%v0) {mhlo.backend_config = {mode = 78 : ui8, uplo = 76 : ui8}}
    : (tensor<1x3x3xcomplex<f32>>) -> (tensor<1x3x3xcomplex<f32>>, tensor<1x3xf32>, tensor<1xi32>)
  check.expect_eq_const %N#2, dense<[0]> : tensor<1xi32>
  %v8 = stablehlo.constant dense<[[-7.059741595104815, 2.8722357503831586, 13.187505844721656]]> : tensor<1x3xf32>
  %v9 = stablehlo.reshape %v8 : (tensor<1x3xf32>) -> tensor<1x1x3xf32>
  %v10 = stablehlo.reshape %N#1 : (tensor<1x3xf32>) -> tensor<1x1x3xf32>
  %v11 = stablehlo.subtract %v10, %v9 : tensor<1x1x3xf32>
  %v12 = stablehlo.abs %v11 : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  %v13 = stablehlo.constant dense<2.0e-05> : tensor<1x1x3xf32>
  %v14 = stablehlo.compare LT, %v12, %v13 : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xi1>
  check.expect_eq_const %v14, dense<true> : tensor<1x1x3xi1>
  %v15 = stablehlo.transpose %V#0, dims = [0, 2, 1] : (tensor<1x3x3xcomplex<f32>>) -> tensor<1x3x3xcomplex<f32>>
  %v16 = stablehlo.real %v15 : (tensor<1x3x3xcomplex<f32>>) -> tensor<1x3x3xf32>
  %v17 = stablehlo.imag %v15 : (tensor<1x3x3xcomplex<f32>>) -> tensor<1x3x3xf32>
  %v18 = stablehlo.negate %v17 : tensor<1x3x3xf32>
  %v19 = stablehlo.complex %v16, %v18 : tensor<1x3x3xcomplex<f32>>
  %v20 = stablehlo.dot_general %v19, %V#0, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x3x3xcomplex<f32>>, tensor<1x3x3xcomplex<f32>>) -> tensor<1x3x3xcomplex<f32>>
  %v21 = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]]]> : tensor<1x3x3xcomplex<f32>>
  %v22 = stablehlo.subtract %v20, %v21 : tensor<1x3x3xcomplex<f32>>
  %v23 = stablehlo.abs %v22 : (tensor<1x3x3xcomplex<f32>>) -> tensor<1x3x3xf32>
  %v24 = stablehlo.constant dense<2.0e-05> : tensor<1x3x3xf32>
  %v25 = stablehlo.compare LT, %v23, %v24 : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xi1>
  check.expect_eq_const %v25, dense<true> : tensor<1x3x3xi1>
  %v26 = stablehlo.broadcast_in_dim %V#1, dims = [0, 2] : (tensor<1x3xf32>) -> tensor<1x3x3xf32>
  %v27 = stablehlo.constant dense<0.0> : tensor<1x3x3xf32>
  %v28 = stablehlo.complex %v26, %v27 : tensor<1x3x3xcomplex<f32>>
  %v29 = stablehlo.multiply %V#0, %v28 : tensor<1x3x3xcomplex<f32>>
  %v30 = stablehlo.dot_general %v29, %v19, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x3x3xcomplex<f32>>, tensor<1x3x3xcomplex<f32>>) -> tensor<1x3x3xcomplex<f32>>
  %v31 = stablehlo.constant dense<[[[(5.5, 0.0), (0.25, -6.25), (-2.25, -2.0)], [(0.25, 6.25), (-2.5, 0.0), (4.75, -3.0)], [(-2.25, 2.0), (4.75, 3.0), (6.0, 0.0)]]]> : tensor<1x3x3xcomplex<f32>>
  %v32 = stablehlo.subtract %v30, %v31 : tensor<1x3x3xcomplex<f32>>
  %v33 = stablehlo.abs %v32 : (tensor<1x3x3xcomplex<f32>>) -> tensor<1x3x3xf32>
  %v34 = stablehlo.constant dense<2.0e-05> : tensor<1x3x3xf32>
  %v35 = stablehlo.compare LT, %v33, %v34 : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xi1>
  check.expect_eq_const %v35, dense<true> : tensor<1x3x3xi1>
  func.return
}

func.func @eigh_complex_upper() {
  %v0 = stablehlo.constant dense<[[[(0.0, 0.0), (-2.75, -4.25), (1.25, -1.75)], [(9.0, 0.0), (5.0, 0.0), (0.0, -1.75)], [(9.0, 0.0), (9.0, 0.0), (-3.5, 0.0)]], [[(6.0, 0.0), (-5.0, 0.5), (3.25, -2.0)], [(9.0, 0.0), (2.0, 0.0), (0.25, 2.0)], [(9.0, 0.0), (9.0, 0.0), (2.0, 0.0)]]]> : tensor<2x3x3xcomplex<f64>>
  %V:3 = stablehlo.custom_call @lapack_zheevd_ffi(%v0) {mhlo.backend_config = {mode = 86 : ui8, uplo = 85 : ui8}}
    : (tensor<2x3x3xcomplex<f64>>) -> (tensor<2x3x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2xi32>)
  check.expect_eq_const %V#2, dense<[0, 0]> : tensor<2xi32>
  %v1 = stablehlo.constant dense<[[-6.049244783109769, -0.6291310731820013, 8.178375856291765], [-2.7877482900168338, 1.799572984489332, 10.988175305527502]]> : tensor<2x3xf64>
  %v2 = stablehlo.reshape %v1 : (tensor<2x3xf64>) -> tensor<2x1x3xf64>
  %v3 = stablehlo.reshape %V#1 : (tensor<2x3xf64>) -> tensor<2x1x3xf64>
  %v4 = stablehlo.subtract %v3, %v2 : tensor<2x1x3xf64>
  %v5 = stablehlo.abs %v4 : (tensor<2x1x3xf64>) -> tensor<2x1x3xf64>
  %v6 = stablehlo.constant dense<1.0e-12> : tensor<2x1x3xf64>
  %v7 = stablehlo.compare LT, %v5, %v6 : (tensor<2x1x3xf64>, tensor<2x1x3xf64>) -> tensor<2x1x3xi1>
  check.expect_eq_const %v7, dense<true> : tensor<2x1x3xi1>
  %N:3 = stablehlo.custom_call @lapack_zheevd_ffi(%v0) {mhlo.backend_config = {mode = 78 : ui8, uplo = 85 : ui8}}
    : (tensor<2x3x3xcomplex<f64>>) -> (tensor<2x3x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2xi32>)
  check.expect_eq_const %N#2, dense<[0, 0]> : tensor<2xi32>
  %v8 = stablehlo.constant dense<[[-6.049244783109769, -0.6291310731820013, 8.178375856291765], [-2.7877482900168338, 1.799572984489332, 10.988175305527502]]> : tensor<2x3xf64>
  %v9 = stablehlo.reshape %v8 : (tensor<2x3xf64>) -> tensor<2x1x3xf64>
  %v10 = stablehlo.reshape %N#1 : (tensor<2x3xf64>) -> tensor<2x1x3xf64>
  %v11 = stablehlo.subtract %v10, %v9 : tensor<2x1x3xf64>
  %v12 = stablehlo.abs %v11 : (tensor<2x1x3xf64>) -> tensor<2x1x3xf64>
  %v13 = stablehlo.constant dense<1.0e-12> : tensor<2x1x3xf64>
  %v14 = stablehlo.compare LT, %v12, %v13 : (tensor<2x1x3xf64>, tensor<2x1x3xf64>) -> tensor<2x1x3xi1>
  check.expect_eq_const %v14, dense<true> : tensor<2x1x3xi1>
  %v15 = stablehlo.transpose %V#0, dims = [0, 2, 1] : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
  %v16 = stablehlo.real %v15 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
  %v17 = stablehlo.imag %v15 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
  %v18 = stablehlo.negate %v17 : tensor<2x3x3xf64>
  %v19 = stablehlo.complex %v16, %v18 : tensor<2x3x3xcomplex<f64>>
  %v20 = stablehlo.dot_general %v19, %V#0, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
  %v21 = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]], [[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]]]> : tensor<2x3x3xcomplex<f64>>
  %v22 = stablehlo.subtract %v20, %v21 : tensor<2x3x3xcomplex<f64>>
  %v23 = stablehlo.abs %v22 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
  %v24 = stablehlo.constant dense<1.0e-12> : tensor<2x3x3xf64>
  %v25 = stablehlo.compare LT, %v23, %v24 : (tensor<2x3x3xf64>, tensor<2x3x3xf64>) -> tensor<2x3x3xi1>
  check.expect_eq_const %v25, dense<true> : tensor<2x3x3xi1>
  %v26 = stablehlo.broadcast_in_dim %V#1, dims = [0, 2] : (tensor<2x3xf64>) -> tensor<2x3x3xf64>
  %v27 = stablehlo.constant dense<0.0> : tensor<2x3x3xf64>
  %v28 = stablehlo.complex %v26, %v27 : tensor<2x3x3xcomplex<f64>>
  %v29 = stablehlo.multiply %V#0, %v28 : tensor<2x3x3xcomplex<f64>>
  %v30 = stablehlo.dot_general %v29, %v19, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
  %v31 = stablehlo.constant dense<[[[(0.0, 0.0), (-2.75, -4.25), (1.25, -1.75)], [(-2.75, 4.25), (5.0, 0.0), (0.0, -1.75)], [(1.25, 1.75), (0.0, 1.75), (-3.5, 0.0)]], [[(6.0, 0.0), (-5.0, 0.5), (3.25, -2.0)], [(-5.0, -0.5), (2.0, 0.0), (0.25, 2.0)], [(3.25, 2.0), (0.25, -2.0), (2.0, 0.0)]]]> : tensor<2x3x3xcomplex<f64>>
  %v32 = stablehlo.subtract %v30, %v31 : tensor<2x3x3xcomplex<f64>>
  %v33 = stablehlo.abs %v32 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
  %v34 = stablehlo.constant dense<1.0e-12> : tensor<2x3x3xf64>
  %v35 = stablehlo.compare LT, %v33, %v34 : (tensor<2x3x3xf64>, tensor<2x3x3xf64>) -> tensor<2x3x3xi1>
  check.expect_eq_const %v35, dense<true> : tensor<2x3x3xi1>
  func.return
}

func.func @svd_tall() {
  %v0 = stablehlo.constant dense<[[[-4.0, 2.75, 4.0], [-2.0, -1.75, -2.5], [0.75, -0.0, 2.5], [-2.25, 3.0, -0.25]], [[2.5, 2.5, 3.25], [-0.0, 1.0, 0.5], [-2.5, 0.0, 3.5], [3.25, -3.75, 1.25]]]> : tensor<2x4x3xf32>
  %r:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%v0) {mhlo.backend_config = {mode = 83 : ui8}}
    : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>, tensor<2xi32>)
  check.expect_eq_const %r#4, dense<[0, 0]> : tensor<2xi32>
  %v1 = stablehlo.constant dense<[[7.045218895149941, 4.301207417495347, 2.3826467365317168], [5.309403014037553, 5.207904543536057, 3.6997256519835937]]> : tensor<2x3xf32>
  %v2 = stablehlo.reshape %v1 : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  %v3 = stablehlo.reshape %r#1 : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  %v4 = stablehlo.subtract %v3, %v2 : tensor<2x1x3xf32>
  %v5 = stablehlo.abs %v4 : (tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %v6 = stablehlo.constant dense<2.0e-05> : tensor<2x1x3xf32>
  %v7 = stablehlo.compare LT, %v5, %v6 : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xi1>
  check.expect_eq_const %v7, dense<true> : tensor<2x1x3xi1>
  %v8 = stablehlo.transpose %r#2, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  %v9 = stablehlo.dot_general %v8, %r#2, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
  %v10 = stablehlo.constant dense<[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]> : tensor<2x3x3xf32>
  %v11 = stablehlo.subtract %v9, %v10 : tensor<2x3x3xf32>
  %v12 = stablehlo.abs %v11 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v13 = stablehlo.constant dense<2.0e-05> : tensor<2x3x3xf32>
  %v14 = stablehlo.compare LT, %v12, %v13 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xi1>
  check.expect_eq_const %v14, dense<true> : tensor<2x3x3xi1>
  %v15 = stablehlo.transpose %r#3, dims = [0, 2, 1] : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v16 = stablehlo.dot_general %r#3, %v15, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v17 = stablehlo.constant dense<[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]> : tensor<2x3x3xf32>
  %v18 = stablehlo.subtract %v16, %v17 : tensor<2x3x3xf32>
  %v19 = stablehlo.abs %v18 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v20 = stablehlo.constant dense<2.0e-05> : tensor<2x3x3xf32>
  %v21 = stablehlo.compare LT, %v19, %v20 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xi1>
  check.expect_eq_const %v21, dense<true> : tensor<2x3x3xi1>
  %v22 = stablehlo.slice %r#2 [0:2, 0:4, 0:3] : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %v23 = stablehlo.slice %r#3 [0:2, 0:3, 0:3] : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v24 = stablehlo.broadcast_in_dim %r#1, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x4x3xf32>
  %v25 = stablehlo.multiply %v22, %v24 : tensor<2x4x3xf32>
  %v26 = stablehlo.dot_general %v25, %v23, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x4x3xf32>, tensor<2x3x3xf32>) -> tensor<2x4x3xf32>
  %v27 = stablehlo.subtract %v26, %v0 : tensor<2x4x3xf32>
  %v28 = stablehlo.abs %v27 : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %v29 = stablehlo.constant dense<2.0e-05> : tensor<2x4x3xf32>
  %v30 = stablehlo.compare LT, %v28, %v29 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xi1>
  check.expect_eq_const %v30, dense<true> : tensor<2x4x3xi1>
  func.return
}

func.func @svd_tall_full() {
  %v0 = stablehlo.constant dense<[[[-1.5, -3.0], [-3.0, 2.25], [3.75, 0.25], [-1.0, 0.0]]]> : tensor<1x4x2xf64>
  %r:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%v0) {mhlo.backend_config = {mode = 65 : ui8}}
    : (tensor<1x4x2xf64>) -> (tensor<1x4x2xf64>, tensor<1x2xf64>, tensor<1x4x4xf64>, tensor<1x2x2xf64>, tensor<1xi32>)
  check.expect_eq_const %r#4, dense<[0]> : tensor<1xi32>
  %v1 = stablehlo.constant dense<[[5.143174489428171, 3.73968664078894]]> : tensor<1x2xf64>
  %v2 = stablehlo.reshape %v1 : (tensor<1x2xf64>) -> tensor<1x1x2xf64>
  %v3 = stablehlo.reshape %r#1 : (tensor<1x2xf64>) -> tensor<1x1x2xf64>
  %v4 = stablehlo.subtract %v3, %v2 : tensor<1x1x2xf64>
  %v5 = stablehlo.abs %v4 : (tensor<1x1x2xf64>) -> tensor<1x1x2xf64>
  %v6 = stablehlo.constant dense<1.0e-12> : tensor<1x1x2xf64>
  %v7 = stablehlo.compare LT, %v5, %v6 : (tensor<1x1x2xf64>, tensor<1x1x2xf64>) -> tensor<1x1x2xi1>
  check.expect_eq_const %v7, dense<true> : tensor<1x1x2xi1>
  %v8 = stablehlo.transpose %r#2, dims = [0, 2, 1] : (tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v9 = stablehlo.dot_general %v8, %r#2, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v10 = stablehlo.constant dense<[[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]]> : tensor<1x4x4xf64>
  %v11 = stablehlo.subtract %v9, %v10 : tensor<1x4x4xf64>
  %v12 = stablehlo.abs %v11 : (tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v13 = stablehlo.constant dense<1.0e-12> : tensor<1x4x4xf64>
  %v14 = stablehlo.compare LT, %v12, %v13 : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xi1>
  check.expect_eq_const %v14, dense<true> : tensor<1x4x4xi1>
  %v15 = stablehlo.transpose %r#3, dims = [0, 2, 1] : (tensor<1x2x2xf64>) -> tensor<1x2x2xf64>
  %v16 = stablehlo.dot_general %r#3, %v15, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x2x2xf64>, tensor<1x2x2xf64>) -> tensor<1x2x2xf64>
  %v17 = stablehlo.constant dense<[[[1.0, 0.0], [0.0, 1.0]]]> : tensor<1x2x2xf64>
  %v18 = stablehlo.subtract %v16, %v17 : tensor<1x2x2xf64>
  %v19 = stablehlo.abs %v18 : (tensor<1x2x2xf64>) -> tensor<1x2x2xf64>
  %v20 = stablehlo.constant dense<1.0e-12> : tensor<1x2x2xf64>
  %v21 = stablehlo.compare LT, %v19, %v20 : (tensor<1x2x2xf64>, tensor<1x2x2xf64>) -> tensor<1x2x2xi1>
  check.expect_eq_const %v21, dense<true> : tensor<1x2x2xi1>
  %v22 = stablehlo.slice %r#2 [0:1, 0:4, 0:2] : (tensor<1x4x4xf64>) -> tensor<1x4x2xf64>
  %v23 = stablehlo.slice %r#3 [0:1, 0:2, 0:2] : (tensor<1x2x2xf64>) -> tensor<1x2x2xf64>
  %v24 = stablehlo.broadcast_in_dim %r#1, dims = [0, 2] : (tensor<1x2xf64>) -> tensor<1x4x2xf64>
  %v25 = stablehlo.multiply %v22, %v24 : tensor<1x4x2xf64>
  %v26 = stablehlo.dot_general %v25, %v23, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x4x2xf64>, tensor<1x2x2xf64>) -> tensor<1x4x2xf64>
  %v27 = stablehlo.subtract %v26, %v0 : tensor<1x4x2xf64>
  %v28 = stablehlo.abs %v27 : (tensor<1x4x2xf64>) -> tensor<1x4x2xf64>
  %v29 = stablehlo.constant dense<1.0e-12> : tensor<1x4x2xf64>
  %v30 = stablehlo.compare LT, %v28, %v29 : (tensor<1x4x2xf64>, tensor<1x4x2xf64>) -> tensor<1x4x2xi1>
  check.expect_eq_const %v30, dense<true> : tensor<1x4x2xi1>
  func.return
}

func.func @svd_wide() {
  %v0 = stablehlo.constant dense<[[[(2.75, 1.0), (2.0, 1.75), (-3.5, 0.25), (-2.25, -2.25)], [(3.0, -2.5), (0.0, 4.0), (1.25, -4.0), (2.25, 1.5)]]]> : tensor<1x2x4xcomplex<f32>>
  %r:5 = stablehlo.custom_call @lapack_cgesdd_ffi(%v0) {mhlo.backend_config = {mode = 83 : ui8}}
    : (tensor<1x2x4xcomplex<f32>>) -> (tensor<1x2x4xcomplex<f32>>, tensor<1x2xf32>, tensor<1x2x2xcomplex<f32>>, tensor<1x2x4xcomplex<f32>>, tensor<1xi32>)
  check.expect_eq_const %r#4, dense<[0]> : tensor<1xi32>
  %v1 = stablehlo.constant dense<[[7.960577918847947, 5.551279059635761]]> : tensor<1x2xf32>
  %v2 = stablehlo.reshape %v1 : (tensor<1x2xf32>) -> tensor<1x1x2xf32>
  %v3 = stablehlo.reshape %r#1 : (tensor<1x2xf32>) -> tensor<1x1x2xf32>
  %v4 = stablehlo.subtract %v3, %v2 : tensor<1x1x2xf32>
  %v5 = stablehlo.abs %v4 : (tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %v6 = stablehlo.constant dense<2.0e-05> : tensor<1x1x2xf32>
  %v7 = stablehlo.compare LT, %v5, %v6 : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xi1>
  check.expect_eq_const %v7, dense<true> : tensor<1x1x2xi1>
  %v8 = stablehlo.transpose %r#2, dims = [0, 2, 1] : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xcomplex<f32>>
  %v9 = stablehlo.real %v8 : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xf32>
  %v10 = stablehlo.imag %v8 : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xf32>
  %v11 = stablehlo.negate %v10 : tensor<1x2x2xf32>
  %v12 = stablehlo.complex %v9, %v11 : tensor<1x2x2xcomplex<f32>>
  %v13 = stablehlo.dot_general %v12, %r#2, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x2x2xcomplex<f32>>, tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xcomplex<f32>>
  %v14 = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0)]]]> : tensor<1x2x2xcomplex<f32>>
  %v15 = stablehlo.subtract %v13, %v14 : tensor<1x2x2xcomplex<f32>>
  %v16 = stablehlo.abs %v15 : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xf32>
  %v17 = stablehlo.constant dense<2.0e-05> : tensor<1x2x2xf32>
  %v18 = stablehlo.compare LT, %v16, %v17 : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x2xi1>
  check.expect_eq_const %v18, dense<true> : tensor<1x2x2xi1>
  %v19 = stablehlo.transpose %r#3, dims = [0, 2, 1] : (tensor<1x2x4xcomplex<f32>>) -> tensor<1x4x2xcomplex<f32>>
  %v20 = stablehlo.real %v19 : (tensor<1x4x2xcomplex<f32>>) -> tensor<1x4x2xf32>
  %v21 = stablehlo.imag %v19 : (tensor<1x4x2xcomplex<f32>>) -> tensor<1x4x2xf32>
  %v22 = stablehlo.negate %v21 : tensor<1x4x2xf32>
  %v23 = stablehlo.complex %v20, %v22 : tensor<1x4x2xcomplex<f32>>
  %v24 = stablehlo.dot_general %r#3, %v23, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x2x4xcomplex<f32>>, tensor<1x4x2xcomplex<f32>>) -> tensor<1x2x2xcomplex<f32>>
  %v25 = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0)]]]> : tensor<1x2x2xcomplex<f32>>
  %v26 = stablehlo.subtract %v24, %v25 : tensor<1x2x2xcomplex<f32>>
  %v27 = stablehlo.abs %v26 : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xf32>
  %v28 = stablehlo.constant dense<2.0e-05> : tensor<1x2x2xf32>
  %v29 = stablehlo.compare LT, %v27, %v28 : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x2xi1>
  check.expect_eq_const %v29, dense<true> : tensor<1x2x2xi1>
  %v30 = stablehlo.slice %r#2 [0:1, 0:2, 0:2] : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xcomplex<f32>>
  %v31 = stablehlo.slice %r#3 [0:1, 0:2, 0:4] : (tensor<1x2x4xcomplex<f32>>) -> tensor<1x2x4xcomplex<f32>>
  %v32 = stablehlo.broadcast_in_dim %r#1, dims = [0, 2] : (tensor<1x2xf32>) -> tensor<1x2x2xf32>
  %v33 = stablehlo.constant dense<0.0> : tensor<1x2x2xf32>
  %v34 = stablehlo.complex %v32, %v33 : tensor<1x2x2xcomplex<f32>>
  %v35 = stablehlo.multiply %v30, %v34 : tensor<1x2x2xcomplex<f32>>
  %v36 = stablehlo.dot_general %v35, %v31, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x2x2xcomplex<f32>>, tensor<1x2x4xcomplex<f32>>) -> tensor<1x2x4xcomplex<f32>>
  %v37 = stablehlo.subtract %v36, %v0 : tensor<1x2x4xcomplex<f32>>
  %v38 = stablehlo.abs %v37 : (tensor<1x2x4xcomplex<f32>>) -> tensor<1x2x4xf32>
  %v39 = stablehlo.constant dense<2.0e-05> : tensor<1x2x4xf32>
  %v40 = stablehlo.compare LT, %v38, %v39 : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xi1>
  check.expect_eq_const %v40, dense<true> : tensor<1x2x4xi1>
  func.return
}

func.func @svd_wide_full() {
  %v0 = stablehlo.constant dense<[[[(3.0, -1.25), (-2.25, 1.75), (-3.5, -4.0), (-0.75, -0.5)], [(-1.25, 1.5), (-0.25, 1.0), (-0.5, 2.5), (3.5, -2.75)], [(-3.0, -0.75), (3.5, 1.0), (-3.75, -3.75), (3.5, 2.75)]]]> : tensor<1x3x4xcomplex<f64>>
  %r:5 = stablehlo.custom_call @lapack_zgesdd_ffi(%v0) {mhlo.backend_config = {mode = 65 : ui8}}
    : (tensor<1x3x4xcomplex<f64>>) -> (tensor<1x3x4xcomplex<f64>>, tensor<1x3xf64>, tensor<1x3x3xcomplex<f64>>, tensor<1x4x4xcomplex<f64>>, tensor<1xi32>)
  check.expect_eq_const %r#4, dense<[0]> : tensor<1xi32>
  %v1 = stablehlo.constant dense<[[9.979968504854813, 6.1031272861769965, 3.5832340100568123]]> : tensor<1x3xf64>
  %v2 = stablehlo.reshape %v1 : (tensor<1x3xf64>) -> tensor<1x1x3xf64>
  %v3 = stablehlo.reshape %r#1 : (tensor<1x3xf64>) -> tensor<1x1x3xf64>
  %v4 = stablehlo.subtract %v3, %v2 : tensor<1x1x3xf64>
  %v5 = stablehlo.abs %v4 : (tensor<1x1x3xf64>) -> tensor<1x1x3xf64>
  %v6 = stablehlo.constant dense<1.0e-12> : tensor<1x1x3xf64>
  %v7 = stablehlo.compare LT, %v5, %v6 : (tensor<1x1x3xf64>, tensor<1x1x3xf64>) -> tensor<1x1x3xi1>
  check.expect_eq_const %v7, dense<true> : tensor<1x1x3xi1>
  %v8 = stablehlo.transpose %r#2, dims = [0, 2, 1] : (tensor<1x3x3xcomplex<f64>>) -> tensor<1x3x3xcomplex<f64>>
  %v9 = stablehlo.real %v8 : (tensor<1x3x3xcomplex<f64>>) -> tensor<1x3x3xf64>
  %v10 = stablehlo.imag %v8 : (tensor<1x3x3xcomplex<f64>>) -> tensor<1x3x3xf64>
  %v11 = stablehlo.negate %v10 : tensor<1x3x3xf64>
  %v12 = stablehlo.complex %v9, %v11 : tensor<1x3x3xcomplex<f64>>
  %v13 = stablehlo.dot_general %v12, %r#2, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x3x3xcomplex<f64>>, tensor<1x3x3xcomplex<f64>>) -> tensor<1x3x3xcomplex<f64>>
  %v14 = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]]]> : tensor<1x3x3xcomplex<f64>>
  %v15 = stablehlo.subtract %v13, %v14 : tensor<1x3x3xcomplex<f64>>
  %v16 = stablehlo.abs %v15 : (tensor<1x3x3xcomplex<f64>>) -> tensor<1x3x3xf64>
  %v17 = stablehlo.constant dense<1.0e-12> : tensor<1x3x3xf64>
  %v18 = stablehlo.compare LT, %v16, %v17 : (tensor<1x3x3xf64>, tensor<1x3x3xf64>) -> tensor<1x3x3xi1>
  check.expect_eq_const %v18, dense<true> : tensor<1x3x3xi1>
  %v19 = stablehlo.transpose %r#3, dims = [0, 2, 1] : (tensor<1x4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
  %v20 = stablehlo.real %v19 : (tensor<1x4x4xcomplex<f64>>) -> tensor<1x4x4xf64>
  %v21 = stablehlo.imag %v19 : (tensor<1x4x4xcomplex<f64>>) -> tensor<1x4x4xf64>
  %v22 = stablehlo.negate %v21 : tensor<1x4x4xf64>
  %v23 = stablehlo.complex %v20, %v22 : tensor<1x4x4xcomplex<f64>>
  %v24 = stablehlo.dot_general %r#3, %v23, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x4x4xcomplex<f64>>, tensor<1x4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
  %v25 = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]]]> : tensor<1x4x4xcomplex<f64>>
  %v26 = stablehlo.subtract %v24, %v25 : tensor<1x4x4xcomplex<f64>>
  %v27 = stablehlo.abs %v26 : (tensor<1x4x4xcomplex<f64>>) -> tensor<1x4x4xf64>
  %v28 = stablehlo.constant dense<1.0e-12> : tensor<1x4x4xf64>
  %v29 = stablehlo.compare LT, %v27, %v28 : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xi1>
  check.expect_eq_const %v29, dense<true> : tensor<1x4x4xi1>
  %v30 = stablehlo.slice %r#2 [0:1, 0:3, 0:3] : (tensor<1x3x3xcomplex<f64>>) -> tensor<1x3x3xcomplex<f64>>
  %v31 = stablehlo.slice %r#3 [0:1, 0:3, 0:4] : (tensor<1x4x4xcomplex<f64>>) -> tensor<1x3x4xcomplex<f64>>
  %v32 = stablehlo.broadcast_in_dim %r#1, dims = [0, 2] : (tensor<1x3xf64>) -> tensor<1x3x3xf64>
  %v33 = stablehlo.constant dense<0.0> : tensor<1x3x3xf64>
  %v34 = stablehlo.complex %v32, %v33 : tensor<1x3x3xcomplex<f64>>
  %v35 = stablehlo.multiply %v30, %v34 : tensor<1x3x3xcomplex<f64>>
  %v36 = stablehlo.dot_general %v35, %v31, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x3x3xcomplex<f64>>, tensor<1x3x4xcomplex<f64>>) -> tensor<1x3x4xcomplex<f64>>
  %v37 = stablehlo.subtract %v36, %v0 : tensor<1x3x4xcomplex<f64>>
  %v38 = stablehlo.abs %v37 : (tensor<1x3x4xcomplex<f64>>) -> tensor<1x3x4xf64>
  %v39 = stablehlo.constant dense<1.0e-12> : tensor<1x3x4xf64>
  %v40 = stablehlo.compare LT, %v38, %v39 : (tensor<1x3x4xf64>, tensor<1x3x4xf64>) -> tensor<1x3x4xi1>
  check.expect_eq_const %v40, dense<true> : tensor<1x3x4xi1>
  func.return
}

func.func @svd_values() {
  %v0 = stablehlo.constant dense<[[[-0.75, -2.0, -2.25, 1.25], [-3.5, -2.0, -1.5, -2.0], [1.75, 0.75, 3.25, 1.5]]]> : tensor<1x3x4xf64>
  %r:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%v0) {mhlo.backend_config = {mode = 78 : ui8}}
    : (tensor<1x3x4xf64>) -> (tensor<1x3x4xf64>, tensor<1x3xf64>, tensor<1x3x3xf64>, tensor<1x4x4xf64>, tensor<1xi32>)
  check.expect_eq_const %r#4, dense<[0]> : tensor<1xi32>
  %v1 = stablehlo.constant dense<[[6.289966797384529, 2.7348899851012183, 1.755475564396521]]> : tensor<1x3xf64>
  %v2 = stablehlo.reshape %v1 : (tensor<1x3xf64>) -> tensor<1x1x3xf64>
  %v3 = stablehlo.reshape %r#1 : (tensor<1x3xf64>) -> tensor<1x1x3xf64>
  %v4 = stablehlo.subtract %v3, %v2 : tensor<1x1x3xf64>
  %v5 = stablehlo.abs %v4 : (tensor<1x1x3xf64>) -> tensor<1x1x3xf64>
  %v6 = stablehlo.constant dense<1.0e-12> : tensor<1x1x3xf64>
  %v7 = stablehlo.compare LT, %v5, %v6 : (tensor<1x1x3xf64>, tensor<1x1x3xf64>) -> tensor<1x1x3xi1>
  check.expect_eq_const %v7, dense<true> : tensor<1x1x3xi1>
  func.return
}

func.func @svd_rank() {
  %v0 = stablehlo.constant dense<[[[1.0, -1.75, 2.0], [0.0, 0.0, 0.0], [-0.25, 0.5, -0.5], [0.5, -1.0, 1.0]]]> : tensor<1x4x3xf64>
  %r:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%v0) {mhlo.backend_config = {mode = 65 : ui8}}
    : (tensor<1x4x3xf64>) -> (tensor<1x4x3xf64>, tensor<1x3xf64>, tensor<1x4x4xf64>, tensor<1x3x3xf64>, tensor<1xi32>)
  check.expect_eq_const %r#4, dense<[0]> : tensor<1xi32>
  %v1 = stablehlo.constant dense<[[3.2963635551395285, 0.09480143642310485, 4.655396373739509e-18]]> : tensor<1x3xf64>
  %v2 = stablehlo.reshape %v1 : (tensor<1x3xf64>) -> tensor<1x1x3xf64>
  %v3 = stablehlo.reshape %r#1 : (tensor<1x3xf64>) -> tensor<1x1x3xf64>
  %v4 = stablehlo.subtract %v3, %v2 : tensor<1x1x3xf64>
  %v5 = stablehlo.abs %v4 : (tensor<1x1x3xf64>) -> tensor<1x1x3xf64>
  %v6 = stablehlo.constant dense<1.0e-12> : tensor<1x1x3xf64>
  %v7 = stablehlo.compare LT, %v5, %v6 : (tensor<1x1x3xf64>, tensor<1x1x3xf64>) -> tensor<1x1x3xi1>
  check.expect_eq_const %v7, dense<true> : tensor<1x1x3xi1>
  %v8 = stablehlo.transpose %r#2, dims = [0, 2, 1] : (tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v9 = stablehlo.dot_general %v8, %r#2, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v10 = stablehlo.constant dense<[[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]]> : tensor<1x4x4xf64>
  %v11 = stablehlo.subtract %v9, %v10 : tensor<1x4x4xf64>
  %v12 = stablehlo.abs %v11 : (tensor<1x4x4xf64>) -> tensor<1x4x4xf64>
  %v13 = stablehlo.constant dense<1.0e-12> : tensor<1x4x4xf64>
  %v14 = stablehlo.compare LT, %v12, %v13 : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<1x4x4xi1>
  check.expect_eq_const %v14, dense<true> : tensor<1x4x4xi1>
  %v15 = stablehlo.transpose %r#3, dims = [0, 2, 1] : (tensor<1x3x3xf64>) -> tensor<1x3x3xf64>
  %v16 = stablehlo.dot_general %r#3, %v15, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x3x3xf64>, tensor<1x3x3xf64>) -> tensor<1x3x3xf64>
  %v17 = stablehlo.constant dense<[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]> : tensor<1x3x3xf64>
  %v18 = stablehlo.subtract %v16, %v17 : tensor<1x3x3xf64>
  %v19 = stablehlo.abs %v18 : (tensor<1x3x3xf64>) -> tensor<1x3x3xf64>
  %v20 = stablehlo.constant dense<1.0e-12> : tensor<1x3x3xf64>
  %v21 = stablehlo.compare LT, %v19, %v20 : (tensor<1x3x3xf64>, tensor<1x3x3xf64>) -> tensor<1x3x3xi1>
  check.expect_eq_const %v21, dense<true> : tensor<1x3x3xi1>
  %v22 = stablehlo.slice %r#2 [0:1, 0:4, 0:3] : (tensor<1x4x4xf64>) -> tensor<1x4x3xf64>
  %v23 = stablehlo.slice %r#3 [0:1, 0:3, 0:3] : (tensor<1x3x3xf64>) -> tensor<1x3x3xf64>
  %v24 = stablehlo.broadcast_in_dim %r#1, dims = [0, 2] : (tensor<1x3xf64>) -> tensor<1x4x3xf64>
  %v25 = stablehlo.multiply %v22, %v24 : tensor<1x4x3xf64>
  %v26 = stablehlo.dot_general %v25, %v23, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x4x3xf64>, tensor<1x3x3xf64>) -> tensor<1x4x3xf64>
  %v27 = stablehlo.subtract %v26, %v0 : tensor<1x4x3xf64>
  %v28 = stablehlo.abs %v27 : (tensor<1x4x3xf64>) -> tensor<1x4x3xf64>
  %v29 = stablehlo.constant dense<1.0e-12> : tensor<1x4x3xf64>
  %v30 = stablehlo.compare LT, %v28, %v29 : (tensor<1x4x3xf64>, tensor<1x4x3xf64>) -> tensor<1x4x3xi1>
  check.expect_eq_const %v30, dense<true> : tensor<1x4x3xi1>
  func.return
}

func.func @lu_singular() {
  %v0 = stablehlo.constant dense<[[0.0, 1.0], [0.0, 2.0]]> : tensor<2x2xf64>
  %r:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%v0) : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2xi32>, tensor<i32>)
  check.expect_eq_const %r#0, dense<[[0.0, 1.0], [0.0, 2.0]]> : tensor<2x2xf64>
  check.expect_eq_const %r#1, dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %r#2, dense<1> : tensor<i32>
  func.return
}
