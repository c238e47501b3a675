"""Looking inside: spectra of Gram matrices, traces of learning, instances that carry a bag."""
