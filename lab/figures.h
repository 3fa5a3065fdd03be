/* figures.h - the pictures of an experiment's findings. Inside lab/ only. */
#ifndef INMO_LAB_FIGURES_H
#define INMO_LAB_FIGURES_H

#include "base/text.h"

#include <jansson.h>

/* As SVG: curves, bars, and for a table its systems in order. */
void inmo_figures_draw(struct inmo_text *text, const json_t *experiment);
/* The numbers of a figure, where there is no picture. */
void inmo_figures_list(struct inmo_text *text, const json_t *experiment);

#endif
