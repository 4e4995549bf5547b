/* The text reader's types, attributes, constants, locations and aliases: what they become in the IR, and where they are
 * refused. */
#include "read/text/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- reading a piece of text ------------------------------------------------------------------------------------- */

static jmp_buf out_of_memory;

struct piece {
    struct ir_module *m;
    struct diag_list d;
    struct text_parser p;
    char *text; /* a copy that ends where the text ends, so that sanitizers see a read beyond it */
    hilo_status status;
    ir_type type;
    ir_attr attr;
};

enum piece_kind { PIECE_TYPE, PIECE_ATTR };

static void piece_begin(struct piece *x, struct str text) {
    *x = (struct piece){0};
    diag_init(&x->d, mem_system_allocator());
    x->m = ir_module_new(mem_system_allocator(), &out_of_memory);
    assert_non_null(x->m);
    x->text = malloc(text.n ? text.n : 1);
    assert_non_null(x->text);
    memcpy(x->text, text.p, text.n);
    text_lex_init(&x->p, x->m, &x->d, (struct str){x->text, text.n});
}

static void piece_free(struct piece *x) {
    ir_module_free(x->m);
    diag_clear(&x->d);
    free(x->text);
}

/* Reads aliases, if there are any, and then a type or an attribute up to the end of the text. */
static struct piece piece_read(enum piece_kind kind, struct str text) {
    struct piece x;
    piece_begin(&x, text);
    x.status = kind == PIECE_TYPE ? text_type(&x.p, &x.type) : text_attr(&x.p, (ir_type){0}, &x.attr);
    while (x.status == HILO_OK && (text_is(&x.p, TEXT_HASH) || text_is(&x.p, TEXT_BANG)))
        x.status = text_alias(&x.p);
    if (x.status == HILO_OK)
        x.status = text_expect(&x.p, TEXT_EOF);
    return x;
}

static struct piece piece_ok(enum piece_kind kind, const char *text) {
    struct piece x = piece_read(kind, str_of(text));
    if (x.status != HILO_OK)
        fail_msg("%u:%u: %s\nin: %s", x.d.first->line, x.d.first->col, x.d.first->message, text);
    assert_null(x.d.first);
    return x;
}

static const struct ir_attr_data *piece_attr(const struct piece *x) { return ir_attr_get(x->m, x->attr); }
static const struct ir_type_data *piece_type(const struct piece *x) { return ir_type_get(x->m, x->type); }

static struct strbuf piece_print(const struct piece *x, enum piece_kind kind) {
    struct strbuf out;
    strbuf_init(&out, mem_system_allocator());
    if (kind == PIECE_TYPE)
        ir_print_type(x->m, x->type, &out);
    else
        ir_print_attr(x->m, x->attr, &out);
    assert_false(out.failed);
    return out;
}

/* `text` is read, and printed as `printed`, which is read and printed as itself. */
static void assert_prints(enum piece_kind kind, const char *text, const char *printed) {
    printed = printed ? printed : text;
    for (int i = 0; i < 2; i++) {
        struct piece x = piece_ok(kind, i ? printed : text);
        struct strbuf out = piece_print(&x, kind);
        assert_string_equal(out.p, printed);
        strbuf_free(&out);
        piece_free(&x);
    }
}

struct refusal {
    const char *text;
    uint32_t col;
    const char *part; /* of the message */
};

static void assert_refused(enum piece_kind kind, const struct refusal *r) {
    struct piece x = piece_read(kind, str_of(r->text));
    if (x.status != HILO_INVALID_ARGUMENT || x.d.errors != 1)
        fail_msg("status %d with %u errors for: %s", (int)x.status, x.d.errors, r->text);
    if (x.d.first->line != 1 || x.d.first->col != r->col || !strstr(x.d.first->message, r->part))
        fail_msg("%u:%u: %s\nexpected 1:%u: %s\nfor: %s", x.d.first->line, x.d.first->col, x.d.first->message, r->col,
                 r->part, r->text);
    piece_free(&x);
}

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* ---- types ------------------------------------------------------------------------------------------------------- */

struct pair { const char *text, *printed; }; /* printed = NULL: as it is written */

static const struct pair type_pairs[] = {
    {"i1", NULL}, {"ui64", NULL}, {"index", NULL}, {"bf16", NULL}, {"f8E4M3B11FNUZ", NULL}, {"tf32", NULL},
    {"none", NULL}, {"i10", NULL}, {"si8", NULL}, {"f128", NULL}, {"complex < f32 >", "complex<f32>"},
    {"complex<f64>", NULL}, {"complex<i10>", NULL}, {"tensor<f32>", NULL}, {"tensor<2x3xf32>", NULL},
    {"tensor< 2 x 3 x f32 >", "tensor<2x3xf32>"}, {"tensor<0x3xi4>", NULL}, {"tensor<0x0xf32>", NULL},
    {"tensor<?x?xf32>", NULL}, {"tensor<*xf32>", NULL}, {"tensor<3xi10>", NULL}, {"tensor<2xcomplex<f32>>", NULL},
    {"tensor<4x!tf_type.string>", NULL}, {"tensor<2xf32, #enc.x<a -> b>>", NULL},
    {"tensor<?x4xf32, #stablehlo.bounds<8, ?>>", NULL},
    {"tensor<?xf32, #stablehlo.type_extensions<bounds = [3]>>", "tensor<?xf32, #stablehlo.bounds<3>>"},
    {"vector<4xf32>", NULL}, {"memref<4x?xf32>", NULL}, {"memref<4xf32, strided<[1], offset: ?>, 1 : i32>", NULL},
    {"memref<4xf32, affine_map<(d0) -> (d0)>>", NULL}, {"tuple<>", NULL}, {"tuple<tensor<f32>, tuple<i32>>", NULL},
    {"!stablehlo.token", NULL}, {"!stablehlo.future<tensor<f32>, tensor<i1>>", NULL}, {"()->()", "() -> ()"},
    {"(f32) -> f32", NULL}, {"(f32, i1) -> (f32, i1)", NULL}, {"() -> (() -> f32)", NULL}, {"!shape.witness", NULL},
    {"!a.b<\"x>\", [1 -> 2], {c}>", NULL}, {"!a<b c>", NULL}, {"!t\n!t = tensor<2xf32>", "tensor<2xf32>"},
    {"!quant.uniform<i8:f32, 0.5>", "!quant.uniform<i8:f32, 5.000000e-01>"},
    {"!quant.uniform<si8:f32, 0.5:-30>", "!quant.uniform<si8:f32, 5.000000e-01:-30>"},
    {"!quant.uniform<u8:f16, 0.5:255>", "!quant.uniform<u8:f16, 5.000000e-01:255>"},
    {"!quant.uniform<i8<-128:127>:f32:0, {0.5:-30, 0.25}>", "!quant.uniform<i8:f32:0, {5.000000e-01:-30,2.500000e-01}>"},
    {"!quant.uniform<i4<-7:7>:f64, 2.0>", "!quant.uniform<i4<-7:7>:f64, 2.000000e+00>"},
    {"!quant.uniform<i8:f32:{0:2, 1:4}, {{0.5:1, 0.5}, {2.0, 1.0}}>",
     "!quant.uniform<i8:f32:{0:2, 1:4}, {{5.000000e-01:1, 5.000000e-01}, {2.000000e+00, 1.000000e+00}}>"},
};

static void test_types(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(type_pairs); i++)
        assert_prints(PIECE_TYPE, type_pairs[i].text, type_pairs[i].printed);
}

static void test_type_data(void **state) {
    (void)state;
    struct piece x = piece_ok(PIECE_TYPE, "tensor<?x0x3xf32, #stablehlo.type_extensions<bounds = [7, ?, ?]>>");
    const struct ir_type_data *t = piece_type(&x);
    assert_int_equal(t->kind, IR_TYPE_TENSOR);
    assert_int_equal(t->dtype, IR_F32_T);
    assert_int_equal(t->rank, 3);
    assert_memory_equal(t->dims, ((int64_t[]){IR_DYNAMIC, 0, 3}), 3 * sizeof(int64_t));
    assert_non_null(t->bounds);
    assert_memory_equal(t->bounds, ((int64_t[]){7, IR_DYNAMIC, IR_DYNAMIC}), 3 * sizeof(int64_t));
    piece_free(&x);

    x = piece_ok(PIECE_TYPE, "tensor<2x1x!quant.uniform<u8<1:200>:f32:{1:4}, {{0.5:1, 2.0:3}}>>");
    t = piece_type(&x);
    assert_int_equal(t->dtype, IR_UI8_T);
    const struct ir_quant *q = t->quant;
    assert_non_null(q);
    assert_int_equal(q->kind, IR_QUANT_BLOCK);
    assert_int_equal(q->storage_min, 1);
    assert_int_equal(q->storage_max, 200);
    assert_true(q->has_range);
    assert_int_equal(q->naxes, 1);
    assert_int_equal(q->axes[0], 1);
    assert_int_equal(q->block_sizes[0], 4);
    assert_int_equal(q->scale_rank, 2);
    assert_int_equal(q->scale_dims[0], 1);
    assert_int_equal(q->scale_dims[1], 2);
    assert_int_equal(q->nscales, 2);
    assert_true(q->scales[1] == 2.0);
    assert_int_equal(q->zero_points[1], 3);
    piece_free(&x);

    x = piece_ok(PIECE_TYPE, "!stablehlo.future<tensor<f32>, tensor<i1>>");
    t = piece_type(&x);
    assert_int_equal(t->kind, IR_TYPE_FUTURE);
    assert_int_equal(t->ntypes, 2);
    piece_free(&x);

    x = piece_ok(PIECE_TYPE, "(f32, i1) -> i32");
    t = piece_type(&x);
    assert_int_equal(t->kind, IR_TYPE_FUNCTION);
    assert_int_equal(t->ninputs, 2);
    assert_int_equal(t->ntypes, 3);
    piece_free(&x);
}

static void test_types_refused(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"", 1, "expected a type, found the end of the text"},
        {"%0", 1, "expected a type, found '%0'"},
        {"\"abc", 1, "expected a type, found a string without its closing quote"},
        {"\x01", 1, "expected a type, found the byte 0x01"},
        {"foo", 1, "unknown type 'foo'"},
        {"i0", 1, "unknown type 'i0'"},
        {"tensor f32", 8, "expected '<', found 'f32'"},
        {"tensor<2xf32", 13, "expected '>', found the end of the text"},
        {"tensor<2xfoo>", 10, "unknown type 'foo'"},
        {"tensor<2 3xf32>", 10, "expected 'x' after a dimension, found '3'"},
        {"tensor<-1xf32>", 8, "expected a type, found '-'"},
        {"tensor<9223372036854775808xf32>", 8, "out of the range of 64 bits"},
        {"tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x"
         "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>", 136, "more than 64 dimensions"},
        {"tensor<2xtensor<f32>>", 10, "'tensor<f32>' cannot be an element"},
        {"tensor<3xf32, #stablehlo.bounds<3>>", 15, "dimension 0 has the static size 3 and cannot have a bound"},
        {"tensor<?x?xf32, #stablehlo.bounds<3>>", 17, "1 bounds for a tensor of rank 2"},
        {"complex<tensor<f32>>", 9, "part of a complex number"},
        {"tuple<f32 f32>", 11, "expected '>', found 'f32'"},
        {"(f32) f32", 7, "expected '->', found 'f32'"},
        {"!stablehlo.foobar", 1, "unknown stablehlo type: foobar"},
        {"!stablehlo.future<f32>", 19, "a future must be of ranked tensors, found 'f32'"},
        {"!stablehlo.future<>", 19, "expected a type, found '>'"},
        {"!t", 1, "'!t' is not defined"},
        {"!a.b<(>)>", 7, "'>' does not close '('"},
        {"!a.b<\"x>", 6, "string without its closing quote"},
        {"!a.b<[", 7, "expected '>', found the end of the text"},
        {"!quant.uniform<f32:f32, 1.0>", 16, "expected a storage type"},
        {"!quant.uniform<i64:f32, 1.0>", 16, "expected a storage type"},
        {"!quant.uniform<u:f32, 1.0>", 16, "expected a storage type"},
        {"!quant.uniform<i8<-129:127>:f32, 1.0>", 19, "storage range -129:127 is empty or exceeds"},
        {"!quant.uniform<i8<5:5>:f32, 1.0>", 19, "storage range 5:5 is empty"},
        {"!quant.uniform<i8:i32, 1.0>", 19, "expected a float as the expressed type"},
        {"!quant.uniform<i8:f32, 0.0>", 24, "expected a positive and finite scale"},
        {"!quant.uniform<i8:f32, -1.0>", 24, "expected a positive and finite scale"},
        {"!quant.uniform<i8:f32, 1.0e400>", 24, "expected a positive and finite scale"},
        {"!quant.uniform<i8:f16, 1.0e6>", 24, "scale 1e+06 is out of the range of f16"},
        {"!quant.uniform<i8:f32:-1, {1.0}>", 23, "quantized dimension -1 is negative"},
        {"!quant.uniform<i8:f32:0, 1.0>", 26, "expected a list of scales in braces"},
        {"!quant.uniform<i8:f32, {1.0}>", 24, "without a quantized dimension"},
        {"!quant.uniform<i8:f32:0, {}>", 27, "expected a number, found '}'"},
        {"!quant.uniform<i8:f32:{0:0}, {1.0}>", 26, "expected a positive block size, found 0"},
        {"!quant.uniform<i8:f32:{0:1, 0:1}, {1.0}>", 29, "quantized dimension 0 is named twice"},
        {"!quant.uniform<i8:f32:{1:1}, {1.0}>", 30, "nested deeper than the quantized dimension 1"},
        {"!quant.uniform<i8:f32:{0:1}, {{1.0}, {1.0, 2.0}}>", 38, "expected a list of 1 as before, found 2"},
        {"!quant.uniform<i8:f32:{0:1}, {{1.0}, 1.0}>", 38, "different depths"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_refused(PIECE_TYPE, &rows[i]);
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static const struct pair attr_pairs[] = {
    {"unit", NULL}, {"true", NULL}, {"1 : i1", "true"}, {"0 : i1", "false"}, {"3", "3 : i64"},
    {"- 3 : i32", "-3 : i32"}, {"0x1F : i8", "31 : i8"}, {"255 : i8", "-1 : i8"},
    {"18446744073709551615 : ui64", NULL}, {"7 : index", NULL}, {"3 : i10", NULL}, {"1.5", "1.500000e+00 : f64"},
    {"-0.1 : f32", "-1.000000e-01 : f32"}, {"0x7C00 : f16", NULL}, {"0x7F800000 : f32", NULL},
    {"\"a\\\"\\\\\\n\\41\"", "\"a\\\"\\\\\\0AA\""}, {"\"\"", NULL}, {"[]", NULL},
    {"[1, \"a\", [unit]]", "[1 : i64, \"a\", [unit]]"}, {"{}", NULL}, {"{a, b.c = 1 : i32, \"d e\" = {f}}", NULL},
    {"@f", NULL}, {"@\"a b\"::@c::@\"d\"", "@\"a b\"::@c::@d"}, {"f32", NULL}, {"tensor<2xf32>", NULL},
    {"!a.b", NULL}, {"(f32) -> f32", NULL}, {"array<i64>", NULL}, {"array<i64: 1, -2>", NULL},
    {"array<i1: true, false>", NULL}, {"array<i8: 127, 0xFF>", "array<i8: 127, -1>"},
    {"array<f32: 1.0, 0x7F800000>", "array<f32: 1.000000e+00, 0x7F800000>"},
    {"#sdy.sharding<@mesh, [{\"x\"}, {?}], replicated={\"y\":(1)2}>", NULL}, {"#vhlo.type", NULL},
    {"#mhlo<x y>", NULL}, {"affine_map<(d0, d1)[s0] -> (d1 + s0)>", NULL},
    {"#stablehlo<comparison_direction EQ>", NULL},
    {"#stablehlo.comparison_direction<EQ>", "#stablehlo<comparison_direction EQ>"},
    {"#chlo<comparison_type FLOAT>", NULL}, {"#stablehlo.result_accuracy_mode<HIGHEST>", NULL},
    {"#stablehlo.dot<rhs_contracting_dimensions = [1], lhs_contracting_dimensions = [0, 2],>",
     "#stablehlo.dot<lhs_contracting_dimensions = [0, 2], rhs_contracting_dimensions = [1]>"},
    {"#stablehlo.dot<>", NULL}, {"#stablehlo.gather<index_vector_dim = 0, offset_dims = []>", "#stablehlo.gather<>"},
    {"#stablehlo.channel_handle<type = 0, handle = 1>", "#stablehlo.channel_handle<handle = 1, type = 0>"},
    {"#stablehlo.bounds<?, 4>", NULL}, {"#stablehlo.type_extensions<bounds = [?, 4]>", "#stablehlo.bounds<?, 4>"},
    {"#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>", NULL},
    {"#stablehlo.conv<[f, b]x[o, i]->[b, f]>", NULL},
    {"#stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 2, input_spatial_dimensions = [1],"
     " kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 2, kernel_spatial_dimensions = [0],"
     " output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>",
     "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, f, 0]>"},
    {"#stablehlo.result_accuracy<atol = 1.0, ulps = 4, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>",
     "#stablehlo.result_accuracy<atol = 1.000000e+00, ulps = 4, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>"},
    {"#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = \"x\", sub_axis_info = (1)2>]>", NULL},
    {"dense_resource<key> : tensor<2xf32>", NULL}, {"loc(unknown)", NULL}, {"loc(\"a.py\":3:14)", NULL},
    {"loc(\"a.py\":3:14 to :20)", "loc(\"a.py\":3:14)"}, {"loc(\"a.py\":3:14 to 5:2)", "loc(\"a.py\":3:14)"},
    {"loc(\"x\")", NULL}, {"loc(\"x\"(\"a\":1:2))", NULL}, {"loc(\"x\"(unknown))", "loc(\"x\")"},
    {"loc(callsite(\"f\" at \"a\":1:2))", NULL}, {"loc(fused[\"f\", unknown])", NULL},
    {"loc(fused<{a = 1 : i32}>[\"f\"])", NULL}, {"[#a, #b]\n#a = 1 : i8\n#b = [#a]", "[1 : i8, [1 : i8]]"},
    {"loc(\"x\"(#loc1))\n#loc = loc(\"f\":1:2)\n#loc1 = loc(callsite(#loc at unknown))",
     "loc(\"x\"(callsite(\"f\":1:2 at unknown)))"},
};

static void test_attrs(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(attr_pairs); i++)
        assert_prints(PIECE_ATTR, attr_pairs[i].text, attr_pairs[i].printed);
}

static void test_attr_data(void **state) {
    (void)state;
    struct piece x = piece_ok(PIECE_ATTR, "-1.1 : f32");
    assert_int_equal(piece_attr(&x)->kind, IR_ATTR_FLOAT);
    assert_true(piece_attr(&x)->f == (double)-1.1f);
    piece_free(&x);

    x = piece_ok(PIECE_ATTR, "200 : ui8");
    assert_int_equal(piece_attr(&x)->i, 200);
    piece_free(&x);

    x = piece_ok(PIECE_ATTR, "array<i16: 1, -2, 3>");
    assert_int_equal(piece_attr(&x)->kind, IR_ATTR_DENSE_ARRAY);
    assert_int_equal(piece_attr(&x)->n, 3);
    assert_memory_equal(piece_attr(&x)->data, ((int16_t[]){1, -2, 3}), 6);
    piece_free(&x);

    x = piece_ok(PIECE_ATTR, "#stablehlo.conv<[b, 1, 0, f]x[o, 0, 1, i]->[f, 0, b, 1]>");
    size_t n;
    const int64_t *spatial = ir_field_dims(x.m, x.attr, IR_CONV_input_spatial_dimensions_F, &n);
    assert_int_equal(n, 2);
    assert_memory_equal(spatial, ((int64_t[]){2, 1}), 16);
    assert_int_equal(ir_field_i64(x.m, x.attr, IR_CONV_kernel_input_feature_dimension_F), 3);
    assert_int_equal(ir_field_i64(x.m, x.attr, IR_CONV_output_batch_dimension_F), 2);
    piece_free(&x);

    x = piece_ok(PIECE_ATTR, "loc(\"f\":4294967295:7)");
    assert_true((uint64_t)piece_attr(&x)->i == (UINT64_C(4294967295) << 32 | 7));
    piece_free(&x);

    x = piece_ok(PIECE_ATTR, "{a = 1, b}");
    assert_int_equal(ir_attr_get(x.m, ir_dict_find(x.m, x.attr, STR("b")))->kind, IR_ATTR_UNIT);
    assert_true(IR_NONE(ir_dict_find(x.m, x.attr, STR("c"))));
    piece_free(&x);
}

static void test_attrs_refused(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"%0", 1, "expected an attribute, found '%0'"},
        {"[1 2]", 4, "expected ',' or ']', found '2'"},
        {"[1, ]", 5, "expected an attribute, found ']'"},
        {"{1}", 2, "expected the name of an attribute, found '1'"},
        {"{a = 1, b, a}", 12, "attribute 'a' is there twice"},
        {"128 : f32", 1, "a float is written with a point, as '128.0'"},
        {"1.5 : i32", 1, "expected an integer for a constant of type i32, found a float"},
        {"256 : i8", 1, "integer constant out of range for i8"},
        {"-129 : i8", 1, "integer constant out of range for i8"},
        {"-1 : ui8", 1, "integer constant out of range for ui8"},
        {"9223372036854775808 : index", 1, "out of range for index"},
        {"18446744073709551616", 1, "out of range for i64"},
        {"0x10000 : f16", 1, "hexadecimal bits are out of range for f16"},
        {"-0x1 : f32", 1, "hexadecimal bits are out of range for f32"},
        {"1 : tensor<f32>", 1, "the type of a number must be"},
        {"- \"x\"", 3, "expected a number"},
        {"\"a\\q\"", 3, "unknown escape"},
        {"\"a\\4\"", 3, "unknown escape"},
        {"array<i8: 300>", 11, "out of range for i8"},
        {"array<i8 1>", 10, "expected ':' or '>', found '1'"},
        {"array<i8: 1 2>", 13, "expected '>', found '2'"},
        {"array<complex<f32>: 1>", 7, "must be integers or floats"},
        {"#a", 1, "'#a' is not defined"},
        {"#stablehlo.foo", 1, "unknown stablehlo attribute: foo"},
        {"#stablehlo<foo 1>", 12, "unknown stablehlo attribute: foo"},
        {"#stablehlo<comparison_direction XX>", 33, "expected one of EQ, NE, GE, GT, LE, LT, found 'XX'"},
        {"#stablehlo.dot<foo = [1]>", 16, "expected one of lhs_batching_dimensions"},
        {"#stablehlo.dot<lhs_batching_dimensions = [1], lhs_batching_dimensions = [1]>", 47, "duplicated field"},
        {"#stablehlo.dot<lhs_batching_dimensions = [1] rhs_batching_dimensions = [1]>", 46, "expected '>'"},
        {"#stablehlo.dot<lhs_batching_dimensions = 1>", 42, "expected '[', found '1'"},
        {"#stablehlo.channel_handle<type = 1>", 35, "expected the field 'handle' of stablehlo.channel_handle"},
        {"#stablehlo.conv<[c, 0, f]x[0, i, o]->[b, 0, f]>", 18, "unexpected dimension 'c', expected 'b' and 'f'"},
        {"#stablehlo.conv<[b, 0]x[0, i, o]->[b, 0, f]>", 22, "expected dimension 'f'"},
        {"#stablehlo.conv<[b, 0, f]x[0, i, o, b]->[b, 0, f]>", 37, "unexpected dimension 'b'"},
        {"#stablehlo.conv<[b, 1, f]x[0, i, o]->[b, 0, f]>", 25, "expected spatial dimension 0"},
        {"#stablehlo.conv<[b, 0, 0, f]x[0, i, o]->[b, 0, f]>", 24, "duplicate entries for spatial dimension 0"},
        {"#stablehlo.conv<[b, -2, f]x[0, i, o]->[b, 0, f]>", 21, "unexpected dimension -2"},
        {"#stablehlo.conv<{b}>", 17, "expected '[', found '{'"},
        {"dense_resource<1> : tensor<f32>", 16, "expected the key of a resource"},
        {"dense_resource<k> : tensor<?xf32>", 21, "static shape"},
        {"loc(foo)", 5, "expected a location"},
        {"loc(\"f\":1)", 10, "expected ':', found ')'"},
        {"loc(\"f\":4294967296:1)", 9, "out of range"},
        {"loc(callsite(\"a\" \"b\"))", 18, "expected 'at', found"},
        {"loc(#a)", 5, "'#a' is not defined"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_refused(PIECE_ATTR, &rows[i]);
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* The constant has these bytes: all its elements, or one of a splat that is too large to be spelled out. */
static void assert_dense(const char *text, const void *data, size_t nbytes, bool splat) {
    struct piece x = piece_ok(PIECE_ATTR, text);
    const struct ir_attr_data *a = piece_attr(&x);
    assert_int_equal(a->kind, IR_ATTR_DENSE);
    assert_int_equal(a->nbytes, nbytes);
    assert_int_equal(a->splat, splat);
    if (nbytes)
        assert_memory_equal(a->data, data, nbytes);
    piece_free(&x);
}

#define ASSERT_DENSE(text, splat, type, ...) \
    assert_dense(text, (const type[]){__VA_ARGS__}, sizeof(const type[]){__VA_ARGS__}, splat)

static void test_dense(void **state) {
    (void)state;
    ASSERT_DENSE("dense<[1, -2, 0x10]> : tensor<3xi32>", false, int32_t, 1, -2, 16);
    ASSERT_DENSE("dense<7> : tensor<i64>", true, int64_t, 7);
    ASSERT_DENSE("dense<7> : tensor<2x2xi8>", true, int8_t, 7, 7, 7, 7);
    ASSERT_DENSE("dense<7> : tensor<1000000x1000000xi8>", true, int8_t, 7);
    ASSERT_DENSE("dense<[[1, 2], [3, 4]]> : tensor<2x2xui16>", false, uint16_t, 1, 2, 3, 4);
    ASSERT_DENSE("dense< [ [1 ,2] , // one > two\n [3,\n4 ] ] > : tensor<2x2xui16>", false, uint16_t, 1, 2, 3, 4);
    ASSERT_DENSE("dense<[128, 255, -128]> : tensor<3xi8>", false, int8_t, -128, -1, -128);
    ASSERT_DENSE("dense<[15, -8, 7]> : tensor<3xi4>", false, int8_t, -1, -8, 7);
    ASSERT_DENSE("dense<[15, 0]> : tensor<2xui4>", false, uint8_t, 15, 0);
    ASSERT_DENSE("dense<[true, false, 1, -1]> : tensor<4xi1>", false, uint8_t, 1, 0, 1, 1);
    ASSERT_DENSE("dense<[9223372036854775807, -9223372036854775808]> : tensor<2xindex>", false, int64_t, INT64_MAX, INT64_MIN);
    ASSERT_DENSE("dense<[1.0, -2.5e-1, - 3.0]> : tensor<3xf32>", false, float, 1, -0.25f, -3);
    ASSERT_DENSE("dense<[1.0e400, 0.1]> : vector<2xf64>", false, double, (double)INFINITY, 0.1);
    ASSERT_DENSE("dense<[0x7FC00001, 0.1]> : tensor<2xf32>", false, uint32_t, 0x7FC00001, 0x3DCCCCCD);
    ASSERT_DENSE("dense<[1.0, 3.0e-8, 0x7E01]> : tensor<3xf16>", false, uint16_t, 0x3C00, 1, 0x7E01);
    ASSERT_DENSE("dense<[1.00390625, 1.01171875]> : tensor<2xbf16>", false, uint16_t, 0x3F80, 0x3F82); /* ties to even */
    ASSERT_DENSE("dense<[1.0, 480.0]> : tensor<2xf8E4M3FN>", false, uint8_t, 0x38, 0x7F);
    ASSERT_DENSE("dense<(1.0, -2.0)> : tensor<complex<f32>>", true, float, 1, -2);
    ASSERT_DENSE("dense<[(1.0,2.0), (0x7FF0000000000000, -0.0)]> : tensor<2xcomplex<f64>>", false, double, 1, 2,
                 (double)INFINITY, -0.0);
    ASSERT_DENSE("dense<[3, 4]> : tensor<2x!quant.uniform<u8:f32, 0.5>>", false, uint8_t, 3, 4);
    assert_dense("dense<> : tensor<0x4xf32>", NULL, 0, false);
    assert_dense("dense<[[], []]> : tensor<2x0xf32>", NULL, 0, false);
    assert_dense("dense<1.0> : tensor<0xf32>", NULL, 0, false);
    assert_dense("dense<\"0x\"> : tensor<0xf32>", NULL, 0, false);
}

static void test_dense_hex(void **state) {
    (void)state;
    ASSERT_DENSE("dense<\"0x0000803F000000c0\"> : tensor<2xf32>", false, float, 1, -2);
    ASSERT_DENSE("dense<\"0x0000803F\"> : tensor<3xf32>", true, float, 1, 1, 1);
    ASSERT_DENSE("dense<\"0x000102FF\"> : tensor<4xi1>", false, uint8_t, 0, 1, 1, 1); /* a byte each */
    ASSERT_DENSE("dense<\"0x0D01\"> : tensor<9xi1>", false, uint8_t, 1, 0, 1, 1, 0, 0, 0, 0, 1); /* a bit each */
    ASSERT_DENSE("dense<\"0xFF\"> : tensor<9xi1>", true, uint8_t, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    ASSERT_DENSE("dense<\"0x0FF871\"> : tensor<3xi4>", false, int8_t, -1, -8, 1);
    ASSERT_DENSE("dense<\"0xFF01\"> : tensor<2xui2>", false, uint8_t, 3, 1);
    ASSERT_DENSE("dense<\"0x0000803F00000040\"> : tensor<complex<f32>>", true, float, 1, 2);
}

/* Constants from IR_BLOB_BYTES on, by hexadecimal and decimal text, and packed bits. */
static void test_dense_large(void **state) {
    (void)state;
    enum { N = 3000 };
    struct strbuf hex, decimal, bits;
    int32_t want[N];
    uint8_t want_bits[N];
    strbuf_init(&hex, mem_system_allocator());
    strbuf_init(&decimal, mem_system_allocator());
    strbuf_init(&bits, mem_system_allocator());
    strbuf_puts(&hex, "dense<\"0x");
    strbuf_puts(&decimal, "dense<[");
    strbuf_puts(&bits, "dense<\"0x");
    for (int i = 0; i < N; i++) {
        want[i] = (i - 1000) * 1000003;
        want_bits[i] = (uint8_t)(i % 3 == 0);
        for (int b = 0; b < 4; b++)
            strbuf_printf(&hex, "%02x", (unsigned)((uint32_t)want[i] >> 8 * b & 0xFF));
        strbuf_printf(&decimal, "%s%d", i ? ", " : "", (int)want[i]);
    }
    for (int i = 0; i < N; i += 8) {
        unsigned byte = 0;
        for (int b = 0; b < 8 && i + b < N; b++)
            byte |= (unsigned)want_bits[i + b] << b;
        strbuf_printf(&bits, "%02X", byte);
    }
    strbuf_puts(&hex, "\"> : tensor<3000xi32>");
    strbuf_puts(&decimal, "]> : tensor<3000xi32>");
    strbuf_puts(&bits, "\"> : tensor<3000xi1>");
    assert_dense(hex.p, want, sizeof want, false);
    assert_dense(decimal.p, want, sizeof want, false);
    assert_dense(bits.p, want_bits, sizeof want_bits, false);
    strbuf_free(&hex);
    strbuf_free(&decimal);
    strbuf_free(&bits);
}

static void test_dense_refused(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"dense<[1, 2]> : tensor<3xi32>", 12, "expected 3 elements in dimension 0 of tensor<3xi32>, found 2"},
        {"dense<[1, 2, 3, 4]> : tensor<3xi32>", 17, "more than the 3 elements of dimension 0 of tensor<3xi32>"},
        {"dense<[[1, 2], [3]]> : tensor<2x2xi32>", 18, "expected 2 elements in dimension 1"},
        {"dense<[[1, 2], 3]> : tensor<2x2xi32>", 16, "expected a list of 2 for dimension 1"},
        {"dense<[[1], [2]]> : tensor<2xi32>", 8, "list nested deeper than the rank"},
        {"dense<[1]> : tensor<i32>", 7, "list nested deeper than the rank"},
        {"dense<[1, 2,]> : tensor<3xi32>", 13, "expected an integer"},
        {"dense<[,1]> : tensor<1xi32>", 8, "expected an integer"},
        {"dense<[1 2]> : tensor<2xi32>", 10, "expected ',' or ']'"},
        {"dense<[1, 2> : tensor<2xi32>", 12, "expected ',' or ']'"},
        {"dense<[1, 2] : tensor<2xi32>", 14, "expected '>', found ':'"},
        {"dense<[1, 2]", 13, "expected '>', found the end of the text"},
        {"dense<[1]]> : tensor<1xi32>", 10, "expected '>' after a constant"},
        {"dense<1 2> : tensor<2xi32>", 9, "expected '>' after a constant"},
        {"dense<[1, 300]> : tensor<2xi8>", 11, "integer constant out of range for i8"},
        {"dense<[1, -1]> : tensor<2xui8>", 11, "integer constant out of range for ui8"},
        {"dense<[1, 2.0]> : tensor<2xi8>", 11, "found a float"},
        {"dense<[1.0, 2]> : tensor<2xf32>", 13, "a float is written with a point, as '2.0'"},
        {"dense<[1.0, x]> : tensor<2xf32>", 13, "expected a float"},
        {"dense<true> : tensor<2xi32>", 7, "expected an integer"},
        {"dense<(1.0, 2.0> : tensor<complex<f32>>", 16, "expected ')'"},
        {"dense<1.0> : tensor<complex<f32>>", 7, "expected '(' of a complex number"},
        {"dense<> : tensor<2xi32>", 7, "expected the elements of tensor<2xi32>"},
        {"dense<[1, 2]> : tensor<1000000000000xi32>", 7, "expected the 1000000000000 elements"},
        {"dense<1> : tensor<9000000000000000000x9xi32>", 12, "has too many elements"},
        {"dense<1> : tensor<?xi32>", 12, "expected a tensor of static shape"},
        {"dense<1> : tensor<*xi32>", 12, "expected a tensor of static shape"},
        {"dense<1> : i32", 12, "expected a tensor of static shape"},
        {"dense<1> : tensor<2xi10>", 12, "constants of 'tensor<2xi10>' are not supported"},
        {"dense<1>", 9, "expected ':', found the end of the text"},
        {"dense<[\"a\"]> : tensor<1xi8>", 8, "expected an integer"},
        {"dense<\"abc\"> : tensor<2xi8>", 8, "expected hexadecimal data that starts with 0x"},
        {"dense<\"0x0102031\"> : tensor<4xi8>", 8, "expected 8 hexadecimal digits for tensor<4xi8>"},
        {"dense<\"0x010203\"> : tensor<4xi8>", 8, "or 2 for one element, found 6"},
        {"dense<\"0x01020G04\"> : tensor<4xi8>", 14, "expected two hexadecimal digits"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_refused(PIECE_ATTR, &rows[i]);
}

/* ---- short forms ------------------------------------------------------------------------------------------------- */

static void test_forms(void **state) {
    (void)state;
    static const struct { enum ir_attr_form form; int of; const char *text, *printed; } rows[] = {
        {IR_AF_I64, 0, "3 : tensor<f32>", "3 : i64"}, /* the colon is the op's */
        {IR_AF_I32, 0, "-3", "-3 : i32"},
        {IR_AF_UI64, 0, "3", "3 : ui64"},
        {IR_AF_F32, 0, "1.5", "1.500000e+00 : f32"},
        {IR_AF_BOOL, 0, "true", "true"},
        {IR_AF_I64S, 0, "[1, 2]", "array<i64: 1, 2>"},
        {IR_AF_I64S, 0, "array<i64: 1>", "array<i64: 1>"},
        {IR_AF_I64S, 0, "[]", "array<i64>"},
        {IR_AF_BOOLS, 0, "[true, false]", "array<i1: true, false>"},
        {IR_AF_ENUM, IR_ENUM_FFT_TYPE, "RFFT", "#stablehlo<fft_type RFFT>"},
        {IR_AF_ENUM, IR_ENUM_FFT_TYPE, "#stablehlo<fft_type RFFT>", "#stablehlo<fft_type RFFT>"},
        {IR_AF_ENUMS, IR_ENUM_PRECISION, "[DEFAULT, HIGHEST]",
         "[#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]"},
        {IR_AF_STRUCT, IR_STRUCT_DOT, "<lhs_batching_dimensions = [1]>", "#stablehlo.dot<lhs_batching_dimensions = [1]>"},
        {IR_AF_STR, 0, "\"x\"", "\"x\""},
        {IR_AF_SYM, 0, "@f", "@f"},
        {IR_AF_SYMSS, 0, "[[@a, @b], [@c]]", "[[@a, @b], [@c]]"},
        {IR_AF_TYPE, 0, "f32", "f32"},
        {IR_AF_DICT, 0, "{a}", "{a}"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct piece x;
        piece_begin(&x, str_of(rows[i].text));
        assert_int_equal(text_attr_form(&x.p, rows[i].form, rows[i].of, &x.attr), HILO_OK);
        struct strbuf out = piece_print(&x, PIECE_ATTR);
        assert_string_equal(out.p, rows[i].printed);
        strbuf_free(&out);
        piece_free(&x);
    }
}

static void test_forms_refused(void **state) {
    (void)state;
    static const struct { enum ir_attr_form form; int of; const char *text, *part; } rows[] = {
        {IR_AF_I64, 0, "x", "expected a number, found 'x'"},
        {IR_AF_I32, 0, "4294967296", "out of range for i32"},
        {IR_AF_BOOL, 0, "1", "expected 'true' or 'false', found '1'"},
        {IR_AF_I64S, 0, "[1, ?]", "expected an integer"},
        {IR_AF_ENUMS, IR_ENUM_PRECISION, "{}", "expected '[', found '{'"},
        {IR_AF_ENUMS, IR_ENUM_PRECISION, "[%0]", "expected one of DEFAULT, HIGH, HIGHEST, found '%0'"},
        {IR_AF_STR, 0, "x", "expected a string, found 'x'"},
        {IR_AF_SYM, 0, "x", "expected a symbol, found 'x'"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct piece x;
        piece_begin(&x, str_of(rows[i].text));
        assert_int_equal(text_attr_form(&x.p, rows[i].form, rows[i].of, &x.attr), HILO_INVALID_ARGUMENT);
        assert_non_null(strstr(x.d.first->message, rows[i].part));
        piece_free(&x);
    }
}

/* ---- aliases ----------------------------------------------------------------------------------------------------- */

static void test_aliases_refused(void **state) {
    (void)state;
    static const struct { const char *text; uint32_t line, col; const char *part; } rows[] = {
        {"1\n#a = 1\n#a = 2", 3, 1, "'#a' is already defined"},
        {"1\n#a.b = 1", 2, 1, "alias without dots"},
        {"1\n#a = #a", 2, 6, "'#a' is not defined"},
        {"#a\n#a = [#b]\n#b = 1", 2, 7, "'#b' is not defined"}, /* among themselves in order */
        {"#a\n#b = 1", 1, 1, "'#a' is not defined"},
        {"1\n!a = 1", 2, 6, "expected a type"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct piece x = piece_read(PIECE_ATTR, str_of(rows[i].text));
        assert_int_equal(x.status, HILO_INVALID_ARGUMENT);
        if (x.d.first->line != rows[i].line || x.d.first->col != rows[i].col || !strstr(x.d.first->message, rows[i].part))
            fail_msg("%u:%u: %s\nfor: %s", x.d.first->line, x.d.first->col, x.d.first->message, rows[i].text);
        piece_free(&x);
    }
}

/* Many aliases, used before they are defined: each definition is read once. */
static void test_aliases_many(void **state) {
    (void)state;
    enum { N = 2000 };
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    for (int i = 0; i < N; i++)
        strbuf_printf(&text, "%s#a%d", i ? ", " : "[", i);
    strbuf_puts(&text, "]\n");
    for (int i = 0; i < N; i++)
        strbuf_printf(&text, "#a%d = %d\n", i, i);
    struct piece x = piece_ok(PIECE_ATTR, text.p);
    assert_int_equal(piece_attr(&x)->n, N);
    assert_int_equal(ir_attr_get(x.m, piece_attr(&x)->items[N - 1])->i, N - 1);
    piece_free(&x);
    strbuf_free(&text);
}

/* ---- places, depth, memory --------------------------------------------------------------------------------------- */

static void test_places(void **state) {
    (void)state;
    const char *text = "a\nbb\n\n  ccc\nd";
    struct piece x;
    piece_begin(&x, str_of(text));
    static const struct { int at; uint32_t line, col; } rows[] = {
        {0, 1, 1}, {2, 2, 1}, {4, 2, 3}, {5, 3, 1}, {8, 4, 3}, {10, 4, 5}, {12, 5, 1}, {13, 5, 2},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        for (size_t j = 0; j < LENGTH(rows); j++) { /* from any place to any other */
            uint32_t line, col;
            text_place(&x.p, x.text + rows[i].at, &line, &col);
            text_place(&x.p, x.text + rows[j].at, &line, &col);
            assert_int_equal(line, rows[j].line);
            assert_int_equal(col, rows[j].col);
        }
    }
    piece_free(&x);
}

/* What is missing at the end of a line is reported there. */
static void test_missing(void **state) {
    (void)state;
    struct piece x = piece_read(PIECE_ATTR, STR("{a = 1 // one\n b = 2}"));
    assert_int_equal(x.status, HILO_INVALID_ARGUMENT);
    assert_int_equal(x.d.first->line, 1);
    assert_int_equal(x.d.first->col, 7);
    piece_free(&x);
}

static void test_depth(void **state) {
    (void)state;
    static const char *const starts[] = {"[", "{a = ", "tuple<", "() -> (", "loc(callsite(", "!a.b<[", "{a = loc(fused["};
    for (size_t i = 0; i < LENGTH(starts); i++) {
        struct strbuf text;
        strbuf_init(&text, mem_system_allocator());
        for (int n = 0; n < 100000; n++)
            strbuf_puts(&text, starts[i]);
        struct piece x = piece_read(PIECE_ATTR, (struct str){text.p, text.n});
        assert_int_equal(x.status, HILO_INVALID_ARGUMENT);
        piece_free(&x);
        strbuf_free(&text);
    }
}

/* No beginning of a text is read beyond its end. */
static void test_prefixes(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(type_pairs) + LENGTH(attr_pairs); i++) {
        bool is_type = i < LENGTH(type_pairs);
        const char *text = is_type ? type_pairs[i].text : attr_pairs[i - LENGTH(type_pairs)].text;
        for (size_t n = 0; n < strlen(text); n++) {
            struct piece x = piece_read(is_type ? PIECE_TYPE : PIECE_ATTR, (struct str){text, n});
            assert_int_equal(x.status == HILO_OK, x.d.errors == 0);
            piece_free(&x);
        }
    }
}

/* An allocator that fails after a number of allocations, and counts the bytes in use. */
struct stingy { size_t left, held; };

static void *stingy_realloc(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align) {
    struct stingy *s = user;
    hilo_allocator al = mem_system_allocator();
    if (new_bytes && s->left == 0)
        return NULL;
    s->left -= new_bytes != 0;
    void *p = al.realloc_fn(al.user, ptr, old_bytes, new_bytes, align);
    s->held += new_bytes;
    s->held -= old_bytes;
    return p;
}

static bool read_stingily(struct stingy *s, struct diag_list *d, struct str text) {
    const hilo_allocator al = {stingy_realloc, s};
    struct ir_module *volatile m = NULL;
    volatile bool done = false;
    if (setjmp(out_of_memory) == 0) {
        m = ir_module_new(al, &out_of_memory);
        if (m) {
            struct text_parser p;
            ir_attr attr;
            text_lex_init(&p, m, d, text);
            assert_int_equal(text_attr(&p, (ir_type){0}, &attr), HILO_OK);
            done = true;
        }
    }
    if (m)
        ir_module_free(m);
    return done;
}

/* However little memory there is, none is lost. */
static void test_exhaustion(void **state) {
    (void)state;
    struct strbuf text;
    struct diag_list d;
    strbuf_init(&text, mem_system_allocator());
    diag_init(&d, mem_system_allocator());
    strbuf_puts(&text, "[#a, dense<\"0x");
    for (int i = 0; i < 40000; i++)
        strbuf_puts(&text, "00");
    strbuf_puts(&text, "\"> : tensor<10000xf32>, dense<[");
    for (int i = 0; i < 2000; i++)
        strbuf_puts(&text, i ? ",1" : "1");
    strbuf_puts(&text, "]> : tensor<2000xi64>]\n#a = loc(\"x\")\n");
    size_t n = 0;
    for (bool done = false; !done; n++) {
        struct stingy s = {.left = n};
        done = read_stingily(&s, &d, (struct str){text.p, text.n});
        assert_int_equal(s.held, 0);
        assert_true(n < 1000);
    }
    assert_true(n > 3);
    strbuf_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),         cmocka_unit_test(test_type_data),     cmocka_unit_test(test_types_refused),
        cmocka_unit_test(test_attrs),         cmocka_unit_test(test_attr_data),     cmocka_unit_test(test_attrs_refused),
        cmocka_unit_test(test_dense),         cmocka_unit_test(test_dense_hex),     cmocka_unit_test(test_dense_large),
        cmocka_unit_test(test_dense_refused), cmocka_unit_test(test_forms),         cmocka_unit_test(test_forms_refused),
        cmocka_unit_test(test_aliases_refused), cmocka_unit_test(test_aliases_many), cmocka_unit_test(test_places),
        cmocka_unit_test(test_missing),       cmocka_unit_test(test_depth),         cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_exhaustion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
