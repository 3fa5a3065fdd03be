/* child.c - see child.h. */
#define _GNU_SOURCE /* close_range */
#include "server/child.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_NICE = 15 };

void child_init(struct child *child)
{
    pthread_mutex_init(&child->lock, NULL);
    child->process = -1;
    child->stopping = 0;
}

void child_destroy(struct child *child)
{
    pthread_mutex_destroy(&child->lock);
}

/* After fork, only calls that are safe there. */
static void become(char *const *word, int output, int log, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127); /* the server ended between fork and prctl */
    setpriority(PRIO_PROCESS, 0, CHILD_NICE);
    dup2(output, 1);
    dup2(log, 2);
    close(0);
    open("/dev/null", O_RDONLY);
    close_range(3, ~0u, 0);
    execv("/proc/self/exe", word);
    _exit(127);
}

static enum inmo_status begin(struct child *child, const char *const *word, int output, int log, pid_t *process,
                              struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    pid_t parent = getpid();

    pthread_mutex_lock(&child->lock);
    if (child->stopping) {
        status = inmo_fail(error, INMO_INTERRUPTED, "the server ended");
    } else {
        *process = fork();
        if (!*process)
            become((char *const *)word, output, log, parent);
        if (*process < 0)
            status = inmo_fail(error, INMO_INTERNAL, "no process could be started: %s", strerror(errno));
        child->process = *process;
    }
    pthread_mutex_unlock(&child->lock);
    return status;
}

enum inmo_status child_run(struct child *child, const char *const *word, const char *report, const char *log,
                           struct inmo_error *error)
{
    int output = open(report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int said = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    enum inmo_status status = INMO_OK;
    pid_t process = -1;
    int how = 0;

    if (output < 0 || said < 0)
        status = inmo_fail_errno(error, "write", output < 0 ? report : log);
    if (!status)
        status = begin(child, word, output, said, &process, error);
    if (!status) {
        while (waitpid(process, &how, 0) < 0 && errno == EINTR)
            ;
        pthread_mutex_lock(&child->lock);
        child->process = -1;
        if (child->stopping)
            status = inmo_fail(error, INMO_INTERRUPTED, "the server ended");
        pthread_mutex_unlock(&child->lock);
    }
    if (!status && WIFSIGNALED(how))
        status = inmo_fail(error, INMO_INTERNAL, "inmo %s was ended by signal %d (%s has what it said)", word[1],
                           WTERMSIG(how), log);
    else if (!status && WEXITSTATUS(how))
        status = inmo_fail(error, (enum inmo_status)WEXITSTATUS(how), "inmo %s: %s (%s has what it said)", word[1],
                           inmo_status_meaning((enum inmo_status)WEXITSTATUS(how)), log);
    if (said >= 0)
        close(said);
    if (output >= 0)
        close(output);
    return status;
}

void child_stop(struct child *child)
{
    pthread_mutex_lock(&child->lock);
    child->stopping = 1;
    if (child->process > 0)
        kill(-child->process, SIGKILL);
    pthread_mutex_unlock(&child->lock);
}
