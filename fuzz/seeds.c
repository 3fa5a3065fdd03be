/* seeds.c - writes the seed corpus from synthetic data: `seeds FOLDER` makes FOLDER/TARGET/NAME. Small files that
 * between them have every format, every kind of model part and every field; found.* beside them are inputs that
 * once showed a fault, and are not touched. */
#include "fuzz.h"

#include "base/tensorfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *root;

static const char *path_of(const char *target, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", root, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", root, target, name);
    return path;
}

static void put(const char *target, const char *name, const char *text)
{
    FILE *stream = fopen(path_of(target, name), "wb");
    if (!stream || fputs(text, stream) < 0 || fclose(stream) != 0)
        inmo_fuzz_broken("cannot write %s", name);
}

/* ---- Texts: logs, trials, configurations ------------------------------------------------------------------- */

static const struct {
    const char *target, *name, *text;
} text[] = {
    {"log", "tab", "a0rann\ttea\nann\tmilk\nbob\ttea\nbob\tmilk\ncid\trum\n"},
    {"log", "header-comma", "b1ruser_id,item\n1,x\n1,y\n2,x\n\"3\",\"x \"\"y\"\"\"\n"},
    {"log", "columns", "b4ruser item\nann tea 4 86400\nbob tea 5 86401\nbob rum 1 3\n"},
    {"log", "columns-comma", "b6r\n1,2,3.5,1e9\n1,3,5,2009-01-01\n4,2,4,2009-01-01T10:00:00Z\n"},
    {"log", "skip-bad", "a8rann\ttea\n\nbob\nann\trum\ncid\ttea\n\xff\xfe\t\n"},
    {"log", "list", "c0r0 1 2 3\n1 2\n2 0 4 5\n"},
    {"log", "inter",
     "d0ruser_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t2\t4\t881250949\n1\t3\t5\t88125\n"},
    {"log", "movielens", "e0r1::1193::5::978300760\n1::661::3::978302109\n2::1193::4::978300\n"},
    {"log", "gowalla",
     "f0r0\t2010-10-19T23:55:27Z\t30.23\t-97.79\t22847\n1\t2010-10-18T22:17:43Z\t30\t-97\t420315\n"},
    {"log", "amazon", "g0rA1,B1,5.0,1393545600\nA2,B1,4.0,1393545\nA1,B2,5.0,13935\n"},
    {"log", "amazon-json",
     "a0r{\"reviewerID\": \"A1\", \"asin\": \"B1\", \"overall\": 5.0, \"unixReviewTime\": 1393545600}\n"
     "{\"reviewerID\": \"A2\", \"asin\": \"B1\", \"overall\": 4.0, \"unixReviewTime\": 13935}\n"},
    {"log", "yelp",
     "h0r{\"user_id\": \"u\", \"business_id\": \"b\", \"stars\": 4.0, \"date\": \"2016-03-09 10:11:12\"}\n"
     "{\"user_id\": \"v\", \"business_id\": \"b\", \"stars\": 5.0, \"date\": \"2016-03-09\"}\n"},
    {"log", "auto-json",
     "a0g{\"user_id\": \"\\u00e4\", \"business_id\": \"b\", \"stars\": 4, \"date\": \"2016-03-09\"}\n"},
    {"log", "auto-gzip", "a0gann\ttea\t4\nann\tmilk\t5\nbob\ttea\t3.5\n"},
    {"log", "auto-zstd", "aHzann,tea\nann,milk\nbob,tea\n"},
    {"log", "split", "a0ruser\titem\tsplit\nann\ttea\ttrain\nann\trum\ttest\nbob\ttea\tvalid\nbob\trum\ttrain\n"},
    {"trials", "finished",
     "{\"trial\": 1, \"epochs\": 3, \"seed\": 1, \"settings\": {\"dim\": 2}, \"ndcg@20\": 0.5, \"best_epoch\": 1, "
     "\"seconds\": 0.01, \"code\": 0, \"error\": null}\n{\"trial\": 2, \"epochs\": 3, \"seed\": 1, \"settings\": "
     "{\"dim\": 3}, \"ndcg@20\": null, \"best_epoch\": -1, \"seconds\": 0.01, \"code\": 10, \"error\": \"no\"}\n"},
    {"trials", "failed",
     "{\"trial\": 2, \"epochs\": 3, \"seed\": 1, \"settings\": {\"dim\": 3}, \"ndcg@20\": null, "
     "\"best_epoch\": -1, \"seconds\": 0.01, \"code\": 10, \"error\": \"not finite\"}\n"},
    {"trials", "torn", "{\"trial\": 1, \"epochs\": 3, \"seed\": 1, \"sett"},
    {"trials", "other-search", "!{\"inmo.tune\": 1, \"search\": \"dim=4|5\"}\n"},
    {"config", "train-lines",
     "c# settings\nmodel = inmo-lightgcn\ndim=16\nlearning-rate = 1e-3\n\nuser_templates = 0.3\n"},
    {"config", "train-json", "c{\"model\": \"ease\", \"l2\": 250.0, \"most-items\": 10, \"loss\": null}"},
    {"config", "prepare-lines",
     "bscenario = new-users-items\nsplit = 80/10/10\nk-core = 2\nkeep-all-ratings = yes\n"},
    {"config", "tune-json", "d{\"search\": [\"dim=2|3\", \"layers=1..3\"], \"trials\": 3, \"seeds\": \"1,2\"}"},
    {"config", "recommend-json", "f{\"items\": [\"a\", \"b\"], \"k\": 5, \"json\": true, \"include-seen\": false}"},
    {"config", "unknown", "a\nunknown = 1\n"},
    {"routes", "user",
     "POST /api/user\n{\"UserId\": \"u0\", \"Labels\": [\"a\"], \"Subscribe\": [\"d\"], \"Comment\": \"c\"}"},
    {"routes", "users",
     "POST /api/users\n[{\"UserId\": \"a\"}, {\"UserId\": \"\\u00e4\", \"Labels\": {\"x\": [1, 2.5e3]}}]"},
    {"routes", "get-user", "GET /api/user/u0"},
    {"routes", "patch-user", "PATCH /api/user/u1\n{\"Comment\": \"other\"}"},
    {"routes", "delete-user", "DELETE /api/user/u6"},
    {"routes", "get-users", "GET /api/users?n=2&cursor=uYQ"},
    {"routes", "item",
     "POST /api/item\n{\"ItemId\": \"i0\", \"IsHidden\": true, \"Labels\": {\"title\": \"T\"}, \"Categories\": "
     "[\"d\"], "
     "\"Timestamp\": \"2022-08-07T00:26:46Z\"}"},
    {"routes", "items",
     "POST /api/items\n[{\"ItemId\": \"x\", \"Timestamp\": 1.7e9}, {\"ItemId\": \"y\", \"Comment\": \"song\"}]"},
    {"routes", "get-items", "GET /api/items?n=3"},
    {"routes", "patch-item", "PATCH /api/item/i1\n{\"IsHidden\": false, \"Categories\": [\"d\", \"e\"]}"},
    {"routes", "category", "PUT /api/item/i2/category/d"},
    {"routes", "no-category", "DELETE /api/item/i2/category/d"},
    {"routes", "feedback",
     "POST /api/feedback\n[{\"FeedbackType\": \"like\", \"UserId\": \"u0\", \"ItemId\": \"i5\", \"Timestamp\": "
     "\"2024-01-01\"}, "
     "{\"FeedbackType\": \"read\", \"UserId\": \"new\", \"ItemId\": \"other\", \"Timestamp\": \"\", \"Comment\": "
     "\"c\"}]"},
    {"routes", "put-feedback",
     "PUT /api/feedback\n[{\"FeedbackType\": \"like\", \"UserId\": \"u0\", \"ItemId\": \"i5\", \"Timestamp\": "
     "1700000000}]"},
    {"routes", "get-feedback", "GET /api/feedback/like?n=3&cursor=f2"},
    {"routes", "get-pair", "GET /api/feedback/like/u0/i0"},
    {"routes", "delete-pair", "DELETE /api/feedback/like/u0/i0"},
    {"routes", "of-user", "GET /api/user/u0/feedback/like"},
    {"routes", "of-item", "GET /api/item/i0/feedback?n=5"},
    {"routes", "recommend", "GET /api/recommend/u0?n=3&offset=1&write-back-type=read&write-back-delay=1h30m"},
    {"routes", "in-category", "GET /api/recommend/nobody/d?n=3"},
    {"routes", "encoded", "GET /api/recommend/%C3%A4%2Fb+c?n=3&x=%20+"},
    {"routes", "query",
     "POST /api/recommend\n{\"user\": \"u0\", \"items\": [\"i3\", \"none\"], \"n\": 5, \"offset\": 1, \"allow\": "
     "[\"i4\", \"i5\"], "
     "\"deny\": [\"i1\"], \"include_seen\": true, \"explain\": 3, \"category\": null}"},
    {"routes", "session",
     "POST /api/session/recommend?n=4\n[{\"FeedbackType\": \"like\", \"UserId\": \"g\", \"ItemId\": \"i1\", "
     "\"Timestamp\": \"\"}]"},
    {"routes", "explain", "GET /api/explain/u0/i4"},
    {"routes", "session-explain", "POST /api/session/explain\n{\"items\": [\"i0\", \"i1\"], \"item\": \"i2\"}"},
    {"routes", "near-item", "GET /api/item/i0/neighbors/d?n=3"},
    {"routes", "near-user", "GET /api/user/u0/neighbors?n=3&offset=1"},
    {"routes", "popular", "GET /api/popular/d?n=3"},
    {"routes", "latest", "GET /api/latest/?n=3&offset=0"},
    {"routes", "search", "GET /api/search?q=I&n=3"},
    {"routes", "model", "GET /api/model"},
    {"routes", "refresh", "POST /api/model/refresh"},
    {"routes", "activate", "POST /api/model/activate\n{\"number\": 2}"},
    {"routes", "rollback", "POST /api/model/rollback\n{}"},
    {"routes", "import", "POST /api/import?type=buy&skip=1\nuser,item\nu0,i3\n"},
    {"routes", "export", "GET /api/export?type=like"},
    {"routes", "status", "GET /api/status"},
    {"routes", "metrics", "GET /metrics"},
    {"routes", "openapi", "GET /openapi.json"},
    {"routes", "page", "HEAD /"},
    {"routes", "page-file", "GET /page/..%2fx"},
    {"import", "csv", "cuser,item,type,time\n\"u,0\",i3,buy,2024-01-01T00:00:00Z\r\nu1,\"i\"\"4\n\",,\n"},
    {"import", "json",
     "h{\"FeedbackType\": \"buy\", \"UserId\": \"u\", \"ItemId\": \"i\", \"Timestamp\": \"2024-01-01\"}\n\n"
     "{\"user\": \"v\", \"item\": \"i\", \"type\": \"view\", \"time\": 1700000000.5}"},
    {"import", "other-columns", "aComment,item_id,user_id,timestamp\nc,1,2,3\n,4,5,\n"},
};

/* ---- Files of named arrays --------------------------------------------------------------------------------- */

static void must(enum inmo_status status, const struct inmo_error *error)
{
    if (status)
        inmo_fuzz_broken("%s", error->message);
}

static void put_dataset(const char *scenario)
{
    struct inmo_error error = {0};
    struct inmo_dataset *dataset = inmo_fuzz_prepared(scenario);
    char folder[96], command[1024];
    snprintf(folder, sizeof folder, "%s/prepared", inmo_fuzz_folder());
    must(inmo_dataset_save(dataset, folder, 1, &error), &error);
    snprintf(command, sizeof command, "mv '%s/data.safetensors' '%s' && rm -r '%s'", folder,
             path_of("dataset", scenario), folder);
    if (system(command) != 0)
        inmo_fuzz_broken("%s", command);
    inmo_dataset_free(dataset);
}

static void put_model(const char *name)
{
    struct inmo_error error = {0};
    struct inmo_train_options options;
    struct inmo_model *model = NULL;
    inmo_fuzz_train_options(&options, name);
    options.walks = strcmp(name, "inmo-lightgcn") == 0 ? 0.5 : 0;
    must(inmo_train(inmo_fuzz_dataset_at_hand(), &options, NULL, &model, NULL, &error), &error);
    must(inmo_model_save(model, path_of("model", name), 1, &error), &error);
    inmo_model_free(model);
}

/* Changes to a checkpoint whose header is about this long: a row far ahead of its time, and one that was never
 * there. */
static void put_rows(void)
{
    static const uint32_t change[] = {2048, 0x7fffffff, 2112, 0xffffffff};
    FILE *stream = fopen(path_of("rows", "touched"), "wb");
    if (!stream || fwrite(change, sizeof change, 1, stream) != 1 || fclose(stream) != 0)
        inmo_fuzz_broken("cannot write the changes of rows");
}

/* Stops after so many questions, somewhere in the training. */
static int stop_later(void *context)
{
    return --*(int *)context < 0;
}

static void put_checkpoint(const char *name, int questions)
{
    struct inmo_error error = {0};
    struct inmo_train_options options;
    struct inmo_model *model = NULL;
    struct inmo_hooks hooks = {.context = &questions, .interrupted = stop_later};
    char path[512];
    snprintf(path, sizeof path, "%s", path_of("checkpoint", name));
    remove(path);
    inmo_fuzz_train_options(&options, "lightgcn");
    options.checkpoint = path;
    if (inmo_train(inmo_fuzz_dataset_at_hand(), &options, &hooks, &model, NULL, &error) != INMO_INTERRUPTED)
        inmo_fuzz_broken("no checkpoint: %s", error.message);
}

static void put_run(void)
{
    static const char result[] =
        "{\"system\": \"MF\", \"evaluations\": [{\"name\": \"without-new\", \"seconds\": 0.1, "
        "\"inference_seconds\": "
        "0.1, \"groups\": {\"all\": {\"users\": 3, \"recall\": 0.5, \"precision\": 0.1, \"ndcg\": 0.25}}}, "
        "{\"name\": "
        "\"test\", \"error\": \"cannot\"}], \"epochs\": 3, \"best_epoch\": 1, \"valid\": 0.5, \"seconds\": 0.1, "
        "\"seconds_per_epoch\": null, \"stopped\": \"epochs\", \"parameters\": 10, \"record\": [{\"epoch\": 0, "
        "\"loss\": 0.5, \"ndcg@20\": 0.25}]}";
    static const float ndcg[2][3] = {{0.5f, 0.25f, 0}, {1, 0, 0.125f}};
    static const uint8_t is_new[3] = {0, 1, 0};
    struct inmo_error error = {0};
    struct inmo_metadata metadata[] = {{"identity", INMO_FUZZ_RUN_IDENTITY}, {"result", result}};
    struct inmo_tensor array[] = {{"ndcg.0", INMO_F32, 3, 0, ndcg[0]},
                                  {"ndcg.1", INMO_F32, 3, 0, ndcg[1]},
                                  {"users.new", INMO_U8, 3, 0, is_new}};
    must(inmo_tensorfile_write(path_of("run", "two-evaluations"), 1, "run", 1, metadata, 2, array, 3, &error),
         &error);
    array[2].rows = 1; /* arrays that do not fit each other */
    must(inmo_tensorfile_write(path_of("run", "lengths"), 1, "run", 1, metadata, 2, array, 3, &error), &error);
    must(inmo_tensorfile_write(path_of("run", "one-evaluation"), 1, "run", 1, metadata, 2, array, 1, &error),
         &error);
}

int main(int argc, char **argv)
{
    static const char *const scenario[] = {"transductive", "new-users-items"};
    static const char *const model[] = {"inmo-lightgcn", "idcf-lightgcn", "imc-gae",  "ngcf",   "inmo-neumf",
                                        "item-knn",      "gf-cf",         "mult-vae", "popular"};
    if (argc != 2) {
        fprintf(stderr, "use: seeds FOLDER\n");
        return 2;
    }
    root = argv[1];
    mkdir(root, 0777);
    for (size_t n = 0; n < sizeof text / sizeof *text; n++)
        put(text[n].target, text[n].name, text[n].text);
    for (size_t n = 0; n < sizeof scenario / sizeof *scenario; n++)
        put_dataset(scenario[n]);
    for (size_t n = 0; n < sizeof model / sizeof *model; n++)
        put_model(model[n]);
    put_checkpoint("first-step", 1);
    put_checkpoint("second-epoch", 3);
    put_rows();
    put_run();
    return 0;
}
