/* modelfile.h - what reading and writing a model have in common; the layout is in modelfile.c. */
#ifndef INMO_MODEL_MODELFILE_H
#define INMO_MODEL_MODELFILE_H

#include "base/tensorfile.h"
#include "model/model.h"

/* 16 layers of 4 parts, and those of a provider and a head. */
enum { INMO_MODEL_VERSION = 1, INMO_MODEL_MOST_PARTS = 64 + 2 * 8 };

/* Lists the parts of model->own (extra parameters of provider, backbone and head) as arrays; part keeps their
 * names. Returns their number. */
size_t inmo_model_list_parts(const struct inmo_model *model, struct inmo_part *part, struct inmo_tensor *tensor);

#endif
