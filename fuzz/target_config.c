/* target_config.c - the program's configuration file (cli/config.c) and what its values become. The first byte
 * chooses the command whose options they are, 'a' for the first. */
#include "fuzz.h"

#include "../cli/options.h"

void inmo_fuzz_config(const uint8_t *data, size_t size)
{
    struct inmo_error error = {0};
    struct cli_options options;
    size_t commands = 0;
    enum inmo_status status;
    const char *path;
    if (size < 1)
        return;
    while (cli_commands[commands])
        commands++;
    path = inmo_fuzz_file("config", data + 1, size - 1);
    cli_options_start(&options, cli_commands[(uint8_t)(data[0] - 'a') % commands]);
    status = cli_read_config(&options, path, &error);
    if (inmo_fuzz_ended("cli_read_config", status, &error) && options.command->begin)
        status = options.command->begin(&options, options.settings, &error);
    if (status == INMO_OK)
        status = cli_apply(&options, &error);
    if (inmo_fuzz_ended("cli_apply", status, &error))
        inmo_fuzz_used();
    cli_options_free(&options);
}
