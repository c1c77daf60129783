#include "host/host.h"
#include "warp_reduce.h"

wr_status wr_set_host_threads(size_t most, size_t *before) {
    const std::size_t was_set = wr::host::set_most_threads(most);
    if (before != nullptr) {
        *before = was_set;
    }
    return WR_SUCCESS;
}

size_t wr_host_threads(void) { return wr::host::most_threads(); }
