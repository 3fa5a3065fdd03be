/* serve_options.c - the options of the server, as rows for the command line, and their defaults. */
#include "server/serve.h"

#include <stddef.h>

#define AT(field) offsetof(struct serve_options, field)
static const struct inmo_setting rows[] = {
    {"store", 's', AT(store), 0, 0, NULL, "Store", "STORE",
     "What is kept: a file, which is made if it is not there, or postgresql://... for several servers."},
    {"models", 's', AT(models), 0, 0, NULL, "Store", "DIR",
     "Folder of the models it trains. Default: STORE.models."},
    {"positive", 's', AT(positive), 0, 0, NULL, "Store", "TYPES",
     "Types of feedback that count as choosing an item: buy,like. Default: all but those of --seen."},
    {"seen", 's', AT(seen), 0, 0, NULL, "Store", "TYPES",
     "Types of feedback that only mark an item as seen: it is not listed again, and nothing is learned from it."},
    {"import-type", 's', AT(import_type), 0, 0, NULL, "Store", "TYPE",
     "Type of what is imported without one: all of MODEL, and lines of --log, --import and POST /api/import that "
     "name none."},
    {"host", 's', AT(host), 0, 0, NULL, "Network", "ADDRESS",
     "Address to listen at. Others than this machine's own need --keys or INMO_API_KEY."},
    {"port", 'i', AT(port), 0, 65535, NULL, "Network", "N", "Port to listen at; 0: any that is free."},
    {"serve-threads", 'i', AT(threads), 0, 1024, NULL, "Network", "N",
     "Threads that answer requests; 0: one a core."},
    {"tls-certificate", 's', AT(tls_certificate), 0, 0, NULL, "Network", "FILE",
     "Certificate in PEM format, for HTTPS."},
    {"tls-key", 's', AT(tls_key), 0, 0, NULL, "Network", "FILE", "Private key of the certificate, in PEM format."},
    {"allow-origin", 's', AT(allow_origin), 0, 0, NULL, "Network", "ORIGIN",
     "Pages of this origin may ask from a browser: https://shop.example, or *."},
    {"keys", 's', AT(keys), 0, 0, NULL, "Keys and limits", "FILE",
     "File of API keys, made with --new-key. A further admin key may stand in the environment as INMO_API_KEY."},
    {"rate", 'r', AT(rate), 0, 1e9, NULL, "Keys and limits", "N", "Requests a second of one key; 0: any number."},
    {"anonymous-rate", 'r', AT(anonymous_rate), 0, 1e9, NULL, "Keys and limits", "N",
     "Requests a second of all who have no key together; 0: any number."},
    {"most-n", 'i', AT(most_n), 1, 100000, NULL, "Keys and limits", "N", "Longest list of one answer."},
    {"most-history", 'i', AT(most_history), 1, 1000000, NULL, "Keys and limits", "N",
     "Longest list of ids in one request."},
    {"most-body", 'r', AT(most_body), 1024, 1e12, NULL, "Keys and limits", "BYTES",
     "Longest body of one request; imports are read piece by piece and have no limit."},
    {"connections", 'i', AT(connections), 1, 1000000, NULL, "Keys and limits", "N", "Connections at once."},
    {"idle-seconds", 'i', AT(idle_seconds), 1, 86400, NULL, "Keys and limits", "N",
     "Time a request may take to come whole, and a connection to stay idle."},
    {"refresh", 'r', AT(refresh), 0, 1e9, NULL, "Models", "SECONDS",
     "Events count for other people's lists after this time at most; 0: only when asked. A person's own list "
     "always has "
     "them at once."},
    {"first-events", 'i', AT(first_events), 0, 2147483647, NULL, "Models", "N",
     "Without a model: train the first one when there are so many events; 0: never."},
    {"retrain-events", 'i', AT(retrain_events), 0, 2147483647, NULL, "Models", "N",
     "Train again after so many new events; 0: not by events."},
    {"retrain-seconds", 'r', AT(retrain_seconds), 0, 1e9, NULL, "Models", "N",
     "Train again after this time; 0: not by time."},
    {"retrain-threads", 'i', AT(retrain_threads), 0, 4096, NULL, "Models", "N",
     "Threads of a training; 0: all cores."},
    {"train", 's', AT(train), 0, 0, NULL, "Models", "OPTIONS",
     "Further options of inmo train: \"--model ials --dim 64\"."},
    {"keep-models", 'i', AT(keep_models), 1, 1000, NULL, "Models", "N", "Models to keep for going back."},
    {"log-format", 's', AT(log_format), 0, 0, "text|json", "Models", "FORMAT",
     "Lines of the log: text, or a JSON object each."},
};
#undef AT

const struct inmo_setting *serve_settings(size_t *count)
{
    *count = sizeof rows / sizeof *rows;
    return rows;
}

void serve_options_init(struct serve_options *options)
{
    *options = (struct serve_options){
        .store = "inmo.db",
        .host = "127.0.0.1",
        .port = 8088,
        .seen = "read,view,seen",
        .import_type = "like",
        .refresh = 10,
        .most_n = 1000,
        .most_history = 10000,
        .most_body = 64 << 20,
        .connections = 10000,
        .idle_seconds = 60,
        .first_events = 1000,
        .keep_models = 3,
        .log_format = "text",
    };
}
