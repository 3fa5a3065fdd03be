/* tensorfile.h - named arrays in one file, safetensors layout, so that numpy, PyTorch and others read it as it is:
 *
 *     8 bytes   length H of the header, little-endian
 *     H bytes   JSON: {"__metadata__": {"key": "string", ...},
 *                      "name": {"dtype": "F32", "shape": [r, c], "data_offsets": [begin, end]}, ...}
 *     the rest  the arrays, each starting at a multiple of 64 bytes from the start of the file
 *
 * The header is padded with spaces so that the arrays begin aligned. Metadata always has "inmo.kind",
 * "inmo.version", "inmo.checksum" (XXH3-64 of the array bytes, as 16 hex digits) and "inmo.header-checksum" (of
 * everything before them), so that no flipped bit goes unseen. Files are written aside, synced and renamed; opened
 * by memory map, after the header, the bounds of each array and the checksums have been checked. Arrays are in the
 * order they were added; safetensors allows no gaps, so the zeros between two are an array "inmo.pad.N", which the
 * calls below pass over. Names and keys that start with "inmo." are reserved. */
#ifndef INMO_BASE_TENSORFILE_H
#define INMO_BASE_TENSORFILE_H

#include "base/status.h"

#include <stdint.h>

enum inmo_dtype { INMO_U8, INMO_I32, INMO_I64, INMO_F32, INMO_F64 };

struct inmo_tensor {
    const char *name;
    enum inmo_dtype dtype;
    int64_t rows;    /* of a vector: its length */
    int64_t columns; /* 0 for a vector */
    const void *data;
};

struct inmo_metadata {
    const char *key, *value;
};

/* Writes path. kind is a word ("model", "dataset", "checkpoint"), version the number of its layout. With force an
 * existing file is replaced; without it, EXISTS. */
enum inmo_status inmo_tensorfile_write(const char *path, int force, const char *kind, int version,
                                       const struct inmo_metadata *metadata, size_t metadata_count,
                                       const struct inmo_tensor *tensor, size_t tensor_count,
                                       struct inmo_error *error);

struct inmo_tensorfile;
enum inmo_status inmo_tensorfile_open(const char *path, const char *kind, int version,
                                      struct inmo_tensorfile **file, struct inmo_error *error);
void inmo_tensorfile_close(struct inmo_tensorfile *file);
/* Value of a metadata key, or NULL. */
const char *inmo_tensorfile_metadata(const struct inmo_tensorfile *file, const char *key);
/* The array called name; FORMAT if it is absent or of another type, or if expected rows or columns (-1: any, for
 * columns 0 means vector) differ. */
enum inmo_status inmo_tensorfile_get(const struct inmo_tensorfile *file, const char *name, enum inmo_dtype dtype,
                                     int64_t rows, int64_t columns, struct inmo_tensor *tensor,
                                     struct inmo_error *error);
/* All arrays, in file order. */
size_t inmo_tensorfile_count(const struct inmo_tensorfile *file);
const struct inmo_tensor *inmo_tensorfile_at(const struct inmo_tensorfile *file, size_t n);

#endif
