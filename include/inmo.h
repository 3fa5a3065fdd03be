/* inmo.h - the public interface of libinmo, in the order in which data flows:
 *
 *     log  ->  dataset  ->  model  ->  file  ->  view  ->  recommendations
 *     read     filter       train      save      model     for users and items
 *              split                   load      on a      the model has never seen
 *                                                graph
 *
 * Conventions, the same for every call:
 *   - A call that can fail returns enum inmo_status and takes a struct inmo_error * last (may be NULL).
 *     On failure the outputs are untouched and the error holds one sentence that names the file and line, or
 *     the option. An option is named in backquotes as its row in the table of settings is: `learning-rate` is the
 *     field learning_rate, and --learning-rate in the program. The library never prints, exits or aborts.
 *   - An options structure is first filled by its ..._init call and then changed; what is not changed keeps the
 *     documented default. Its first field is its size. A call refuses a structure of a size it does not know with
 *     INMO_USAGE, so a program or a binding that was compiled against another version gets an error and nothing is
 *     read or written out of bounds. C programs need not care: ..._init passes sizeof. A binding declares the
 *     structure with its fields and calls ..._init_sized with the size of its own declaration. For reading,
 *     preparing, making synthetic logs and evaluating, NULL stands for the defaults.
 *   - Strings given in are copied if kept. Strings given out belong to the object they came from.
 *   - Numbers in files, settings and messages have a decimal point, whatever locale the program has set.
 *   - The same input, options and seed give the same bytes at any number of threads.
 *   - Different objects may be used from different threads. A view may be used from any number of threads at once;
 *   no other
 *     object is locked.
 */
#ifndef INMO_H
#define INMO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version compiled against, and the number in the shared library's name (libinmo.so.1). The number grows when a
 * call or a structure the library hands out changes. A structure that the caller fills knows its size (below). */
#define INMO_VERSION "0.1.0"
#define INMO_ABI 1

#if defined(__GNUC__)
#define INMO_API __attribute__((visibility("default")))
#else
#define INMO_API
#endif

/* ---- 0. Status, messages, progress -------------------------------------------------------------------------- */

/* Status codes with their exit code and meaning. */
#define INMO_STATUS_LIST(X)                                                                                        \
    X(OK, 0, "ok")                                                                                                 \
    X(INTERNAL, 1, "internal error")                                                                               \
    X(USAGE, 2, "invalid option or argument")                                                                      \
    X(INPUT, 3, "invalid input data")                                                                              \
    X(IO, 4, "a file could not be read or written")                                                                \
    X(FORMAT, 5, "damaged file, or file of another version")                                                       \
    X(UNKNOWN, 6, "unknown user or item")                                                                          \
    X(UNSUPPORTED, 7, "not supported by this model")                                                               \
    X(EXISTS, 8, "output exists already")                                                                          \
    X(MEMORY, 9, "not enough memory")                                                                              \
    X(NUMERIC, 10, "training produced non-finite numbers")                                                         \
    X(INTERRUPTED, 11, "stopped on request; a checkpoint was written if requested")                                \
    X(BUSY, 12, "another process is making this output")

enum inmo_status {
#define INMO_STATUS_ENUM(name, code, meaning) INMO_##name = code,
    INMO_STATUS_LIST(INMO_STATUS_ENUM)
#undef INMO_STATUS_ENUM
};

struct inmo_error {
    enum inmo_status code;
    char message[1024];
};

/* INMO_VERSION and INMO_ABI of the library that is loaded. */
INMO_API const char *inmo_version(void);
INMO_API int inmo_abi(void);

/* Bytes of one of the structures of this header, by its name: "inmo_train_options"; 0 for an unknown name. A
 * binding compares them with those of its own declarations, or reserves so many bytes and fills them by tables of
 * settings. */
INMO_API size_t inmo_size(const char *structure);

/* "INPUT", "FORMAT", ...; never NULL. */
INMO_API const char *inmo_status_name(enum inmo_status status);
/* The meaning column of the list; never NULL. */
INMO_API const char *inmo_status_meaning(enum inmo_status status);

enum inmo_level { INMO_NOTE, INMO_WARNING };

/* Progress of a long call, reported at most a few times per second. */
struct inmo_progress {
    const char *stage;  /* "reading", "training", "evaluating", ... */
    double done, total; /* in units; total <= 0: unknown */
    const char *unit;   /* "bytes", "epochs", "users", ... */
    double seconds;     /* since the stage began */
    double loss;        /* mean loss of the current epoch, or NaN */
    double score;       /* latest validation score, or NaN */
    double best_score;  /* best validation score so far, or NaN */
};

/* Callbacks of a long call. Each may be NULL, and so may the pointer to the structure. */
struct inmo_hooks {
    void *context;
    void (*log)(void *context, enum inmo_level level, const char *sentence);
    void (*progress)(void *context, const struct inmo_progress *progress);
    /* Polled often; a non-zero return makes the call stop soon with INMO_INTERRUPTED. */
    int (*interrupted)(void *context);
};

/* Number of worker threads of all later calls; 0 means all cores (the default). Returns what is in force.
 *
 * Two settings can only come from the environment, before the process starts; the program sets them by itself.
 *   OMP_WAIT_POLICY=passive   Idle OpenMP threads sleep. By default they spin for milliseconds between the steps of
 *   a
 *                             training, and take the processor from the threads they wait for when anything else
 *                             runs: on two busy cores the same training took 12 s of processor time instead of 2,
 *                             and 5 times as long. Requests for one person use no worker threads and do not spin.
 *   OPENBLAS_CORETYPE         See inmo_blas_advice.
 * OpenBLAS's own number of threads is set to one while a view lives or a training or an evaluation runs, and
 * restored after the last of them; leave it alone meanwhile.
 * With OPENBLAS_NUM_THREADS=1 nothing is ever changed. */
INMO_API int inmo_set_threads(int threads);

/* OpenBLAS picks its kernels when it is loaded, by the processor's model, and picks very old ones for an unknown
 * model. This library has it choose again while it is loaded itself (so load it before other threads compute with
 * OpenBLAS), unless the environment has OPENBLAS_CORETYPE. Returns the value of that variable that suits this
 * processor better (the program re-executes itself with it), or NULL if nothing needs to change. */
INMO_API const char *inmo_blas_advice(void);

/* A row of an option table: describes a field of an options structure. The parser, the help, the manual page and
 * the configuration in model files are made from these rows. */
struct inmo_setting {
    const char *name;    /* as on the command line, without the dashes */
    char type;           /* 'i' int, 'u' uint64_t, 'r' double, 's' const char *, 'b' int used as yes/no */
    size_t offset;       /* of the field in the structure */
    double least, most;  /* bounds of a number, inclusive */
    const char *choices; /* allowed values of a string, separated by '|'; NULL: any. "auto" of a number that may be
                            INMO_AUTO */
    const char *group;   /* heading in the help */
    const char *value;   /* placeholder in the help: "N", "FILE", ... */
    const char *help;    /* one sentence */
};

/* In the field of a number: not given, to be chosen by training. "auto" on the command line. */
#define INMO_AUTO (-2147483647 - 1)

/* Sets a field from text, as on the command line. Returns 0 and changes nothing if the text is invalid. A string
 * field keeps the pointer. */
INMO_API int inmo_setting_set(const struct inmo_setting *setting, void *structure, const char *text);
/* The value of a field as on the command line (reals with all their bits); "" if unset. */
INMO_API void inmo_setting_text(const struct inmo_setting *setting, const void *structure, char *text, size_t size);
/* What a row accepts: "a whole number from 1 to 4096", "one of a, b, c". */
INMO_API void inmo_setting_expected(const struct inmo_setting *setting, char *text, size_t size);

/* ---- 1. Read: any log -> interactions --------------------------------------------------------------------- */

struct inmo_log;

struct inmo_read_options {
    size_t size;           /* set by inmo_read_options_init */
    const char *format;    /* auto|delimited|list|inter|movielens|gowalla|amazon|yelp; default auto (by looking) */
    const char *columns;   /* names in order: user,item,rating,time,split,event,weight and - for one to
                              ignore; default NULL:
                              from the header, or user,item[,rating[,time]] when there is none */
    const char *separator; /* one character, "tab", "comma", "space", ...; default NULL: by looking */
    const char *header;    /* auto|yes|no; default auto */
    double min_rating;     /* if there are ratings, those of at least this are positive, the others only seen;
                              default INMO_AUTO: above 3 */
    int keep_all_ratings;  /* default 0; 1: min_rating is not applied */
    uint64_t skip_bad;     /* bad lines to skip (and count) before one is an error; default 0 */
    const char *encoding;  /* utf-8 (default; NULL is the same), latin-1, windows-1252 or any that iconv(3) knows;
                              UTF-16 and UTF-32 are detected */
    const char *positive; /* in a column of event types: "buy,like", those that count as interactions; default NULL:
                              all that the next two do not name. Others are ignored, and counted */
    const char *seen;     /* "view": never trained on, but never recommended to that user either; default NULL */
    const char *negative; /* "return,dislike": seen, and no interaction of the pair counts; default NULL */
    const char *weight;   /* a column by name or number, "rating", or "count" (repeats): how much an interaction
                              counts, added up over its repeats; default NULL: all count alike. Also a column
                              that columns calls weight. At least 0; a pair of weight 0 is only seen */
};

INMO_API void inmo_read_options_init_sized(struct inmo_read_options *options, size_t size);
static inline void inmo_read_options_init(struct inmo_read_options *options)
{
    inmo_read_options_init_sized(options, sizeof *options);
}
INMO_API const struct inmo_setting *inmo_read_settings(size_t *count);

/* Reads one or more files ("-" is standard input; .gz and .zst are recognised by their content) into one log.
 * Errors: IO, INPUT (names file, line, what was found, what was expected), USAGE, MEMORY. */
INMO_API enum inmo_status inmo_log_read(const char *const *paths, size_t path_count,
                                        const struct inmo_read_options *options, const struct inmo_hooks *hooks,
                                        struct inmo_log **log, struct inmo_error *error);

/* The text of a log that is not in a file, such as the answer of a database: comma-separated values (RFC 4180) in
 * UTF-8, whose first line names the columns. */
struct inmo_source {
    const char *name; /* for messages and the description */
    /* Writes the next bytes, at least one and at most room (64 or more), to `to`; *got is 0 only at the end. */
    enum inmo_status (*read)(void *context, char *to, size_t room, size_t *got, struct inmo_error *error);
    void *context;
};
/* The same log as from a file with that text. Of the options, format, separator, header and encoding do not apply.
 * Errors: those of inmo_log_read, and of the source. */
INMO_API enum inmo_status inmo_log_read_source(const struct inmo_source *source,
                                               const struct inmo_read_options *options,
                                               const struct inmo_hooks *hooks, struct inmo_log **log,
                                               struct inmo_error *error);

/* The same from memory: count pairs of external ids. time may be NULL. Errors: INPUT (names the pair), MEMORY. */
INMO_API enum inmo_status inmo_log_from_pairs(size_t count, const char *const *user, const char *const *item,
                                              const int64_t *time, struct inmo_log **log, struct inmo_error *error);
/* The same with ratings, which are treated as those of a file: min_rating and keep_all_ratings of the options
 * (NULL: their defaults) decide which interactions are kept; the other options do not apply. rating may be NULL. */
INMO_API enum inmo_status inmo_log_from_ratings(size_t count, const char *const *user, const char *const *item,
                                                const double *rating, const int64_t *time,
                                                const struct inmo_read_options *options, struct inmo_log **log,
                                                struct inmo_error *error);

/* The same with weights: of at least 0, as those of a file. NULL: ratings or repeats, if the option `weight` says
 * "rating" or "count"; another name is USAGE. */
INMO_API enum inmo_status inmo_log_from_weights(size_t count, const char *const *user, const char *const *item,
                                                const double *rating, const double *weight, const int64_t *time,
                                                const struct inmo_read_options *options, struct inmo_log **log,
                                                struct inmo_error *error);

/* The same of events, of which some (1 in seen, which may be NULL) are only seen, such as views: never trained on,
 * in no list of that user. */
INMO_API enum inmo_status inmo_log_from_events(size_t count, const char *const *user, const char *const *item,
                                               const unsigned char *seen, const int64_t *time,
                                               struct inmo_log **log, struct inmo_error *error);

/* What a column of this name holds, by the names that the reader looks for in a header: "user", "item", "rating",
 * "time", "split" or "event"; NULL: none of these. */
INMO_API const char *inmo_column_role(const char *name);

/* A list of ids, one per line, for histories and allow or deny lists. Unpacked, decoded and split into lines like a
 * log; blank lines are skipped. At most INMO_IDS_MOST ids of 4096 bytes each, in INMO_IDS_BYTES of text. */
#define INMO_IDS_MOST 20000000
#define INMO_IDS_BYTES (256 << 20)
struct inmo_ids {
    size_t count;          /* at least 1 */
    const char *const *id; /* (count) in the order of the file, repeats included */
};
/* path "-" is standard input. encoding: as in struct inmo_read_options; NULL is utf-8.
 * Errors: IO, INPUT (names file and line; an empty or endless list), USAGE (encoding), MEMORY. */
INMO_API enum inmo_status inmo_ids_read(const char *path, const char *encoding, struct inmo_ids **ids,
                                        struct inmo_error *error);
INMO_API void inmo_ids_free(struct inmo_ids *ids);

/* A file about items: an id, what people call it, and any further columns (genres, brand, price). */
struct inmo_titles;
struct inmo_titles_info {
    int64_t count;             /* items */
    int columns, id, title;    /* how many, and which of them are the id and the title */
    const char *const *column; /* (columns) names, of the header or "id", "title", "column3" */
};
/* Reads CSV, TSV, MovieLens' :: and |, with or without a header, also compressed; separator and columns are found
 * by looking: by the names of the header, else the first column is the id and the second the title. Of an item that
 * is there twice, the first line counts. Text that is not UTF-8 is taken for Latin-1. path "-" is standard input;
 * encoding as in struct inmo_read_options. Errors: IO, INPUT (names file and line), USAGE (encoding), MEMORY. */
INMO_API enum inmo_status inmo_titles_read(const char *path, const char *encoding, struct inmo_titles **titles,
                                           struct inmo_error *error);
INMO_API void inmo_titles_free(struct inmo_titles *titles);
INMO_API void inmo_titles_info(const struct inmo_titles *titles, struct inmo_titles_info *info);
/* The row of an item's id, from 0; -1: not there. */
INMO_API int64_t inmo_titles_row(const struct inmo_titles *titles, const char *id);
/* What stands in a column of a row; never NULL. */
INMO_API const char *inmo_titles_cell(const struct inmo_titles *titles, int64_t row, int column);
/* The title of an item; NULL if it has none, or if titles is NULL. */
INMO_API const char *inmo_titles_of(const struct inmo_titles *titles, const char *id);

INMO_API void inmo_log_free(struct inmo_log *log);
INMO_API int64_t inmo_log_count(const struct inmo_log *log);
/* Interaction n, in the order of the log; *time is 0 if the log has no times. The ids belong to the log. Returns 0
 * after the last. */
INMO_API int inmo_log_at(const struct inmo_log *log, int64_t n, const char **user, const char **item,
                         int64_t *time);

/* ---- 2. Prepare: interactions -> a filtered, split data set -------------------------------------------------- */

struct inmo_dataset;

struct inmo_prepare_options {
    size_t size;       /* set by inmo_prepare_options_init */
    int k_core;        /* both sides keep only ids with this many interactions, until stable; default 0 */
    const char *split; /* "train/valid/test" in percent; default "70/10/20" */
    const char *by;    /* random|time|cut|column; default NULL: column when the log has a split column, else random;
                          cut if cut is given, time if last is */
    double hold_out;   /* by column: share of each user's training items moved to validation; default 0 */
    uint64_t seed;     /* default 1 */
    const char *scenario;   /* transductive|new-interactions|new-users-items; default transductive */
    double new_share;       /* share of new interactions, or of new users and items; default 0.2 */
    const char *new_choice; /* random|last: which users and items are new; default random */
    const char *cut;        /* by cut: when the test begins, or "validation,test"; default NULL: by the shares */
    int last; /* by time: so many items of each user are the test, and as many validation; default 0 */
    const char *weight_scale; /* log|plain: how the summed weights of a pair count; default log */
    const char *half_life;    /* "90d", "12h", or a number in the log's unit of time: an interaction so much older
                                 than the newest in training counts half; default NULL: age does not count */
    const char *hold_out_by;  /* random|runs|last: which items hold_out moves; default random. By time if the log
                                 has it, else as they follow each other: a run of some users', everybody's last */
};

INMO_API void inmo_prepare_options_init_sized(struct inmo_prepare_options *options, size_t size);
static inline void inmo_prepare_options_init(struct inmo_prepare_options *options)
{
    inmo_prepare_options_init_sized(options, sizeof *options);
}
INMO_API const struct inmo_setting *inmo_prepare_settings(size_t *count);

/* Merges duplicates (keeping the earliest time) and numbers ids in order of first appearance among those kept.
 * Errors: USAGE, INPUT (nothing left; says which filter removed what), MEMORY. */
INMO_API enum inmo_status inmo_dataset_prepare(const struct inmo_log *log,
                                               const struct inmo_prepare_options *options,
                                               struct inmo_dataset **dataset, struct inmo_error *error);

/* Writes a prepared directory, or opens one by memory map. Replacing an existing directory needs force, and it must
 * be a prepared data set. Errors: IO, EXISTS, FORMAT. */
INMO_API enum inmo_status inmo_dataset_save(const struct inmo_dataset *dataset, const char *directory, int force,
                                            struct inmo_error *error);
/* What saving would say of the directory, asked before long work: nothing is made or removed. */
INMO_API enum inmo_status inmo_dataset_check_place(const char *directory, int force, struct inmo_error *error);
INMO_API enum inmo_status inmo_dataset_open(const char *directory, struct inmo_dataset **dataset,
                                            struct inmo_error *error);
INMO_API void inmo_dataset_free(struct inmo_dataset *dataset);

struct inmo_dataset_info {
    int32_t users, items;
    int32_t new_users, new_items;      /* in the new-users-items scenario */
    int64_t train, valid, test, later; /* interactions; later: observed only after training */
    int64_t aside;                     /* validation of new users and items: only masked in the test */
    const char *scenario;
    const char *description; /* JSON object: sources and all preparation options */
};
INMO_API void inmo_dataset_info(const struct inmo_dataset *dataset, struct inmo_dataset_info *info);

/* From logs to a prepared directory in a bounded memory, for logs that do not fit: the same bytes as inmo_log_read,
 * inmo_dataset_prepare and inmo_dataset_save write. What does not fit is sorted in temporary files beside the
 * directory, which have no names and vanish with the process. memory: bytes, at least 4 MB; 20 bytes for each user
 * and item must fit. source: NULL, or read instead of the paths. Errors: as those three calls, and IO for the
 * temporary files, MEMORY when the bound is too small (says how much would do), INTERRUPTED. */
struct inmo_prepared;
INMO_API enum inmo_status inmo_prepare_bounded(const char *const *paths, size_t path_count,
                                               const struct inmo_source *source,
                                               const struct inmo_read_options *read,
                                               const struct inmo_prepare_options *prepare, uint64_t memory,
                                               const char *directory, int force, const struct inmo_hooks *hooks,
                                               struct inmo_prepared **prepared, struct inmo_error *error);
/* What it has written, as of the data set; and how many users and items have no training interactions, those known
 * by name only included. The pointers belong to prepared. */
INMO_API void inmo_prepared_info(const struct inmo_prepared *prepared, struct inmo_dataset_info *info,
                                 int64_t *untrained_users, int64_t *untrained_items);
INMO_API void inmo_prepared_free(struct inmo_prepared *prepared);

/* Interactions as compressed rows: user u chose item[offset[u]] to item[offset[u + 1] - 1]. */
struct inmo_interactions {
    int64_t users, items;
    const int64_t *offset; /* (users + 1) */
    const int32_t *item;   /* (count) */
    int64_t count;         /* of item; at least offset[users] */
};
/* A data set from matrices instead of a log, without a text of it. User n and item n have the decimal number n as
 * their id; nobody is left out or renumbered, not even those without interactions. Items of a row may be in any
 * order; repeats count once. With valid and test NULL, the options divide train as they divide a log (split, seed
 * and the scenario apply; k_core, by and hold_out do not); options NULL: everything is for training. With valid or
 * test given, options must be NULL; an interaction may be in one of the three only.
 * Errors: INPUT (names the row; 2^31 users or items; nothing to train on), USAGE, MEMORY. */
INMO_API enum inmo_status inmo_dataset_from_matrices(const struct inmo_interactions *train,
                                                     const struct inmo_interactions *valid,
                                                     const struct inmo_interactions *test,
                                                     const struct inmo_prepare_options *options,
                                                     struct inmo_dataset **dataset, struct inmo_error *error);
/* The interactions of one part: "train", "valid", "test", "later" or "aside"; rows are ascending. The arrays belong
 * to the data set. Returns 0 if there is no such part. "seen": what users have seen but not chosen; its users and
 * items count the extra ones, too; 0 where there is nothing. */
INMO_API int inmo_dataset_part(const struct inmo_dataset *dataset, const char *part,
                               struct inmo_interactions *interactions);

/* The ids of users or items: id n is the string at text + offset[n]. The arrays belong to the object. */
struct inmo_id_table {
    int64_t count;
    const int64_t *offset; /* (count + 1) */
    const char *text;
};
INMO_API void inmo_dataset_ids(const struct inmo_dataset *dataset, struct inmo_id_table *users,
                               struct inmo_id_table *items);

/* Users and items that are known only from what was seen; they follow the others in the part "seen". */
INMO_API void inmo_dataset_extra_ids(const struct inmo_dataset *dataset, struct inmo_id_table *users,
                                     struct inmo_id_table *items);

/* A synthetic log: tab-separated user and item with readable names ("jazz-017"). Memory does not grow with the
 * number of interactions. */
struct inmo_synth_options {
    size_t size;           /* set by inmo_synth_options_init */
    uint64_t interactions; /* default 100000 */
    uint64_t users, items; /* 0 (default): chosen from interactions */
    int groups;            /* taste groups; default 12 */
    double purity;         /* share of interactions inside a user's groups; default 0.8 */
    double skew;           /* exponent of the long tails; default 0.9 */
    uint64_t seed;         /* default 1 */
    int times;             /* 1: add a column with times; default 0 */
};
INMO_API void inmo_synth_options_init_sized(struct inmo_synth_options *options, size_t size);
static inline void inmo_synth_options_init(struct inmo_synth_options *options)
{
    inmo_synth_options_init_sized(options, sizeof *options);
}
INMO_API const struct inmo_setting *inmo_synth_settings(size_t *count);
/* path "-" is standard output; a name ending in .gz or .zst is compressed. Errors: IO, EXISTS, USAGE. */
INMO_API enum inmo_status inmo_synth(const struct inmo_synth_options *options, const char *path, int force,
                                     const struct inmo_hooks *hooks, struct inmo_error *error);

/* ---- 3. Train: data set -> model --------------------------------------------------------------------------- */

struct inmo_model;

/* A field without a default here takes it from the model and the recipe: inmo_train_options_init fills it in, and
 * `inmo help train` shows them. A field that names models is not looked at by others. */
struct inmo_train_options {
    size_t size;       /* set by inmo_train_options_init */
    const char *model; /* inmo-lightgcn (default), inmo-mf, inmo-ngcf, inmo-imc-gae, inmo-neumf, lightgcn, mf, ngcf,
                          neumf, imc-gae, imc-lightgcn, idcf-lightgcn, item-knn, ease, ials, gf-cf, mult-vae,
                          popular */
    int dim;           /* d, embedding size; gf-cf: INMO_AUTO (its default): by the log's size */
    int layers;        /* K, graph layers; 3; inmo-lightgcn: INMO_AUTO (its default): 3, or 1 on some dense logs */
    int batch;         /* triples a step (listwise: users) */
    int least_steps;   /* steps of an epoch at least, the batch shrinking with a small log; 0: no bound */
    int most_steps;    /* listwise: steps of an epoch at most, the batch growing with the users; 0: no bound */
    int neighbours;    /* item-knn: k, nearest items kept for each item */
    const char *similarity;    /* item-knn: cosine|jaccard|tf-idf|bm25; auto (its default): chosen */
    double shrinkage;          /* item-knn: h, added to the denominator of a similarity */
    double bm25_k1;            /* item-knn with bm25: saturation; default 1.2 */
    double bm25_b;             /* item-knn with bm25: how far an item's length counts; default 0.75 */
    int most_items;            /* ease: keep only the most frequent items; 0 (default): all */
    double unobserved;         /* ials: alpha0, weight of unobserved pairs; INMO_AUTO (its default): chosen */
    double l2_exponent;        /* ials: nu, exponent of the degree in the weight of a squared norm */
    double low_pass;           /* gf-cf: weight of the ideal low-pass filter */
    double learning_rate;      /* Adam's */
    double l2;                 /* lambda; ials, ease, mf: INMO_AUTO (their default): chosen */
    const char *l2_on;         /* rows (default): norms of users and items; pairs (neumf): of each pair's vector */
    double dropout;            /* p: share of interactions dropped from the INMO sums in a step */
    double graph_dropout;      /* dropout of the backbone: edges and messages of ngcf, nodes of imc-gae */
    double self_weight;        /* beta: weight of the self-enhanced loss */
    double contrast;           /* gamma of idcf: weight of the contrastive loss */
    const char *attention;     /* idcf: own or shared weights of users and items */
    double key_learning_rate;  /* idcf: of the first stage; 0: learning_rate */
    double annealing;          /* delta: alpha = 1 - 0.5 delta^epoch; 1 keeps alpha at 0.5, 0 at 1 */
    double popularity;         /* gamma: an item's representation is scaled by degree^gamma */
    double walks;              /* weight of short walks beside the product of vectors; 0: none; INMO_AUTO: chosen */
    int walk_neighbours;       /* items that walks from one item lead to, at most */
    double links;              /* weight of item links beside the product of vectors; 0: none; INMO_AUTO: chosen */
    int link_neighbours;       /* items that an item is predicted from, at most */
    double link_ridge;         /* ridge of these predictions; INMO_AUTO (default): chosen */
    double link_popularity;    /* their gamma: scaled by degree^gamma; INMO_AUTO (default): chosen */
    double prior;              /* weight of popularity, the same for everybody; 0: none; INMO_AUTO: chosen */
    const char *eval_alpha;    /* one|reached|next: the alpha used outside training */
    double user_templates;     /* share of users in training that are templates (idcf: have keys), (0, 1] */
    double item_templates;     /* share of items in training that are templates (idcf: have keys), (0, 1] */
    const char *template_rule; /* error-sort, error-sort-svd, error-sort-svd-norm, degree, page-rank, random */
    const char *init;          /* normal|kaiming: distribution of the initial embeddings */
    double init_scale;         /* normal: standard deviation; default 0.1 */
    const char *start;         /* random|spectral: initial templates at random or from a truncated SVD */
    double start_scale;        /* spectral: scale of the initial embeddings */
    const char *loss;          /* bpr|softmax|listwise|bce|directau */
    int negatives;             /* softmax, listwise: uniform negatives that the whole batch shares; listwise has at
                                  most as many as items */
    int bce_negatives;         /* bce: negatives of each positive; default 4 */
    int pretrain;              /* neumf: epochs that each half is first trained alone, before the epochs */
    double temperature;        /* softmax: scores are divided by this; mult-vae: factor of the divergence;
                                  INMO_AUTO: by the log's size (inmo-lightgcn, inmo-mf, lightgcn,
                                  imc-lightgcn) */
    const char *storage;       /* float|half: graph layers during training */
    const char *order;         /* none|community: order of the nodes during training */
    const char *schedule;      /* constant|cosine|eager: learning rate over the epochs */
    int epochs;                /* at most */
    int patience;              /* stop after this many epochs without a better validation score */
    int eval_every;            /* epochs between validations */
    int valid_users;           /* validation looks at so many users, chosen by chance; 0: at all */
    double hold_out;           /* without a validation part: share of train held out to choose by; 0: none */
    const char *refit;         /* auto|none|graph|train: what becomes of the validation part in the end */
    double max_seconds;        /* stop after this wall time; 0 (default): no limit */
    uint64_t seed;             /* default 1 */
    const char *checkpoint;    /* file for checkpoints; default NULL: none */
    double checkpoint_seconds; /* time between them; default 60 */
    int resume;                /* 1: continue from the checkpoint if it exists */
    const char *from; /* warm start: a model file; its parameters are the start, matched by id, and only the
                         last epochs of the schedule are trained; default NULL: train anew */
    int from_epochs;  /* warm start: epochs to train; 0 (default): a sixth of epochs */
};

/* Defaults of the recipe for the model: "fast" (or NULL: what reaches the best quality soonest) or "paper" (the
 * paper's loss, and its settings for Gowalla; "paper:yelp" and "paper:amazon-book": for these data sets).
 * Errors: USAGE for an unknown model or recipe. */
INMO_API enum inmo_status inmo_train_options_init_sized(struct inmo_train_options *options, size_t size,
                                                        const char *model, const char *recipe,
                                                        struct inmo_error *error);
static inline enum inmo_status inmo_train_options_init(struct inmo_train_options *options, const char *model,
                                                       const char *recipe, struct inmo_error *error)
{
    return inmo_train_options_init_sized(options, sizeof *options, model, recipe, error);
}
/* The name, for inmo_train_options_init, of the paper's recipe for its data set "gowalla", "yelp" or "amazon-book";
 * like NULL: for the one nearest in size and density. NULL: the paper has no such data set. */
INMO_API const char *inmo_recipe_for(const char *like, int64_t users, int64_t items, int64_t interactions);
INMO_API const struct inmo_setting *inmo_train_settings(size_t *count);
/* Whether a model looks at the setting of this name: 1, also if no row has the name; 0 if it leaves it alone. */
INMO_API int inmo_train_setting_applies(const char *setting, const char *model);
/* Number of leading rows that determine the model's bytes and are stored in its file; the others only control the
 * run. */
INMO_API size_t inmo_train_settings_of_model(void);

struct inmo_train_report {
    int epochs;     /* total, including earlier parts of a resumed run */
    int best_epoch; /* epoch of the returned parameters, from 0; -1 without validation */
    int64_t steps;
    double seconds;           /* wall time of this call */
    double seconds_per_epoch; /* training only, of this call */
    double best_score;        /* validation NDCG@20, NaN without validation */
    double final_loss;        /* mean of the last epoch */
    const char *stopped;      /* "epochs", "patience", "max-seconds", "closed-form" */
};

/* Removes a checkpoint, with the files of all ranks if several wrote it. */
INMO_API void inmo_checkpoint_remove(const char *path);
/* Checks the options as inmo_train does, before any data is read. Errors: USAGE. */
INMO_API enum inmo_status inmo_train_check(const struct inmo_train_options *options, struct inmo_error *error);

/* Trains on the training part and keeps the epoch with the best validation NDCG@20. Without a validation part,
 * hold_out of the training part stands in for it, unless the model has nothing to choose. Then refit: "graph" keeps
 * the parameters and lets the model have all interactions, train and valid, as its graph, with links solved on them
 * (models with templates); "train" trains again, on all of them, for as many epochs and with the settings chosen;
 * "auto" is train for what was held out here (graph, if possible, with more than 2^17 interactions), and graph, if
 * possible, for a validation part of the data; none in a run of less than 20 seconds (max_seconds). report is of
 * the first pass, but for the time and the loss. If interrupted, writes a checkpoint and returns INMO_INTERRUPTED.
 * With from, interactions that the earlier model has in training are not validated with: they stay in training, and
 * what it was validated on stays in validation. report may be NULL. Errors: USAGE (an option out of bounds, or
 * other than that of the earlier model), INPUT (no interactions; test interactions that the earlier model was
 * trained on), UNSUPPORTED (a warm start of a model that does not learn by steps), NUMERIC, IO, FORMAT (checkpoint
 * of other data or options), MEMORY, INTERRUPTED. */
INMO_API enum inmo_status inmo_train(const struct inmo_dataset *dataset, const struct inmo_train_options *options,
                                     const struct inmo_hooks *hooks, struct inmo_model **model,
                                     struct inmo_train_report *report, struct inmo_error *error);
INMO_API void inmo_model_free(struct inmo_model *model);

struct inmo_model_info {
    const char *name;     /* "inmo-lightgcn" */
    int dim, layers;      /* dim 0: no vectors (popular, item-knn, ease, gf-cf, mult-vae) */
    int32_t users, items; /* with known ids */
    int32_t user_templates, item_templates;
    int64_t parameters;
    int64_t interactions;      /* in the graph it was trained on */
    const char *configuration; /* JSON object: every training option */
    const char *record;        /* JSON array: one object per epoch (loss, validation score) */
};
INMO_API void inmo_model_info(const struct inmo_model *model, struct inmo_model_info *info);
/* A JSON object: how its log was read ("reading") and split ("options"), by the names of the tables of settings,
 * and of a warm start the earlier model ("from"); "" if that is not known (pairs from memory, files of older
 * versions). What is to be read along with it should be read the same way. */
INMO_API const char *inmo_model_origin(const struct inmo_model *model);
/* What it was trained and validated on, by its own numbers of users and items. The arrays belong to the model. */
INMO_API void inmo_model_interactions(const struct inmo_model *model, struct inmo_interactions *train,
                                      struct inmo_interactions *valid);
/* The users and items with known ids, in the order of their numbers. */
INMO_API void inmo_model_ids(const struct inmo_model *model, struct inmo_id_table *users,
                             struct inmo_id_table *items);

/* Users and items that it knows only by name: those without training interactions, known from other parts of the
 * data set or from what was only seen. They follow the others in the numbers of inmo_model_seen; a list for such a
 * user is by popularity. Counts of 0 (and offset NULL) where there are none. */
INMO_API void inmo_model_extra_ids(const struct inmo_model *model, struct inmo_id_table *users,
                                   struct inmo_id_table *items);
/* What users have seen but not chosen (low ratings, views): never trained on, in no list of theirs. offset NULL:
 * nothing. */
INMO_API void inmo_model_seen(const struct inmo_model *model, struct inmo_interactions *seen);
/* JSON object: the preparation options of the data it was trained on; NULL: unknown (matrices, older files). */
INMO_API const char *inmo_model_preparation(const struct inmo_model *model);

/* ---- 3b. Tune: which settings? ------------------------------------------------------------------------------ */

struct inmo_tune_options {
    size_t size;        /* set by inmo_tune_options_init */
    const char *search; /* "learning-rate=1e-3..3e-2:log,dropout=0.3..0.7:5,layers=2|3": training options with a
                                  range (uniform, or in the logarithm), so many values of one, or a list. NULL
                                  (default): what matters for each model; its first trial is the options as given */
    const char *keep;   /* without search: "dim,layers": settings that stay as given; default NULL: none */
    const char *method; /* grid: every combination. random: by chance, none twice. halving: by chance, all
                                  trained briefly, the best of them longer, again and again. auto (default):
                                  halving without search, else random */
    int trials;         /* 0 (default): the whole grid, otherwise 20, or 3 of each of several models */
    uint64_t seed;      /* of the search: trial n's settings are a function of (seed, n); default 1 */
    const char *seeds;  /* of training: a trial's score is the mean over "1,2,3"; default "1" */
    int halving_rate;   /* halving: the best 1/rate go on for rate times the epochs; default 3 */
    int least_epochs;   /* halving: of the first rung; 0 (default): eval_every of the training options */
    double max_seconds; /* of this call: the search stops, and can go on later; 0: no limit; INMO_AUTO (default):
                                  600 without search, else no limit */
    double per_trial_seconds;  /* of each training, which ends there; 0 (default): no limit */
    double checkpoint_seconds; /* between checkpoints of the running trial; default 60 */
};
INMO_API void inmo_tune_options_init_sized(struct inmo_tune_options *options, size_t size);
static inline void inmo_tune_options_init(struct inmo_tune_options *options)
{
    inmo_tune_options_init_sized(options, sizeof *options);
}
INMO_API const struct inmo_setting *inmo_tune_settings(size_t *count); /* all but search and keep */

struct inmo_tune_trial {
    int number;               /* from 1 */
    const char *const *value; /* one per searched setting, as on the command line; "": not one of its model's */
    int epochs;        /* of its training: all, or with halving those of the rung that counts; 0: a closed form */
    double score;      /* best validation NDCG@20, mean over the seeds; NaN when it failed */
    double deviation;  /* standard deviation over the seeds; NaN for one seed */
    const char *error; /* why its training failed; else NULL */
    const char *model;
    double seconds; /* of all its trainings */
};
struct inmo_tune_report {
    size_t setting_count;
    const char *const *setting; /* names of the searched settings; of several models, model is the first */
    size_t trial_count;
    const struct inmo_tune_trial
        *trial; /* finished trials, best first: by epochs, then by score; without search and
                                            with several models by score alone */
    struct inmo_train_options
        best;               /* for inmo_train: all settings of trial[0], with its epochs and the first seed */
    int planned;            /* number of trials of the whole search */
    int trained;            /* trainings of this call; others were in the record */
    double seconds;         /* of this call */
    const char *stopped;    /* "done" or "max-seconds" */
    const char *best_model; /* file with the model of trial[0]; NULL: no directory, or no trial is finished */
    const char *page;       /* file with charts and a table of the trials; NULL: no directory */
};

/* Searches for better training settings by validation NDCG@20, starting from fixed; never reads the test part.
 * directory (created if necessary; NULL: nothing is kept) holds the record of finished trainings, the checkpoint
 * of the current one, and best.inmo, the model of the best trial so far (with the first seed). Called again with
 * the same arguments, also after kill -9, the search continues, repeats no training, and ends with the same report.
 * More trials may be requested (not with halving); any other difference is refused. Settings whose training fails
 * (non-finite numbers, an invalid combination) are failed trials. Errors: USAGE (names the setting), UNSUPPORTED (a
 * model without training), INPUT (no validation part), EXISTS (the directory has another search or other files),
 * INTERRUPTED (with a checkpoint); if all trials failed, the error of the first. */
INMO_API enum inmo_status inmo_tune(const struct inmo_dataset *dataset, const struct inmo_train_options *fixed,
                                    const struct inmo_tune_options *options, const char *directory,
                                    const struct inmo_hooks *hooks, struct inmo_tune_report **report,
                                    struct inmo_error *error);
/* The same over several models, each with its own options: their trials take turns. Models that cannot be trained
 * in the memory there is are failed trials. Without search, or with several models, the search is made for
 * max_seconds: with halving each rung has an equal part of it, and goes on with what is finished then. What a trial
 * is never depends on time, only which ones are reached; ease has its most frequent 10,000 items unless keep names
 * most-items. */
INMO_API enum inmo_status inmo_tune_models(const struct inmo_dataset *dataset,
                                           const struct inmo_train_options *fixed, size_t count,
                                           const struct inmo_tune_options *options, const char *directory,
                                           const struct inmo_hooks *hooks, struct inmo_tune_report **report,
                                           struct inmo_error *error);
/* All models, in the order in which a search over them should try them; NULL after the last. */
INMO_API const char *inmo_tune_model(size_t n);
INMO_API void inmo_tune_report_free(struct inmo_tune_report *report);

/* ---- 4. Files ---------------------------------------------------------------------------------------------- */

/* Writes one file in safetensors layout (docs/formats.md), atomically: on failure an existing file is unchanged.
 * Errors: EXISTS (without force), IO. */
INMO_API enum inmo_status inmo_model_save(const struct inmo_model *model, const char *path, int force,
                                          struct inmo_error *error);
/* Maps the file after checking version, sizes and checksum. Errors: IO, FORMAT. */
INMO_API enum inmo_status inmo_model_load(const char *path, struct inmo_model **model, struct inmo_error *error);

/* Puts a copy of the titles into the model, which is saved with it; NULL takes them out. Not while views of the
 * model are in use. Errors: MEMORY. */
INMO_API enum inmo_status inmo_model_keep_titles(struct inmo_model *model, const struct inmo_titles *titles,
                                                 struct inmo_error *error);
/* The titles in the model; NULL: none. */
INMO_API const struct inmo_titles *inmo_model_titles(const struct inmo_model *model);

/* ---- 5. Evaluate ------------------------------------------------------------------------------------------- */

struct inmo_eval_options {
    size_t size;            /* set by inmo_eval_options_init */
    const char *part;       /* test (default) or valid */
    const char *ks;         /* list lengths, "5,10,20"; default "20" */
    int without_new;        /* inductive scenarios: 1: do not observe what came after training; default 0 */
    const char *eval_alpha; /* one|reached; default NULL: as the model was trained */
    double walks;           /* weight of short walks; default -1: as trained, or weighed again if neither is given
                               and the log has outgrown the model */
    double links;           /* weight of item links; default -1: the same */
    double prior;           /* weight of popularity; default -1: as trained */
    int walk_neighbours;    /* default 0: as trained */
    int allow_leaks;        /* 1: also on interactions that the model was trained on; default 0: refused */
    int mask_seen;          /* 1: what a user has seen but not chosen is not ranked, as in lists; default 0 */
};
INMO_API void inmo_eval_options_init_sized(struct inmo_eval_options *options, size_t size);
static inline void inmo_eval_options_init(struct inmo_eval_options *options)
{
    inmo_eval_options_init_sized(options, sizeof *options);
}
INMO_API const struct inmo_setting *inmo_eval_settings(size_t *count);

struct inmo_metrics {
    int k;
    double recall, precision, ndcg, hit_rate, mrr, map, coverage; /* 0..1; coverage: share of items in any list */
    double novelty; /* mean of -log2 of the share of users who chose a listed item, in bits */
    /* 1 - mean cosine of two items of a list by their users, over at most 1000 lists; NaN for k 1 */
    double diversity;
};
struct inmo_group {
    const char *name;              /* "all", "new-users", "new-items", "old-users", "history 10-19", ... */
    int64_t users;                 /* number of users in the group */
    const struct inmo_metrics *at; /* one per k */
};
struct inmo_report {
    size_t k_count, group_count;
    const struct inmo_group *group; /* group[0] is "all" */
    const float *user_ndcg;         /* (users of the data set) NDCG at the first k; NaN: not counted */
    double seconds;
    double inference_seconds; /* of these: building the graph and computing what scores need */
};
/* Ranks all items for every user with test items. Errors: USAGE, UNSUPPORTED (the model cannot handle the
 * scenario), INPUT (no test interactions; some that the model was trained on). */
INMO_API enum inmo_status inmo_evaluate(const struct inmo_model *model, const struct inmo_dataset *dataset,
                                        const struct inmo_eval_options *options, const struct inmo_hooks *hooks,
                                        struct inmo_report **report, struct inmo_error *error);
INMO_API void inmo_report_free(struct inmo_report *report);

/* How much of a part ("test" or "valid") the model has been shown: inmo_evaluate refuses a part of which it was
 * trained on anything, and a test part that it was validated with. */
struct inmo_leaks {
    int64_t interactions; /* of the part */
    int64_t trained;      /* of these, in the model's training interactions */
    int64_t validated;    /* in those it was validated with */
};
INMO_API enum inmo_status inmo_evaluate_leaks(const struct inmo_model *model, const struct inmo_dataset *dataset,
                                              const char *part, struct inmo_leaks *leaks, struct inmo_error *error);

/* ---- 6. Use: model + whatever has been observed -> recommendations ------------------------------------------- */

/* A view applies a model to everything observed so far: the interactions it was trained and validated on, those in
 * observed (may be NULL), and every event reported since. Users and items may be new to the model. Nothing is
 * retrained.
 *
 * Threads: any number of threads may call any function but inmo_view_free on one view at the same time. Requests
 * read an immutable snapshot and never wait for a refresh.
 *
 * Lifetimes: the model must outlive its views. Lists and explanations own their contents and outlive their view,
 * except those of inmo_recommend_many. */
struct inmo_view;
INMO_API enum inmo_status inmo_view_create(const struct inmo_model *model, const struct inmo_log *observed,
                                           struct inmo_view **view, struct inmo_error *error);
/* No other call on the view may be running. Waits for a background refresh to finish. */
INMO_API void inmo_view_free(struct inmo_view *view);

struct inmo_event {
    const char *user, *item;
    int64_t time; /* seconds since 1970; 0: unknown. Only used for reporting (inmo_view_freshness) */
};
/* Adds events to the view: all of them or, on failure, none. They take effect as follows:
 *     - the user's own list: on the next request. The user is folded in with the whole history. Models that cannot
 *       serve unseen users only leave the item out of the list;
 *     - a new item: on the next request, folded in from its users, if the model can offer unseen items;
 *     - the lists of all other users: on the next refresh.
 * A repeated event changes nothing. Errors: USAGE (names the event: an id that is empty, longer than 4096 bytes or
 * not UTF-8), MEMORY. */
INMO_API enum inmo_status inmo_view_observe(struct inmo_view *view, const struct inmo_event *events, size_t count,
                                            struct inmo_error *error);
/* Adds events of items that a user has seen but not chosen: views, low ratings, returns. From the next request on
 * they are in no list of that user, also with include_seen, unless the user chooses them; nothing else depends on
 * them. A user who is new with such an event is known and gets a list by popularity. All or, on failure, none.
 * Errors: as inmo_view_observe. */
INMO_API enum inmo_status inmo_view_observe_seen(struct inmo_view *view, const struct inmo_event *events,
                                                 size_t count, struct inmo_error *error);
/* Forgets a user (item NULL), an item (user NULL) or one interaction. From the next request on, a forgotten user
 * is unknown and a forgotten item is in no list. From the next refresh on, no representation depends on them, and
 * what the model learned about them (their template) is not used again. Trained parameters of others do not
 * change. A forgotten item that is observed again comes back with the next refresh. A user or item that the model
 * does not know and that has lost all interactions is unknown from the next refresh on. Errors: USAGE (both NULL),
 * UNKNOWN, MEMORY. */
INMO_API enum inmo_status inmo_view_forget(struct inmo_view *view, const char *user, const char *item,
                                           struct inmo_error *error);
/* Builds a new snapshot from everything observed and forgotten so far and swaps it in. The calling thread builds
 * it, with all worker threads; other threads go on using the old one. On failure the old one stays and no event is
 * lost. One refresh runs at a time; a second call waits for the first. Errors: MEMORY, INTERRUPTED. */
INMO_API enum inmo_status inmo_view_refresh(struct inmo_view *view, const struct inmo_hooks *hooks,
                                            struct inmo_error *error);
/* Starts a refresh in a background thread and returns at once. Does nothing if a background refresh is running
 * already (see inmo_freshness.refreshing). Errors: MEMORY (no thread). */
INMO_API enum inmo_status inmo_view_refresh_in_background(struct inmo_view *view, struct inmo_error *error);

/* Computes now what requests would otherwise compute on first use (walks from the items of their histories), so
 * that the first requests are not slower than later ones. Not needed after a refresh. Errors: MEMORY,
 * INTERRUPTED. */
INMO_API enum inmo_status inmo_view_warm(const struct inmo_view *view, const struct inmo_hooks *hooks,
                                         struct inmo_error *error);

struct inmo_freshness {
    uint64_t events;             /* reported so far: observed and forgotten */
    uint64_t pending;            /* of these, not in the snapshot yet */
    uint64_t refreshes;          /* finished so far, not counting the view's creation */
    double seconds;              /* taken to build the last snapshot */
    int64_t newest_time;         /* latest time of any event; 0: none had a time */
    int refreshing;              /* 1: a refresh is running */
    enum inmo_status background; /* result of the last background refresh */
};
INMO_API void inmo_view_freshness(const struct inmo_view *view, struct inmo_freshness *freshness);

/* Rules for lists: which items may be in them by the columns of the titles, which are preferred, how many of a
 * kind, and how different they are. Made once for a view and used by any number of queries and threads at once.
 *
 * A cell of the titles may have several values: "Action|Comedy". Case does not matter, nor does a plural s in the
 * name of a column. Items that the titles do not have match no value, are not boosted and count in no quota.
 *
 * where is exact: it leaves only such items. boost, at_most and diversity choose again from the best candidates of
 * the model: an item beyond them does not come in. Diversity is maximal marginal relevance on the cosines of the
 * items' vectors (docs/math.md#re-ranking); the scores in a list are the model's, boosted, so they need not
 * descend. */
struct inmo_rules;
struct inmo_rule_options {
    size_t size;              /* set by inmo_rule_options_init */
    const char *const *where; /* "genre=jazz", "genre=jazz|blues" (one of them), "genre!=jazz"; all must hold */
    size_t where_count;
    const char *const *boost; /* "genre=jazz:1.2": a score s becomes s + 0.2 |s|; factors are multiplied */
    size_t boost_count;
    const char *const *at_most; /* "3:genre": at most three items of any one genre in a list */
    size_t at_most_count;
    double diversity; /* 0 (default): by score alone; 1: as different as possible */
    int candidates;   /* items to choose from; 0 (default): five times k, at least 100 */
};
INMO_API void inmo_rule_options_init_sized(struct inmo_rule_options *options, size_t size);
static inline void inmo_rule_options_init(struct inmo_rule_options *options)
{
    inmo_rule_options_init_sized(options, sizeof *options);
}
/* titles may be NULL if only diversity is asked for. Items that come into the view later have no title for the
 * rules. Errors: USAGE (names the rule, and the columns there are), UNSUPPORTED (diversity with a model without
 * vectors: popular, item-knn, ease, gf-cf, mult-vae), MEMORY. */
INMO_API enum inmo_status inmo_rules_create(const struct inmo_view *view, const struct inmo_titles *titles,
                                            const struct inmo_rule_options *options, struct inmo_rules **rules,
                                            struct inmo_error *error);
/* No query that uses them may be running. */
INMO_API void inmo_rules_free(struct inmo_rules *rules);

struct inmo_query {
    size_t size;              /* set by inmo_query_init */
    const char *user;         /* a user in the view, or NULL */
    const char *const *items; /* the history of an unseen user; with a user, added to that user's history */
    size_t item_count;
    int k;                    /* length of the list; default 20 */
    int include_seen;         /* 1: items of the history may be recommended; default 0 */
    const char *const *allow; /* if not NULL, only these items */
    size_t allow_count;
    const char *const *deny; /* items never to recommend */
    size_t deny_count;
    const struct inmo_rules *rules; /* filters, boosts, quotas and diversity (below); default NULL: none */
};
INMO_API void inmo_query_init_sized(struct inmo_query *query, size_t size);
static inline void inmo_query_init(struct inmo_query *query)
{
    inmo_query_init_sized(query, sizeof *query);
}

struct inmo_entry {
    const char *id;
    double score;
};
struct inmo_list {
    size_t count;
    struct inmo_entry *entry;
    double coverage;         /* share of the history that the model can use (inmo models: template items) */
    int unknown_items;       /* unknown items in the query's history, allow and deny lists; they are skipped */
    int fallback;            /* 1: the model could use nothing of the history; the list is by popularity */
    const char *measure;     /* inmo_similar: what score means, "cosine" or "weight"; else NULL */
    enum inmo_status status; /* inmo_recommend_many: why there is no list, else OK */
    const char *problem;     /* the error message for status, else NULL */
};
/* Errors: UNKNOWN (user), UNSUPPORTED (an unseen user with a lookup model), USAGE (k), MEMORY. */
INMO_API enum inmo_status inmo_recommend(const struct inmo_view *view, const struct inmo_query *query,
                                         struct inmo_list **list, struct inmo_error *error);
INMO_API void inmo_list_free(struct inmo_list *list);

/* Reusable memory for requests of one thread at a time: after the first few, a request allocates nothing. Not tied
 * to a view. */
struct inmo_work;
INMO_API enum inmo_status inmo_work_create(struct inmo_work **work, struct inmo_error *error);
INMO_API void inmo_work_free(struct inmo_work *work);
/* Answers several requests in one pass over the items. *lists points to count lists, which belong to the work
 * space: they are valid until its next use, and no longer than the view. An error in one query is reported in its
 * list; the others are still answered. Errors: MEMORY. */
INMO_API enum inmo_status inmo_recommend_many(const struct inmo_view *view, struct inmo_work *work,
                                              const struct inmo_query *queries, size_t count,
                                              const struct inmo_list **lists, struct inmo_error *error);

/* People and items by number instead of id, for callers with matrices: item n is row n of inmo_view_items, also of
 * those that came since the last refresh (inmo_view_item_row). */
struct inmo_rows_query {
    size_t size;           /* set by inmo_rows_query_init */
    size_t count;          /* people */
    const int64_t *user;   /* (count) the user of the view whose representation is used; negative: somebody unseen,
                              folded in from the items of the row; NULL: all are */
    const int64_t *offset; /* (count + 1) person n has the items item[offset[n]] .. item[offset[n + 1] - 1] */
    const int32_t *item;   /* (item_count) in any order; negative ones are unknown and skipped */
    int64_t item_count;
    int k;                /* length of a list; default 20 */
    int include_seen;     /* 1: items of a person's row may be listed; default 0 */
    int exclude_past;     /* 1: nor is what a user of the view has chosen, whatever the row has; default 0 */
    const int32_t *allow; /* if not NULL, only these items */
    size_t allow_count;
    const int32_t *deny; /* items never to recommend */
    size_t deny_count;
    const struct inmo_rules *rules; /* as in struct inmo_query */
};
INMO_API void inmo_rows_query_init_sized(struct inmo_rows_query *query, size_t size);
static inline void inmo_rows_query_init(struct inmo_rows_query *query)
{
    inmo_rows_query_init_sized(query, sizeof *query);
}
/* item (count, k) gets the best items of each person, best first, and -1 where there are fewer; score (count, k)
 * their scores, and -FLT_MAX there. A few people are answered like inmo_recommend_many does it, by the calling
 * thread; many are folded in and ranked by all worker threads, at the speed of inmo_recommend_all. The lists are
 * those of inmo_recommend, up to the rounding of scores. On failure item and score may be partly written. Errors:
 * UNKNOWN (a user), UNSUPPORTED (an unseen person with a lookup model), USAGE (k; an item or a row out of bounds),
 * MEMORY, INTERRUPTED. */
INMO_API enum inmo_status inmo_recommend_rows(const struct inmo_view *view, const struct inmo_rows_query *query,
                                              const struct inmo_hooks *hooks, int32_t *item, float *score,
                                              struct inmo_error *error);

/* Recommends for all users of the view that the model can serve, with the query's k, include_seen, allow and deny
 * (user and items must be NULL). Calls row once for each user, in order, from one thread. The lists are those of
 * inmo_recommend, up to the rounding of scores. A non-zero return of row stops with INMO_INTERRUPTED. */
INMO_API enum inmo_status inmo_recommend_all(const struct inmo_view *view, const struct inmo_query *query,
                                             const struct inmo_hooks *hooks,
                                             int (*row)(void *context, const char *user, size_t count,
                                                        const struct inmo_entry *entry),
                                             void *context, struct inmo_error *error);

/* Coverage, unknown items of the history and fallback of the list that inmo_recommend would give, without making
 * it: sets these three of *list. Errors: as of inmo_recommend. */
INMO_API enum inmo_status inmo_query_coverage(const struct inmo_view *view, const struct inmo_query *query,
                                              struct inmo_list *list, struct inmo_error *error);

/* The k nearest items or users by cosine of their representations. For systems without representations (item-knn,
 * ease, gf-cf): the k items with the largest weights for a history of this item alone. Exactly one of item and
 * user must be non-NULL. Errors: UNKNOWN, UNSUPPORTED (popular; users of a system without representations). */
INMO_API enum inmo_status inmo_similar(const struct inmo_view *view, const char *item, const char *user, int k,
                                       struct inmo_list **list, struct inmo_error *error);

/* The same by numbers, for many at once and by all worker threads: rows of inmo_view_items or, with of_users, of
 * inmo_view_users. near (count, k) gets the nearest of each, best first, itself among them, and -1 where there are
 * fewer; score (count, k) their cosines, or weights (where the item itself has no weight, its score is that of the
 * nearest), and -FLT_MAX there. allow (may be NULL) and deny limit what is listed. Errors: USAGE, UNSUPPORTED,
 * UNKNOWN (a row that came or was forgotten since the last refresh), MEMORY. */
INMO_API enum inmo_status inmo_similar_rows(const struct inmo_view *view, int of_users, const int64_t *row,
                                            size_t count, int k, const int32_t *allow, size_t allow_count,
                                            const int32_t *deny, size_t deny_count, int32_t *near, float *score,
                                            struct inmo_error *error);

/* Explains the score of an item as a sum of contributions (up to rounding): one entry for each item of the
 * history, and one for what does not depend on the history ("(any user)" or "(own embedding)"; with a
 * prior also "(popularity)"). ngcf models are
 * not linear in the history: there an item's entry is what the score would lose without it, and "(the rest)" is
 * the remainder. */
struct inmo_explanation {
    double score;
    size_t count;
    struct inmo_entry *part; /* largest first; score is the contribution */
};
INMO_API enum inmo_status inmo_explain(const struct inmo_view *view, const struct inmo_query *query,
                                       const char *item, struct inmo_explanation **explanation,
                                       struct inmo_error *error);
INMO_API void inmo_explanation_free(struct inmo_explanation *explanation);

/* ---- 7. Expert: the numbers themselves ------------------------------------------------------------------- */

struct inmo_matrix {
    int64_t rows;
    int columns;
    const float *value; /* (rows, columns), row-major; of the snapshot: valid until the next refresh */
};
/* Final representations. The score of user u and item i is the dot product of their rows, unless the model has a
 * head (neumf) or adds walks to it. No columns where a model has no vectors (popular, item-knn, ease, gf-cf,
 * mult-vae). */
INMO_API void inmo_view_users(const struct inmo_view *view, struct inmo_matrix *matrix);
INMO_API void inmo_view_items(const struct inmo_view *view, struct inmo_matrix *matrix);
/* A tensor of a system (item-knn, ease, ials, gf-cf, mult-vae), as in the model file (docs/formats.md). */
struct inmo_tensor_info {
    const char *name;
    const char *type;      /* "F32", "I32", "I64" */
    int64_t rows, columns; /* columns 0: a vector */
    const void *data;      /* belongs to the model */
};
/* Fills *info with tensor n and returns 1; returns 0 after the last. */
INMO_API int inmo_model_tensor(const struct inmo_model *model, size_t n, struct inmo_tensor_info *info);
/* External ids of the rows of a view's representations. */
INMO_API const char *inmo_view_user_id(const struct inmo_view *view, int64_t row);
INMO_API const char *inmo_view_item_id(const struct inmo_view *view, int64_t row);
/* The rows of such ids; -1 for an unknown one. Users and items that came after the last refresh have rows, too,
 * which the representations get with the next one. */
INMO_API int64_t inmo_view_user_row(const struct inmo_view *view, const char *id);
INMO_API int64_t inmo_view_item_row(const struct inmo_view *view, const char *id);

/* Keeps the current representations where they are until they are released, whatever becomes of the view; only the
 * model must live as long. users and items may be NULL. */
struct inmo_snapshot;
INMO_API struct inmo_snapshot *inmo_view_hold(const struct inmo_view *view, struct inmo_matrix *users,
                                              struct inmo_matrix *items);
INMO_API void inmo_snapshot_release(struct inmo_snapshot *snapshot);

#ifdef __cplusplus
}
#endif
#endif
