/*
 * For a library whose process has another NCCL loaded, as PyTorch's: where it opens NCCL it gets the stand-in. Linked
 * with --wrap=dlopen.
 */
#include <stddef.h>
#include <string.h>

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags) {
    return __real_dlopen(name != NULL && strcmp(name, "libnccl.so.2") == 0 ? WR_STAND_IN_NCCL : name, flags);
}
