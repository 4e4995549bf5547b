/* hilo: finds the subcommand, runs it, and makes sure that its output was written. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        cli_help_all(stderr);
        return CLI_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0)
        return cli_version();
    if (strcmp(word, "help") == 0 && argc > 2)
        return cli_help_topic(argv[2]);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        cli_help_all(stdout);
        return CLI_OK;
    }
    const struct cli_command *c = cli_command_named(word);
    return c ? c->run(c, argc - 2, argv + 2) : cli_unknown_command(word);
}

/* A standard stream that is closed stays unusable: otherwise the next file that is opened would take its number. */
static void hold_closed_streams(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* Output that was lost is an error, whatever the command returned. */
static int flush_output(int code) {
    errno = 0;
    bool lost = fflush(stdout) != 0 || ferror(stdout);
    int reason = errno;
    if (lost && !reason && write(STDOUT_FILENO, "\n", 1) < 0) /* it was lost earlier, for what is still the reason */
        reason = errno;
    if (close(STDOUT_FILENO) != 0 && !lost && errno != EBADF) { /* a network file system reports here */
        lost = true;
        reason = errno;
    }
    if (!lost)
        return code;
    return cli_error(CLI_ENVIRONMENT, "cannot write to standard output: %s", strerror(reason ? reason : EIO));
}

int main(int argc, char **argv) {
    hold_closed_streams();
    return flush_output(dispatch(argc, argv));
}
