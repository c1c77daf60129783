#include "array_ends.h"
#include "lane_values.h"
#include "operations.h"

#include <algorithm>

namespace emulator {

namespace {

// Addresses from begin up to end.
struct Addresses {
    std::uint64_t begin, end;
};
std::array<Addresses, 2> beside_array;

inline bool is_beside_array(std::uint64_t address, std::size_t bytes) {
    return (address < beside_array[0].end && address + bytes > beside_array[0].begin) ||
           (address < beside_array[1].end && address + bytes > beside_array[1].begin);
}

// Where a lane's address points, once it is known to be right. `bytes` is a power of two.
[[gnu::always_inline]] inline unsigned char *address_of(Warp &warp, const Instruction &i, int lane,
                                                        const std::uint64_t *base, std::size_t bytes) {
    const std::uint64_t address = base[lane] + static_cast<std::uint64_t>(i.offset);
    if ((address & (bytes - 1)) != 0) {
        fail(warp, i, "an address that is no multiple of what it accesses");
    }
    if (i.in_shared) {
        unsigned char *at = warp.block->shared_at(static_cast<std::uint32_t>(address), bytes);
        if (at == nullptr) {
            fail(warp, i, "beyond the block's shared memory");
        }
        return at;
    }
    if (is_beside_array(address, bytes)) {
        fail(warp, i, "an access that reaches beyond an array");
    }
    return reinterpret_cast<unsigned char *>(address);
}

template <class T>
std::uint64_t extended(T value) {
    if constexpr (std::is_signed_v<T>) {
        return static_cast<std::uint64_t>(std::int64_t{value});
    } else {
        return value;
    }
}

// o[0] is the address, the registers follow.
template <class T>
void load(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *base = warp.at(i.o[0]);
    std::array<std::uint64_t *, 4> to;
    for (std::size_t p = 0; p < i.parts; ++p) {
        to[p] = warp.at(i.o[1 + p]);
    }
    std::array<T, 4> values;
    const auto read = [&](int l) {
        std::memcpy(values.data(), address_of(warp, i, l, base, sizeof(T) * i.parts), sizeof(T) * i.parts);
    };
    const auto put = [&](int l) {
        for (std::size_t p = 0; p < i.parts; ++p) {
            to[p][l] = extended(values[p]);
        }
    };
    if (i.is_uniform) {
        read(__builtin_ctz(mask));
        each_lane(mask, put);
        return;
    }
    each_lane(mask, [&](int l) {
        read(l);
        put(l);
    });
}
template <class T>
void store(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *base = warp.at(i.o[0]);
    each_lane(mask, [&](int l) {
        std::array<T, 4> values;
        for (std::size_t p = 0; p < i.parts; ++p) {
            values[p] = value_of<T>(warp.at(i.o[1 + p])[l]);
        }
        std::memcpy(address_of(warp, i, l, base, sizeof(T) * i.parts), values.data(), sizeof(T) * i.parts);
    });
}
template <class T>
struct Load {
    static constexpr Execute execute = load<T>;
};
template <class T>
struct Store {
    static constexpr Execute execute = store<T>;
};

// Floats are moved as the words that they are: a NaN keeps its bits.
std::string_view word_type(std::string_view type) {
    return type == "f32" ? "b32" : type == "f64" ? "b64" : type == "b8" ? "u8" : type;
}

// o[0] is the address, then the old value, if it is wanted, and the operand.
template <class T, auto combine>
void update(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *base = warp.at(i.o[0]), *operand = warp.at(i.o[2]);
    std::uint64_t *old = warp.at(i.o[1]);
    each_lane(mask, [&](int l) {
        unsigned char *at = address_of(warp, i, l, base, sizeof(T));
        T value;
        std::memcpy(&value, at, sizeof(T));
        const T result = combine(value, value_of<T>(operand[l]));
        old[l] = word_of(value);
        std::memcpy(at, &result, sizeof(T));
    });
}
// The same with one operand more, which takes the place of a value that is the other.
template <class T>
void exchange_if_same(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *base = warp.at(i.o[0]), *expected = warp.at(i.o[2]), *wanted = warp.at(i.o[3]);
    std::uint64_t *old = warp.at(i.o[1]);
    each_lane(mask, [&](int l) {
        unsigned char *at = address_of(warp, i, l, base, sizeof(T));
        T value;
        std::memcpy(&value, at, sizeof(T));
        const T result = value == value_of<T>(expected[l]) ? value_of<T>(wanted[l]) : value;
        old[l] = word_of(value);
        std::memcpy(at, &result, sizeof(T));
    });
}
template <class T>
Execute update_of(const Opcode &opcode) {
    return opcode.has("cas")   ? exchange_if_same<T>
           : opcode.has("add") ? update<T, [](T a, T b) { return static_cast<T>(std::uint64_t(a) + std::uint64_t(b)); }>
           : opcode.has("max") ? update<T, [](T a, T b) { return std::max(a, b); }>
           : opcode.has("min") ? update<T, [](T a, T b) { return std::min(a, b); }>
           : opcode.has("or")  ? update<T, [](T a, T b) { return static_cast<T>(a | b); }>
           : opcode.has("and") ? update<T, [](T a, T b) { return static_cast<T>(a & b); }>
           : opcode.has("xor") ? update<T, [](T a, T b) { return static_cast<T>(a ^ b); }>
           : opcode.has("exch") ? update<T, [](T, T b) { return b; }>
           : opcode.has("inc")  ? update<T, [](T a, T b) { return a >= b ? T(0) : static_cast<T>(a + 1); }>
                                : nullptr;
}
Execute atomic_of(const Opcode &opcode) {
    const std::string_view type = opcode.last();
    return type == "u32" || type == "b32"   ? update_of<std::uint32_t>(opcode)
           : type == "s32"                  ? update_of<std::int32_t>(opcode)
           : type == "u64" || type == "b64" ? update_of<std::uint64_t>(opcode)
           : type == "s64"                  ? update_of<std::int64_t>(opcode)
                                            : nullptr;
}

void copy_async(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *to = warp.at(i.o[0]), *from = warp.at(i.o[1]), *count = warp.at(i.o[2]);
    std::mt19937_64 &random = warp.block->grid->random;
    each_lane(mask, [&](int l) {
        const std::size_t bytes = count[l];
        const std::uint64_t source = from[l];
        if (to[l] % bytes != 0 || source % bytes != 0) {
            fail(warp, i, "a copy off its boundaries");
        }
        if (is_beside_array(source, bytes)) {
            fail(warp, i, "a copy that reaches beyond an array");
        }
        unsigned char *target = warp.block->shared_at(static_cast<std::uint32_t>(to[l]), bytes);
        if (target == nullptr) {
            fail(warp, i, "a copy beyond the block's shared memory");
        }
        const auto *data = reinterpret_cast<const unsigned char *>(source);
        // It may arrive at once, or as late as it can.
        if (random() % 2 == 0) {
            std::memcpy(target, data, bytes);
        } else {
            warp.copies.push_back({l, warp.copy_group[static_cast<std::size_t>(l)], target, data, bytes});
        }
    });
}

void finish_copies(Warp &warp, LaneMask mask, unsigned groups_left) {
    std::erase_if(warp.copies, [&](const PendingCopy &copy) {
        const unsigned committed = warp.copy_group[static_cast<std::size_t>(copy.lane)];
        const bool awaited = (mask >> copy.lane & 1u) != 0 && copy.group + groups_left < committed;
        if (awaited) {
            std::memcpy(copy.to, copy.from, copy.bytes);
        }
        return awaited;
    });
}
void commit_copies(Warp &warp, const Instruction &, LaneMask mask) {
    each_lane(mask, [&](int l) { ++warp.copy_group[static_cast<std::size_t>(l)]; });
}
void await_group(Warp &warp, const Instruction &i, LaneMask mask) {
    finish_copies(warp, mask, static_cast<unsigned>(warp.at(i.o[0])[__builtin_ctz(mask)]));
}
void await_all(Warp &warp, const Instruction &i, LaneMask mask) {
    commit_copies(warp, i, mask);
    finish_copies(warp, mask, 0);
}

void shared_to_generic(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *from = warp.at(i.o[1]);
    each_lane(mask, [&](int l) {
        unsigned char *at = warp.block->shared_at(static_cast<std::uint32_t>(from[l]), 0);
        to[l] = at == nullptr ? 0 : reinterpret_cast<std::uint64_t>(at);
    });
}
void generic_to_shared(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *from = warp.at(i.o[1]);
    each_lane(mask, [&](int l) { to[l] = warp.block->shared_address_of(reinterpret_cast<const void *>(from[l])); });
}
void same_address(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *from = warp.at(i.o[1]);
    each_lane(mask, [&](int l) { to[l] = from[l]; });
}

} // namespace

Execute memory_access_of(const Opcode &opcode) {
    const std::string_view name = opcode.words[0], type = word_type(opcode.last());
    return name == "ld"                                           ? of_integer<Load>(type)
           : name == "st" && !opcode.has("async")                 ? of_integer<Store>(type)
           : name == "atom" || name == "red"                      ? atomic_of(opcode)
           : opcode.text.starts_with("cp.async.cg.shared.global") ? copy_async
           : opcode.text == "cp.async.commit_group"               ? commit_copies
           : opcode.text == "cp.async.wait_group"                 ? await_group
           : opcode.text == "cp.async.wait_all"                   ? await_all
           : opcode.text == "cvta.shared.u64"                     ? shared_to_generic
           : opcode.text == "cvta.to.shared.u64"                  ? generic_to_shared
           : name == "cvta"                                       ? same_address
                                                                  : nullptr;
}

void guard_ends(const void *array, std::size_t bytes) {
    constexpr std::uint64_t vector_bytes = 16;
    const auto begin = reinterpret_cast<std::uint64_t>(array), end = begin + bytes;
    beside_array[0] = {begin - begin % vector_bytes, begin};
    beside_array[1] = {end, end + (vector_bytes - end % vector_bytes) % vector_bytes};
    if (bytes == 0) {
        beside_array = {};
    }
}

} // namespace emulator
