/* routes_page.c - the page and the description of the interface: bytes that are part of the program. */
#include "server/page.h"
#include "server/route.h"

#include <string.h>

static void answer_file(struct request *request, const char *path)
{
    for (size_t n = 0; n < page_file_count; n++)
        if (!strcmp(page_files[n].path, path)) {
            request->status = 200;
            request->out_type = page_files[n].type;
            request->fixed = page_files[n].data;
            request->fixed_size = page_files[n].size;
            request->etag = page_files[n].etag;
            request->state = REQUEST_ANSWERED;
            return;
        }
    request_fail(request, 404, "NOT_FOUND", NULL, "there is no such file");
}

void route_page(struct request *request)
{
    answer_file(request, "index.html");
}

/* Only names of the table: there is no file system behind this. */
void route_page_file(struct request *request)
{
    answer_file(request, request->param[0]);
}

void route_openapi(struct request *request)
{
    answer_file(request, "openapi.json");
}
