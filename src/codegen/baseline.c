/* The functions of LLVM that the emitter calls, on the values of src/x86. */
#include "codegen/baseline.h"

/* ---- handles ------------------------------------------------------------------------------------------------ */

static struct x86_module *module_of(LLVMBuilderRef b) {
    return (struct x86_module *)(void *)b;
}
static struct x86_module *context_of(LLVMContextRef c) {
    return (struct x86_module *)(void *)c;
}
static struct x86_type *type_of(LLVMTypeRef t) {
    return (struct x86_type *)(void *)t;
}
static struct x86_value *value_of(LLVMValueRef v) {
    return (struct x86_value *)(void *)v;
}
static struct x86_block *block_of(LLVMBasicBlockRef b) {
    return (struct x86_block *)(void *)b;
}
static LLVMTypeRef type_ref(struct x86_type *t) {
    return (LLVMTypeRef)(void *)t;
}
static LLVMValueRef value_ref(struct x86_value *v) {
    return (LLVMValueRef)(void *)v;
}
static LLVMBasicBlockRef block_ref(struct x86_block *b) {
    return (LLVMBasicBlockRef)(void *)b;
}

/* ---- types, constants ----------------------------------------------------------------------------------------- */

static LLVMTypeRef b_IntTypeInContext(LLVMContextRef c, unsigned bits) {
    return type_ref(x86_type_int(context_of(c), bits));
}
static LLVMTypeRef b_HalfTypeInContext(LLVMContextRef c) {
    return type_ref(&context_of(c)->scalar[X86_HALF]);
}
static LLVMTypeRef b_BFloatTypeInContext(LLVMContextRef c) {
    return type_ref(&context_of(c)->scalar[X86_BFLOAT]);
}
static LLVMTypeRef b_FloatTypeInContext(LLVMContextRef c) {
    return type_ref(&context_of(c)->scalar[X86_FLOAT]);
}
static LLVMTypeRef b_DoubleTypeInContext(LLVMContextRef c) {
    return type_ref(&context_of(c)->scalar[X86_DOUBLE]);
}
static LLVMTypeRef b_VoidTypeInContext(LLVMContextRef c) {
    return type_ref(&context_of(c)->scalar[X86_VOID]);
}
static LLVMTypeRef b_PointerTypeInContext(LLVMContextRef c, unsigned space) {
    (void)space;
    return type_ref(&context_of(c)->scalar[X86_POINTER]);
}
static LLVMTypeRef b_FunctionType(LLVMTypeRef result, LLVMTypeRef *params, unsigned n, LLVMBool variadic) {
    (void)params, (void)n, (void)variadic;
    return result;
}
static LLVMTypeRef b_VectorType(LLVMTypeRef element, unsigned lanes) {
    return type_ref(x86_type_vector(type_of(element)->m, type_of(element), lanes));
}
static LLVMTypeRef b_TypeOf(LLVMValueRef v) {
    return type_ref(value_of(v)->type);
}
static LLVMTypeKind b_GetTypeKind(LLVMTypeRef t) {
    static const LLVMTypeKind kinds[] = {
        [X86_VOID] = LLVMVoidTypeKind,       [X86_INT] = LLVMIntegerTypeKind,  [X86_HALF] = LLVMHalfTypeKind,
        [X86_BFLOAT] = LLVMBFloatTypeKind,   [X86_FLOAT] = LLVMFloatTypeKind,  [X86_DOUBLE] = LLVMDoubleTypeKind,
        [X86_POINTER] = LLVMPointerTypeKind, [X86_VECTOR] = LLVMVectorTypeKind};
    return kinds[type_of(t)->kind];
}
static LLVMTypeRef b_GetElementType(LLVMTypeRef t) {
    return type_ref(type_of(t)->element);
}
static unsigned b_GetVectorSize(LLVMTypeRef t) {
    return type_of(t)->lanes;
}
static unsigned b_GetIntTypeWidth(LLVMTypeRef t) {
    return type_of(t)->bits;
}
static LLVMValueRef b_ConstInt(LLVMTypeRef t, unsigned long long v, LLVMBool is_signed) {
    (void)is_signed;
    return value_ref(x86_const_int(type_of(t)->m, type_of(t), v));
}
static LLVMValueRef b_ConstBitCast(LLVMValueRef v, LLVMTypeRef t) {
    return value_ref(x86_const(type_of(t)->m, type_of(t), value_of(v)->lanes));
}
static LLVMValueRef b_ConstNull(LLVMTypeRef t) {
    return value_ref(x86_const_all(type_of(t)->m, type_of(t), 0));
}
static LLVMValueRef b_GetPoison(LLVMTypeRef t) {
    return value_ref(x86_poison(type_of(t)->m, type_of(t)));
}
static LLVMValueRef b_ConstVector(LLVMValueRef *v, unsigned n) {
    struct x86_type *t = value_of(v[0])->type;
    struct x86_value *all = x86_const_all(t->m, x86_type_vector(t->m, t, n), 0);
    for (unsigned i = 0; i < n; i++)
        all->lanes[i] = value_of(v[i])->lanes[0];
    return value_ref(all);
}
static LLVMBool b_IsConstant(LLVMValueRef v) {
    return value_of(v)->kind == X86_CONSTANT;
}
static LLVMValueRef b_IsAConstantInt(LLVMValueRef v) {
    const struct x86_value *x = value_of(v);
    return x->kind == X86_CONSTANT && x->type->kind == X86_INT ? v : NULL;
}
static long long b_ConstIntGetSExtValue(LLVMValueRef v) {
    return x86_extend(value_of(v)->lanes[0], value_of(v)->type->bits);
}

/* ---- functions, attributes, metadata ------------------------------------------------------------------------------ */

static LLVMValueRef b_AddFunction(LLVMModuleRef module, const char *name, LLVMTypeRef result) {
    struct x86_module *m = (struct x86_module *)(void *)module;
    if (type_of(result)->kind != X86_VOID)
        x86_refuse(m, "a function with a result");
    x86_function_begin(m, x86_function_new(m, name));
    return value_ref(x86_value_new(m, type_of(result), X86_CALLEE));
}
static LLVMValueRef b_GetNamedFunction(LLVMModuleRef module, const char *name) {
    struct x86_module *m = (struct x86_module *)(void *)module;
    for (const struct x86_function *f = m->functions; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return value_ref(x86_value_new(m, &m->scalar[X86_VOID], X86_CALLEE));
    return NULL;
}
static LLVMValueRef b_GetParam(LLVMValueRef fn, unsigned i) {
    return value_ref(value_of(fn)->type->m->f->params[i]);
}
static void b_SetAlignment(LLVMValueRef v, unsigned bytes) {
    (void)v, (void)bytes;
}
static void b_AddAttributeAtIndex(LLVMValueRef fn, LLVMAttributeIndex i, LLVMAttributeRef a) {
    (void)fn, (void)i, (void)a;
}
static LLVMAttributeRef b_CreateEnumAttribute(LLVMContextRef c, unsigned kind, uint64_t v) {
    (void)c, (void)kind, (void)v;
    return NULL;
}
static LLVMAttributeRef b_CreateStringAttribute(LLVMContextRef c, const char *k, unsigned kn, const char *v, unsigned vn) {
    (void)c, (void)k, (void)kn, (void)v, (void)vn;
    return NULL;
}
static unsigned b_GetEnumAttributeKindForName(const char *name, size_t n) {
    (void)name, (void)n;
    return 0;
}
static void b_SetMetadata(LLVMValueRef v, unsigned kind, LLVMValueRef node) {
    (void)node;
    if (kind == BASELINE_NONTEMPORAL)
        x86_build_stream(value_of(v));
    else if (kind == BASELINE_INVARIANT)
        x86_build_invariant(value_of(v));
}

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

static LLVMBasicBlockRef b_AppendBasicBlockInContext(LLVMContextRef c, LLVMValueRef fn, const char *name) {
    struct x86_module *m = context_of(c);
    (void)fn, (void)name;
    if (!m->f->entered) {
        m->f->entered = true;
        return block_ref(m->f->entry);
    }
    return block_ref(x86_block_new(m));
}
static void b_MoveBasicBlockAfter(LLVMBasicBlockRef b, LLVMBasicBlockRef after) { /* blocks are in the order of their code */
    (void)b, (void)after;
}
static LLVMBasicBlockRef b_GetEntryBasicBlock(LLVMValueRef fn) {
    return block_ref(value_of(fn)->type->m->f->entry);
}
/* Places of the builder are instructions. */
static LLVMValueRef b_GetFirstInstruction(LLVMBasicBlockRef b) {
    struct x86_ins *i = block_of(b)->first;
    while (i && i->op == X86_PARAM)
        i = i->next;
    return (LLVMValueRef)(void *)(i ? i : block_of(b)->phis);
}
static LLVMValueRef b_GetBasicBlockTerminator(LLVMBasicBlockRef b) {
    return (LLVMValueRef)(void *)block_of(b)->last;
}
static void b_PositionBuilderAtEnd(LLVMBuilderRef b, LLVMBasicBlockRef block) {
    x86_at_end(module_of(b), block_of(block));
}
static void b_PositionBuilderBefore(LLVMBuilderRef b, LLVMValueRef at) {
    x86_before(module_of(b), (struct x86_ins *)(void *)at);
}
static LLVMBasicBlockRef b_GetInsertBlock(LLVMBuilderRef b) {
    return block_ref(module_of(b)->at);
}
static LLVMValueRef b_BuildBr(LLVMBuilderRef b, LLVMBasicBlockRef to) {
    x86_jump(module_of(b), block_of(to));
    return NULL;
}
static LLVMValueRef b_BuildCondBr(LLVMBuilderRef b, LLVMValueRef c, LLVMBasicBlockRef then, LLVMBasicBlockRef other) {
    x86_build_branch(module_of(b), value_of(c), block_of(then), block_of(other));
    return NULL;
}
static LLVMValueRef b_BuildRetVoid(LLVMBuilderRef b) {
    x86_ins0(module_of(b), X86_RET, 8);
    return NULL;
}
static LLVMValueRef b_BuildPhi(LLVMBuilderRef b, LLVMTypeRef t, const char *name) {
    (void)name;
    return value_ref(x86_build_phi(module_of(b), type_of(t)));
}
static void b_AddIncoming(LLVMValueRef phi, LLVMValueRef *v, LLVMBasicBlockRef *from, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        x86_build_incoming(value_of(phi)->type->m, value_of(phi), value_of(v[i]), block_of(from[i]));
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

enum baseline_call {
    CALL_NONE,
    CALL_UNARY,
    CALL_BINARY,
    CALL_COPYSIGN,
    CALL_FMA,
    CALL_SATURATE,
    CALL_MASKED_LOAD,
    CALL_MASKED_STORE,
    CALL_ANY,
    CALL_MADD,
    CALL_PREFETCH,
    CALL_FENCE
};

static const struct baseline_intrinsic {
    const char *name;
    enum baseline_call call;
    int what;
} baseline_intrinsics[] = {
    {"", CALL_NONE, 0},
    {"llvm.abs", CALL_UNARY, X86_OP_ABS},
    {"llvm.ctlz", CALL_UNARY, X86_OP_CTLZ},
    {"llvm.ctpop", CALL_UNARY, X86_OP_CTPOP},
    {"llvm.fabs", CALL_UNARY, X86_OP_FABS},
    {"llvm.sqrt", CALL_UNARY, X86_OP_SQRT},
    {"llvm.floor", CALL_UNARY, X86_OP_FLOOR},
    {"llvm.ceil", CALL_UNARY, X86_OP_CEIL},
    {"llvm.trunc", CALL_UNARY, X86_OP_FTRUNC},
    {"llvm.roundeven", CALL_UNARY, X86_OP_RINT},
    {"llvm.smin", CALL_BINARY, X86_OP_SMIN},
    {"llvm.smax", CALL_BINARY, X86_OP_SMAX},
    {"llvm.umin", CALL_BINARY, X86_OP_UMIN},
    {"llvm.umax", CALL_BINARY, X86_OP_UMAX},
    {"llvm.copysign", CALL_COPYSIGN, 0},
    {"llvm.fma", CALL_FMA, 0},
    {"llvm.fptosi.sat", CALL_SATURATE, 1},
    {"llvm.fptoui.sat", CALL_SATURATE, 0},
    {"llvm.masked.load", CALL_MASKED_LOAD, 0},
    {"llvm.masked.store", CALL_MASKED_STORE, 0},
    {"llvm.vector.reduce.or", CALL_ANY, 0},
    {"llvm.x86.sse2.pmadd.wd", CALL_MADD, 0},
    {"llvm.x86.avx2.pmadd.wd", CALL_MADD, 0},
    {"llvm.prefetch", CALL_PREFETCH, 0},
    {"llvm.x86.sse.sfence", CALL_FENCE, 0},
};

static unsigned b_LookupIntrinsicID(const char *name, size_t n) {
    for (unsigned i = 1; i < sizeof baseline_intrinsics / sizeof *baseline_intrinsics; i++)
        if (strlen(baseline_intrinsics[i].name) == n && memcmp(baseline_intrinsics[i].name, name, n) == 0)
            return i;
    return 0;
}
static LLVMValueRef b_GetIntrinsicDeclaration(LLVMModuleRef module, unsigned id, LLVMTypeRef *overloads, size_t n) {
    struct x86_module *m = (struct x86_module *)(void *)module;
    struct x86_value *v = x86_value_new(m, n ? type_of(overloads[0]) : &m->scalar[X86_VOID], X86_CALLEE);
    v->number = id;
    return value_ref(v);
}
static LLVMTypeRef b_IntrinsicGetType(LLVMContextRef c, unsigned id, LLVMTypeRef *overloads, size_t n) {
    (void)id, (void)overloads, (void)n;
    return b_VoidTypeInContext(c);
}

static struct x86_value *baseline_call(struct x86_module *m, const struct x86_value *fn, LLVMValueRef *args) {
    const struct baseline_intrinsic *i = &baseline_intrinsics[fn->number];
    struct x86_value *a = args ? value_of(args[0]) : NULL;
    switch (i->call) {
    case CALL_UNARY:
        return x86_build_unary(m, (enum x86_unary)i->what, a);
    case CALL_BINARY:
        return x86_build_binary(m, (enum x86_binary)i->what, a, value_of(args[1]));
    case CALL_COPYSIGN:
        return x86_build_copysign(m, a, value_of(args[1]));
    case CALL_FMA:
        return x86_build_fma(m, a, value_of(args[1]), value_of(args[2]));
    case CALL_SATURATE:
        return x86_build_saturate(m, i->what, a, fn->type);
    case CALL_MASKED_LOAD:
        return x86_build_masked_load(m, a, value_of(args[2]), value_of(args[3]));
    case CALL_MASKED_STORE:
        return x86_build_masked_store(m, a, value_of(args[1]), value_of(args[3]));
    case CALL_ANY:
        return x86_build_any(m, a);
    case CALL_MADD:
        return x86_build_madd(m, a, value_of(args[1]), x86_type_vector(m, x86_type_int(m, 32), a->type->lanes / 2));
    case CALL_PREFETCH:
        x86_build_prefetch(m, a);
        return a;
    case CALL_FENCE:
        x86_ins0(m, X86_SFENCE, 8);
        return NULL;
    default:
        x86_refuse(m, "an intrinsic function");
    }
}
static LLVMValueRef b_BuildCall2(LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef fn, LLVMValueRef *args, unsigned n,
                                 const char *name) {
    (void)t, (void)n, (void)name;
    return value_ref(baseline_call(module_of(b), value_of(fn), args));
}

/* ---- instructions --------------------------------------------------------------------------------------------------- */

static LLVMValueRef b_BuildAlloca(LLVMBuilderRef b, LLVMTypeRef t, const char *name) {
    (void)name;
    return value_ref(x86_build_alloca(module_of(b), type_of(t)));
}
static LLVMValueRef b_BuildLoad2(LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef p, const char *name) {
    (void)name;
    return value_ref(x86_build_load(module_of(b), type_of(t), value_of(p)));
}
static LLVMValueRef b_BuildStore(LLVMBuilderRef b, LLVMValueRef v, LLVMValueRef p) {
    return value_ref(x86_build_store(module_of(b), value_of(v), value_of(p)));
}
static LLVMValueRef b_BuildGEP2(LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef p, LLVMValueRef *index, unsigned n,
                                const char *name) {
    (void)name, (void)n;
    return value_ref(x86_build_gep(module_of(b), type_of(t), value_of(p), value_of(index[0])));
}
static LLVMValueRef b_BuildSelect(LLVMBuilderRef b, LLVMValueRef c, LLVMValueRef x, LLVMValueRef y, const char *name) {
    (void)name;
    return value_ref(x86_build_select(module_of(b), value_of(c), value_of(x), value_of(y)));
}
static LLVMValueRef b_BuildICmp(LLVMBuilderRef b, LLVMIntPredicate p, LLVMValueRef x, LLVMValueRef y, const char *name) {
    (void)name;
    return value_ref(x86_build_compare(module_of(b), (int)p, false, value_of(x), value_of(y)));
}
static LLVMValueRef b_BuildFCmp(LLVMBuilderRef b, LLVMRealPredicate p, LLVMValueRef x, LLVMValueRef y, const char *name) {
    (void)name;
    return value_ref(x86_build_compare(module_of(b), (int)p, true, value_of(x), value_of(y)));
}
static LLVMValueRef b_BuildCast(LLVMBuilderRef b, LLVMOpcode op, LLVMValueRef v, LLVMTypeRef t, const char *name) {
    static const uint8_t casts[] = {
        [LLVMTrunc] = X86_TO_TRUNC,       [LLVMZExt] = X86_TO_ZEXT,         [LLVMSExt] = X86_TO_SEXT,
        [LLVMFPToUI] = X86_TO_FPTOUI,     [LLVMFPToSI] = X86_TO_FPTOSI,     [LLVMUIToFP] = X86_TO_UITOFP,
        [LLVMSIToFP] = X86_TO_SITOFP,     [LLVMFPTrunc] = X86_TO_FPTRUNC,   [LLVMFPExt] = X86_TO_FPEXT,
        [LLVMPtrToInt] = X86_TO_PTRTOINT, [LLVMIntToPtr] = X86_TO_INTTOPTR, [LLVMBitCast] = X86_TO_BITCAST};
    (void)name;
    return value_ref(x86_build_cast(module_of(b), (enum x86_cast)casts[op], value_of(v), type_of(t)));
}
static LLVMValueRef b_BuildBinOp(LLVMBuilderRef b, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y, const char *name) {
    static const uint8_t ops[] = {
        [LLVMAdd] = X86_OP_ADD,   [LLVMSub] = X86_OP_SUB,   [LLVMMul] = X86_OP_MUL,   [LLVMUDiv] = X86_OP_UDIV,
        [LLVMSDiv] = X86_OP_SDIV, [LLVMAnd] = X86_OP_AND,   [LLVMOr] = X86_OP_OR,     [LLVMXor] = X86_OP_XOR,
        [LLVMShl] = X86_OP_SHL,   [LLVMLShr] = X86_OP_LSHR, [LLVMAShr] = X86_OP_ASHR, [LLVMFAdd] = X86_OP_FADD,
        [LLVMFSub] = X86_OP_FSUB, [LLVMFMul] = X86_OP_FMUL, [LLVMFDiv] = X86_OP_FDIV};
    (void)name;
    return value_ref(x86_build_binary(module_of(b), (enum x86_binary)ops[op], value_of(x), value_of(y)));
}
static LLVMValueRef b_BuildNSWAdd(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, const char *name) {
    return b_BuildBinOp(b, LLVMAdd, x, y, name);
}
static LLVMValueRef b_BuildFNeg(LLVMBuilderRef b, LLVMValueRef v, const char *name) {
    (void)name;
    return value_ref(x86_build_unary(module_of(b), X86_OP_FNEG, value_of(v)));
}
static LLVMValueRef b_BuildFreeze(LLVMBuilderRef b, LLVMValueRef v, const char *name) {
    (void)b, (void)name;
    return v;
}
static LLVMValueRef b_BuildInsertElement(LLVMBuilderRef b, LLVMValueRef v, LLVMValueRef one, LLVMValueRef at,
                                         const char *name) {
    (void)name;
    return value_ref(x86_build_insert(module_of(b), value_of(v), value_of(one), value_of(at)));
}
static LLVMValueRef b_BuildExtractElement(LLVMBuilderRef b, LLVMValueRef v, LLVMValueRef at, const char *name) {
    (void)name;
    return value_ref(x86_build_extract(module_of(b), value_of(v), value_of(at)));
}
static LLVMValueRef b_BuildShuffleVector(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, LLVMValueRef lanes,
                                         const char *name) {
    (void)name;
    const struct x86_value *at = value_of(lanes);
    return value_ref(x86_build_shuffle(module_of(b), value_of(x), value_of(y), at->lanes, at->type->lanes));
}

const struct llvm *baseline_llvm(void) {
#define B(name) .name = b_##name
    static const struct llvm table = {B(IntTypeInContext),
                                      B(HalfTypeInContext),
                                      B(BFloatTypeInContext),
                                      B(FloatTypeInContext),
                                      B(DoubleTypeInContext),
                                      B(VoidTypeInContext),
                                      B(PointerTypeInContext),
                                      B(FunctionType),
                                      B(VectorType),
                                      B(TypeOf),
                                      B(GetTypeKind),
                                      B(GetElementType),
                                      B(GetVectorSize),
                                      B(GetIntTypeWidth),
                                      B(ConstInt),
                                      B(ConstBitCast),
                                      B(ConstNull),
                                      B(GetPoison),
                                      B(ConstVector),
                                      B(IsConstant),
                                      B(IsAConstantInt),
                                      B(ConstIntGetSExtValue),
                                      B(AddFunction),
                                      B(GetNamedFunction),
                                      B(GetParam),
                                      B(SetAlignment),
                                      B(AddAttributeAtIndex),
                                      B(CreateEnumAttribute),
                                      B(CreateStringAttribute),
                                      B(GetEnumAttributeKindForName),
                                      B(SetMetadata),
                                      B(AppendBasicBlockInContext),
                                      B(MoveBasicBlockAfter),
                                      B(GetEntryBasicBlock),
                                      B(GetFirstInstruction),
                                      B(GetBasicBlockTerminator),
                                      B(PositionBuilderAtEnd),
                                      B(PositionBuilderBefore),
                                      B(GetInsertBlock),
                                      B(BuildBr),
                                      B(BuildCondBr),
                                      B(BuildRetVoid),
                                      B(BuildPhi),
                                      B(AddIncoming),
                                      B(LookupIntrinsicID),
                                      B(GetIntrinsicDeclaration),
                                      B(IntrinsicGetType),
                                      B(BuildCall2),
                                      B(BuildAlloca),
                                      B(BuildLoad2),
                                      B(BuildStore),
                                      B(BuildGEP2),
                                      B(BuildSelect),
                                      B(BuildICmp),
                                      B(BuildFCmp),
                                      B(BuildCast),
                                      B(BuildBinOp),
                                      B(BuildNSWAdd),
                                      B(BuildFNeg),
                                      B(BuildFreeze),
                                      B(BuildInsertElement),
                                      B(BuildExtractElement),
                                      B(BuildShuffleVector)};
#undef B
    return &table;
}
