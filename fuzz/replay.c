/* replay.c - runs files through a target, one after the other: `replay TARGET FILE-OR-FOLDER...`. A fault ends it,
 * as it ends the fuzzer; the last line printed names the file. At least one file must be whole, so that seeds that
 * have become stale are noticed. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    inmo_fuzz_call *call;
} target[] = {
#define INMO_FUZZ_ROW(name) {#name, inmo_fuzz_##name},
    INMO_FUZZ_TARGETS(INMO_FUZZ_ROW)
#undef INMO_FUZZ_ROW
};

static void run_file(inmo_fuzz_call *call, const char *path)
{
    FILE *stream = fopen(path, "rb");
    uint8_t *data;
    long size;
    if (!stream || fseek(stream, 0, SEEK_END) != 0 || (size = ftell(stream)) < 0)
        inmo_fuzz_broken("cannot read %s", path);
    rewind(stream);
    data = malloc((size_t)size + 1);
    if (!data || fread(data, 1, (size_t)size, stream) != (size_t)size)
        inmo_fuzz_broken("cannot read %s", path);
    fclose(stream);
    printf("%s: %ld bytes\n", path, size);
    fflush(stdout);
    call(data, (size_t)size);
    free(data);
}

/* In the order of their names. */
static int run_folder(inmo_fuzz_call *call, const char *folder)
{
    struct dirent **entry = NULL;
    int count = scandir(folder, &entry, NULL, alphasort), files = 0;
    for (int n = 0; n < count; n++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry[n]->d_name);
        if (entry[n]->d_name[0] != '.') {
            run_file(call, path);
            files++;
        }
        free(entry[n]);
    }
    free(entry);
    return count < 0 ? -1 : files;
}

int main(int argc, char **argv)
{
    inmo_fuzz_call *call = NULL;
    int files = 0;
    for (size_t n = 0; n < sizeof target / sizeof *target && argc > 2; n++)
        if (strcmp(argv[1], target[n].name) == 0)
            call = target[n].call;
    if (!call) {
        fprintf(stderr, "use: replay TARGET FILE-OR-FOLDER...\n");
        return 2;
    }
    for (int n = 2; n < argc; n++) {
        int count = run_folder(call, argv[n]);
        if (count < 0) {
            run_file(call, argv[n]);
            count = 1;
        }
        files += count;
    }
    printf("replay: %d files through %s, %ld of them whole\n", files, argv[1], inmo_fuzz_uses());
    if (inmo_fuzz_uses() == 0) {
        printf("replay: no file is whole: the seeds are of another version; make them again (seeds.c)\n");
        return 1;
    }
    return 0;
}
