"""What kernels, embeddings and learners share: the computations below the public classes."""
