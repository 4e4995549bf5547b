/* Kernels to object files, assembly, or LLVM text. */
#include "codegen/baseline.h"
#include "codegen/emit.h"

static void object_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
    struct emit *e = user;
    if (e->l->GetDiagInfoSeverity(info) != LLVMDSError)
        return;
    char *text = e->l->GetDiagInfoDescription(info);
    if (e->status == HILO_OK)
        e->status = diag_error(e->d, HILO_INTERNAL, "LLVM: %.512s", text);
    e->l->DisposeMessage(text);
}

static hilo_status object_machine(const struct llvm *l, const struct target *t, struct diag_list *d,
                                  LLVMTargetMachineRef *out) {
    LLVMTargetRef target;
    char *why = NULL;
    if (l->GetTargetFromTriple(t->triple, &target, &why)) {
        hilo_status s = diag_error(d, HILO_UNAVAILABLE, "LLVM: %.256s", why);
        l->DisposeMessage(why);
        return s;
    }
    /* Below the default level nothing is missing but the scheduler that runs after register allocation. */
    LLVMCodeGenOptLevel level = t->isa == TARGET_NVPTX ? LLVMCodeGenLevelDefault : LLVMCodeGenLevelLess;
    *out = l->CreateTargetMachine(target, t->triple, t->cpu, t->features, level, LLVMRelocPIC, LLVMCodeModelSmall);
    return *out ? HILO_OK : diag_error(d, HILO_UNAVAILABLE, "LLVM cannot generate code for %s", t->triple);
}

static void object_types(struct emit *e, LLVMContextRef c) {
    const struct llvm *l = e->l;
    e->i1 = l->IntTypeInContext(c, 1);
    e->i8 = l->IntTypeInContext(c, 8);
    e->i16 = l->IntTypeInContext(c, 16);
    e->i32 = l->IntTypeInContext(c, 32);
    e->i64 = l->IntTypeInContext(c, 64);
    e->i128 = l->IntTypeInContext(c, 128);
    e->half = l->HalfTypeInContext(c);
    e->bfloat = l->BFloatTypeInContext(c);
    e->f32 = l->FloatTypeInContext(c);
    e->f64 = l->DoubleTypeInContext(c);
    e->ptr = l->PointerTypeInContext(c, 0);
}

static void object_begin(struct emit *e, LLVMTargetMachineRef machine) {
    const struct llvm *l = e->l;
    LLVMContextRef c = e->context = l->ContextCreate();
    l->ContextSetDiagnosticHandler(c, object_diagnostic, e);
    e->module = l->ModuleCreateWithNameInContext("hilo", c);
    l->SetTarget(e->module, e->t->triple);
    LLVMTargetDataRef layout = l->CreateTargetDataLayout(machine);
    l->SetModuleDataLayout(e->module, layout);
    l->DisposeTargetData(layout);
    e->b = l->CreateBuilderInContext(c);
    object_types(e, c);
    e->md_nontemporal = l->GetMDKindIDInContext(c, "nontemporal", sizeof "nontemporal" - 1);
    e->md_invariant = l->GetMDKindIDInContext(c, "invariant.load", sizeof "invariant.load" - 1);
    LLVMMetadataRef one = l->ValueAsMetadata(l->ConstInt(e->i32, 1, false));
    e->md_one = l->MetadataAsValue(c, l->MDNodeInContext2(c, &one, 1));
    e->md_none = l->MetadataAsValue(c, l->MDNodeInContext2(c, NULL, 0));
}

static void object_end(struct emit *e) {
    if (e->b)
        e->l->DisposeBuilder(e->b);
    if (e->module)
        e->l->DisposeModule(e->module);
    if (e->context)
        e->l->ContextDispose(e->context);
    arena_free(&e->arena);
}

#ifndef NDEBUG
static void object_verify(struct emit *e) {
    char *why = NULL;
    if (e->l->VerifyModule(e->module, LLVMReturnStatusAction, &why) && e->status == HILO_OK)
        e->status = diag_error(e->d, HILO_INTERNAL, "invalid LLVM code: %.512s", why);
    e->l->DisposeMessage(why);
}
#endif

/* Unrolled loops repeat computations, which early-cse removes; GPUs inline helpers. No other pass is worth its time: see
   emit.h. */
static void object_passes(struct emit *e, LLVMTargetMachineRef machine) {
    const struct llvm *l = e->l;
    LLVMPassBuilderOptionsRef options = l->CreatePassBuilderOptions();
    const char *passes = e->inlines ? "always-inline,function(early-cse)" : "function(early-cse)";
    LLVMErrorRef error = l->RunPasses(e->module, passes, machine, options);
    l->DisposePassBuilderOptions(options);
    if (!error)
        return;
    char *why = l->GetErrorMessage(error);
    e->status = diag_error(e->d, HILO_INTERNAL, "LLVM: %.256s", why);
    l->DisposeErrorMessage(why);
}

static hilo_status object_copy(const struct emit *e, const hilo_allocator *al, const char *p, size_t n, void **out,
                               size_t *out_bytes) {
    void *copy = mem_alloc(al, n);
    if (!copy)
        return diag_error(e->d, HILO_RESOURCE_EXHAUSTED, "out of memory for %zu bytes of code", n);
    memcpy(copy, p, n);
    *out = copy;
    *out_bytes = n;
    return HILO_OK;
}

static hilo_status object_text(struct emit *e, const hilo_allocator *al, void **out, size_t *out_bytes) {
    char *text = e->l->PrintModuleToString(e->module);
    hilo_status s = object_copy(e, al, text, strlen(text), out, out_bytes);
    e->l->DisposeMessage(text);
    return s;
}

/* PTX with the version and the target of the machine in its header: LLVM knows neither for the latest ones, which run what was
   made for earlier ones. `text` ends with a zero. */
static hilo_status object_ptx(const struct emit *e, const hilo_allocator *al, const char *text, void **out, size_t *out_bytes) {
    const char *head = strstr(text, ".version "), *rest = head ? strstr(head, ".address_size ") : NULL;
    struct strbuf s;
    if (!rest)
        return diag_error(e->d, HILO_INTERNAL, "LLVM: PTX without a header");
    strbuf_init(&s, *al);
    strbuf_putn(&s, text, (size_t)(head - text));
    strbuf_printf(&s, ".version %s\n.target %s\n", e->t->ptx_version, e->t->name);
    strbuf_puts(&s, rest);
    hilo_status status = s.failed ? diag_error(e->d, HILO_RESOURCE_EXHAUSTED, "out of memory for code")
                                  : object_copy(e, al, s.p, s.n, out, out_bytes);
    strbuf_free(&s);
    return status;
}

static hilo_status object_code(struct emit *e, LLVMTargetMachineRef machine, enum cg_emit emit, const hilo_allocator *al,
                               void **out, size_t *out_bytes) {
    const struct llvm *l = e->l;
    LLVMMemoryBufferRef code = NULL;
    char *why = NULL;
    LLVMCodeGenFileType kind = emit == CG_OBJECT ? LLVMObjectFile : LLVMAssemblyFile;
    if (l->TargetMachineEmitToMemoryBuffer(machine, e->module, kind, &why, &code)) {
        hilo_status s = diag_error(e->d, HILO_INTERNAL, "LLVM: %.512s", why ? why : "");
        l->DisposeMessage(why);
        return s;
    }
    hilo_status s = e->status; /* of object_diagnostic */
    if (s == HILO_OK)
        s = e->blocks ? object_ptx(e, al, l->GetBufferStart(code), out, out_bytes)
                      : object_copy(e, al, l->GetBufferStart(code), l->GetBufferSize(code), out, out_bytes);
    l->DisposeMemoryBuffer(code);
    return s;
}

/* Allocates everything in the arena; its exhaustion does not jump across LLVM. */
static void object_emit(struct emit *e, const struct kir *const *kernels, uint32_t n, LLVMTargetMachineRef machine) {
    jmp_buf recover;
    e->arena.recover = &recover;
    if (setjmp(recover)) {
        e->status = diag_error(e->d, HILO_RESOURCE_EXHAUSTED, "out of memory while generating code");
        return;
    }
    for (uint32_t i = 0; i < n && e->status == HILO_OK; i++)
        emit_kernel(e, kernels[i]);
#ifndef NDEBUG
    if (e->status == HILO_OK)
        object_verify(e);
#endif
    if (e->status == HILO_OK && (e->unrolls || e->inlines))
        object_passes(e, machine);
}

bool cg_has_baseline(const struct target *t) {
    return t->isa == TARGET_X86_64 && t->vector_bytes == 32 && target_has(t, "avx2") && target_has(t, "fma") &&
           target_has(t, "bmi2") && target_has(t, "lzcnt") && target_has(t, "popcnt") && target_has(t, "f16c");
}

/* The kernels by hilo's own code generator, up to the object file. What it cannot do ends here, too. */
static hilo_status object_baseline_emit(struct emit *e, const struct kir *const *kernels, uint32_t n, struct str *out) {
    struct x86_module *volatile m = NULL;
    jmp_buf recover;
    e->arena.recover = &recover;
    if (setjmp(recover))
        return m && m->refused ? HILO_UNIMPLEMENTED
                               : diag_error(e->d, HILO_RESOURCE_EXHAUSTED, "out of memory while generating code");
    m = ARENA_NEW(&e->arena, struct x86_module);
    x86_module_init(m, &e->arena);
    e->context = baseline_context(m);
    e->module = baseline_module(m);
    e->b = baseline_builder(m);
    object_types(e, e->context);
    e->md_nontemporal = BASELINE_NONTEMPORAL;
    e->md_invariant = BASELINE_INVARIANT;
    for (uint32_t i = 0; i < n && e->status == HILO_OK; i++) {
        emit_kernel(e, kernels[i]);
        if (e->status == HILO_OK)
            x86_function_end(m, m->f);
    }
    if (e->status == HILO_OK)
        *out = x86_object(m);
    return e->status;
}

static hilo_status object_baseline(const struct kir *const *kernels, uint32_t n, const struct target *t,
                                   const hilo_allocator *al, struct diag_list *d, void **out, size_t *out_bytes) {
    struct emit e = {.l = baseline_llvm(), .t = t, .d = d};
    struct str object;
    arena_init(&e.arena, *al, NULL);
    hilo_status s = object_baseline_emit(&e, kernels, n, &object);
    if (s == HILO_OK)
        s = object_copy(&e, al, object.p, object.n, out, out_bytes);
    arena_free(&e.arena);
    return s;
}

static hilo_status object_compile(struct emit *e, const struct kir *const *kernels, uint32_t n, enum cg_emit emit,
                                  const hilo_allocator *al, void **out, size_t *out_bytes) {
    LLVMTargetMachineRef machine;
    if (e->blocks && emit == CG_OBJECT)
        emit = CG_ASSEMBLY;
    HILO_TRY(object_machine(e->l, e->t, e->d, &machine));
    arena_init(&e->arena, *al, NULL);
    object_begin(e, machine);
    object_emit(e, kernels, n, machine);
    hilo_status s = e->status;
    if (s == HILO_OK)
        s = emit == CG_LLVM ? object_text(e, al, out, out_bytes) : object_code(e, machine, emit, al, out, out_bytes);
    object_end(e);
    e->l->DisposeTargetMachine(machine);
    return s;
}

hilo_status cg_compile(const struct kir *const *kernels, uint32_t n, const struct target *t, enum cg_tier tier,
                       enum cg_emit emit, const hilo_allocator *al, struct diag_list *d, void **out, size_t *out_bytes) {
    if (tier == CG_BASELINE)
        return emit == CG_OBJECT && cg_has_baseline(t) ? object_baseline(kernels, n, t, al, d, out, out_bytes)
                                                       : HILO_UNIMPLEMENTED;
    struct emit e = {.l = llvm_begin(d), .t = t, .d = d, .blocks = t->isa == TARGET_NVPTX, .hoists = t->isa == TARGET_X86_64};
    if (!e.l)
        return HILO_UNAVAILABLE;
    hilo_status s = object_compile(&e, kernels, n, emit, al, out, out_bytes);
    llvm_done();
    return s;
}
