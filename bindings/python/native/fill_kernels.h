/* made[i] = where[i] ? x[i] : other, for words of 1, 2, 4 and 8 bytes: fill1, fill2, fill4, fill8. In PTX, which every
 * driver translates for its GPU, so that a build needs no CUDA; a test runs them where there is no GPU. Threads go on
 * by the grid's size. */
#pragma once

#define FILL_KERNEL(size, word)                                                                                        \
    ".visible .entry fill" size "(.param .u64 x, .param .u64 where, .param .u64 made, .param .u64 other,\n"            \
    ".param .u64 count) {\n"                                                                                           \
    ".reg .u64 %x, %where, %made, %other, %count, %i, %step, %at, %value;\n"                                           \
    ".reg .u32 %block, %width, %lane, %grid;\n"                                                                        \
    ".reg .u16 %chosen;\n"                                                                                             \
    ".reg .pred %p;\n"                                                                                                 \
    "ld.param.u64 %x, [x];\n"                                                                                          \
    "ld.param.u64 %where, [where];\n"                                                                                  \
    "ld.param.u64 %made, [made];\n"                                                                                    \
    "ld.param.u64 %other, [other];\n"                                                                                  \
    "ld.param.u64 %count, [count];\n"                                                                                  \
    "mov.u32 %block, %ctaid.x;\n"                                                                                      \
    "mov.u32 %grid, %nctaid.x;\n"                                                                                      \
    "mov.u32 %width, %ntid.x;\n"                                                                                       \
    "mov.u32 %lane, %tid.x;\n"                                                                                         \
    "mul.wide.u32 %i, %block, %width;\n"                                                                               \
    "cvt.u64.u32 %at, %lane;\n"                                                                                        \
    "add.u64 %i, %i, %at;\n"                                                                                           \
    "mul.wide.u32 %step, %grid, %width;\n"                                                                             \
    "next:\n"                                                                                                          \
    "setp.ge.u64 %p, %i, %count;\n"                                                                                    \
    "@%p bra done;\n"                                                                                                  \
    "add.u64 %at, %where, %i;\n"                                                                                       \
    "ld.global.u8 %chosen, [%at];\n"                                                                                   \
    "mad.lo.u64 %at, %i, " size ", %x;\n"                                                                              \
    "ld.global." word " %value, [%at];\n"                                                                              \
    "setp.eq.u16 %p, %chosen, 0;\n"                                                                                    \
    "selp.u64 %value, %other, %value, %p;\n"                                                                           \
    "mad.lo.u64 %at, %i, " size ", %made;\n"                                                                           \
    "st.global." word " [%at], %value;\n"                                                                              \
    "add.u64 %i, %i, %step;\n"                                                                                         \
    "bra next;\n"                                                                                                      \
    "done:\n"                                                                                                          \
    "ret;\n"                                                                                                           \
    "}\n"

#define FILL_KERNELS                                                                                                   \
    ".version 7.0\n.target sm_70\n.address_size 64\n" FILL_KERNEL("1", "u8") FILL_KERNEL("2", "u16")                   \
        FILL_KERNEL("4", "u32") FILL_KERNEL("8", "u64")
