/* Speculation: several tokens are proposed, and one step computes what follows each of them (arxiv.org/abs/2211.17192, greedy).
 * Those that the model would have chosen itself are kept, so that the tokens are those of plain decoding: a verifying step
 * computes each of its rows to the bit as a decode step does.
 *
 * A session with gated delta nets can be taken back only to where the step began. What has been kept of that step is then
 * read again with the next one, in rows that proposals would take otherwise; a step without proposals ends that when it gets
 * long. */
#include "llm/generate.h"

/* ---- proposals ----------------------------------------------------------------------------------- */

/* What followed the latest earlier occurrence of the last tokens, of as many as possible up to LONGEST. */
size_t llm_propose_lookup(const struct llm_ids *seen, size_t most, int32_t *out) {
    enum { LONGEST = 3 };
    for (size_t n = LONGEST; n > 0; n--)
        for (size_t at = seen->n > n ? seen->n - n : 0; at-- > 0;) {
            size_t count = seen->n - at - n < most ? seen->n - at - n : most;
            if (memcmp(seen->v + at, seen->v + seen->n - n, n * sizeof *seen->v) != 0)
                continue;
            memcpy(out, seen->v + at + n, count * sizeof *out);
            return count;
        }
    return 0;
}

/* Tokens that a smaller model chooses, which reads what it has not read yet. */
static hilo_status propose_draft(struct llm_session *draft, const struct llm_ids *seen, size_t most, int32_t *out,
                                 size_t *count) {
    size_t same = 0, left;
    *count = 0;
    if (draft->seen.n != (size_t)draft->at[0])
        draft->seen.n = 0;
    while (same + 1 < seen->n && same < draft->seen.n && draft->seen.v[same] == seen->v[same])
        same++;
    same = llm_session_reach(draft, same);
    if (seen->n + most > (size_t)draft->limit)
        return HILO_OK;
    llm_session_rewind(draft, same);
    const int32_t *rest = seen->v + same;
    left = seen->n - same;
    HILO_TRY(llm_session_prefill(draft, &rest, &left, &out[0], NULL));
    for (size_t i = 0; i < left; i++)
        llm_ids_push(&draft->seen, rest[i]);
    llm_session_mark(draft);
    for (*count = 1; *count < most; ++*count) {
        llm_ids_push(&draft->seen, out[*count - 1]);
        HILO_TRY(llm_session_decode(draft, NULL, &out[*count], NULL));
    }
    return draft->seen.failed ? llm_error(draft->client, HILO_RESOURCE_EXHAUSTED, "out of memory") : HILO_OK;
}

/* ---- verifying ----------------------------------------------------------------------------------- */

hilo_status llm_speculation_begin(struct llm_session *s, size_t most, struct llm_session *draft, struct llm_speculation *out) {
    *out = (struct llm_speculation){.draft = draft, .most = most};
    if (most > LLM_MAX_SPECULATION)
        return llm_error(s->client, HILO_INVALID_ARGUMENT, "%zu proposed tokens were asked for; at most %d are known", most,
                         LLM_MAX_SPECULATION);
    bool same = !draft || (draft->batch == 1 && llm_tok_size(draft->tok) == llm_tok_size(s->tok));
    for (size_t i = 0; draft && same && i < llm_tok_size(s->tok); i++) {
        struct str a = llm_tok_bytes(s->tok, (int32_t)i), b = llm_tok_bytes(draft->tok, (int32_t)i);
        same = a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
    }
    return same ? HILO_OK : llm_error(s->client, HILO_INVALID_ARGUMENT, "the draft model has another vocabulary");
}

static hilo_status propose(struct llm_session *s, struct llm_speculation *p, size_t most) {
    p->from = 0;
    if (p->draft)
        HILO_TRY(propose_draft(p->draft, &s->seen, most, p->tokens, &p->n));
    else
        p->n = llm_propose_lookup(&s->seen, most, p->tokens);
    p->proposed += p->n;
    return HILO_OK;
}

hilo_status llm_speculate(struct llm_session *s, struct llm_speculation *p, size_t most, int32_t *next, size_t *n) {
    int32_t read[LLM_MAX_APART];
    size_t all = s->seen.n, known = all - (size_t)s->at[0] - 1; /* read again before the last token */
    size_t room = (size_t)s->limit - all, m;
    most = most < p->most ? most : p->most;
    most = most < room ? most : room;
    if (known >= LLM_MAX_APART / 2)
        most = p->n = 0;
    if (p->n == 0 && most)
        HILO_TRY(propose(s, p, most));
    m = p->n < LLM_MAX_APART - 1 - known ? p->n : LLM_MAX_APART - 1 - known;
    m = m < most ? m : most;
    *n = 1;
    memcpy(read, s->seen.v + s->at[0], (known + 1) * sizeof *read);
    if (m == 0 && known == 0) {
        p->n = 0;
        return llm_session_decode(s, read, next, NULL);
    }
    memcpy(read + known + 1, p->tokens + p->from, m * sizeof *read);
    if (m)
        llm_session_mark(s);
    HILO_TRY(llm_session_verify(s, read, known + 1 + m, next));
    memmove(next, next + known, (m + 1) * sizeof *next);
    while (*n <= m && next[*n - 1] == read[known + *n])
        ++*n;
    p->accepted += *n - 1;
    llm_session_rewind(s, all + *n - 1);
    s->seen.n = all; /* also where the session begins the step again */
    /* What is left of the proposals begins with the last token of this step, or is wrong. */
    p->from += *n;
    p->n = *n == m + 1 && p->n > m + 1 && p->tokens[p->from - 1] == next[*n - 1] ? p->n - m - 1 : 0;
    p->accepted += p->n ? 1 : 0;
    return HILO_OK;
}
