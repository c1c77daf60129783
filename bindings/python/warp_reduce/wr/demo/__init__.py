"""What `wr demo` computes and shows."""
