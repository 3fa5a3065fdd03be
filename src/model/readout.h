/* readout.h - scales items by popularity: r_i becomes d_i^γ r_i, after the backbone and before any use of r. Sums
 * over neighbours grow with the degree, and the loss lets popular items grow further. γ < 0 scales them down, which
 * generalises better (docs/results-history.md, "How the settings were chosen"). */
#ifndef INMO_MODEL_READOUT_H
#define INMO_MODEL_READOUT_H

#include "model/seam.h"

/* d_i^γ of every item, (items); a degree of 0 counts as 1. */
void inmo_readout_scales(const struct inmo_graph *graph, double popularity, float *scale);
/* Scales the rows of x, (count, width), that are items: of the nodes in rows, or of all nodes if rows is NULL. */
void inmo_readout(const struct inmo_graph *graph, const struct inmo_rows *rows, int width, const float *scale,
                  float *x);

#endif
