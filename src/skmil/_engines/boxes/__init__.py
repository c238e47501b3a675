"""Counting boxes: their space, exact sums, samplers that keep a promise, and the choice between them."""
