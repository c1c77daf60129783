"""wr: reductions and softmax of .npy files, through libwarp_reduce and nothing but its public header."""
