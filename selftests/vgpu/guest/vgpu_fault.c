// SPDX-License-Identifier: MIT
// vgpu-fault: arms and disarms faults of the software GPU from inside the guest.
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The capability of pci/fault_mailbox.hpp, in bytes of configuration space.
enum {
    CAPABILITY = 0x400,
    VSEC_ID = 0x5647,
    MAGIC = CAPABILITY + 0x08,
    GO = CAPABILITY + 0x0c,
    STATUS = CAPABILITY + 0x10,
    REQUEST = CAPABILITY + 0x20,
    REQUEST_BYTES = 0x100,
    RESPONSE = REQUEST + REQUEST_BYTES,
    RESPONSE_BYTES = 0xb00 - 0x120,
};
static const uint32_t magic = 0x55504756; // "VGPU"

static const char usage[] =
    "usage: vgpu-fault arm SPEC        prints the number of the fault\n"
    "       vgpu-fault disarm NUMBER|all\n"
    "       vgpu-fault list            number, spec, occasions seen, hits, strikes left\n"
    "       vgpu-fault counter NAME    of vgpu's summary, as it is now\n"
    "       vgpu-fault scribble-mqds PASID   spoils what the process' stopped queues have saved\n"
    "       vgpu-fault pace RATE       wave instructions in a ms of guest time; 0: no limit\n"
    "SPEC is what vgpu's --fault takes; a wrong one prints them all. Needs root.\n";

// Configuration space is read and written by dwords: that is what the device sees.
static int read_words(int config, off_t offset, void* to, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 4)
        if (pread(config, (char*)to + at, 4, offset + (off_t)at) != 4)
            return -1;
    return 0;
}

static int write_words(int config, off_t offset, const void* from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 4)
        if (pwrite(config, (const char*)from + at, 4, offset + (off_t)at) != 4)
            return -1;
    return 0;
}

static int is_ours(int config) {
    uint32_t words[3] = {0};

    return read_words(config, CAPABILITY, words, sizeof(words)) == 0 &&
           (words[0] & 0xffff) == 0x000b && (words[1] & 0xffff) == VSEC_ID && words[2] == magic;
}

// The first software GPU of the machine, or -1 with a message.
static int open_gpu(char* path, size_t path_bytes) {
    glob_t found;
    int config = -1;

    if (glob("/sys/bus/pci/devices/*/config", 0, NULL, &found) != 0) {
        fprintf(stderr, "vgpu-fault: no PCI devices in /sys; is it mounted?\n");
        return -1;
    }
    for (size_t i = 0; i < found.gl_pathc && config < 0; ++i) {
        config = open(found.gl_pathv[i], O_RDWR | O_CLOEXEC);
        if (config < 0 && errno == EACCES) {
            fprintf(stderr, "vgpu-fault: %s: %s; run it as root\n", found.gl_pathv[i],
                    strerror(errno));
            globfree(&found);
            return -1;
        }
        if (config >= 0 && !is_ours(config)) {
            close(config);
            config = -1;
        }
        if (config >= 0)
            snprintf(path, path_bytes, "%s", found.gl_pathv[i]);
    }
    globfree(&found);
    if (config < 0)
        fprintf(stderr, "vgpu-fault: no PCI device is a vgpu; boot the guest with one\n");
    return config;
}

// Up to the zero behind the text.
static int read_text(int config, off_t offset, char* to, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 4) {
        if (read_words(config, offset + (off_t)at, to + at, 4) != 0)
            return -1;
        if (memchr(to + at, '\0', 4) != NULL)
            break;
    }
    return 0;
}

int main(int argc, char** argv) {
    char request[REQUEST_BYTES] = "";
    char response[RESPONSE_BYTES + 1] = "";
    char path[4096];
    const uint32_t go = 1;
    uint32_t status = 0;
    int config;
    int length = -1;

    if (argc == 3 && (strcmp(argv[1], "arm") == 0 || strcmp(argv[1], "disarm") == 0 ||
                      strcmp(argv[1], "counter") == 0 || strcmp(argv[1], "scribble-mqds") == 0 ||
                      strcmp(argv[1], "pace") == 0))
        length = snprintf(request, sizeof(request), "%s %s", argv[1], argv[2]);
    else if (argc == 2 && strcmp(argv[1], "list") == 0)
        length = snprintf(request, sizeof(request), "list");
    if (length < 0) {
        const int help = argc == 2 && strcmp(argv[1], "--help") == 0;

        fputs(usage, help ? stdout : stderr);
        return help ? 0 : 2;
    }
    if ((size_t)length >= sizeof(request)) {
        fprintf(stderr, "vgpu-fault: the spec has more than %zu characters\n",
                sizeof(request) - sizeof("disarm "));
        return 2;
    }
    config = open_gpu(path, sizeof(path));
    if (config < 0)
        return 1;
    if (write_words(config, REQUEST, request, (size_t)length + 1) != 0 ||
        write_words(config, GO, &go, sizeof(go)) != 0 ||
        read_words(config, STATUS, &status, sizeof(status)) != 0 ||
        read_text(config, RESPONSE, response, RESPONSE_BYTES) != 0) {
        fprintf(stderr, "vgpu-fault: %s: %s\n", path, strerror(errno));
        return 1;
    }
    if (status != 0) {
        fprintf(stderr, "vgpu-fault: %s\n", response);
        return 1;
    }
    fputs(response, stdout);
    return 0;
}
