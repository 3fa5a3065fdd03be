/* threads.h - the one place that decides how many threads work. */
#ifndef INMO_BASE_THREADS_H
#define INMO_BASE_THREADS_H

/* Threads in force: what inmo_set_threads said, else all cores. */
int inmo_threads(void);

/* Seconds of a steady clock. */
double inmo_now(void);

#endif
