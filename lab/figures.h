/* figures.h - figures of an experiment. Used only inside lab/. */
#ifndef INMO_LAB_FIGURES_H
#define INMO_LAB_FIGURES_H

#include "base/text.h"

#include <jansson.h>

/* Draws SVG: curves, bars, or the systems of a table in order. */
void inmo_figures_draw(struct inmo_text *text, const json_t *experiment);
/* Lists the numbers of a figure, for Markdown. */
void inmo_figures_list(struct inmo_text *text, const json_t *experiment);

#endif
