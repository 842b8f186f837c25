/* A render node in user space, for a compositor that draws with OpenGL only where it finds one.
 *
 * Loaded by LD_PRELOAD: RENDER_NODE names an empty file that stands for the device. Mesa's software renderer asks such a
 * device for plain buffers only (https://docs.kernel.org/gpu/drm-kms.html#dumb-buffer-objects); each is a memfd here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MOST 4096
#define DEVICE makedev(226, 128)
#define SHIFT 36 /* the offset at which a buffer is mapped holds its handle from this bit on */
enum { GET_CAP = 0x640c, SET_CAP = 0x640d, GEM_CLOSE = 0x6409, TO_FD = 0x642d, FROM_FD = 0x642e, CREATE = 0x64b2, MAP = 0x64b3,
       DESTROY = 0x64b4, DMA_BUF_SYNC = 0x6200 };

struct version { int major, minor, patch, name_length; char *name; int date_length; char *date; int about_length; char *about; };
struct device { char **nodes; int available, kind; void *bus, *about; };

static struct { int fd; ino_t file; } buffers[MOST]; /* by their handles; 0 is none */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *path;
static struct stat node;
static int (*real_fstat)(int, struct stat *);
static int (*real_stat)(const char *, struct stat *);
static int (*real_ioctl)(int, unsigned long, ...);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);

__attribute__((constructor)) static void begin(void) {
    real_fstat = dlsym(RTLD_NEXT, "fstat64");
    real_stat = dlsym(RTLD_NEXT, "stat64");
    real_ioctl = dlsym(RTLD_NEXT, "ioctl");
    real_mmap = dlsym(RTLD_NEXT, "mmap64");
    path = getenv("RENDER_NODE");
    if (path) real_stat(path, &node);
}

static int is_file_of_node(const struct stat *found) {
    return node.st_ino && found->st_ino == node.st_ino && found->st_dev == node.st_dev;
}

static int is_node(int fd) {
    struct stat found;
    return fd >= 0 && real_fstat(fd, &found) == 0 && is_file_of_node(&found);
}

static int as_device(int result, struct stat *found) {
    if (result == 0 && is_file_of_node(found)) {
        found->st_mode = S_IFCHR | 0666;
        found->st_rdev = DEVICE;
    }
    return result;
}

/* --- the C library: other libraries may call these before `begin` */

int fstat64(int fd, struct stat64 *found) {
    if (!real_fstat) begin();
    return as_device(real_fstat(fd, (struct stat *)found), (struct stat *)found);
}
int fstat(int fd, struct stat *found) { return fstat64(fd, (struct stat64 *)found); }

int stat64(const char *name, struct stat64 *found) {
    if (!real_stat) begin();
    return as_device(real_stat(name, (struct stat *)found), (struct stat *)found);
}
int stat(const char *name, struct stat *found) { return stat64(name, (struct stat64 *)found); }

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
    if (!real_mmap) begin();
    if (!(flags & MAP_ANONYMOUS) && offset >> SHIFT && is_node(fd))
        return real_mmap(at, length, protection, flags, buffers[offset >> SHIFT].fd, 0);
    return real_mmap(at, length, protection, flags, fd, offset);
}
void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    return mmap64(at, length, protection, flags, fd, offset);
}

/* --- the device */

static int failed(int why) {
    errno = why;
    return -1;
}

static uint32_t keep(int fd) {
    struct stat found;
    if (fd < 0 || real_fstat(fd, &found)) return 0;
    for (uint32_t handle = 1; handle < MOST; handle++)
        if (!buffers[handle].fd) {
            buffers[handle].fd = fd;
            buffers[handle].file = found.st_ino;
            return handle;
        }
    return 0;
}

static uint32_t known(int fd) {
    struct stat found;
    if (real_fstat(fd, &found)) return 0;
    for (uint32_t handle = 1; handle < MOST; handle++)
        if (buffers[handle].fd && buffers[handle].file == found.st_ino) return handle;
    return 0;
}

static int create(uint32_t *height_width_bits, uint64_t *size) {
    uint32_t *words = height_width_bits, pitch = (words[1] * ((words[2] + 7) / 8) + 255) & ~255u;
    int fd = memfd_create("buffer", MFD_CLOEXEC);
    *size = ((uint64_t)pitch * words[0] + 4095) & ~4095ull;
    if (fd < 0 || ftruncate(fd, *size)) return -1;
    words[4] = keep(fd);
    words[5] = pitch;
    return words[4] ? 0 : failed(ENOMEM);
}

static int answer(unsigned long request, uint32_t *words) {
    uint64_t *longs = (uint64_t *)words;
    uint32_t handle = words[0];
    int needs_buffer = request == MAP || request == DESTROY || request == GEM_CLOSE || request == TO_FD;
    if (needs_buffer && (!handle || handle >= MOST || !buffers[handle].fd)) return failed(ENOENT);
    switch (request) {
    case GET_CAP: /* 1: plain buffers, 5: they are shared in both directions, 6: monotonic times */
        longs[1] = longs[0] == 1 || longs[0] == 6 ? 1 : longs[0] == 5 ? 3 : 0;
        return 0;
    case SET_CAP:
        return 0;
    case CREATE:
        return create(words, &longs[3]);
    case MAP:
        longs[1] = (uint64_t)handle << SHIFT;
        return 0;
    case DESTROY:
    case GEM_CLOSE:
        close(buffers[handle].fd);
        buffers[handle].fd = 0;
        return 0;
    case TO_FD:
        words[2] = fcntl(buffers[handle].fd, F_DUPFD_CLOEXEC, 3);
        return (int)words[2] < 0 ? -1 : 0;
    case FROM_FD:
        words[0] = known(words[2]);
        if (!words[0]) words[0] = keep(fcntl(words[2], F_DUPFD_CLOEXEC, 3));
        return words[0] ? 0 : failed(ENOMEM);
    }
    return failed(EINVAL);
}

int ioctl(int fd, unsigned long request, ...) {
    va_list more;
    va_start(more, request);
    void *argument = va_arg(more, void *);
    va_end(more);
    if (!real_ioctl) begin();
    if ((request & 0xffff) == DMA_BUF_SYNC) return 0;
    if ((request & 0xff00) != 0x6400 || !is_node(fd)) return real_ioctl(fd, request, argument);
    pthread_mutex_lock(&lock);
    int result = answer(request & 0xffff, argument);
    pthread_mutex_unlock(&lock);
    return result;
}

/* --- libdrm, https://gitlab.freedesktop.org/mesa/libdrm/-/blob/main/xf86drm.h */

static struct device *made(void) {
    struct device *device = calloc(1, sizeof *device);
    device->nodes = calloc(3, sizeof(char *));
    device->nodes[0] = strdup("");
    device->nodes[1] = strdup("");
    device->nodes[2] = strdup(path);
    device->available = 1 << 2;
    device->kind = 2; /* a platform's device, with a name and a list of names */
    device->bus = calloc(1, 512);
    strcpy(device->bus, "render_node");
    device->about = calloc(1, sizeof(char **));
    *(char ***)device->about = calloc(1, sizeof(char *));
    return device;
}

int drmGetDevices2(uint32_t flags, struct device **found, int most) {
    if (!node.st_ino) return 0;
    if (found && most > 0) found[0] = made();
    return 1;
}
int drmGetDevice2(int fd, uint32_t flags, struct device **found) { return is_node(fd) ? (*found = made(), 0) : -ENODEV; }
int drmGetDeviceFromDevId(dev_t id, uint32_t flags, struct device **found) {
    return id == DEVICE ? (*found = made(), 0) : -ENODEV;
}
int drmDevicesEqual(struct device *one, struct device *other) { return one && other; }

void drmFreeDevice(struct device **device) {
    if (!device || !*device) return;
    for (int i = 0; i < 3; i++) free((*device)->nodes[i]);
    free((*device)->nodes);
    free((*device)->bus);
    free(*(char ***)(*device)->about);
    free((*device)->about);
    free(*device);
    *device = NULL;
}
void drmFreeDevices(struct device **devices, int count) {
    for (int i = 0; i < count; i++) drmFreeDevice(&devices[i]);
}

struct version *drmGetVersion(int fd) {
    if (!is_node(fd)) return NULL;
    struct version *version = calloc(1, sizeof *version);
    version->major = 1;
    version->name = strdup("render_node");
    version->name_length = strlen(version->name);
    version->date = strdup("");
    version->about = strdup("");
    return version;
}

static char *name_of(int fd) { return is_node(fd) ? strdup(path) : NULL; }
char *drmGetRenderDeviceNameFromFd(int fd) { return name_of(fd); }
char *drmGetDeviceNameFromFd2(int fd) { return name_of(fd); }
char *drmGetPrimaryDeviceNameFromFd(int fd) { return NULL; }
int drmGetNodeTypeFromFd(int fd) { return is_node(fd) ? 2 : -1; }
