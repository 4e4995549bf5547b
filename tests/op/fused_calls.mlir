// Custom calls that are written out as StableHLO (docs/CUSTOM_CALLS.md). The expected values are numpy's, in double.

func.func @attention() {
  %0 = stablehlo.constant dense<[[[[-0.829, -0.526, 0.603, 0.164], [-0.812, -0.134, -0.042, -0.681], [0.469, -0.773,
    -0.218, 0.033]], [[-0.139, 0.174, 0.476, 0.913], [-0.432, 0.297, 0.392, -0.415], [-0.997, 0.947, -0.403,
    -0.372]]]]> : tensor<1x2x3x4xf32>
  %1 = stablehlo.constant dense<[[[[0.783, 0.17, -0.057, 0.547], [-0.939, 0.414, -0.252, -0.818], [0.321, 0.863,
    -0.586, 0.26], [-0.404, 0.484, 0.444, -0.563], [0.66, 0.315, 0.366, 0.64]], [[-0.143, 0.517, 0.757, -0.795],
    [0.7, -0.212, -0.041, -0.707], [0.397, -0.416, 0.742, -0.449], [0.124, -0.201, 0.226, -0.607], [-0.639, 0.494,
    0.504, 0.134]]]]> : tensor<1x2x5x4xf32>
  %2 = stablehlo.constant dense<[[[[0.842, -0.588], [0.702, -0.662], [0.929, 0.247], [0.214, 0.941], [0.574, 0.58]],
    [[-0.892, -0.261], [-0.83, -0.613], [-0.572, 0.717], [-0.746, -0.406], [-0.014, 0.699]]]]> : tensor<1x2x5x2xf32>
  %r = stablehlo.custom_call @fused_scaled_dot_product_attention(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {scale = 0.5 : f64}}
    : (tensor<1x2x3x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x2xf32>) -> tensor<1x2x3x2xf32>
  check.expect_almost_eq_const %r, dense<[[[[0.605754998, 0.117209236], [0.60885698, 0.0422525356], [0.672684427,
    0.074401814]], [[-0.541302139, 0.134301857], [-0.603430841, 0.0453870136], [-0.558661462,
    0.0666838268]]]]> : tensor<1x2x3x2xf32>
  func.return
}

func.func @causal_groups() {
  %0 = stablehlo.constant dense<[[[[0.93, 0.416], [-0.573, 0.09], [0.412, -0.896]], [[0.36, -0.263], [0.179, 0.339],
    [0.338, 0.046]], [[0.109, -0.604], [-0.01, -0.749], [-0.039, 0.072]], [[0.548, -0.213], [-0.961, 0.055], [-0.59,
    0.483]]]]> : tensor<1x4x3x2xf32>
  %1 = stablehlo.constant dense<[[[[-0.223, -0.239], [0.819, -0.214], [-0.302, -0.304]], [[-0.038, -0.813], [0.093,
    0.843], [0.126, 0.488]]]]> : tensor<1x2x3x2xf32>
  %2 = stablehlo.constant dense<[[[[0.894, 0.684], [0.488, 0.626], [0.64, -0.492]], [[-0.036, -0.315], [-0.477,
    0.143], [-0.364, 0.237]]]]> : tensor<1x2x3x2xf32>
  %r = stablehlo.custom_call @fused_scaled_dot_product_attention(%0, %1, %2)
    {backend_config = "{\22scale\22: 0.25, \22is_causal\22: true}"}
    : (tensor<1x4x3x2xf32>, tensor<1x2x3x2xf32>, tensor<1x2x3x2xf32>) -> tensor<1x4x3x2xf32>
  check.expect_almost_eq_const %r, dense<[[[[0.894, 0.684], [0.706065704, 0.657152243], [0.667532736, 0.283235947]],
    [[0.894, 0.684], [0.686053032, 0.65429329], [0.668513154, 0.285077664]], [[-0.036, -0.315], [-0.222549091,
    -0.121259674], [-0.294603224, 0.0243744921]], [[-0.036, -0.315], [-0.255540528, -0.0869964586], [-0.306329146,
    0.0380223243]]]]> : tensor<1x4x3x2xf32>
  func.return
}

func.func @added_mask() {
  %0 = stablehlo.constant dense<[[[0.165, -0.791], [-0.115, -0.22], [0.413, -0.824]], [[-0.662, 0.025], [-0.191,
    0.331], [-0.334, -0.606]]]> : tensor<2x3x2xf32>
  %1 = stablehlo.constant dense<[[[0.864, -0.512], [-0.706, -0.44], [-0.321, -0.55], [0.073, 0.874]], [[-0.748,
    -0.17], [0.336, 0.769], [1.0, -0.713], [0.075, 0.762]]]> : tensor<2x4x2xf32>
  %2 = stablehlo.constant dense<[[[-0.894, 0.177], [-0.652, 0.536], [0.875, 0.077], [-0.982, -0.871]], [[-0.169,
    0.695], [-0.526, 0.338], [-0.189, -0.47], [0.408, -0.383]]]> : tensor<2x4x2xf32>
  %3 = stablehlo.constant dense<[[-0.768, 1.593, -0.03, 1.704], [0.099, -2.04, -0.339, 2.238], [0.39, 2.79, -2.994,
    -0.957]]> : tensor<3x4xf32>
  %r = stablehlo.custom_call @fused_scaled_dot_product_attention(%0, %1, %2, %3)
    {api_version = 4 : i32, backend_config = {has_mask = true}}
    : (tensor<2x3x2xf32>, tensor<2x4x2xf32>, tensor<2x4x2xf32>, tensor<3x4xf32>) -> tensor<2x3x2xf32>
  check.expect_almost_eq_const %r, dense<[[[-0.557638271, 0.102388284], [-0.808239167, -0.647849908], [-0.687160372,
    0.466437031]], [[-0.0148826335, -0.0367241027], [0.326423042, -0.283075513], [-0.440147316,
    0.38447054]]]> : tensor<2x3x2xf32>
  func.return
}

func.func @boolean_mask() {
  %0 = stablehlo.constant dense<[[[0.165, -0.791], [-0.115, -0.22], [0.413, -0.824]], [[-0.662, 0.025], [-0.191,
    0.331], [-0.334, -0.606]]]> : tensor<2x3x2xf32>
  %1 = stablehlo.constant dense<[[[0.864, -0.512], [-0.706, -0.44], [-0.321, -0.55], [0.073, 0.874]], [[-0.748,
    -0.17], [0.336, 0.769], [1.0, -0.713], [0.075, 0.762]]]> : tensor<2x4x2xf32>
  %2 = stablehlo.constant dense<[[[-0.894, 0.177], [-0.652, 0.536], [0.875, 0.077], [-0.982, -0.871]], [[-0.169,
    0.695], [-0.526, 0.338], [-0.189, -0.47], [0.408, -0.383]]]> : tensor<2x4x2xf32>
  %3 = stablehlo.constant dense<[[[true, true, true, true]], [[true, true, true, true]]]> : tensor<2x1x4xi1>
  %r = stablehlo.custom_call @fused_scaled_dot_product_attention(%0, %1, %2, %3)
    {api_version = 4 : i32, backend_config = {has_mask = true, scale = 2 : i64}}
    : (tensor<2x3x2xf32>, tensor<2x4x2xf32>, tensor<2x4x2xf32>, tensor<2x1x4xi1>) -> tensor<2x3x2xf32>
  check.expect_almost_eq_const %r, dense<[[[-0.298195938, 0.189368213], [-0.290578122, 0.104438442], [-0.444803343,
    0.172059885]], [[-0.102851892, 0.352852082], [-0.0841707463, 0.107648136], [-0.148337717,
    0.202674366]]]> : tensor<2x3x2xf32>
  func.return
}

func.func @depth() {
  %0 = stablehlo.constant dense<[[0.333, -0.352, 0.339], [0.23, 0.572, -0.04]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[[-0.946, 0.074, 0.715], [0.28, 0.287, -0.218], [-0.287, 0.438, -0.844], [0.733,
    0.753, 0.925]], [[-0.729, -0.769, 0.788], [-0.198, -0.459, -0.236], [0.319, -0.677, -0.026], [0.32, 0.442,
    -0.975]]]> : tensor<2x4x3xf32>
  %2 = stablehlo.constant dense<[[[0.622, -0.132, -0.128], [0.125, -0.44, 0.773], [-0.576, 0.085, -0.664], [0.232,
    0.804, 0.765]], [[-0.731, 0.25, 0.785], [-0.599, -0.171, 0.426], [0.476, -0.098, 0.277], [0.338, -0.294,
    0.304]]]> : tensor<2x4x3xf32>
  %r = stablehlo.custom_call @fused_depth_attention(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {scale = 0.5 : f32}}
    : (tensor<2x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x3xf32>
  check.expect_almost_eq_const %r, dense<[[0.140828901, 0.116748488, 0.260231513], [-0.0642640374, -0.110446192,
    0.422412187]]> : tensor<2x3xf32>
  func.return
}

func.func @layer_norm() {
  %0 = stablehlo.constant dense<[[0.155, 0.395, 0.023, -0.327], [-0.131, 0.845, -0.625, -0.703]]> : tensor<2x4xf32>
  %1 = stablehlo.constant dense<[-0.976, 0.704, 0.977, -0.527]> : tensor<4xf32>
  %2 = stablehlo.constant dense<[-0.468, -0.603, 0.2, -0.03]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_layer_norm(%0, %1, %2)
    : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[-0.817681557, 0.296662867, 0.0558659494, 0.754536108], [-0.503602621,
    0.536647034, -0.546837122, 0.439491732]]> : tensor<2x4xf32>
  func.return
}

func.func @layer_norm_axes() {
  %0 = stablehlo.constant dense<[[[0.641, -0.581], [0.756, -0.072], [0.616, 0.604]], [[0.822, -0.002], [0.219,
    0.122], [-0.619, 0.003]]]> : tensor<2x3x2xf32>
  %1 = stablehlo.constant dense<[[0.853, 0.818, -0.957], [0.327, -0.346, -0.728]]> : tensor<2x3xf32>
  %2 = stablehlo.constant dense<[[-0.721, 0.59, 0.918], [0.04, -0.233, 0.02]]> : tensor<2x3xf32>
  %r = stablehlo.custom_call @fused_layer_norm(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {axes = array<i64: 0, 1>, eps = 0.1 : f64}}
    : (tensor<2x3x2xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2xf32>
  check.expect_almost_eq_const %r, dense<[[[-0.380341534, -1.79940619], [1.0764324, 0.443010212], [0.576437514,
    -0.28848974]], [[0.27110505, 0.0300131266], [-0.123219589, -0.313850989], [1.287007,
    0.0344778059]]]> : tensor<2x3x2xf32>
  func.return
}

func.func @rms_norm() {
  %0 = stablehlo.constant dense<[[0.155, 0.395, 0.023, -0.327], [-0.131, 0.845, -0.625, -0.703]]> : tensor<2x4xf32>
  %1 = stablehlo.constant dense<[-0.976, 0.704, 0.977, -0.527]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_rms_norm(%0, %1)
    {backend_config = "{\22eps\22:1e-3, \22axes\22: [-1]}"}
    : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[-0.560384704, 1.03008844, 0.083239058, 0.638356264], [0.200905081,
    0.934757968, -0.959498696, 0.582151134]]> : tensor<2x4xf32>
  func.return
}

func.func @batch_norm() {
  %0 = stablehlo.constant dense<[[[0.659, 0.493], [-0.872, -0.575], [0.735, -0.014]], [[0.315, 0.555], [0.273,
    0.468], [0.091, -0.541]]]> : tensor<2x3x2xf32>
  %1 = stablehlo.constant dense<[-0.626, 0.987, -0.979]> : tensor<3xf32>
  %2 = stablehlo.constant dense<[0.382, 0.761, -0.537]> : tensor<3xf32>
  %3 = stablehlo.constant dense<[-0.903, -0.202, -0.34]> : tensor<3xf32>
  %4 = stablehlo.constant dense<[0.077, 0.145, 0.884]> : tensor<3xf32>
  %r = stablehlo.custom_call @fused_batch_norm(%0, %1, %2, %3, %4)
    {api_version = 4 : i32, backend_config = {feature_index = 1 : i64}}
    : (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2xf32>
  check.expect_almost_eq_const %r, dense<[[[-3.14156105, -2.7670981], [-0.975572739, -0.205778555], [-1.6563414,
    -0.876446788]], [[-2.36556553, -2.90695776], [1.99215231, 2.49757274], [-0.985777808,
    -0.327709189]]]> : tensor<2x3x2xf32>
  func.return
}

func.func @matmul_none() {
  %0 = stablehlo.constant dense<[[-1.522, 1.776, -1.818], [1.752, -0.668, 0.908]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.994, -0.105, 0.356, 0.257], [0.613, -0.693, -0.198, 0.227], [-0.943, 0.671,
    -0.168, -0.508]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[-0.555, 0.302, -0.904, -0.511]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {activation = "none"}}
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[3.76093, -1.988836, -1.492056, 0.424542], [-3.562216, 1.190232, -0.300568,
    -0.673636]]> : tensor<2x4xf32>
  func.return
}

func.func @matmul_relu() {
  %0 = stablehlo.constant dense<[[-1.522, 1.776, -1.818], [1.752, -0.668, 0.908]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.994, -0.105, 0.356, 0.257], [0.613, -0.693, -0.198, 0.227], [-0.943, 0.671,
    -0.168, -0.508]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[-0.555, 0.302, -0.904, -0.511]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {activation = "relu"}}
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[3.76093, 0.0, 0.0, 0.424542], [0.0, 1.190232, 0.0, 0.0]]> : tensor<2x4xf32>
  func.return
}

func.func @matmul_gelu() {
  %0 = stablehlo.constant dense<[[-1.522, 1.776, -1.818], [1.752, -0.668, 0.908]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.994, -0.105, 0.356, 0.257], [0.613, -0.693, -0.198, 0.227], [-0.943, 0.671,
    -0.168, -0.508]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[-0.555, 0.302, -0.904, -0.511]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {activation = "gelu"}}
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[3.76061167, -0.0464585206, -0.10122441, 0.282071949], [-0.000654980427,
    1.05100151, -0.114778494, -0.168591811]]> : tensor<2x4xf32>
  func.return
}

func.func @matmul_gelu_approximate() {
  %0 = stablehlo.constant dense<[[-1.522, 1.776, -1.818], [1.752, -0.668, 0.908]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.994, -0.105, 0.356, 0.257], [0.613, -0.693, -0.198, 0.227], [-0.943, 0.671,
    -0.168, -0.508]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[-0.555, 0.302, -0.904, -0.511]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {activation = "gelu_approximate"}}
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[3.76072092, -0.0463702389, -0.101443892, 0.282062535], [-0.000481006423,
    1.05079015, -0.114781015, -0.168640573]]> : tensor<2x4xf32>
  func.return
}

func.func @matmul_sigmoid() {
  %0 = stablehlo.constant dense<[[-1.522, 1.776, -1.818], [1.752, -0.668, 0.908]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.994, -0.105, 0.356, 0.257], [0.613, -0.693, -0.198, 0.227], [-0.943, 0.671,
    -0.168, -0.508]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[-0.555, 0.302, -0.904, -0.511]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {activation = "sigmoid"}}
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[0.977266727, 0.120380062, 0.183613334, 0.604569598], [0.0275929014,
    0.766782555, 0.425418637, 0.337683158]]> : tensor<2x4xf32>
  func.return
}

func.func @matmul_tanh() {
  %0 = stablehlo.constant dense<[[-1.522, 1.776, -1.818], [1.752, -0.668, 0.908]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.994, -0.105, 0.356, 0.257], [0.613, -0.693, -0.198, 0.227], [-0.943, 0.671,
    -0.168, -0.508]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[-0.555, 0.302, -0.904, -0.511]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {activation = "tanh"}}
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[0.998918335, -0.963230287, -0.903702354, 0.400749911], [-0.998390915,
    0.830650807, -0.291832324, -0.587366551]]> : tensor<2x4xf32>
  func.return
}

func.func @matmul_silu() {
  %0 = stablehlo.constant dense<[[-1.522, 1.776, -1.818], [1.752, -0.668, 0.908]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.994, -0.105, 0.356, 0.257], [0.613, -0.693, -0.198, 0.227], [-0.943, 0.671,
    -0.168, -0.508]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[-0.555, 0.302, -0.904, -0.511]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {activation = "silu"}}
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[3.67543175, -0.239416202, -0.273961376, 0.256665186], [-0.0982918747,
    0.912649134, -0.127867229, -0.227475532]]> : tensor<2x4xf32>
  func.return
}

func.func @matmul_leaky_relu() {
  %0 = stablehlo.constant dense<[[-1.522, 1.776, -1.818], [1.752, -0.668, 0.908]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.994, -0.105, 0.356, 0.257], [0.613, -0.693, -0.198, 0.227], [-0.943, 0.671,
    -0.168, -0.508]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[-0.555, 0.302, -0.904, -0.511]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {activation = "leaky_relu"}}
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[3.76093, -0.01988836, -0.01492056, 0.424542], [-0.03562216, 1.190232,
    -0.00300568, -0.00673636]]> : tensor<2x4xf32>
  func.return
}

func.func @matmul_elu() {
  %0 = stablehlo.constant dense<[[-1.522, 1.776, -1.818], [1.752, -0.668, 0.908]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.994, -0.105, 0.356, 0.257], [0.613, -0.693, -0.198, 0.227], [-0.943, 0.671,
    -0.168, -0.508]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[-0.555, 0.302, -0.904, -0.511]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {activation = "elu"}}
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[3.76093, -0.863145368, -0.775090235, 0.424542], [-0.971624126, 1.190232,
    -0.259602445, -0.490148616]]> : tensor<2x4xf32>
  func.return
}

func.func @matmul_turned() {
  %0 = stablehlo.constant dense<[[-1.522, 1.752], [1.776, -0.668], [-1.818, 0.908]]> : tensor<3x2xf32>
  %1 = stablehlo.constant dense<[[-0.994, 0.613, -0.943], [-0.105, -0.693, 0.671], [0.356, -0.198, -0.168], [0.257,
    0.227, -0.508]]> : tensor<4x3xf32>
  %2 = stablehlo.constant dense<[-0.555, 0.302, -0.904, -0.511]> : tensor<4xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {trans_a = true, trans_b = true}}
    : (tensor<3x2xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  check.expect_almost_eq_const %r, dense<[[3.76093, -1.988836, -1.492056, 0.424542], [-3.562216, 1.190232, -0.300568,
    -0.673636]]> : tensor<2x4xf32>
  func.return
}

func.func @matmul_batches() {
  %0 = stablehlo.constant dense<[[[-0.392, -0.483, 0.461], [0.185, 0.808, 0.402]], [[-0.411, -0.352, -0.754],
    [-0.515, 0.209, 0.462]]]> : tensor<2x2x3xf32>
  %1 = stablehlo.constant dense<[[[-0.408, -0.312], [0.606, 0.917], [-0.831, -0.857]], [[0.518, -0.009], [-0.15,
    0.267], [0.521, -0.86]]]> : tensor<2x3x2xf32>
  %2 = stablehlo.constant dense<[[[0.924, 0.916]], [[-0.167, -0.061]]]> : tensor<2x1x2xf32>
  %r = stablehlo.custom_call @fused_matmul_bias_activation(%0, %1, %2)
    : (tensor<2x2x3xf32>, tensor<2x3x2xf32>, tensor<2x1x2xf32>) -> tensor<2x2x2xf32>
  check.expect_almost_eq_const %r, dense<[[[0.408147, 0.200316], [1.004106, 1.254702]], [[-0.719932, 0.497155],
    [-0.224418, -0.397882]]]> : tensor<2x2x2xf32>
  func.return
}

func.func @convolution() {
  %0 = stablehlo.constant dense<[[[[-0.455, 0.175], [-0.59, 0.069], [0.809, 0.012]], [[0.654, -0.642], [0.767,
    -0.754], [-0.574, 0.44]], [[-0.396, -0.762], [-0.826, 0.587], [-0.96, -0.887]], [[0.891, 0.564], [-0.259,
    -0.615], [0.734, 0.575]]]]> : tensor<1x4x3x2xf32>
  %1 = stablehlo.constant dense<[[[[0.337, 0.061], [0.051, 0.956]], [[0.045, -0.832], [-0.85, 0.191]]], [[[0.465,
    0.256], [0.486, -0.412]], [[-0.258, -0.469], [-0.255, -0.467]]]]> : tensor<2x2x2x2xf32>
  %2 = stablehlo.constant dense<[0.668, -0.704]> : tensor<2xf32>
  %r = stablehlo.custom_call @fused_conv_bias_act(%0, %1, %2)
    {api_version = 4 : i32, backend_config = {activation = "relu", window_strides = array<i64: 2, 1>,
    padding = array<i64: 1, 0, 0, 1>}}
    : (tensor<1x4x3x2xf32>, tensor<2x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x3x2xf32>
  check.expect_almost_eq_const %r, dense<[[[[0.6761, 0.0], [0.215402, 0.0], [1.050017, 0.0]], [[1.040022, 0.0],
    [0.863252, 0.0], [0.0, 0.0]]]]> : tensor<1x2x3x2xf32>
  func.return
}

func.func @convolution_plain() {
  %0 = stablehlo.constant dense<[[[[-0.455, 0.175], [-0.59, 0.069], [0.809, 0.012]], [[0.654, -0.642], [0.767,
    -0.754], [-0.574, 0.44]], [[-0.396, -0.762], [-0.826, 0.587], [-0.96, -0.887]], [[0.891, 0.564], [-0.259,
    -0.615], [0.734, 0.575]]]]> : tensor<1x4x3x2xf32>
  %1 = stablehlo.constant dense<[[[[0.337, 0.061], [0.051, 0.956]], [[0.045, -0.832], [-0.85, 0.191]]], [[[0.465,
    0.256], [0.486, -0.412]], [[-0.258, -0.469], [-0.255, -0.467]]]]> : tensor<2x2x2x2xf32>
  %r = stablehlo.custom_call @fused_conv_bias_act(%0, %1)
    {api_version = 4 : i32, backend_config = {has_bias = false}}
    : (tensor<1x4x3x2xf32>, tensor<2x2x2x2xf32>) -> tensor<1x3x2x2xf32>
  check.expect_almost_eq_const %r, dense<[[[[-0.243128, 1.067927], [-0.143003, -0.070096]], [[0.372022, -1.030183],
    [0.195252, 0.29874]], [[0.203632, 0.451125], [-0.292997, 0.714394]]]]> : tensor<1x3x2x2xf32>
  func.return
}

func.func @softmax() {
  %0 = stablehlo.constant dense<[[-2.336, 1.712], [-0.816, -1.268], [3.796, 3.152]]> : tensor<3x2xf32>
  %r = stablehlo.custom_call @fused_softmax(%0)
    : (tensor<3x2xf32>) -> tensor<3x2xf32>
  check.expect_almost_eq_const %r, dense<[[0.0171577274, 0.982842273], [0.611114647, 0.388885353], [0.655657105,
    0.344342895]]> : tensor<3x2xf32>
  func.return
}

func.func @softmax_columns() {
  %0 = stablehlo.constant dense<[[-2.336, 1.712], [-0.816, -1.268], [3.796, 3.152]]> : tensor<3x2xf32>
  %r = stablehlo.custom_call @fused_softmax(%0) {backend_config = "{\22axis\22: 0}"}
    : (tensor<3x2xf32>) -> tensor<3x2xf32>
  check.expect_almost_eq_const %r, dense<[[0.00214625354, 0.189699735], [0.0098131545, 0.00963538712], [0.988040592,
    0.800664878]]> : tensor<3x2xf32>
  func.return
}

func.func @gelu() {
  %0 = stablehlo.constant dense<[[-2.336, 1.712], [-0.816, -1.268], [3.796, 3.152]]> : tensor<3x2xf32>
  %r = stablehlo.custom_call @fused_gelu(%0)
    : (tensor<3x2xf32>) -> tensor<3x2xf32>
  check.expect_almost_eq_const %r, dense<[[-0.0227657701, 1.63761645], [-0.169116055, -0.129841901], [3.7957209,
    3.14944442]]> : tensor<3x2xf32>
  func.return
}

func.func @gelu_approximate() {
  %0 = stablehlo.constant dense<[[-2.336, 1.712], [-0.816, -1.268], [3.796, 3.152]]> : tensor<3x2xf32>
  %r = stablehlo.custom_call @fused_gelu(%0)
    {api_version = 4 : i32, backend_config = {approximate = true}}
    : (tensor<3x2xf32>) -> tensor<3x2xf32>
  check.expect_almost_eq_const %r, dense<[[-0.0224044488, 1.63749091], [-0.169205131, -0.130068312], [3.79582074,
    3.14979502]]> : tensor<3x2xf32>
  func.return
}

func.func @rope_angles() {
  %0 = stablehlo.constant dense<[[[-0.562, -0.689, -0.015, 0.148], [-0.307, 0.183, 0.356, 0.629], [-0.516, 0.29,
    -0.884, -0.87]], [[-0.889, -0.767, 0.564, -0.258], [-0.014, -0.098, -0.586, -0.908], [-0.636, 0.717, -0.323,
    -0.159]]]> : tensor<2x3x4xf32>
  %1 = stablehlo.constant dense<[[-1.413, 1.446], [1.215, -0.696], [0.039, -0.624]]> : tensor<3x2xf32>
  %r = stablehlo.custom_call @fused_rope(%0, %1)
    : (tensor<2x3x4xf32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  check.expect_almost_eq_const %r, dense<[[[-0.103127609, -0.232610663, 0.552660561, -0.665219723], [-0.440642942,
    0.543721912, -0.163764458, 0.365371704], [-0.481140371, -0.27297997, -0.903446702, -0.875489541]], [[0.417293347,
    0.160523024, 0.966583293, -0.793149014], [0.544421749, -0.657373548, -0.217248611, -0.633977932], [-0.622922576,
    0.488978304, -0.347552102, -0.547969176]]]> : tensor<2x3x4xf32>
  func.return
}

func.func @rope_table() {
  %0 = stablehlo.constant dense<[[[-0.562, -0.689, -0.015, 0.148], [-0.307, 0.183, 0.356, 0.629], [-0.516, 0.29,
    -0.884, -0.87]], [[-0.889, -0.767, 0.564, -0.258], [-0.014, -0.098, -0.586, -0.908], [-0.636, 0.717, -0.323,
    -0.159]]]> : tensor<2x3x4xf32>
  %1 = stablehlo.constant dense<[[0.1571, 0.1245, -0.9876, 0.9922], [0.3483, 0.7674, 0.9374, -0.6412], [0.9992,
    0.8115, 0.039, -0.5843]]> : tensor<3x4xf32>
  %r = stablehlo.custom_call @fused_rope(%0, %1)
    : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
  check.expect_almost_eq_const %r, dense<[[[-0.1031042, -0.2326261, 0.5526747, -0.6651998], [-0.4406425, 0.543749,
    -0.163787, 0.365355], [-0.4811112, -0.273006, -0.9034168, -0.875452]], [[0.4173445, 0.1604961, 0.9665808,
    -0.7931384], [0.5444402, -0.6574148, -0.2172274, -0.6339616], [-0.6228942, 0.4889418, -0.3475456,
    -0.5479716]]]> : tensor<2x3x4xf32>
  func.return
}

func.func @rope_tables() {
  %0 = stablehlo.constant dense<[[[-0.562, -0.689, -0.015, 0.148], [-0.307, 0.183, 0.356, 0.629], [-0.516, 0.29,
    -0.884, -0.87]], [[-0.889, -0.767, 0.564, -0.258], [-0.014, -0.098, -0.586, -0.908], [-0.636, 0.717, -0.323,
    -0.159]]]> : tensor<2x3x4xf32>
  %1 = stablehlo.constant dense<[[0.1571, 0.1245], [0.3483, 0.7674], [0.9992, 0.8115]]> : tensor<3x2xf32>
  %2 = stablehlo.constant dense<[[-0.9876, 0.9922], [0.9374, -0.6412], [0.039, -0.5843]]> : tensor<3x2xf32>
  %r = stablehlo.custom_call @fused_rope(%0, %1, %2)
    : (tensor<2x3x4xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  check.expect_almost_eq_const %r, dense<[[[-0.1031042, -0.2326261, 0.5526747, -0.6651998], [-0.4406425, 0.543749,
    -0.163787, 0.365355], [-0.4811112, -0.273006, -0.9034168, -0.875452]], [[0.4173445, 0.1604961, 0.9665808,
    -0.7931384], [0.5444402, -0.6574148, -0.2172274, -0.6339616], [-0.6228942, 0.4889418, -0.3475456,
    -0.5479716]]]> : tensor<2x3x4xf32>
  func.return
}

func.func @ffn() {
  %0 = stablehlo.constant dense<[[0.147, 0.187, 0.155], [0.803, 0.9, -0.897]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.241, -0.919, -0.251, 0.606], [0.359, 0.135, -0.827, 0.623], [0.225, -0.395,
    0.571, -0.922]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[[-0.625, 0.578, -0.908], [-0.736, 0.003, 0.42], [0.179, -0.926, -0.45], [0.412,
    -0.303, -0.612]]> : tensor<4x3xf32>
  %r = stablehlo.custom_call @fused_ffn(%0, %1, %2)
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  check.expect_almost_eq_const %r, dense<[[0.0375831141, 0.0538647956, -0.0617327729], [0.827580149, -0.47264703,
    -1.07732038]]> : tensor<2x3xf32>
  func.return
}

func.func @ffn_gated() {
  %0 = stablehlo.constant dense<[[0.147, 0.187, 0.155], [0.803, 0.9, -0.897]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<[[-0.241, -0.919, -0.251, 0.606], [0.359, 0.135, -0.827, 0.623], [0.225, -0.395,
    0.571, -0.922]]> : tensor<3x4xf32>
  %2 = stablehlo.constant dense<[[-0.625, 0.578, -0.908], [-0.736, 0.003, 0.42], [0.179, -0.926, -0.45], [0.412,
    -0.303, -0.612]]> : tensor<4x3xf32>
  %3 = stablehlo.constant dense<[[-0.995, -0.475, 0.862, -0.901], [0.106, 0.819, 0.401, -0.438], [0.297, -0.761,
    -0.002, -0.474]]> : tensor<3x4xf32>
  %r = stablehlo.custom_call @fused_ffn(%0, %1, %2, %3)
    {api_version = 4 : i32, backend_config = {activation = "silu", is_gated = true}}
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  check.expect_almost_eq_const %r, dense<[[-0.00576492935, 0.0114381479, 0.013423929], [-0.246635773, 1.19806246,
    0.67635047]]> : tensor<2x3xf32>
  func.return
}
