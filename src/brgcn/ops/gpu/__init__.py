"""The operators as Triton kernels.

Grids follow from shapes alone and nothing waits for the device, so a training step can be captured in a CUDA graph.
Every output row has one owner: no atomics, the same result in each run.
"""
