/* The floor of a hook: the system calls that its promises need, and nothing else. No checks, no locks, no parsing.
 *   floor prepare|release SYSFS DEV STATE VF GROUP TYPE [PROC]
 * prepare: a durable claim (file and directory synced), exclusive open of the group node, type read, catalogue read, type
 * written and read back, claim rewritten and synced. release: claim rewritten and synced, open, type reset and read back, claim removed.
 * With PROC the command line and the open files of every process are looked at before the reset: who may still use the device. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[512], other[512], buffer[65536];
static const char claim[400] = "{}";

static void touch_attribute(const char *sysfs, const char *vf, const char *name, const char *data) {
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/nvidia/%s", sysfs, vf, name);
    int fd = open(path, data ? O_WRONLY : O_RDONLY);
    ssize_t done = data ? write(fd, data, strlen(data)) : read(fd, buffer, sizeof buffer);
    if (fd < 0 || done < 0) {
        perror(path);
        _exit(1);
    }
    close(fd);
}

static void write_claim(const char *state, const char *vf, int first) {
    snprintf(path, sizeof path, "%s/claims/.%s.tmp", state, vf);
    snprintf(other, sizeof other, "%s/claims/pci-%s.json", state, vf);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd < 0 || write(fd, claim, sizeof claim) < 0 || fdatasync(fd) != 0) {
        perror(path);
        _exit(1);
    }
    close(fd);
    if (!first) {
        rename(path, other);
        return;
    }
    link(path, other);
    unlink(path);
    snprintf(path, sizeof path, "%s/claims", state);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    fsync(fd);
    close(fd);
}

static void probe(const char *dev, const char *group) {
    snprintf(path, sizeof path, "%s/vfio/%s", dev, group);
    close(open(path, O_RDWR));
}

static void look_at_files(int process) {
    int fds = openat(process, "fd", O_RDONLY | O_DIRECTORY);
    DIR *directory = fds < 0 ? NULL : fdopendir(fds);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] != '.' && readlinkat(fds, entry->d_name, buffer, sizeof buffer) < 0) {
            perror(entry->d_name);
        }
    }
    if (directory) {
        closedir(directory);
    }
}

static void scan(const char *proc) {
    for (int pass = 0; pass < 2; pass++) {
        DIR *directory = opendir(proc);
        for (struct dirent *entry; directory && (entry = readdir(directory));) {
            if (entry->d_name[0] < '0' || entry->d_name[0] > '9') {
                continue;
            }
            int process = openat(dirfd(directory), entry->d_name, O_RDONLY | O_DIRECTORY);
            if (pass == 0) {
                int fd = openat(process, "cmdline", O_RDONLY);
                while (read(fd, buffer, sizeof buffer) > 0) {
                }
                close(fd);
            } else {
                look_at_files(process);
            }
            close(process);
        }
        if (directory) {
            closedir(directory);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 8 && argc != 9) {
        return 2;
    }
    const char *sysfs = argv[2], *dev = argv[3], *state = argv[4], *vf = argv[5], *group = argv[6], *type = argv[7];
    while (read(0, buffer, sizeof buffer) > 0) {
    }
    if (strcmp(argv[1], "prepare") == 0) {
        touch_attribute(sysfs, vf, "current_vgpu_type", NULL);
        probe(dev, group);
        write_claim(state, vf, 1);
        touch_attribute(sysfs, vf, "creatable_vgpu_types", NULL);
        touch_attribute(sysfs, vf, "current_vgpu_type", type);
        touch_attribute(sysfs, vf, "current_vgpu_type", NULL);
        write_claim(state, vf, 0);
        return 0;
    }
    write_claim(state, vf, 0);
    if (argc == 9) {
        scan(argv[8]);
    }
    probe(dev, group);
    touch_attribute(sysfs, vf, "current_vgpu_type", "0");
    touch_attribute(sysfs, vf, "current_vgpu_type", NULL);
    snprintf(path, sizeof path, "%s/claims/pci-%s.json", state, vf);
    unlink(path);
    return 0;
}
