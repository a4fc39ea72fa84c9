/* manual.c - the manual of `lethe serve`. */
#include "frame/commands.h"

static const char *const serve_description[] = {
    "Serves the store `DIR` over HTTP: events are sent with POST /v1/events, counters are read "
    "with "
    "GET /v1/counters, figures with GET /metrics, and a page at / shows how it is going. The store "
    "is created if it does not exist. docs/http.md describes every address, with an example.",
    "An event is answered when it is durable. A sender that got no answer sends the event "
    "again, with the same id: within the window it is counted once, however often it is "
    "sent. So the server may be killed at any moment. SIGTERM ends it when everything that "
    "was received is answered. SIGHUP makes it read tokens and certificates again.",
    "It listens at 127.0.0.1:8420. Any address other than loopback needs tokens and TLS, "
    "or `--insecure`. Requests from pages of other sites are refused, by their Host and "
    "Origin headers.",
    "With `--redis` it shows the once-tables of a Redis or Valkey server, or of a cluster, that "
    "has "
    "loaded the module lethe.so: the same page, figures and counters, of the tables that `--table` "
    "names or of all that it finds. It changes nothing there: events are counted with `lethe count "
    "--redis` or with the commands of the module. Looking at tables costs the server little: once "
    "a second, or as rarely as 1000 questions a second allow.",
    "When the disk is full, requests are answered with 507. When there is room again, the "
    "server opens the store again by itself.",
    NULL,
};

static const struct option serve_options[] = {
    OPTION_DB("the folder of the store; created if it does not exist"),
    {.name = "redis",
     .value = "URL",
     .help = "instead of `--db`: show the tables of a server that has loaded the module lethe.so, "
             "or of a cluster of such servers, as "
             "`redis://[user@]host:port[,host:port...][/database]`, or `rediss://...` for TLS"},
    {.name = "table",
     .value = "T",
     .repeats = true,
     .help = "with `--redis`: a table to show, which need not be there yet; may be given several "
             "times; without it, all that are found are shown"},
    {.name = "user",
     .value = "NAME",
     .help = "with `--redis`: the user of Redis; also possible in the URL"},
    {.name = "password-file",
     .value = "FILE",
     .completion = COMPLETE_FILES,
     .help = "with `--redis`: a file with the user's password, in one line; without it, the "
             "password is in the environment variable `LETHE_REDIS_PASSWORD` or `REDISCLI_AUTH`"},
    {.name = "redis-tls-ca",
     .value = "PATH",
     .completion = COMPLETE_FILES,
     .help = "with `rediss://`: the certificates of the authorities to trust, a file (PEM) or a "
             "folder as `openssl rehash` leaves it; default: the system's"},
    {.name = "redis-tls-cert",
     .value = "FILE",
     .completion = COMPLETE_FILES,
     .help = "with `rediss://`: our own certificate, for servers that want one (PEM)"},
    {.name = "redis-tls-key",
     .value = "FILE",
     .completion = COMPLETE_FILES,
     .help = "with `--redis-tls-cert`: its private key (PEM), without a pass phrase"},
    {.name = "redis-tls-name",
     .value = "NAME",
     .help = "with `rediss://`: the name that the servers' certificates are for; default: the host "
             "that each server is reached by"},
    {.name = "listen",
     .value = "HOST:PORT",
     .help = "where to listen; default `127.0.0.1:8420`; port 0 is any that is free"},
    {.name = "hosts",
     .value = "NAMES",
     .help = "names that requests may ask for in their Host header, with commas; those of loopback "
             "and that of `--listen` always may"},
    {.name = "token-file",
     .value = "FILE",
     .completion = COMPLETE_FILES,
     .help = "a token per line, followed by its scopes (`read,write,admin`), and by `prefix=TEXT` "
             "if it is only for keys that begin so; without this option, everybody who reaches the "
             "server may do everything"},
    {.name = "tls-cert",
     .value = "FILE",
     .completion = COMPLETE_FILES,
     .help = "the server's certificate, with those that vouch for it (PEM)"},
    {.name = "tls-key", .value = "FILE", .completion = COMPLETE_FILES, .help = "its key (PEM)"},
    {.name = "insecure",
     .help = "listen at an address other than loopback without tokens and TLS, because something "
             "else protects it"},
    {.name = "read-only", .help = "only read the store, which another process may be writing to"},
    {.name = "fields",
     .is_list = true,
     .value = "LIST",
     .help = "which members of events are their parts, as in `lethe count --jsonl --fields`; "
             "default `id=id,key=key,delta=delta`, and `time=time` with `--event-time`"},
    {.name = "cloud-fields",
     .is_list = true,
     .value = "LIST",
     .help = "the same of CloudEvents, whose id is source and id; default `key=type`"},
    {.name = "backups",
     .value = "DIR",
     .completion = COMPLETE_FILES,
     .help = "the folder that POST /v1/backup writes to"},
    {.name = "window",
     .value = "W",
     .help = "how long duplicates are recognised, from 1s to 30d; default: as the store has it, 3d "
             "in a new one"},
    {.name = "error",
     .value = "E",
     .help = "the probability that a fresh event is taken for a duplicate; default: as the store "
             "has it, 1e-12 in a new one"},
    {.name = "memory", .value = "SIZE", .help = "the most memory that the window may have"},
    {.name = "exact", .help = "look every duplicate up in an index on disk"},
    {.name = "check-payload",
     .help = "an id that comes again with other changes is a mismatch; a single one is answered "
             "with 422"},
    {.name = "forever", .help = "remember ids for ever, on disk"},
    {.name = "event-time", .help = "go by the time that events carry; only for a new store"},
    {.name = "ignore-time",
     .help =
         "with `--per`, and without `--event-time`: count events that say when they happened in "
         "the period in which they arrive; otherwise they are refused"},
    {.name = "scale",
     .value = "N",
     .help = "how many digits after the point the values of a new store have; default 0"},
    {.name = "per",
     .value = "PERIODS",
     .is_list = true,
     .help = "count per period too, such as `1h,1d,1mo`"},
    {.name = "zone",
     .value = "ZONE",
     .help = "the zone of those periods, default UTC, and of times of events that do not say "
             "theirs"},
    {.name = "keep",
     .value = "SPEC",
     .is_list = true,
     .help = "how long to keep periods, such as `1m=1h`"},
    {.name = "max-body",
     .value = "SIZE",
     .help =
         "the largest body of a request; default 8MiB; decompressed it may have eight times that"},
    {.name = "max-bodies",
     .value = "SIZE",
     .help = "the memory that the bodies of all requests may take together; default 32 times "
             "`--max-body`; further ones are answered with 503"},
    {.name = "max-connections", .value = "N", .help = "the most connections; default 1024"},
    {.name = "max-counters",
     .value = "N",
     .help = "the number of counters, roughly, from which on events that would begin others are "
             "refused; where a hold would begin one, each open hold counts as one, too"},
    {.name = "max-holds",
     .value = "N",
     .help = "the most holds that may be open at a time, each of which is in memory; default "
             "1000000; further ones are refused"},
    {.name = "log",
     .value = "FORM",
     .choices = "text|json",
     .help = "how messages are written to standard error; default `text`"},
    {0},
};

const struct command command_serve = {
    .path = "serve",
    .summary = "count events over HTTP, with metrics and a live page",
    .synopses =
        SYNOPSES("--db DIR [--listen HOST:PORT] [--hosts NAMES] [--token-file FILE] "
                 "[--tls-cert FILE --tls-key FILE] [--insecure] [--read-only] [--fields "
                 "LIST] [--cloud-fields LIST] [--backups DIR] [--window W] [--error E] "
                 "[--memory SIZE] [--exact] [--check-payload] [--forever] [--event-time] "
                 "[--ignore-time] [--scale N] [--per PERIODS] [--zone ZONE] [--keep SPEC] "
                 "[--max-body SIZE] [--max-bodies SIZE] [--max-connections N] [--max-counters N] "
                 "[--max-holds N] "
                 "[--log text|json]",
                 "--redis URL [--table T]... [--user NAME] [--password-file FILE] [--redis-tls-ca "
                 "PATH] [--redis-tls-cert FILE --redis-tls-key FILE] [--redis-tls-name NAME] "
                 "[--listen HOST:PORT] [--hosts NAMES] [--token-file FILE] [--tls-cert FILE "
                 "--tls-key FILE] [--insecure] [--max-connections N] [--log text|json]"),
    .description = serve_description,
    .options = serve_options,
    .examples = EXAMPLES({"Serve the store `d` on this machine, with counts per hour and day",
                          "lethe serve --db d --per 1h,1d"},
                         {"Serve it to others, with tokens and TLS",
                          "lethe serve --db d --listen 0.0.0.0:8420 --token-file tokens --tls-cert "
                          "server.pem --tls-key server.key"},
                         {"Show all tables of a Redis server on this machine",
                          "lethe serve --redis redis://localhost"}),
    .exit_done = "ended by a signal, with everything that was received answered",
    .run = run_serve,
};
