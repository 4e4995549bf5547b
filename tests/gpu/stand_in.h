/* Tests that run on the stand-in for NVIDIA's driver, and count its calls. */
#ifndef HILO_TESTS_GPU_STAND_IN_H
#define HILO_TESTS_GPU_STAND_IN_H

#include "libcuda.h"
#include "../test.h"

/* Skips the test where there is none. */
static inline struct fake_cuda_functions stand_in(void) {
    struct fake_cuda_functions f = fake_cuda_find();
    if (!f.let_fail)
        SKIP_BECAUSE("HILO_CUDA_PATH names no stand-in");
    return f;
}

static inline struct fake_cuda stand_in_counts(const struct fake_cuda_functions *f) {
    struct fake_cuda c;
    f->read(&c);
    return c;
}

/* @main of x and y, 40 f32 each: x sorted, which the host does, and 2y by a kernel. */
#define STAND_IN_BOTH_SIDES                                                                    \
    "func.func @main(%x: tensor<40xf32>, %y: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>) {\n" \
    "  %0 = \"stablehlo.sort\"(%x) ({\n"                                                       \
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"                                              \
    "    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"       \
    "    stablehlo.return %1 : tensor<i1>\n"                                                   \
    "  }) {dimension = 0 : i64} : (tensor<40xf32>) -> tensor<40xf32>\n"                        \
    "  %2 = stablehlo.add %y, %y : tensor<40xf32>\n"                                           \
    "  return %0, %2 : tensor<40xf32>, tensor<40xf32>\n"                                       \
    "}\n"

#endif
