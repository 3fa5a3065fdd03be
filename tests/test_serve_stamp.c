/* test_serve_stamp.c - times of the server: the forms that are read and those that are refused, what is written,
 * both beside Python's datetime over many random times, and that the process's time zone does not matter. */
#include "support.h"

#include "server/stamp.h"

#include <inttypes.h>
#include <time.h>

static int64_t parsed(const char *text)
{
    int64_t value = INT64_MIN;
    if (!stamp_parse(text, strlen(text), &value))
        fail_msg("\"%s\" was refused", text);
    return value;
}

static void test_forms(void **state)
{
    static const struct {
        const char *text;
        int64_t milliseconds;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2022-08-07T00:26:46Z", INT64_C(1659832006000)},
        {"2022-08-07t00:26:46z", INT64_C(1659832006000)},
        {"2022-08-07 00:26:46", INT64_C(1659832006000)},
        {"2022-08-07 00:26:46Z", INT64_C(1659832006000)},
        {"2022-08-07T02:26:46+02:00", INT64_C(1659832006000)},
        {"2022-08-07T02:26:46+0200", INT64_C(1659832006000)},
        {"2022-08-07T02:26:46+02", INT64_C(1659832006000)},
        {"2022-08-06T18:56:46-05:30", INT64_C(1659832006000)},
        {"2022-08-07T00:26:46-00:00", INT64_C(1659832006000)},
        {"2022-08-07T00:26:46.1Z", INT64_C(1659832006100)},
        {"2022-08-07T00:26:46.12Z", INT64_C(1659832006120)},
        {"2022-08-07T00:26:46.123Z", INT64_C(1659832006123)},
        {"2022-08-07T00:26:46.123999999Z", INT64_C(1659832006123)}, /* cut, not rounded */
        {"2022-08-07 00:26", INT64_C(1659831960000)},
        {"2022-02-24", INT64_C(1645660800000)},
        {"2024-02-29", INT64_C(1709164800000)},
        {"2000-02-29", INT64_C(951782400000)},
        {"1969-12-31T23:59:59.999Z", -1},
        {"0001-01-01T00:00:00Z", INT64_C(-62135596800000)}, /* Go's zero time */
        {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999)},
        {"2016-12-31T23:59:60Z", INT64_C(1483228800000)}, /* a leap second */
        {"0", 0},
        {"1659832006", INT64_C(1659832006000)},
        {"1659832006.123", INT64_C(1659832006123)},
        {"1659832006.1239", INT64_C(1659832006123)},
        {"1659832006123", INT64_C(1659832006123)},
        {"-1.5", -1500},
        {"99999999999", INT64_C(99999999999000)}, /* the last that are seconds */
        {"100000000000", INT64_C(100000000000)},  /* the first that are milliseconds */
    };
    (void)state;
    for (size_t n = 0; n < COUNT(cases); n++)
        if (parsed(cases[n].text) != cases[n].milliseconds)
            fail_msg("\"%s\": found %" PRId64 ", expected %" PRId64, cases[n].text, parsed(cases[n].text),
                     cases[n].milliseconds);
}

static void test_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "yesterday",
        "2022-13-01",
        "2022-00-01",
        "2022-02-30",
        "2022-02-29",
        "1900-02-29",
        "2022-04-31",
        "2022-01-00",
        "2022-01-32",
        "0000-01-01",
        "2022-1-1",
        "22-01-01",
        "2022/01/01",
        "2022-08-07T",
        "2022-08-07T24:00:00Z",
        "2022-08-07T00:60:00Z",
        "2022-08-07T00:00:61Z",
        "2022-08-07T00:00:00.Z",
        "2022-08-07T00:00:00,5Z",
        "2022-08-07T00:00:00+24:00",
        "2022-08-07T00:00:00+01:60",
        "2022-08-07T00:00:00+1:00",
        "2022-08-07T00:00:00+",
        "2022-08-07T00:00:00 +01:00",
        "2022-08-07T00:00:00Zx",
        "2022-08-07T00:00:00Z ",
        " 2022-08-07",
        "2022-08-07X00:00:00Z",
        "0001-01-01T00:00:00+00:01", /* year 0 in UTC */
        "9999-12-31T23:59:59-00:01", /* year 10000 */
        "-",
        "1.",
        ".5",
        "1e9",
        "+1",
        "0x10",
        "1659832006,5",
        "nan",
        "inf",
        "253402300800000", /* a millisecond too late */
        "-62135596800001",
        "99999999999999999999999999999999999999",
    };
    (void)state;
    for (size_t n = 0; n < COUNT(texts); n++) {
        int64_t value = 42;
        if (stamp_parse(texts[n], strlen(texts[n]), &value))
            fail_msg("\"%s\" was read as %" PRId64, texts[n], value);
        assert_int_equal(value, 42);
    }
}

/* Every cut of a good time is read within its bounds: the bytes behind the end are not looked at. */
static void test_length_is_obeyed(void **state)
{
    static const char text[] = "2022-08-07T02:26:46.123+02:00";
    (void)state;
    for (size_t length = 0; length < sizeof text; length++) {
        char *exact = malloc(length + 1); /* the sanitizer sees a byte too far */
        int64_t value = 0;
        assert_non_null(exact);
        memcpy(exact, text, length);
        stamp_parse(exact, length, &value);
        free(exact);
    }
    {
        int64_t value = 7;
        assert_int_equal(stamp_parse("2022-08-07\0", 11, &value), 0); /* a NUL is no character of a time */
        assert_int_equal(stamp_parse("2022-08-07\0T", 12, &value), 0);
    }
}

static void test_numbers(void **state)
{
    int64_t value = 42;
    (void)state;
    assert_int_equal(stamp_number(1659832006.123, &value), 1);
    assert_int_equal(value, INT64_C(1659832006123));
    assert_int_equal(stamp_number(1659832006123.0, &value), 1);
    assert_int_equal(value, INT64_C(1659832006123));
    assert_int_equal(stamp_number(-1, &value), 1);
    assert_int_equal(value, -1000);
    value = 42;
    assert_int_equal(stamp_number(NAN, &value), 0);
    assert_int_equal(stamp_number(INFINITY, &value), 0);
    assert_int_equal(stamp_number(-INFINITY, &value), 0);
    assert_int_equal(stamp_number(1e300, &value), 0);
    assert_int_equal(value, 42);
}

static void test_format(void **state)
{
    char text[STAMP_SIZE];
    (void)state;
    assert_int_equal(stamp_format(INT64_C(1659832006000), text), 20);
    assert_string_equal(text, "2022-08-07T00:26:46Z");
    assert_int_equal(stamp_format(INT64_C(1659832006007), text), 24);
    assert_string_equal(text, "2022-08-07T00:26:46.007Z");
    stamp_format(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999Z");
    stamp_format(INT64_C(-62135596800000), text);
    assert_string_equal(text, "0001-01-01T00:00:00Z");
    stamp_format(INT64_C(253402300799999), text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
    assert_int_equal(stamp_format(INT64_C(-62135596800001), text), 0);
    assert_string_equal(text, "");
    assert_int_equal(stamp_format(INT64_MIN, text), 0);
    assert_int_equal(stamp_format(INT64_MAX, text), 0);
    assert_int_equal(stamp_format(INT64_C(253402300800000), text), 0);
}

/* Every day of the calendar, there and back, and each one is the next of the one before. */
static void test_every_day(void **state)
{
    char text[STAMP_SIZE], before[STAMP_SIZE] = "0000";
    const int64_t day = 86400000;
    (void)state;
    for (int64_t at = INT64_C(-62135596800000); at <= INT64_C(253402300799999); at += day) {
        assert_int_equal(stamp_format(at, text), 20);
        assert_int_equal(parsed(text), at);
        assert_true(strcmp(before, text) < 0);
        memcpy(before, text, sizeof before);
    }
    assert_string_equal(text, "9999-12-31T00:00:00Z");
}

/* Python reads what is written, and what Python writes is read, with random offsets and fractions. */
static void test_beside_python(void **state)
{
    static const char script[] =
        "import datetime as d, random\n"
        "random.seed(5)\n"
        "epoch = d.datetime(1970, 1, 1, tzinfo=d.timezone.utc)\n"
        "low, high = -62135596800000 + 10**8, 253402300799999 - 10**8\n"
        "for n in range(20000):\n"
        "    ms = random.randint(low, high) if n % 2 else random.randint(0, 2 * 10**12)\n"
        "    t = epoch + d.timedelta(milliseconds=ms)\n"
        "    z = d.timezone(d.timedelta(minutes=random.randint(-1439, 1439)))\n"
        "    local = t.astimezone(z)\n"
        "    if n % 3 == 0: text = local.isoformat()\n"
        "    elif n % 3 == 1: text = local.isoformat(sep=' ', timespec='microseconds')\n"
        "    else: text = local.strftime('%H:%M:%S.%f') ; text = "
        "f'{local.year:04}-{local.month:02}-{local.day:02}T' + text"
        " + local.strftime('%z')\n"
        "    z = t.isoformat(timespec='milliseconds' if ms % 1000 else 'seconds').replace('+00:00', 'Z')\n"
        "    print(ms, z, text, sep='\\t')\n";
    char *command = malloc(sizeof script + 100), line[256];
    FILE *python;
    int count = 0;
    (void)state;
    assert_non_null(command);
    sprintf(command, "python3 - <<'END'\n%s\nEND", script);
    python = popen(command, "r");
    assert_non_null(python);
    while (fgets(line, sizeof line, python)) {
        char *end, *written, *text, made[STAMP_SIZE];
        int64_t expected = strtoll(line, &end, 10);
        written = end + 1;
        text = strchr(written, '\t');
        assert_non_null(text);
        *text++ = '\0';
        text[strcspn(text, "\n")] = '\0';
        if (parsed(text) != expected)
            fail_msg("\"%s\": found %" PRId64 ", expected %" PRId64, text, parsed(text), expected);
        stamp_format(expected, made);
        assert_string_equal(made, written);
        count++;
    }
    assert_int_equal(pclose(python), 0);
    assert_int_equal(count, 20000);
    free(command);
}

static void test_time_zone_does_not_matter(void **state)
{
    char text[STAMP_SIZE];
    (void)state;
    setenv("TZ", "Asia/Kathmandu", 1);
    tzset();
    assert_int_equal(parsed("2022-08-07 00:26:46"), INT64_C(1659832006000));
    stamp_format(INT64_C(1659832006000), text);
    assert_string_equal(text, "2022-08-07T00:26:46Z");
    unsetenv("TZ");
    tzset();
    assert_true(llabs(stamp_now() - (int64_t)time(NULL) * 1000) < 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_length_is_obeyed),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_every_day),
        cmocka_unit_test(test_beside_python),
        cmocka_unit_test(test_time_zone_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
