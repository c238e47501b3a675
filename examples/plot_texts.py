"""
Which passage of a text decides?
================================

Texts become bags of overlapping passages with ``TextBags``. The label belongs to the text; the scores of a
multiple-instance learner say which of its passages carries it.
"""

import matplotlib.pyplot as plt
import numpy as np

import skmil
from skmil.sources import TextBags

rng = np.random.default_rng(0)
common = "the model was fitted to data from many sites and results are given in the table below".split()
topic = "patients treated with the new drug showed lower blood pressure after six weeks".split()


def abstract(positive):
    """Sixty words of no topic; in positive texts a sentence on the topic stands somewhere inside."""
    words = list(rng.choice(common, size=60))
    if positive:
        words.insert(rng.integers(60), " ".join(topic))
    return " ".join(words)


y = np.arange(40) % 2
texts = [abstract(label) for label in y]

# %%
# Passages of 15 words, each sharing eight with the one before. Weights are tf-idf, fitted on training
# texts only, and stay sparse.

source = TextBags(size=15, overlap=8)
bags = source.fit_transform(texts[:30])
print(bags)

# %%
# MI-SVM looks for one passage in each positive text that tells it from all passages of negative ones.

model = skmil.method("MI-SVM").fit(bags, y[:30])
test = source.transform(texts[30:])
print("accuracy on ten new texts:", model.score(test, y[30:]))

# %%
# ``parts`` says where each passage lies; the passage with the highest score holds the sentence.

new = int(np.flatnonzero(y[30:])[0])
parts, scores = source.parts(texts[30 + new]), model.score_instances(test[[new]])[0]
start, end = parts.spans[np.argmax(scores)]
print(parts.text[start:end])

fig, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
middle, width = parts.spans.mean(axis=1), 0.45 * np.diff(parts.spans, axis=1)[:, 0]
ax.bar(middle, scores, width=width, color=np.where(scores == scores.max(), "#c05a2b", "#4878a8"))
where = parts.text.index(" ".join(topic))
ax.axvspan(where, where + len(" ".join(topic)), color="0.85", zorder=0, label="the sentence on the topic")
ax.set(xlabel="character of the text", ylabel="score of the passage")
ax.legend()
plt.show()
