/* readout.h - what a score makes of an item's popularity: r_i becomes d_i^γ r_i, after the backbone and before
 * anything that looks at r. Sums over neighbours grow with their number, and a loss that wants popular items
 * ahead makes them grow more; with γ < 0 they start farther back, and what is learned generalises better
 * (docs/design.md has figures). */
#ifndef INMO_MODEL_READOUT_H
#define INMO_MODEL_READOUT_H

#include "model/seam.h"

/* d_i^γ of every item, (items); a degree of 0 counts as 1, so that an item nobody has chosen keeps what it has. */
void inmo_readout_scales(const struct inmo_graph *graph, double popularity, float *scale);
/* Rows of x, (count, width), that are items: of the nodes rows names, or of all. */
void inmo_readout(const struct inmo_graph *graph, const struct inmo_rows *rows, int width, const float *scale,
                  float *x);

#endif
