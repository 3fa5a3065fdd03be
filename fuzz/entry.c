/* entry.c - the way in for libFuzzer, compiled once for each target with INMO_FUZZ_TARGET and, for tensor files,
 * INMO_FUZZ_SEALED: their mutations keep the frame of the file, so that most of them get past the first check. */
#include "fuzz.h"

#include "base/tensorfile_layout.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    INMO_FUZZ_TARGET(data, size);
    return 0;
}

#ifdef INMO_FUZZ_SEALED
enum { LENGTH = INMO_TENSORFILE_LENGTH, ALIGNMENT = INMO_TENSORFILE_ALIGNMENT };

/* Changes the header's text, and makes its length and its padding fit again. */
static size_t mutate_header(uint8_t *data, size_t size, size_t most, size_t header)
{
    uint8_t *text = malloc(most), *payload = malloc(size - header + 1);
    size_t count = header - LENGTH, payload_size = size - header, result = 0;
    uint64_t length;
    if (!text || !payload)
        abort();
    memcpy(text, data + LENGTH, count);
    memcpy(payload, data + header, payload_size);
    while (count > 0 && text[count - 1] == ' ')
        count--;
    count = LLVMFuzzerMutate(text, count, most - LENGTH - ALIGNMENT);
    header = (LENGTH + count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (header + payload_size <= most) {
        length = header - LENGTH;
        memset(data, ' ', header);
        memcpy(data, &length, sizeof length);
        memcpy(data + LENGTH, text, count);
        memcpy(data + header, payload, payload_size);
        result = header + payload_size;
    }
    free(payload);
    free(text);
    return result;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    uint64_t length = 0;
    size_t result = 0;
    if (size >= LENGTH)
        memcpy(&length, data, sizeof length);
    if (seed % 8 == 0 || length < INMO_TENSORFILE_DIGITS_AT || length > size - LENGTH || most < 2 * ALIGNMENT)
        result = LLVMFuzzerMutate(data, size, most);
    else if (seed % 8 < 5)
        result = mutate_header(data, size, most, (size_t)length + LENGTH);
    else if (length + LENGTH < size) /* the arrays, which keep their size: mostly one byte of them changes */
        result = LLVMFuzzerMutate(data + length + LENGTH, size - (size_t)length - LENGTH,
                                  size - (size_t)length - LENGTH) +
                 (size_t)length + LENGTH;
    if (result == 0)
        result = LLVMFuzzerMutate(data, size, most);
    inmo_fuzz_reseal(data, result);
    return result;
}
#endif
