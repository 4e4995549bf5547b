/* The object file: code with its constants, and the symbols of its functions. Nothing is left to relocate. */
#include "x86/x86.h"

#include <elf.h>

void x86_function_end(struct x86_module *m, struct x86_function *f) {
    struct x86_frame frame;
    if (!m->refused)
        x86_select(m, f);
    if (!m->refused)
        x86_allocate(m, f, &frame);
    if (!m->refused)
        x86_encode(m, f, &frame);
}

enum { OBJECT_NONE, OBJECT_TEXT, OBJECT_STACK, OBJECT_SYMBOLS, OBJECT_STRINGS, OBJECT_SECTIONS };

struct str x86_object(struct x86_module *m) {
    static const char section_names[] = "\0.text\0.note.GNU-stack\0.symtab\0.strtab";
    uint32_t nfunctions = 0;
    x86_encode_constants(m);
    size_t names = sizeof section_names, align = 8;
    for (const struct x86_function *f = m->functions; f; f = f->next, nfunctions++)
        names += strlen(f->name) + 1;
    size_t text = 64, symbols = (text + m->ncode + align - 1) & ~(align - 1);
    size_t strings = symbols + (nfunctions + 1) * sizeof(Elf64_Sym), headers = (strings + names + align - 1) & ~(align - 1);
    size_t bytes = headers + OBJECT_SECTIONS * sizeof(Elf64_Shdr), name = sizeof section_names;
    char *p = ARENA_ARRAY(m->arena, char, bytes);
    Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                    .e_type = ET_REL,
                    .e_machine = EM_X86_64,
                    .e_version = EV_CURRENT,
                    .e_shoff = headers,
                    .e_ehsize = sizeof h,
                    .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = OBJECT_SECTIONS,
                    .e_shstrndx = OBJECT_STRINGS};
    memcpy(p, &h, sizeof h);
    if (m->ncode)
        memcpy(p + text, m->code, m->ncode);
    memcpy(p + strings, section_names, sizeof section_names);
    char *symbol = p + symbols + sizeof(Elf64_Sym);
    for (const struct x86_function *f = m->functions; f; f = f->next, symbol += sizeof(Elf64_Sym)) {
        Elf64_Sym s = {.st_name = (Elf64_Word)name,
                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                       .st_shndx = OBJECT_TEXT,
                       .st_value = f->at,
                       .st_size = f->bytes};
        memcpy(symbol, &s, sizeof s);
        memcpy(p + strings + name, f->name, strlen(f->name) + 1);
        name += strlen(f->name) + 1;
    }
    Elf64_Shdr sections[OBJECT_SECTIONS] = {
        [OBJECT_TEXT] = {.sh_name = 1,
                         .sh_type = SHT_PROGBITS,
                         .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                         .sh_offset = text,
                         .sh_size = m->ncode,
                         .sh_addralign = 32},
        [OBJECT_STACK] = {.sh_name = 7, .sh_type = SHT_PROGBITS, .sh_offset = symbols, .sh_addralign = 1},
        [OBJECT_SYMBOLS] = {.sh_name = 23,
                            .sh_type = SHT_SYMTAB,
                            .sh_offset = symbols,
                            .sh_link = OBJECT_STRINGS,
                            .sh_info = 1,
                            .sh_size = (nfunctions + 1) * sizeof(Elf64_Sym),
                            .sh_addralign = 8,
                            .sh_entsize = sizeof(Elf64_Sym)},
        [OBJECT_STRINGS] = {.sh_name = 31, .sh_type = SHT_STRTAB, .sh_offset = strings, .sh_size = names, .sh_addralign = 1}};
    memcpy(p + headers, sections, sizeof sections);
    return (struct str){p, bytes};
}
