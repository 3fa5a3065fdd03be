/* target_log.c - logs in every format. The input's first bytes choose how the rest is read:
 *
 *     0   format, 'a' for the first of the list below
 *     1   options, bits from '0': header yes, a separator, columns, bad lines passed over, all ratings kept
 *     2   'r' as it is, 'g' packed with gzip here, 'z' with zstd: the parsers see changed text behind both */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { CHOICES = 3 };

static const char *const format[] = {"auto",      "delimited", "list",   "inter",
                                     "movielens", "gowalla",   "amazon", "yelp"};

static uint8_t *packed_gzip(const uint8_t *data, size_t size, size_t *packed_size)
{
    z_stream stream = {0};
    size_t room = compressBound((uLong)size) + 32;
    uint8_t *packed = malloc(room);
    if (!packed || deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        inmo_fuzz_broken("not enough memory");
    stream.next_in = (Bytef *)data;
    stream.avail_in = (uInt)size;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        inmo_fuzz_broken("zlib cannot pack");
    *packed_size = stream.total_out;
    deflateEnd(&stream);
    return packed;
}

static uint8_t *packed_zstd(const uint8_t *data, size_t size, size_t *packed_size)
{
    size_t room = ZSTD_compressBound(size);
    uint8_t *packed = malloc(room);
    if (!packed)
        inmo_fuzz_broken("not enough memory");
    *packed_size = ZSTD_compress(packed, room, data, size, 1);
    if (ZSTD_isError(*packed_size))
        inmo_fuzz_broken("zstd cannot pack");
    return packed;
}

/* Preparing looks at every interaction. */
static void use(const struct inmo_log *log)
{
    struct inmo_error error = {0};
    struct inmo_prepare_options options;
    struct inmo_dataset *dataset = NULL;
    inmo_prepare_options_init(&options);
    options.split = "100/0/0"; /* of a log of three lines something must be left to train on */
    if (inmo_fuzz_ended("inmo_dataset_prepare", inmo_dataset_prepare(log, &options, &dataset, &error), &error)) {
        struct inmo_dataset_info info;
        inmo_dataset_info(dataset, &info);
        if (info.train + info.valid + info.test + info.later + info.aside > inmo_log_count(log))
            inmo_fuzz_broken("more interactions prepared than read");
        inmo_dataset_free(dataset);
        inmo_fuzz_used();
    }
}

void inmo_fuzz_log(const uint8_t *data, size_t size)
{
    struct inmo_error error = {0};
    struct inmo_read_options options;
    struct inmo_log *log = NULL;
    uint8_t *packed = NULL;
    size_t packed_size = 0;
    const char *path;
    unsigned bits;
    if (size < CHOICES)
        return;
    inmo_read_options_init(&options);
    options.format = format[(uint8_t)(data[0] - 'a') % (sizeof format / sizeof *format)];
    bits = (unsigned)data[1] - '0';
    options.header = bits & 1 ? "yes" : "auto";
    options.separator = bits & 2 ? "comma" : NULL;
    options.columns = bits & 4 ? "user,item,rating,time" : NULL;
    options.skip_bad = bits & 8 ? 3 : 0;
    options.keep_all_ratings = bits & 16 ? 1 : 0;
    if (data[2] == 'g')
        packed = packed_gzip(data + CHOICES, size - CHOICES, &packed_size);
    else if (data[2] == 'z')
        packed = packed_zstd(data + CHOICES, size - CHOICES, &packed_size);
    path =
        packed ? inmo_fuzz_file("log", packed, packed_size) : inmo_fuzz_file("log", data + CHOICES, size - CHOICES);
    free(packed);
    if (inmo_fuzz_ended("inmo_log_read", inmo_log_read(&path, 1, &options, NULL, &log, &error), &error)) {
        use(log);
        inmo_log_free(log);
    }
}
