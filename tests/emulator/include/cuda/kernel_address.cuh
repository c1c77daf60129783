// In the emulator's place of a kernel's address: the kernel, and how to call it with arguments of its own type.
#pragma once

#include "emulator.h"

namespace wr::cuda {

template <class Arguments>
const void *address_of(void (*kernel)(Arguments)) {
    const auto *address = reinterpret_cast<const void *>(kernel);
    emulator::learn(address, [](const void *known, const void *arguments) {
        reinterpret_cast<void (*)(Arguments)>(const_cast<void *>(known))(*static_cast<const Arguments *>(arguments));
    });
    return address;
}

} // namespace wr::cuda
