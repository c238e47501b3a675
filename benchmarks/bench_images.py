"""Photographs to bags against a plain loop of NumPy, PyWavelets and scikit-learn."""

import io
import time
import tracemalloc

import numpy as np
import pywt
from PIL import Image
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from skmil import threads
from skmil.datasets.pictures import TASKS, paint
from skmil.sources import ImageBags
from skmil.sources.base import _memory

PICTURES, REFERENCE = 1000, 20


def photographs(n):
    """JPEG files of 384 x 256 in memory; every twentieth is painted, the others are shifted copies."""
    kinds = sorted({k for pair in TASKS.values() for part in pair for k in part})
    painted = [paint(kinds[s % len(kinds)], (256, 384), s) for s in range(max(REFERENCE, n // 20))]
    files = []
    for i in range(n):
        buffer = io.BytesIO()
        pixels = np.roll(painted[i % len(painted)], i // len(painted) * 7, axis=1)
        Image.fromarray(pixels).save(buffer, "JPEG", quality=90)
        files.append(buffer.getvalue())
    return files


def reference(data):
    """The same bag, written as one would first write it."""
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("YCbCr"), dtype=float)
    h, w = pixels.shape[0] // 4, pixels.shape[1] // 4
    blocks = pixels.reshape(h, 4, w, 4, 3).transpose(0, 2, 1, 3, 4)
    _, bands = pywt.dwt2(blocks[..., 0], "db2", mode="periodization", axes=(2, 3))
    energy = [np.sqrt((band**2).mean(axis=(2, 3))) for band in bands]
    X = np.concatenate([blocks.mean(axis=(2, 3)), np.stack(energy, axis=-1)], axis=2).reshape(-1, 6)
    D = [X.var(axis=0).sum()]
    best = None
    for k in range(2, 17):
        found = KMeans(k, n_init=1, random_state=0).fit(X)
        D.append(found.inertia_ / len(X))
        if k > 3 and D[-2] - D[-1] < 0.1 * (D[0] - D[2]) / 2:
            break
        best = found
        if D[-1] < 20:
            break
    return best.cluster_centers_


def seconds(function):
    """Seconds of the clock, and of all cores together."""
    start, cpu = time.perf_counter(), time.process_time()
    result = function()
    return time.perf_counter() - start, time.process_time() - cpu, result


def images(n_threads=2):
    files = photographs(PICTURES)
    # k-means gets one thread: two of its own wait for each other on blocks this small. What counts is the
    # time of all cores, as if as many plain loops ran side by side at no cost.
    with threadpool_limits(1), threads(n_threads):
        ImageBags().fit_transform(files[:4])
        _memory.kept.clear()
        clock, ours, bags = seconds(lambda: ImageBags().fit_transform(files))
        _, theirs, sizes = seconds(lambda: [len(reference(f)) for f in files[:REFERENCE]])
        _memory.kept.clear()
        tracemalloc.start()
        ImageBags().fit_transform(files[:100])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return {
        "ratio": round(theirs * PICTURES / REFERENCE / ours, 2),
        "reference": f"NumPy, PyWavelets and KMeans in a loop, {REFERENCE} pictures scaled to {PICTURES}",
        "threads": n_threads,
        "seconds": round(clock, 2),
        "core_seconds": round(ours, 2),
        "segments": [round(float(bags.sizes.mean()), 2), round(float(np.mean(sizes)), 2)],
        "peak_megabytes": round(peak / 1e6, 1),
    }


BENCHMARKS = {"images": images}
