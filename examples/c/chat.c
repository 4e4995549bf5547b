/* chat.c: a conversation with a language model in a terminal.
 *
 *     cc chat.c $(pkg-config --cflags --libs hilo) -o chat
 *     ./chat Llama-3.2-1B-Instruct */
#define HILO_EXPERIMENTAL
#include <hilo.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MESSAGES = 100, MOST_TOKENS = 8192, MOST_LINE = 4096 };

/* The conversation; the current answer grows at its end. */
static struct {
    hilo_llm_message messages[MOST_MESSAGES];
    size_t n;
    char *answer;
    size_t nanswer;
} talk;

static char *keep(const char *text, size_t n) {
    char *copy = malloc(n + 1);
    if (!copy)
        exit(3);
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

static void say(const char *role, char *content) {
    talk.messages[talk.n++] = (hilo_llm_message){role, content};
}

static int on_text(void *user, const char *text, size_t n) {
    (void)user;
    char *longer = realloc(talk.answer, talk.nanswer + n + 1);
    if (!longer)
        return 1;
    memcpy(longer + talk.nanswer, text, n);
    talk.nanswer += n;
    longer[talk.nanswer] = '\0';
    talk.answer = longer;
    fwrite(text, 1, n, stdout);
    fflush(stdout);
    return 0;
}

static hilo_status answer(hilo_llm *model) {
    static int32_t prompt[MOST_TOKENS];
    size_t n = 0;
    hilo_generate_options options;
    hilo_generate_options_init(&options);
    options.on_text = on_text;
    options.max_tokens = 256;
    talk.answer = NULL;
    talk.nanswer = 0;
    hilo_status status = hilo_llm_encode_chat(model, talk.messages, talk.n, prompt, MOST_TOKENS, &n);
    if (status == HILO_OK && n > MOST_TOKENS)
        status = HILO_OUT_OF_RANGE;
    if (status == HILO_OK)
        status = hilo_llm_generate(model, prompt, n, &options, NULL, 0, NULL);
    putchar('\n');
    say("assistant", talk.answer ? talk.answer : keep("", 0));
    return status;
}

int main(int argc, char **argv) {
    hilo_client *client = NULL;
    hilo_llm *model = NULL;
    char line[MOST_LINE];
    if (argc != 2) {
        fprintf(stderr, "usage: %s MODEL\n", argv[0]);
        return 2;
    }
    hilo_status status = hilo_client_create(NULL, &client);
    if (status == HILO_OK)
        status = hilo_llm_load(client, argv[1], NULL, &model);
    while (status == HILO_OK && talk.n + 2 <= MOST_MESSAGES && fgets(line, sizeof line, stdin)) {
        say("user", keep(line, strcspn(line, "\n")));
        status = answer(model);
    }
    if (status != HILO_OK && client)
        hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
    for (size_t i = 0; i < talk.n; i++)
        free((char *)talk.messages[i].content);
    hilo_llm_release(model);
    hilo_client_release(client);
    return status == HILO_OK ? 0 : 1;
}
