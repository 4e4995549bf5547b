// The bits that XLA's CPU gives for the same states.
func.func @three_fry() {
  %s = stablehlo.constant dense<[81985529216486895, 7]> : tensor<2xui64>
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  check.expect_eq_const %0, dense<[81985529216486895, 16]> : tensor<2xui64>
  check.expect_eq_const %1, dense<[[3356640791, 544688494, 3039885333, 3989734403, 2516300363], [3933500718, 721802571, 3928695743, 741696269, 957681320], [1817843789, 574870511, 1680641309, 2401006489, 461581520]]> : tensor<3x5xui32>
  %2, %3 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui64>)
  check.expect_eq_const %2, dense<[81985529216486895, 9]> : tensor<2xui64>
  check.expect_eq_const %3, dense<[2339419271594133015, 17135778783650969621]> : tensor<2xui64>
  %4, %5 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui8>)
  check.expect_eq_const %5, dense<[[23, 110, 21, 3, 75], [46, 75, 191, 13, 168], [77, 239, 29, 153, 208]]> : tensor<3x5xui8>
  return
}

// -----

func.func @philox() {
  %s = stablehlo.constant dense<[81985529216486895, 7, 9]> : tensor<3xui64>
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<6xui32>)
  check.expect_eq_const %0, dense<[81985529216486895, 9, 9]> : tensor<3xui64>
  check.expect_eq_const %1, dense<[351479632, 3507862730, 1409670445, 3936899756, 3200834841, 718903389]> : tensor<6xui32>
  %2, %3 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<3xui64>) -> (tensor<3xui64>, tensor<3xui64>)
  check.expect_eq_const %2, dense<[81985529216486895, 9, 9]> : tensor<3xui64>
  check.expect_eq_const %3, dense<[15066155704558757712, 16908855701060050221, 3087666547939400985]> : tensor<3xui64>
  %t = stablehlo.constant dense<[81985529216486895, 7]> : tensor<2xui64>
  %4, %5 = stablehlo.rng_bit_generator %t, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui16>)
  check.expect_eq_const %4, dense<[81985529216486895, 8]> : tensor<2xui64>
  check.expect_eq_const %5, dense<[57757, 10708, 59693]> : tensor<3xui16>
  return
}
