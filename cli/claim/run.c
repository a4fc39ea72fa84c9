/* run.c - `lethe claim run`: a command that is run once, with its output and status kept.
 *
 * IDEA    Begin the claim; run the command, passing its output on and keeping it; renew the lease
 *         while it runs; record the completion. The store is open only for each of these calls, so
 *         that others can use it meanwhile.
 * I1      What a signal ended is not done: its claim is given up. A command that was told to stop
 *         and ended by itself has said how its work went, and that is kept as ever.
 * I2      If this process dies, the command is told to stop: nobody would renew its lease. Until
 *         the lease ends nobody else gets the claim.
 * I3      A command whose claim was given to another is told to stop, and is not recorded.
 * I4      A status above 128 is a command's own unless a signal ended it: only then is it given
 *         up. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "claim/claim.h"
#include "frame/clock.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "output/output.h"
#include "say/message.h"
#include "store/store.h"

enum { RENEWALS_PER_LEASE = 3, CHUNK_BYTES = 65536, NO_CODE = -1 };
enum { LONGEST_WAIT_MS = 60000, ASK_EVERY_MS = 20 };

struct running {
    struct claim_words words;
    char *const *command;
    pid_t child;
    int pipe, exit_handle; /* its output; readable when it has ended, or -1: it is asked often */
    uint64_t renew_at_ms;
    bool has_reader, was_told, is_lost;
    bool has_ended, by_signal; /* the command; and if so, how */
    struct claim_output *output;
};

/* In the child, up to the command itself. */
static void become(const struct running *running, int to, int report, pid_t parent) {
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(EXIT_ENVIRONMENT);
    if (dup2(to, STDOUT_FILENO) >= 0) execvp(running->command[0], running->command);
    int reason = errno;
    ssize_t written = write(report, &reason, sizeof reason);
    _exit(written == (ssize_t)sizeof reason ? EXIT_ENVIRONMENT : EXIT_BY_SIGNAL);
}

/* Starts the command. */
static int start(struct running *running) {
    int output[2] = {-1, -1}, report[2] = {-1, -1}, reason = 0;
    pid_t parent = getpid();
    if (pipe2(output, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0)
        return message_fail(EXIT_ENVIRONMENT, "cannot make a pipe: %s; free some descriptors",
                            strerror(errno));
    (void)output_flush();
    running->child = fork();
    if (running->child == 0) become(running, output[1], report[1], parent);
    (void)close(output[1]);
    (void)close(report[1]);
    running->pipe = output[0];
    bool has_failed = running->child < 0 || read(report[0], &reason, sizeof reason) > 0;
    if (running->child < 0) reason = errno;
    (void)close(report[0]);
    if (!has_failed) {
        /* Refused by old kernels, by strict sandboxes, and where there are no descriptors left. */
        running->exit_handle = (int)syscall(SYS_pidfd_open, running->child, 0);
        return EXIT_DONE;
    }
    if (running->child > 0) (void)waitpid(running->child, NULL, 0);
    return message_fail(EXIT_ENVIRONMENT, "cannot run %s: %s; check the name", running->command[0],
                        strerror(reason));
}

/* Takes what the command has printed. False: there will be no more. */
static bool take_output(struct running *running) {
    static char chunk[CHUNK_BYTES];
    ssize_t got = read(running->pipe, chunk, sizeof chunk);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    if (got == 0) return false;
    claim_output_add(running->output, chunk, (size_t)got);
    if (running->has_reader)
        running->has_reader =
            output_write(chunk, (size_t)got) == EXIT_DONE && output_flush() == EXIT_DONE;
    return true;
}

/* A call about the claim, with the store opened for it. NO_CODE: it was made. */
typedef lethe_status (*short_call)(lethe_store *store, const struct running *running,
                                   lethe_claim_answer *answer);

static int call(const struct running *running, uint64_t wait_ms, short_call make,
                lethe_claim_answer *answer) {
    struct claim_words words = running->words;
    lethe_store *store;
    words.wait_ms = wait_ms;
    int code = claim_open(&words, false, &store);
    if (code != EXIT_DONE) return code;
    lethe_status status = make(store, running, answer);
    if (status != LETHE_OK) return claim_fail(&words, store, status);
    code = store_close(words.folder, store, EXIT_DONE);
    return code == EXIT_DONE ? NO_CODE : code;
}

static lethe_status renew(lethe_store *store, const struct running *running,
                          lethe_claim_answer *answer) {
    const struct claim_words *words = &running->words;
    return lethe_claim_renew(store, words->id, words->token, words->lease_ms, answer);
}

static lethe_status give_up(lethe_store *store, const struct running *running,
                            lethe_claim_answer *answer) {
    return lethe_claim_abort(store, running->words.id, running->words.token, answer);
}

static lethe_status record(lethe_store *store, const struct running *running,
                           lethe_claim_answer *answer) {
    return lethe_claim_done(store, running->words.id, running->words.token,
                            claim_output_reply(running->output), answer);
}

/* Once the command has ended, its number may be another's. */
static void tell(const struct running *running, int number) {
    if (!running->has_ended) (void)kill(running->child, number);
}

/* Why the claim is this process's no more. */
static const char *what_became(lethe_claim_answer answer) {
    if (answer == LETHE_CLAIM_DONE || answer == LETHE_CLAIM_DUPLICATE)
        return "the claim was completed by another process meanwhile";
    if (answer == LETHE_CLAIM_UNKNOWN) return "the claim was aborted or forgotten meanwhile";
    return "the claim was given to another, since its lease had ended";
}

static void renew_lease(struct running *running) {
    lethe_claim_answer answer = LETHE_CLAIM_RENEWED;
    uint64_t span_ms = running->words.lease_ms / RENEWALS_PER_LEASE + 1;
    int code = call(running, span_ms / 2 + 1, renew, &answer);
    running->renew_at_ms = clock_ms() + span_ms;
    if (code != NO_CODE) {
        message_warn("the lease could not be renewed; the next attempt follows");
        return;
    }
    if (answer == LETHE_CLAIM_RENEWED) return;
    message_warn("%s; stopping the command", what_became(answer));
    running->is_lost = true;
    tell(running, SIGTERM);
}

/* Takes the command's status as a shell has it, if it has ended. */
static void ask_for_end(struct running *running) {
    int ended;
    if (waitpid(running->child, &ended, WNOHANG) != running->child) return;
    running->has_ended = true;
    running->by_signal = WIFSIGNALED(ended);
    running->output->status =
        running->by_signal ? EXIT_BY_SIGNAL + WTERMSIG(ended) : WEXITSTATUS(ended);
}

/* Waits for output, the command's end, a signal, or the time to renew. Returns whether there is
 * output. */
static bool wait_for_something(struct running *running) {
    uint64_t now_ms = clock_ms();
    uint64_t wait_ms = running->renew_at_ms > now_ms ? running->renew_at_ms - now_ms : 0;
    struct pollfd places[] = {
        {.fd = running->pipe, .events = POLLIN},
        {.fd = running->exit_handle, .events = POLLIN},
        {.fd = running->was_told ? -1 : interrupt_descriptor(), .events = POLLIN}};
    uint64_t longest_ms = running->exit_handle >= 0 ? LONGEST_WAIT_MS : ASK_EVERY_MS;
    if (wait_ms > longest_ms) wait_ms = longest_ms;
    int ready = poll(places, sizeof places / sizeof places[0], (int)wait_ms);
    if (running->exit_handle < 0 || (ready > 0 && places[1].revents != 0)) ask_for_end(running);
    return ready > 0 && places[0].revents != 0;
}

/* Until the command has ended. */
static void attend(struct running *running) {
    while (!running->has_ended) {
        if (wait_for_something(running) && !take_output(running)) {
            (void)close(running->pipe);
            running->pipe = -1;
        }
        if (interrupt_requested() && !running->was_told) {
            running->was_told = true;
            tell(running, interrupt_code() - EXIT_BY_SIGNAL);
        }
        if (!running->has_ended && !running->is_lost && clock_ms() >= running->renew_at_ms)
            renew_lease(running);
    }
    /* What it has left in the pipe. Its own children may hold that open for ever. */
    if (running->pipe >= 0) {
        struct pollfd place = {.fd = running->pipe, .events = POLLIN};
        (void)fcntl(running->pipe, F_SETFL, O_NONBLOCK);
        while (poll(&place, 1, 0) > 0 && take_output(running))
            continue;
        (void)close(running->pipe);
    }
    if (running->exit_handle >= 0) (void)close(running->exit_handle);
}

/* After the command has ended: keeps its result, or gives the claim up. */
static int conclude(struct running *running, bool aborts_failures, int busy_code) {
    int status = running->output->status;
    lethe_claim_answer answer = LETHE_CLAIM_LOST;
    if (running->is_lost) return busy_code;
    bool is_failure = running->by_signal || (status != 0 && aborts_failures);
    int code = call(running, running->words.wait_ms, is_failure ? give_up : record, &answer);
    if (code != NO_CODE) {
        message_warn("the command ended with status %d, which could not be recorded", status);
        return code;
    }
    if (answer == LETHE_CLAIM_RECORDED || answer == LETHE_CLAIM_ABORTED) return status;
    message_warn("%s; the result is not recorded", what_became(answer));
    return answer == LETHE_CLAIM_LOST || answer == LETHE_CLAIM_UNKNOWN ? busy_code : status;
}

/* Prints what was kept of an earlier run. */
static int replay(const struct claim_words *words, const lethe_claim *claim) {
    int status;
    uint64_t bytes;
    lethe_bytes kept;
    if (claim->reply_gone)
        return message_fail(EXIT_BAD_DATA,
                            "it was run before, and what it printed has made room for later "
                            "replies; raise the cap, or use another id");
    if (!claim_output_read(claim->reply, &status, &bytes, &kept))
        return message_fail(EXIT_BAD_DATA,
                            "the claim was done, and not by 'lethe claim run'; 'lethe claim begin "
                            "--db %s' shows its reply",
                            words->folder);
    if (kept.size < bytes)
        message_warn("it was run before; only the beginning of what it printed was kept");
    int code = output_write(kept.data, kept.size);
    return code == EXIT_DONE ? status : code;
}

/* Begins the claim. NO_CODE: the command is to be run. */
static int begin(const struct claim_words *words, int busy_code) {
    lethe_store *store;
    lethe_claim claim = LETHE_INIT(lethe_claim);
    lethe_claim_answer answer;
    int code = claim_open(words, true, &store);
    if (code != EXIT_DONE) return code;
    lethe_status status = lethe_claim_begin(store, words->id, words->token, words->fingerprint,
                                            words->lease_ms, &answer, &claim);
    if (status != LETHE_OK) return claim_fail(words, store, status);
    code = store_close(words->folder, store, EXIT_DONE);
    if (code == EXIT_DONE && answer == LETHE_CLAIM_NEW) {
        code = NO_CODE;
    } else if (code == EXIT_DONE && answer == LETHE_CLAIM_DONE) {
        code = replay(words, &claim);
    } else if (code == EXIT_DONE) {
        (void)claim_answer(words, answer, &claim);
        code = busy_code;
    }
    lethe_claim_free(&claim);
    return code;
}

int run_claim_run(const struct arguments *arguments) {
    uint64_t busy_code = EXIT_NEGATIVE;
    bool aborts_failures = arguments_has(arguments, "abort-on-failure");
    struct running running = {.command = arguments->operands + 1, .has_reader = true};
    int code = claim_read_words(arguments, true, &running.words);
    if (code == EXIT_DONE) code = arguments_count(arguments, "busy-code", 1, 255, &busy_code);
    if (code != EXIT_DONE) return code;
    running.output = calloc(1, sizeof *running.output);
    if (running.output == NULL) return message_fail_memory();
    /* The words of a command line end with NULL; options may have been taken from among them. */
    arguments->operands[arguments->operand_count] = NULL;
    interrupt_begin();
    code = begin(&running.words, (int)busy_code);
    if (code == NO_CODE) {
        running.renew_at_ms = clock_ms() + running.words.lease_ms / RENEWALS_PER_LEASE;
        output_outlive_reader();
        code = start(&running);
        if (code == EXIT_DONE) {
            attend(&running);
            code = conclude(&running, aborts_failures, (int)busy_code);
        } else {
            lethe_claim_answer answer;
            (void)call(&running, running.words.wait_ms, give_up, &answer);
        }
    }
    free(running.output);
    return code;
}
