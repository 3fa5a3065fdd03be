/* unseen_user.c - the library from end to end, with inmo.h alone: a log in memory, a data set, a trained model, its
 * file, and recommendations with reasons for a user the model has never seen.
 *
 *     cc unseen_user.c -linmo && ./a.out
 *
 * It is also a test: it checks its results and exits with a non-zero code if they are wrong. */
#include <inmo.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GENRES = 3, PIECES = 12, LISTENERS = 90, LISTENED = 8, PAIRS = LISTENERS * LISTENED };

static const char *const genre[GENRES] = {"jazz", "folk", "metal"};

/* Prints the message of a failed call and exits; a real program would handle it. */
static void must(enum inmo_status status, const struct inmo_error *error)
{
    if (status) {
        fprintf(stderr, "unseen_user: %s: %s\n", inmo_status_name(status), error->message);
        exit(1);
    }
}

static void expect(int condition, const char *sentence)
{
    if (!condition) {
        fprintf(stderr, "unseen_user: not so: %s\n", sentence);
        exit(1);
    }
}

/* 90 people, each with a favourite genre: seven of ten pieces come from it. */
static struct inmo_log *make_log(void)
{
    static char name[LISTENERS + GENRES * PIECES][16];
    static const char *user[PAIRS], *item[PAIRS];
    struct inmo_error error = {0};
    struct inmo_log *log = NULL;
    unsigned state = 1;

    for (int u = 0; u < LISTENERS; u++)
        snprintf(name[u], sizeof name[u], "person-%02d", u);
    for (int i = 0; i < GENRES * PIECES; i++)
        snprintf(name[LISTENERS + i], sizeof name[0], "%s-%02d", genre[i / PIECES], i % PIECES);
    for (int n = 0; n < PAIRS; n++) {
        int u = n / LISTENED, kind = u % GENRES;
        state = state * 1664525u + 1013904223u;
        if ((state >> 8) % 10 >= 7)
            kind = (int)((state >> 12) % GENRES);
        user[n] = name[u];
        item[n] = name[LISTENERS + kind * PIECES + (int)((state >> 20) % PIECES)];
    }
    must(inmo_log_from_pairs(PAIRS, user, item, NULL, &log, &error), &error);
    return log;
}

static void train_and_save(const char *path)
{
    struct inmo_error error = {0};
    struct inmo_prepare_options prepare;
    struct inmo_train_options train;
    struct inmo_train_report report;
    struct inmo_dataset *dataset = NULL;
    struct inmo_model *model = NULL;
    struct inmo_log *log = make_log();

    inmo_prepare_options_init(&prepare);
    prepare.split = "90/10/0";
    must(inmo_dataset_prepare(log, &prepare, &dataset, &error), &error);

    must(inmo_train_options_init(&train, "inmo-lightgcn", "fast", &error), &error);
    train.dim = 16;
    train.layers = 2;
    train.batch = 128;
    train.epochs = 30;
    must(inmo_train(dataset, &train, NULL, &model, &report, &error), &error);
    printf("trained %d epochs, validation NDCG@20 %.3f\n", report.epochs, report.best_score);
    expect(isfinite(report.final_loss) && report.best_score > 0.2, "it has learned something");

    must(inmo_model_save(model, path, 1, &error), &error);
    expect(inmo_model_save(model, path, 0, &error) == INMO_EXISTS, "without force a file is not replaced");
    inmo_model_free(model);
    inmo_dataset_free(dataset);
    inmo_log_free(log);
}

/* Three reasons for a recommendation; checks that the parts sum to the score. */
static void print_reasons(const struct inmo_view *view, const struct inmo_query *query,
                          const struct inmo_entry *entry)
{
    struct inmo_error error = {0};
    struct inmo_explanation *why = NULL;
    double sum = 0;

    must(inmo_explain(view, query, entry->id, &why, &error), &error);
    printf("%-10s %7.3f  because of", entry->id, entry->score);
    for (size_t n = 0; n < why->count; n++) {
        sum += why->part[n].score;
        if (n < 3)
            printf("%s %s (%.3f)", n ? "," : "", why->part[n].id, why->part[n].score);
    }
    printf("\n");
    expect(fabs(sum - why->score) < 1e-4 * (1 + fabs(sum)), "the parts sum to the score");
    expect(fabs(entry->score - why->score) < 1e-4 * (1 + fabs(sum)), "the explained score is the recommended one");
    inmo_explanation_free(why);
}

int main(int argc, char **argv)
{
    static const char *const history[] = {"jazz-01", "jazz-05", "jazz-09", "a-piece-nobody-knows"};
    const char *path = argc > 1 ? argv[1] : "unseen_user.inmo";
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct inmo_view *view = NULL;
    struct inmo_list *list = NULL;
    struct inmo_query query;
    int jazz = 0;

    train_and_save(path);
    must(inmo_model_load(path, &model, &error), &error);
    must(inmo_view_create(model, NULL, &view, &error), &error);

    inmo_query_init(&query);
    query.items = history;
    query.item_count = sizeof history / sizeof *history;
    query.k = 5;
    must(inmo_recommend(view, &query, &list, &error), &error);

    printf("a new user listened to %s, %s and %s:\n", history[0], history[1], history[2]);
    for (size_t n = 0; n < list->count; n++) {
        print_reasons(view, &query, &list->entry[n]);
        jazz += strncmp(list->entry[n].id, "jazz-", 5) == 0;
        for (size_t h = 0; h < query.item_count; h++)
            expect(strcmp(list->entry[n].id, history[h]) != 0, "what was heard already is not recommended");
        expect(n == 0 || list->entry[n].score <= list->entry[n - 1].score, "the best come first");
    }
    expect(list->count == 5, "five pieces are recommended");
    expect(jazz >= 3, "who listens to jazz is recommended jazz");
    expect(list->unknown_items == 1, "one piece of the history is unknown, and passed over");
    expect(!list->fallback, "the list does not fall back to popularity");

    inmo_list_free(list);
    inmo_view_free(view);
    inmo_model_free(model);
    remove(path);
    return 0;
}
