#include "lane_values.h"
#include "operations.h"

namespace emulator {

namespace {

// A barrier in shared memory, as the emulator keeps it in the 64 bits that a kernel gives it.
struct ArrivalWord {
    std::uint32_t phase : 1;
    std::uint32_t missing : 15, members : 15; // arrivals
    std::uint32_t unused : 1;
    std::int32_t bytes; // that are announced and have not come
};
static_assert(sizeof(ArrivalWord) == 8);

unsigned char *shared_at(Warp &warp, const Instruction &i, std::uint64_t address, std::size_t bytes) {
    unsigned char *at = warp.block->shared_at(static_cast<std::uint32_t>(address), bytes);
    if (at == nullptr || address % bytes != 0) {
        fail(warp, i, "an address that is not one of shared memory, or off its boundary");
    }
    return at;
}

template <class Change>
void change_barrier(unsigned char *at, Change change) {
    ArrivalWord word;
    std::memcpy(&word, at, sizeof(word));
    change(word);
    if (word.missing == 0 && word.bytes == 0) {
        word.phase ^= 1;
        word.missing = word.members;
    }
    std::memcpy(at, &word, sizeof(word));
}

void initialise(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *address = warp.at(i.o[0]), *count = warp.at(i.o[1]);
    each_lane(mask, [&](int l) {
        ArrivalWord word{};
        word.members = word.missing = static_cast<std::uint32_t>(count[l]) & 0x7FFF;
        std::memcpy(shared_at(warp, i, address[l], sizeof(word)), &word, sizeof(word));
    });
}
void invalidate(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *address = warp.at(i.o[0]);
    each_lane(mask, [&](int l) { std::memset(shared_at(warp, i, address[l], 8), 0, 8); });
}
void arrive(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *address = warp.at(i.o[1]);
    each_lane(mask, [&](int l) {
        change_barrier(shared_at(warp, i, address[l], 8), [](ArrivalWord &word) { --word.missing; });
    });
}
void announce(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *address = warp.at(i.o[1]), *bytes = warp.at(i.o[2]);
    each_lane(mask, [&](int l) {
        change_barrier(shared_at(warp, i, address[l], 8), [&](ArrivalWord &word) {
            word.bytes += static_cast<std::int32_t>(bytes[l]);
            --word.missing;
        });
    });
}
void bytes_arrive(unsigned char *barrier, std::size_t bytes) {
    change_barrier(barrier, [&](ArrivalWord &word) { word.bytes -= static_cast<std::int32_t>(bytes); });
}
void test(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *complete = warp.at(i.o[0]);
    const std::uint64_t *address = warp.at(i.o[1]), *parity = warp.at(i.o[2]);
    each_lane(mask, [&](int l) {
        ArrivalWord word;
        std::memcpy(&word, shared_at(warp, i, address[l], 8), sizeof(word));
        complete[l] = word.phase != (parity[l] & 1) ? 1 : 0;
        warp.gives_way = warp.gives_way || complete[l] == 0;
    });
}

void copy_bulk(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *to = warp.at(i.o[0]), *from = warp.at(i.o[1]), *count = warp.at(i.o[2]),
                        *barrier = warp.at(i.o[3]);
    each_lane(mask, [&](int l) {
        const std::size_t bytes = static_cast<std::uint32_t>(count[l]);
        if (bytes % 16 != 0 || to[l] % 16 != 0 || from[l] % 16 != 0) {
            fail(warp, i, "a bulk copy that is not of whole vectors");
        }
        unsigned char *target = warp.block->shared_at(static_cast<std::uint32_t>(to[l]), bytes);
        unsigned char *counter = shared_at(warp, i, barrier[l], 8);
        if (target == nullptr) {
            fail(warp, i, "a bulk copy beyond the block's shared memory");
        }
        const auto *source = reinterpret_cast<const unsigned char *>(from[l]);
        warp.block->grid->underway.emplace_back([=] {
            std::memcpy(target, source, bytes);
            bytes_arrive(counter, bytes);
        });
    });
}

template <class Word, std::size_t Words>
void store_async(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *to = warp.at(i.o[0]), *barrier = warp.at(i.o[1 + Words]);
    each_lane(mask, [&](int l) {
        std::array<Word, Words> values;
        for (std::size_t w = 0; w < Words; ++w) {
            values[w] = static_cast<Word>(warp.at(i.o[1 + w])[l]);
        }
        unsigned char *target = shared_at(warp, i, to[l], sizeof(values));
        unsigned char *counter = shared_at(warp, i, barrier[l], 8);
        warp.block->grid->underway.emplace_back([=] {
            std::memcpy(target, values.data(), sizeof(values));
            bytes_arrive(counter, sizeof(values));
        });
    });
}

// The same address in another block of the cluster.
void map_address(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *from = warp.at(i.o[1]), *rank = warp.at(i.o[2]);
    each_lane(mask, [&](int l) { to[l] = (from[l] & 0xFFFFFF) | rank[l] << 24; });
}
void map_generic(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *from = warp.at(i.o[1]), *rank = warp.at(i.o[2]);
    each_lane(mask, [&](int l) {
        const std::uint32_t own = warp.block->shared_address_of(reinterpret_cast<const void *>(from[l]));
        const auto there = static_cast<std::uint32_t>((own & 0xFFFFFF) | rank[l] << 24);
        to[l] = reinterpret_cast<std::uint64_t>(shared_at(warp, i, there, 1));
    });
}

void arrive_in_cluster(Warp &warp, const Instruction &, LaneMask mask) {
    Block &first = *warp.block->cluster.front();
    each_lane(mask, [&](int l) {
        warp.cluster_phase[static_cast<std::size_t>(l)] = first.cluster_phase;
        ++first.cluster_arrived;
    });
    if (first.cluster_arrived == first.cluster_live) {
        first.cluster_arrived = 0;
        ++first.cluster_phase;
    }
}

void trap(Warp &warp, const Instruction &i, LaneMask) { fail(warp, i, "a trap"); }
void nothing(Warp &, const Instruction &, LaneMask) {}
void sleep(Warp &warp, const Instruction &, LaneMask) { warp.gives_way = true; }

void zero(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    each_lane(mask, [&](int l) { to[l] = 0; });
}

} // namespace

Execute barrier_operation_of(const Opcode &opcode) {
    const std::string_view text = opcode.text, name = opcode.words[0];
    if (name == "griddepcontrol" || name == "fence" || name == "membar" || name == "prefetch") {
        return nothing;
    }
    return text == "mbarrier.init.shared::cta.b64"                       ? initialise
           : text == "mbarrier.inval.shared::cta.b64"                    ? invalidate
           : text == "mbarrier.arrive.shared::cta.b64"                   ? arrive
           : text == "mbarrier.arrive.expect_tx.shared::cta.b64"         ? announce
           : text == "mbarrier.try_wait.parity.shared::cta.b64"          ? test
           : text.starts_with("cp.async.bulk.shared::cluster.global.mb") ? copy_bulk
           : text.starts_with("st.async.weak.shared::cluster.") ? (opcode.has("v2")    ? store_async<std::uint64_t, 2>
                                                                   : opcode.has("b32") ? store_async<std::uint32_t, 1>
                                                                                       : store_async<std::uint64_t, 1>)
           : text == "mapa.shared::cluster.u32"                 ? map_address
           : text == "mapa.u64"                                 ? map_generic
           : text.starts_with("barrier.cluster.arrive.")        ? arrive_in_cluster
           : text.starts_with("barrier.cluster.wait.")          ? nothing
           : text == "bar.arrive"                               ? nothing // others wait for its thread's end
           : name == "trap"                                     ? trap
           : name == "createpolicy"                             ? zero
           : name == "nanosleep"                                ? sleep
                                                                : nullptr;
}

} // namespace emulator
