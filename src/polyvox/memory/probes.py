"""Probes: questions whose answers are known, to learn what a model's cosines mean.

Every embeddings model has a range of its own: with one, texts that have nothing to do with each
other have a cosine of 0.1, with another 0.7. So each is asked for the vectors of the same pairs
(questions, and answers that share no word with them), and what it gives to pairs that belong
together and to pairs that do not is the scale on which its cosines are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from statistics import median, pstdev

from polyvox.memory.tables.vectors import Scale
from polyvox.models.embeddings import Vector

_PAIRS = """
Where does my sister live? | Rosa moved into a flat by the harbour in Lisbon last spring.
What do I eat for breakfast? | Mornings are oatmeal with banana and a strong coffee.
Which sport do I play? | I joined a tennis club and train on Tuesdays.
What is my job? | They hired me as a nurse at the children's hospital.
Am I allergic to anything? | Peanuts make my throat swell, so I carry medicine.
What pet do we have? | Our old dog sleeps on the sofa all day.
How do I get to work? | I cycle along the river to the office.
What am I worried about? | The exam in March keeps me awake at night.
Who is getting married? | Tom and Lena set the wedding for June.
What car do we drive? | The blue Volvo finally passed its inspection.
Which instrument am I learning? | My piano teacher gave me a waltz to practise.
Where did we spend our holidays? | Two weeks of hiking in the Alps did us good.
What happened to my leg? | I tore a ligament skiing and wore a cast.
How much rent do I pay? | The landlord takes nine hundred euros each month.
What book did I like? | That novel about the lighthouse keeper moved me to tears.
What do I want to build in the garden? | I am planning a small greenhouse behind the shed.
Why was I angry at my boss? | My manager gave the promotion to somebody else.
What medicine does my father take? | Dad swallows pills for his blood pressure.
What language do I study? | My Spanish course starts again in autumn.
When do I go to sleep? | I am usually in bed by eleven.
What did the doctor advise? | She told me to cut down on salt.
What kind of music do I enjoy? | Jazz records from the fifties are my favourite.
What is my daughter afraid of? | Emma screams whenever she sees a spider.
What did I buy for the kitchen? | The new oven arrived on Friday.
"""
PAIRS = tuple((q.strip(), a.strip()) for q, a in (x.split("|") for x in _PAIRS.strip().split("\n")))
TEXTS = tuple(text for pair in PAIRS for text in pair)
HARDLY = 0.99
"""This part of the pairs that do not belong together stays below `far`."""
USEFUL = 1.0
"""A model is listened to if texts that belong together are so many standard deviations (of those
that do not) beyond `far`. The averages of words' vectors in the package wordllama, at 0.3, only
did harm on LoCoMo."""
WIDE = 4.0
"""The scale is at least so many standard deviations wide. With that same model, forced, and a scale
of one, two foreign questions in three brought something; of three, one in ten; of four, one in
twenty, and as much evidence was found as by words."""
AT_FAR, AT_NEAR = 0.1, 0.8
"""The relevance of what is as far, or as near, as that."""


def scale_of(vectors: Sequence[Vector]) -> Scale:
    """The scale of a model, from its vectors of TEXTS."""
    questions, answers = vectors[::2], vectors[1::2]
    together = [_cosine(one, other) for one, other in zip(questions, answers, strict=True)]
    apart = sorted(
        _cosine(one, other)
        for n, one in enumerate(questions)
        for m, other in enumerate(answers)
        if n != m
    )
    far = apart[int(len(apart) * HARDLY)]
    return Scale(len(vectors[0]), median(together), far, pstdev(apart))


def useful(scale: Scale) -> bool:
    """Whether a model tells what belongs together from what does not."""
    return scale.near - scale.far >= USEFUL * scale.spread > 0


def shifted(scale: Scale, far: float) -> Scale:
    """The same scale where even texts that do not belong to a question come this near to it."""
    more = max(0.0, far - scale.far)
    return Scale(scale.size, scale.near + more, scale.far + more, scale.spread)


def relevance(scale: Scale, cosine: float) -> float:
    """How likely it is that a text with this cosine to a question has to do with it."""
    low, high = _logit(AT_FAR), _logit(AT_NEAR)
    wide = max(scale.near - scale.far, WIDE * scale.spread)
    exponent = low + (high - low) * (cosine - scale.far) / wide
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, exponent))))


def _cosine(one: Vector, other: Vector) -> float:
    return float(sum(map(mul, one, other)))


def _logit(part: float) -> float:
    return math.log(part / (1 - part))
