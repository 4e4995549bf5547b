/* Asks `hilo serve` for the continuation of a text, with nothing but POSIX sockets, and prints the answer as it comes.
 *
 *   cc -std=c11 -D_POSIX_C_SOURCE=200809L chat.c -o chat && ./chat 127.0.0.1 8080 'Once upon a time' */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int connect_to(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    if (getaddrinfo(host, port, &hints, &list))
        return -1;
    int fd = socket(list->ai_family, list->ai_socktype, list->ai_protocol);
    if (fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen)) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    return fd;
}

/* A JSON string; control characters become spaces. */
static void put_string(FILE *f, const char *text) {
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', f);
        fputc((unsigned char)*text < 0x20 ? ' ' : *text, f);
    }
    fputc('"', f);
}

int main(int argc, char **argv) {
    char *body, line[65536];
    size_t n;
    if (argc != 4) {
        fprintf(stderr, "usage: %s HOST PORT TEXT\n", argv[0]);
        return 2;
    }
    FILE *f = open_memstream(&body, &n);
    if (!f)
        return 1;
    fputs("{\"max_tokens\": 40, \"stream\": true, \"prompt\": ", f);
    put_string(f, argv[3]);
    fputc('}', f);
    fclose(f);
    int fd = connect_to(argv[1], argv[2]);
    FILE *server = fd < 0 ? NULL : fdopen(fd, "r+");
    if (!server) {
        perror(argv[1]);
        return 1;
    }
    fprintf(server, "POST /v1/completions HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s", argv[1],
            n, body);
    fflush(server);
    while (fgets(line, sizeof line, server)) { /* lines `data: {…,"text":"…",…}`; those of the protocol are left out */
        char *text = strncmp(line, "data: ", 6) == 0 ? strstr(line, "\"text\":\"") : NULL;
        for (char *p = text ? text + 8 : NULL; p && *p && *p != '"'; p++) {
            if (*p == '\\' && *++p == 'n')
                *p = '\n';
            putchar(*p);
        }
        fflush(stdout);
    }
    putchar('\n');
    fclose(server);
    free(body);
    return 0;
}
