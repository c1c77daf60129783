// The public header's numbers and the library's own are the same, so that one is cast to the other.
#include "numerics/element_types.h"
#include "numerics/operators.h"
#include "numerics/status.h"
#include "numerics/tiles.h"
#include "warp_reduce.h"

namespace wr {

#define WR_SAME(theirs, ours) static_assert(static_cast<std::int32_t>(theirs) == static_cast<std::int32_t>(ours))

WR_SAME(WR_SUCCESS, Status::success);
WR_SAME(WR_ERROR_NULL_POINTER, Status::null_pointer);
WR_SAME(WR_ERROR_INVALID_OP, Status::invalid_op);
WR_SAME(WR_ERROR_INVALID_DTYPE, Status::invalid_dtype);
WR_SAME(WR_ERROR_INVALID_OPTION, Status::invalid_option);
WR_SAME(WR_ERROR_UNSUPPORTED, Status::unsupported);
WR_SAME(WR_ERROR_SIZE_OVERFLOW, Status::size_overflow);
WR_SAME(WR_ERROR_MISALIGNED, Status::misaligned);
WR_SAME(WR_ERROR_OVERLAP, Status::overlap);
WR_SAME(WR_ERROR_WORKSPACE_TOO_SMALL, Status::workspace_too_small);
WR_SAME(WR_ERROR_STRUCT_SIZE, Status::struct_size);
WR_SAME(WR_ERROR_OUT_OF_MEMORY, Status::out_of_memory);
WR_SAME(WR_ERROR_NO_DRIVER, Status::no_driver);
WR_SAME(WR_ERROR_NO_DEVICE, Status::no_device);
WR_SAME(WR_ERROR_NO_KERNEL, Status::no_kernel);
WR_SAME(WR_ERROR_NO_CUDA, Status::no_cuda);
WR_SAME(WR_ERROR_INTERNAL, Status::internal);
WR_SAME(WR_ERROR_INVALID_OFFSETS, Status::invalid_offsets);
WR_SAME(WR_ERROR_INVALID_STATE, Status::invalid_state);
WR_SAME(WR_ERROR_STATE_MISMATCH, Status::state_mismatch);
WR_SAME(WR_ERROR_NOT_NEIGHBOUR, Status::not_neighbour);
WR_SAME(WR_ERROR_NO_NCCL, Status::no_nccl);
WR_SAME(WR_ERROR_NCCL_FAILED, Status::nccl_failed);

WR_SAME(WR_F32, ElementType::f32);
WR_SAME(WR_F64, ElementType::f64);
WR_SAME(WR_F16, ElementType::f16);
WR_SAME(WR_BF16, ElementType::bf16);
WR_SAME(WR_F8_E4M3, ElementType::f8_e4m3);
WR_SAME(WR_F8_E5M2, ElementType::f8_e5m2);
WR_SAME(WR_I8, ElementType::i8);
WR_SAME(WR_I16, ElementType::i16);
WR_SAME(WR_I32, ElementType::i32);
WR_SAME(WR_I64, ElementType::i64);
WR_SAME(WR_U8, ElementType::u8);
WR_SAME(WR_U16, ElementType::u16);
WR_SAME(WR_U32, ElementType::u32);
WR_SAME(WR_U64, ElementType::u64);
WR_SAME(WR_KOALABEAR, ElementType::koalabear);
WR_SAME(WR_BABYBEAR, ElementType::babybear);
WR_SAME(WR_MERSENNE31, ElementType::mersenne31);
WR_SAME(WR_GOLDILOCKS, ElementType::goldilocks);
WR_SAME(WR_KOALABEAR_X4, ElementType::koalabear_x4);
WR_SAME(WR_BABYBEAR_X4, ElementType::babybear_x4);

WR_SAME(WR_SUM, Operator::sum);
WR_SAME(WR_PRODUCT, Operator::product);
WR_SAME(WR_MIN, Operator::min);
WR_SAME(WR_MAX, Operator::max);
WR_SAME(WR_ARGMIN, Operator::argmin);
WR_SAME(WR_ARGMAX, Operator::argmax);
WR_SAME(WR_MEAN, Operator::mean);
WR_SAME(WR_SUM_OF_SQUARES, Operator::sum_of_squares);
WR_SAME(WR_NORM_L1, Operator::norm_l1);
WR_SAME(WR_NORM_L2, Operator::norm_l2);
WR_SAME(WR_NORM_MAX, Operator::norm_max);
WR_SAME(WR_ANY, Operator::any);
WR_SAME(WR_ALL, Operator::all);
WR_SAME(WR_COUNT_NONZERO, Operator::count_nonzero);
WR_SAME(WR_BIT_AND, Operator::bit_and);
WR_SAME(WR_BIT_OR, Operator::bit_or);
WR_SAME(WR_BIT_XOR, Operator::bit_xor);
WR_SAME(WR_LOGSUMEXP, Operator::logsumexp);
WR_SAME(WR_SUM_EXACT, Operator::sum_exact);
WR_SAME(WR_DOT_EXACT, Operator::dot_exact);

WR_SAME(WR_SHUFFLE_UP, Shuffle::up);
WR_SAME(WR_SHUFFLE_DOWN, Shuffle::down);
WR_SAME(WR_SHUFFLE_XOR, Shuffle::exclusive_or);
WR_SAME(WR_SHUFFLE_INDEX, Shuffle::index);

WR_SAME(WR_VOTE_ANY, Vote::any);
WR_SAME(WR_VOTE_ALL, Vote::all);
WR_SAME(WR_VOTE_BALLOT, Vote::ballot);

WR_SAME(WR_MATCH_ANY, Match::any);
WR_SAME(WR_MATCH_ALL, Match::all);

#undef WR_SAME

} // namespace wr
