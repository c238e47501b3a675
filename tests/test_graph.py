"""miGraph: the naive double loop, cliques, sparse features, bad input."""
