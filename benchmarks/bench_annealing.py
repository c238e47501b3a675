"""mi-SVM on Elephant against the same alternation with scikit-learn's SVC retrained at each step."""

import numpy as np
from common import best, data
from sklearn.svm import SVC

from skmil._engines.widths import resolve_gamma
from skmil.learners import AnnealedSVM, InstanceLabelSVM
from skmil.preprocessing import BagScaler


def elephant():
    bunch = data("elephant")
    return BagScaler().fit_transform(bunch.data), bunch.target


def alternation(bags, y, C):
    """Andrews et al. 2002: SVC on all instances, new labels for those of positive bags, until they rest."""
    gamma, inside = resolve_gamma("median", bags), np.repeat(y == 1, bags.sizes)
    labels = inside.astype(int)
    while True:
        svc = SVC(C=C, gamma=gamma, cache_size=1000).fit(bags.instances, labels)
        f = svc.decision_function(bags.instances)
        new = (inside & (f > 0)).astype(int)
        for i in np.flatnonzero(y == 1):
            part = slice(bags.offsets[i], bags.offsets[i + 1])
            new[part.start + np.argmax(f[part])] = 1
        if np.array_equal(new, labels):
            return labels, svc
        labels = new


def annealing_elephant(C=10.0):
    bags, y = elephant()
    model = InstanceLabelSVM(C=C).fit(bags, y)
    labels, _ = alternation(bags, y, C)
    found = np.concatenate(model.instance_probability_) > 0.5
    ours = best(lambda: InstanceLabelSVM(C=C).fit(bags, y), 5)
    theirs = best(lambda: alternation(bags, y, C), 3)
    return {
        "ratio": round(theirs / ours, 2),
        "reference": "alternation with sklearn SVC from scratch",
        "threads": 1,
        "seconds": round(ours, 3),
        "reference_seconds": round(theirs, 3),
        "steps": model.n_iter_,
        "equal_labels": round(float(np.mean(found == labels)), 4),
    }


def annealing_schedule():
    """A whole schedule against one heuristic fit; the share of its cost, so below .1 is too slow."""
    bags, y = elephant()
    AnnealedSVM(C=10.0).fit(bags, y)
    schedule = best(lambda: AnnealedSVM(C=10.0).fit(bags, y), 2)
    heuristic = best(lambda: AnnealedSVM(C=10.0, start_temperature=None).fit(bags, y), 3)
    return {
        "ratio": round(heuristic / schedule, 3),
        "reference": "the heuristic of the same loss and C",
        "heuristic_fits": round(schedule / heuristic, 2),
        "threads": 1,
        "seconds": round(schedule, 3),
    }


def annealing_musk2():
    """Seconds for Musk2 (6598 instances), against one plain SVC on its instances."""
    bunch = data("musk2")
    bags, y = BagScaler().fit_transform(bunch.data), bunch.target
    gamma = resolve_gamma("median", bags)
    fits = {
        "mi-SVM": InstanceLabelSVM(C=10.0),
        "AW-SVM": AnnealedSVM("witness", C=10.0),
    }
    seconds = {name: round(best(lambda m=m: m.fit(bags, y), 1), 2) for name, m in fits.items()}
    one = best(lambda: SVC(C=10.0, gamma=gamma).fit(bags.instances, np.repeat(y, bags.sizes)), 1)
    return {
        "ratio": round(one / seconds["mi-SVM"], 3),
        "reference": "one SVC, where mi-SVM takes several",
        "seconds": seconds,
    }


BENCHMARKS = {
    "annealing-elephant": annealing_elephant,
    "annealing-elephant-c1": lambda: annealing_elephant(1.0),
    "annealing-schedule": annealing_schedule,
    "annealing-musk2": annealing_musk2,
}
