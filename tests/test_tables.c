/* test_tables.c - the tables of models and losses: every row is complete, and what is built from them names every
 * row. */
#include "support.h"

#include "loss/loss.h"
#include "model/model.h"
#include "train/settings.h"

/* Whether a list "a|b|c" has a word. */
static int lists(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == '|' || at[length] == 0))
            return 1;
    return 0;
}

static void test_models(void **state)
{
    static const char *const recipes[] = {"fast", "paper"};
    const struct inmo_model_kind *kind;
    (void)state;
    for (size_t n = 0; (kind = inmo_model_kind_at(n)); n++) {
        assert_non_null(kind->label);
        assert_non_null(kind->help);
        assert_ptr_equal(inmo_model_kind_find(kind->name), kind); /* no name is there twice */
        assert_true(!kind->alias || inmo_model_kind_find(kind->alias) == kind);
        assert_true(lists(inmo_model_names(), kind->name));
        assert_true(!kind->alias || lists(inmo_model_names(), kind->alias));
        assert_non_null(strstr(inmo_model_help(), kind->help));
        assert_int_equal(kind->system != NULL, kind->provider == NULL);
        assert_int_equal(kind->backbone != NULL, kind->provider != NULL);
        for (size_t r = 0; r < COUNT(recipes); r++) {
            struct inmo_train_options options;
            struct inmo_error error = {0};
            must(inmo_train_options_init(&options, kind->name, recipes[r], &error));
            if (kind->backbone) /* a closed form has no learning rate, which others must have */
                must(inmo_train_options_check(&options, &error));
        }
    }
    assert_string_equal(
        inmo_models_for_unseen(),
        "an inmo model, imc-gae, imc-lightgcn, idcf-lightgcn, item-knn, ease, ials, gf-cf or mult-vae");
}

/* Systems whose settings differ between the recipes. */
static void test_recipes_of_systems(void **state)
{
    struct inmo_train_options fast, paper;
    struct inmo_error error = {0};
    (void)state;
    must(inmo_train_options_init(&fast, "item-knn", NULL, &error));
    must(inmo_train_options_init(&paper, "item-knn", "paper", &error));
    assert_string_equal(fast.similarity, "auto");
    assert_int_equal(fast.neighbours, 200);
    assert_true(fast.shrinkage == 20);
    assert_string_equal(paper.similarity, "jaccard");
    assert_int_equal(paper.neighbours, 1000);
    assert_true(paper.shrinkage == 0);
    must(inmo_train_options_init(&fast, "mult-vae", NULL, &error));
    must(inmo_train_options_init(&paper, "mult-vae", "paper", &error));
    assert_true(fast.temperature == 1 && paper.temperature == 2); /* 0.2 times the divergence without its 1/2 */
}

/* The authors' settings for their three data sets, and which of these some data is nearest to. */
static void test_recipes_of_the_paper(void **state)
{
    static const struct {
        const char *recipe, *model;
        double learning_rate, l2, dropout, graph_dropout, self_weight;
    } row[] = {
        {"paper", "mf", 1e-4, 1e-3, 0, 0, 0},
        {"paper:gowalla", "mf", 1e-4, 1e-3, 0, 0, 0},
        {"paper:yelp", "mf", 1e-3, 1e-3, 0, 0, 0},
        {"paper:amazon-book", "mf", 1e-3, 1e-4, 0, 0, 0},
        {"paper:yelp", "lightgcn", 1e-3, 1e-4, 0, 0, 0},
        {"paper:amazon-book", "lightgcn", 1e-3, 1e-5, 0, 0, 0},
        {"paper:yelp", "inmo-lightgcn", 1e-3, 0, 0.3, 0, 0.01},
        {"paper:amazon-book", "inmo-lightgcn", 1e-3, 0, 0, 0, 0.01},
        {"paper:gowalla", "inmo-mf", 1e-3, 1e-5, 0.1, 0, 0.1},
        {"paper:yelp", "inmo-mf", 1e-3, 1e-5, 0.5, 0, 0.01},
        {"paper:amazon-book", "inmo-mf", 1e-3, 1e-5, 0.3, 0, 0.1},
        {"paper:yelp", "ngcf", 1e-3, 1e-3, 0, 0.3, 0},
        {"paper:amazon-book", "ngcf", 1e-3, 1e-4, 0, 0.3, 0},
        {"paper:amazon-book", "imc-gae", 1e-3, 0, 0, 0.9, 0},
        {"paper:amazon-book", "mult-vae", 1e-3, 1e-5, 0.7, 0, 0},
        {"paper:gowalla", "neumf", 1e-3, 1e-3, 0, 0, 0},
        {"paper:yelp", "neumf", 1e-2, 1e-2, 0, 0, 0},
    };
    struct inmo_train_options options;
    struct inmo_error error = {0};
    (void)state;
    for (size_t n = 0; n < COUNT(row); n++) {
        must(inmo_train_options_init(&options, row[n].model, row[n].recipe, &error));
        assert_true(options.learning_rate == row[n].learning_rate && options.l2 == row[n].l2);
        assert_true(options.dropout == row[n].dropout && options.graph_dropout == row[n].graph_dropout);
        assert_true(options.self_weight == row[n].self_weight && options.least_steps == 0);
    }
    for (size_t n = 0; inmo_model_kind_at(n); n++) { /* every model can be trained by it */
        must(inmo_train_options_init(&options, inmo_model_kind_at(n)->name, "paper:yelp", &error));
        must(inmo_train_options_check(&options, &error));
    }
    must(inmo_train_options_init(&options, "knn", "paper:amazon-book", &error));
    assert_int_equal(options.neighbours, 10);
    must_fail(inmo_train_options_init(&options, "mf", "paper:netflix", &error), INMO_USAGE, "paper:netflix");
    assert_string_equal(inmo_recipe_for(NULL, 29858, 40988, 1027464), "paper:gowalla");
    assert_string_equal(inmo_recipe_for(NULL, 75173, 42706, 1931173), "paper:yelp");
    assert_string_equal(inmo_recipe_for(NULL, 109730, 96421, 3181759), "paper:amazon-book");
    assert_string_equal(inmo_recipe_for(NULL, 100, 200, 5000), "paper:gowalla");
    assert_string_equal(inmo_recipe_for(NULL, 0, 0, 0), "paper:gowalla");
    assert_string_equal(inmo_recipe_for("yelp", 100, 200, 5000), "paper:yelp");
    assert_null(inmo_recipe_for("netflix", 100, 200, 5000));
}

static void test_losses(void **state)
{
    char names[256];
    (void)state;
    snprintf(names, sizeof names, "%s", inmo_loss_names());
    for (char *at = strtok(names, "|"); at; at = strtok(NULL, "|")) {
        const struct inmo_loss *loss = inmo_loss_find(at);
        assert_non_null(loss);
        assert_string_equal(loss->name, at);
        assert_true(loss->judge || loss->judge_pairs);
        assert_int_equal(loss->judge_pairs != NULL, loss->negatives != NULL);
        assert_true(loss->places && loss->create && loss->destroy && loss->steps_per_epoch && loss->draw &&
                    loss->weigh);
        assert_non_null(strstr(inmo_loss_help(), loss->help));
    }
    assert_null(inmo_loss_find("hinge"));
    assert_string_equal(inmo_loss_names_for_heads(), "bpr or bce");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_recipes_of_systems),
        cmocka_unit_test(test_recipes_of_the_paper),
        cmocka_unit_test(test_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
