"""The operators fused for the CPU: compiled by numba when first used (and kept on disk), on all of torch's threads."""
