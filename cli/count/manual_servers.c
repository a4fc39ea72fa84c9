/* manual_servers.c - what the manual of `lethe count` says of servers. */
#include <stddef.h>

#include "count/manual.h"

const char *const count_servers[] = {
    "With `--redis`, the counters are a table in a Redis or Valkey server that has loaded the "
    "module lethe.so, or in a cluster of such servers. Every event is sent again until it is "
    "acknowledged, through lost connections and failovers. This is safe, because a duplicate "
    "changes nothing. Without `--wait`, events that a master acknowledged can be lost with it.",
    "A table T with one partition is the once-table T of `ONCE.INCRBY T`. With more partitions, T "
    "describes them; they are named T:{tag} and spread evenly over the cluster. The number of "
    "partitions, the window, its kind and the error of a table cannot be changed.",
    "By `id`, one counter that every event changes is spread too. By `key`, each counter is whole "
    "in one partition, which limits need (`ONCE.TAKE`). An id then belongs to the partition of its "
    "key: if several events have one id and different keys, put the key into the id. An event "
    "whose keys are in several partitions is not counted. `--per` and `--keep` make a table that "
    "counts per period, in UTC; of each period a server keeps 100000 at most.",
    "T:files holds how far each named file was read. It is written after the events are "
    "acknowledged, so a run that continues sends the last events again. Start that run within the "
    "window.",
    "The window goes by the server's clock. If an event had to be sent twice and the second answer "
    "is duplicate, it was probably this run that applied it, and the first answer was lost. The "
    "summary reports how many such events there were; in JSON, doubtful, which duplicates "
    "includes.",
    NULL,
};

const char *const count_connections[] = {
    "In the URL, `redis://` and `valkey://` connect without TLS, `rediss://` and `valkeys://` with "
    "it. An IPv6 address stands in brackets. Characters of a user other than letters and digits "
    "are written as `%HH`. A database other than 0 is for a single server; a cluster has only 0.",
    "A password in the URL is refused, because every user of the machine can read command lines.",
    "With TLS, the server's certificate must be signed by an authority that is trusted, be valid, "
    "and be for the host that the URL or the cluster names. This cannot be turned off. For a "
    "self-signed certificate, give that certificate with `--tls-ca`. If a cluster's nodes report "
    "addresses and their certificates have a name, give the name with `--tls-name`, or set "
    "cluster-announce-hostname and cluster-preferred-endpoint-type on the nodes. The nodes also "
    "need tls-cluster.",
    NULL,
};
