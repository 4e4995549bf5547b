/* What the stand-in for nvJitLink makes and that for the driver reads: the header of an ELF file, whose padding has a mark and
 * whose flags have the GPU, as in cubins of CUDA 13; then PTX with a zero byte. */
#ifndef HILO_TESTS_GPU_CUBIN_H
#define HILO_TESTS_GPU_CUBIN_H

#define FAKE_CUBIN_MARK "hilo"
enum { FAKE_CUBIN_MARK_AT = 9, FAKE_CUBIN_FLAGS_AT = 48, FAKE_CUBIN_HEAD = 64 };
#define FAKE_CUBIN_SM(image) ((image)[FAKE_CUBIN_FLAGS_AT + 1])
#define FAKE_CUBIN_EXACT(image) ((image)[FAKE_CUBIN_FLAGS_AT] != 0)

#endif
