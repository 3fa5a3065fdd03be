/* test_file.c - writing files: what is there is never lost, nothing but an ordinary file is replaced, files that
 * belong together change together, and what killed runs left goes with the next run. */
#include "support.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

static struct inmo_error error;

static void put(const char *name, const char *text)
{
    FILE *stream = fopen(name, "wb");
    assert_non_null(stream);
    fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
}

static void has(const char *name, const char *text)
{
    struct bytes found = read_bytes(name);
    assert_int_equal(found.count, strlen(text));
    assert_memory_equal(found.at, text, found.count);
    free(found.at);
}

static enum inmo_status write_whole(const char *name, const char *text, int force)
{
    struct inmo_new_file file = {0};
    enum inmo_status status = inmo_new_file_open(&file, name, force, &error);
    if (!status)
        status = inmo_new_file_write(&file, text, strlen(text), &error);
    if (!status)
        status = inmo_new_file_commit(&file, &error);
    inmo_new_file_abandon(&file);
    return status;
}

static int files_with(const char *word)
{
    char command[128];
    snprintf(command, sizeof command, "test $(ls -A | grep -c -- '%s') = 0", word);
    return system(command) != 0;
}

static void an_ordinary_file_is_replaced_only_with_force(void **state)
{
    (void)state;
    must(write_whole("plain", "one", 0));
    must_fail(write_whole("plain", "two", 0), INMO_EXISTS, "`force`");
    has("plain", "one");
    must(write_whole("plain", "three", 1));
    has("plain", "three");
    assert_false(files_with("inmo-part"));
}

static void a_file_made_meanwhile_is_kept(void **state)
{
    struct inmo_new_file file = {0};
    (void)state;
    must(inmo_new_file_open(&file, "meanwhile", 0, &error));
    must(inmo_new_file_write(&file, "late", 4, &error));
    put("meanwhile", "first");
    must_fail(inmo_new_file_commit(&file, &error), INMO_EXISTS, "meanwhile exists already");
    has("meanwhile", "first");
    assert_false(files_with("inmo-part"));
}

static void a_device_or_pipe_made_meanwhile_is_not_replaced(void **state)
{
    struct inmo_new_file file = {0};
    struct stat found;
    (void)state;
    must(inmo_new_file_open(&file, "late-pipe", 1, &error));
    assert_int_equal(mkfifo("late-pipe", 0600), 0);
    assert_int_not_equal(inmo_new_file_commit(&file, &error), INMO_OK);
    assert_int_equal(stat("late-pipe", &found), 0);
    assert_true(S_ISFIFO(found.st_mode));
}

static void *read_pipe(void *text)
{
    int descriptor = open("pipe", O_RDONLY);
    ssize_t size, all = 0;
    while ((size = read(descriptor, (char *)text + all, (size_t)(63 - all))) > 0)
        all += size;
    close(descriptor);
    return NULL;
}

static void a_pipe_is_written_into(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    for (int force = 0; force < 2; force++) {
        char text[64] = "";
        pthread_t reader;
        struct stat found;
        assert_int_equal(pthread_create(&reader, NULL, read_pipe, text), 0);
        must(inmo_new_file_check("pipe", force, &error));
        must(write_whole("pipe", "through", force));
        pthread_join(reader, NULL);
        assert_string_equal(text, "through");
        assert_int_equal(stat("pipe", &found), 0);
        assert_true(S_ISFIFO(found.st_mode));
    }
}

/* A node like /dev/null in a folder of our own. */
static void a_device_is_written_into(void **state)
{
    struct stat found;
    (void)state;
    if (mknod("null", S_IFCHR | 0600, makedev(1, 3)) != 0)
        skip();
    for (int force = 0; force < 2; force++) {
        enum inmo_status status = write_whole("null", "gone", force);
        if (status == INMO_IO) /* a folder mounted without devices */
            skip();
        assert_int_equal(status, INMO_OK);
        assert_int_equal(stat("null", &found), 0);
        assert_true(S_ISCHR(found.st_mode));
    }
    assert_int_equal(symlink("null", "link"), 0);
    must(write_whole("link", "gone", 1));
    assert_int_equal(lstat("link", &found), 0);
    assert_true(S_ISLNK(found.st_mode));
}

static void what_can_be_neither_replaced_nor_written_is_refused(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct stat found;
    (void)state;
    assert_int_equal(mkdir("directory", 0700), 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    for (int force = 0; force < 2; force++) {
        must_fail(write_whole("directory", "x", force), INMO_IO, "cannot write directory: it is a directory");
        must_fail(write_whole("socket", "x", force), INMO_IO, "cannot write socket: it is a socket");
        must_fail(inmo_new_file_check("directory", force, &error), INMO_IO, "it is a directory");
    }
    assert_int_equal(stat("socket", &found), 0);
    assert_true(S_ISSOCK(found.st_mode));
    close(listener);
    if (mknod("disk", S_IFBLK | 0600, makedev(7, 250)) == 0)
        must_fail(write_whole("disk", "x", 1), INMO_IO, "cannot write disk: it is a block device");
}

/* As /dev/stdout is: a link to an ordinary file that standard output goes to. */
static void standard_output_by_another_name_is_appended_to(void **state)
{
    int kept = dup(STDOUT_FILENO), target = open("collected", O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct stat found;
    enum inmo_status status;
    (void)state;
    assert_int_equal(symlink("collected", "stdout"), 0);
    assert_int_equal(write(target, "before ", 7), 7);
    fflush(stdout);
    dup2(target, STDOUT_FILENO);
    status = write_whole("stdout", "after", 1);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(target);
    assert_int_equal(status, INMO_OK);
    has("collected", "before after");
    assert_int_equal(lstat("stdout", &found), 0);
    assert_true(S_ISLNK(found.st_mode));
}

/* ---- Files that belong together ------------------------------------------------------------------------------ */

static void open_two(struct inmo_new_file file[2], int force, size_t second)
{
    char filler[8192];
    memset(filler, 'n', sizeof filler);
    must(inmo_new_file_open(&file[0], "first", force, &error));
    must(inmo_new_file_open(&file[1], "second", force, &error));
    must(inmo_new_file_write(&file[0], "new", 3, &error));
    must(inmo_new_file_write(&file[1], filler, second, &error));
}

static void two_files_change_together_or_not_at_all(void **state)
{
    struct inmo_new_file file[2];
    struct rlimit before, small;
    (void)state;
    put("first", "old 1");
    put("second", "old 2");
    /* The second meets a full disk. */
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 100;
    open_two(file, 1, 2000); /* less than the stream's buffer: the limit is met by the commit */
    setrlimit(RLIMIT_FSIZE, &small);
    must_fail(inmo_new_files_commit(file, 2, &error), INMO_IO, "cannot write second");
    setrlimit(RLIMIT_FSIZE, &before);
    has("first", "old 1");
    has("second", "old 2");
    assert_false(files_with("inmo-part"));
    /* The second cannot take its place. */
    open_two(file, 1, 5);
    unlink("second");
    assert_int_equal(mkdir("second", 0700), 0);
    assert_int_not_equal(inmo_new_files_commit(file, 2, &error), INMO_OK);
    has("first", "old 1");
    assert_false(files_with("inmo-part"));
    rmdir("second");
    /* The same where nothing was before. */
    unlink("first");
    open_two(file, 0, 5);
    put("second", "meanwhile");
    must_fail(inmo_new_files_commit(file, 2, &error), INMO_EXISTS, "second exists already");
    assert_int_not_equal(access("first", F_OK), 0);
    has("second", "meanwhile");
    assert_false(files_with("inmo-part"));
    open_two(file, 1, 5);
    must(inmo_new_files_commit(file, 2, &error));
    has("first", "new");
    has("second", "nnnnn");
    assert_false(files_with("inmo-part"));
}

/* ---- What killed runs leave --------------------------------------------------------------------------------- */

static void a_killed_run_leaves_nothing_for_ever(void **state)
{
    struct inmo_new_file living = {0};
    int ready[2];
    pid_t killed;
    char byte, name[64];
    (void)state;
    assert_int_equal(pipe(ready), 0);
    killed = fork();
    if (killed == 0) {
        struct inmo_new_file file = {0};
        if (inmo_new_file_open(&file, "target", 1, NULL) == INMO_OK)
            (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    snprintf(name, sizeof name, "target.inmo-part-%ld", (long)killed);
    assert_int_equal(access(name, F_OK), 0);
    put("target.inmo-part-backup", "mine");
    put("target.part-1", "mine");
    put("other.inmo-part-1", "of another file");
    /* While it lives, its file is not touched. */
    must(inmo_new_file_open(&living, "target", 1, &error));
    assert_int_equal(access(name, F_OK), 0);
    kill(killed, SIGKILL);
    waitpid(killed, NULL, 0);
    assert_int_equal(access(name, F_OK), 0);
    /* Also when its number has been given to a process that is there: this one. */
    put("target.inmo-part-1", "left by a process whose number another one has");
    must(write_whole("target", "whole", 1));
    assert_int_not_equal(access(name, F_OK), 0);
    assert_int_not_equal(access("target.inmo-part-1", F_OK), 0);
    must(inmo_new_file_write(&living, "later", 5, &error));
    must(inmo_new_file_commit(&living, &error));
    has("target", "later");
    has("target.inmo-part-backup", "mine");
    has("target.part-1", "mine");
    has("other.inmo-part-1", "of another file");
    close(ready[0]);
    close(ready[1]);
}

static void no_shortage_of_memory_leaves_anything(void **state)
{
    enum inmo_status status = INMO_MEMORY;
    (void)state;
    for (long n = 0; status != INMO_OK && n < 20; n++) {
        inmo_alloc_fail_after(n);
        status = write_whole("short", "x", 0);
        inmo_alloc_fail_after(-1);
        assert_true(status == INMO_OK || status == INMO_MEMORY);
        assert_false(files_with("short.inmo-part"));
        if (status != INMO_OK)
            assert_int_not_equal(access("short", F_OK), 0);
    }
    assert_int_equal(status, INMO_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_file_is_replaced_only_with_force),
        cmocka_unit_test(a_file_made_meanwhile_is_kept),
        cmocka_unit_test(a_device_or_pipe_made_meanwhile_is_not_replaced),
        cmocka_unit_test(a_pipe_is_written_into),
        cmocka_unit_test(a_device_is_written_into),
        cmocka_unit_test(what_can_be_neither_replaced_nor_written_is_refused),
        cmocka_unit_test(standard_output_by_another_name_is_appended_to),
        cmocka_unit_test(two_files_change_together_or_not_at_all),
        cmocka_unit_test(a_killed_run_leaves_nothing_for_ever),
        cmocka_unit_test(no_shortage_of_memory_leaves_anything),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
