/* Classifies the test digits of ../digits with the network there:  make && ./classify */
#include <hilo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHTS = 6, IMAGES = 355, DIGITS = 10, MOST = 1 << 20 };
struct bytes { unsigned char *at, *end; };

static struct bytes contents(const char *path) {
    FILE *f = fopen(path, "rb");
    unsigned char *p = malloc(MOST);
    if (!f || !p)
        perror(path), exit(1);
    return (struct bytes){p, p + fread(p, 1, MOST, f)};
}

/* The elements of the next array of a .npy or uncompressed .npz file: after magic, version, length of the header, header. */
static const void *next_array(struct bytes *b) {
    while (b->end - b->at > 10 && memcmp(b->at, "\x93NUMPY", 6) != 0)
        b->at++;
    return b->at += 10 + b->at[8] + 256 * b->at[9];
}

int main(void) {
    struct bytes weights = contents("../digits/digits_weights.npz");
    struct bytes images = contents("../digits/digits_test_images.npy");
    struct bytes labels = contents("../digits/digits_test_labels.npy");
    hilo_client *client = NULL;
    hilo_module *module = NULL;
    hilo_executable *exe = NULL;
    hilo_buffer *in[WEIGHTS + 1] = {NULL}, *out = NULL;
    hilo_status status = hilo_client_create(NULL, &client);
    if (status == HILO_OK)
        status = hilo_module_load(client, "../digits/digits.mlir", NULL, &module);
    if (status == HILO_OK)
        status = hilo_compile(client, module, NULL, &exe);
    for (size_t i = 0; i <= WEIGHTS && status == HILO_OK; i++) { /* the parameters: weights, then images */
        hilo_type t;
        hilo_executable_input_type(exe, i, &t);
        const void *data = next_array(i < WEIGHTS ? &weights : &images);
        status = hilo_buffer_from_host(client, t.dtype, t.dims, t.rank, data, NULL, &in[i]);
    }
    if (status != HILO_OK || (status = hilo_execute(exe, NULL, in, WEIGHTS + 1, &out, 1)) != HILO_OK)
        return hilo_diagnostics_write(client, 1, hilo_write_stderr, NULL), 1;
    const float *logits = hilo_buffer_data(out); /* the largest of ten is the digit */
    const int *label = next_array(&labels);
    int right = 0;
    for (int i = 0; i < IMAGES; i++, logits += DIGITS) {
        int best = 0;
        for (int k = 1; k < DIGITS; k++)
            best = logits[k] > logits[best] ? k : best;
        right += best == label[i];
    }
    printf("%d of %d digits read right\n", right, IMAGES);
    for (int i = 0; i <= WEIGHTS; i++)
        hilo_buffer_release(in[i]);
    hilo_buffer_release(out), hilo_executable_release(exe), hilo_module_release(module), hilo_client_release(client);
}
