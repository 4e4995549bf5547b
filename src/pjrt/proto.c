/* The wire format of protocol buffers: fields of varints, of fixed numbers, and of bytes with a length. */
#include "pjrt/pjrt.h"

bool pjrt_proto_value(struct str *s, uint64_t *out) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && s->n; shift += 7) {
        uint8_t byte = (uint8_t)*s->p;
        s->p++;
        s->n--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool proto_fixed(struct str *s, size_t bytes, uint64_t *out) {
    *out = 0;
    if (s->n < bytes)
        return false;
    for (size_t i = bytes; i-- > 0;)
        *out = *out << 8 | (uint8_t)s->p[i];
    s->p += bytes;
    s->n -= bytes;
    return true;
}

int pjrt_proto_next(struct str *message, struct pjrt_field *out) {
    enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
    uint64_t tag, length;
    *out = (struct pjrt_field){.bytes = {NULL, 0}};
    if (!message->n)
        return 0;
    if (!pjrt_proto_value(message, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return -1;
    out->number = (uint32_t)(tag >> 3);
    switch (tag & 7) {
    case VARINT:
        return pjrt_proto_value(message, &out->value) ? 1 : -1;
    case FIXED64:
        return proto_fixed(message, 8, &out->value) ? 1 : -1;
    case FIXED32:
        return proto_fixed(message, 4, &out->value) ? 1 : -1;
    case BYTES:
        if (!pjrt_proto_value(message, &length) || length > message->n)
            return -1;
        out->bytes = (struct str){message->p, (size_t)length};
        message->p += length;
        message->n -= (size_t)length;
        return 1;
    default:
        return -1;
    }
}

static void put_varint(struct strbuf *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        strbuf_putc(out, (char)(value | 0x80));
    strbuf_putc(out, (char)value);
}

void pjrt_proto_varint(struct strbuf *out, uint32_t number, uint64_t value) {
    put_varint(out, (uint64_t)number << 3);
    put_varint(out, value);
}

void pjrt_proto_bytes(struct strbuf *out, uint32_t number, struct str bytes) {
    put_varint(out, (uint64_t)number << 3 | 2);
    put_varint(out, bytes.n);
    strbuf_str(out, bytes);
}
