/* page.h - the files of the page at /, embedded by embed.cmake. */
#ifndef INMO_SERVER_PAGE_H
#define INMO_SERVER_PAGE_H

#include <stddef.h>

struct page_file {
    const char *path; /* "index.html" */
    const char *type; /* of its content */
    const unsigned char *data;
    size_t size;
    const char *etag; /* with its quotes */
};

extern const struct page_file page_files[];
extern const size_t page_file_count;

#endif
