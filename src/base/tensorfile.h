/* tensorfile.h - named arrays in one file, safetensors layout, readable by numpy, PyTorch and others:
 *
 *     8 bytes   length H of the header, little-endian
 *     H bytes   JSON: {"__metadata__": {"key": "string", ...},
 *                      "name": {"dtype": "F32", "shape": [r, c], "data_offsets": [begin, end]}, ...}
 *     the rest  the arrays, each starting at a multiple of 64 bytes from the start of the file
 *
 * The header is padded with spaces so that the arrays begin aligned. Metadata always has "inmo.kind",
 * "inmo.version", "inmo.checksum" (XXH3-64 of the array bytes, as 16 hex digits) and "inmo.header-checksum" (of
 * everything before them): together they detect any flipped bit. Files are written to a temporary name, synced and
 * renamed. Opening maps the file and checks header, array bounds and checksums. Arrays keep the order in which they
 * were added. safetensors allows no gaps, so the zeros that align an array are an array "inmo.pad.N" themselves,
 * which the calls below skip. Names and keys that start with "inmo." are reserved. */
#ifndef INMO_BASE_TENSORFILE_H
#define INMO_BASE_TENSORFILE_H

#include "base/status.h"

#include <stdint.h>

enum inmo_dtype { INMO_U8, INMO_I32, INMO_I64, INMO_F32, INMO_F64 };

struct inmo_tensor {
    const char *name;
    enum inmo_dtype dtype;
    int64_t rows;    /* length of a vector */
    int64_t columns; /* 0 for a vector */
    const void *data;
};

struct inmo_metadata {
    const char *key, *value;
};

/* Writes path. kind is a word ("model", "dataset", "checkpoint"), version the number of its layout. Errors: EXISTS
 * if path exists and force is 0. */
enum inmo_status inmo_tensorfile_write(const char *path, int force, const char *kind, int version,
                                       const struct inmo_metadata *metadata, size_t metadata_count,
                                       const struct inmo_tensor *tensor, size_t tensor_count,
                                       struct inmo_error *error);

/* The same with arrays that are in files: where file[n] is not -1, the bytes of array n are those at its beginning,
 * and its data is NULL. They pass through a small buffer. */
enum inmo_status inmo_tensorfile_write_from(const char *path, int force, const char *kind, int version,
                                            const struct inmo_metadata *metadata, size_t metadata_count,
                                            const struct inmo_tensor *tensor, const int *file, size_t tensor_count,
                                            struct inmo_error *error);

struct inmo_tensorfile;
enum inmo_status inmo_tensorfile_open(const char *path, const char *kind, int version,
                                      struct inmo_tensorfile **file, struct inmo_error *error);
void inmo_tensorfile_close(struct inmo_tensorfile *file);
/* The process no longer holds what it has read of the file, which stays open: what is read again is mapped again,
 * mostly from the system's cache. */
void inmo_tensorfile_rest(const struct inmo_tensorfile *file);
/* Value of a metadata key, or NULL. */
const char *inmo_tensorfile_metadata(const struct inmo_tensorfile *file, const char *key);
/* The array with that name. Errors: FORMAT if it is missing, has another type, or its rows or columns differ from
 * those expected (-1: any; columns 0: a vector). */
enum inmo_status inmo_tensorfile_get(const struct inmo_tensorfile *file, const char *name, enum inmo_dtype dtype,
                                     int64_t rows, int64_t columns, struct inmo_tensor *tensor,
                                     struct inmo_error *error);
/* Whether there is an array with that name. */
int inmo_tensorfile_has(const struct inmo_tensorfile *file, const char *name);
/* All arrays, in file order. */
size_t inmo_tensorfile_count(const struct inmo_tensorfile *file);
const struct inmo_tensor *inmo_tensorfile_at(const struct inmo_tensorfile *file, size_t n);

#endif
