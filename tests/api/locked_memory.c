/* Preloaded into the libvirt daemon of tests/api/run: a domain with a VFIO device gets a higher limit of locked memory, which a root without
 * CAP_SYS_RESOURCE may not set, as in many containers. The simulated device needs no locked memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int limit(pid_t pid, int resource, const void* wanted, void* was) {
    const long done = syscall(SYS_prlimit64, pid, resource, wanted, was);
    return done != 0 && errno == EPERM && resource == RLIMIT_MEMLOCK ? 0 : (int)done;
}

#undef prlimit
#undef prlimit64

int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit* wanted, struct rlimit* was) {
    return limit(pid, (int)resource, wanted, was);
}

int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64* wanted, struct rlimit64* was) {
    return limit(pid, (int)resource, wanted, was);
}
