/* The loader of object files: layout, relocation, lookup.
 *
 * ELF: System V ABI, chapter 4; AMD64 supplement, section 4.4; ELF for the Arm 64-bit Architecture (AAELF64), section 5.7. */
#include "runtime/code.h"

#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define CODE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define CODE_MACHINE EM_AARCH64
#else
#define CODE_MACHINE EM_NONE
#endif

/* Kinds of pages. */
enum code_group { CODE_RUN, CODE_READ, CODE_WRITE, CODE_GROUPS, CODE_NOWHERE = CODE_GROUPS };

enum { CODE_MOST_SECTIONS = 1 << 16, CODE_MOST_ALIGN = 4096 };
#define CODE_MOST_BYTES ((size_t)1 << 30) /* so that every distance fits 32 bits */

struct code_section {
    Elf64_Shdr h;
    enum code_group group;
    size_t at; /* in its group */
};

struct code_object {
    struct str bytes;
    uint16_t machine;
    uint32_t nsections, nsymbols;
    struct code_section *sections;
    const char *symbols; /* Elf64_Sym, at any alignment */
    struct str names;    /* of symbols */
};

struct code_function {
    char *name;
    void *address;
};

struct rt_code {
    hilo_allocator al;
    char *pages;
    size_t bytes, group_at[CODE_GROUPS], group_bytes[CODE_GROUPS];
    struct code_function *functions; /* by name */
    uint32_t nfunctions, capacity;
    char *names; /* of all functions */
    size_t names_bytes;
};

static hilo_status code_bad(struct diag_list *d, const char *what) {
    return diag_error(d, HILO_INVALID_ARGUMENT, "object file: %s", what);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool code_inside(size_t whole, uint64_t at, uint64_t n) {
    return at <= whole && n <= whole - at;
}

static hilo_status code_header(struct code_object *o, unsigned flags, struct diag_list *d, Elf64_Ehdr *h) {
    if (o->bytes.n < sizeof *h)
        return code_bad(d, "shorter than its header");
    memcpy(h, o->bytes.p, sizeof *h);
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
        h->e_type != ET_REL)
        return code_bad(d, "not a relocatable 64-bit ELF file");
    if (h->e_machine != CODE_MACHINE &&
        !((flags & RT_CODE_FOREIGN) && (h->e_machine == EM_X86_64 || h->e_machine == EM_AARCH64)))
        return code_bad(d, "for another processor");
    if (h->e_shentsize != sizeof(Elf64_Shdr) || !code_inside(o->bytes.n, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
        return code_bad(d, "section headers outside of the file");
    o->machine = h->e_machine;
    return HILO_OK;
}

/* Where a section goes: at the end of its group. */
static hilo_status code_place(struct rt_code *c, const struct code_object *o, struct code_section *s, struct diag_list *d) {
    size_t align = s->h.sh_addralign > 1 ? s->h.sh_addralign : 1, at, end;
    s->group = CODE_NOWHERE;
    if (s->h.sh_type != SHT_NOBITS && !code_inside(o->bytes.n, s->h.sh_offset, s->h.sh_size))
        return code_bad(d, "a section outside of the file");
    if (!(s->h.sh_flags & SHF_ALLOC))
        return HILO_OK;
    if ((align & (align - 1)) || align > CODE_MOST_ALIGN || (s->h.sh_flags & SHF_TLS))
        return code_bad(d, "a section of an alignment or a kind that is not supported");
    s->group = s->h.sh_flags & SHF_EXECINSTR ? CODE_RUN : s->h.sh_flags & SHF_WRITE ? CODE_WRITE : CODE_READ;
    at = (c->group_bytes[s->group] + align - 1) & ~(align - 1);
    if (!mem_add(at, s->h.sh_size, &end) || end > CODE_MOST_BYTES)
        return code_bad(d, "more than 1 GB of code");
    s->at = at;
    c->group_bytes[s->group] = end;
    return HILO_OK;
}

static hilo_status code_symbols(struct code_object *o, const Elf64_Shdr *h, struct diag_list *d) {
    if (h->sh_entsize != sizeof(Elf64_Sym) || h->sh_link >= o->nsections || o->symbols)
        return code_bad(d, "a symbol table that is not well formed");
    const Elf64_Shdr *names = &o->sections[h->sh_link].h;
    if (names->sh_type != SHT_STRTAB || names->sh_size == 0 || o->bytes.p[names->sh_offset + names->sh_size - 1] != '\0')
        return code_bad(d, "names of symbols that are not well formed");
    o->symbols = o->bytes.p + h->sh_offset;
    o->nsymbols = (uint32_t)(h->sh_size / sizeof(Elf64_Sym));
    o->names = (struct str){o->bytes.p + names->sh_offset, names->sh_size};
    return HILO_OK;
}

static hilo_status code_read(struct rt_code *c, struct code_object *o, unsigned flags, struct diag_list *d) {
    Elf64_Ehdr h;
    HILO_TRY(code_header(o, flags, d, &h));
    o->sections = mem_alloc(&c->al, (size_t)h.e_shnum * sizeof *o->sections);
    if (!o->sections)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    o->nsections = h.e_shnum;
    for (uint32_t i = 0; i < o->nsections; i++) {
        memcpy(&o->sections[i].h, o->bytes.p + h.e_shoff + i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
        HILO_TRY(code_place(c, o, &o->sections[i], d));
    }
    for (uint32_t i = 0; i < o->nsections; i++)
        if (o->sections[i].h.sh_type == SHT_SYMTAB)
            HILO_TRY(code_symbols(o, &o->sections[i].h, d));
    return HILO_OK;
}

/* ---- layout ---------------------------------------------------------------------------------- */

static hilo_status code_map(struct rt_code *c, struct diag_list *d) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), at = 0;
    for (int g = 0; g < CODE_GROUPS; g++) {
        c->group_at[g] = at;
        at += (c->group_bytes[g] + page - 1) & ~(page - 1);
    }
    c->bytes = at ? at : page;
    if (c->bytes > CODE_MOST_BYTES)
        return code_bad(d, "more than 1 GB of code");
    void *p = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory for %zu bytes of code", c->bytes);
    c->pages = p;
    return HILO_OK;
}

static char *code_address(const struct rt_code *c, const struct code_section *s) {
    return c->pages + c->group_at[s->group] + s->at;
}

static void code_copy(struct rt_code *c, const struct code_object *o) {
    for (uint32_t i = 0; i < o->nsections; i++) {
        const struct code_section *s = &o->sections[i];
        if (s->group != CODE_NOWHERE && s->h.sh_type != SHT_NOBITS && s->h.sh_size)
            memcpy(code_address(c, s), o->bytes.p + s->h.sh_offset, s->h.sh_size);
    }
}

static hilo_status code_protect(struct rt_code *c, struct diag_list *d) {
    static const int kinds[CODE_GROUPS] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int g = 0; g < CODE_GROUPS; g++)
        if (c->group_bytes[g] && mprotect(c->pages + c->group_at[g], c->group_bytes[g], kinds[g]) != 0)
            return diag_error(d, HILO_PERMISSION_DENIED, "the system does not let memory be run as code");
    __builtin___clear_cache(c->pages, c->pages + c->bytes);
    return HILO_OK;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static Elf64_Sym code_symbol(const struct code_object *o, uint32_t i) {
    Elf64_Sym s;
    memcpy(&s, o->symbols + i * sizeof s, sizeof s);
    return s;
}

/* The address of a symbol; NULL when it is not in the object. */
static const char *code_symbol_address(const struct rt_code *c, const struct code_object *o, const Elf64_Sym *s) {
    if (s->st_shndx == SHN_UNDEF || s->st_shndx >= o->nsections)
        return NULL;
    const struct code_section *in = &o->sections[s->st_shndx];
    return in->group != CODE_NOWHERE && s->st_value <= in->h.sh_size ? code_address(c, in) + s->st_value : NULL;
}

static const char *code_symbol_name(const struct code_object *o, const Elf64_Sym *s) {
    return s->st_name < o->names.n ? o->names.p + s->st_name : "?";
}

static bool code_is_function(const Elf64_Sym *s) {
    return ELF64_ST_TYPE(s->st_info) == STT_FUNC && ELF64_ST_BIND(s->st_info) != STB_LOCAL;
}

/* Room for the functions of all objects. */
static hilo_status code_reserve(struct rt_code *c, const struct code_object *objects, uint32_t n, struct diag_list *d) {
    size_t count = 0, bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < objects[i].nsymbols; j++) {
            Elf64_Sym s = code_symbol(&objects[i], j);
            if (!code_is_function(&s))
                continue;
            count++;
            if (!mem_add(bytes, strlen(code_symbol_name(&objects[i], &s)) + 1, &bytes))
                return code_bad(d, "names that are too long");
        }
    if (count > UINT32_MAX / sizeof *c->functions)
        return code_bad(d, "too many functions");
    c->capacity = (uint32_t)count;
    c->functions = mem_alloc(&c->al, count * sizeof *c->functions);
    c->names = mem_alloc(&c->al, bytes);
    c->names_bytes = bytes;
    return c->functions && c->names ? HILO_OK : diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
}

static hilo_status code_functions(struct rt_code *c, const struct code_object *o, char **names, struct diag_list *d) {
    for (uint32_t j = 1; j < o->nsymbols; j++) {
        Elf64_Sym s = code_symbol(o, j);
        const char *address = code_symbol_address(c, o, &s), *name = code_symbol_name(o, &s);
        if (s.st_shndx == SHN_UNDEF && *name)
            return diag_error(d, HILO_INVALID_ARGUMENT, "object file: refers to '%.64s', which is outside", name);
        if (!code_is_function(&s))
            continue;
        if (!address)
            return code_bad(d, "a function outside of its section");
        size_t n = strlen(name) + 1;
        memcpy(*names, name, n);
        c->functions[c->nfunctions++] = (struct code_function){*names, (void *)address};
        *names += n;
    }
    return HILO_OK;
}

static int code_by_name(const void *a, const void *b) {
    const struct code_function *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* ---- relocation ------------------------------------------------------------------------------ */

/* One place to be patched. */
struct code_patch {
    char *at;
    size_t room;     /* bytes from there to the end of the section */
    uint64_t target; /* S + A */
    uint64_t place;  /* P */
};

static bool code_put(const struct code_patch *p, uint64_t value, size_t bytes) {
    if (p->room < bytes)
        return false;
    memcpy(p->at, &value, bytes);
    return true;
}

static bool code_put_distance32(const struct code_patch *p) {
    int64_t distance = (int64_t)(p->target - p->place);
    return distance == (int32_t)distance && code_put(p, (uint64_t)distance, 4);
}

static bool code_patch_x86(uint32_t type, const struct code_patch *p) {
    switch (type) {
    case R_X86_64_NONE:
        return true;
    case R_X86_64_64:
        return code_put(p, p->target, 8);
    case R_X86_64_PC64:
        return code_put(p, p->target - p->place, 8);
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        return code_put_distance32(p);
    default:
        return false;
    }
}

/* Replaces the bits of an instruction from `low` on. */
static bool code_put_field(const struct code_patch *p, uint64_t value, unsigned low, unsigned width) {
    uint32_t insn, field = (uint32_t)(((uint64_t)1 << width) - 1);
    if (p->room < sizeof insn)
        return false;
    memcpy(&insn, p->at, sizeof insn);
    insn = (insn & ~(field << low)) | ((uint32_t)value & field) << low;
    memcpy(p->at, &insn, sizeof insn);
    return true;
}

/* Bits 11 … scale of an address, for an access of 1 << scale bytes. */
static bool code_put_low12(const struct code_patch *p, unsigned scale) {
    uint64_t low = p->target & 0xFFF;
    return (low & (((uint64_t)1 << scale) - 1)) == 0 && code_put_field(p, low >> scale, 10, 12);
}

static bool code_patch_aarch64(uint32_t type, const struct code_patch *p) {
    int64_t distance = (int64_t)(p->target - p->place), pages = (int64_t)((p->target >> 12) - (p->place >> 12));
    switch (type) {
    case R_AARCH64_NONE:
        return true;
    case R_AARCH64_ABS64:
        return code_put(p, p->target, 8);
    case R_AARCH64_PREL64:
        return code_put(p, p->target - p->place, 8);
    case R_AARCH64_PREL32:
        return code_put_distance32(p);
    case R_AARCH64_ADR_PREL_PG_HI21:
        return pages >= -(1 << 20) && pages < 1 << 20 && code_put_field(p, (uint64_t)pages & 3, 29, 2) &&
               code_put_field(p, (uint64_t)(pages >> 2), 5, 19);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
        return code_put_low12(p, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC:
        return code_put_low12(p, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC:
        return code_put_low12(p, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC:
        return code_put_low12(p, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC:
        return code_put_low12(p, 4);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        return distance >= -(1 << 27) && distance < 1 << 27 && (distance & 3) == 0 &&
               code_put_field(p, (uint64_t)(distance >> 2), 0, 26);
    default:
        return false;
    }
}

static hilo_status code_relocate(struct rt_code *c, const struct code_object *o, const Elf64_Shdr *h, struct diag_list *d) {
    if (h->sh_entsize != sizeof(Elf64_Rela) || h->sh_info >= o->nsections)
        return code_bad(d, "relocations that are not well formed");
    const struct code_section *in = &o->sections[h->sh_info];
    if (in->group == CODE_NOWHERE)
        return HILO_OK;
    for (uint64_t i = 0; i < h->sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela r;
        memcpy(&r, o->bytes.p + h->sh_offset + i * sizeof r, sizeof r);
        uint32_t type = (uint32_t)ELF64_R_TYPE(r.r_info), symbol = (uint32_t)ELF64_R_SYM(r.r_info);
        Elf64_Sym s = symbol < o->nsymbols ? code_symbol(o, symbol) : (Elf64_Sym){0};
        const char *target = code_symbol_address(c, o, &s);
        if (!target || r.r_offset > in->h.sh_size)
            return code_bad(d, "a relocation to or at a place that is not in it");
        char *at = code_address(c, in) + r.r_offset;
        struct code_patch p = {at, in->h.sh_size - r.r_offset, (uint64_t)(uintptr_t)target + (uint64_t)r.r_addend,
                               (uint64_t)(uintptr_t)at};
        if (!(o->machine == EM_X86_64 ? code_patch_x86(type, &p) : code_patch_aarch64(type, &p)))
            return diag_error(d, HILO_INVALID_ARGUMENT, "object file: relocation of type %u, which is not supported or too far",
                              type);
    }
    return HILO_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

static hilo_status code_link(struct rt_code *c, const struct code_object *objects, uint32_t n, struct diag_list *d) {
    HILO_TRY(code_map(c, d));
    HILO_TRY(code_reserve(c, objects, n, d));
    char *names = c->names;
    for (uint32_t i = 0; i < n; i++) {
        code_copy(c, &objects[i]);
        HILO_TRY(code_functions(c, &objects[i], &names, d));
        for (uint32_t j = 0; j < objects[i].nsections; j++) {
            if (objects[i].sections[j].h.sh_type == SHT_RELA)
                HILO_TRY(code_relocate(c, &objects[i], &objects[i].sections[j].h, d));
            else if (objects[i].sections[j].h.sh_type == SHT_REL)
                return code_bad(d, "relocations without addends");
        }
    }
    if (c->nfunctions)
        qsort(c->functions, c->nfunctions, sizeof *c->functions, code_by_name);
    for (uint32_t i = 1; i < c->nfunctions; i++)
        if (strcmp(c->functions[i - 1].name, c->functions[i].name) == 0)
            return diag_error(d, HILO_INVALID_ARGUMENT, "object file: '%.64s' is defined twice", c->functions[i].name);
    return code_protect(c, d);
}

hilo_status rt_code_load(const struct str *objects, uint32_t n, unsigned flags, hilo_allocator al, struct diag_list *d,
                         struct rt_code **out) {
    struct rt_code *c = mem_alloc(&al, sizeof *c);
    struct code_object *read = mem_alloc(&al, n * sizeof *read);
    hilo_status s = c && read ? HILO_OK : diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    if (c)
        *c = (struct rt_code){.al = al};
    for (uint32_t i = 0; read && i < n; i++)
        read[i] = (struct code_object){.bytes = objects[i]};
    for (uint32_t i = 0; i < n && s == HILO_OK; i++)
        s = code_read(c, &read[i], flags, d);
    if (s == HILO_OK)
        s = code_link(c, read, n, d);
    for (uint32_t i = 0; read && i < n; i++)
        if (read[i].sections)
            mem_free(&al, read[i].sections, read[i].nsections * sizeof *read[i].sections);
    if (read)
        mem_free(&al, read, n * sizeof *read);
    if (s == HILO_OK)
        *out = c;
    else
        rt_code_free(c);
    return s;
}

void rt_code_free(struct rt_code *c) {
    if (!c)
        return;
    hilo_allocator al = c->al;
    if (c->pages)
        munmap(c->pages, c->bytes);
    if (c->functions)
        mem_free(&al, c->functions, c->capacity * sizeof *c->functions);
    if (c->names)
        mem_free(&al, c->names, c->names_bytes);
    mem_free(&al, c, sizeof *c);
}

hilo_kernel_fn *rt_code_find(const struct rt_code *c, const char *name) {
    uint32_t low = 0, high = c->nfunctions;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = strcmp(name, c->functions[mid].name);
        hilo_kernel_fn *fn;
        if (order == 0) {
            memcpy(&fn, &c->functions[mid].address, sizeof fn); /* C has no cast from an object's address to a function's */
            return fn;
        }
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

size_t rt_code_bytes(const struct rt_code *c) {
    return c->bytes;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static struct {
    pthread_once_t once;
    bool permitted;
} code_tiles = {.once = PTHREAD_ONCE_INIT};

static void code_ask_for_tiles(void) {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    code_tiles.permitted = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#endif
}

bool rt_code_tiles(void) {
    pthread_once(&code_tiles.once, code_ask_for_tiles);
    return code_tiles.permitted;
}
