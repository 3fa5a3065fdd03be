/* titles.c - see titles.h. */
#include "titles.h"

#include <stddef.h>

static const struct inmo_setting titles_rows[] = {
    {"titles", 's', offsetof(struct cli_titles, path), 0, 0, NULL, "Names", "FILE",
     "File with ids, titles and any further columns of items (movies.csv); default: what the model keeps."},
};

void cli_add_titles(struct cli_options *options, struct cli_titles *titles)
{
    cli_add_table(options, titles_rows, sizeof titles_rows / sizeof *titles_rows, titles);
}

enum inmo_status cli_open_titles(struct cli_titles *titles, const char *encoding, const struct inmo_model *model,
                                 struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    if (titles->path)
        status = inmo_titles_read(titles->path, encoding, &titles->own, error);
    titles->shown = titles->own ? titles->own : model ? inmo_model_titles(model) : NULL;
    return status;
}

void cli_close_titles(struct cli_titles *titles)
{
    inmo_titles_free(titles->own);
    titles->own = NULL;
    titles->shown = NULL;
}

const char *cli_title(const struct cli_titles *titles, const char *id)
{
    return inmo_titles_of(titles->shown, id);
}

const char *cli_title_or_id(const struct cli_titles *titles, const char *id)
{
    const char *title = cli_title(titles, id);
    return title ? title : id;
}

void cli_json_title(json_t *object, const struct cli_titles *titles, const char *id)
{
    const char *title = cli_title(titles, id);
    if (title)
        json_object_set_new(object, "title", cli_json_text(title));
}

/* ---- Rules over the columns of the titles -------------------------------------------------------------------- */

#define AT(member) offsetof(struct cli_rules, member)
static const struct inmo_setting rule_rows[] = {
    {"where", 'l', AT(where), 0, 0, NULL, "Rules", "COLUMN=VALUE",
     "Only items whose titles have this: genre=jazz, genre=jazz|blues, genre!=jazz."},
    {"boost", 'l', AT(boost), 0, 0, NULL, "Rules", "COLUMN=VALUE:FACTOR",
     "Scores of such items times FACTOR: genre=jazz:1.2."},
    {"at-most", 'l', AT(at_most), 0, 0, NULL, "Rules", "N:COLUMN",
     "At most N items of a list with the same value: 3:genre."},
    {"diversity", 'r', AT(diversity), 0, 1, NULL, "Rules", "X",
     "Choose items unlike those before in the list (maximal marginal relevance); 0: by score alone."},
    {"candidates", 'i', AT(candidates), 0, 1e6, NULL, "Rules", "N",
     "Items that boosts, --at-most and --diversity choose from; 0: five times the list, at least 100."},
};

void cli_add_rules(struct cli_options *options, struct cli_rules *rules)
{
    cli_add_table(options, rule_rows, sizeof rule_rows / sizeof *rule_rows, rules);
}

enum inmo_status cli_make_rules(const struct cli_rules *rules, const struct inmo_view *view,
                                const struct cli_titles *titles, struct inmo_rules **made, struct inmo_error *error)
{
    struct inmo_rule_options options;

    inmo_rule_options_init(&options);
    options.where = rules->where.value;
    options.where_count = rules->where.count;
    options.boost = rules->boost.value;
    options.boost_count = rules->boost.count;
    options.at_most = rules->at_most.value;
    options.at_most_count = rules->at_most.count;
    options.diversity = rules->diversity;
    options.candidates = rules->candidates;
    *made = NULL;
    if (!options.where_count && !options.boost_count && !options.at_most_count && options.diversity == 0)
        return INMO_OK;
    return inmo_rules_create(view, titles->shown, &options, made, error);
}
