/* What is wrong with a call, and what must come of it: bad_arguments.h says how it is written. */
#include "arguments/bad_arguments.h"

#define REDUCES (REDUCE | REDUCE_SHORT)
#define DOTS (DOT | DOT_SHORT)
#define SEGMENTED (SEGMENTS | SEGMENTS_SHORT)
#define SOFTMAX_SHORTS (SOFTMAX_SHORT | LOG_SOFTMAX_SHORT)
#define SOFTMAXES (SOFTMAX | SOFTMAX_SHORTS)
#define GRADIENT_SHORTS (GRADIENT_SHORT | LOG_GRADIENT_SHORT)
#define GRADIENTS (GRADIENT | GRADIENT_SHORTS)
#define OPTIONS (SOFTMAX | GRADIENT)
#define STATES (STATE | MERGE | FINISH)
#define BY_STATES (SOFTMAX_STATE | SOFTMAX_OUTPUTS)
#define TILES (TILE_REDUCE | TILE_SHUFFLE | TILE_VOTE | TILE_MATCH)
#define HAVE_DTYPE (REDUCES | DOTS | SEGMENTED | SOFTMAXES | GRADIENTS)

#define RAGGED "outer=2 axis=12 offsets=@w logsumexp=0 "
#define NOTHING_RAGGED "outer=2 axis=0 offsets=@w logsumexp=0 "
#define LOGITS "output=0 input=@i logsumexp=@w "
#define STRIDES "strides_given=1 outer_stride=0 axis_stride=0 inner_stride=0 "
#define BOTH_STRIDES                                                                                                   \
    "inner=2 strides_given=1 outer_stride=8 axis_stride=2 inner_stride=1 gradient_outer_stride=8 "                     \
    "gradient_axis_stride=2 gradient_inner_stride=1 "
#define NOT_CONTIGUOUS                                                                                                 \
    "outer_stride=8 axis_stride=1 inner_stride=4 | outer_stride=16 axis_stride=4 inner_stride=2 | outer_stride=9"
#define NO_FLOATS "i8,i16,i32,i64,u8,u16,u32,u64,koalabear,babybear,mersenne31,goldilocks,koalabear_x4,babybear_x4"

const bad_call bad_calls[] = {
    /* What is right; queries follow no pointer. */
    {REDUCE | DOT | SEGMENTS | SOFTMAX | GRADIENT | STATE | SOFTMAX_STATE, FINE, WR_SUCCESS, ""},
    {REDUCE | DOT | SEGMENTS | SOFTMAX | GRADIENT | STATE, ASKED, WR_SUCCESS, ""},
    {REDUCE | DOT | SEGMENTS | SOFTMAX | GRADIENT | STATES, SIZED, WR_SUCCESS, ""},
    {REDUCE | SEGMENTS | SOFTMAX, ASKED, WR_SUCCESS, "input=0 output=0 | input=@1 output=@1"},
    {SEGMENTS, ASKED, WR_SUCCESS, "input=0 output=0 offsets=0 | input=@1 output=@1 offsets=@1"},
    {DOT, ASKED, WR_SUCCESS, "left=0 right=0 output=0 | left=@1 right=@1 output=@1"},
    {SOFTMAX, ASKED, WR_SUCCESS, "input=0 output=0 logsumexp=0 | input=@1 output=@1 logsumexp=@1"},
    {GRADIENT, ASKED, WR_SUCCESS,
     "output=0 output_gradient=0 input_gradient=0 | output=@1 output_gradient=@1 input_gradient=@1"},
    {STATE, ASKED, WR_SUCCESS, "input=0 state=0 check=0 workspace=0 | input=@1 state=@1 check=@1 workspace=@1"},

    /* ---- values that no enumeration and no flag has */
    {REDUCES | SEGMENTED | TILE_REDUCE, QUERY, WR_ERROR_INVALID_OP, "op=0,21,999,-1,-2^31,2^31-1"},
    {DOT, QUERY, WR_ERROR_INVALID_OP, "op=21,-1"},
    {STATES, QUERY, WR_ERROR_INVALID_OP, "op=0,999"},
    {HAVE_DTYPE, QUERY, WR_ERROR_INVALID_DTYPE, "dtype=0,21,999,-1,2^31-1"},
    {STATE | MERGE | BY_STATES, QUERY, WR_ERROR_INVALID_DTYPE, "dtype=0"},
    {TILE_REDUCE | TILE_SHUFFLE | TILE_MATCH, CALL, WR_ERROR_INVALID_DTYPE, "dtype=0,21,999,-1,-2^31,2^31-1"},
    {REDUCE | DOT | SEGMENTS | SOFTMAX, QUERY, WR_ERROR_INVALID_DTYPE, "output_dtype=21,999,-1,2^31-1"},
    {REDUCE | DOT | SEGMENTS, QUERY, WR_ERROR_INVALID_DTYPE, "accumulate_dtype=21,999,-1,2^31-1"},
    {DOT, QUERY, WR_ERROR_INVALID_DTYPE, "right_dtype=21,999,-1,2^31-1"},
    {SEGMENTS, QUERY, WR_ERROR_INVALID_DTYPE, "offsets_dtype=21,999,-1,2^31-1"},
    {REDUCE, QUERY, WR_ERROR_INVALID_DTYPE, "dtype=f32 weights=@x weights_dtype=21,999,-1,2^31-1"},
    {GRADIENT, QUERY, WR_ERROR_INVALID_DTYPE, "output_gradient_dtype=21,999,-1,2^31-1"},
    {GRADIENT, QUERY, WR_ERROR_INVALID_DTYPE, "input_gradient_dtype=21,999,-1,2^31-1"},
    {STATE, QUERY, WR_ERROR_INVALID_DTYPE, "output_dtype=99 | accumulate_dtype=99 | weights_dtype=99"},
    {REDUCE, QUERY, WR_ERROR_INVALID_OPTION, "nan_mode=2,77,-1,2^31-1 | add_to_output=2,-1,2^31-1,-2^31"},
    {SEGMENTS, QUERY, WR_ERROR_INVALID_OPTION, "nan_mode=2 | add_to_output=2"},
    {DOT, QUERY, WR_ERROR_INVALID_OPTION, "add_to_output=2"},
    {OPTIONS, QUERY, WR_ERROR_INVALID_OPTION,
     "log=2,-1,1000000 | empty_row=2,-1,1000000 | causal=2,-1,1000000 | scale=inf,-inf,nan"},
    {GRADIENT, QUERY, WR_ERROR_INVALID_OPTION, "add_to_input_gradient=2,-1,1000000"},
    {STATE, QUERY, WR_ERROR_INVALID_OPTION, "nan_mode=2 | scale=1"},
    {BY_STATES, CALL, WR_ERROR_INVALID_OPTION, "log=2 | empty_row=2 | scale=inf | causal=1 | causal_rows=1"},
    {TILE_SHUFFLE, CALL, WR_ERROR_INVALID_OPTION, "op=0,5,999,-1,-2^31,2^31-1"},
    {TILE_VOTE, CALL, WR_ERROR_INVALID_OPTION, "op=0,4,999,-1,-2^31,2^31-1"},
    {TILE_MATCH, CALL, WR_ERROR_INVALID_OPTION, "op=0,3,999,-1,-2^31,2^31-1"},
    {TILES, CALL, WR_ERROR_INVALID_OPTION,
     "members=0 operand=0 count=0,100 width=0,1,3,5,6,7,9,12,24,31,33,64,2^31,2^32-1"},
    {TILE_SHUFFLE, CALL, WR_ERROR_INVALID_OPTION, /* XOR beyond the width */
     "op=3 : width=2 operand=2,3,-1 | width=4 operand=4,5,-1 | width=8 operand=8,9,-1 | width=16 operand=16,17,-1 | "
     "width=32 operand=32,33,-1"},
    {TILE_SHUFFLE, FINE, WR_SUCCESS,
     "op=3 : width=2 operand=1 | width=4 operand=3 | width=8 operand=7 | width=16 operand=15 | width=32 operand=31"},
    {TILE_VOTE | TILE_MATCH, CALL, WR_ERROR_INVALID_OPTION,
     "width=2 members=2^2,2^31,-1 | width=4 members=2^4,2^31,-1 | width=8 members=2^8,2^31,-1 | "
     "width=16 members=2^16,2^31,-1"},

    /* ---- what does not go together */
    {REDUCE | SOFTMAX | GRADIENT | STATE, QUERY, WR_ERROR_INVALID_OPTION, "strides_given=2,-1"},
    {REDUCE | SOFTMAX, QUERY, WR_ERROR_INVALID_OPTION, "outer_stride=1 | axis_stride=-1,2 | inner_stride=1"},
    {GRADIENT, QUERY, WR_ERROR_INVALID_OPTION, "inner_stride=1 | gradient_inner_stride=1"},
    {STATE, QUERY, WR_ERROR_INVALID_OPTION, "inner_stride=1"},
    {MERGE, QUERY, WR_ERROR_INVALID_OPTION, "outer_stride=1"},
    {BY_STATES, CALL, WR_ERROR_INVALID_OPTION, "axis_stride=1"},
    {SOFTMAX, QUERY, WR_ERROR_INVALID_OPTION, "causal_first=1 | causal_rows=3 | scales=@w scale=1"},
    {GRADIENT, QUERY, WR_ERROR_INVALID_OPTION, "causal_rows=2 | scales=@i scale=1"},
    {REDUCE, QUERY, WR_ERROR_UNSUPPORTED,
     "weights=@x : nan_mode=1 | op=dot_exact | op=sum_exact nan_mode=1 | "
     "dtype=koalabear weights_dtype=koalabear_x4 output_dtype=koalabear"},
    {REDUCE, QUERY, WR_ERROR_UNSUPPORTED, "op=logsumexp nan_mode=1"},
    {REDUCE, QUERY, WR_ERROR_UNSUPPORTED, "op=argmax values=@x output_dtype=i32 dtype=i8 outer=1 axis=2^31,2^40"},
    {REDUCE, ASKED, WR_SUCCESS, "op=argmax values=@x output_dtype=i32 dtype=i8 outer=1 axis=2^31-1"},
    {REDUCE, QUERY, WR_ERROR_UNSUPPORTED, /* the type in which a result is kept */
     "dtype=f64 accumulate_dtype=f32 | op=sum_exact accumulate_dtype=f64 | accumulate_dtype=f16,i64 | "
     "op=mean dtype=bf16 accumulate_dtype=bf16 | dtype=i32 accumulate_dtype=f64,i64 | "
     "dtype=koalabear accumulate_dtype=f64 | op=min,argmin,count_nonzero accumulate_dtype=f32 | "
     "op=max accumulate_dtype=f64 | op=norm_l2 dtype=i32 output_dtype=f32 accumulate_dtype=f64"},
    {DOT, QUERY, WR_ERROR_UNSUPPORTED,
     "accumulate_dtype=i32 | dtype=f64 accumulate_dtype=f32 | dtype=i32 accumulate_dtype=f64 | op=dot_exact dtype=i32 "
     "| "
     "op=dot_exact accumulate_dtype=f64 | op=dot_exact add_to_output=1"},
    {SEGMENTS, QUERY, WR_ERROR_UNSUPPORTED, "add_to_output=1 op=mean | accumulate_dtype=f16 | values=@w"},
    {SOFTMAXES | GRADIENTS, QUERY, WR_ERROR_UNSUPPORTED, "dtype=" NO_FLOATS},
    {SOFTMAX, QUERY, WR_ERROR_UNSUPPORTED, "output_dtype=" NO_FLOATS},
    {SOFTMAX, QUERY, WR_ERROR_UNSUPPORTED, RAGGED ": inner=2 | strides_given=1 axis_stride=1 | causal=1"},
    {GRADIENT, QUERY, WR_ERROR_UNSUPPORTED,
     "input_gradient_dtype=i32 | output_gradient_dtype=f64 | dtype=f64 output_gradient_dtype=f32 | input=@i | "
     "logsumexp=@w | offsets=@w strides_given=1 gradient_axis_stride=1"},
    {STATE, QUERY, WR_ERROR_UNSUPPORTED, "op=bit_xor,dot_exact"},
    {FINISH, QUERY, WR_ERROR_UNSUPPORTED, "op=bit_and"},
    {FINISH, CALL, WR_ERROR_UNSUPPORTED, "values=@w"},
    {FINISH, CALL, WR_ERROR_NOT_NEIGHBOUR, "first=1"},
    {BY_STATES, CALL, WR_ERROR_UNSUPPORTED, "dtype=i32 | offsets=@i+2048 | scales=@i+2048"},
    {BY_STATES, CALL, WR_ERROR_STRUCT_SIZE, "struct_size=8"},
    {SOFTMAX_OUTPUTS, CALL, WR_ERROR_NOT_NEIGHBOUR, "count=15"},
    {TILE_REDUCE, CALL, WR_ERROR_UNSUPPORTED, /* operators that mean nothing for the type, or in a tile */
     "op=bit_and dtype=f32 | op=bit_xor dtype=f16 | op=min dtype=koalabear | op=argmax dtype=goldilocks | "
     "op=mean dtype=i32,u8,babybear | op=logsumexp dtype=i64 | op=sum_exact dtype=i32,f32 | op=dot_exact dtype=f32"},

    /* ---- sizes */
    {REDUCES | SOFTMAXES, QUERY, WR_ERROR_SIZE_OVERFLOW,
     "outer=2^40 axis=2^40 | dtype=bf16 outer=1 axis=2^40 inner=2^40 | outer=2^32 axis=2^32 | outer=1 axis=-1 | "
     "outer=1 axis=2^61 | dtype=f64 outer=1 axis=2^60"},
    {REDUCES, QUERY, WR_ERROR_SIZE_OVERFLOW,
     "dtype=i64 outer=2^40 axis=1 inner=2^40 | dtype=f16 outer=2^32 axis=16 inner=2^32 | dtype=f64 outer=-1 axis=1 | "
     "dtype=f16 outer=1 axis=2^62 | outer=2^61 axis=0"},
    {SOFTMAX, QUERY, WR_ERROR_SIZE_OVERFLOW, "dtype=bf16 outer=1 axis=2^61 output_dtype=f32 | " RAGGED "outer=-1"},
    {REDUCE | SOFTMAX, QUERY, WR_ERROR_SIZE_OVERFLOW, /* the largest strides and the smallest */
     "outer=2 axis=3 inner=2 " STRIDES ": outer_stride=2^63-1 | axis_stride=-2^63 | inner_stride=-2^63"},
    {REDUCE, QUERY, WR_ERROR_SIZE_OVERFLOW,
     "outer=2 axis=3 inner=2 " STRIDES ": outer_stride=-2^63 | axis_stride=2^63-1 | axis_stride=2^60 | "
     "outer_stride=2^60 axis_stride=2^59,-2^59"},
    {DOT_SHORT, CALL, WR_ERROR_SIZE_OVERFLOW, "count=-1 | dtype=f64 count=2^60"},
    {SEGMENTS, QUERY, WR_ERROR_SIZE_OVERFLOW, "segments=-1,2^61 | input_count=2^63-1"},
    {GRADIENT_SHORTS, CALL, WR_ERROR_SIZE_OVERFLOW, "outer=2^40 axis=2^40"},
    {STATE, QUERY, WR_ERROR_SIZE_OVERFLOW, "first=-2^63,2^63-1 | outer=2^31 inner=2^31"},
    {MERGE, QUERY, WR_ERROR_SIZE_OVERFLOW, "first=-2^63"},
    {MERGE, CALL, WR_ERROR_SIZE_OVERFLOW, "right_count=2^63-1"},
    {FINISH, QUERY, WR_ERROR_SIZE_OVERFLOW, "count=-2^63"},
    {BY_STATES, CALL, WR_ERROR_SIZE_OVERFLOW, "first=-2^63 | outer=2^62"},
    {SOFTMAX_OUTPUTS, CALL, WR_ERROR_SIZE_OVERFLOW, "count=-2^63"},
    {STATE, CALL, WR_ERROR_INVALID_STATE, "state_bytes=128+72-1,0"},
    {STATE, FINE, WR_SUCCESS, "state_bytes=128+72 | check=0 | count=0 input=0"},
    {MERGE, CALL, WR_ERROR_INVALID_STATE, "state_bytes=128+72-1 | right_bytes=0 | merged_bytes=128"},
    {FINISH, CALL, WR_ERROR_INVALID_STATE, "state_bytes=128"},
    {SOFTMAX_STATE, CALL, WR_ERROR_INVALID_STATE, "state_bytes=128+88-1"},
    {SOFTMAX_STATE, FINE, WR_SUCCESS, "state_bytes=128+88"},
    {TILES, CALL, WR_ERROR_SIZE_OVERFLOW, "count=-1,2^62,2^61 | input=-8"},
    {TILES, FINE, WR_SUCCESS, "count=0 input=0 output=0 | count=0 input=@1 output=@1"},

    {REDUCE, QUERY, WR_ERROR_SIZE_OVERFLOW, /* 2^63 bytes: of outputs, inputs, indices, values */
     "op=any dtype=f64 outer=2^63 axis=0 | dtype=f64 outer=2^60 axis=0 | op=any dtype=f64 outer=2^60 axis=1 | "
     "op=max dtype=u8 outer=2 axis=2^62 | op=argmax dtype=u8 outer=2^60 axis=1 | "
     "op=argmax dtype=f64 outer=2^60 axis=0 output_dtype=i32 values=@x"},
    {REDUCE, ASKED, WR_SUCCESS, /* less than that */
     "op=any dtype=f64 outer=2^61,2^63-1 axis=0 | dtype=f64 outer=2^60-1 axis=0 | op=any dtype=f64 outer=2^60-1 axis=1 "
     "| "
     "op=max dtype=u8 outer=1 axis=2^63-1 | op=argmax dtype=u8 outer=2^60-1 axis=1 | "
     "op=argmax dtype=f64 outer=2^60 axis=0 output_dtype=i32"},

    /* ---- pointers to nothing */
    {REDUCES | SEGMENTED | SOFTMAXES | TILES, CALL, WR_ERROR_NULL_POINTER, "input=0 | output=0"},
    {REDUCE, CALL, WR_ERROR_NULL_POINTER, "weights_dtype=f32"},
    {REDUCE_SHORT, CALL, WR_ERROR_NULL_POINTER, "axis=0 output=0"},
    {REDUCE_SHORT, CALL, WR_SUCCESS,
     "input=0 output=0 outer=0 | input=0 output=0 inner=0 | op=min dtype=f64 outer=0 axis=0 inner=0"},
    {DOT_SHORT, CALL, WR_ERROR_NULL_POINTER, "left=0 | right=0 | output=0 | left=0 right=0 output=0 count=0"},
    {SEGMENTED, CALL, WR_ERROR_NULL_POINTER, "offsets=0"},
    {SEGMENTS_SHORT, CALL, WR_SUCCESS, "input=0 output=0 offsets=0 segments=0"},
    {SEGMENTS, HOST, WR_SUCCESS, "[@x]=7/7/7/7 input=0"},
    {SOFTMAX_SHORTS, CALL, WR_SUCCESS, "input=0 output=0 : outer=0 | dtype=f64 axis=0"},
    {SOFTMAX_SHORTS, CALL, WR_SUCCESS, "dtype=bf16 inner=0"},
    {GRADIENT, CALL, WR_ERROR_NULL_POINTER, LOGITS ": input=0 | logsumexp=0"},
    {GRADIENT_SHORTS, CALL, WR_ERROR_NULL_POINTER, "output=0 | output_gradient=0 | input_gradient=0"},
    {STATE, CALL, WR_ERROR_NULL_POINTER, "input=0 | state=0 | weights_dtype=f32"},
    {MERGE, CALL, WR_ERROR_NULL_POINTER, "state=0 | right=0 | merged=0"},
    {FINISH, CALL, WR_ERROR_NULL_POINTER, "state=0 | output=0"},
    {BY_STATES, CALL, WR_ERROR_NULL_POINTER, "input=0 | state=0"},
    {SOFTMAX_OUTPUTS, CALL, WR_ERROR_NULL_POINTER, "output=0 | before=0 | after=0"},

    /* ---- pointers off their boundaries */
    {REDUCES, CALL, WR_ERROR_MISALIGNED,
     "dtype=f32 input=@i+1,@i+2 | dtype=f64 input=@i+1,@i+4 | dtype=f16,bf16,i16,u16 input=@i+1 | "
     "dtype=i32,koalabear,koalabear_x4 input=@i+2 | dtype=i64,u64,goldilocks input=@i+4 | "
     "dtype=babybear_x4 input=@i+1 | dtype=mersenne31 input=@i+3"},
    {REDUCES, CALL, WR_ERROR_MISALIGNED,
     "dtype=f32 output=@o+1,@o+2 | dtype=f64 output=@o+1,@o+4 | dtype=f16,bf16,i16,u16 output=@o+1 | "
     "dtype=i32,koalabear,koalabear_x4 output=@o+2 | dtype=i64,u64,goldilocks output=@o+4 | "
     "dtype=babybear_x4 output=@o+1 | dtype=mersenne31 output=@o+3"},
    {REDUCE, CALL, WR_ERROR_MISALIGNED,
     "output_dtype=f64 output=@o+4 | dtype=f64 weights=@x+4 | dtype=koalabear_x4 weights=@x+2 | op=argmax values=@x+2"},
    {DOT_SHORT, CALL, WR_ERROR_MISALIGNED, "left=@i+2 | right=@x+1 | output=@o+2 | dtype=goldilocks left=@i+4"},
    {SEGMENTS, CALL, WR_ERROR_MISALIGNED, "input=@i+2 | output=@o+1 | offsets=@x+4 | offsets_dtype=i32 offsets=@x+2"},
    {SOFTMAXES, CALL, WR_ERROR_MISALIGNED,
     "logsumexp=0 : dtype=f32 input=@i+1,@i+2 | dtype=f64 input=@i+4 | dtype=f16,bf16 input=@i+1 | "
     "dtype=f32 output=@o+1,@o+2 | dtype=f64 output=@o+4 | dtype=f16,bf16 output=@o+1"},
    {SOFTMAX, CALL, WR_ERROR_MISALIGNED,
     "dtype=f16 output_dtype=f32 output=@o+2 logsumexp=0 | dtype=f16 logsumexp=@x+2 | dtype=f64 logsumexp=@x+4 | "
     "lengths=@w+4 | maximum=@w+2 | scales=@w+2 | dtype=f64 scales=@w+4 | " RAGGED "offsets=@w+4 | " NOTHING_RAGGED
     "maximum=@x offsets=@w+4"},
    {GRADIENT, CALL, WR_ERROR_MISALIGNED,
     LOGITS "dtype=bf16 logsumexp=@w+2 | output_gradient=@o+2 | input_gradient=@x+1 | lengths=@w+4 | scales=@w+1"},
    {STATE, CALL, WR_ERROR_MISALIGNED,
     "input=@i+2 | weights=@w+2 | state=@o+8 | check=@x+2 | workspace=@w+8 workspace_bytes=2048"},
    {MERGE, CALL, WR_ERROR_MISALIGNED, "state=@i+4 | right=@o+8 | merged=@x+8 | check=@w+1"},
    {FINISH, CALL, WR_ERROR_MISALIGNED,
     "state=@i+8 | output=@o+2 | op=argmax output=@o+4 | op=argmax values=@w+2 | check=@x+3"},
    {BY_STATES, CALL, WR_ERROR_MISALIGNED, "input=@i+2 | state=@o+8 | check=@w+2 | lengths=@i+1028"},
    {SOFTMAX_STATE, CALL, WR_ERROR_MISALIGNED, "workspace=@x+8 workspace_bytes=2048"},
    {SOFTMAX_OUTPUTS, CALL, WR_ERROR_MISALIGNED, "output=@x+2 | before=@o+1032 | after=@o+2052"},
    {TILES, CALL, WR_ERROR_MISALIGNED, "input=@i+1,@i+2,@i+3 | output=@o+1,@o+2,@o+3"},

    /* ---- memory that overlaps */
    {REDUCE, CALL, WR_ERROR_OVERLAP,
     "weights=@o,@o-12,@o+8 | op=argmax values=@i+44,@o+16,@i | "
     "outer=16 axis=4 input=@1024 output=@1024,@1124,@1276,@964 | outer=1 axis=4 input=@1024 output=@1032 | "
     "outer=16 axis=1 input=@1024 output=@1028,@1020 | "
     "outer=8 axis=4 input=@1024 output=@912 strides_given=1 outer_stride=-4 axis_stride=1 inner_stride=1"},
    {REDUCE, CALL, WR_ERROR_OVERLAP, /* in place: wider, narrower, with steps, backwards, one element for all */
     "outer=16 axis=1 input=@1024 output=@1024 : output_dtype=f64,bf16 | " STRIDES "| "
     "strides_given=1 outer_stride=2,-1 axis_stride=1 inner_stride=1"},
    {REDUCE, FINE, WR_SUCCESS,
     "outer=16 axis=4 input=@1024 output=@1280,@960 | outer=16 axis=1 input=@1024 output=@1024"},
    {REDUCE, FINE, WR_SUCCESS,
     "outer=16 axis=1 input=@1024 output=@1024 : strides_given=1 outer_stride=1 axis_stride=1 inner_stride=1 | "
     "dtype=f16 output_dtype=bf16"},
    {REDUCE_SHORT, CALL, WR_ERROR_OVERLAP, "input=@1024 output=@1024 outer=16"},
    {DOT_SHORT, CALL, WR_ERROR_OVERLAP, "output=@i+44,@x | count=1 output=@x,@i"},
    {DOT, FINE, WR_SUCCESS, "right=@i,@i+20 | struct_size=80 op=-1"}, /* a struct without op */
    {SEGMENTS, CALL, WR_ERROR_OVERLAP, "output=@x,@x+28 | op=argmax values=@o+16,@x-8"},
    {SEGMENTS, HOST, WR_ERROR_OVERLAP, "output=@i+28"},
    {SOFTMAXES, CALL, WR_ERROR_OVERLAP, "outer=16 logsumexp=0 input=@1024 output=@1028,@1020,@1276,@1040"},
    {SOFTMAX, CALL, WR_ERROR_OVERLAP, /* in place: wider, narrower, transposed, with gaps */
     "logsumexp=0 input=@1024 output=@1024 : outer=16 output_dtype=f64,f16 | "
     "outer=4 inner=4 strides_given=1 outer_stride=16 axis_stride=1 inner_stride=4 | "
     "outer=4 strides_given=1 outer_stride=8 axis_stride=1 inner_stride=1"},
    {SOFTMAX, CALL, WR_ERROR_OVERLAP,
     "outer=16 input=@1024 output=@4096 logsumexp=@1024,@1276,@4224,@4036 | "
     "outer=16 axis=1 input=@1024 output=@1024 logsumexp=@1024 | maximum=@x | mask=@o+47,@x-11 | lengths=@o+40 | "
     "scales=@o-8,@x | " RAGGED "offsets=@o+24 | " NOTHING_RAGGED "maximum=@x offsets=@x"},
    {SOFTMAX, FINE, WR_SUCCESS,
     "scales=@i | outer=16 input=@1024 output=@1280 logsumexp=@960 | outer=16 input=@1024 output=@768 logsumexp=0 | "
     "outer=1 input=@0 output=@0 logsumexp=0 strides_given=1 outer_stride=999 axis_stride=1 inner_stride=7"},
    {SOFTMAX, FINE, WR_SUCCESS,
     "outer=4 inner=4 input=@1024 output=@1024 logsumexp=0 : dtype=f16 output_dtype=bf16 | "
     "strides_given=1 outer_stride=16 axis_stride=4 inner_stride=1"},
    {GRADIENT, CALL, WR_ERROR_OVERLAP,
     "input_gradient=@o+4 | input_gradient=@o input_gradient_dtype=f16 | mask=@x+40 | scales=@x+44 | " LOGITS
     "logsumexp=@x | output_gradient=@i input_gradient=@i mask=@i | "
     "input_gradient=@o strides_given=1 outer_stride=4 axis_stride=1 inner_stride=1 gradient_outer_stride=5 "
     "gradient_axis_stride=1 gradient_inner_stride=1"},
    {GRADIENT, FINE, WR_SUCCESS,
     LOGITS "dtype=bf16 | input_gradient=@i,@o | output_gradient=@i | dtype=bf16 input_gradient_dtype=f64 | scales=@i"},
    {GRADIENT_SHORTS, CALL, WR_ERROR_OVERLAP, "input_gradient=@i+4"},
    /* In place of what is not contiguous: columns, an array with gaps, rows with gaps; of other sizes. */
    {GRADIENT, CALL, WR_ERROR_OVERLAP, BOTH_STRIDES "input_gradient=@i : " NOT_CONTIGUOUS},
    {GRADIENT, CALL, WR_ERROR_OVERLAP, BOTH_STRIDES LOGITS "input_gradient=@i : " NOT_CONTIGUOUS},
    {GRADIENT, CALL, WR_ERROR_OVERLAP,
     BOTH_STRIDES "input_gradient=@o : gradient_outer_stride=8 gradient_axis_stride=1 gradient_inner_stride=4 | "
                  "gradient_outer_stride=16 gradient_axis_stride=4 gradient_inner_stride=2 | gradient_outer_stride=9"},
    {GRADIENT, CALL, WR_ERROR_OVERLAP,
     "inner=2 : dtype=bf16 input_gradient_dtype=f32 input_gradient=@i | input_gradient_dtype=f16 input_gradient=@o"},
    /* What is read where something is written. */
    {SOFTMAX, CALL, WR_ERROR_OVERLAP,
     "maximum=@x+256 : mask=@o,@o+40,@x+8,@x+264 | lengths=@o,@o+40,@x+8,@x+264 | axis=12 "
     "offsets=@o,@o+40,@x+8,@x+264"},
    {GRADIENT, CALL, WR_ERROR_OVERLAP, "lengths=@x+40 | axis=12 offsets=@x+40 | " LOGITS "inner=2 logsumexp=@x+4"},
    {STATE, CALL, WR_ERROR_OVERLAP,
     "state=@i | input=@o+128 | weights=@o+144 | check=@o+124,@i+4 | weights=@x-40 | "
     "workspace=@o,@i workspace_bytes=2048"},
    {MERGE, CALL, WR_ERROR_OVERLAP, "merged=@o,@i+192 | check=@i+4,@o+4,@x+4 | merged=@i check=@i+60"},
    {FINISH, CALL, WR_ERROR_OVERLAP, "output=@i+128 | check=@i,@o+20 | op=argmax values=@o"},
    {BY_STATES, CALL, WR_ERROR_OVERLAP, "check=@o+8,@i+8 | mask=@w-20 | lengths=@w-8"},
    {SOFTMAX_STATE, CALL, WR_ERROR_OVERLAP, "state=@i | workspace=@i+16 workspace_bytes=2048"},
    {SOFTMAX_OUTPUTS, CALL, WR_ERROR_OVERLAP, "output=@o+128,@o+1152,@o+2008,@i+4 | check=@x"},
    {TILES, CALL, WR_ERROR_OVERLAP, "input=@o output=@o+4,@o-4,@o+396,@o-396,@o+200"},
    {TILES, FINE, WR_SUCCESS, "width=8 | output=@i | input=@o output=@o+400"},
    {TILE_MATCH, CALL, WR_ERROR_OVERLAP, "dtype=f64,u8 output=@i"},

    /* ---- offsets that the host device looks at before the job runs */
    {SEGMENTS, HOST, WR_ERROR_INVALID_OFFSETS, "segments=2 [@x]=0/2/5/5 input_count=4,1"},
    {SEGMENTS, HOST, WR_SUCCESS, "segments=2 [@x]=0/2/5/5 input_count=5"},
    {SEGMENTS, HOST, WR_ERROR_UNSUPPORTED, "[@x]=0/3/2^31+3/2^31+3 op=argmax output_dtype=i32"},
    {SOFTMAX, HOST, WR_ERROR_INVALID_OFFSETS, RAGGED ": [@w]=-1/4/12 | [@w]=0/13/12 | [@w]=0/4/13"},
    {SOFTMAX, HOST, WR_ERROR_INVALID_OFFSETS,
     NOTHING_RAGGED "logsumexp=@x : [@w]=-5/0/0 | [@w]=0/0/-1 | [@w]=0/2/5 | logsumexp=0 maximum=@x [@w]=0/0/1"},
    {SOFTMAX, HOST, WR_SUCCESS, NOTHING_RAGGED "[@w]=0/0/0 : logsumexp=@x | offsets=@w+4"},
    {GRADIENT, HOST, WR_ERROR_INVALID_OFFSETS, "outer=2 axis=12 offsets=@w [@w]=0/5/4"},

    /* ---- workspaces, refused before memory is looked at: too small, misaligned, over other arrays */
    {REDUCE | SOFTMAX, NEEDED, WR_ERROR_WORKSPACE_TOO_SMALL,
     "axis=long output=@2^40 workspace=@2^41 workspace_bytes=needed-1,0"},
    {REDUCE | SOFTMAX, NEEDED, WR_ERROR_MISALIGNED,
     "axis=long output=@2^40 workspace=@2^41+8 workspace_bytes=needed+16"},
    {REDUCE | SOFTMAX, NEEDED, WR_ERROR_OVERLAP, "axis=long output=@2^40 workspace=@i,@2^40 workspace_bytes=needed"},
    {REDUCE | DOT | SOFTMAX | GRADIENT, CALL, WR_ERROR_MISALIGNED, /* of whatever size */
     "workspace=@w+1,@w+4,@w+8,@w+12 workspace_bytes=0,1024"},
    {SEGMENTS, HOST, WR_ERROR_MISALIGNED, "[@x]=0/0/0/0 workspace=@w+8 workspace_bytes=0"},
    {SEGMENTS, CALL, WR_ERROR_MISALIGNED, "input_count=8 workspace=@w+8 workspace_bytes=needed+64"},
    {SEGMENTS, NEEDED, WR_ERROR_WORKSPACE_TOO_SMALL, "input_count=8 workspace=@w workspace_bytes=needed-1"},
    {SEGMENTS, NEEDED, WR_ERROR_OVERLAP, "input_count=8 workspace=@x,@o workspace_bytes=needed"},
};

const size_t bad_call_count = sizeof bad_calls / sizeof *bad_calls;
