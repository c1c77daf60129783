"""What axes in shards on several GPUs cost, beside one GPU and beside plain all-reduces of NCCL."""
