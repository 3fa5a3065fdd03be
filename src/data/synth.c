/* synth.c - writes a synthetic log that resembles real ones, user by user, in constant memory.
 *
 * Items belong to taste groups, and their names say which ("jazz-017", the 17th most popular of jazz). A user
 * likes one or two groups; an interaction falls in them with probability purity, else anywhere. So a reader
 * sees at once whether recommendations make sense: a user of jazz and blues should get jazz and blues.
 *
 *     popularity of the item of rank r in its group      p(r) ~ (r + 1)^-skew
 *     size of group g                                    w(g) ~ (g + 1)^(-skew / 2) of the users' first choices
 *     interactions of a user                             1 + a share of the rest ~ (x + 1/50)^-skew, x uniform
 *
 * Activity resembles known logs: mean 40, most users below, the busiest about ten times above. A user has an item
 * at most once, so a user cannot have more interactions than there are items.
 *
 * Everything random is a function of (seed, user, n): a line depends only on earlier lines of the same user.
 * Memory: 8 bytes for each item of one group and 32 for each item of the busiest user. One thread, about 10 M
 * interactions per second. */
#include "base/memory.h"
#include "base/random.h"
#include "base/setting.h"
#include "base/status.h"
#include "base/threads.h"
#include "data/alias.h"
#include "data/output.h"

#include <stdio.h>
#include <string.h>

enum { MOST_IDS = INT32_MAX - 1 };

#define FIELD(name) offsetof(struct inmo_synth_options, name)

static const struct inmo_setting settings[] = {
    {"interactions", 'u', FIELD(interactions), 1, 1e12, NULL, "Synthetic log", "N", "Lines to write."},
    {"users", 'u', FIELD(users), 0, MOST_IDS, NULL, "Synthetic log", "N",
     "Number of users; 0: one per 40 interactions."},
    {"items", 'u', FIELD(items), 0, MOST_IDS, NULL, "Synthetic log", "N",
     "Number of items; 0: chosen to fit the users."},
    {"groups", 'i', FIELD(groups), 1, 10000, NULL, "Synthetic log", "N", "Taste groups."},
    {"purity", 'r', FIELD(purity), 0, 1, NULL, "Synthetic log", "X",
     "Share of interactions inside the user's own groups."},
    {"skew", 'r', FIELD(skew), 0, 3, NULL, "Synthetic log", "X",
     "Exponent of the long tails; 0: all users and items are equally active."},
    {"seed", 'u', FIELD(seed), 0, 9007199254740991.0, NULL, "Synthetic log", "N", "Random seed."},
    {"times", 'b', FIELD(times), 0, 1, NULL, "Synthetic log", NULL, "Add a column with times."},
};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

enum { BUFFER_SIZE = 256 << 10, LINE_ROOM = 128, NAME_ROOM = 40 };
enum { BUSIEST = 50 };           /* 1/50 in the activity above */
enum { TRIES = 12 };             /* draws by popularity before a uniform draw */
enum { COUNTERS = 1 << 4 };      /* random numbers reserved at the start of each user's sequence */
enum { FIRST_DAY = 1577836800 }; /* 2020-01-01 */

static const char *const genre[] = {
    "jazz",    "techno", "folk",   "opera",  "metal",  "blues",   "salsa",  "reggae",  "punk",    "soul",
    "ambient", "swing",  "disco",  "gospel", "funk",   "grunge",  "tango",  "bossa",   "chanson", "polka",
    "fado",    "house",  "trance", "dub",    "ska",    "country", "rock",   "indie",   "baroque", "samba",
    "raga",    "trap",   "hiphop", "dance",  "choral", "waltz",   "celtic", "klezmer", "rumba",   "musical"};
enum { GENRES = sizeof genre / sizeof genre[0] };

struct synth {
    struct inmo_synth_options options;  // users and items filled in
    uint64_t key;
    struct inmo_alias rank, group;
    uint32_t group_items;       // items of the larger groups
    uint32_t larger_groups;     // number of groups with that many items; the others have one less
    char (*prefix)[NAME_ROOM];  // (groups) "jazz-"
    size_t *prefix_length;      // (groups)
    int user_digits, item_digits;
    /* Activity, in units of 2^-20: all users' together, none above the limit. */
    uint64_t activity_limit, activity_sum;
    uint64_t most;  // interactions a user may have
    /* Items of the current user: open addressing; an entry is valid if it has the user's number. A user uses only
     * as much of the table as it needs, which keeps it in cache. */
    uint64_t *owned;  // (slots for the busiest user) (user + 1) << 32 | item
    uint64_t owned_mask;
    uint64_t *owned_in_group;  // (groups) (user + 1) << 32 | items the user has of it
    struct inmo_output *output;
    char *buffer;  // (BUFFER_SIZE)
    size_t buffered;
};

void inmo_synth_options_init_sized(struct inmo_synth_options *options, size_t size)
{
    const struct inmo_synth_options defaults = {
        .interactions = 100000, .groups = 12, .purity = 0.8, .skew = 0.9, .seed = 1};
    inmo_sized_fill(options, size, &defaults, sizeof defaults);
}

const struct inmo_setting *inmo_synth_settings(size_t *count)
{
    *count = SETTINGS;
    return settings;
}

/* ---- Drawing ----------------------------------------------------------------------------------------------- */

static uint32_t items_in(const struct synth *synth, uint32_t group)
{
    return synth->group_items - (group >= synth->larger_groups);
}

/* Every user has its own key, like every purpose in base/random.h. */
static inline uint64_t user_key(const struct synth *synth, uint64_t user)
{
    return inmo_random(synth->key, user);
}

/* ---- How many interactions each user has --------------------------------------------------------------------- */

/* Activity in units of 2^-20, so that sums are integers and shares exact. */
static uint64_t activity(const struct synth *synth, uint64_t user)
{
    double x = inmo_random_unit(inmo_random(user_key(synth, user), 0));
    uint64_t full = (uint64_t)(pow(x + 1.0 / BUSIEST, -synth->options.skew) * 0x1p20);
    return full < synth->activity_limit ? full : synth->activity_limit;
}

static void sum_activity(struct synth *synth)
{
    synth->activity_sum = 0;
    for (uint64_t user = 0; user < synth->options.users; user++)
        synth->activity_sum += activity(synth, user);
}

/* 1 if no user gets more than `most` with this limit: (most - 1) sum >= rest limit. */
static int limit_holds(struct synth *synth, uint64_t limit)
{
    uint64_t rest = synth->options.interactions - synth->options.users;
    synth->activity_limit = limit;
    sum_activity(synth);
    return (unsigned __int128)(synth->most - 1) * synth->activity_sum >= (unsigned __int128)rest * limit;
}

/* Finds the highest limit that holds. For a log as sparse as real ones the first try does; at the lowest limit all
 * users are equal, which holds whenever the interactions fit at all. */
static void find_activity_limit(struct synth *synth)
{
    uint64_t low = (uint64_t)(pow(1.0 + 1.0 / BUSIEST, -synth->options.skew) * 0x1p20) - 1;
    uint64_t high = (uint64_t)(pow(1.0 / BUSIEST, -synth->options.skew) * 0x1p20) + 1;
    if (limit_holds(synth, high))
        return;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (limit_holds(synth, middle))
            low = middle;
        else
            high = middle;
    }
    limit_holds(synth, low);
}

/* ---- What is on a line --------------------------------------------------------------------------------------- */

static uint32_t owned_in(const struct synth *synth, uint64_t user, uint32_t group)
{
    uint64_t entry = synth->owned_in_group[group];
    return entry >> 32 == user + 1 ? (uint32_t)entry : 0;
}

/* 1 if the user has the item already; takes it otherwise. */
static int take_item(struct synth *synth, uint64_t user, uint32_t item)
{
    uint32_t group = item % (uint32_t)synth->options.groups;
    uint64_t entry = (user + 1) << 32 | item, at = inmo_mix64(item) & synth->owned_mask;
    while (synth->owned[at] >> 32 == user + 1) {
        if (synth->owned[at] == entry)
            return 0;
        at = (at + 1) & synth->owned_mask;
    }
    synth->owned[at] = entry;
    synth->owned_in_group[group] = owned_in(synth, user, group) + 1 + ((user + 1) << 32);
    return 1;
}

/* Item number = rank * groups + group, so the items of all groups are numbered 0 .. items - 1 without gaps. */
static uint32_t choose_item(struct synth *synth, uint64_t user, uint64_t key, uint64_t *counter,
                            const uint32_t own[2])
{
    const uint32_t groups = (uint32_t)synth->options.groups;
    uint64_t bits = inmo_random(key, (*counter)++);
    uint32_t group, rank, item, count;
    if (inmo_random_unit(bits) < synth->options.purity)
        group = own[(bits & 1023) < 307]; /* the second group gets 3 in 10; bits below those of the unit */
    else
        group = inmo_alias_draw(&synth->group, inmo_random(key, (*counter)++));
    count = items_in(synth, group);
    /* Draws by popularity; if the user has nearly all popular items, any free item of the group; if the user has
     * the whole group, any free item. Even for a user who gets all n items, drawing until one is free needs only
     * about log n draws each. */
    if (owned_in(synth, user, group) < count) {
        for (int n = 0;; n++) {
            bits = inmo_random(key, (*counter)++);
            rank = n < TRIES ? inmo_alias_draw(&synth->rank, bits) : inmo_random_below(bits, count);
            item = rank * groups + group;
            if (rank < count && take_item(synth, user, item))
                return item;
        }
    }
    do
        item = inmo_random_below(inmo_random(key, (*counter)++), (uint32_t)synth->options.items);
    while (!take_item(synth, user, item));
    return item;
}

static int digits_of(uint64_t n)
{
    int digits = 1;
    for (; n >= 10; n /= 10)
        digits++;
    return digits;
}

static char *put_digits(char *to, uint64_t value, int digits)
{
    for (int n = digits - 1; n >= 0; n--, value /= 10)
        to[n] = (char)('0' + value % 10);
    return to + digits;
}

/* A power of two, at least twice the count. */
static uint64_t slots_for(uint64_t count)
{
    uint64_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

static enum inmo_status write_user(struct synth *synth, uint64_t user, uint64_t interactions,
                                   struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const uint32_t groups = (uint32_t)synth->options.groups;
    uint64_t key = user_key(synth, user), counter = COUNTERS;
    uint64_t second = inmo_random(key, 2), time = FIRST_DAY + (inmo_random(key, 3) >> 37); /* over four years */
    uint32_t own[2];
    char name[NAME_ROOM] = "u";
    size_t name_length = (size_t)(put_digits(name + 1, user + 1, synth->user_digits) - name);
    name[name_length++] = '\t';
    synth->owned_mask = slots_for(interactions) - 1;
    own[0] = inmo_alias_draw(&synth->group, inmo_random(key, 1));
    /* Half of the users like a second group. */
    own[1] = groups > 1 && (second & 1) ? (own[0] + 1 + inmo_random_below(second, groups - 1)) % groups : own[0];
    for (uint64_t n = 0; n < interactions && status == INMO_OK; n++) {
        uint32_t item = choose_item(synth, user, key, &counter, own), group = item % groups;
        char *to = synth->buffer + synth->buffered;
        memcpy(to, name, name_length);
        to += name_length;
        memcpy(to, synth->prefix[group], synth->prefix_length[group]);
        to = put_digits(to + synth->prefix_length[group], item / groups + 1, synth->item_digits);
        if (synth->options.times) {
            *to++ = '\t';
            time += 1 + (inmo_random(key, counter++) >> 46); /* up to three days later */
            to = put_digits(to, time, digits_of(time));
        }
        *to++ = '\n';
        synth->buffered = (size_t)(to - synth->buffer);
        if (synth->buffered + LINE_ROOM > BUFFER_SIZE) {
            status = inmo_output_write(synth->output, synth->buffer, synth->buffered, error);
            synth->buffered = 0;
        }
    }
    return status;
}

/* ---- The whole ---------------------------------------------------------------------------------------------- */

/* Fills in the sizes left open and checks that they are possible. */
static enum inmo_status settle_sizes(struct inmo_synth_options *options, struct inmo_error *error)
{
    unsigned long long users, items, interactions = options->interactions;
    if (options->users == 0)
        options->users = interactions / 40 > 0 ? interactions / 40 : 1;
    if (options->users > MOST_IDS)
        options->users = MOST_IDS;
    if (options->items == 0) {
        /* Catalogues grow more slowly than users: 2,400 items for 2,500 users, 1.5 million for 25 million. */
        double wanted = 10 * pow((double)options->users, 0.7);
        double least = 4.0 * (double)interactions / (double)options->users;
        wanted = wanted > least ? wanted : least;
        wanted = wanted > options->groups ? wanted : options->groups;
        options->items = (uint64_t)(wanted < MOST_IDS ? wanted : MOST_IDS);
    }
    users = options->users;
    items = options->items;
    if (users > interactions)
        return inmo_fail(error, INMO_USAGE, "`users` is %llu; with `interactions` %llu it must be at most that",
                         users, interactions);
    if (items < (uint64_t)options->groups)
        return inmo_fail(error, INMO_USAGE, "`groups` is %d; with `items` %llu it must be at most that",
                         options->groups, items);
    if (interactions > users * items)
        return inmo_fail(error, INMO_USAGE,
                         "`interactions` is %llu; %llu users and %llu items have room for %llu at most",
                         interactions, users, items, users * items);
    return INMO_OK;
}

static enum inmo_status prepare(struct synth *synth, struct inmo_error *error)
{
    struct inmo_synth_options *options = &synth->options;
    uint64_t groups = (uint64_t)options->groups, busiest;
    int enough;
    synth->key = inmo_key(options->seed, INMO_STREAM_SYNTH);
    synth->group_items = (uint32_t)((options->items + groups - 1) / groups);
    synth->larger_groups = (uint32_t)(options->items % groups ? options->items % groups : groups);
    synth->user_digits = digits_of(options->users);
    synth->item_digits = digits_of(synth->group_items);
    /* No user gets more than half the items, unless the log is denser than any real one. */
    synth->most =
        options->interactions <= options->users * (options->items / 4) ? options->items / 2 : options->items;
    find_activity_limit(synth);
    busiest = 2 + (uint64_t)((unsigned __int128)(options->interactions - options->users) * synth->activity_limit /
                             synth->activity_sum);
    synth->owned = inmo_alloc_zero(slots_for(busiest), sizeof *synth->owned);
    synth->owned_in_group = inmo_alloc_zero(groups, sizeof *synth->owned_in_group);
    synth->prefix = inmo_alloc(groups, sizeof *synth->prefix);
    synth->prefix_length = inmo_alloc(groups, sizeof *synth->prefix_length);
    synth->buffer = inmo_alloc(BUFFER_SIZE, 1);
    enough = synth->owned && synth->owned_in_group && synth->prefix && synth->prefix_length && synth->buffer &&
             inmo_alias_make(&synth->rank, synth->group_items, options->skew) &&
             inmo_alias_make(&synth->group, (uint32_t)groups, options->skew / 2);
    for (uint64_t g = 0; enough && g < groups; g++) {
        int length = g < GENRES
                         ? snprintf(synth->prefix[g], NAME_ROOM, "%s-", genre[g])
                         : snprintf(synth->prefix[g], NAME_ROOM, "%s%d-", genre[g % GENRES], (int)(g / GENRES) + 1);
        synth->prefix_length[g] = (size_t)length;
    }
    return enough ? INMO_OK : inmo_fail_memory(error, "making a synthetic log");
}

static enum inmo_status write_all(struct synth *synth, const struct inmo_hooks *hooks, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const struct inmo_synth_options *options = &synth->options;
    uint64_t rest = options->interactions - options->users, activity_so_far = 0, given = 0, done = 0, looked = 0;
    double began = inmo_now(), reported = began;
    for (uint64_t user = 0; user < options->users && status == INMO_OK; user++) {
        uint64_t upto, interactions;
        /* Rounded-down shares of the running sum add up to the rest exactly. */
        activity_so_far += activity(synth, user);
        upto = (uint64_t)((unsigned __int128)rest * activity_so_far / synth->activity_sum);
        interactions = 1 + upto - given;
        given = upto;
        status = write_user(synth, user, interactions, error);
        done += interactions;
        if (status == INMO_OK && done - looked >= 65536) {
            double now = inmo_now();
            looked = done;
            if (inmo_is_interrupted(hooks))
                status = inmo_fail(error, INMO_INTERRUPTED, "writing was stopped on request");
            if (status == INMO_OK && now - reported > 0.2) {
                struct inmo_progress progress = {
                    "writing", (double)done, (double)options->interactions, "interactions", now - began, NAN,
                    NAN,       NAN};
                inmo_report_progress(hooks, &progress);
                reported = now;
            }
        }
    }
    if (status == INMO_OK)
        status = inmo_output_write(synth->output, synth->buffer, synth->buffered, error);
    return status;
}

enum inmo_status inmo_synth(const struct inmo_synth_options *options, const char *path, int force,
                            const struct inmo_hooks *hooks, struct inmo_error *error)
{
    struct synth synth = {0};
    enum inmo_status status = INMO_OK;
    if (options)
        status = inmo_sized_check(options, sizeof *options, "inmo_synth_options", error);
    if (options && status == INMO_OK)
        synth.options = *options;
    else
        inmo_synth_options_init(&synth.options);
    if (status == INMO_OK)
        status = inmo_settings_check(settings, SETTINGS, &synth.options, error);
    if (status == INMO_OK)
        status = settle_sizes(&synth.options, error);
    if (status == INMO_OK)
        status = inmo_output_open(path, force, &synth.output, error);
    if (status == INMO_OK)
        status = prepare(&synth, error);
    if (status == INMO_OK)
        status = write_all(&synth, hooks, error);
    if (status == INMO_OK)
        status = inmo_output_commit(synth.output, error);
    inmo_output_close(synth.output);
    inmo_alias_free(&synth.group);
    inmo_alias_free(&synth.rank);
    inmo_free(synth.buffer);
    inmo_free(synth.prefix_length);
    inmo_free(synth.prefix);
    inmo_free(synth.owned_in_group);
    inmo_free(synth.owned);
    return status;
}
