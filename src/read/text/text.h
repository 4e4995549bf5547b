/* The MLIR text reader: shared state of its parts.
 *
 *   lex.c     tokens                        op.c      operations, regions, functions, the module
 *   type.c    types                         custom.c  the hand-written pieces of op syntax, <word> in ops.def
 *   attr.c    attributes                    struct.c  attributes of our dialects: enumerations and structs
 *   alias.c   aliases, locations            dense.c   dense<…> literals, hex and decimal, at memory speed
 *
 * Recursive descent over one look-ahead token. Every function that can fail returns a status after adding one diagnostic
 * at the offending token; the first error ends the parse. Nesting is bounded by TEXT_DEPTH. Memory: the module's arena. */
#ifndef HILO_READ_TEXT_H
#define HILO_READ_TEXT_H

#include "ir/ir.h"

enum { TEXT_DEPTH = 256 };

enum text_kind {
    TEXT_EOF, TEXT_BAD,
    TEXT_IDENT,      /* bare identifier or keyword, with dots: stablehlo.add, dense, x, tensor */
    TEXT_PERCENT,    /* %name, without #k: text is the name after % */
    TEXT_AT,         /* @name or @"name": text is the name, unescaped */
    TEXT_CARET,      /* ^name */
    TEXT_HASH,       /* #name: alias or attribute of a dialect */
    TEXT_BANG,       /* !name */
    TEXT_INT,        /* 12, 0x1F; no sign */
    TEXT_FLOAT,      /* 1.5, 1.0e+3 */
    TEXT_STRING,     /* "…": text is the raw inside, escapes not yet resolved */
    TEXT_LPAREN, TEXT_RPAREN, TEXT_LBRACE, TEXT_RBRACE, TEXT_LSQUARE, TEXT_RSQUARE, TEXT_LESS, TEXT_GREATER,
    TEXT_COMMA, TEXT_COLON, TEXT_COLON2 /* :: */, TEXT_EQUAL, TEXT_ARROW, TEXT_MINUS, TEXT_PLUS, TEXT_STAR, TEXT_QUESTION,
    TEXT_SLASH, TEXT_ELLIPSIS, TEXT_FILE_META_BEGIN /* {-# */, TEXT_FILE_META_END /* #-} */
};

struct text_tok {
    enum text_kind kind;
    struct str text;       /* see the kinds */
    const char *at;        /* first byte in the source */
};

struct text_aliases; /* by name (alias.c) */
struct text_scope;   /* SSA names of one isolated region (op.c) */

struct text_parser {
    struct ir_module *m;
    struct diag_list *d;
    const char *begin, *at, *end; /* source; `at` is after the current token */
    struct text_tok tok;          /* the current (not yet consumed) token */
    const char *last;             /* end of the token consumed before it */
    int depth;
    /* line counting is incremental: line_at is in line line_no, which starts at line_begin */
    const char *line_at;
    const char *line_begin;
    uint32_t line_no;
    struct text_aliases *aliases;
    struct text_scope *scope;
};

/* ---- tokens (lex.c) ---- */
void text_lex_init(struct text_parser *p, struct ir_module *m, struct diag_list *d, struct str source);
void text_next(struct text_parser *p);                       /* advances to the next token */
/* Restart the lexer in the middle of a token: inside <…> of types dimensions are lexed by hand (`2x3xf32`). */
void text_resume(struct text_parser *p, const char *at);
static inline bool text_is(const struct text_parser *p, enum text_kind k) { return p->tok.kind == k; }
bool text_is_word(const struct text_parser *p, const char *word);  /* IDENT with that text */
bool text_accept(struct text_parser *p, enum text_kind k);         /* consumes it when it is there */
bool text_accept_word(struct text_parser *p, const char *word);
hilo_status text_expect(struct text_parser *p, enum text_kind k);
hilo_status text_expect_word(struct text_parser *p, const char *word);
/* Line and column of a place in the source; cheap when places come in rising order. */
void text_place(struct text_parser *p, const char *at, uint32_t *line, uint32_t *col);
/* An error at a place (NULL = the current token). Returns HILO_INVALID_ARGUMENT. */
hilo_status text_error(struct text_parser *p, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same for a broken constraint of the specification, such as "quantized_element_type_c5". */
hilo_status text_constraint(struct text_parser *p, const char *at, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* "expected `what`, found …" for the current token; where it starts a new line, at the end of the token before it,
   because that is where something is missing. text_expect and text_expect_word report through it. */
hilo_status text_expected(struct text_parser *p, const char *what);
hilo_status text_enter(struct text_parser *p);               /* one level deeper; an error beyond TEXT_DEPTH */
static inline void text_leave(struct text_parser *p) { p->depth--; }
/* The contents of a STRING token with its escapes (\n, \t, \\, \", \XX hex) resolved; `raw` itself if there are none. */
hilo_status text_unescape(struct text_parser *p, struct str raw, struct str *out);

hilo_status text_i64(struct text_parser *p, int64_t *out);                /* [-]INT */
hilo_status text_f64(struct text_parser *p, double *out);                 /* [-]FLOAT or INT; 0x… = the bits */
hilo_status text_bool(struct text_parser *p, bool *out);
/* `[1, ?, 3]` into the arena; `?` = IR_DYNAMIC. */
hilo_status text_dims(struct text_parser *p, const int64_t **out, uint32_t *n);
/* A balanced stretch of text from the current token up to (not including) the first token of kind `stop` at depth 0;
   brackets (), [], {}, <> and strings are matched. For attributes and types of other dialects. */
hilo_status text_balanced(struct text_parser *p, enum text_kind stop, struct str *out);
/* An attribute or type of another dialect at its HASH or BANG token, with its `<…>` if there is one: all as written. */
hilo_status text_opaque(struct text_parser *p, struct str *out);

/* ---- types (type.c) ---- */
hilo_status text_type(struct text_parser *p, ir_type *out);
hilo_status text_type_list(struct text_parser *p, ir_type **out, uint32_t *n);           /* t, t, t (at least one) */
/* `(t, t) -> t` or `(t) -> (t, t)`: a FUNCTION type. */
hilo_status text_function_type(struct text_parser *p, ir_type *out);

/* ---- attributes (attr.c, struct.c, dense.c) ---- */
/* Any attribute. `expected` (may be none) is the type of a number or dense constant without one. */
hilo_status text_attr(struct text_parser *p, ir_type expected, ir_attr *out);
/* An attribute in the short form that `form` (and its enum or struct `of`) allows inside custom assembly: `3`, `[1, 2]`,
   `EQ`, `true`, `"x"`, `@f`, `dense<…> : t`; also `array<…>`, and what starts with #. A number takes no `: type`. */
hilo_status text_attr_form(struct text_parser *p, enum ir_attr_form form, int of, ir_attr *out);
/* `{name = attr, name, "quoted" = attr}` at `{`: names and attributes appended to `out` in the arena; no name twice. */
struct text_attrs { struct { ir_str name; ir_attr attr; const char *at; } *v; uint32_t n, cap; };
hilo_status text_attr_dict(struct text_parser *p, struct text_attrs *out);
/* `dense<…> : type` at the word dense. The body is skipped in one scan, the type after it is read, then the body
   is converted straight into the type's storage. */
hilo_status text_dense(struct text_parser *p, ir_type expected, ir_attr *out);
/* One number, `true`, `false` or `(re, im)` at `s`, range-checked and stored at `out` as a constant of type `t` stores
   it; its end in `next`. */
hilo_status text_element(struct text_parser *p, enum ir_dtype t, const char *s, const char *end, void *out,
                         const char **next);
/* `#dialect.name<…>` or `#dialect<name …>` at its HASH token; of dialects that are not ours, it is kept as text. */
hilo_status text_dialect_attr(struct text_parser *p, ir_attr *out);
/* The bare case of an enumeration: EQ. */
hilo_status text_case(struct text_parser *p, enum ir_enum e, ir_attr *out);
/* The inside of `#dialect.mnemonic<` … `>`, from `<` to `>`, by the struct's table. */
hilo_status text_struct_body(struct text_parser *p, enum ir_struct s, ir_attr *out);
/* The inside of `#stablehlo.conv<` … `>` without the brackets: `[b, 0, f]x[0, i, o]->[b, 0, f]`. */
hilo_status text_conv_dims(struct text_parser *p, ir_attr *out);

/* ---- aliases, locations (alias.c) ---- */
/* An alias definition, `#name = attribute` or `!name = type`, at its HASH or BANG token: for the top level of op.c.
   Uses may come before the definition, as MLIR prints locations. */
hilo_status text_alias(struct text_parser *p);
/* The attribute or type that the HASH or BANG token, a name without dots, stands for: for text_attr and text_type. */
hilo_status text_alias_attr(struct text_parser *p, ir_attr *out);
hilo_status text_alias_type(struct text_parser *p, ir_type *out);
/* `loc(…)` at the word loc; an alias inside is resolved. */
hilo_status text_loc(struct text_parser *p, ir_attr *out);

/* ---- ops (op.c, custom.c) ---- */

/* A use of a value: `%name` or `%name#index`; or a definition: `%name` or `%name:count`, with the count as index. */
struct text_operand { struct str name; uint32_t index; const char *at; };
/* An argument of a block that is defined before its region is read. */
struct text_arg { struct text_operand name; ir_type type; ir_attr loc; };
struct text_args { struct text_arg *v; uint32_t n, cap; };

/* An op while it is read. Reused for the next op at the same depth of nesting. */
struct text_state {
    enum ir_op_kind kind;
    struct str name;                                                  /* of IR_UNREGISTERED */
    const char *at;                                                   /* the op's name in the source */
    uint32_t line, col;                                               /* of that */
    const char *types_at;                                             /* where the types are written */
    struct { struct text_operand *v; uint32_t n, cap; } names;        /* left of the = */
    struct { struct text_operand *v; uint32_t n, cap; } operands;     /* uses, resolved once their types are known */
    struct { ir_val *v; uint32_t n, cap; } values;                    /* operands, resolved */
    struct { ir_type *v; uint32_t n, cap; } operand_types, result_types;
    struct { ir_attr *v; uint32_t n, cap; } props;                    /* one for each of the kind's slots */
    struct text_attrs attrs;                                          /* from dictionaries, inherent ones among them */
    /* the block of each region; none where it is empty */
    struct { ir_block *v; uint32_t n, cap; } regions;
    ir_attr loc;
};

/* What the pieces of op syntax are made of. All append to the state. */
hilo_status text_operand(struct text_parser *p, struct text_operand *out);                /* a use */
hilo_status text_name(struct text_parser *p, struct text_operand *out);                   /* a definition, count 1 */
/* uses with commas; may be none */
hilo_status text_operands(struct text_parser *p, struct text_state *s);
hilo_status text_paren_operands(struct text_parser *p, struct text_state *s);             /* the same in parentheses */
hilo_status text_signature(struct text_parser *p, struct text_state *s);                  /* (types) -> types */
void text_operand_type(struct text_parser *p, struct text_state *s, ir_type t);
void text_result_type(struct text_parser *p, struct text_state *s, ir_type t);
hilo_status text_dict(struct text_parser *p, struct text_state *s);                       /* {…} where there is one */
/* A second value for the same attribute is an error at `at`. */
hilo_status text_prop(struct text_parser *p, struct text_state *s, uint32_t slot, ir_attr a, const char *at);
/* An attribute as its slot's form prints it. */
hilo_status text_prop_form(struct text_parser *p, struct text_state *s, uint32_t slot);
/* `%name : type loc(…)`, the location where there is one. */
hilo_status text_arg(struct text_parser *p, struct text_args *args);
/* `{…}`. With `args` the block has these and no label; without, it may have a label with arguments. */
hilo_status text_region(struct text_parser *p, struct text_state *s, const struct text_args *args);
/* Reads the <word> of a form. */
hilo_status text_custom(struct text_parser *p, struct text_state *s, struct str word);

/* ---- entry ----------------------------------------------------------------------------------- */

/* Reads a module, or functions without one, which get a module around them. `source` is a whole file, or a part of m->text
   that begins with line `first_line`; an empty m->text is set to `source`. Diagnostics count and quote m->text's lines. */
hilo_status read_text(struct ir_module *m, struct diag_list *d, struct str source, uint32_t first_line);

/* Takes the next part off `rest`: parts are divided by lines that begin with `// -----`, as MLIR's tests are; parts of white
   space alone are skipped. `line` is the line that `rest` begins with (1 at first); `first_line` is the part's. False
   at the end. */
bool read_next_part(struct str *rest, uint32_t *line, struct str *part, uint32_t *first_line);

#endif
